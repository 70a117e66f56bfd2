/**
 * Rates over time, kept in the window: the last minutes as they came, the last hour in buckets. Told the time by the figures
 * themselves; never reads a clock.
 */
import type { Stats } from "./protocol.ts";

export const LIVE_S = 120;
export const BUCKET_S = 10;
export const HOUR_S = 3600;
export const SPARK_POINTS = 40;
const SPARK_STEP_MS = 900;
/** Figures further apart than this are not joined by a line in the live chart: nobody looked in between. */
const LIVE_GAP_MS = 6_000;

export interface Sample {
  /** Seconds since 1970. */
  t: number;
  delivered_1s: number | null;
  delivered_10s: number | null;
  fetched_1s: number | null;
  fetched_10s: number | null;
}

interface Bucket {
  /** Number of the bucket: seconds since 1970 by [`BUCKET_S`]. */
  at: number;
  delivered: number;
  fetched: number;
}

export class History {
  live: Sample[] = [];
  #hour: Bucket[] = [];
  #sparks = new Map<string, number[]>();
  #sparkAt_ms = 0;
  #last: { at_ms: number; delivered: number; fetched: number } | null = null;

  push(stats: Stats): void {
    this.#pushLive(stats);
    this.#pushHour(stats);
    this.#pushSparks(stats);
  }

  /** The last hour as rates, one value a bucket; `null` where nothing is known. */
  hour(now_s: number): { t: number[]; delivered: (number | null)[]; fetched: (number | null)[] } {
    const newest = Math.floor(now_s / BUCKET_S);
    const known = new Map(this.#hour.map((bucket) => [bucket.at, bucket]));
    const out = { t: [] as number[], delivered: [] as (number | null)[], fetched: [] as (number | null)[] };
    // The newest bucket is still filling: its rate would sag.
    for (let at = newest - HOUR_S / BUCKET_S; at < newest; at++) {
      const bucket = known.get(at);
      out.t.push(at * BUCKET_S);
      out.delivered.push(bucket === undefined ? null : bucket.delivered / BUCKET_S);
      out.fetched.push(bucket === undefined ? null : bucket.fetched / BUCKET_S);
    }
    return out;
  }

  /** Delivered rates of one mount, oldest first, at most [`SPARK_POINTS`]. */
  spark(dir: string): readonly number[] {
    return this.#sparks.get(dir) ?? [];
  }

  #pushLive(stats: Stats): void {
    const t = stats.at_unix_ms / 1000;
    const last = this.live.at(-1);
    if (last !== undefined && t - last.t > LIVE_GAP_MS / 1000) {
      this.live.push({ t: last.t + 0.001, delivered_1s: null, delivered_10s: null, fetched_1s: null, fetched_10s: null });
    }
    const total = stats.total;
    this.live.push({
      t,
      delivered_1s: total.delivered_rate_1s,
      delivered_10s: total.delivered_rate_10s,
      fetched_1s: total.fetched_rate_1s,
      fetched_10s: total.fetched_rate_10s,
    });
    const from = t - LIVE_S - 5;
    let old = 0;
    while (old < this.live.length && this.live[old]!.t < from) old += 1;
    if (old > 0) this.live.splice(0, old);
  }

  /** Totals only grow, so what went through while nobody looked is known as a mean; a total that shrank is a new engine. */
  #pushHour(stats: Stats): void {
    const now = { at_ms: stats.at_unix_ms, delivered: stats.total.delivered_bytes, fetched: stats.total.fetched_bytes };
    const last = this.#last;
    this.#last = now;
    if (last === null || now.at_ms <= last.at_ms || now.delivered < last.delivered || now.fetched < last.fetched) return;
    const oldest_ms = now.at_ms - HOUR_S * 1000;
    const span_ms = now.at_ms - last.at_ms;
    let from_ms = Math.max(last.at_ms, oldest_ms);
    while (from_ms < now.at_ms) {
      const at = Math.floor(from_ms / 1000 / BUCKET_S);
      const to_ms = Math.min(now.at_ms, (at + 1) * BUCKET_S * 1000);
      const part = (to_ms - from_ms) / span_ms;
      this.#bucket(at, (now.delivered - last.delivered) * part, (now.fetched - last.fetched) * part);
      from_ms = to_ms;
    }
    const first = Math.floor(oldest_ms / 1000 / BUCKET_S);
    while (this.#hour.length > 0 && this.#hour[0]!.at < first) this.#hour.shift();
  }

  #bucket(at: number, delivered: number, fetched: number): void {
    const last = this.#hour.at(-1);
    if (last?.at === at) {
      last.delivered += delivered;
      last.fetched += fetched;
    } else {
      this.#hour.push({ at, delivered, fetched });
    }
  }

  #pushSparks(stats: Stats): void {
    if (stats.at_unix_ms - this.#sparkAt_ms < SPARK_STEP_MS) return;
    this.#sparkAt_ms = stats.at_unix_ms;
    const next = new Map<string, number[]>();
    for (const mount of stats.mounts) {
      const line = [...(this.#sparks.get(mount.dir) ?? []), mount.traffic.delivered_rate_1s];
      next.set(mount.dir, line.slice(-SPARK_POINTS));
    }
    this.#sparks = next;
  }
}
