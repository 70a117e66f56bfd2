// size.mjs DIST: what the bundle weighs, gzipped, as the app carries it. Fails above the limit, or if the simulated engine
// slipped in.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT_KB = 250;
// A word that only the simulated engine says.
const SIMULATED_MARK = "hf_limited";

const [dist] = process.argv.slice(2);
let total = 0;
for (const name of readdirSync(dist, { recursive: true }).sort()) {
  if (!/\.\w+$/.test(name)) continue;
  const content = readFileSync(join(dist, name));
  if (content.includes(SIMULATED_MARK)) throw new Error(`${name} carries the simulated engine`);
  const size = gzipSync(content, { level: 9 }).length;
  total += size;
  console.log(`${(size / 1000).toFixed(1).padStart(7)} kB  ${name}`);
}
console.log(`${(total / 1000).toFixed(1).padStart(7)} kB  in all, gzipped; at most ${LIMIT_KB}`);
if (total > LIMIT_KB * 1000) process.exit(1);
