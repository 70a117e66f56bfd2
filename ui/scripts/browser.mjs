// The system's Chromium, quiet: it must not look for updates or speak to anybody.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const CANDIDATES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function launch() {
  const executablePath = process.env.WEIGHTLESS_CHROMIUM ?? CANDIDATES.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error("no Chromium is installed; WEIGHTLESS_CHROMIUM names another one");
  return chromium.launch({
    executablePath,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}
