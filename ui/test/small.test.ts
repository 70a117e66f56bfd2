/** Small pure parts, a table each. */
import { expect, test } from "vitest";
import { asFault } from "../src/bridge.ts";
import { guardLocale } from "../src/locale.ts";
import { Nav } from "../src/nav.svelte.ts";
import { statsPace } from "../src/pace.ts";
import { niceTop } from "../src/parts/chart.ts";
import { sparkPath } from "../src/parts/spark.ts";
import { scrollTo, visibleRows } from "../src/parts/window.ts";
import { Prefs } from "../src/prefs.svelte.ts";
import { mayPass, needsAccount } from "../src/remedy.ts";
import { byProgram } from "../src/sections/activity.ts";
import { budgetRange, parseNumber } from "../src/sections/settings.svelte.ts";
import { shortcut } from "../src/shortcuts.ts";
import { MemoryStorage } from "./render.ts";

test("a language that Intl does not take becomes English", () => {
  const bad = { language: "C", languages: ["C"] };
  guardLocale(bad);
  expect(bad).toMatchObject({ language: "en", languages: ["en"] });
  const good = { language: "de-AT" };
  guardLocale(good);
  expect(good.language).toBe("de-AT");
});

test("whatever is thrown becomes a fault", () => {
  const fault = { code: "gated", sentence: "no" };
  expect(asFault(fault)).toBe(fault);
  expect(asFault("no such command").sentence).toBe("no such command");
  expect(asFault(new Error("broken")).sentence).toBe("broken");
  expect(asFault(undefined).code).toBe("internal");
});

const none = { ctrlKey: false, metaKey: false, altKey: false };
test.each([
  [{ ...none, key: "1", ctrlKey: true }, false, { go: "mounts" }],
  [{ ...none, key: "8", metaKey: true }, true, { go: "help" }],
  [{ ...none, key: "9", ctrlKey: true }, false, null],
  [{ ...none, key: "n", ctrlKey: true }, true, { go: "add" }],
  [{ ...none, key: "1", ctrlKey: true, altKey: true }, false, null],
  [{ ...none, key: "/" }, false, { search: true }],
  [{ ...none, key: "/" }, true, null],
  [{ ...none, key: "1" }, false, null],
])("shortcut %j, typing %s", (press, typing, expected) => expect(shortcut(press, typing)).toEqual(expected));

test("nothing is asked for while nothing is shown", () => {
  expect(statsPace(false, "activity")).toBeNull();
  expect(statsPace(true, "activity")).toBeLessThanOrEqual(1000);
  expect(statsPace(true, "help")).toBeGreaterThan(1000);
});

test.each([
  [0, 1_000_000],
  [1_000_000, 1_000_000],
  [38_200_000, 50_000_000],
  [94_300_000, 150_000_000],
  [187_000_000, 300_000_000],
])("the axis for %i ends at %i", (max, top) => expect(niceTop(max)).toBe(top));

test("a sparkline ends at the right edge and rests at the bottom", () => {
  expect(sparkPath([], 40, 96, 26)).toBe("");
  expect(sparkPath([0, 0, 0], 40, 96, 26)).toBe("");
  expect(sparkPath([0, 10], 3, 100, 22)).toBe("M50 21 L100 1");
});

test("of a long list only what is near is drawn", () => {
  expect(visibleRows(5000, 28, 2800, 280, 5)).toEqual({ from: 95, to: 115 });
  expect(visibleRows(3, 28, 0, 280, 5)).toEqual({ from: 0, to: 3 });
  expect(visibleRows(0, 28, 500, 280, 5)).toEqual({ from: 0, to: 0 });
  expect(scrollTo(0, 28, 100, 280)).toBe(0);
  expect(scrollTo(20, 28, 0, 280)).toBe(308);
  expect(scrollTo(5, 28, 0, 280)).toBe(0);
});

test("looks are remembered, and a broken memory is no harm", () => {
  const storage = new MemoryStorage();
  const prefs = new Prefs(storage);
  prefs.theme = "dark";
  prefs.section = "help";
  expect(new Prefs(storage)).toMatchObject({ theme: "dark", section: "help", welcomed: false });
  storage.setItem("weightless", "{broken");
  expect(new Prefs(storage).theme).toBe("system");
});

test.each([
  [{ section: "activity" }, "activity"],
  [{ section: "storage" }, "storage"],
  [{ section: "no-such-section" }, "mounts"],
  [{ section: "mount", repo: "a/b" }, "add"],
])("%j leads to %s", (target, section) => {
  const nav = new Nav(new Prefs(new MemoryStorage()));
  nav.follow(target);
  expect(nav.section).toBe(section);
});

test("remedies go by code", () => {
  const fault = (code: string) => ({ code, sentence: "" });
  expect([needsAccount(fault("token_rejected")), mayPass(fault("token_rejected"))]).toEqual([true, false]);
  expect([needsAccount(fault("offline")), mayPass(fault("offline"))]).toEqual([false, true]);
});

test.each([
  ["", null],
  [" 30 ", 30],
  ["1.5", undefined],
  ["ten", undefined],
])("the number %j", (text, value) => expect(parseNumber(text)).toBe(value));

test("the budget's slider ends at half of the memory, unless more is set", () => {
  expect(budgetRange(8 * 1024 ** 3, 1024)).toEqual({ min: 64, max: 4096, step: 64 });
  expect(budgetRange(8 * 1024 ** 3, 5000)).toEqual({ min: 64, max: 5056, step: 64 });
  expect(budgetRange(0, 0).max).toBe(128);
});

test("programs that read come before those that only keep files open", () => {
  const file = (pid: number, delivered_rate_10s: number) => ({
    dir: "/m",
    path: "a",
    size: 1,
    pid,
    program: `p${pid}`,
    opened_unix_s: pid,
    traffic: { delivered_bytes: 0, fetched_bytes: 0, delivered_rate_1s: 0, delivered_rate_10s, fetched_rate_1s: 0, fetched_rate_10s: 0 },
  });
  expect(byProgram([file(1, 0), file(2, 7), file(3, 0), file(4, 9)]).map((it) => it.pid)).toEqual([2, 4, 1, 3]);
});

test("files stay in their place while their rates change", () => {
  const traffic = (rate: number) => ({ delivered_bytes: rate, fetched_bytes: 0, delivered_rate_1s: rate, delivered_rate_10s: 0, fetched_rate_1s: 0, fetched_rate_10s: 0 });
  const file = (path: string, pid: number, opened_unix_s: number, rate: number) => ({ dir: "/m", path, size: 1, pid, program: `p${pid}`, opened_unix_s, traffic: traffic(rate) });
  const order = (rates: number[]) =>
    byProgram([file("b", 1, 10, rates[0]!), file("a", 2, 20, rates[1]!), file("c", 1, 30, rates[2]!)].sort((x, y) => y.traffic.delivered_rate_1s - x.traffic.delivered_rate_1s));
  const first = order([5, 50, 1]);
  expect(first.map((it) => [it.name, it.files.map((f) => f.path)])).toEqual([["p1", ["b", "c"]], ["p2", ["a"]]]);
  expect(first[0]!.delivered_rate_1s).toBe(6);
  expect(order([50, 5, 100]).map((it) => it.name)).toEqual(["p1", "p2"]);
});
