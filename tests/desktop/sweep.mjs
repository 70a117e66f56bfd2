/** `node sweep.mjs FOLDER`: ends whatever a run of the tests has left there. */
import fs from "node:fs";
import { sweep } from "./desk.mjs";

const [dir] = process.argv.slice(2);
if (fs.existsSync(dir)) await sweep(dir);
