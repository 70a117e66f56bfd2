import { afterEach } from "vitest";
import { clear } from "./render.ts";

afterEach(clear);
