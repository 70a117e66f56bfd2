/** Makes figures: each open file reads at a rate that wanders, totals add up, memory fits its budget. Told the time. */
import type { FileStats, MountStatus, Stats, Traffic, Waiting } from "../protocol.ts";
import { random } from "./hub.ts";

export interface SimFile {
  dir: string;
  path: string;
  size: number;
  pid: number | null;
  program: string | null;
  opened_unix_s: number;
  /** Bytes a second around which it reads; 0 for one that is only open. */
  mean_rate: number;
  waiting: Waiting | null;
}

const MIB = 1024 * 1024;

interface Flow {
  delivered: number;
  fetched: number;
  rate: number;
  mean10: number;
}

export class TrafficSource {
  #random = random(7);
  #flows = new Map<string, Flow>();
  #last_ms: number | null = null;
  #requests = 18_402;
  #retries = 12;
  #reads = 410_233;

  stats(now_ms: number, mounts: MountStatus[], files: SimFile[], budget: number, kept: number, moves: (dir: string) => boolean): Stats {
    const spent_s = this.#last_ms === null ? 0 : Math.max(0, (now_ms - this.#last_ms) / 1000);
    this.#last_ms = now_ms;
    const shown: FileStats[] = files.map((file) => {
      const flow = this.#step(file, spent_s, moves(file.dir));
      return {
        dir: file.dir,
        path: file.path,
        size: file.size,
        pid: file.pid,
        program: file.program,
        opened_unix_s: file.opened_unix_s,
        traffic: traffic(flow),
        waiting: file.waiting,
      };
    });
    shown.sort((a, b) => b.traffic.delivered_rate_1s - a.traffic.delivered_rate_1s);
    const all = sumTraffic(shown.map((file) => file.traffic));
    const rate = all.delivered_rate_1s;
    this.#requests += Math.round((spent_s * rate) / (8 * MIB));
    this.#reads += Math.round((spent_s * rate) / (128 * 1024));
    const busy = Math.min(1, rate / 60e6);
    const ahead = Math.round(budget * 0.52 * busy);
    const behind = Math.round(budget * 0.12 * (files.length > 0 ? 1 : 0));
    const in_flight = Math.round(budget * 0.14 * busy);
    return {
      at_unix_ms: now_ms,
      total: all,
      memory: { budget_bytes: budget, used_bytes: ahead + behind + in_flight, ahead_bytes: ahead, behind_bytes: behind, in_flight_bytes: in_flight },
      network: {
        requests: this.#requests,
        retries: this.#retries,
        in_flight: Math.round(14 * busy),
        link_rate: files.length > 0 ? 94_300_000 : null,
        reads: this.#reads,
        memory_hits: Math.round(this.#reads * 0.934),
        waiting_reads: shown.filter((file) => file.waiting != null).length,
      },
      local: { store_bytes: Math.round(kept * 1.7), hub_cache_bytes: Math.round(kept * 0.2), kept_bytes: kept, dropped_blocks: 0 },
      mounts: mounts.map((mount) => {
        const own = shown.filter((file) => file.dir === mount.dir);
        return {
          dir: mount.dir,
          traffic: sumTraffic(own.map((file) => file.traffic)),
          open_files: own.length,
          waiting: own.find((file) => file.waiting != null)?.waiting ?? null,
        };
      }),
      files: shown.slice(0, 200),
    };
  }

  #step(file: SimFile, spent_s: number, moves: boolean): Flow {
    const key = `${file.dir}\n${file.path}`;
    let flow = this.#flows.get(key);
    if (flow === undefined) {
      flow = { delivered: file.mean_rate * 40, fetched: file.mean_rate * 44, rate: file.mean_rate, mean10: file.mean_rate };
      this.#flows.set(key, flow);
    }
    const aim = moves ? file.mean_rate * (0.55 + 0.9 * this.#random()) : 0;
    flow.rate += (aim - flow.rate) * Math.min(1, 0.5 + spent_s * 0.3);
    if (flow.rate < 1) flow.rate = 0;
    flow.mean10 += (flow.rate - flow.mean10) * Math.min(1, spent_s / 10);
    flow.delivered += flow.rate * spent_s;
    flow.fetched += flow.rate * 1.07 * spent_s;
    return flow;
  }
}

const traffic = (flow: Flow): Traffic => ({
  delivered_bytes: Math.round(flow.delivered),
  fetched_bytes: Math.round(flow.fetched),
  delivered_rate_1s: Math.round(flow.rate),
  delivered_rate_10s: Math.round(flow.mean10),
  fetched_rate_1s: Math.round(flow.rate * 1.07),
  fetched_rate_10s: Math.round(flow.mean10 * 1.05),
});

function sumTraffic(parts: Traffic[]): Traffic {
  const all = { delivered_bytes: 0, fetched_bytes: 0, delivered_rate_1s: 0, delivered_rate_10s: 0, fetched_rate_1s: 0, fetched_rate_10s: 0 };
  for (const part of parts) {
    for (const name of Object.keys(all) as (keyof Traffic)[]) all[name] += part[name];
  }
  return all;
}
