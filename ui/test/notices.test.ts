import { expect, test } from "vitest";
import { Notices, NOTICES_MAX } from "../src/notices.svelte.ts";

const fault = (sentence: string) => ({ code: "offline", sentence });

test("a cause is shown once and counted after that", () => {
  const notices = new Notices();
  notices.add("/m", fault("gone"), 1);
  notices.dismiss(notices.toasts[0]!.id);
  notices.add("/m", fault("gone"), 2);
  notices.add("/other", fault("gone"), 3);
  expect(notices.list.map((it) => [it.dir, it.times])).toEqual([["/other", 1], ["/m", 2]]);
  expect(notices.toasts).toHaveLength(1);
  expect(notices.unread).toBe(2);
  notices.readAll();
  expect(notices.unread).toBe(0);
});

test("the list has an end", () => {
  const notices = new Notices();
  for (let i = 0; i < NOTICES_MAX + 20; i++) notices.add(null, fault(`cause ${i}`), i);
  expect(notices.list).toHaveLength(NOTICES_MAX);
  expect(notices.list[0]!.fault.sentence).toBe(`cause ${NOTICES_MAX + 19}`);
});

test("what was asked for is said, and not kept", () => {
  const notices = new Notices();
  notices.flash("done");
  expect([notices.toasts.length, notices.list.length]).toEqual([1, 0]);
});
