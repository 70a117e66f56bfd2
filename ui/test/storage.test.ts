/** What is kept on this device: said by repo, freed only after it was said what goes. */
import { expect, test } from "vitest";
import Mounts from "../src/sections/Mounts.svelte";
import Side from "../src/parts/Side.svelte";
import Storage from "../src/sections/Storage.svelte";
import { byRepo, Kept } from "../src/sections/storage.svelte.ts";
import { faults } from "../src/simulated/faults.ts";
import { button, click, render, stage, type as typeInto, until } from "./render.ts";

const file = (repo: string, path: string, bytes: number) => ({ repo, path, bytes });
const dialog = (page: ParentNode) => page.querySelector("dialog");

test("what the engine lists is summed up by repo", () => {
  const first = [file("a/b", "x", 1), file("c/d", "y", 2), file("a/b", "z", 4)];
  expect(byRepo({ bytes: 7, files: 3, first })).toEqual([
    { repo: "a/b", bytes: 5, files: 2 },
    { repo: "c/d", bytes: 2, files: 1 },
  ]);
});

test("few files are summed up without another question", async () => {
  const { sim } = await stage("empty");
  sim.world.kept = [file("a/b", "x", 10), file("c/d", "y", 20), file("", "lost", 5)];
  const kept = new Kept(sim);
  const asked = sim.calls.length;
  await kept.load(["e/f"]);
  expect(kept.repos).toEqual([{ repo: "c/d", bytes: 20, files: 1 }, { repo: "a/b", bytes: 10, files: 1 }]);
  expect(kept.rest).toEqual({ repo: "", bytes: 5, files: 1 });
  expect(sim.calls.length).toBe(asked + 1);
});

test("of more files than the engine lists, repos in use are asked for and the rest is a sum", async () => {
  const { sim } = await stage("empty");
  const many = (repo: string, n: number) => Array.from({ length: n }, (_, i) => file(repo, `${i}`, 1));
  sim.world.kept = [...many("a/b", 250), ...many("in/use", 30), ...many("far/back", 7)];
  const kept = new Kept(sim);
  await kept.load(["in/use", "not/kept"]);
  expect(kept.repos).toEqual([{ repo: "a/b", bytes: 250, files: 250 }, { repo: "in/use", bytes: 30, files: 30 }]);
  expect(kept.rest).toEqual({ repo: "", bytes: 7, files: 7 });
});

test("an answer that comes late does not replace a newer one", async () => {
  const { sim } = await stage("empty");
  sim.world.kept = [file("a/b", "x", 10)];
  const gates: (() => void)[] = [];
  const slow = Object.create(sim, {
    call: {
      value: async (...args: Parameters<typeof sim.call>) => {
        const answer = await sim.call(...args);
        await new Promise<void>((resolve) => gates.push(resolve));
        return answer;
      },
    },
  }) as typeof sim;
  const kept = new Kept(slow);
  const old = kept.load([]);
  await until(() => expect(gates.length).toBe(1));
  sim.world.kept = [];
  const fresh = kept.load([]);
  await until(() => expect(gates.length).toBe(2));
  gates[1]!();
  await fresh;
  gates[0]!();
  await old;
  expect(kept.repos).toEqual([]);
});

test("a repo is freed once it was said what goes", async () => {
  const it = await stage("usual");
  const page = render(it, Storage, {});
  await until(() => expect(page.textContent).toContain("stanfordnlp/imdb"));
  click(button(page, "Free up datasets/stanfordnlp/imdb"));
  await until(() => expect(dialog(page)?.textContent).toContain("files"));
  expect(it.sim.world.kept.some((kept) => kept.repo.includes("imdb"))).toBe(true);
  await until(() => expect(button(dialog(page)!, "Free up").disabled).toBe(false));
  click(button(dialog(page)!, "Free up"));
  await until(() => expect(dialog(page)).toBeNull());
  expect(it.sim.world.kept.some((kept) => kept.repo.includes("imdb"))).toBe(false);
  expect(it.sim.world.kept.length).toBeGreaterThan(0);
  await until(() => expect(page.querySelector("ul[aria-labelledby]")?.textContent).not.toContain("imdb"));
});

test("Cancel frees nothing", async () => {
  const it = await stage("usual");
  const page = render(it, Storage, {});
  await until(() => expect(button(page, "Free up all…").disabled).toBe(false));
  const before = it.sim.world.kept;
  click(button(page, "Free up all…"));
  await until(() => expect(dialog(page)?.textContent).toContain("of "));
  click(button(dialog(page)!, "Cancel"));
  await until(() => expect(dialog(page)).toBeNull());
  expect(it.sim.world.kept).toEqual(before);
});

test("a cap of nothing lets go of all, and says so", async () => {
  const it = await stage("usual");
  const page = render(it, Storage, {});
  await until(() => expect(page.textContent).toContain("of 50 GiB"));
  const field = page.querySelector<HTMLInputElement>("input")!;
  typeInto(field, "0");
  field.dispatchEvent(new FocusEvent("blur"));
  await until(() => expect(page.textContent).toContain("Nothing is kept: what is read again"));
  await until(() => expect(page.textContent).toContain("Nothing is kept yet"));
  expect(button(page, "Free up all…").disabled).toBe(true);
});

test("a store that cannot be written says why; a question that fails can be asked again", async () => {
  const it = await stage("error");
  it.sim.lose();
  const page = render(it, Storage, {});
  expect(page.textContent?.toLowerCase()).toContain("the disk is full");
  it.sim.recover();
  await until(() => expect(page.textContent).toContain("Qwen2.5-0.5B"));
});

test("what is wrong beyond a mount is shown as long as it is", async () => {
  const it = await stage("usual");
  const { engine } = it.app;
  const page = render(it, Mounts, {});
  expect(page.textContent).not.toContain("disk is full");
  it.sim.world.faults = [faults.diskFull()];
  it.sim.notice(null, faults.diskFull());
  await until(() => expect(page.textContent).toContain("disk is full"));
  it.sim.world.faults = [];
  const stats = await it.sim.call("stats", {});
  const figures = (after_ms: number) => it.sim.emit({ kind: "stats", stats: { ...stats, at_unix_ms: stats.at_unix_ms + after_ms } });
  figures(0);
  figures(11_000);
  await until(() => expect(engine.status?.faults).toEqual([]));
  await until(() => expect(page.textContent).not.toContain("disk is full"));
});

test("while mounts fail, nothing rests in green", async () => {
  const it = await stage("error");
  it.sim.world.files = [];
  const page = render(it, Side, {});
  const foot = () => page.querySelector(".state")!;
  expect(foot().textContent).toContain("4 mounts fail");
  expect(foot().querySelector(".bad")).not.toBeNull();
  click(foot() as HTMLElement);
  expect(it.app.nav.section).toBe("mounts");
});
