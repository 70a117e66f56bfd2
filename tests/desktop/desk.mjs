/**
 * A private desktop for tests: a display, a session bus, an unlocked keyring, a panel, a home. Everything that runs in it carries
 * the folder in its environment, so that the end finds all of it, also what outlives its parent; nothing else is touched.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import readline from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const here = import.meta.dirname;
/** The repository. */
export const root = path.resolve(here, "../..");
const SCREEN = "1440x900x24";
const KEYRING_PASSWORD = "keyring of the tests";

export class Desk {
  /** Everything of the desk lies in here, its marks in the environment of its processes included. */
  dir;
  env;
  #children = [];
  #panel;

  static async open(dir) {
    const desk = new Desk();
    desk.dir = dir;
    for (const name of ["home", "run", "tmp", "log", "bin"]) {
      fs.mkdirSync(path.join(dir, name), { mode: 0o700, recursive: true });
    }
    desk.env = {
      PATH: `${dir}/bin:${process.env.PATH}`,
      HOME: `${dir}/home`,
      USER: process.env.USER ?? "me",
      XDG_RUNTIME_DIR: `${dir}/run`,
      TMPDIR: `${dir}/tmp`,
      // The locale that leaves WebKitGTK without a language: whatever works here works under the others.
      LANG: "C.UTF-8",
      GDK_BACKEND: "x11",
      NO_AT_BRIDGE: "1",
      LIBGL_ALWAYS_SOFTWARE: "1",
      WEBKIT_DISABLE_DMABUF_RENDERER: "1",
      WEIGHTLESS_DESK: dir,
    };
    // What the desktop would open is written down instead.
    const opener = `#!/bin/sh\nprintf '%s\\n' "$1" >>"${dir}/opened"\n`;
    for (const name of ["xdg-open", "gio"]) fs.writeFileSync(`${dir}/bin/${name}`, opener, { mode: 0o755 });
    await desk.#display();
    await desk.#bus();
    await desk.#keyring();
    await desk.#openPanel();
    return desk;
  }

  /** Starts a program of the desk; its words go to a file. */
  spawn(name, command, args, options = {}) {
    const log = fs.openSync(path.join(this.dir, "log", `${name}.log`), "a");
    const child = spawn(command, args, {
      cwd: this.env.HOME,
      stdio: ["ignore", log, log],
      ...options,
      env: { ...this.env, ...options.env },
    });
    fs.closeSync(log);
    child.on("error", (error) => console.error(`${name}: ${error.message}`));
    this.#children.push(child);
    return child;
  }

  /** Runs a program to its end; its standard output. */
  run(command, args, options = {}) {
    return execFileSync(command, args, {
      cwd: this.env.HOME,
      encoding: "utf8",
      timeout: 60_000,
      ...options,
      env: { ...this.env, ...options.env },
    });
  }

  log(name) {
    const file = path.join(this.dir, "log", `${name}.log`);
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
  }

  /** What the desktop was asked to open so far. */
  opened() {
    const file = path.join(this.dir, "opened");
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  }

  /** Asks the panel (host.py). */
  async panel(request) {
    const answer = once(this.#panel.answers, "line");
    this.#panel.child.stdin.write(`${JSON.stringify(request)}\n`);
    const { result, error } = JSON.parse((await answer)[0]);
    if (error) throw new Error(`panel: ${error}`);
    return result;
  }

  /** The processes of the desk with this name. */
  pids(name) {
    return processes(this.dir).filter((pid) => programOf(pid) === name);
  }

  /** Windows with this title that can be seen. */
  windows(title = "Weightless") {
    const pattern = `^${title.replace(/[?]/g, "\\$&")}$`;
    try {
      return this.run("xdotool", ["search", "--onlyvisible", "--name", pattern], { stdio: ["ignore", "pipe", "ignore"] }).trim().split("\n").filter(Boolean);
    } catch {
      return [];
    }
  }

  /** Closes the app's window as its frame's button would. */
  async closeWindow() {
    for (const window of this.windows()) await this.panel({ do: "close", window: Number(window) });
  }

  /** Presses a key in a window. There is no window manager that would give it the focus. */
  key(title, ...keys) {
    const [window] = this.windows(title);
    this.run("xdotool", ["windowfocus", "--sync", window, "key", ...keys]);
  }

  /** Clicks a button of a dialog: GTK lays them out from left to right, all as wide. */
  press(title, { at, of }) {
    const [window] = this.windows(title);
    const [, width, height] = /Geometry: (\d+)x(\d+)/.exec(this.run("xdotool", ["getwindowgeometry", window]));
    const x = Math.round((width * (at + 0.5)) / of);
    this.run("xdotool", ["mousemove", "--sync", "--window", window, String(x), String(height - 20), "click", "1"]);
  }

  /** Takes a picture of the screen where they are asked for. */
  picture(name) {
    const folder = process.env.WEIGHTLESS_PICTURES;
    if (folder) this.run("import", ["-window", "root", path.join(folder, `${name}.png`)]);
  }

  async close() {
    await sweep(this.dir);
  }

  async #display() {
    const file = path.join(this.dir, "run", "display");
    const output = fs.openSync(file, "w");
    this.spawn("xvfb", "Xvfb", ["-displayfd", "3", "-screen", "0", SCREEN, "-nolisten", "tcp"], {
      stdio: ["ignore", "ignore", "ignore", output],
    });
    fs.closeSync(output);
    const number = await until("a display", () => fs.readFileSync(file, "utf8").trim());
    this.env.DISPLAY = `:${number}`;
  }

