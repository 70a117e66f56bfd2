/** The simulated engine in a browser: `?scenario=busy&latency=0`; `window.simulated` is its handle for tests and the console. */
import type { Bridge } from "../bridge.ts";
import { SimulatedEngine } from "./engine.ts";
import { worldNamed } from "./scenarios.ts";

declare global {
  interface Window {
    simulated?: SimulatedEngine;
  }
}

const LATENCY_MS = 120;

export function simulatedBridge(window: Window): Bridge {
  const query = new URLSearchParams(window.location.search);
  const world = worldNamed(query.get("scenario") ?? "usual");
  const latency_ms = Number(query.get("latency") ?? LATENCY_MS);
  const engine = new SimulatedEngine(world, latency_ms, () => Date.now());
  // The welcome belongs to its scenarios, whatever this browser has seen before.
  const stored = JSON.parse(window.localStorage.getItem("weightless") ?? "{}") as Record<string, unknown>;
  window.localStorage.setItem("weightless", JSON.stringify({ ...stored, welcomed: world.welcomed }));
  window.simulated = engine;
  return engine;
}
