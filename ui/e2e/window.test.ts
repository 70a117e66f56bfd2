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
