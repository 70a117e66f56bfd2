/**
 * An engine in memory behind the same interface as the real one: same faults, same events, answers that take a moment.
 * For the browser, for tests and for design; no part of the product.
 */
import type { AppInfo, Bridge, EngineState, Listener, Method, Navigate, Params, Reply } from "../bridge.ts";
import type { AddMount, Event, Fault, FreedFile, Holder, JsonValue, MountStatus, Problem, Settings, SettingsReply, SetMount, StoreStatus } from "../protocol.ts";
import { faults } from "./faults.ts";
import { allRepos, describe, fakeCommit, list, parseAddress, search, type SimRepo, sum } from "./hub.ts";
import { ada, ENDPOINT, FOLDER, HOME, hops, simFile, simFolder, type World } from "./scenarios.ts";
import { type SimFile, TrafficSource } from "./traffic.ts";

export const GOOD_TOKEN = "hf_good";
export const LIMITED_TOKEN = "hf_limited";
const GIB = 1024 ** 3;
const RAM = 8 * GIB;
const FREED_MAX = 200;

const DEFAULTS: Settings = {
  read_ahead_mb: 1024,
  bandwidth_cap_kb: null,
  stall_timeout_ms: 30_000,
  event_loops: 4,
  refresh_s: 600,
  endpoint: ENDPOINT,
  proxy: null,
  ca_file: null,
  mount_folder: FOLDER,
  log_level: "info",
  store_max_gb: 50,
  store_keep_free_gb: 10,
  metrics_port: null,
};

const NO_SETTINGS = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, null])) as unknown as Settings;

export class SimulatedEngine implements Bridge {
  #listener: Listener | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;
  #traffic = new TrafficSource();
  #settings: Settings;
  #is_paused = false;
  #autostart = false;
  #accepted = new Set<string>();
  #state: EngineState;
  /** What the window asked for: tests look at it. */
  watching: number | null = null;
  opened: string[] = [];
  calls: { method: Method; params: unknown }[] = [];

  constructor(
    readonly world: World,
    readonly latency_ms: number,
    readonly now_ms: () => number,
  ) {
    this.#settings = { ...NO_SETTINGS, ...world.settings };
    this.#state = world.state;
  }

