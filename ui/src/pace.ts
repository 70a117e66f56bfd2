/** How often figures are wanted. Nothing is asked for while nothing shows it. */
import type { Section } from "./nav.svelte.ts";

/** Rates are means over a second: twice that often looks alive, more would show the same. */
const LIVE_MS = 500;
/** The foot of the side bar shows the sum in every section. */
const QUIET_MS = 2_000;

export function statsPace(isShown: boolean, section: Section): number | null {
  if (!isShown) return null;
  return section === "mounts" || section === "activity" ? LIVE_MS : QUIET_MS;
}
