/**
 * What of which repo is kept on this device, by what the engine says that it would free. Frees nothing by itself: `preview` says what
 * would go, `free` lets it go.
 */
import { asFault, type Bridge } from "../bridge.ts";
import type { Fault, Freed } from "../protocol.ts";

export interface KeptRepo {
  /** Empty where the engine does not know any more what it came from; such files go with all others only. */
  repo: string;
  bytes: number;
  files: number;
}

/** Of more repos the rest is told as a sum: each costs a question. */
const REPOS_MAX = 30;

export class Kept {
  #bridge: Bridge;
  #round = 0;
  /** The largest first; nothing before the first answer. */
  repos: KeptRepo[] | null = $state.raw(null);
  /** What is kept of repos that are not listed. */
  rest: KeptRepo = $state.raw({ repo: "", bytes: 0, files: 0 });
  fault: Fault | null = $state.raw(null);

  constructor(bridge: Bridge) {
    this.#bridge = bridge;
  }

  /** `known` are repos to ask about beside those of the files that the engine lists: it lists few of many. */
  async load(known: readonly string[]): Promise<void> {
    const round = ++this.#round;
    try {
      const all = await this.preview(null);
      const listed = byRepo(all);
      const repos = all.first.length === all.files ? listed : await this.#askEach([...new Set([...listed.map((it) => it.repo), ...known])]);
      // A later question has the newer answer.
      if (round !== this.#round) return;
      const kept = repos.filter((it) => it.bytes > 0 && it.repo !== "").sort((a, b) => b.bytes - a.bytes);
      const sum = (of: "bytes" | "files") => kept.reduce((n, it) => n + it[of], 0);
      this.repos = kept;
      this.rest = { repo: "", bytes: Math.max(0, all.bytes - sum("bytes")), files: Math.max(0, all.files - sum("files")) };
      this.fault = null;
    } catch (thrown) {
      if (round === this.#round) this.fault = asFault(thrown);
    }
  }

  preview(repo: string | null): Promise<Freed> {
    return this.#bridge.call("store.free", { repo, dry_run: true });
  }

  free(repo: string | null): Promise<Freed> {
    return this.#bridge.call("store.free", { repo, dry_run: false });
  }

  async #askEach(names: string[]): Promise<KeptRepo[]> {
    const repos: KeptRepo[] = [];
    for (const repo of names.filter((name) => name !== "").slice(0, REPOS_MAX)) {
      const { bytes, files } = await this.preview(repo);
      repos.push({ repo, bytes, files });
    }
    return repos;
  }
}

/** Sums up what the engine lists. */
export function byRepo({ first }: Freed): KeptRepo[] {
  const repos = new Map<string, KeptRepo>();
  for (const { repo, bytes } of first) {
    const sum = repos.get(repo) ?? { repo, bytes: 0, files: 0 };
    repos.set(repo, { repo, bytes: sum.bytes + bytes, files: sum.files + 1 });
  }
  return [...repos.values()];
}
