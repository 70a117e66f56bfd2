/** What this window remembers by itself: looks and whether the welcome was seen. What the engine does is a setting, not this. */

export type Theme = "system" | "light" | "dark";

const KEY = "weightless";

interface Stored {
  theme: Theme;
  welcomed: boolean;
  section: string;
}

const FRESH: Stored = { theme: "system", welcomed: false, section: "mounts" };

export class Prefs {
  #storage: Storage;
  #stored: Stored = $state(FRESH);

  constructor(storage: Storage) {
    this.#storage = storage;
    this.#stored = read(storage);
  }

  get theme(): Theme {
    return this.#stored.theme;
  }
  set theme(theme: Theme) {
    this.#change({ theme });
  }

  get welcomed(): boolean {
    return this.#stored.welcomed;
  }
  set welcomed(welcomed: boolean) {
    this.#change({ welcomed });
  }

  get section(): string {
    return this.#stored.section;
  }
  set section(section: string) {
    this.#change({ section });
  }

  #change(change: Partial<Stored>): void {
    this.#stored = { ...this.#stored, ...change };
    try {
      this.#storage.setItem(KEY, JSON.stringify(this.#stored));
    } catch {
      // A full or forbidden storage costs the memory of looks, nothing else.
    }
  }
}

function read(storage: Storage): Stored {
  try {
    return { ...FRESH, ...(JSON.parse(storage.getItem(KEY) ?? "{}") as Partial<Stored>) };
  } catch {
    return FRESH;
  }
}
