import { expect, test, vi } from "vitest";
import Segmented from "../src/parts/Segmented.svelte";
import Accounts from "../src/sections/Accounts.svelte";
import Activity from "../src/sections/Activity.svelte";
import FolderCard from "../src/sections/FolderCard.svelte";
import MountCard from "../src/sections/MountCard.svelte";
import Settings from "../src/sections/Settings.svelte";
import TokenForm from "../src/sections/TokenForm.svelte";
import { GOOD_TOKEN } from "../src/simulated/engine.ts";
import { button, click, render, stage, type as typeInto, until } from "./render.ts";

const field = (within: ParentNode, selector: string) => within.querySelector<HTMLInputElement>(selector)!;

test("a card shows what, where and how fast, and pauses one mount", async () => {
  const it = await stage("usual");
  await it.sim.watch(100_000);
  const { engine } = it.app;
  const page = render(it, MountCard, { mount: engine.mounts[0]!, weights: 2 });
  expect(page.querySelector("h2")?.textContent).toContain("Qwen/Qwen2.5-0.5B");
  expect(page.textContent).toContain("/home/ada/Weightless/Qwen/Qwen2.5-0.5B");
  expect(page.textContent).toMatch(/\d MB\/s/);
  expect(page.textContent).toContain("Waits for the network");
  click(button(page, "Pause"));
  await until(() => expect(engine.mounts[0]!.is_paused).toBe(true));
  await it.sim.watch(null);
});

test("a mount that is not there says why and offers what helps", async () => {
  const it = await stage("error");
  const gated = it.app.engine.mounts.find((mount) => mount.fault?.code === "gated")!;
  const page = render(it, MountCard, { mount: gated, weights: 4 });
  expect(page.querySelector('[role="alert"]')?.textContent).toContain("licence has not been accepted");
  expect(button(page, "Open folder").disabled).toBe(true);
  click(button(page, "Open its page"));
  await until(() => expect(it.sim.opened).toEqual(["https://huggingface.co/meta-llama/Llama-3.2-1B"]));
});

test("details change the login and the share", async () => {
  const it = await stage("usual");
  const page = render(it, MountCard, { mount: it.app.engine.mounts[1]!, weights: 2 });
  click(button(page, "Details"));
  click(page.querySelector<HTMLButtonElement>('[role="switch"]')!);
  await until(() => expect(it.app.engine.mounts[1]!.at_login).toBe(true));
  expect(button(page, "Less").disabled).toBe(true);
  click(button(page, "More"));
  await until(() => expect(it.app.engine.mounts[1]!.weight).toBe(2));
});

test("a newer commit is offered, and the mount moves to it", async () => {
  const it = await stage("usual");
  const { engine } = it.app;
  const newer = engine.mounts[1]!.update!;
  const page = render(it, MountCard, { mount: engine.mounts[1]!, weights: 2 });
  expect(page.textContent).toContain("Update available");
  expect(page.textContent).toContain(newer.slice(0, 7));
  click(button(page, "Update"));
  await until(() => expect(engine.mounts[1]).toMatchObject({ commit: newer, update: null }));
  expect(it.sim.calls.at(-1)).toEqual({ method: "mounts.update", params: { dir: engine.mounts[1]!.dir } });
});

test("a repo in the Hub folder follows by itself: no button promises more", async () => {
  const it = await stage("busy");
  const inside = it.app.engine.mounts.find((mount) => mount.in_folder)!;
  const page = render(it, MountCard, { mount: inside, weights: 7 });
  expect(page.textContent).toContain("In the Hub folder");
  expect(page.textContent).toContain("It follows by itself");
  expect(() => button(page, "Update")).toThrow();
});

test("the Hub folder is turned on where mounts land, opened and turned off", async () => {
  const it = await stage("usual");
  const { engine } = it.app;
  const page = render(it, FolderCard, {});
  const toggle = page.querySelector<HTMLButtonElement>('[role="switch"]')!;
  expect(toggle.getAttribute("aria-checked")).toBe("false");
  expect(page.textContent).toContain("/home/ada/Weightless");
  click(toggle);
  await until(() => expect(engine.folder).toMatchObject({ dir: "/home/ada/Weightless", state: "ready" }));
  await until(() => expect(button(page, "Open folder").disabled).toBe(false));
  click(button(page, "Open folder"));
  await until(() => expect(it.sim.opened).toEqual(["/home/ada/Weightless"]));
  await until(() => expect(toggle.disabled).toBe(false));
  click(toggle);
  await until(() => expect(engine.folder).toBeNull());
});

test("a Hub folder in use says what is used, and who keeps it when it is to go", async () => {
  const it = await stage("busy");
  const { engine } = it.app;
  const page = render(it, FolderCard, {});
  const [first] = engine.folder!.recent;
  click(button(page, first!));
  await until(() => expect(it.sim.opened).toEqual([`${engine.folder!.dir}/${first}`]));
  expect(page.textContent).toContain("licence has not been accepted");
  expect(page.textContent).toContain("and 6 more");
  click(page.querySelector<HTMLButtonElement>('[role="switch"]')!);
  await until(() => expect(page.querySelector("dialog")?.textContent).toContain("a-program-with-a-long-name-that-loads-tensors"));
  expect(engine.folder).not.toBeNull();
  click(button(page, "Unmount now"));
  await until(() => expect(engine.folder).toBeNull());
  expect(engine.mounts.some((mount) => mount.in_folder)).toBe(false);
});

