/**
 * Gives the page a language that `Intl` takes. WebKitGTK under LANG=C.UTF-8 reports "C"; uPlot asks `Intl` for it at import,
 * which throws, and the window stays blank.
 */
export function guardLocale(navigator: { language: string; languages?: readonly string[] }): void {
  if (isLocale(navigator.language)) return;
  Object.defineProperty(navigator, "language", { value: "en", configurable: true });
  Object.defineProperty(navigator, "languages", { value: ["en"], configurable: true });
}

function isLocale(tag: string): boolean {
  try {
    new Intl.NumberFormat(tag);
    return true;
  } catch {
    return false;
  }
}
