// Only the guard is imported at once: whatever else is loaded may ask `Intl` for the system's language as it starts.
import { guardLocale } from "./locale.ts";

guardLocale(navigator);
void import("./start.ts").then(({ start }) => start());
