/** Which button helps with which fault. By the stable codes, never by words. */
import type { Fault } from "./protocol.ts";

const ACCOUNT = new Set(["not_logged_in", "token_rejected", "no_access", "repo_not_found"]);

/** Another token may help. */
export const needsAccount = (fault: Fault): boolean => ACCOUNT.has(fault.code);

/** Asking again later may help, without changing anything. */
export const mayPass = (fault: Fault): boolean => !ACCOUNT.has(fault.code) && fault.code !== "invalid_input" && fault.code !== "gated";
