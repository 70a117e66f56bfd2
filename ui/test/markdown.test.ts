/** Only what needs no real document: what strangers' markup does is held in a browser (e2e/window.test.ts). */
import { expect, test } from "vitest";
import { httpsAddress, withoutFrontMatter } from "../src/parts/markdown.ts";

const BASE = "https://huggingface.co/a/b/blob/main/";

test.each([
  ["https://example.org/", "https://example.org/"],
  ["LICENSE", `${BASE}LICENSE`],
  ["//example.org/x", "https://example.org/x"],
  ["http://example.org", null],
  ["javascript:alert(1)", null],
  ["#top", null],
  ["https://[", null],
  [null, null],
])("the link %j leads to %j", (href, page) => expect(httpsAddress(href, BASE)).toBe(page));

test("metadata at the top is not shown", () => {
  expect(withoutFrontMatter("---\nlicense: mit\n---\n# A")).toBe("# A");
  expect(withoutFrontMatter("# A\n---\nb\n---\n")).toBe("# A\n---\nb\n---\n");
});