  async call<M extends Method>(method: M, params: Params<M>): Promise<Reply<M>> {
    this.calls.push({ method, params });
    await this.#pause(this.latency_ms * (method === "doctor" || method === "mounts.add" ? 5 : 1));
    if (this.#state !== "connected") throw faults.engineGone();
    const answer = this.#answers[method] as (params: Params<M>) => Reply<M>;
    // As over a socket: nobody shares objects with the engine.
    return structuredClone(answer(params));
  }

  async watch(stats_ms: number | null): Promise<void> {
    if (stats_ms === this.watching) return;
    this.watching = stats_ms;
    clearInterval(this.#timer);
    if (stats_ms === null) return;
    this.#tick();
    this.#timer = setInterval(() => this.#tick(), stats_ms);
  }

  async appInfo(): Promise<AppInfo> {
    const engine_version = this.#state === "connected" ? "0.1.0" : null;
    return { version: "0.1.0", engine_version, protocol: 1, platform: "linux", autostart: this.#autostart, tray: true };
  }

  async setAutostart(on: boolean): Promise<void> {
    this.#autostart = on;
  }

  async openFolder(dir: string): Promise<void> {
    if (this.world.mounts.some((mount) => dir.startsWith(mount.dir) && mount.state !== "ready")) throw faults.entryNotFound(dir);
    this.opened.push(dir);
  }

  async openPage(url: string): Promise<void> {
    this.opened.push(url);
  }

  async restartEngine(): Promise<void> {
    this.setState("starting");
    setTimeout(() => this.recover(), this.latency_ms * 4);
  }

  async listen(listener: Listener): Promise<void> {
    this.#listener = listener;
    if (this.#state === "failed") listener.onState({ state: "failed", fault: faults.internal("the engine ended with code 101") });
    else if (this.#state !== "connected") listener.onState({ state: this.#state });
    if (this.world.notices) setTimeout(() => this.#notices(), this.latency_ms * 3);
  }

  // What tests and the console do to it.

  setState(state: EngineState): void {
    this.#state = state;
    const fault = state === "lost" ? faults.engineGone() : undefined;
    this.#listener?.onState(fault === undefined ? { state } : { state, fault });
  }

  lose(): void {
    this.setState("lost");
  }

  recover(): void {
    this.setState("connected");
  }

  setHubDown(is_down: boolean): void {
    this.world.hub_down = is_down;
  }

  setDriverMissing(is_missing: boolean): void {
    this.world.driver_missing = is_missing;
  }

  acceptLicence(repo: string): void {
    this.#accepted.add(repo);
  }

  notice(dir: string | null, fault: Fault): void {
    this.emit({ kind: "notice", dir, fault });
  }

  navigate(target: Navigate): void {
    this.#listener?.onNavigate(target);
  }

  /** Another client mounts: it comes as an event only. */
  mountElsewhere(repo: string): void {
    const mount = this.#newMount({ repo, revision: null, subfolder: null, dir: null, endpoint: null, account: null, token: null, token_file: null, at_login: false, follow: false, event_loops: null });
    this.#put(mount);
  }

  /** A program starts to read the largest file of a mount. */
  read(dir: string, rate: number): void {
    const mount = this.#mount(dir);
    const files = [...allRepos.get(mount.repo)!.files].sort((a, b) => b[1] - a[1]);
    this.world.files.push(simFile(mount, files[0]![0], "python3", rate));
    this.#put({ ...mount, open_files: mount.open_files + 1 });
  }

  readonly #answers: { [M in Method]: (params: Params<M>) => Reply<M> } = {
    hello: () => ({ protocol: 1, version: "0.1.0", pid: 4711 }),
    status: () => ({
      engine: {
        pid: 4711,
        version: "0.1.0",
        started_unix_s: Math.round(this.now_ms() / 1000) - 9_000,
        budget_bytes: this.#budget,
        held_bytes: 0,
        is_paused: this.#is_paused,
        log: `${HOME}/.local/state/weightless/engine.log`,
        faults: this.world.faults,
        store: this.#store,
      },
      folder: this.world.folder,
      mounts: this.world.mounts,
    }),
    "mounts.add": (params) => {
      if (this.world.driver_missing) throw faults.driverMissing();
      const mount = this.#newMount(params);
      const old = this.world.mounts.find((it) => it.dir === mount.dir);
      if (old !== undefined) return { mount: old, is_old: true, notes: [] };
      this.#put(mount);
      return { mount, is_old: false, notes: [] };
    },
    "mounts.remove": ({ dir, manner }) => {
      const mount = this.#mount(dir);
      const open = this.world.files.filter((file) => file.dir === dir);
      if (manner === "refuse" && open.length > 0) {
        throw faults.busy(dir, open.map(holder));
      }
      this.#drop(mount);
      return { dir };
    },
    "mounts.set": (params) => this.#setMount(params),
    "mounts.update": ({ dir }) => {
      this.#needHub();
      const mount = { ...this.#mount(dir) };
      mount.commit = mount.update ?? mount.commit;
      mount.update = null;
      this.#put(mount);
      return mount;
    },
    "folder.get": () => ({ folder: this.world.folder, notes: [] }),
    "folder.set": ({ on, dir, manner }) => {
      if (on && this.world.driver_missing) throw faults.driverMissing();
      const old = this.world.folder;
      const inside = this.world.mounts.filter((mount) => mount.in_folder);
      const open = this.world.files.filter((file) => inside.some((mount) => mount.dir === file.dir));
      if (!on && old !== null && manner === "refuse" && open.length > 0) throw faults.busy(old.dir, open.map(holder));
      if (!on) for (const mount of inside) this.#drop(mount);
      this.world.folder = on ? simFolder(dir ?? old?.dir ?? this.#settings.mount_folder ?? FOLDER) : null;
      this.emit({ kind: "folder", folder: this.world.folder });
      return { folder: this.world.folder, notes: [] };
    },
    pause: ({ paused }) => {
      this.#is_paused = paused;
      this.emit({ kind: "paused", paused });
      return {};
    },
    "settings.get": () => this.#settingsReply(),
    "settings.set": ({ changes }) => {
      const problems = problemsOf(changes);
      if (problems.length > 0) throw faults.badSettings(problems);
      this.#settings = { ...this.#settings, ...(changes as Partial<Settings>) };
      while (sumBytes(this.world.kept) > this.#storeMax) this.world.kept = this.world.kept.slice(1);
      this.emit({ kind: "settings", settings: this.#settingsReply() });
      return this.#settingsReply();
    },
    "accounts.list": () => this.#accounts(),
    "accounts.add": ({ token }) => {
      this.#needHub();
      if (this.world.no_keychain !== null) throw faults.keychain();
      if (token !== GOOD_TOKEN && token !== LIMITED_TOKEN) throw faults.tokenRejected();
      const account = { ...ada, name: token === GOOD_TOKEN ? "ada" : "guest", is_default: this.world.accounts.length === 0 };
      this.world.accounts = [...this.world.accounts.filter((it) => it.name !== account.name), account];
      this.emit({ kind: "accounts" });
      return account;
    },
    "accounts.remove": ({ name }) => {
      this.world.accounts = this.world.accounts.filter((it) => it.name !== name);
      const first = this.world.accounts[0];
      if (first !== undefined && !this.world.accounts.some((it) => it.is_default)) {
        this.world.accounts = this.world.accounts.with(0, { ...first, is_default: true });
      }
      this.emit({ kind: "accounts" });
      return this.#accounts();
    },
    "accounts.use": ({ name }) => {
      this.world.accounts = this.world.accounts.map((it) => ({ ...it, is_default: it.name === name }));
      this.emit({ kind: "accounts" });
      return this.#accounts();
    },
    search: ({ words, author, kind, limit }) => {
      this.#needHub();
      return { repos: search(words, author, kind, limit ?? 20, this.world.accounts.length > 0) };
    },
    "repos.describe": ({ repo, revision }) => {
      const { known, revision: at, path } = this.#find(repo, revision);
      // A link to a file means the folder it lies in.
      const subfolder = known.files.has(path) ? path.split("/").slice(0, -1).join("/") : path;
      return describe(known, at, subfolder, ENDPOINT, this.#settings.mount_folder ?? FOLDER);
    },
    "repos.list": ({ repo, revision, path }) => {
      const folder = list(this.#find(repo, revision).known, path);
      if (folder === null) throw faults.entryNotFound(path);
      return folder;
    },
    "repos.readme": ({ repo, revision }) => ({ markdown: this.#find(repo, revision).known.readme }),
    stats: () => this.#stats(),
    subscribe: () => ({}),
    "store.free": ({ repo, dry_run }) => {
      const freed = this.world.kept.filter((file) => repo === null || file.repo === repo);
      if (!dry_run) this.world.kept = this.world.kept.filter((file) => !freed.includes(file));
      return { bytes: sumBytes(freed), files: freed.length, first: freed.slice(0, FREED_MAX) };
    },
    doctor: () => ({ hops: hops(this.world), hosts: ["huggingface.co", "cas-server.xethub.hf.co", "transfer.xethub.hf.co", "cdn-lfs.hf.co"] }),
    diagnostics: () => ({ text: this.#diagnostics() }),
    stop: () => {
      this.setState("lost");
      return {};
    },
  };

  get #budget(): number {
    return (this.#settings.read_ahead_mb ?? DEFAULTS.read_ahead_mb!) * 1024 * 1024;
  }

  get #storeMax(): number {
    return (this.#settings.store_max_gb ?? DEFAULTS.store_max_gb!) * GIB;
  }

  get #store(): StoreStatus | null {
    if (this.#storeMax === 0) return null;
    return {
      dir: `${HOME}/.cache/weightless/store`,
      used_bytes: sumBytes(this.world.kept),
      max_bytes: this.#storeMax,
      keep_free_bytes: (this.#settings.store_keep_free_gb ?? DEFAULTS.store_keep_free_gb!) * GIB,
      fault: this.world.store_fault,
    };
  }

  #accounts() {
    return { accounts: this.world.accounts, no_keychain: this.world.no_keychain };
  }

  #settingsReply(): SettingsReply {
    return {
      settings: this.#settings,
      defaults: DEFAULTS,
      overridden: this.world.overridden,
      path: `${HOME}/.config/weightless/settings.toml`,
      ram_bytes: RAM,
      problems: this.world.problems,
    };
  }

  #needHub(): void {
    if (this.world.hub_down) throw faults.offline("huggingface.co");
  }

  #find(text: string, revision: string | null): { known: SimRepo; revision: string; path: string } {
    const address = parseAddress(text);
    if (address === null) throw faults.invalidInput(text);
    this.#needHub();
    const known = allRepos.get(address.repo);
    if (known === undefined || (known.hit.private && this.world.accounts.length === 0)) throw faults.repoNotFound(address.repo);
    const at = revision ?? address.revision ?? "main";
    const exists = [...known.branches, ...known.tags].includes(at) || /^[0-9a-f]{7,40}$/.test(at) || at.startsWith("refs/pr/");
    if (!exists) throw faults.revisionNotFound(address.repo, at);
    return { known, revision: at, path: address.path };
  }

  #newMount(params: AddMount): MountStatus {
    const { known, revision } = this.#find(params.repo, params.revision);
    const repo = known.hit.repo;
    if (known.hit.gated && !this.#accepted.has(repo)) throw faults.gated(repo);
    if (params.dir !== null && !params.dir.startsWith("/")) throw faults.mountPointInvalid(params.dir);
    const folder = this.#settings.mount_folder ?? FOLDER;
    return {
      repo,
      revision,
      commit: revision === "main" ? known.commit : fakeCommit(`${repo}@${revision}`),
      update: null,
      subfolder: params.subfolder ?? "",
      endpoint: ENDPOINT,
      account: params.account,
      dir: params.dir ?? `${folder}/${repo}${revision === "main" ? "" : `@${revision}`}`,
      state: "ready",
      pid: 4711,
      mounted_unix_s: Math.round(this.now_ms() / 1000),
      bytes_delivered: 0,
      bytes_fetched: 0,
      bytes_from_store: 0,
      bytes_from_hub_cache: 0,
      open_files: 0,
      files: known.files.size,
      size_bytes: sum(known.files),
      at_login: params.at_login,
      follow: params.follow,
      in_folder: false,
      is_paused: false,
      weight: 1,
      fault: null,
    };
  }

  #mount(dir: string): MountStatus {
    const mount = this.world.mounts.find((it) => it.dir === dir);
    if (mount === undefined) throw faults.entryNotFound(dir);
    return mount;
  }

  #setMount({ dir, at_login, follow, paused, weight }: SetMount): MountStatus {
    const mount = { ...this.#mount(dir) };
    if (at_login !== null) mount.at_login = at_login;
    if (follow !== null) mount.follow = follow;
    if (paused !== null) mount.is_paused = paused;
    if (weight !== null) mount.weight = weight;
    this.#put(mount);
    return mount;
  }

  #drop(mount: MountStatus): void {
    this.world.files = this.world.files.filter((file) => file.dir !== mount.dir);
    this.world.mounts = this.world.mounts.filter((it) => it !== mount);
    this.emit({ kind: "mount_gone", dir: mount.dir });
  }

  #put(mount: MountStatus): void {
    const at = this.world.mounts.findIndex((it) => it.dir === mount.dir);
    this.world.mounts = at < 0 ? [...this.world.mounts, mount] : this.world.mounts.with(at, mount);
    this.emit({ kind: "mount", mount });
  }

  #stats() {
    const { mounts, files } = this.world;
    const moves = (dir: string) => !this.#is_paused && mounts.some((it) => it.dir === dir && it.state === "ready" && !it.is_paused);
    return this.#traffic.stats(this.now_ms(), mounts, files, this.#budget, sumBytes(this.world.kept), moves);
  }

  #tick(): void {
    if (this.#state === "connected") this.emit({ kind: "stats", stats: this.#stats() });
  }

  /** What an engine would say by itself. */
  emit(event: Event): void {
    this.#listener?.onEvent(structuredClone({ lost: 0, event }));
  }

  #notices(): void {
    const [first] = this.world.mounts;
    if (this.world.hub_down) this.notice(null, faults.offline("huggingface.co"));
    else this.notice(null, faults.rateLimited());
    if (first !== undefined) this.notice(first.dir, faults.contentMismatch(`${first.repo}/model-00001-of-00004.safetensors`));
    this.notice(null, faults.tokenRejected());
  }

  #diagnostics(): string {
    const lines = [
      "Weightless 0.1.0 (engine 0.1.0, protocol 1)",
      "system     Linux 6.1, 2 cores, 8 GiB",
      `settings   read_ahead_mb ${this.#settings.read_ahead_mb ?? "1024 (default)"}, endpoint ${ENDPOINT}`,
      `accounts   ${this.world.accounts.map((it) => `${it.name} (${it.source})`).join(", ") || "none"}`,
      "",
      "mounts",
      ...this.world.mounts.map((it) => `  ${it.state.padEnd(8)} ${it.repo}@${it.commit.slice(0, 7)} at ${it.dir}`),
      "",
      "log",
      ...Array.from({ length: 30 }, (_, i) => `  2026-11-30T14:${String(i).padStart(2, "0")}:07Z  WARN fetch: retry attempt=1 request=01JD${fakeCommit(String(i)).slice(0, 12)} url=<signed address>`),
    ];
    return lines.join("\n");
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }
}

const sumBytes = (files: FreedFile[]): number => files.reduce((sum, file) => sum + file.bytes, 0);

const holder = (file: SimFile): Holder => ({ pid: file.pid ?? 0, program: file.program ?? "", path: `${file.dir}/${file.path}` });

function problemsOf(changes: Record<string, JsonValue | undefined>): Problem[] {
  const problems: Problem[] = [];
  const refuse = (setting: string, sentence: string) => problems.push({ setting, sentence });
  const within = (setting: string, min: number, max: number, unit: string) => {
    const value = changes[setting];
    if (value == null) return;
    if (typeof value !== "number" || value < min || value > max) refuse(setting, `must be ${min} to ${max}${unit}`);
  };
  within("read_ahead_mb", 16, RAM / 1024 ** 2, " MiB");
  within("bandwidth_cap_kb", 512, 4_294_967_295, " KiB a second");
  within("stall_timeout_ms", 1_000, 600_000, " ms");
  within("event_loops", 1, 32, "");
  within("refresh_s", 0, 604_800, " s");
  within("store_max_gb", 0, 1_048_576, " GiB");
  within("store_keep_free_gb", 0, 1_048_576, " GiB");
  within("metrics_port", 1_024, 65_535, "");
  const { proxy, endpoint, ca_file, mount_folder } = changes;
  if (typeof proxy === "string" && !/^(https?|socks5):\/\/[^\s/]+$/.test(proxy)) refuse("proxy", "is not http://, https:// or socks5:// with host and port");
  if (typeof endpoint === "string" && !/^https?:\/\/\S+$/.test(endpoint)) refuse("endpoint", "is not an address");
  if (typeof ca_file === "string" && !ca_file.startsWith("/")) refuse("ca_file", "is not an absolute path");
  if (typeof mount_folder === "string" && !mount_folder.startsWith("/")) refuse("mount_folder", "is not an absolute path");
  return problems;
}
