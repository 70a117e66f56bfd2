import { expect, test } from "vitest";
import { Browse } from "../src/sections/browse.svelte.ts";
import { stage, until } from "./render.ts";

async function opened(repo: string) {
  const { sim } = await stage("empty");
  const browse = new Browse(sim);
  browse.open(repo, null);
  await until(() => expect(browse.is_loading || browse.is_readme_loading).toBe(false));
  return { browse, sim };
}
const names = (browse: Browse) => browse.rows.map((row) => row.path);

test("folders are loaded when they are opened, and once", async () => {
  const { browse, sim } = await opened("sentence-transformers/all-MiniLM-L6-v2");
  const lists = () => sim.calls.filter((it) => it.method === "repos.list").length;
  expect(lists()).toBe(1);
  expect(names(browse).slice(0, 3)).toEqual(["1_Pooling", "onnx", "openvino"]);
  browse.toggle("onnx");
  await until(() => expect(names(browse)).toContain("onnx/model.onnx"));
  expect(browse.rows.find((row) => row.path === "onnx/model.onnx")).toMatchObject({ level: 2, position: 1, siblings: 3 });
  browse.toggle("onnx");
  expect(names(browse)).not.toContain("onnx/model.onnx");
  browse.toggle("onnx");
  expect(names(browse)).toContain("onnx/model.onnx");
  expect(lists()).toBe(2);
});

test("a huge folder says that it is cut", async () => {
  const { browse } = await opened("datasets/example-lab/many-files");
  browse.unfold("images");
  await until(() => expect(browse.rows.length).toBe(5002));
  expect(browse.rows.at(-1)?.content.what).toBe("cut");
  expect(browse.readme).toBeNull();
});

test("a root that cannot be listed fails the view, a folder only its place", async () => {
  const none = await opened("nobody/nothing");
  expect(none.browse.fault?.code).toBe("repo_not_found");
  const { browse, sim } = await opened("sentence-transformers/all-MiniLM-L6-v2");
  sim.setHubDown(true);
  browse.unfold("onnx");
  await until(() => expect(browse.rows.some((row) => row.content.what === "fault")).toBe(true));
  expect(browse.fault).toBeNull();
  sim.setHubDown(false);
  browse.shut("onnx");
  browse.unfold("onnx");
  await until(() => expect(names(browse)).toContain("onnx/model.onnx"));
});
