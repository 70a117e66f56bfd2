/**
 * The product on a desktop, end to end: the real app in a real window, the real engine, a Hub on loopback, a panel, a keyring.
 * One story from the first start to the last click; each step needs those before it.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import readline from "node:readline";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Desk, mounts, root, sweep, until } from "./desk.mjs";
import { Hub, LARGE, LARGE_FILE, SUGGESTED, sha256 } from "./hub.mjs";
import { Window, app } from "./window.mjs";

const engine = path.join(path.dirname(app), "weightless");
/** Long enough for a figure of a hundredth of a core. */
const IDLE_S = 10;
const icons = path.join(root, "icons/tray");

/** The dialog of quitting, and its buttons: keep mounted, unmount all, cancel. */
const QUESTION = "Quit Weightless?";
const KEEP = { at: 0, of: 3 };
const UNMOUNT = { at: 1, of: 3 };

let desk;
let hub;
let window;
let env;

/** A desk that a failed run has left would be found by its processes. */
const dir = process.env.WEIGHTLESS_DESK_DIR ?? fs.mkdtempSync("/tmp/weightless-desk.");

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await sweep(dir);
    process.exit(1);
  });
}

before(async () => {
  desk = await Desk.open(dir);
  hub = await Hub.start(desk);
  env = { WEIGHTLESS_ENDPOINT: hub.endpoint };
});

after(async () => {
  await window?.close();
  await desk?.close();
});

/** A step of the story: at its failure there is a picture and the page's words; what follows would fail for no news. */
let isBroken = false;
function step(name, run) {
  test(name, async (context) => {
    if (isBroken) return context.skip("a step before it failed");
    try {
      await run();
    } catch (error) {
      isBroken = true;
      await evidence(name);
      throw error;
    }
  });
}

async function evidence(name) {
  const folder = process.env.WEIGHTLESS_PICTURES ?? "/tmp";
  const file = path.join(folder, `weightless-failed-${name.replace(/\W+/g, "-")}`);
  try {
    desk.run("import", ["-window", "root", `${file}.png`]);
    console.error(`picture: ${file}.png`);
    console.error((await window.text()).split("\n").filter(Boolean).join(" | "));
  } catch {
    console.error("no picture of the window");
  }
  for (const log of ["panel", "hub", ...fs.readdirSync(`${dir}/log`).filter((it) => it.startsWith("driver")).map((it) => it.slice(0, -4))]) {
    console.error(`--- ${log}\n${desk.log(log).split("\n").slice(-20).join("\n")}`);
  }
}

const weightless = (...args) => desk.run(engine, args, { env });
/** Where a repo is mounted. */
async function place(repo) {
  const mount = await until(`a mount of ${repo}`, async () => (await ask("status")).mounts.find((it) => it.repo === repo && it.state === "ready"));
  return mount.dir;
}
/** Where it would be. */
const usual = (repo) => path.join(desk.env.HOME, "Weightless", repo);
const menuTexts = async () => (await desk.panel({ do: "menu" })).map((entry) => entry.text);
const click = (...texts) => desk.panel({ do: "click", path: texts });
const shows = (name) => until(`the icon ${name}`, async () => (await desk.panel({ do: "icon", folder: icons })).startsWith(`${name}-`));

/** A program that reads a file through a mount, a piece at a time; its hash at the end. */
function reader(file, pause_s) {
  const script = `
import hashlib, sys, time
hash = hashlib.sha256()
with open(sys.argv[1], "rb") as file:
    while piece := file.read(1 << 20):
        hash.update(piece)
        print("read", flush=True)
        time.sleep(${pause_s})
print(hash.hexdigest(), flush=True)`;
  const child = desk.spawn("reader", "/usr/bin/python3", ["-c", script, file], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (piece) => (said += piece));
  const ended = once(child, "exit");
  return {
    pieces: () => said.split("\n").filter((line) => line === "read").length,
    hash: async () => {
      assert.deepEqual(await ended, [0, null]);
      return said.trim().split("\n").at(-1);
    },
  };
}
const hashOf = (file) => sha256(fs.readFileSync(file));

