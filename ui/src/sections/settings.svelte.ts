/** Changes settings one at a time, as they are left; says at each what is wrong with it. */
import type { Bridge } from "../bridge.ts";
import { asFault } from "../bridge.ts";
import type { Engine } from "../engine.svelte.ts";
import type { Settings } from "../protocol.ts";

export type Name = keyof Settings;
const SAVED_MS = 2_000;

export class SettingsForm {
  #bridge: Bridge;
  #engine: Engine;
  /** What was wrong with the last value that was tried. */
  problems: Partial<Record<string, string>> = $state({});
  saving: Name | null = $state(null);
  /** Said for a moment. */
  saved: Name | null = $state(null);

  constructor(bridge: Bridge, engine: Engine) {
    this.#bridge = bridge;
    this.#engine = engine;
  }

  async save(name: Name, value: string | number | null): Promise<void> {
    delete this.problems[name];
    this.saving = name;
    try {
      this.#engine.settings = await this.#bridge.call("settings.set", { changes: { [name]: value } });
      this.saved = name;
      setTimeout(() => {
        if (this.saved === name) this.saved = null;
      }, SAVED_MS);
    } catch (thrown) {
      const fault = asFault(thrown);
      for (const problem of fault.problems ?? []) this.problems[problem.setting] = problem.sentence;
      this.problems[name] ??= fault.sentence;
    } finally {
      this.saving = null;
    }
  }

  refuse(name: Name, sentence: string): void {
    this.problems[name] = sentence;
  }
}

/** What a field's text means: `null` is the default, `undefined` no number. */
export function parseNumber(text: string): number | null | undefined {
  const bare = text.trim();
  if (bare === "") return null;
  return /^\d+$/.test(bare) ? Number(bare) : undefined;
}

/** The slider's ends, in MiB: half of the RAM, more only if more was set. */
export function budgetRange(ram_bytes: number, set_mb: number): { min: number; max: number; step: number } {
  const step = 64;
  const half = Math.floor(ram_bytes / 2 / 1024 / 1024 / step) * step;
  return { min: step, max: Math.max(half, Math.ceil(set_mb / step) * step, 2 * step), step };
}
