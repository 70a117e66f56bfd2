export function serveSimulated(): Promise<{ url: string; close(): Promise<void> }>;