step("the first start shows the welcome and leads to a first folder", async () => {
  window = await Window.open(desk, env);
  console.log(`from the driver's request to words on the page: ${window.ready_ms} ms`);
  await window.has("Any repo, as a folder");
  await window.click("Get started");
  await window.has("The driver is there");
  await window.click("Continue");
  await window.has("Your Hub account");
  await window.click("Not now");
  await window.has(SUGGESTED);
  await window.click("Mount");
  await window.has("It is a folder now", 40_000);
  assert.equal(hashOf(path.join(await place(SUGGESTED), "config.json")), hashOf(hub.file("suggested/config.json")));
  await window.click("Done");
  await window.has(SUGGESTED);
});

step("a repo is found by search and mounted; a file read through it is right, and the rate moves meanwhile", async () => {
  await window.section("Add");
  await window.type("Repo or search", "large");
  await window.choose(LARGE);
  await window.has("67.1 MB");
  await window.click("Mount");
  await window.has("is mounted", 40_000);
  assert.ok(fs.statSync(await place(LARGE)).isDirectory());

  const reading = reader(path.join(await place(LARGE), LARGE_FILE), 0.05);
  await until("a rate in the app", async () => /\d(\.\d)? MB\/s/.test(await window.text()));
  await window.has("1 open file");
  await shows("busy");
  desk.picture("reading");
  assert.match((await menuTexts())[0], /^(Fetching|Reading) \d/);
  assert.equal(await reading.hash(), hashOf(hub.file(`large/${LARGE_FILE}`)));
  await window.hasNot("MB/s");
  await shows("idle");
});

step("another client mounts, and the app shows it; what the app unmounts is gone", async () => {
  weightless("mount", "datasets/demo/numbers");
  await window.has("datasets/demo/numbers");
  const numbers = await place("datasets/demo/numbers");
  assert.ok(fs.readdirSync(numbers).includes("README.md"));
  await window.clickIn("numbers", "Unmount");
  await window.has("is unmounted");
  await until("the mount to go", () => !mounts(dir).includes(numbers));
  await until("the menu to follow", async () => !(await menuTexts()).includes("datasets/demo/numbers"));
});

step("the tray's menu lists what is mounted, opens it, pauses all network and goes on", async () => {
  const menu = await desk.panel({ do: "menu" });
  const texts = menu.map((entry) => entry.text);
  for (const text of [LARGE, SUGGESTED, "Mount…", "Recent", "Pause all network", "Open Weightless", "Settings…", "Quit"]) {
    assert.ok(texts.includes(text), `${text}: not among ${texts.join(" | ")}`);
  }
  const items = menu.find((entry) => entry.text === LARGE).items.map((entry) => entry.text);
  assert.deepEqual(items, ["Open folder", "Copy path", "Unmount"]);

  await click(LARGE, "Open folder");
  const dirOfLarge = await place(LARGE);
  await until("the file manager", () => desk.opened().includes(dirOfLarge));

  await click("Pause all network");
  await window.has("All network is paused");
  await shows("paused");
  await click("Resume network");
  await window.hasNot("All network is paused");
  await shows("idle");

  await click("Settings…");
  await window.has("Memory for file content");
});

step("the memory budget is changed", async () => {
  const before = (await ask("settings.get")).settings.read_ahead_mb;
  await window.slide("Memory for file content", 3);
  await until("another budget", async () => {
    const { settings } = await ask("settings.get");
    return settings.read_ahead_mb > 0 && settings.read_ahead_mb !== before;
  });
  const { settings } = await ask("settings.get");
  assert.equal((await ask("status")).engine.budget_bytes, settings.read_ahead_mb << 20);
  await window.has(`${settings.read_ahead_mb} MiB`);
});

step("it starts at login if asked to, with the tray alone", async () => {
  const entry = path.join(desk.env.HOME, ".config/autostart/Weightless.desktop");
  await window.click("Start at login");
  const text = await until("the entry", () => fs.readFileSync(entry, "utf8"));
  assert.match(text, /^Exec=.*weightless-desktop.* --hidden$/m);
  await window.click("Start at login");
  await until("the entry to go", () => !fs.existsSync(entry));
});

step("a gated repo is explained, with the way to its page", async () => {
  await window.section("Add");
  await window.type("Repo or search", `${hub.endpoint}/demo/gated`);
  await window.choose("demo/gated");
  await window.has("licence");
  await window.click("Open its page");
  await until("the browser", () => desk.opened().includes(`${hub.endpoint}/demo/gated`));
});

