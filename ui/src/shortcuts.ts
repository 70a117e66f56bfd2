/** What a key does in the whole window. Pure: a key and where it was pressed give what is meant. */
import { SECTIONS, type Section } from "./nav.svelte.ts";

export type Shortcut = { go: Section } | { search: true } | null;

interface Press {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

export function shortcut(press: Press, isTyping: boolean): Shortcut {
  if (press.altKey) return null;
  if (press.ctrlKey || press.metaKey) {
    if (press.key.toLowerCase() === "n") return { go: "add" };
    const section = /^[1-9]$/.test(press.key) ? SECTIONS[Number(press.key) - 1] : undefined;
    return section === undefined ? null : { go: section };
  }
  return press.key === "/" && !isTyping ? { search: true } : null;
}

export const isTypingIn = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.matches("input:not([type=radio]):not([type=range]), textarea, select") || target.isContentEditable);
