/** A page of the window per test, on a scenario; what the browser complains about fails the test. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { launch } from "../scripts/browser.mjs";
import type { SimulatedEngine } from "../src/simulated/engine.ts";

declare global {
  interface Window {
    simulated?: SimulatedEngine;
  }
}

let browser: Browser;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await launch();
});

afterEach(async () => {
  await Promise.all(browser.contexts().map((context) => context.close()));
  expect(complaints.splice(0)).toEqual([]);
});

afterAll(() => browser.close());

export interface Options extends BrowserContextOptions {
  latency?: number;
  /** Runs in the page before anything of ours. */
  before?: () => void;
  /** Complaints that the test is about. */
  ignore?: RegExp;
}

export async function open(scenario: string, { latency = 10, before, ignore, ...options }: Options = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 900, height: 640 }, reducedMotion: "reduce", ...options });
  // Far more than an idle machine needs: two cores may be shared with a compiler.
  context.setDefaultTimeout(40_000);
  context.setDefaultNavigationTimeout(90_000);
  if (before !== undefined) await context.addInitScript(before);
  const page = await context.newPage();
  const complain = (text: string) => {
    if (!ignore?.test(text)) complaints.push(text);
  };
  page.on("pageerror", (error) => complain(String(error)));
  page.on("console", (message) => message.type() === "error" && complain(message.text()));
  page.on("request", (request) => {
    if (!request.url().startsWith(inject("url"))) complain(`asked for ${request.url()}`);
  });
  await page.goto(`${inject("url")}?scenario=${scenario}&latency=${latency}`);
  return page;
}

export const section = (page: Page, name: string) => page.getByRole("navigation").getByRole("button", { name: new RegExp(`^${name}`) }).click();

/** The first that matches. */
export const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: typeof name === "string" }).first();

/** Waits until it is there. */
export const seen = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();
