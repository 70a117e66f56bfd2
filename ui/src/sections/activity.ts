/** Open files by program, those that read first; the order moves only when a program begins to read or has rested for a while. */
import type { FileStats } from "../protocol.ts";

export interface Program {
  key: string;
  /** `null` where the system does not tell. */
  name: string | null;
  pid: number | null;
  delivered_rate_1s: number;
  /** By this it counts as one that reads. */
  delivered_rate_10s: number;
  delivered_bytes: number;
  files: FileStats[];
}

export function byProgram(files: readonly FileStats[]): Program[] {
  const programs = new Map<string, Program>();
  // The engine sends the busiest first; sorted by when they were opened, a row stays where it is.
  const inOrder = [...files].sort((a, b) => a.opened_unix_s - b.opened_unix_s || compare(a.path, b.path) || compare(a.dir, b.dir));
  for (const file of inOrder) {
    const key = `${file.pid ?? ""} ${file.program ?? ""}`;
    let program = programs.get(key);
    if (program === undefined) {
      program = { key, name: file.program, pid: file.pid, delivered_rate_1s: 0, delivered_rate_10s: 0, delivered_bytes: 0, files: [] };
      programs.set(key, program);
    }
    program.files.push(file);
    program.delivered_rate_1s += file.traffic.delivered_rate_1s;
    program.delivered_rate_10s += file.traffic.delivered_rate_10s;
    program.delivered_bytes += file.traffic.delivered_bytes;
  }
  const all = [...programs.values()];
  return [...all.filter(reads), ...all.filter((program) => !reads(program))];
}

const reads = (program: Program): boolean => program.delivered_rate_10s > 0;
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