step("a wrong token is refused, a right one goes to the keyring and nowhere else, and opens the gated repo", async () => {
  await window.section("Accounts");
  await window.type("Access token", "hf_wrongwrongwrongwrongwrongwrongwrong");
  await window.click("Add a token");
  await window.has("rejects the token");

  await window.type("Access token", hub.token);
  await window.click("Add a token");
  await window.has("Logged in as");
  await window.has("Keychain");
  desk.picture("accounts");
  const { accounts } = await ask("accounts.list");
  assert.equal(accounts.filter((account) => account.source === "keychain").length, 1);
  assert.deepEqual(filesWith(hub.token, ["home", "run", "tmp"]), []);
  assert.ok(!(await window.driver.getPageSource()).includes(hub.token));

  // Where it was left: at the repo that could not be mounted.
  await window.section("Add");
  await window.click("Mount");
  await window.has("is mounted", 40_000);
  assert.ok(fs.readdirSync(await place("demo/gated")).includes("model.safetensors"));
});

step("the Hub goes down and comes back", async () => {
  await hub.down();
  await window.section("Add");
  await window.type("Repo or search", "numbers");
  await window.has("cannot be reached", 40_000);
  desk.picture("hub-down");
  assert.deepEqual(await desk.panel({ do: "notifications" }), [], "what passes by itself is not told by the desktop");
  await hub.up();
  await window.click("Try again");
  await window.hasNot("cannot be reached", 40_000);
  const file = path.join(await place("demo/gated"), "README.md");
  assert.equal(await until("a read", () => fs.readFileSync(file, "utf8")), "# Behind a licence\n");
});

step("a closed window hides, the tray brings it back, and so does a second start", async () => {
  const shown = () => desk.windows().length > 0;
  await desk.closeWindow();
  await until("the window to hide", () => !shown());
  await click("Open Weightless");
  await until("the window", shown);
  await desk.closeWindow();
  await until("the window to hide", () => !shown());
  desk.run(app, [], { env });
  await until("the window", shown);
  assert.equal(desk.pids("weightless-desktop").length, 1);
});

step("hidden, with three mounts, the app does next to nothing", async () => {
  await desk.closeWindow();
  await until("the window to hide", () => desk.windows().length === 0);
  const [pid] = desk.pids("weightless-desktop");
  const before = cpu_ms(pid);
  await sleep(IDLE_S * 1000);
  const percent = (cpu_ms(pid) - before) / (IDLE_S * 10);
  console.log(`hidden and idle for ${IDLE_S} s: ${percent.toFixed(2)} % of a core`);
  assert.ok(percent <= 1, `${percent} % of a core`);
  await click("Open Weightless");
  await until("the window", () => desk.windows().length > 0);
});

step("a link from a page asks before it mounts", async () => {
  desk.run(app, ["weightless://mount/spaces/demo/space?revision=main"], { env });
  await window.has("A link asks to mount this repo");
  await window.has("demo/space");
  desk.picture("link");
  assert.ok(!fs.existsSync(usual("spaces/demo/space")));
  desk.run(app, ["weightless://unmount/demo/gated"], { env });
  assert.ok(mounts(dir).includes(await place("demo/gated")));
});

step("without a panel the hidden window comes back, and closing asks", async () => {
  await desk.closeWindow();
  await until("the window to hide", () => desk.windows().length === 0);
  await desk.panel({ do: "leave" });
  await until("the window", () => desk.windows().length > 0);
  await desk.closeWindow();
  await until("the question", () => desk.windows(QUESTION).length > 0);
  desk.key(QUESTION, "Escape");
  await until("the question to go", () => desk.windows(QUESTION).length === 0);
  await desk.panel({ do: "return" });
  await until("the icon", () => desk.panel({ do: "item" }));
});

step("the app is killed while a program reads: the read goes on, and the app comes back showing the mount", async () => {
  const reading = reader(path.join(await place(LARGE), LARGE_FILE), 0.1);
  await until("a program that reads", () => reading.pieces() > 2);
  const [pid] = desk.pids("weightless-desktop");
  process.kill(pid, "SIGKILL");
  const before = reading.pieces();
  await until("the end of the app", () => desk.pids("weightless-desktop").length === 0);
  await until("more to be read", () => reading.pieces() > before + 2);
  await window.close();
  window = await Window.open(desk, env);
  await window.section("Mounts");
  await window.has(LARGE);
  await window.has("1 open file");
  assert.equal(await reading.hash(), hashOf(hub.file(`large/${LARGE_FILE}`)));
});

