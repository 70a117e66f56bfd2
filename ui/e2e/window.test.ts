/** The whole window in a browser under the product's CSP, as people use it. */
import { expect, test } from "vitest";
import { button, open, section, seen } from "./page.ts";

test("search, mount, see it, unmount it", async () => {
  const page = await open("empty");
  await button(page, "Mount a repo").click();
  await page.getByRole("combobox").fill("whisper");
  await page.getByRole("option", { name: /whisper-tiny/ }).click();
  await page.getByPlaceholder("/home/ada/Weightless/openai/whisper-tiny").waitFor();
  await button(page, "Mount").click();
  const card = page.getByRole("article", { name: /whisper-tiny/ });
  await card.waitFor();
  await card.getByRole("button", { name: "Open folder", exact: true }).click();
  expect(await page.evaluate(() => window.simulated!.opened)).toEqual(["/home/ada/Weightless/openai/whisper-tiny"]);
  await card.getByRole("button", { name: "Unmount" }).click();
  await seen(page, "Nothing is mounted");
});

test("the keyboard alone mounts a repo", async () => {
  const page = await open("empty");
  await seen(page, "Nothing is mounted");
  await page.keyboard.press("Control+n");
  await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "combobox");
  await page.keyboard.type("qwen 0.5b");
  await page.waitForFunction(() => document.querySelectorAll('[role="option"]').length === 2);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.textContent?.trim() === "Mount");
  await page.keyboard.press("Enter");
  await page.getByRole("article", { name: /Qwen2.5-0.5B/ }).waitFor();
});

test("Enter right after typing means what was typed", async () => {
  const page = await open("empty");
  await section(page, "Add");
  await page.getByRole("option").first().waitFor();
  await page.getByRole("combobox").fill("whisper");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /whisper-tiny/ }).waitFor();
});

test("a link to a file opens its folder at its revision", async () => {
  const page = await open("empty");
  await section(page, "Add");
  await page.getByRole("combobox").fill("https://huggingface.co/Qwen/Qwen2.5-0.5B/blob/v1.0/config.json");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /Qwen2.5-0.5B/ }).waitFor();
  expect(await page.getByLabel("Revision").inputValue()).toBe("v1.0");
  await page.getByLabel("Revision").selectOption("v0.9");
  await page.getByPlaceholder("/home/ada/Weightless/Qwen/Qwen2.5-0.5B@v0.9").waitFor();
});

test("a busy mount says who uses it; lazily is another way", async () => {
  const page = await open("usual");
  const card = page.getByRole("article", { name: /Qwen2.5-0.5B/ });
  await card.getByRole("button", { name: "Unmount" }).click();
  const dialog = page.getByRole("dialog", { name: "Files are in use" });
  await dialog.getByText("model.safetensors").waitFor();
  await dialog.getByRole("button", { name: "Try again" }).click();
  await dialog.getByText("model.safetensors").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await card.getByRole("button", { name: "Unmount" }).click();
  await dialog.getByRole("button", { name: "Unmount when closed" }).click();
  await card.waitFor({ state: "detached" });
});

test("another client mounts, a program reads: the window follows", async () => {
  const page = await open("empty");
  await seen(page, "Nothing is mounted");
  await page.evaluate(() => window.simulated!.mountElsewhere("openai/whisper-tiny"));
  const card = page.getByRole("article", { name: /whisper-tiny/ });
  await card.getByText("Ready").waitFor();
  await page.evaluate(() => window.simulated!.read("/home/ada/Weightless/openai/whisper-tiny", 40e6));
  await card.getByText(/[1-9][\d.]* MB\/s/).waitFor();
  await card.getByText("1 open file").waitFor();
  await page.getByRole("navigation").getByText(/MB\/s/).waitFor();
});

test("one mount and all network are paused", async () => {
  const page = await open("usual");
  const card = page.getByRole("article", { name: /Qwen2.5-0.5B/ });
  await card.getByRole("button", { name: "Pause", exact: true }).click();
  await card.getByText("Paused").waitFor();
  await card.getByRole("button", { name: "Resume", exact: true }).click();
  await button(page, "Pause network").click();
  await seen(page, "All network is paused");
  await button(page, "Resume network").click();
  await page.getByText("All network is paused").waitFor({ state: "detached" });
});

test("a gated repo is explained, and mounts once its licence is accepted", async () => {
  const page = await open("usual");
  await section(page, "Add");
  await page.getByRole("combobox").fill("meta-llama/Llama-3.2-1B");
  await page.keyboard.press("Enter");
  await seen(page, "Its licence must be accepted");
  await button(page, "Open its page").click();
  expect(await page.evaluate(() => window.simulated!.opened)).toEqual(["https://huggingface.co/meta-llama/Llama-3.2-1B"]);
  await button(page, "Mount").click();
  await seen(page, "licence has not been accepted");
  await page.evaluate(() => window.simulated!.acceptLicence("meta-llama/Llama-3.2-1B"));
  await button(page, "Mount").click();
  await page.getByRole("article", { name: /Llama-3.2-1B/ }).waitFor();
});

