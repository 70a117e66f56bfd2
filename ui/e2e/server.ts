import type { TestProject } from "vitest/node";
import { serveSimulated } from "../scripts/simulated-server.mjs";

declare module "vitest" {
  interface ProvidedContext {
    url: string;
  }
}

/** The window with the simulated engine, built once for all files. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await serveSimulated();
  project.provide("url", server.url);
  return () => server.close();
}
