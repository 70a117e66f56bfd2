/** The product's bridge speaks the words that ui/README.md promises to src-tauri. */
import { clearMocks, mockIPC } from "@tauri-apps/api/mocks";
import { emit } from "@tauri-apps/api/event";
import { afterEach, expect, test, vi } from "vitest";
import { tauriBridge } from "../src/bridge-tauri.ts";

afterEach(clearMocks);

function heard(answer: (command: string) => unknown = () => null) {
  const calls: [string, unknown][] = [];
  mockIPC(
    (command, args) => {
      calls.push([command, args]);
      return answer(command);
    },
    { shouldMockEvents: true },
  );
  return calls;
}

test("commands and their arguments", async () => {
  const calls = heard();
  await tauriBridge.call("pause", { paused: true });
  await tauriBridge.watch(500);
  await tauriBridge.watch(null);
  await tauriBridge.appInfo();
  await tauriBridge.setAutostart(true);
  await tauriBridge.openFolder("/m");
  await tauriBridge.openPage("https://huggingface.co");
  await tauriBridge.restartEngine();
  expect(calls).toEqual([
    ["engine_call", { method: "pause", params: { paused: true } }],
    ["engine_watch", { stats_ms: 500 }],
    ["engine_watch", { stats_ms: null }],
    ["app_info", {}],
    ["set_autostart", { on: true }],
    ["open_folder", { dir: "/m" }],
    ["open_page", { url: "https://huggingface.co" }],
    ["restart_engine", {}],
  ]);
});

test("a rejection is a fault, whatever the shell threw", async () => {
  const fault = { code: "gated", sentence: "the licence has not been accepted", advice: "accept it" };
  heard(() => Promise.reject(fault));
  await expect(tauriBridge.call("status", {})).rejects.toEqual(fault);
  heard(() => Promise.reject("command not found"));
  await expect(tauriBridge.appInfo()).rejects.toMatchObject({ code: "internal", sentence: "command not found" });
});

test("events reach the listener", async () => {
  heard();
  const listener = { onEvent: vi.fn(), onState: vi.fn(), onNavigate: vi.fn() };
  await tauriBridge.listen(listener);
  await emit("engine-event", { lost: 0, event: { kind: "accounts" } });
  await emit("engine-state", { state: "connected" });
  await emit("navigate", { section: "add", repo: "a/b" });
  expect(listener.onEvent).toHaveBeenCalledWith({ lost: 0, event: { kind: "accounts" } });
  expect(listener.onState).toHaveBeenCalledWith({ state: "connected" });
  expect(listener.onNavigate).toHaveBeenCalledWith({ section: "add", repo: "a/b" });
});
