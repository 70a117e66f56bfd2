/**
 * What the window may load: its own files and nothing else. The same words stand in src-tauri/tauri.conf.json, which adds
 * Tauri's own `ipc:` to connect-src; here they make the browser tests strict as the product is.
 */
export const csp = [
  "default-src 'self'",
  "img-src 'self'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
