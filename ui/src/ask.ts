/** Does what a click asked for; a failure becomes a toast, since the button that was clicked has no place for words. */
import type { AppContext } from "./app.svelte.ts";
import { asFault } from "./bridge.ts";
import { t } from "./texts.ts";

/** Whether it went well. */
export async function ask(app: AppContext, deed: () => Promise<unknown>): Promise<boolean> {
  try {
    await deed();
    return true;
  } catch (thrown) {
    const fault = asFault(thrown);
    app.notices.flash(fault.sentence, "bad", fault.advice);
    return false;
  }
}

export async function copyText(app: AppContext, text: string, said: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    app.notices.flash(said);
  } catch {
    app.notices.flash(t.copyFailed, "bad");
  }
}
