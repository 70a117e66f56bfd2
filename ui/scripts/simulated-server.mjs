// Builds the window with the simulated engine into a temporary folder and serves it under the product's CSP; closes both.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, preview } from "vite";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

export async function serveSimulated() {
  const outDir = mkdtempSync(join(tmpdir(), "weightless-ui-"));
  await build({ root, mode: "simulated", logLevel: "warn", build: { outDir, emptyOutDir: true, reportCompressedSize: false } });
  const server = await preview({ root, logLevel: "warn", build: { outDir }, preview: { port: 0, host: "127.0.0.1" } });
  const { port } = server.httpServer.address();
  return {
    url: `http://127.0.0.1:${port}/`,
    async close() {
      await server.close();
      rmSync(outDir, { recursive: true, force: true });
    },
  };
}
