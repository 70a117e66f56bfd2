import { expect, test } from "vitest";
import { BUCKET_S, History, HOUR_S, LIVE_S, SPARK_POINTS } from "../src/history.ts";
import type { Stats } from "../src/protocol.ts";

function stats(at_s: number, delivered: number, rate = 0): Stats {
  const traffic = { delivered_bytes: delivered, fetched_bytes: delivered * 2, delivered_rate_1s: rate, delivered_rate_10s: rate, fetched_rate_1s: rate, fetched_rate_10s: rate };
  return {
    at_unix_ms: at_s * 1000,
    total: traffic,
    memory: { budget_bytes: 1, used_bytes: 0, ahead_bytes: 0, behind_bytes: 0, in_flight_bytes: 0 },
    network: { requests: 0, retries: 0, in_flight: 0, link_rate: null, reads: 0, memory_hits: 0, waiting_reads: 0 },
    local: { store_bytes: 0, hub_cache_bytes: 0, kept_bytes: 0, dropped_blocks: 0 },
    mounts: [{ dir: "/m", traffic, open_files: 1 }],
    files: [],
  };
}
const T = 1_000_000;

test("what went through while nobody looked is spread over that time", () => {
  const history = new History();
  history.push(stats(T, 0));
  history.push(stats(T + 60, 6000));
  const hour = history.hour(T + 60);
  const known = hour.delivered.filter((it) => it !== null);
  expect(known).toEqual([100, 100, 100, 100, 100, 100]);
  expect(hour.fetched.filter((it) => it !== null)).toEqual([200, 200, 200, 200, 200, 200]);
  expect(hour.t).toHaveLength(HOUR_S / BUCKET_S);
});

test("totals that shrink are a new engine, not a negative rate", () => {
  const history = new History();
  history.push(stats(T, 9000));
  history.push(stats(T + 20, 10));
  expect(history.hour(T + 20).delivered.every((it) => it === null)).toBe(true);
  history.push(stats(T + 40, 210));
  expect(history.hour(T + 40).delivered.filter((it) => it !== null)).toEqual([10, 10]);
});

test("an hour is kept and no more, also after a long sleep", () => {
  const history = new History();
  history.push(stats(T, 0));
  history.push(stats(T + 10 * HOUR_S, 36_000_000));
  const hour = history.hour(T + 10 * HOUR_S);
  expect(hour.delivered.filter((it) => it !== null)).toHaveLength(HOUR_S / BUCKET_S);
});

test("the live line has a gap where nobody looked, and forgets what left the chart", () => {
  const history = new History();
  for (let s = 0; s < LIVE_S * 3; s++) history.push(stats(T + s, 0, s));
  expect(history.live.length).toBeLessThan(LIVE_S + 10);
  history.push(stats(T + LIVE_S * 3 + 20, 0, 1));
  expect(history.live.at(-2)?.delivered_1s).toBeNull();
  expect(history.live.at(-1)?.delivered_1s).toBe(1);
});

test("sparklines step once a second, however often figures come", () => {
  const history = new History();
  for (let i = 0; i < 400; i++) history.push(stats(T + i / 4, 0, i));
  expect(history.spark("/m")).toHaveLength(SPARK_POINTS);
  expect(history.spark("/other")).toEqual([]);
});
