import { expect, test } from "vitest";
import { stage, until } from "./render.ts";

test("at the start everything is asked once", async () => {
  const { app, sim } = await stage("usual");
  expect(app.engine).toMatchObject({ state: "connected", is_loaded: true, is_paused: false });
  expect(app.engine.mounts).toHaveLength(2);
  expect(app.engine.accounts?.accounts[0]?.name).toBe("ada");
  expect(sim.calls.map((it) => it.method).sort()).toEqual(["accounts.list", "settings.get", "status"]);
});

test("what another client does arrives by events", async () => {
  const { app, sim } = await stage("empty");
  sim.mountElsewhere("openai/whisper-tiny");
  expect(app.engine.mounts.map((it) => it.repo)).toEqual(["openai/whisper-tiny"]);
  await sim.call("pause", { paused: true });
  expect(app.engine.is_paused).toBe(true);
  await sim.call("settings.set", { changes: { log_level: "debug" } });
  expect(app.engine.settings?.settings.log_level).toBe("debug");
  await sim.call("mounts.remove", { dir: app.engine.mounts[0]!.dir, manner: "refuse" });
  expect(app.engine.mounts).toEqual([]);
});

test("a lost engine keeps what was shown, and is asked again when it is back", async () => {
  const { app, sim } = await stage("usual");
  sim.lose();
  expect(app.engine).toMatchObject({ state: "lost", stats: null });
  expect(app.engine.fault?.code).toBe("engine_gone");
  expect(app.engine.mounts).toHaveLength(2);
  sim.world.mounts = sim.world.mounts.slice(1);
  await app.engine.restart();
  await until(() => expect(app.engine.mounts).toHaveLength(1));
  expect(app.engine.state).toBe("connected");
  // Its being gone was said by the banner; it is no notice.
  expect(app.notices.list).toEqual([]);
});

test("figures feed the history, and stop when nobody wants them", async () => {
  const { app, sim } = await stage("usual");
  await sim.watch(100);
  expect(app.engine.stats?.mounts).toHaveLength(2);
  expect(app.engine.mountStats(app.engine.mounts[0]!.dir)?.open_files).toBe(2);
  expect(app.engine.history.live).toHaveLength(1);
  await sim.watch(null);
});

test("a notice goes to the list", async () => {
  const { app, sim } = await stage("empty");
  sim.notice("/m", { code: "stalled", sentence: "the network went silent" });
  expect(app.notices.unread).toBe(1);
});

test.each(["starting", "failed", "lost"])("an engine that is %s is not asked", async (scenario) => {
  const { app, sim } = await stage(scenario);
  expect(app.engine.state).toBe(scenario);
  expect(app.engine.is_loaded).toBe(false);
  expect(sim.calls).toEqual([]);
});
