import { expect, test } from "vitest";
import { bytes, commit, count, joinPath, memory, millis, percent, rate, repoName, repoPage, sentence, short } from "../src/format.ts";
import { ago, clock } from "../src/when.ts";

const table = <T extends unknown[]>(name: string, rows: [...T, string][], of: (...input: T) => string) =>
  test.each(rows)(`${name} %j`, (...row) => {
    const expected = row.pop() as string;
    expect(of(...(row as unknown as T))).toBe(expected);
  });

table("bytes", [[0, "0 B"], [999, "999 B"], [1000, "1.0 kB"], [38_200_000, "38.2 MB"], [99_960_000, "100 MB"], [999_700_000, "1.0 GB"], [2_471_645_608, "2.5 GB"], [-5, "0 B"]], bytes);
table("rate", [[0, "0 B/s"], [94_300_000, "94.3 MB/s"]], rate);
table("memory", [[1024 ** 3, "1 GiB"], [1536 * 1024 ** 2, "1.5 GiB"], [64 * 1024 ** 2, "64 MiB"], [0, "0 B"]], memory);
table("count", [[0, "0"], [999, "999"], [1234, "1,234"], [149_204_113, "149,204,113"]], count);
table("short", [[987, "987"], [12_345, "12.3k"], [999_499, "999k"], [999_600, "1.0M"], [149_204_113, "149M"]], short);
table("percent", [[1, 4, "25 %"], [1, 0, "0 %"], [2, 3, "67 %"]], percent);
table("millis", [[4, "4 ms"], [2014, "2.0 s"]], millis);
table("commit", [["2230f1b9aa", "2230f1b"], ["", ""]], commit);
table("sentence", [["the Hub rejects the token", "The Hub rejects the token"], ["ada/model: no such repo", "ada/model: no such repo"], ["huggingface.co: the Hub cannot be reached", "huggingface.co: the Hub cannot be reached"]], sentence);
table("joinPath", [["/home/a/m", "x/y", "/home/a/m/x/y"], ["/home/a/m", "", "/home/a/m"], ["C:\\Users\\a\\m", "x/y", "C:\\Users\\a\\m\\x\\y"]], joinPath);
table("repoPage", [["https://huggingface.co/", "datasets/a/b", "https://huggingface.co/datasets/a/b"]], repoPage);
table("ago", [[1000, 1030, "just now"], [1000, 1000 + 12 * 60, "12 min ago"], [0, 3 * 3600, "3 h ago"], [0, 5 * 86_400, "5 days ago"], [0, 90 * 86_400, "3 months ago"]], ago);

test("clock pads both parts", () => expect(clock(new Date(2026, 10, 30, 4, 5).getTime())).toBe("04:05"));

test.each([
  ["Qwen/Qwen2.5", { kind: "model", org: "Qwen", name: "Qwen2.5" }],
  ["datasets/a/b", { kind: "dataset", org: "a", name: "b" }],
  ["datasets/squad", { kind: "dataset", org: "", name: "squad" }],
  ["spaces/a/b", { kind: "space", org: "a", name: "b" }],
  ["gpt2", { kind: "model", org: "", name: "gpt2" }],
])("repoName %s", (repo, expected) => expect(repoName(repo)).toEqual(expected));
