/** Worlds to start from, chosen by `?scenario=`. */
import type { EngineState } from "../bridge.ts";
import type { Account, Fault, FolderStatus, FreedFile, Hop, MountStatus, Problem, Settings } from "../protocol.ts";
import { faults } from "./faults.ts";
import { allRepos, fakeCommit, LONG_REPO, NOW_S, sum } from "./hub.ts";
import type { SimFile } from "./traffic.ts";

export const HOME = "/home/ada";
export const FOLDER = `${HOME}/Weightless`;
const LONG_FOLDER = `${HOME}/a folder with a long name/and another one below it/Weightless`;
export const ENDPOINT = "https://huggingface.co";

export interface World {
  /** Whether the welcome was seen. */
  welcomed: boolean;
  state: EngineState;
  mounts: MountStatus[];
  folder: FolderStatus | null;
  files: SimFile[];
  /** What of which file the store holds; what was not used for longest comes first. */
  kept: FreedFile[];
  store_fault: Fault | null;
  faults: Fault[];
  accounts: Account[];
  no_keychain: string | null;
  hub_down: boolean;
  driver_missing: boolean;
  settings: Partial<Settings>;
  overridden: string[];
  problems: Problem[];
  notices: boolean;
}

export const ada: Account = {
  name: "ada",
  full_name: "Ada Lovelace",
  orgs: ["analytical-engines"],
  role: "read",
  endpoint: ENDPOINT,
  source: "keychain",
  is_default: true,
};

const base = (): World => ({
  welcomed: true,
  state: "connected",
  mounts: [],
  folder: null,
  files: [],
  kept: [],
  store_fault: null,
  faults: [],
  accounts: [],
  no_keychain: null,
  hub_down: false,
  driver_missing: false,
  settings: {},
  overridden: [],
  problems: [],
  notices: false,
});

export const simFolder = (dir: string, change: Partial<FolderStatus> = {}): FolderStatus => ({
  dir,
  state: "ready",
  endpoint: ENDPOINT,
  account: null,
  recent: [],
  problems: [],
  fault: null,
  ...change,
});

export function simMount(repo: string, change: Partial<MountStatus> = {}): MountStatus {
  const known = allRepos.get(repo)!;
  const revision = change.revision ?? "main";
  return {
    repo,
    revision,
    commit: known.commit,
    update: null,
    subfolder: "",
    endpoint: ENDPOINT,
    account: null,
    dir: `${FOLDER}/${repo}${revision === "main" ? "" : `@${revision}`}`,
    state: "ready",
    pid: 4711,
    mounted_unix_s: NOW_S - 5_400,
    bytes_delivered: 0,
    bytes_fetched: 0,
    bytes_from_store: 0,
    bytes_from_hub_cache: 0,
    open_files: 0,
    files: known.files.size,
    size_bytes: sum(known.files),
    at_login: false,
    follow: false,
    in_folder: false,
    is_paused: false,
    weight: 1,
    fault: null,
    ...change,
  };
}

/** All files of a repo, of which a part was read. */
function simKept(repo: string, part: number): FreedFile[] {
  return [...allRepos.get(repo)!.files].map(([path, size]) => ({ repo, path, bytes: Math.ceil((size * part) / 4096) * 4096 }));
}

export function simFile(mount: MountStatus, path: string, program: string | null, mean_rate: number, change: Partial<SimFile> = {}): SimFile {
  const size = allRepos.get(mount.repo)?.files.get(path) ?? 1_000_000;
  const pid = program === null ? null : 20_000 + program.length * 37;
  return { dir: mount.dir, path, size, pid, program, opened_unix_s: NOW_S - 70, mean_rate, waiting: null, ...change };
}

const usual = (): World => {
  const qwen = simMount("Qwen/Qwen2.5-0.5B", { at_login: true, open_files: 2, bytes_delivered: 4_120_331_002, bytes_fetched: 1_030_114_871 });
  const imdb = simMount("datasets/stanfordnlp/imdb", { update: fakeCommit("imdb, newer") });
  return {
    ...base(),
    mounts: [qwen, imdb],
    files: [
      simFile(qwen, "model.safetensors", "python3", 38_200_000, { waiting: { reason: "link" } }),
      simFile(qwen, "tokenizer.json", "python3", 0),
    ],
    kept: [...simKept("datasets/stanfordnlp/imdb", 0.4), ...simKept("Qwen/Qwen2.5-0.5B", 1)],
    accounts: [ada],
  };
};

