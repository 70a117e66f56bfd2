import { mount } from "svelte";
import App from "./App.svelte";
import { createApp } from "./app.svelte.ts";
import type { Bridge } from "./bridge.ts";

/** Builds the app on its bridge and shows it. */
export async function start(): Promise<void> {
  const app = createApp(await chooseBridge());
  mount(App, { target: document.getElementById("app")!, props: { app } });
  await app.run();
}

async function chooseBridge(): Promise<Bridge> {
  if (__SIMULATED__) {
    const { simulatedBridge } = await import("./simulated/index.ts");
    return simulatedBridge(window);
  }
  const { tauriBridge } = await import("./bridge-tauri.ts");
  return tauriBridge;
}
