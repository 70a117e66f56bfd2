/** Shows a component in the test's page, on a simulated engine that answers without delay; takes all away after each test. */
import { flushSync, mount, unmount, type Component } from "svelte";
import { vi } from "vitest";
import { createApp, type AppContext } from "../src/app.svelte.ts";
import { SimulatedEngine } from "../src/simulated/engine.ts";
import { worldNamed } from "../src/simulated/scenarios.ts";
import Frame from "./Frame.svelte";

const shown: object[] = [];

export interface Stage {
  app: AppContext;
  sim: SimulatedEngine;
}

/** An app whose engine has answered everything that it asks at the start. */
export async function stage(scenario: string): Promise<Stage> {
  const sim = new SimulatedEngine(worldNamed(scenario), 0, () => Date.now());
  const app = createApp(sim, new MemoryStorage());
  await app.run();
  return { app, sim };
}

export function render<P extends Record<string, unknown>>({ app }: Stage, component: Component<P>, props: P): HTMLElement {
  const target = document.body.appendChild(document.createElement("div"));
  shown.push(mount(Frame, { target, props: { app, component: component as Component, props } }));
  flushSync();
  return target;
}

export async function clear(): Promise<void> {
  await Promise.all(shown.splice(0).map((it) => unmount(it)));
  document.body.replaceChildren();
}

export function button(within: ParentNode, name: string): HTMLButtonElement {
  const all = [...within.querySelectorAll("button")];
  const found = all.find((it) => (it.getAttribute("aria-label") ?? it.textContent.trim()) === name);
  if (found === undefined) throw new Error(`no button "${name}" among ${all.map((it) => it.getAttribute("aria-label") ?? it.textContent.trim()).join(", ")}`);
  return found;
}

export function click(element: HTMLElement): void {
  element.click();
  flushSync();
}

export function type(field: HTMLInputElement, text: string): void {
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
}

/** Waits until `check` does not throw. */
export const until = (check: () => void): Promise<void> =>
  vi.waitFor(() => {
    flushSync();
    check();
  });

export class MemoryStorage implements Storage {
  #items = new Map<string, string>();
  get length(): number {
    return this.#items.size;
  }
  clear(): void {
    this.#items.clear();
  }
  getItem(key: string): string | null {
    return this.#items.get(key) ?? null;
  }
  key(index: number): string | null {
    return [...this.#items.keys()][index] ?? null;
  }
  removeItem(key: string): void {
    this.#items.delete(key);
  }
  setItem(key: string, value: string): void {
    this.#items.set(key, value);
  }
}
