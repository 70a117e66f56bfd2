/** A small Hub in memory: repos to find, describe, list and read. Sizes and counts are made up but plausible. */
import type { Folder, FolderEntry, RepoDescription, RepoHit, RepoKind } from "../protocol.ts";
import { repoName } from "../format.ts";

export interface SimRepo {
  hit: RepoHit;
  commit: string;
  branches: string[];
  tags: string[];
  /** Path to length. */
  files: Map<string, number>;
  is_complete: boolean;
  readme: string | null;
}

const DAY_S = 86_400;
/** A fixed day, so that pictures of two runs are the same. */
export const NOW_S = 1_796_000_000;

/** The same numbers for the same seed: mulberry32. */
export function random(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function hash(text: string): number {
  let h = 2_166_136_261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16_777_619);
  return h >>> 0;
}

export function fakeCommit(text: string): string {
  const next = random(hash(text));
  return Array.from({ length: 40 }, () => Math.floor(next() * 16).toString(16)).join("");
}

interface Sketch {
  downloads: number;
  likes: number;
  licence?: string;
  gated?: boolean;
  private?: boolean;
  files?: [string, number][];
  branches?: string[];
  tags?: string[];
  is_complete?: boolean;
  readme?: string | null;
}

function repo(name: string, sketch: Sketch): SimRepo {
  const { kind } = repoName(name);
  const hit: RepoHit = {
    repo: name,
    kind,
    downloads: sketch.downloads,
    likes: sketch.likes,
    licence: sketch.licence ?? null,
    gated: sketch.gated ?? false,
    private: sketch.private ?? false,
    modified_unix_s: NOW_S - (hash(name) % 300) * DAY_S,
  };
  return {
    hit,
    commit: fakeCommit(name),
    branches: sketch.branches ?? ["main"],
    tags: sketch.tags ?? [],
    files: new Map(sketch.files ?? modelFiles(1, 988_097_824)),
    is_complete: sketch.is_complete ?? true,
    readme: sketch.readme === undefined ? readme(name) : sketch.readme,
  };
}

function modelFiles(shards: number, shard: number): [string, number][] {
  const weights: [string, number][] =
    shards === 1
      ? [["model.safetensors", shard]]
      : Array.from({ length: shards }, (_, i) => [
          `model-${String(i + 1).padStart(5, "0")}-of-${String(shards).padStart(5, "0")}.safetensors`,
          shard,
        ]);
  return [
    [".gitattributes", 1519],
    ["LICENSE", 11_343],
    ["README.md", 3_560],
    ["config.json", 659],
    ["generation_config.json", 138],
    ["merges.txt", 1_671_839],
    ...weights,
    ["tokenizer.json", 7_031_645],
    ["tokenizer_config.json", 7_228],
    ["vocab.json", 2_776_833],
  ];
}

const miniLm: [string, number][] = [
  [".gitattributes", 1_230],
  ["1_Pooling/config.json", 190],
  ["README.md", 10_454],
  ["config.json", 612],
  ["config_sentence_transformers.json", 116],
  ["data_config.json", 39_265],
  ["model.safetensors", 90_868_376],
  ["modules.json", 349],
  ["onnx/model.onnx", 90_405_214],
  ["onnx/model_O1.onnx", 90_360_328],
  ["onnx/model_qint8_avx512.onnx", 23_046_789],
  ["openvino/openvino_model.bin", 90_265_744],
  ["openvino/openvino_model.xml", 211_315],
  ["pytorch_model.bin", 90_888_945],
  ["sentence_bert_config.json", 53],
  ["special_tokens_map.json", 112],
  ["tokenizer.json", 466_247],
  ["tokenizer_config.json", 350],
  ["vocab.txt", 231_508],
];

const parquet = (folder: string, n: number): [string, number][] =>
  Array.from({ length: n }, (_, i) => [`${folder}/train-${String(i).padStart(5, "0")}-of-${String(n).padStart(5, "0")}.parquet`, 512_483_201 - i * 7_919]);

