/** The app's window, driven by WebDriver as people use it: by roles and words. */
import fs from "node:fs";
import path from "node:path";
import { Builder, By, Capabilities, Key } from "selenium-webdriver";
import { freePort, root, until } from "./desk.mjs";

export const app = path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, "target"), "debug/weightless-desktop");

/** Words of the page that stand in quotes of either kind. */
const literal = (text) => (text.includes('"') ? `'${text}'` : `"${text}"`);
const named = (text) => `(normalize-space(.)=${literal(text)} or @aria-label=${literal(text)} or @title=${literal(text)})`;

export class Window {
  driver;
  /** From the start of the app to the first words on its page. */
  ready_ms;

  static async open(desk, env, args = []) {
    const port = await freePort();
    const server = desk.spawn(`driver-${port}`, "WebKitWebDriver", [`--port=${port}`], {
      env: { ...env, TAURI_WEBVIEW_AUTOMATION: "true" },
    });
    const log = () => desk.log(`driver-${port}`);
    const capabilities = new Capabilities();
    capabilities.setBrowserName("wry");
    capabilities.set("webkitgtk:browserOptions", { binary: app, args });
    const window = new Window();
    window.server = server;
    const begin = Date.now();
    // The driver takes a moment to listen.
    window.driver = await until(`a window (${log()})`, () =>
      new Builder().withCapabilities(capabilities).usingServer(`http://127.0.0.1:${port}`).build(),
    );
    await until("words on the page", async () => (await window.text()).length > 20);
    window.ready_ms = Date.now() - begin;
    return window;
  }

  async close() {
    await this.driver.quit().catch(() => {});
    this.server.kill();
  }

  /** Everything that can be read. */
  text() {
    return this.driver.executeScript("return document.body.innerText");
  }

  async has(words, limit_ms) {
    await until(`"${words}" on the page`, async () => (await this.text()).includes(words), limit_ms);
  }

  async hasNot(words, limit_ms) {
    await until(`"${words}" to go`, async () => !(await this.text()).includes(words), limit_ms);
  }

  button(name) {
    return this.#find(`//button[${named(name)}][not(@disabled)]`);
  }

  async click(name) {
    await this.#act(() => this.button(name), (element) => element.click());
  }

  /** Clicks what is within the part of the page that has these words. */
  async clickIn(within, name) {
    const place = `//*[self::article or self::li or self::section or @role="dialog"][contains(., ${literal(within)})]`;
    await this.#act(() => this.#find(`(${place})[last()]//button[${named(name)}]`), (element) => element.click());
  }

  async section(name) {
    await this.#act(() => this.#find(`//nav//*[self::button or self::a][contains(normalize-space(.), ${literal(name)})]`), (it) => it.click());
  }

  async type(label, text) {
    const field = `//*[self::input or self::textarea][@aria-label=${literal(label)} or @placeholder=${literal(label)} or @id=//label[contains(normalize-space(.), ${literal(label)})]/@for or ancestor::label[contains(normalize-space(.), ${literal(label)})]]`;
    await this.#act(
      () => this.#find(field),
      async (element) => {
        await element.clear();
        await element.sendKeys(text);
      },
    );
  }

  /** Chooses from a list of results. */
  async choose(name) {
    await this.#act(() => this.#find(`//*[@role="option"][contains(., ${literal(name)})]`), (element) => element.click());
  }

  /** Moves a slider by some steps to the left. */
  async slide(label, steps) {
    const slider = `//input[@type="range"][@id=//label[contains(normalize-space(.), ${literal(label)})]/@for]`;
    await this.#act(() => this.#find(slider), (element) => element.sendKeys(...Array(steps).fill(Key.ARROW_LEFT)));
  }

  async picture(file) {
    fs.writeFileSync(file, Buffer.from(await this.driver.takeScreenshot(), "base64"));
  }

  #find(xpath) {
    return this.driver.findElement(By.xpath(xpath));
  }

  /** A page that is just being drawn takes elements away: look again until it worked. */
  async #act(find, act) {
    await until("something to use", async () => {
      await act(await find());
      return true;
    });
  }
}