test("the Hub is down and comes back", async () => {
  const page = await open("empty");
  await seen(page, "Nothing is mounted");
  await page.evaluate(() => window.simulated!.setHubDown(true));
  await section(page, "Add");
  await seen(page, "the Hub cannot be reached");
  await page.evaluate(() => window.simulated!.setHubDown(false));
  await button(page, "Try again").click();
  await page.getByRole("option").first().waitFor();
});

test("a wrong token, then a right one; a token is never in the page", async () => {
  const page = await open("empty");
  await section(page, "Accounts");
  await seen(page, "No account yet");
  const field = page.getByLabel("Access token");
  await field.fill("hf_wrong");
  await page.keyboard.press("Enter");
  await seen(page, "The Hub rejects the token");
  expect(await field.inputValue()).toBe("");
  await field.fill("hf_good");
  await page.keyboard.press("Enter");
  await page.getByRole("listitem").filter({ hasText: "Ada Lovelace" }).waitFor();
  expect(await page.content()).not.toContain("hf_good");
  await button(page, "Remove ada").click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await seen(page, "No account yet");
});

test("browse: folders by arrows, sizes, a README that loads nothing", async () => {
  const page = await open("usual");
  await section(page, "Browse");
  await page.getByRole("button", { name: /Qwen\/Qwen2.5-0.5B/ }).click();
  await page.getByRole("heading", { name: "Qwen2.5-0.5B" }).waitFor();
  await seen(page, "[banner of the project]");
  await page.getByLabel("Repo to browse").fill("sentence-transformers/all-MiniLM-L6-v2");
  await page.keyboard.press("Enter");
  await page.getByRole("treeitem", { name: /vocab.txt/ }).waitFor();
  await page.getByRole("tree").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.getByRole("treeitem", { name: /model.onnx 90.4 MB/ }).waitFor();
  await button(page, "Mount this folder").click();
  expect(await page.getByLabel("Folder in the repo").inputValue()).toBe("onnx");
});

test("a README of strangers does nothing", async () => {
  // The browser says which handlers its CSP refused while the markup was only parsed.
  const page = await open("empty", { ignore: /inline event handler|inline style|inline script/ });
  await section(page, "Browse");
  await page.getByLabel("Repo to browse").fill("example-lab/unfriendly-readme");
  await page.keyboard.press("Enter");
  const readme = page.getByRole("region", { name: "README", exact: true });
  await readme.getByText("over everything").click();
  expect(await page.evaluate(() => (window as { hacked?: boolean }).hacked)).toBeUndefined();
  expect(await readme.locator("script, img, iframe, svg, form, input, style, a, [style], [onclick]").count()).toBe(0);
  expect(await readme.innerText()).toContain("[a trap]");
  expect(await readme.innerText()).toContain("[remote]");
  await readme.getByRole("link", { name: "three" }).click();
  await readme.getByRole("link", { name: "four" }).click();
  expect(await readme.getByRole("link").count()).toBe(2);
  expect(await page.evaluate(() => window.simulated!.opened)).toEqual([
    "https://example.org/page",
    "https://huggingface.co/example-lab/unfriendly-readme/blob/main/LICENSE",
  ]);
});

test("a folder of thousands is drawn as far as it is seen, and Home and End reach both ends", async () => {
  const page = await open("empty");
  await section(page, "Browse");
  await page.getByLabel("Repo to browse").fill("datasets/example-lab/many-files");
  await page.keyboard.press("Enter");
  await page.getByRole("treeitem", { name: "images" }).click();
  await page.getByRole("treeitem", { name: /000000.png/ }).waitFor();
  expect(await page.getByRole("treeitem").count()).toBeLessThan(80);
  await page.getByRole("tree").focus();
  await page.keyboard.press("End");
  await page.getByRole("treeitem", { name: /004999.png/, selected: true }).waitFor();
  await seen(page, "There are more entries than can be shown");
  await page.keyboard.press("Home");
  await page.getByRole("treeitem", { name: "images", selected: true }).waitFor();
});

test("activity shows rates, memory and files by program", async () => {
  const page = await open("busy");
  await section(page, "Activity");
  await page.getByRole("img", { name: /Rates now: [1-9]/ }).waitFor();
  await page.getByRole("img", { name: /Memory: Read ahead [1-9]/ }).waitFor();
  await page.getByRole("rowheader", { name: /llama-server/ }).waitFor();
  await seen(page, "the Hub asks to wait 41 s");
  await page.getByText("Last hour").click();
  expect(await page.getByRole("radio", { name: "Last hour" }).isChecked()).toBe(true);
});

test("the budget by the keyboard, a wrong setting at its field", async () => {
  const page = await open("empty");
  await seen(page, "Nothing is mounted");
  await page.keyboard.press("Control+7");
  const slider = page.getByRole("slider");
  await slider.focus();
  await page.keyboard.press("ArrowRight");
  await seen(page, "Saved");
  expect(await slider.getAttribute("aria-valuetext")).toBe("1.1 GiB, 13 % of the 8 GiB of this machine");
  await page.getByLabel("Hub", { exact: true }).fill("nonsense");
  await page.keyboard.press("Enter");
  await seen(page, "Is not an address");
  await page.getByText("Dark", { exact: true }).click();
  expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
});

