/** The engine's faults, as its error table words them. */
import type { Fault, Holder, Problem } from "../protocol.ts";

const fault = (code: string, sentence: string, advice = ""): Fault => ({ code, sentence, advice });

export const faults = {
  invalidInput: (text: string) =>
    fault("invalid_input", `${text}: this is not a repo, revision or path`, "Write org/name, datasets/org/name, spaces/org/name or paste a link from the Hub."),
  repoNotFound: (repo: string) =>
    fault("repo_not_found", `${repo}: no such repo, or it is private and this account cannot see it`, "Check the spelling; for a private repo log in with a token that may read it."),
  revisionNotFound: (repo: string, revision: string) =>
    fault("revision_not_found", `${repo}@${revision}: the repo has no such revision`, "Name a branch, a tag, a commit or refs/pr/N."),
  entryNotFound: (path: string) => fault("entry_not_found", `${path}: no such file or folder in this commit`),
  tokenRejected: () =>
    fault("token_rejected", "the Hub rejects the token", "It may be expired, revoked or mistyped: make a new one in the Hub's settings."),
  gated: (repo: string) =>
    fault("gated", `${repo}: the repo's licence has not been accepted by this account`, `Open https://huggingface.co/${repo} while logged in and accept it.`),
  rateLimited: () => fault("rate_limited", "the Hub asks to slow down until 14:05", "Try again in a while."),
  offline: (about: string) => fault("offline", `${about}: the Hub cannot be reached`, "Check the network, the proxy and the endpoint."),
  stalled: (about: string) => fault("stalled", `${about}: the network went silent`, "Try again; the network may be blocking the data host."),
  contentMismatch: (about: string) => fault("content_mismatch", `${about}: the bytes received are not the file's`, "Try again; if it stays, report it."),
  driverMissing: () =>
    fault("driver_missing", "the file system driver is not usable: fusermount3 is not installed", "Install the package fuse3: sudo apt install fuse3"),
  diskFull: () => fault("disk_full", "the disk is full: what is read is not kept", "Free some space."),
  mountPointInvalid: (dir: string) => fault("mount_point_invalid", `${dir}: this cannot be a mount point`, "Choose an empty folder of yours."),
  busy: (dir: string, holders: Holder[]): Fault => ({
    ...fault("mount_point_busy", `${dir}: the mount point is in use`, "Close what uses it, or choose another."),
    holders,
  }),
  badSettings: (problems: Problem[]): Fault => ({
    ...fault("invalid_settings", "these settings cannot be", "Nothing was changed."),
    problems,
  }),
  keychain: () => fault("keychain", "the keychain does not store the token", "Unlock it, or use HF_TOKEN."),
  engineGone: () => fault("engine_gone", "the engine does not answer", "Start it again."),
  internal: (what: string) => fault("internal", `something went wrong inside Weightless: ${what}`, "Please report it."),
} as const;
