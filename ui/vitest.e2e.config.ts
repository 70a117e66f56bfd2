import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["e2e/**/*.test.ts"],
    environment: "node",
    globalSetup: ["e2e/server.ts"],
    // One browser at a time: two cores.
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // As nextest does in CI: a test that passes the second time is named, not hidden.
    retry: 1,
  },
});