function readme(name: string): string {
  const { name: bare } = repoName(name);
  return `---
license: apache-2.0
tags: [simulated]
---

# ${bare}

![banner of the project](https://example.org/banner.png)

**${bare}** is part of the simulated Hub of Weightless. It has a *paragraph*, a [link](https://huggingface.co/${name}), \`code\`,
a list and a table, as READMEs have.

## Use

\`\`\`python
from transformers import AutoModel

model = AutoModel.from_pretrained("${name}")
\`\`\`

- small and quick
- works with every library that opens files
- a rather long entry that goes on and on, so that lines of the list have to be broken in a narrow window as well

| Benchmark | Score | Remark |
| --- | ---: | --- |
| MMLU | 47.5 | five shots |
| GSM8K | 36.4 | four shots |
| HumanEval | 30.5 | |

> Quoted: numbers are made up.
`;
}

/** Everything that a README must not do. */
const unfriendly = `# Unfriendly

<script>window.hacked = true</script>
<img src=x onerror="window.hacked = true" alt="a trap">
<iframe src="https://example.org"></iframe>
<svg onload="window.hacked = true"><script>window.hacked = true</script></svg>
<p style="position:fixed;inset:0" onclick="window.hacked = true">over everything</p>
<form action="https://example.org"><input name="token"><button>Send</button></form>
<style>* { display: none !important }</style>
<a href="javascript:window.hacked = true">one</a> <a href="http://example.org">two</a>

[three](https://example.org/page) [four](LICENSE)
![remote](https://example.org/banner.png)
`;

/** Two hundred small repos, so that a list is long enough to scroll. */
const crowd = (): SimRepo[] =>
  Array.from({ length: 200 }, (_, i) => {
    const words = ["tiny", "base", "large", "instruct", "chat", "coder", "vision", "embed", "rerank", "distill"];
    const name = `example-lab/${words[i % 10]}-${words[(i * 7 + 3) % 10]}-${(i % 70) + 1}b-v${1 + (i % 4)}`;
    return repo(name, { downloads: 40_000 - i * 173, likes: 300 - i, licence: i % 3 === 0 ? "mit" : "apache-2.0" });
  });

export const LONG_REPO =
  "an-organisation-with-a-remarkably-long-name/a-model-whose-name-says-everything-about-it-instruct-awq-4bit-128g-actorder-v0.3-merged";

const repos: SimRepo[] = [
  repo("sentence-transformers/all-MiniLM-L6-v2", { downloads: 149_204_113, likes: 3_921, licence: "apache-2.0", files: miniLm }),
  repo("Qwen/Qwen2.5-0.5B", {
    downloads: 1_204_331,
    likes: 312,
    licence: "apache-2.0",
    branches: ["main", "refs-test"],
    tags: ["v1.0", "v0.9"],
  }),
  repo("Qwen/Qwen2.5-0.5B-Instruct", { downloads: 2_871_004, likes: 401, licence: "apache-2.0" }),
  repo("Qwen/Qwen2.5-7B-Instruct", { downloads: 9_420_771, likes: 812, licence: "apache-2.0", files: modelFiles(4, 3_864_726_320) }),
  repo("meta-llama/Llama-3.2-1B", { downloads: 2_004_512, likes: 1_904, licence: "llama3.2", gated: true, files: modelFiles(1, 2_471_645_608) }),
  repo("mistralai/Mistral-7B-v0.3", { downloads: 871_310, likes: 501, licence: "apache-2.0", files: modelFiles(3, 4_949_453_792) }),
  repo("openai/whisper-tiny", { downloads: 611_007, likes: 388, licence: "apache-2.0", files: modelFiles(1, 151_061_672) }),
  repo("black-forest-labs/FLUX.1-dev", { downloads: 1_702_882, likes: 11_402, licence: "other", gated: true, files: modelFiles(3, 9_983_040_304) }),
  repo("ada/secret-sauce", { downloads: 3, likes: 0, private: true }),
  repo(LONG_REPO, { downloads: 12_041, likes: 18, licence: "cc-by-nc-sa-4.0", gated: true }),
  repo("datasets/HuggingFaceFW/fineweb", {
    downloads: 412_007,
    likes: 2_301,
    licence: "odc-by",
    files: [["README.md", 22_410], ...parquet("data/CC-MAIN-2024-10", 2_400), ...parquet("data/CC-MAIN-2024-18", 2_000), ...parquet("sample/10BT", 15)],
    is_complete: false,
  }),
  repo("datasets/stanfordnlp/imdb", {
    downloads: 120_881,
    likes: 334,
    licence: "other",
    files: [["README.md", 7_810], ["plain_text/test-00000-of-00001.parquet", 20_470_363], ["plain_text/train-00000-of-00001.parquet", 20_979_968]],
  }),
  repo("datasets/example-lab/many-files", {
    downloads: 1_204,
    likes: 2,
    files: Array.from({ length: 12_000 }, (_, i) => [`images/${String(i).padStart(6, "0")}.png`, 20_000 + ((i * 7_919) % 90_000)]),
    readme: null,
  }),
  repo("example-lab/unfriendly-readme", { downloads: 1, likes: 0, readme: unfriendly }),
  repo("spaces/gradio/hello_world", { downloads: 0, likes: 77, licence: "mit", files: [["README.md", 240], ["app.py", 148], ["requirements.txt", 7]] }),
  repo("spaces/stabilityai/stable-diffusion", { downloads: 0, likes: 10_220, licence: "mit", files: [["README.md", 401], ["app.py", 9_210], ["style.css", 880]] }),
  ...crowd(),
];

