/**
 * What the engine said last: mounts, figures, settings, accounts. Kept current by its events; asks again when it comes back
 * or when events were lost. Never polls.
 */
import type { AppInfo, Bridge, EngineState, EngineStateMessage, Navigate } from "./bridge.ts";
import { asFault } from "./bridge.ts";
import { History } from "./history.ts";
import type { Notices } from "./notices.svelte.ts";
import type {
  Accounts,
  EngineStatus,
  Event,
  EventMessage,
  Fault,
  FolderStatus,
  MountStats,
  MountStatus,
  SettingsReply,
  Stats,
} from "./protocol.ts";

/** How often a fault that stands is asked whether it does. */
const FAULTS_MS = 10_000;

export class Engine {
  #bridge: Bridge;
  #notices: Notices;
  /** When a fault was last looked after, by the clock of the figures. */
  #looked_ms = 0;

  state: EngineState = $state("starting");
  /** Why it is lost or failed. */
  fault: Fault | null = $state.raw(null);
  /** Whether `status` was answered at least once: before that nothing is "empty". */
  is_loaded = $state(false);
  status: EngineStatus | null = $state.raw(null);
  mounts: MountStatus[] = $state.raw([]);
  /** The Hub folder, if it is on. */
  folder: FolderStatus | null = $state.raw(null);
  is_paused = $state(false);
  settings: SettingsReply | null = $state.raw(null);
  accounts: Accounts | null = $state.raw(null);
  stats: Stats | null = $state.raw(null);
  info: AppInfo | null = $state.raw(null);
  history = new History();

  constructor(bridge: Bridge, notices: Notices) {
    this.#bridge = bridge;
    this.#notices = notices;
  }

  get is_connected(): boolean {
    return this.state === "connected";
  }

  async run(onNavigate: (target: Navigate) => void): Promise<void> {
    await this.#bridge.listen({
      onEvent: (message) => this.#onEvent(message),
      onState: (message) => void this.#onState(message),
      onNavigate,
    });
    // The state may have been told before anybody listened; the engine's version says whether it is there.
    await this.#askInfo();
    if (this.info?.engine_version != null) await this.#onState({ state: "connected" });
  }

  mountStats(dir: string): MountStats | undefined {
    return this.stats?.mounts.find((mount) => mount.dir === dir);
  }

  /** The address of the Hub that new mounts use. */
  get endpoint(): string {
    return this.settings?.settings.endpoint ?? this.settings?.defaults.endpoint ?? "https://huggingface.co";
  }

  /** Takes a mount that a reply carried, without waiting for its event. */
  put(mount: MountStatus): void {
    const at = this.mounts.findIndex((it) => it.dir === mount.dir);
    this.mounts = at < 0 ? [...this.mounts, mount] : this.mounts.with(at, mount);
  }

  drop(dir: string): void {
    this.mounts = this.mounts.filter((mount) => mount.dir !== dir);
  }

  /** What no event tells: what is kept, and what is wrong beyond a mount. */
  refresh(): Promise<void> {
    return this.#askStatus();
  }

  async setAutostart(on: boolean): Promise<void> {
    await this.#bridge.setAutostart(on);
    await this.#askInfo();
  }

  async restart(): Promise<void> {
    this.state = "starting";
    this.fault = null;
    try {
      await this.#bridge.restartEngine();
    } catch (thrown) {
      this.state = "failed";
      this.fault = asFault(thrown);
    }
  }

  async #onState(message: EngineStateMessage): Promise<void> {
    this.state = message.state;
    this.fault = message.fault ?? null;
    if (message.state !== "connected") {
      this.stats = null;
      return;
    }
    await Promise.all([this.#askStatus(), this.#askSettings(), this.#askAccounts(), this.#askInfo()]);
  }

  #onEvent(message: EventMessage): void {
    if (message.lost > 0) void this.#askStatus();
    this.#take(message.event);
  }

  #take(event: Event): void {
    switch (event.kind) {
      case "mount":
        return this.put(event.mount);
      case "mount_gone":
        return this.drop(event.dir);
      case "folder":
        this.folder = event.folder ?? null;
        return;
      case "notice":
        this.#notices.add(event.dir, event.fault, Date.now());
        if (event.dir === null) void this.#askStatus();
        return;
      case "settings":
        this.settings = event.settings;
        // A file that was not understood may be by now.
        void this.#askStatus();
        return;
      case "accounts":
        void this.#askAccounts();
        return;
      case "paused":
        this.is_paused = event.paused;
        return;
      case "stats":
        // `history` is no state of its own: whoever draws it looks at `stats` as well.
        this.history.push(event.stats);
        this.stats = event.stats;
        this.#lookAgain(event.stats.at_unix_ms);
        return;
    }
  }

  /** No event says that a fault of the engine is over: while one is shown, it is asked now and then. */
  #lookAgain(now_ms: number): void {
    if ((this.status?.faults.length ?? 0) === 0) this.#looked_ms = now_ms;
    if (now_ms - this.#looked_ms < FAULTS_MS) return;
    this.#looked_ms = now_ms;
    void this.#askStatus();
  }

  async #askStatus(): Promise<void> {
    await this.#ask(async () => {
      const reply = await this.#bridge.call("status", {});
      this.status = reply.engine;
      this.mounts = reply.mounts;
      this.folder = reply.folder ?? null;
      this.is_paused = reply.engine.is_paused;
      this.is_loaded = true;
    });
  }

  async #askSettings(): Promise<void> {
    await this.#ask(async () => {
      this.settings = await this.#bridge.call("settings.get", {});
    });
  }

  async #askAccounts(): Promise<void> {
    await this.#ask(async () => {
      this.accounts = await this.#bridge.call("accounts.list", {});
    });
  }

  async #askInfo(): Promise<void> {
    await this.#ask(async () => {
      this.info = await this.#bridge.appInfo();
    });
  }

  /** What nobody clicked for fails into the notices, unless the engine is gone: the banner says that. */
  async #ask(question: () => Promise<void>): Promise<void> {
    try {
      await question();
    } catch (thrown) {
      if (this.is_connected) this.#notices.add(null, asFault(thrown), Date.now());
    }
  }
}
