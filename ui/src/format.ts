/** Figures and names as people read them. Pure; the unit is always said, decimals do not depend on the system's language. */
import type { RepoKind } from "./protocol.ts";

const DECIMAL = ["B", "kB", "MB", "GB", "TB", "PB"];
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Sizes and traffic, in powers of 1000 as the Hub shows them: `38.2 MB`. */
export const bytes = (n: number): string => scaled(n, 1000, DECIMAL);

/** Bytes a second: `38.2 MB/s`. */
export const rate = (n: number): string => `${bytes(n)}/s`;

/** Memory, in powers of 1024 as the settings count it: `512 MiB`, `1 GiB`. */
export const memory = (n: number): string => scaled(n, 1024, BINARY).replace(/\.0(?= )/, "");

function scaled(n: number, base: number, units: string[]): string {
  let value = Math.max(0, n);
  let unit = 0;
  // 999.6 would be printed as 1000.
  while (value >= base - 0.5 && unit < units.length - 1) {
    value /= base;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** `12,345`. */
export const count = (n: number): string => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");

/** `987`, `12.3k`, `4.5M`: for columns of popularity, where the order of magnitude is what is read. */
export function short(n: number): string {
  if (n < 1000) return String(Math.round(n));
  const [value, unit] = n < 999_500 ? [n / 1e3, "k"] : n < 999_500_000 ? [n / 1e6, "M"] : [n / 1e9, "B"];
  return `${value < 99.95 ? value.toFixed(1) : value.toFixed(0)}${unit}`;
}

/** `48 %`. */
export const percent = (part: number, whole: number): string =>
  `${whole > 0 ? Math.round((100 * part) / whole) : 0} %`;

export const commit = (sha: string): string => sha.slice(0, 7);

/** `820 ms`, `1.4 s`. */
export const millis = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** A sentence as it begins: a plain first word gets its capital, the name of a repo or a host stays as it is. */
export const sentence = (text: string): string => (/^[a-z]+ /.test(text) ? capital(text) : text);

/** Words that begin a line, whatever they are. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export interface RepoName {
  kind: RepoKind;
  /** Empty for the few repos without one. */
  org: string;
  name: string;
}

/** Takes `org/name`, `datasets/org/name`, `spaces/org/name` apart. */
export function repoName(repo: string): RepoName {
  const parts = repo.split("/");
  let kind: RepoKind = "model";
  if (parts.length > 1 && parts[0] === "datasets") kind = "dataset";
  if (parts.length > 1 && parts[0] === "spaces") kind = "space";
  if (kind !== "model" || (parts.length > 2 && parts[0] === "models")) parts.shift();
  return parts.length > 1 ? { kind, org: parts[0]!, name: parts.slice(1).join("/") } : { kind, org: "", name: parts[0]! };
}

/** The page of a repo on the Hub it comes from. */
export const repoPage = (endpoint: string, repo: string): string => `${endpoint.replace(/\/+$/, "")}/${repo}`;

/** The last part of a path; for rows where the folder is shown beside it. */
export const baseName = (path: string): string => path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);

/** A path in a mount, in the words of the system that shows it. */
export function joinPath(dir: string, path: string): string {
  if (path === "") return dir;
  const separator = dir.includes("\\") ? "\\" : "/";
  return dir.replace(/[/\\]+$/, "") + separator + path.split("/").join(separator);
}
