/**
 * The window's way to the engine and to the desktop. Two implementations: Tauri's (`bridge-tauri.ts`) and the simulated one
 * (`simulated/`). Knows the protocol's types; decides nothing.
 */
import type { EventMessage, Fault, Methods } from "./protocol.ts";

export type Method = keyof Methods;
export type Params<M extends Method> = Methods[M]["params"];
export type Reply<M extends Method> = Methods[M]["reply"];

export interface AppInfo {
  /** Of the app. */
  version: string;
  /** `null` while no engine is connected. */
  engine_version: string | null;
  protocol: number;
  /** `linux`, `macos` or `windows`. */
  platform: string;
  /** Whether the app starts at login. */
  autostart: boolean;
  /** Whether the desktop shows a tray, so that the window may be closed and the app stays within reach. */
  tray: boolean;
}

export type EngineState = "starting" | "connected" | "lost" | "failed";

export interface EngineStateMessage {
  state: EngineState;
  fault?: Fault;
}

/** Where the tray's menu or a deep link leads. A repo is shown, never mounted without a click. */
export interface Navigate {
  section: string;
  repo?: string;
  revision?: string;
}

export interface Listener {
  onEvent(message: EventMessage): void;
  onState(message: EngineStateMessage): void;
  onNavigate(target: Navigate): void;
}

export interface Bridge {
  /** Asks the engine; rejects with a `Fault`. */
  call<M extends Method>(method: M, params: Params<M>): Promise<Reply<M>>;
  /** How often figures are wanted, in milliseconds; `null` while nothing shows them. */
  watch(stats_ms: number | null): Promise<void>;
  appInfo(): Promise<AppInfo>;
  setAutostart(on: boolean): Promise<void>;
  openFolder(dir: string): Promise<void>;
  openPage(url: string): Promise<void>;
  restartEngine(): Promise<void>;
  /** Resolves once every event will be heard. */
  listen(listener: Listener): Promise<void>;
}

/** Whatever was thrown, as a fault: a command of the shell may fail with a bare string. */
export function asFault(thrown: unknown): Fault {
  if (isFault(thrown)) return thrown;
  const sentence = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: "internal", sentence, advice: "" };
}

function isFault(thrown: unknown): thrown is Fault {
  const fault = thrown as Fault | null;
  return typeof fault === "object" && fault !== null && typeof fault.code === "string" && typeof fault.sentence === "string";
}
