/** From something typed or pasted to a mounted folder: search, describe, mount. Later answers to earlier questions are dropped. */
import type { Bridge } from "../bridge.ts";
import { asFault } from "../bridge.ts";
import type { Engine } from "../engine.svelte.ts";
import type { Fault, MountStatus, RepoDescription, RepoHit, RepoKind } from "../protocol.ts";

/** Typing pauses this long before the Hub is asked. */
export const DEBOUNCE_MS = 250;
const RESULTS_MAX = 40;

export interface Meaning {
  /** What can be described as it stands: an id, a link, `hf://…`. */
  address: string | null;
  /** What can be searched; `null` where a search makes no sense. */
  words: string | null;
  author: string | null;
}

/** What the one field holds. */
export function meaning(text: string): Meaning {
  const typed = text.trim();
  if (/^(https?|hf):\/\//i.test(typed)) return { address: typed, words: null, author: null };
  const kind = /^(datasets|spaces|models)\/(.*)$/.exec(typed);
  const rest = kind === null ? typed : kind[2]!;
  const id = /^([\w.-]+)\/([\w.-]*)(.*)$/.exec(rest);
  if (id === null) return { address: null, words: rest, author: null };
  const [, org, name, more] = id;
  if (name === "") return { address: null, words: "", author: org! };
  // A path or a revision behind the name can only be an address.
  return more === "" ? { address: typed, words: name!, author: org! } : { address: typed, words: null, author: null };
}

export class Add {
  #bridge: Bridge;
  #engine: Engine;
  #search = 0;
  #describe = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  text = $state("");
  kind: RepoKind = $state("model");
  hits: RepoHit[] | null = $state.raw(null);
  is_searching = $state(false);
  /** Whether more was typed than the list answers. */
  is_stale = $state(false);
  searchFault: Fault | null = $state.raw(null);
  /** Row of the list that Enter takes; the address itself, where there is one, is row 0. */
  active = $state(0);

  /** What was chosen, as it was named; `null` while the list is shown. */
  chosen: string | null = $state(null);
  /** Whether a link from outside chose it: that is said, since nobody clicked here. */
  is_from_link = $state(false);
  description: RepoDescription | null = $state.raw(null);
  is_describing = $state(false);
  describeFault: Fault | null = $state.raw(null);

  subfolder = $state("");
  dir = $state("");
  account = $state("");
  at_login = $state(false);
  is_mounting = $state(false);
  mountFault: Fault | null = $state.raw(null);

  constructor(bridge: Bridge, engine: Engine) {
    this.#bridge = bridge;
    this.#engine = engine;
  }

  get meaning(): Meaning {
    return meaning(this.text);
  }

  /** Rows of the list: the address first, then what was found. */
  get rows(): string[] {
    const address = this.meaning.address;
    const found = (this.hits ?? []).map((hit) => hit.repo).filter((repo) => repo !== address);
    return address === null ? found : [address, ...found];
  }

  type(text: string): void {
    this.text = text;
    this.active = 0;
    this.is_stale = true;
    clearTimeout(this.#timer);
    // The old list may stay until the new one is there: nothing jumps.
    this.#timer = setTimeout(() => void this.search(), DEBOUNCE_MS);
  }

  setKind(kind: RepoKind): void {
    this.kind = kind;
    this.active = 0;
    this.hits = null;
    void this.search();
  }

  async search(): Promise<void> {
    clearTimeout(this.#timer);
    const mine = ++this.#search;
    const { words, author } = this.meaning;
    this.is_stale = false;
    this.searchFault = null;
    if (words === null) {
      this.hits = [];
      this.is_searching = false;
      return;
    }
    this.is_searching = true;
    try {
      const found = await this.#bridge.call("search", { words, author, kind: this.kind, limit: RESULTS_MAX });
      if (mine === this.#search) this.hits = found.repos;
    } catch (thrown) {
      if (mine !== this.#search) return;
      this.hits = null;
      this.searchFault = asFault(thrown);
    } finally {
      if (mine === this.#search) this.is_searching = false;
    }
  }

  move(by: number): void {
    const rows = this.rows.length;
    if (rows > 0) this.active = (this.active + by + rows) % rows;
  }

  chooseActive(): void {
    const row = this.rows[this.active];
    if (row !== undefined) this.choose(row);
  }

  /** A link from outside: shown like any other choice, mounted by a click only. */
  askFor(repo: string, revision: string | null): void {
    this.choose(repo, revision);
    this.is_from_link = true;
  }

  choose(repo: string, revision: string | null = null, subfolder: string | null = null): void {
    this.chosen = repo;
    this.is_from_link = false;
    this.dir = "";
    this.account = "";
    this.at_login = false;
    this.mountFault = null;
    this.description = null;
    this.subfolder = subfolder ?? "";
    void this.#describeAs(revision, subfolder === null);
  }

  back(): void {
    this.#describe += 1;
    this.chosen = null;
    this.description = null;
    this.describeFault = null;
    this.mountFault = null;
    this.is_describing = false;
  }

  async setRevision(revision: string): Promise<void> {
    await this.#describeAs(revision, false);
  }

  async describeAgain(): Promise<void> {
    await this.#describeAs(this.description?.revision ?? null, true);
  }

  /** The link's own folder counts once; a revision chosen later keeps what the person has made of it. */
  async #describeAs(revision: string | null, takeSubfolder: boolean): Promise<void> {
    const mine = ++this.#describe;
    this.is_describing = true;
    this.describeFault = null;
    try {
      const repo = revision === null ? this.chosen! : (this.description?.repo ?? this.chosen!);
      const description = await this.#bridge.call("repos.describe", { repo, revision });
      if (mine !== this.#describe) return;
      this.description = description;
      if (takeSubfolder) this.subfolder = description.subfolder;
    } catch (thrown) {
      if (mine === this.#describe) this.describeFault = asFault(thrown);
    } finally {
      if (mine === this.#describe) this.is_describing = false;
    }
  }

  /** Mounts what is described; the mount, or `null` if that failed: then `mountFault` says why. */
  async mount(): Promise<MountStatus | null> {
    const description = this.description;
    if (description === null || this.is_mounting) return null;
    this.is_mounting = true;
    this.mountFault = null;
    try {
      const { mount } = await this.#bridge.call("mounts.add", {
        repo: description.repo,
        revision: description.revision,
        subfolder: orNull(this.subfolder.replace(/^\/+|\/+$/g, "")),
        dir: orNull(this.dir),
        endpoint: null,
        account: orNull(this.account),
        token: null,
        token_file: null,
        at_login: this.at_login,
        follow: false,
        event_loops: null,
      });
      this.#engine.put(mount);
      this.back();
      return mount;
    } catch (thrown) {
      this.mountFault = asFault(thrown);
      return null;
    } finally {
      this.is_mounting = false;
    }
  }
}

const orNull = (text: string): string | null => (text.trim() === "" ? null : text.trim());
