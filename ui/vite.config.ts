import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { csp } from "./csp.ts";

export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  // The window loads from files: no absolute host, and the icons come from the product's own set beside this folder.
  base: "./",
  define: { __SIMULATED__: JSON.stringify(mode === "simulated") },
  // Vitest would take Svelte's server build otherwise.
  resolve: process.env["VITEST"] ? { conditions: ["browser"] } : {},
  server: { port: 5173, strictPort: false, fs: { allow: [".."] } },
  preview: { headers: { "Content-Security-Policy": csp } },
  build: {
    target: "es2022",
    // The CSP has no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The texts that the licences of bundled packages ask to be passed on.
    license: { fileName: "licences.md" },
  },
  test: {
    include: ["test/**/*.test.ts"],
    environment: "happy-dom",
    setupFiles: ["test/setup.ts"],
  },
}));
