import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Add, DEBOUNCE_MS, meaning } from "../src/sections/add.svelte.ts";
import { LONG_REPO } from "../src/simulated/hub.ts";
import { stage } from "./render.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test.each([
  ["", { address: null, words: "", author: null }],
  ["qwen 0.5b", { address: null, words: "qwen 0.5b", author: null }],
  ["Qwen/", { address: null, words: "", author: "Qwen" }],
  ["Qwen/Qwen2.5-0.5B", { address: "Qwen/Qwen2.5-0.5B", words: "Qwen2.5-0.5B", author: "Qwen" }],
  ["datasets/a/b", { address: "datasets/a/b", words: "b", author: "a" }],
  ["Qwen/Qwen2.5@v1.0", { address: "Qwen/Qwen2.5@v1.0", words: null, author: null }],
  [" https://huggingface.co/a/b/blob/main/x.json ", { address: "https://huggingface.co/a/b/blob/main/x.json", words: null, author: null }],
  ["hf://datasets/a/b", { address: "hf://datasets/a/b", words: null, author: null }],
])("%j means", (text, expected) => expect(meaning(text)).toEqual(expected));

async function fresh(scenario = "empty") {
  const promise = stage(scenario);
  await vi.runAllTimersAsync();
  const { app, sim } = await promise;
  return { add: new Add(sim, app.engine), app, sim };
}

test("typing asks once, after a pause", async () => {
  const { add, sim } = await fresh();
  for (const text of ["w", "wh", "whisper"]) add.type(text);
  await vi.advanceTimersByTimeAsync(DEBOUNCE_MS - 1);
  expect(sim.calls.filter((it) => it.method === "search")).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(5);
  expect(sim.calls.filter((it) => it.method === "search")).toHaveLength(1);
  expect(add.rows).toEqual(["openai/whisper-tiny"]);
});

test("a late answer to an earlier question is dropped", async () => {
  const { add, sim } = await fresh();
  const answers: ((value: unknown) => void)[] = [];
  vi.spyOn(sim, "call").mockImplementation(() => new Promise((resolve) => answers.push(resolve as never)));
  void add.search();
  add.setKind("dataset");
  const hit = (repo: string) => ({ repos: [{ repo }] });
  answers[1]!(hit("datasets/new/one"));
  answers[0]!(hit("old/one"));
  await vi.runAllTimersAsync();
  expect(add.rows).toEqual(["datasets/new/one"]);
});

test("an address comes first, and not twice", async () => {
  const { add } = await fresh();
  add.type("Qwen/Qwen2.5-0.5B");
  await vi.runAllTimersAsync();
  expect(add.rows).toEqual(["Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-0.5B-Instruct"]);
  add.move(-1);
  expect(add.active).toBe(1);
  add.move(1);
  expect(add.active).toBe(0);
});

test("a link to a file offers its folder and its revision", async () => {
  const { add } = await fresh();
  add.choose("https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/blob/main/onnx/model.onnx");
  await vi.runAllTimersAsync();
  expect(add.description).toMatchObject({ repo: "sentence-transformers/all-MiniLM-L6-v2", revision: "main" });
  expect(add.subfolder).toBe("onnx");
});

test("another revision keeps the folder that was chosen", async () => {
  const { add } = await fresh();
  add.choose("Qwen/Qwen2.5-0.5B", null, "a/b");
  await vi.runAllTimersAsync();
  void add.setRevision("v1.0");
  await vi.runAllTimersAsync();
  expect(add.description?.revision).toBe("v1.0");
  expect(add.subfolder).toBe("a/b");
  void add.setRevision("nowhere");
  await vi.runAllTimersAsync();
  expect(add.describeFault?.code).toBe("revision_not_found");
  expect(add.description?.revision).toBe("v1.0");
});

test("mounting gives the mount, a gated repo its fault until the licence is accepted", async () => {
  const { add, app, sim } = await fresh();
  add.choose(LONG_REPO);
  await vi.runAllTimersAsync();
  let mounted = add.mount();
  await vi.runAllTimersAsync();
  expect(await mounted).toBeNull();
  expect(add.mountFault?.code).toBe("gated");
  sim.acceptLicence(LONG_REPO);
  mounted = add.mount();
  await vi.runAllTimersAsync();
  expect((await mounted)?.repo).toBe(LONG_REPO);
  expect(app.engine.mounts.map((it) => it.repo)).toEqual([LONG_REPO]);
  expect(add.chosen).toBeNull();
});

test("a link from outside is shown, never mounted by itself", async () => {
  const { add, app, sim } = await fresh();
  app.add.askFor("Qwen/Qwen2.5-0.5B", "v1.0");
  sim.navigate({ section: "add", repo: "Qwen/Qwen2.5-0.5B", revision: "v1.0" });
  await vi.runAllTimersAsync();
  expect(app.nav.section).toBe("add");
  expect(app.add).toMatchObject({ is_from_link: true, chosen: "Qwen/Qwen2.5-0.5B" });
  expect(app.add.description?.revision).toBe("v1.0");
  expect(sim.calls.some((it) => it.method === "mounts.add")).toBe(false);
  expect(add.is_from_link).toBe(false);
});