test("help: the check, hosts, diagnostics before they are copied", async () => {
  const page = await open("error");
  await section(page, "Help");
  await button(page, "Run the check").click();
  await seen(page, "no answer within 10 s");
  await seen(page, "sudo apt install fuse3");
  await seen(page, "cas-server.xethub.hf.co");
  await button(page, "Show diagnostics").click();
  await page.getByLabel("Text of the diagnostics").waitFor();
  await seen(page, "WinFsp - Windows File System Proxy, Copyright (C) Bill Zissimopoulos");
});

test("first run: driver, no token, a folder, in under a minute", async () => {
  const page = await open("first-run");
  await button(page, "Get started").click();
  await seen(page, "The driver is there");
  await button(page, "Continue").click();
  await button(page, "Not now").click();
  await seen(page, "all-MiniLM-L6-v2");
  await button(page, "Mount").click();
  await seen(page, "It is a folder now");
  await button(page, "Open folder").click();
  await button(page, "Done").click();
  await page.getByRole("article", { name: /all-MiniLM-L6-v2/ }).waitFor();
});

test("first run without a driver waits until it is there", async () => {
  const page = await open("first-run-no-driver");
  await button(page, "Get started").click();
  await seen(page, "sudo apt install fuse3");
  expect(await page.getByRole("button", { name: "Continue" }).count()).toBe(0);
  await page.evaluate(() => window.simulated!.setDriverMissing(false));
  await button(page, "Check again").click();
  await button(page, "Continue").click();
  await page.getByLabel("Access token").fill("hf_good");
  await page.keyboard.press("Enter");
  await seen(page, "A first folder");
});

test("the engine is lost, and comes back by itself or by a click", async () => {
  const page = await open("usual");
  await page.getByRole("article").first().waitFor();
  await page.evaluate(() => window.simulated!.lose());
  await seen(page, "It is being started again");
  expect(await button(page, "Open folder").isDisabled()).toBe(true);
  await page.evaluate(() => window.simulated!.recover());
  await page.getByText("It is being started again").waitFor({ state: "detached" });
  expect(await button(page, "Open folder").isEnabled()).toBe(true);
  await page.evaluate(() => window.simulated!.lose());
  await button(page, "Start it again").click();
  await page.getByText("Start it again").waitFor({ state: "detached" });
  await page.getByRole("article").first().waitFor();
});

test("nothing is asked for while the window is hidden or its engine is gone", async () => {
  const page = await open("usual");
  await page.getByRole("article").first().waitFor();
  const watching = () => page.evaluate(() => window.simulated!.watching);
  await page.waitForFunction(() => window.simulated!.watching === 500);
  await section(page, "Settings");
  await page.waitForFunction(() => window.simulated!.watching === 2000);
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await page.waitForFunction(() => window.simulated!.watching === null);
  expect(await watching()).toBeNull();
});

test("a notice is a toast, then in the list, once for each cause", async () => {
  const page = await open("usual");
  await page.getByRole("article").first().waitFor();
  await page.evaluate(() => {
    for (let i = 0; i < 3; i++) window.simulated!.notice("/m", { code: "disk_full", sentence: "the disk is full", advice: "Free some space." });
  });
  await page.locator(".toast").getByText("The disk is full").waitFor();
  expect(await page.locator(".toast").count()).toBe(1);
  await button(page, "Notices, 1 new").click();
  const dialog = page.getByRole("dialog", { name: "Notices" });
  await dialog.getByText("3 times").waitFor();
  await page.keyboard.press("Escape");
  await button(page, "Notices").waitFor();
});

test("a link from outside asks", async () => {
  const page = await open("usual");
  await page.getByRole("article").first().waitFor();
  await page.evaluate(() => window.simulated!.navigate({ section: "add", repo: "openai/whisper-tiny" }));
  await seen(page, "A link asks to mount this repo");
  expect(await page.evaluate(() => window.simulated!.world.mounts.length)).toBe(2);
  await page.keyboard.press("Escape");
  await page.getByRole("combobox").waitFor();
});

test("shortcuts lead to each section and to the search", async () => {
  const page = await open("empty");
  await seen(page, "Nothing is mounted");
  for (const [i, name] of ["Mounts", "Add", "Browse", "Activity", "Storage", "Accounts", "Settings", "Help"].entries()) {
    await page.keyboard.press(`Control+${i + 1}`);
    await page.getByRole("heading", { level: 1, name }).waitFor();
    expect(await page.title()).toBe(`${name} – Weightless`);
  }
  await page.keyboard.press("/");
  await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "combobox");
  await page.keyboard.type("a/b");
  expect(await page.getByRole("combobox").inputValue()).toBe("a/b");
});

test("a language that Intl does not take leaves no blank window", async () => {
  const page = await open("usual", {
    before: () => {
      Object.defineProperty(navigator, "language", { value: "C", configurable: true });
      Object.defineProperty(navigator, "languages", { value: ["C"], configurable: true });
    },
  });
  await section(page, "Activity");
  await page.locator("canvas").waitFor();
});
