/** What the window is made of: the bridge and one owner for each piece of state. Sections take it from the context. */
import { getContext, setContext } from "svelte";
import type { Bridge } from "./bridge.ts";
import { Engine } from "./engine.svelte.ts";
import { Nav } from "./nav.svelte.ts";
import { Notices } from "./notices.svelte.ts";
import { Prefs } from "./prefs.svelte.ts";
import { Add } from "./sections/add.svelte.ts";
import { Browse } from "./sections/browse.svelte.ts";

export interface AppContext {
  bridge: Bridge;
  engine: Engine;
  notices: Notices;
  nav: Nav;
  prefs: Prefs;
  add: Add;
  browse: Browse;
  run(): Promise<void>;
}

export function createApp(bridge: Bridge, storage: Storage = window.localStorage): AppContext {
  const prefs = new Prefs(storage);
  const notices = new Notices();
  const engine = new Engine(bridge, notices);
  const nav = new Nav(prefs);
  const add = new Add(bridge, engine);
  const browse = new Browse(bridge);
  return {
    bridge,
    engine,
    notices,
    nav,
    prefs,
    add,
    browse,
    run: () =>
      engine.run((target) => {
        nav.follow(target);
        if (target.repo !== undefined) {
          // Who follows a link wants that repo now; what is missing will be said when it is mounted.
          prefs.welcomed = true;
          const revision = target.revision ?? null;
          if (nav.section === "browse") browse.open(target.repo, revision);
          else add.askFor(target.repo, revision);
        }
      }),
  };
}

const KEY = Symbol("app");
export const provideApp = (app: AppContext): AppContext => setContext(KEY, app);
export const useApp = (): AppContext => getContext<AppContext>(KEY);
