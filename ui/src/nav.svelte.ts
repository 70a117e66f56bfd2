/** Which section is shown. Knows their order, which the shortcuts follow. */
import type { Navigate } from "./bridge.ts";
import type { Prefs } from "./prefs.svelte.ts";

export const SECTIONS = ["mounts", "add", "browse", "activity", "storage", "accounts", "settings", "help"] as const;
export type Section = (typeof SECTIONS)[number];

export class Nav {
  #prefs: Prefs;
  section: Section = $state("mounts");
  /** Counts the moves made by the keyboard or from outside: the section then takes the focus, a click leaves it. */
  jumps = $state(0);

  constructor(prefs: Prefs) {
    this.#prefs = prefs;
    if (isSection(prefs.section)) this.section = prefs.section;
  }

  go(section: Section): void {
    this.section = section;
    this.#prefs.section = section;
  }

  jump(section: Section): void {
    this.go(section);
    this.jumps += 1;
  }

  /** Goes where the tray or a link leads; a repo without a known section leads to where it can be mounted. */
  follow(target: Navigate): void {
    if (isSection(target.section)) this.jump(target.section);
    else this.jump(target.repo === undefined ? "mounts" : "add");
  }
}

const isSection = (name: string): name is Section => (SECTIONS as readonly string[]).includes(name);