test("a Hub folder that did not come says why; without a driver it is not turned on", async () => {
  const it = await stage("error");
  const page = render(it, FolderCard, {});
  expect(page.querySelector('[role="alert"]')?.textContent).toContain("this cannot be a mount point");
  expect(button(page, "Open folder").disabled).toBe(true);
  it.sim.world.driver_missing = true;
  await it.sim.call("folder.set", { on: false, dir: null, endpoint: null, account: null, token_file: null, token: null, manner: "refuse" });
  const toggle = page.querySelector<HTMLButtonElement>('[role="switch"]')!;
  await until(() => expect(toggle.getAttribute("aria-checked")).toBe("false"));
  click(toggle);
  await until(() => expect(it.app.notices.toasts.map((toast) => toast.fault.sentence)).toContainEqual(expect.stringContaining("driver")));
  expect(it.app.engine.folder).toBeNull();
});

test("a token is sent once and leaves the field, good or wrong", async () => {
  const it = await stage("empty");
  const onadded = vi.fn();
  const page = render(it, TokenForm, { onadded });
  const token = field(page, 'input[type="password"]');
  const send = () => field(page, "form").dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  typeInto(token, "hf_wrong");
  send();
  await until(() => expect(page.textContent).toContain("The Hub rejects the token"));
  expect(token.value).toBe("");
  expect(onadded).not.toHaveBeenCalled();
  typeInto(token, GOOD_TOKEN);
  send();
  await until(() => expect(onadded).toHaveBeenCalledWith(expect.objectContaining({ name: "ada" })));
  expect(token.value).toBe("");
  expect(document.body.innerHTML).not.toContain(GOOD_TOKEN);
});

test("only what the keychain holds can be removed", async () => {
  const it = await stage("busy");
  const page = render(it, Accounts, {});
  const labels = [...page.querySelectorAll("button")].map((b) => b.getAttribute("aria-label") ?? "");
  expect(labels.filter((label) => label.startsWith("Remove"))).toEqual([
    "Remove ada",
    "Remove babbage-with-a-long-account-name-for-organisations",
  ]);
  click(page.querySelectorAll("li")[2]!.querySelector("button")!);
  await until(() => expect(it.app.engine.accounts?.accounts.find((a) => a.is_default)?.name).toBe("ci-reader"));
});

test("without a keychain no token is asked for", async () => {
  const it = await stage("no-keychain");
  const page = render(it, Accounts, {});
  expect(page.querySelector('input[type="password"]')).toBeNull();
  expect(page.textContent).toContain("no Secret Service answers");
});

function leave(input: HTMLInputElement, text: string) {
  typeInto(input, text);
  input.dispatchEvent(new Event("blur"));
}
const setting = (page: HTMLElement, label: string) => {
  const found = [...page.querySelectorAll("label")].find((it) => it.textContent === label)!;
  return page.querySelector<HTMLInputElement>(`#${CSS.escape(found.htmlFor)}`)!;
};

test("a setting is kept when its field is left; a wrong one says why at its field", async () => {
  const it = await stage("empty");
  const page = render(it, Settings, {});
  leave(setting(page, "Proxy"), "proxy.example");
  await until(() => expect(setting(page, "Proxy").getAttribute("aria-invalid")).toBe("true"));
  expect(setting(page, "Proxy").closest(".row")?.textContent).toContain("socks5:// with host and port");
  leave(setting(page, "Proxy"), "http://proxy.example:80");
  await until(() => expect(it.app.engine.settings?.settings.proxy).toBe("http://proxy.example:80"));
  leave(setting(page, "Give up on a silent connection after"), "45");
  await until(() => expect(it.app.engine.settings?.settings.stall_timeout_ms).toBe(45_000));
  const calls = it.sim.calls.length;
  leave(setting(page, "Threads for each mount"), "many");
  await until(() => expect(page.textContent).toContain("Write a whole number"));
  expect(it.sim.calls).toHaveLength(calls);
  click(button(page, "Back to the default: Proxy"));
  await until(() => expect(it.app.engine.settings?.settings.proxy).toBeNull());
});

test("what the environment decides cannot be changed", async () => {
  const it = await stage("error");
  const page = render(it, Settings, {});
  expect(setting(page, "Proxy").disabled).toBe(true);
  expect(setting(page, "Proxy").closest(".row")?.textContent).toContain("Decided by the environment");
  expect(setting(page, "Folder for mounts").disabled).toBe(false);
  expect(page.textContent).toContain("read_ahead_gb: there is no such setting");
});

test("one of a few is a group of radio buttons", async () => {
  const it = await stage("empty");
  const onchange = vi.fn();
  const page = render(it, Segmented as never, { label: "Kind", options: [{ value: "a", text: "A" }, { value: "b", text: "B" }], value: "a", onchange });
  expect(page.querySelector("legend")?.textContent).toBe("Kind");
  const [first, second] = page.querySelectorAll<HTMLInputElement>("input");
  expect([first!.checked, second!.checked]).toEqual([true, false]);
  click(second!);
  expect(onchange).toHaveBeenCalledWith("b");
});

test("without figures activity waits for them", async () => {
  const page = render(await stage("empty"), Activity, {});
  expect(page.textContent).toContain("Waiting for the first figures");
});