const busy = (): World => {
  const names = [
    ["Qwen/Qwen2.5-7B-Instruct", "python3", 61e6],
    ["mistralai/Mistral-7B-v0.3", "llama-server", 22e6],
    [LONG_REPO, "a-program-with-a-long-name-that-loads-tensors", 9_400_000],
    ["datasets/HuggingFaceFW/fineweb", "duckdb", 34e6],
    ["openai/whisper-tiny", "ffmpeg", 310_000],
    ["sentence-transformers/all-MiniLM-L6-v2", "jupyter-lab", 0],
    ["datasets/stanfordnlp/imdb", "rsync", 4_100_000],
  ] as const;
  const mounts = names.map(([repo], i) =>
    simMount(repo, {
      at_login: i % 2 === 0,
      weight: i === 0 ? 4 : 1,
      update: i === 0 || repo === LONG_REPO ? fakeCommit(`${repo}, newer`) : null,
      in_folder: repo === LONG_REPO,
      ...(repo === LONG_REPO && { dir: `${LONG_FOLDER}/${repo}` }),
      is_paused: repo === "openai/whisper-tiny",
      subfolder: repo.endsWith("fineweb") ? "data/CC-MAIN-2024-10" : "",
      bytes_delivered: 812_000_000_000 / (i + 1),
      bytes_fetched: 231_000_000_000 / (i + 1),
    }),
  );
  const waits = [null, { reason: "link" }, { reason: "budget" }, { reason: "hub_limit", in_s: 41 }, null, null, { reason: "retry", in_s: 3 }] as const;
  const files: SimFile[] = [];
  mounts.forEach((mount, i) => {
    const [repo, program, mean] = names[i]!;
    const paths = [...allRepos.get(repo)!.files.keys()].filter((path) => /safetensors|parquet|onnx|json/.test(path)).slice(0, 9);
    paths.forEach((path, j) => {
      files.push(simFile(mount, path, j === 3 ? null : program, mean / (j + 1) / 2, { waiting: j === 0 ? waits[i]! : null }));
    });
    mount.open_files = paths.length;
  });
  return {
    ...base(),
    mounts,
    files,
    accounts: [
      ada,
      { ...ada, name: "babbage-with-a-long-account-name-for-organisations", full_name: null, is_default: false, role: "fineGrained", orgs: ["difference-engine", "analytical-engines", "royal-society", "cambridge-mathematics"] },
      { ...ada, name: "ci-reader", full_name: "CI", orgs: [], is_default: false, role: "read", source: "environment" },
      { ...ada, name: "ada-file", full_name: null, orgs: [], is_default: false, role: "write", source: "file" },
    ],
    settings: { read_ahead_mb: 1536, mount_folder: LONG_FOLDER },
    folder: simFolder(LONG_FOLDER, {
      recent: [LONG_REPO, ...names.map(([repo]) => repo).filter((repo) => repo !== LONG_REPO), "datasets/HuggingFaceFW/fineweb@refs%2Fpr%2F7", "openai/whisper-large-v3", "openai/whisper-base"],
      problems: [{ path: "meta-llama/Llama-3.2-1B", fault: faults.gated("meta-llama/Llama-3.2-1B") }, { path: "Qwen/Qwen9", fault: faults.repoNotFound("Qwen/Qwen9") }],
    }),
    kept: [{ repo: "", path: "model.safetensors", bytes: 310_001_664 }, ...names.flatMap(([repo], i) => simKept(repo, repo.endsWith("fineweb") ? 0.0003 : 1 / (i + 1)))],
    notices: true,
  };
};

const error = (): World => {
  const gone = simMount("Qwen/Qwen2.5-0.5B", { state: "dead", pid: null, fault: faults.engineGone() });
  const gated = simMount("meta-llama/Llama-3.2-1B", { state: "failed", commit: "", files: 0, size_bytes: 0, fault: faults.gated("meta-llama/Llama-3.2-1B") });
  const silent = simMount("mistralai/Mistral-7B-v0.3", { state: "silent" });
  const stalled = simMount(LONG_REPO, { fault: faults.stalled("model.safetensors"), open_files: 1 });
  return {
    ...base(),
    mounts: [gone, gated, silent, stalled],
    folder: simFolder(FOLDER, { state: "failed", fault: faults.mountPointInvalid(FOLDER) }),
    files: [simFile(stalled, "model.safetensors", "python3", 0, { waiting: { reason: "retry", in_s: 12 } })],
    accounts: [{ ...ada, source: "environment" }],
    kept: simKept("Qwen/Qwen2.5-0.5B", 0.3),
    store_fault: faults.diskFull(),
    faults: [faults.diskFull()],
    no_keychain: "no Secret Service answers on the session bus",
    hub_down: true,
    driver_missing: true,
    settings: { proxy: "http://proxy.example:8080" },
    overridden: ["proxy", "endpoint"],
    problems: [{ setting: "read_ahead_gb", sentence: "there is no such setting" }],
    notices: true,
  };
};

const worlds: Record<string, () => World> = {
  usual,
  busy,
  error,
  empty: base,
  "first-run": () => ({ ...base(), welcomed: false }),
  "first-run-no-driver": () => ({ ...base(), welcomed: false, driver_missing: true }),
  "no-keychain": () => ({ ...base(), no_keychain: "no Secret Service answers on the session bus" }),
  starting: () => ({ ...usual(), state: "starting" }),
  lost: () => ({ ...usual(), state: "lost" }),
  failed: () => ({ ...usual(), state: "failed" }),
};

export const worldNamed = (name: string): World => (worlds[name] ?? usual)();

export const hops = (world: World): Hop[] => {
  const hop = (name: string, detail: string, took_ms: number): Hop => ({ name, state: "ok", detail, advice: "", code: "", took_ms });
  const all = [
    hop("file-system driver", "FUSE 3.14 with fusermount3", 4),
    hop("name of the Hub", "huggingface.co is 18.164.174.55 and 3 more", 21),
    hop("connection to the Hub", "TLS 1.3, certificate of Amazon", 64),
    hop("the Hub's answer", "version 1, 88 ms away", 88),
    hop("account", world.accounts.length > 0 ? `logged in as ${world.accounts[0]!.name}` : "none: public repos only", 95),
    hop("data host", "a file of 1 kB came in 110 ms", 110),
    hop("link", "94.3 MB/s over 2 s", 2_014),
  ];
  if (world.driver_missing) {
    const { sentence, advice } = faults.driverMissing();
    Object.assign(all[0]!, { state: "failed", detail: sentence, advice: advice ?? "" });
  }
  if (world.hub_down) {
    Object.assign(all[1]!, { state: "warning", detail: "huggingface.co answers slowly", advice: "Another name server may be quicker.", took_ms: 2_400 });
    Object.assign(all[2]!, { state: "failed", detail: "no answer within 10 s", advice: "Is a proxy needed? Name it in the settings.", code: "deadline", took_ms: 10_000 });
    for (const later of all.slice(3)) Object.assign(later, { state: "skipped", detail: "", took_ms: 0 });
  }
  return all;
};
