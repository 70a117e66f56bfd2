/** Nothing serious is in the way of people who use a screen reader or need contrast: axe on every section, light and dark. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { button, open, section, seen } from "./page.ts";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function serious(page: Page): Promise<string[]> {
  // Evaluated, not added as a script element: the page's CSP refuses those.
  await page.evaluate(source);
  return page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[] }> } };
    const { violations } = await axe.run();
    return violations
      .filter((it) => it.impact === "serious" || it.impact === "critical")
      .flatMap((it) => it.nodes.map((node) => `${it.id}: ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 200)}`));
  });
}

const SECTIONS = ["Mounts", "Add", "Browse", "Activity", "Storage", "Accounts", "Settings", "Help"];

for (const colorScheme of ["light", "dark"] as const) {
  for (const scenario of ["empty", "busy", "error"]) {
    test(`sections, ${scenario}, ${colorScheme}`, async () => {
      const page = await open(scenario, { colorScheme });
      const found: string[] = [];
      for (const name of SECTIONS) {
        await section(page, name);
        if (name === "Mounts" && scenario !== "empty") await button(page, "Details").click();
        if (name === "Browse" && scenario !== "error") {
          await page.getByLabel("Repo to browse").fill("sentence-transformers/all-MiniLM-L6-v2");
          await page.keyboard.press("Enter");
          await page.getByRole("treeitem").first().waitFor();
        }
        if (name === "Help") {
          await button(page, "Run the check").click();
          await seen(page, "Hosts that a firewall must allow");
        }
        await page.waitForTimeout(200);
        found.push(...(await serious(page)).map((it) => `${name}: ${it}`));
      }
      expect(found).toEqual([]);
    });
  }

  test(`details, dialogs and welcome, ${colorScheme}`, async () => {
    let page = await open("busy", { colorScheme });
    await button(page, "Unmount").click();
    await page.getByRole("dialog").waitFor();
    const found = await serious(page);
    await page.keyboard.press("Escape");
    await section(page, "Storage");
    await button(page, "Free up all…").click();
    await seen(page, "Files that are open can be read on");
    found.push(...(await serious(page)));
    await page.keyboard.press("Escape");
    await section(page, "Add");
    await page.getByRole("combobox").fill("meta-llama/Llama-3.2-1B");
    await page.keyboard.press("Enter");
    await seen(page, "Its licence must be accepted");
    found.push(...(await serious(page)));
    page = await open("usual", { colorScheme });
    await page.getByRole("article").first().waitFor();
    await page.evaluate(() => window.simulated!.lose());
    await seen(page, "It is being started again");
    found.push(...(await serious(page)));
    page = await open("first-run", { colorScheme });
    await button(page, "Get started").click();
    await seen(page, "The driver is there");
    found.push(...(await serious(page)));
    expect(found).toEqual([]);
  });
}
