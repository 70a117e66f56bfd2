/** Times as people read them. Told the moment; only the clock's own time zone comes from the system. */

const two = (n: number): string => String(n).padStart(2, "0");

/** `14:05`. */
export function clock(ms: number): string {
  const date = new Date(ms);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** `just now`, `12 min ago`, `3 h ago`, `5 days ago`, then months and years. */
export function ago(unix_s: number, now_s: number): string {
  const minutes = Math.floor((now_s - unix_s) / 60);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ago`;
  const days = Math.floor(hours / 24);
  if (days < 60) return `${days} days ago`;
  return days < 730 ? `${Math.floor(days / 30)} months ago` : `${Math.floor(days / 365)} years ago`;
}

/** `14:05:07`. */
export const clockSeconds = (ms: number): string => `${clock(ms)}:${two(new Date(ms).getSeconds())}`;