  async #bus() {
    const address = `unix:path=${this.dir}/run/bus`;
    this.spawn("bus", "dbus-daemon", ["--session", "--nofork", "--nosyslog", `--address=${address}`]);
    await until("a session bus", () => fs.existsSync(`${this.dir}/run/bus`));
    this.env.DBUS_SESSION_BUS_ADDRESS = address;
  }

  async #keyring() {
    const keyring = this.spawn("keyring", "gnome-keyring-daemon", ["--foreground", "--unlock", "--components=secrets"], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    keyring.stdin.end(KEYRING_PASSWORD);
    await until("a keyring", () => this.#owns("org.freedesktop.secrets"));
  }

  #owns(name) {
    const args = ["--print-reply=literal", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.NameHasOwner"];
    return this.run("dbus-send", [...args, `string:${name}`]).includes("true");
  }

  async #openPanel() {
    const child = this.spawn("panel", "/usr/bin/python3", [path.join(here, "host.py")], { stdio: ["pipe", "pipe", "inherit"] });
    const answers = readline.createInterface({ input: child.stdout });
    this.#panel = { child, answers };
    await once(answers, "line");
  }
}

/** Ends what runs in the desk `dir`, unmounts what is mounted below it, removes it. */
export async function sweep(dir) {
  for (const signal of ["SIGTERM", "SIGKILL"]) {
    for (const pid of processes(dir)) kill(pid, signal);
    await until("the end of everything", () => processes(dir).length === 0, 10_000).catch(() => {});
  }
  for (const mount of mounts(dir)) {
    try {
      execFileSync("fusermount3", ["-u", "-z", mount], { stdio: "ignore" });
    } catch {
      execFileSync("umount", ["-l", mount], { stdio: "ignore" });
    }
  }
  const left = [...processes(dir).map((pid) => `process ${pid}`), ...mounts(dir)];
  if (left.length > 0) throw new Error(`still there: ${left.join(", ")}`);
  fs.rmSync(dir, { recursive: true, force: true });
}

function kill(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** Processes that carry the desk in their environment. A zombie's cannot be read, and it does nothing any more. */
function processes(dir) {
  const mark = `\0WEIGHTLESS_DESK=${dir}\0`;
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return `\0${fs.readFileSync(`/proc/${pid}/environ`, "utf8")}`.includes(mark);
      } catch {
        return false;
      }
    })
    .map(Number);
}

function programOf(pid) {
  try {
    return path.basename(fs.readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return "";
  }
}

/** Mount points below a folder, the deepest first. */
export function mounts(dir) {
  return fs
    .readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => (line.split(" ")[1] ?? "").replace(/\\040/g, " "))
    .filter((mount) => mount.startsWith(`${dir}/`))
    .reverse();
}

/** Waits until `look` gives something true; the last error says why it did not. */
export async function until(what, look, limit_ms = 20_000) {
  const end = Date.now() + limit_ms;
  for (;;) {
    let cause;
    try {
      const found = await look();
      if (found) return found;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > end) throw new Error(`waited ${limit_ms} ms for ${what}`, { cause });
    await sleep(50);
  }
}

/** A port that nobody uses now. */
export async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
