/** Sets the colours, and follows the system where that was chosen. Returns how to stop following. */
import type { Theme } from "./prefs.svelte.ts";

export function theme(chosen: Theme): () => void {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const set = () => {
    document.documentElement.dataset["theme"] = chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
  };
  set();
  if (chosen !== "system") return () => undefined;
  dark.addEventListener("change", set);
  return () => dark.removeEventListener("change", set);
}
