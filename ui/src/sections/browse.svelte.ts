/** The tree of one repo at one revision, loaded folder by folder as they are opened, and its README. */
import type { Bridge } from "../bridge.ts";
import { asFault } from "../bridge.ts";
import type { Fault, FolderEntry } from "../protocol.ts";

export interface Row {
  /** Path in the repo. */
  path: string;
  /** 1 for the root's entries: what screen readers count from. */
  level: number;
  position: number;
  siblings: number;
  content:
    | { what: "entry"; entry: FolderEntry; is_open: boolean; is_loading: boolean }
    | { what: "fault"; fault: Fault }
    | { what: "cut" }
    | { what: "empty" };
}

interface Folder {
  entries: FolderEntry[];
  is_cut: boolean;
  fault: Fault | null;
  is_loading: boolean;
}

export class Browse {
  #bridge: Bridge;
  /** Answers to questions about an earlier repo are dropped. */
  #generation = 0;

  repo: string | null = $state(null);
  revision: string | null = $state(null);
  #folders: Record<string, Folder> = $state.raw({});
  #open: ReadonlySet<string> = $state.raw(new Set<string>());
  selected: string | null = $state(null);
  readme: string | null = $state(null);
  readmeFault: Fault | null = $state.raw(null);
  is_readme_loading = $state(false);

  constructor(bridge: Bridge) {
    this.#bridge = bridge;
  }

  /** Only a root that failed fails the whole view. */
  get fault(): Fault | null {
    return this.#folders[""]?.fault ?? null;
  }

  get is_loading(): boolean {
    return this.#folders[""]?.is_loading ?? false;
  }

  /** The tree as a list: what is open lies below its folder. */
  get rows(): Row[] {
    const rows: Row[] = [];
    this.#collect("", 1, rows);
    return rows;
  }

  get selectedRow(): Row | undefined {
    return this.rows.find((row) => row.path === this.selected && row.content.what === "entry");
  }

  open(repo: string, revision: string | null): void {
    this.#generation += 1;
    this.repo = repo;
    this.revision = revision;
    this.#folders = {};
    this.#open = new Set();
    this.selected = null;
    void this.#load("");
    void this.#loadReadme();
  }

  close(): void {
    this.#generation += 1;
    this.repo = null;
    this.#folders = {};
  }

  toggle(path: string): void {
    if (this.#open.has(path)) this.shut(path);
    else this.unfold(path);
  }

  unfold(path: string): void {
    this.#open = new Set(this.#open).add(path);
    const folder = this.#folders[path];
    if (folder === undefined || folder.fault !== null) void this.#load(path);
  }

  shut(path: string): void {
    const open = new Set(this.#open);
    open.delete(path);
    this.#open = open;
  }

  again(): void {
    if (this.repo !== null) this.open(this.repo, this.revision);
  }

  #collect(path: string, level: number, rows: Row[]): void {
    const folder = this.#folders[path];
    if (folder === undefined) return;
    const siblings = folder.entries.length + (folder.is_cut ? 1 : 0);
    folder.entries.forEach((entry, index) => {
      const own = path === "" ? entry.name : `${path}/${entry.name}`;
      const is_open = this.#open.has(own);
      const is_loading = this.#folders[own]?.is_loading ?? false;
      rows.push({ path: own, level, position: index + 1, siblings, content: { what: "entry", entry, is_open, is_loading } });
      if (is_open) this.#collect(own, level + 1, rows);
    });
    const last = { level, position: siblings, siblings };
    if (folder.is_cut) rows.push({ ...last, path: `${path}//cut`, content: { what: "cut" } });
    if (path !== "" && folder.fault !== null) {
      rows.push({ ...last, path: `${path}//fault`, content: { what: "fault", fault: folder.fault } });
    }
    if (siblings === 0 && !folder.is_loading && folder.fault === null) {
      rows.push({ ...last, path: `${path}//empty`, content: { what: "empty" } });
    }
  }

  async #load(path: string): Promise<void> {
    const mine = this.#generation;
    const put = (folder: Folder) => {
      if (mine === this.#generation) this.#folders = { ...this.#folders, [path]: folder };
    };
    put({ entries: [], is_cut: false, fault: null, is_loading: true });
    try {
      const { entries, is_cut } = await this.#bridge.call("repos.list", { repo: this.repo!, revision: this.revision, path });
      put({ entries, is_cut, fault: null, is_loading: false });
    } catch (thrown) {
      put({ entries: [], is_cut: false, fault: asFault(thrown), is_loading: false });
    }
  }

  async #loadReadme(): Promise<void> {
    const mine = this.#generation;
    this.readme = null;
    this.readmeFault = null;
    this.is_readme_loading = true;
    try {
      const { markdown } = await this.#bridge.call("repos.readme", { repo: this.repo!, revision: this.revision });
      if (mine === this.#generation) this.readme = markdown;
    } catch (thrown) {
      if (mine === this.#generation) this.readmeFault = asFault(thrown);
    } finally {
      if (mine === this.#generation) this.is_readme_loading = false;
    }
  }
}