step("the engine is killed: the app says so, starts another, and the mounts come back", async () => {
  const { engine: status } = await ask("status");
  process.kill(status.pid, "SIGKILL");
  await until("another engine", async () => (await ask("status")).engine.pid !== status.pid, 40_000);
  await window.section("Mounts");
  await until("the mounts", async () => (await ask("status")).mounts.filter((it) => it.state === "ready").length === 3, 40_000);
  assert.equal(fs.readFileSync(path.join(await place(SUGGESTED), "README.md"), "utf8"), fs.readFileSync(hub.file("suggested/README.md"), "utf8"));
  await until("the menu to follow", async () => (await menuTexts()).includes(LARGE));
});

step("quitting keeps the mounts if asked to", async () => {
  await click("Quit");
  await until("the question", () => desk.windows(QUESTION).length > 0);
  desk.picture("quit");
  desk.press(QUESTION, KEEP);
  await until("the end of the app", () => desk.pids("weightless-desktop").length === 0);
  assert.equal(mounts(dir).length, 3);
  assert.equal(fs.readFileSync(path.join(await place(SUGGESTED), "README.md"), "utf8").length > 0, true);
});

step("quitting unmounts all if asked to", async () => {
  const started = desk.spawn("hidden", app, ["--hidden"], { env });
  await until("the menu", async () => (await menuTexts()).includes(LARGE));
  assert.equal(desk.windows().length, 0, "started at login, the app shows no window");
  await click("Quit");
  await until("the question", () => desk.windows(QUESTION).length > 0);
  desk.press(QUESTION, UNMOUNT);
  await until("the end of the app", () => started.exitCode === 0);
  assert.deepEqual(mounts(dir), []);
  await until("the end of the engine", () => desk.pids("weightless").length === 0);
});

step("without its engine the app says so once, and works as soon as there is one", async () => {
  const bin = path.join(dir, "alone");
  fs.mkdirSync(bin);
  fs.copyFileSync(app, path.join(bin, "weightless-desktop"));
  const alone = desk.spawn("alone", path.join(bin, "weightless-desktop"), ["--hidden"], { env });
  await until("the menu", async () => (await menuTexts())[0] === "The engine does not run");
  await shows("error");
  await click("Start the engine again");
  const told = await until("a notification", async () => (await desk.panel({ do: "notifications" })).filter((it) => it.includes("not found")));
  fs.copyFileSync(engine, path.join(bin, "weightless"));
  await click("Start the engine again");
  await until("the engine", async () => (await menuTexts())[0] === "Nothing is mounted");
  await shows("idle");
  assert.equal(told.length, 1);
  alone.kill();
  await until("the end of the app", () => alone.signalCode !== null);
});

step("with no display it says what is missing", () => {
  const gone = { DISPLAY: "", WAYLAND_DISPLAY: "" };
  assert.throws(() => desk.run(app, [], { env: gone, stdio: "pipe" }), (error) => {
    assert.match(error.stderr, /There is no display/);
    return error.status === 1;
  });
});

/** Processor time of a process so far; the kernel counts in hundredths of a second. */
function cpu_ms(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Files below these folders of the desk that hold a text. */
function filesWith(text, folders) {
  const found = [];
  const look = (folder) => {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (mounts(dir).includes(file)) continue;
      if (entry.isDirectory()) look(file);
      else if (entry.isFile() && fs.readFileSync(file).includes(text)) found.push(file);
    }
  };
  for (const folder of folders) look(path.join(dir, folder));
  return found;
}

/** Asks the engine as one more client. */
async function ask(method, params = {}) {
  const socket = net.connect(path.join(desk.env.XDG_RUNTIME_DIR, "weightless/engine.sock"));
  try {
    const lines = readline.createInterface({ input: socket })[Symbol.asyncIterator]();
    const say = async (id, method, params) => {
      socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      const { result, error } = JSON.parse((await lines.next()).value);
      if (error) throw new Error(`${method}: ${error.message}`);
      return result;
    };
    await say(1, "hello", { client: "test", protocol_oldest: 1, protocol_newest: 1 });
    return await say(2, method, params);
  } finally {
    socket.destroy();
  }
}
