/** What people should know, once for each cause: a toast that leaves by itself, and a list that stays. */
import type { Fault } from "./protocol.ts";

export interface Notice {
  id: number;
  at_ms: number;
  /** The mount it is about, if any. */
  dir: string | null;
  fault: Fault;
  /** How often the same cause was told. */
  times: number;
  is_read: boolean;
  tone: "bad" | "good";
}

export const NOTICES_MAX = 100;
const TOASTS_MAX = 2;

export class Notices {
  list: Notice[] = $state([]);
  toasts: Notice[] = $state([]);
  #nextId = 1;

  get unread(): number {
    return this.list.filter((notice) => !notice.is_read).length;
  }

  /** A cause that is in the list already is counted there, and not shown again. */
  add(dir: string | null, fault: Fault, now_ms: number): void {
    const old = this.list.find((it) => it.dir === dir && it.fault.code === fault.code && it.fault.sentence === fault.sentence);
    if (old !== undefined) {
      old.times += 1;
      old.at_ms = now_ms;
      return;
    }
    const notice: Notice = { id: this.#nextId++, at_ms: now_ms, dir, fault, times: 1, is_read: false, tone: "bad" };
    this.list = [notice, ...this.list].slice(0, NOTICES_MAX);
    this.#toast(notice);
  }

  /** Something that the person just asked for failed or went well: a toast, not for the list. */
  flash(sentence: string, tone: Notice["tone"] = "good", advice = ""): void {
    const fault = { code: "", sentence, advice };
    this.#toast({ id: this.#nextId++, at_ms: 0, dir: null, fault, times: 1, is_read: true, tone });
  }

  dismiss(id: number): void {
    this.toasts = this.toasts.filter((toast) => toast.id !== id);
  }

  readAll(): void {
    for (const notice of this.list) notice.is_read = true;
    this.toasts = [];
  }

  clear(): void {
    this.list = [];
    this.toasts = [];
  }

  #toast(notice: Notice): void {
    this.toasts = [...this.toasts, notice].slice(-TOASTS_MAX);
  }
}
