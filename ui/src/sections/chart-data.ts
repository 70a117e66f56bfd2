/** What the chart of a view is drawn from. */
import type { AlignedData } from "uplot";
import type { History } from "../history.ts";

export type View = "s1" | "s10" | "hour";
/** Rows of the table; a person reads no more, and each is drawn twice a second. */
export const FILES_SHOWN = 100;

export function lines(history: History, view: View, now_s: number): AlignedData {
  if (view === "hour") {
    const { t, delivered, fetched } = history.hour(now_s);
    return [t, delivered, fetched];
  }
  const { live } = history;
  const [delivered, fetched] = view === "s1" ? (["delivered_1s", "fetched_1s"] as const) : (["delivered_10s", "fetched_10s"] as const);
  return [live.map((it) => it.t), live.map((it) => it[delivered]), live.map((it) => it[fetched])];
}
