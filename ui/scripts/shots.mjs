// shots.mjs FOLDER [ONLY]: pictures of every section, light and dark, in two sizes and three states. ONLY is a part of their names.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch } from "./browser.mjs";
import { serveSimulated } from "./simulated-server.mjs";

const [folder, only = ""] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: npm run shots -- FOLDER [ONLY]");
  process.exit(2);
}

const SIZES = [
  { width: 900, height: 640 },
  { width: 1440, height: 900 },
];
const THEMES = ["light", "dark"];
const SCENARIOS = ["empty", "busy", "error"];
const WAIT_MS = 1_000;

const go = (section) => (page) => page.getByRole("navigation").getByRole("button", { name: new RegExp(`^${section}`) }).click();

/** What each picture needs done before it is taken. */
const SECTIONS = {
  mounts: go("Mounts"),
  "mounts-details": async (page, scenario) => {
    await go("Mounts")(page);
    if (scenario !== "empty") await page.getByRole("button", { name: "Details" }).first().click();
  },
  add: go("Add"),
  "add-details": async (page, scenario) => {
    await go("Add")(page);
    await page.getByRole("combobox").fill(scenario === "busy" ? "a-model-whose-name" : "meta-llama/Llama-3.2-1B");
    await page.waitForTimeout(600);
    await page.keyboard.press("Enter");
  },
  browse: async (page, scenario) => {
    await go("Browse")(page);
    if (scenario === "empty") return;
    await page.getByRole("textbox", { name: "Repo to browse" }).fill("sentence-transformers/all-MiniLM-L6-v2");
    await page.keyboard.press("Enter");
    await page.waitForTimeout(400);
    if (scenario === "busy") await page.getByRole("treeitem", { name: "onnx" }).click();
  },
  activity: async (page) => {
    await go("Activity")(page);
    await page.waitForTimeout(4_000);
  },
  storage: go("Storage"),
  "storage-free": async (page, scenario) => {
    await go("Storage")(page);
    if (scenario !== "empty") await page.getByRole("button", { name: "Free up all" }).click();
  },
  accounts: go("Accounts"),
  settings: go("Settings"),
  help: async (page, scenario) => {
    await go("Help")(page);
    if (scenario !== "empty") await page.getByRole("button", { name: "Run the check" }).click();
  },
};

const OTHERS = {
  "welcome-1": ["first-run", async () => undefined],
  "welcome-2": ["first-run-no-driver", (page) => page.getByRole("button", { name: "Get started" }).click()],
  "welcome-3": [
    "first-run",
    async (page) => {
      await page.getByRole("button", { name: "Get started" }).click();
      await page.getByRole("button", { name: "Continue" }).click();
    },
  ],
  "welcome-4": [
    "first-run",
    async (page) => {
      await page.getByRole("button", { name: "Get started" }).click();
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByRole("button", { name: "Not now" }).click();
    },
  ],
  "usual-mounts": ["usual", (page) => page.waitForTimeout(6_000)],
  lost: ["usual", (page) => page.evaluate(() => window.simulated.lose())],
  "busy-dialog": ["busy", (page) => page.getByRole("button", { name: "Unmount" }).nth(2).click()],
  toasts: ["busy", go("Mounts")],
  notices: ["busy", (page) => page.getByRole("button", { name: /^Notices/ }).click()],
};

async function shot(browser, url, name, size, theme, scenario, prepare) {
  const file = `${name}-${theme}-${size.width}.png`;
  if (!file.includes(only)) return;
  const context = await browser.newContext({ viewport: size, colorScheme: theme });
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error(`${file}: ${error}`));
  page.on("console", (message) => message.type() === "error" && console.error(`${file}: ${message.text()}`));
  await page.goto(`${url}?scenario=${scenario}&latency=20`);
  await page.waitForTimeout(300);
  await prepare(page, scenario);
  await page.waitForTimeout(WAIT_MS);
  if (name !== "toasts") {
    await page.evaluate(() => document.querySelectorAll(".toast button").forEach((button) => button.click()));
    await page.waitForTimeout(100);
  }
  await page.screenshot({ path: join(folder, file) });
  await context.close();
}

mkdirSync(folder, { recursive: true });
const server = await serveSimulated();
const browser = await launch();
try {
  for (const size of SIZES) {
    for (const theme of THEMES) {
      for (const scenario of SCENARIOS) {
        for (const [section, prepare] of Object.entries(SECTIONS)) {
          await shot(browser, server.url, `${section}-${scenario}`, size, theme, scenario, prepare);
        }
      }
      for (const [name, [scenario, prepare]] of Object.entries(OTHERS)) {
        await shot(browser, server.url, name, size, theme, scenario, prepare);
      }
    }
  }
} finally {
  await browser.close();
  await server.close();
}
console.log(`pictures are in ${folder}`);
