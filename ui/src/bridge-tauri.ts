/** The bridge of the product: Tauri's commands and events, as ui/README.md lists them. */
import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";
import type { AppInfo, Bridge, EngineStateMessage, Method, Navigate, Params, Reply } from "./bridge.ts";
import { asFault } from "./bridge.ts";
import type { EventMessage } from "./protocol.ts";

async function command<T>(name: string, args: Record<string, unknown>): Promise<T> {
  try {
    return await invoke<T>(name, args);
  } catch (thrown) {
    throw asFault(thrown);
  }
}

export const tauriBridge: Bridge = {
  call: <M extends Method>(method: M, params: Params<M>) => command<Reply<M>>("engine_call", { method, params }),
  // Tauri turns the names of arguments into camel case unless the command says otherwise: ours says `snake_case`.
  watch: (stats_ms) => command("engine_watch", { stats_ms }),
  appInfo: () => command<AppInfo>("app_info", {}),
  setAutostart: (on) => command("set_autostart", { on }),
  openFolder: (dir) => command("open_folder", { dir }),
  openPage: (url) => command("open_page", { url }),
  restartEngine: () => command("restart_engine", {}),
  async listen(listener) {
    await Promise.all([
      listen<EventMessage>("engine-event", ({ payload }) => listener.onEvent(payload)),
      listen<EngineStateMessage>("engine-state", ({ payload }) => listener.onState(payload)),
      listen<Navigate>("navigate", ({ payload }) => listener.onNavigate(payload)),
    ]);
  },
};
