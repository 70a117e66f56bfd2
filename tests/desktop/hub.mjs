/** hub-sim as a process that can go away and come back at the same address. */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { freePort, root, until } from "./desk.mjs";

const program = path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, "target"), "debug/hub-sim");

/** What the welcome suggests. */
export const SUGGESTED = "sentence-transformers/all-MiniLM-L6-v2";
/** Large enough to be read for seconds. */
export const LARGE = "demo/large-model";
export const LARGE_FILE = "model.safetensors";
const LARGE_BYTES = 64 << 20;

export class Hub {
  #desk;
  #port;
  #process = null;
  endpoint;
  token;

  static async start(desk) {
    const hub = new Hub();
    hub.#desk = desk;
    hub.#port = await freePort();
    hub.#content();
    await hub.up();
    return hub;
  }

  /** Path of a file as the Hub serves it. */
  file(name) {
    return path.join(this.#desk.dir, "hub", name);
  }

  async up() {
    const before = this.#desk.log("hub").length;
    this.#process = this.#desk.spawn("hub", program, [
      ...["--demo", "--port", String(this.#port)],
      ...["--dir", `${this.file("suggested")}=${SUGGESTED}`, "--dir", `${this.file("large")}=${LARGE}`],
    ]);
    const said = await until("a Hub", () => /HF_ENDPOINT=(\S+) HF_TOKEN=(\S+)/.exec(this.#desk.log("hub").slice(before)));
    [, this.endpoint, this.token] = said;
  }

  /** As if the machine had lost it: connections break, new ones are refused. */
  async down() {
    const gone = this.#process;
    gone.kill("SIGKILL");
    await until("the end of the Hub", () => gone.exitCode !== null || gone.signalCode !== null);
  }

  #content() {
    fs.mkdirSync(this.file("suggested"), { recursive: true });
    fs.mkdirSync(this.file("large"), { recursive: true });
    fs.writeFileSync(this.file("suggested/README.md"), "# A small model\n\nFor the first mount.\n");
    fs.writeFileSync(this.file("suggested/config.json"), '{"model_type": "bert"}\n');
    const header = Buffer.from(JSON.stringify({ w: { dtype: "U8", shape: [LARGE_BYTES], data_offsets: [0, LARGE_BYTES] } }));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    fs.writeFileSync(this.file(`large/${LARGE_FILE}`), Buffer.concat([length, header, noise(LARGE_BYTES)]));
    fs.writeFileSync(this.file("large/README.md"), "# A large model\n");
  }
}

/** Bytes without repetition, so that nothing is found twice in the store; the same in every run. */
function noise(length) {
  const bytes = Buffer.allocUnsafe(length);
  let block = createHash("sha512").update("weightless").digest();
  for (let at = 0; at < length; at += block.length) {
    block.copy(bytes, at);
    block = createHash("sha512").update(block).digest();
  }
  return bytes;
}

export function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}