export const allRepos: ReadonlyMap<string, SimRepo> = new Map(repos.map((it) => [it.hit.repo, it]));

/** What people type: an id, a link with revision and path, `hf://`. `null` if it is none of them. */
export function parseAddress(text: string): { repo: string; revision: string | null; path: string } | null {
  const bare = text.trim().replace(/^(https?:\/\/[^/]+\/|hf:\/\/)/i, "");
  const found = /^((?:datasets\/|spaces\/|models\/)?[\w.-]+\/[\w.-]+)(?:@([\w./-]+))?(?:\/(?:tree|blob|resolve)\/([^/]+)(?:\/(.*))?)?\/?$/.exec(bare);
  if (found === null) return null;
  const [, repo, at, inPath, path] = found;
  return { repo: repo!.replace(/^models\//, ""), revision: at ?? inPath ?? null, path: path ?? "" };
}

export function search(words: string, author: string | null, kind: RepoKind, limit: number, seesPrivate: boolean): RepoHit[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return repos
    .map((it) => it.hit)
    .filter((hit) => hit.kind === kind && (seesPrivate || !hit.private))
    .filter((hit) => author === null || repoName(hit.repo).org.toLowerCase() === author.toLowerCase())
    .filter((hit) => wanted.every((word) => hit.repo.toLowerCase().includes(word)))
    .sort((a, b) => (b.downloads ?? 0) + (b.likes ?? 0) - (a.downloads ?? 0) - (a.likes ?? 0))
    .slice(0, limit);
}

export function describe(it: SimRepo, revision: string, subfolder: string, endpoint: string, folder: string): RepoDescription {
  const { repo: name, kind, gated } = it.hit;
  return {
    repo: name,
    kind,
    revision,
    commit: revision === "main" ? it.commit : fakeCommit(`${name}@${revision}`),
    modified_unix_s: it.hit.modified_unix_s ?? 0,
    subfolder,
    files: it.files.size,
    bytes: sum(it.files),
    is_complete: it.is_complete,
    gated,
    page: `${endpoint}/${name}`,
    branches: it.branches,
    tags: it.tags,
    default_dir: `${folder}/${name}${revision === "main" ? "" : `@${revision}`}`,
  };
}

export const sum = (files: ReadonlyMap<string, number>): number => [...files.values()].reduce((all, size) => all + size, 0);

const ENTRIES_MAX = 5_000;

/** `null` if there is no such folder. */
export function list(it: SimRepo, path: string): Folder | null {
  const prefix = path === "" ? "" : `${path}/`;
  const folders = new Set<string>();
  const files: FolderEntry[] = [];
  for (const [file, size] of it.files) {
    if (!file.startsWith(prefix)) continue;
    const [name, ...rest] = file.slice(prefix.length).split("/");
    if (rest.length > 0) folders.add(name!);
    else files.push({ name: name!, is_folder: false, size });
  }
  if (folders.size + files.length === 0) return null;
  const entries = [...folders].sort().map((name): FolderEntry => ({ name, is_folder: true, size: null }));
  entries.push(...files.sort((a, b) => (a.name < b.name ? -1 : 1)));
  return { entries: entries.slice(0, ENTRIES_MAX), is_cut: entries.length > ENTRIES_MAX };
}
