// Written from the types of core/control; `UPDATE=1 cargo nextest run --workspace -E 'binary(schema)'` writes it anew.

/**
 * A token, as it may be shown.
 */
export type Account = { 
/**
 * Name on the Hub.
 */
name: string, 
/**
 * Name for people, where it is known.
 */
full_name: string | null, 
/**
 * Organisations that it belongs to.
 */
orgs: Array<string>, 
/**
 * What the token may do, as the Hub names it: `read`, `write`, `fineGrained`.
 */
role: string | null, 
/**
 * The Hub it belongs to.
 */
endpoint: string, 
/**
 * Where the token lies.
 */
source: TokenSource, 
/**
 * Whether mounts use it that name no other.
 */
is_default: boolean, };

/**
 * The accounts.
 */
export type Accounts = { 
/**
 * In the order in which they were added; what the environment and the Hub's own tools offer comes last.
 */
accounts: Array<Account>, 
/**
 * Why tokens cannot be stored here, where that is so: no Secret Service runs. Tokens of the environment work still.
 */
no_keychain?: string | null, };

/**
 * Asks the Hub whose token it is and stores it in the keychain. The first account becomes the default.
 */
export type AddAccount = { 
/**
 * The token.
 */
token: string, 
/**
 * The Hub it is for; the one of the settings without.
 */
endpoint: string | null, };

/**
 * Mounts a repo. Mounting what is mounted there already is no error.
 */
export type AddMount = { 
/**
 * As people type it: `org/name`, `datasets/org/name`, `hf://…`, a link of the Hub with its revision and path.
 */
repo: string, 
/**
 * Branch, tag, commit or `refs/pr/N`; `main` where nothing names one.
 */
revision: string | null, 
/**
 * Show only this folder of the repo.
 */
subfolder: string | null, 
/**
 * Absolute path of the mount point; a place in the mount folder without. In the Hub folder a repo is where its name says,
 * and mounting it there keeps it listed and in use.
 */
dir: string | null, 
/**
 * The Hub; the one of the settings without.
 */
endpoint: string | null, 
/**
 * The account that asks; the default one without.
 */
account: string | null, 
/**
 * Absolute path of a file with the token, instead of an account.
 */
token_file: string | null, 
/**
 * A token for this mount alone, instead of an account: what `HF_TOKEN` of the client holds. Kept in memory only.
 */
token: string | null, 
/**
 * Mount it again whenever the engine starts.
 */
at_login: boolean, 
/**
 * Move it to each newer commit of its revision by itself, as `mounts.update` does, once the engine has noticed it.
 */
follow: boolean, 
/**
 * Threads that answer the kernel; the setting without.
 */
event_loops: number | null, };

/**
 * What the tests found, in the order in which they ran.
 */
export type Checkup = { 
/**
 * The hops; those behind one that failed are skipped.
 */
hops: Array<Hop>, 
/**
 * Hosts that a firewall must allow.
 */
hosts: Array<string>, };

/**
 * Asks what a repo is. Costs the Hub a few requests.
 */
export type DescribeRepo = { 
/**
 * As people type it: `org/name`, a link, `hf://…`.
 */
repo: string, 
/**
 * Branch, tag, commit or `refs/pr/N`.
 */
revision: string | null, };

/**
 * Collects what a person who helps wants to know; tokens and signed addresses are taken out.
 */
export type Diagnose = Record<symbol, never>;

/**
 * Text to read before it is sent to anybody.
 */
export type Diagnostics = { 
/**
 * Versions, system, settings, mounts, figures, the end of the log.
 */
text: string, };

/**
 * Tests each hop to the Hub in turn.
 */
export type Doctor = { 
/**
 * The Hub to test; the one of the settings without.
 */
endpoint: string | null, 
/**
 * Where the client has this address from, to be said beside it.
 */
endpoint_from: string | null, };

/**
 * It was done.
 */
export type Done = Record<symbol, never>;

/**
 * A process that owns mounts.
 */
export type EngineStatus = { 
/**
 * Its process id.
 */
pid: number, 
/**
 * Product version.
 */
version: string, 
/**
 * When it started.
 */
started_unix_s: number, 
/**
 * The memory it may use for file content.
 */
budget_bytes: number, 
/**
 * How much of that it uses.
 */
held_bytes: number, 
/**
 * Whether all network is paused.
 */
is_paused: boolean, 
/**
 * Its log file; empty if it logs to the terminal.
 */
log: string, 
/**
 * What is wrong beyond a single mount, as long as it is: settings that cannot be read, a Hub that asks to slow down.
 */
faults: Array<Fault>, 
/**
 * What it keeps on this device; nothing where it keeps nothing.
 */
store?: StoreStatus | null, };

/**
 * What happened.
 */
export type Event = { "kind": "mount", 
/**
 * As it is now.
 */
mount: MountStatus, } | { "kind": "mount_gone", 
/**
 * The mount point.
 */
dir: string, } | { "kind": "folder", 
/**
 * As it is now; none while it is off.
 */
folder: FolderStatus | null, } | { "kind": "notice", 
/**
 * The mount that it is about, if it is about one.
 */
dir: string | null, 
/**
 * What, in words.
 */
fault: Fault, } | { "kind": "settings", 
/**
 * As they are now.
 */
settings: SettingsReply, } | { "kind": "accounts" } | { "kind": "paused", 
/**
 * Whether it is.
 */
paused: boolean, } | { "kind": "stats", 
/**
 * The figures.
 */
stats: Stats, } | { "kind": "other" };

/**
 * What a notification carries.
 */
export type EventMessage = { 
/**
 * Events that this client did not take in time and will not get; ask `status` if it is not 0.
 */
lost: number, 
/**
 * What happened.
 */
event: Event, };

/**
 * What went wrong, in words.
 */
export type Fault = { 
/**
 * Stable name of the kind, from the engine's error table: `repo_not_found`, `mount_point_busy`.
 */
code: string, 
/**
 * What happened, with what it is about; no full stop.
 */
sentence: string, 
/**
 * What to do about it; empty if nothing.
 */
advice?: string, 
/**
 * Who keeps a mount busy, where that is the reason.
 */
holders?: Array<Holder>, 
/**
 * Every setting that cannot be, where that is the reason.
 */
problems?: Array<Problem>, };

/**
 * One open file.
 */
export type FileStats = { 
/**
 * The mount point.
 */
dir: string, 
/**
 * Path in the mount.
 */
path: string, 
/**
 * Length in bytes.
 */
size: number, 
/**
 * The process that opened it, where the system told.
 */
pid: number | null, 
/**
 * That process's name.
 */
program: string | null, 
/**
 * When it was opened, in seconds since 1970.
 */
opened_unix_s: number, 
/**
 * What went through.
 */
traffic: Traffic, 
/**
 * What its reads wait for, where they do.
 */
waiting?: Waiting | null, };

/**
 * A folder's entries, folders first, by name.
 */
export type Folder = { 
/**
 * At most [`ENTRIES_MAX`].
 */
entries: Array<FolderEntry>, 
/**
 * Whether there are more.
 */
is_cut: boolean, };

/**
 * A file or folder.
 */
export type FolderEntry = { 
/**
 * Its name.
 */
name: string, 
/**
 * Whether it is a folder.
 */
is_folder: boolean, 
/**
 * Length of a file, where the Hub says it.
 */
size: number | null, };

/**
 * A name in the Hub folder that led nowhere.
 */
export type FolderProblem = { 
/**
 * The name, as a path in the folder.
 */
path: string, 
/**
 * Why.
 */
fault: Fault, };

/**
 * The Hub folder, if it is on.
 */
export type FolderReply = { 
/**
 * What there is to know of it.
 */
folder?: FolderStatus | null, 
/**
 * What else there is to say, a sentence each.
 */
notes: Array<string>, };

/**
 * The Hub folder.
 */
export type FolderStatus = { 
/**
 * Absolute path of the mount point.
 */
dir: string, 
/**
 * What it is doing.
 */
state: MountState, 
/**
 * The Hub that it shows.
 */
endpoint: string, 
/**
 * The account that asks, where one was chosen for it.
 */
account?: string | null, 
/**
 * Repos that were used and are listed in it, by their paths in it; newest first.
 */
recent: Array<string>, 
/**
 * Names in it that led nowhere lately; newest first.
 */
problems: Array<FolderProblem>, 
/**
 * Why it is not there, where that is so.
 */
fault?: Fault | null, };

/**
 * What was found, the most popular first.
 */
export type Found = { 
/**
 * The repos.
 */
repos: Array<RepoHit>, };

/**
 * Frees what is kept on this device of what was read; what was not used for longest comes first.
 */
export type Free = { 
/**
 * Only what was first read in this repo: `org/name`, `datasets/org/name`, `spaces/org/name`.
 */
repo: string | null, 
/**
 * Only say what would be freed.
 */
dry_run: boolean, };

/**
 * What was freed, or would be.
 */
export type Freed = { 
/**
 * Bytes on the disk, in all.
 */
bytes: number, 
/**
 * Files, in all.
 */
files: number, 
/**
 * The first of them, at most [`FREED_MAX`].
 */
first: Array<FreedFile>, };

/**
 * A file of which something was kept.
 */
export type FreedFile = { 
/**
 * The repo that it was first read in; empty where that is not known any more.
 */
repo: string, 
/**
 * Its path there.
 */
path: string, 
/**
 * Bytes that it takes on the disk.
 */
bytes: number, };

/**
 * Asks for the Hub folder.
 */
export type GetFolder = Record<symbol, never>;

/**
 * Asks for a repo's README.
 */
export type GetReadme = { 
/**
 * As people type it.
 */
repo: string, 
/**
 * Branch, tag, commit or `refs/pr/N`.
 */
revision: string | null, };

/**
 * Asks for the settings.
 */
export type GetSettings = Record<symbol, never>;

/**
 * Asks for the figures of this moment.
 */
export type GetStats = Record<symbol, never>;

/**
 * A client introduces itself.
 */
export type Hello = { 
/**
 * Who connects, for the log: `weightless 0.1.0`.
 */
client: string, 
/**
 * The oldest protocol it speaks.
 */
protocol_oldest: number, 
/**
 * The newest protocol it speaks.
 */
protocol_newest: number, };

/**
 * A process that keeps a mount busy.
 */
export type Holder = { 
/**
 * Its process id.
 */
pid: number, 
/**
 * Its name, as the system lists it.
 */
program: string, 
/**
 * What it holds: an open or mapped file, or the folder it works in.
 */
path: string, };

/**
 * One test.
 */
export type Hop = { 
/**
 * What was tested, for people: `file-system driver`, `name of the Hub`, `the Hub's answer`.
 */
name: string, 
/**
 * How it went.
 */
state: HopState, 
/**
 * What was found, in words; no full stop.
 */
detail: string, 
/**
 * What to do about it; empty if nothing.
 */
advice: string, 
/**
 * Stable name of what is wrong, as [`Fault`](crate::Fault) has it; empty if nothing.
 */
code: string, 
/**
 * How long it took, in milliseconds.
 */
took_ms: number, };

/**
 * How a test went.
 */
export type HopState = "ok" | "warning" | "failed" | "skipped" | "other";

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

/**
 * Asks for the accounts.
 */
export type ListAccounts = Record<symbol, never>;

/**
 * Lists one folder of a repo.
 */
export type ListFolder = { 
/**
 * As people type it.
 */
repo: string, 
/**
 * Branch, tag, commit or `refs/pr/N`.
 */
revision: string | null, 
/**
 * Path of the folder in the repo; empty for its root.
 */
path: string, };

/**
 * What came from this device.
 */
export type Local = { 
/**
 * Bytes of content that came from the local store.
 */
store_bytes: number, 
/**
 * Bytes of content that came from the Hugging Face cache.
 */
hub_cache_bytes: number, 
/**
 * Bytes that the store takes on the disk.
 */
kept_bytes: number, 
/**
 * Blocks that came faster than they could be written, and were not kept.
 */
dropped_blocks: number, };

/**
 * The memory for file content.
 */
export type Memory = { 
/**
 * What may be used.
 */
budget_bytes: number, 
/**
 * What is used, bytes on their way included.
 */
used_bytes: number, 
/**
 * Of this, fetched ahead and not read yet.
 */
ahead_bytes: number, 
/**
 * Of this, read already and kept for a second look.
 */
behind_bytes: number, 
/**
 * Of this, on its way.
 */
in_flight_bytes: number, };

/**
 * What a mount is doing.
 */
export type MountState = "starting" | "ready" | "failed" | "stopping" | "silent" | "dead" | "other";

/**
 * One mount's figures.
 */
export type MountStats = { 
/**
 * The mount point.
 */
dir: string, 
/**
 * What went through.
 */
traffic: Traffic, 
/**
 * Files open now.
 */
open_files: number, 
/**
 * What its reads wait for, where they do.
 */
waiting?: Waiting | null, };

/**
 * One mount.
 */
export type MountStatus = { 
/**
 * `org/name`, `datasets/org/name`, `spaces/org/name`.
 */
repo: string, 
/**
 * The revision as it was named.
 */
revision: string, 
/**
 * Full sha of the commit that is shown; empty while it is not known.
 */
commit: string, 
/**
 * Full sha of the commit that the revision stands for by now, where that is another one: `mounts.update` moves the mount to it.
 */
update?: string | null, 
/**
 * The folder of the repo that is shown as the root; empty for the whole repo.
 */
subfolder: string, 
/**
 * The Hub it comes from.
 */
endpoint: string, 
/**
 * The account that asks, where one was chosen for this mount.
 */
account?: string | null, 
/**
 * Absolute path of the mount point.
 */
dir: string, 
/**
 * What it is doing.
 */
state: MountState, 
/**
 * The process that serves it; `None` where it is dead or cannot be asked.
 */
pid: number | null, 
/**
 * When it was mounted.
 */
mounted_unix_s: number, 
/**
 * Bytes that programs have read.
 */
bytes_delivered: number, 
/**
 * Bytes of content that came over the network.
 */
bytes_fetched: number, 
/**
 * Bytes of content that came from the local store.
 */
bytes_from_store: number, 
/**
 * Bytes of content that came from the Hugging Face cache.
 */
bytes_from_hub_cache: number, 
/**
 * Files open now.
 */
open_files: number, 
/**
 * Files of the repo known so far.
 */
files: number, 
/**
 * Bytes of these.
 */
size_bytes: number, 
/**
 * Whether the engine mounts it whenever it starts.
 */
at_login: boolean, 
/**
 * Whether it moves to a newer commit of its revision by itself.
 */
follow: boolean, 
/**
 * Whether it is a repo in the Hub folder.
 */
in_folder: boolean, 
/**
 * Whether its network is paused.
 */
is_paused: boolean, 
/**
 * Its share of the memory against other mounts; 1 is usual.
 */
weight: number, 
/**
 * Why it is not there, or why reads fail, where that is so.
 */
fault?: Fault | null, };

/**
 * Files can be read.
 */
export type Mounted = { 
/**
 * The mount.
 */
mount: MountStatus, 
/**
 * Whether it was there before.
 */
is_old: boolean, 
/**
 * What else there is to say, a sentence each.
 */
notes: Array<string>, };

/**
 * Requests and what they met.
 */
export type Network = { 
/**
 * Content requests so far.
 */
requests: number, 
/**
 * Of these, tried again after a fault.
 */
retries: number, 
/**
 * Fetches under way.
 */
in_flight: number, 
/**
 * What the link was seen to carry, bytes a second.
 */
link_rate: number | null, 
/**
 * Reads so far.
 */
reads: number, 
/**
 * Of these, answered from memory.
 */
memory_hits: number, 
/**
 * Reads that wait now.
 */
waiting_reads: number, };

/**
 * Pauses all network, or goes on. Meanwhile nothing is asked of any Hub: what needs it (content, folders that were not listed,
 * new mounts, searches) fails at once with `paused`.
 */
export type Pause = { 
/**
 * Whether to pause.
 */
paused: boolean, };

/**
 * A setting that cannot be, or is not known.
 */
export type Problem = { 
/**
 * Its name.
 */
setting: string, 
/**
 * What is wrong with it, in words; no full stop.
 */
sentence: string, };

/**
 * A repo's README.
 */
export type Readme = { 
/**
 * Markdown, cut at 128 KiB; `None` if there is none.
 */
markdown: string | null, };

/**
 * Forgets an account and its token.
 */
export type RemoveAccount = { 
/**
 * Name on the Hub.
 */
name: string, };

/**
 * What a repo is.
 */
export type RepoDescription = { 
/**
 * Under its name of today.
 */
repo: string, 
/**
 * What it holds.
 */
kind: RepoKind, 
/**
 * The revision that was asked for.
 */
revision: string, 
/**
 * Full sha of its commit.
 */
commit: string, 
/**
 * When that was made, in seconds since 1970; 0 where the Hub does not say.
 */
modified_unix_s: number, 
/**
 * The folder that a pasted link named; empty for the whole repo.
 */
subfolder: string, 
/**
 * Files, as far as they were counted.
 */
files: number, 
/**
 * Bytes of these.
 */
bytes: number, 
/**
 * Whether all files were counted; a huge repo is not.
 */
is_complete: boolean, 
/**
 * Whether a licence must be accepted first.
 */
gated: boolean, 
/**
 * Its page, for a browser.
 */
page: string, 
/**
 * Branches, `main` first.
 */
branches: Array<string>, 
/**
 * Tags.
 */
tags: Array<string>, 
/**
 * Where `mounts.add` would put it without a folder named.
 */
default_dir: string, };

/**
 * A repo of a search.
 */
export type RepoHit = { 
/**
 * `org/name`, `datasets/org/name`, `spaces/org/name`: what `mounts.add` takes.
 */
repo: string, 
/**
 * What it holds.
 */
kind: RepoKind, 
/**
 * Downloads of the last 30 days.
 */
downloads: number | null, 
/**
 * Likes.
 */
likes: number | null, 
/**
 * Licence by its tag: `apache-2.0`.
 */
licence: string | null, 
/**
 * Whether a licence must be accepted first.
 */
gated: boolean, 
/**
 * Whether only some accounts see it.
 */
private: boolean, 
/**
 * Last change, in seconds since 1970.
 */
modified_unix_s: number | null, };

/**
 * What a repo holds.
 */
export type RepoKind = "model" | "dataset" | "space";

/**
 * Searches repos by name.
 */
export type Search = { 
/**
 * Words of the name; empty for what is popular.
 */
words: string, 
/**
 * What is searched.
 */
kind: RepoKind, 
/**
 * Only repos of this account or organisation.
 */
author: string | null, 
/**
 * Results wanted, at most 100; 20 without.
 */
limit: number | null, };

/**
 * Turns the Hub folder on, moves it, or turns it off. On, it comes back whenever the engine starts.
 */
export type SetFolder = { 
/**
 * Whether it is to be there.
 */
on: boolean, 
/**
 * Absolute path of the mount point; where it is, or else the folder for mounts, without.
 */
dir: string | null, 
/**
 * The Hub; the one of the settings without.
 */
endpoint: string | null, 
/**
 * The account that asks; the default one without.
 */
account: string | null, 
/**
 * Absolute path of a file with the token, instead of an account.
 */
token_file: string | null, 
/**
 * A token for the folder alone, instead of an account: what `HF_TOKEN` of the client holds. Kept in memory only.
 */
token: string | null, 
/**
 * What to do if files are open in it and it is to go.
 */
manner: UnmountManner, };

/**
 * Changes a mount that is there; what is absent stays.
 */
export type SetMount = { 
/**
 * The mount point.
 */
dir: string, 
/**
 * Whether the engine mounts it whenever it starts.
 */
at_login: boolean | null, 
/**
 * Whether it moves to a newer commit of its revision by itself. A repo in the Hub folder does so anyway, once nobody has used it
 * for a while.
 */
follow: boolean | null, 
/**
 * Whether its network is paused: reads that need it then fail at once.
 */
paused: boolean | null, 
/**
 * Its share of the memory against other mounts, 1 to [`WEIGHT_MAX`].
 */
weight: number | null, };

/**
 * Changes some settings, all of them or none.
 */
export type SetSettings = { 
/**
 * New values by name; `null` goes back to the default.
 */
changes: { [key in string]: JsonValue }, };

/**
 * Every setting. `None` is the default, which [`SettingsReply::defaults`] names.
 */
export type Settings = { 
/**
 * Memory for file content, in MiB: read-ahead, blocks kept, bytes on their way. Takes effect at once. Default: a quarter
 * of the RAM, at most 1024.
 */
read_ahead_mb: number | null, 
/**
 * Most that file content takes of the network, in KiB a second (5120 is 5 MiB a second), at least 512. Takes effect at once. Default: no
 * cap.
 */
bandwidth_cap_kb: number | null, 
/**
 * How long a connection may be silent before it is tried again, in milliseconds. Takes effect at once. Default: 30000.
 */
stall_timeout_ms: number | null, 
/**
 * Threads that answer the kernel for each mount. Holds for mounts made from then on. Default: one a core, 2 to 4.
 */
event_loops: number | null, 
/**
 * How often the Hub is asked whether a branch or tag that is mounted has a newer commit, in seconds, while the mount is used;
 * 0 is never. Takes effect at once. Default: 600.
 */
refresh_s: number | null, 
/**
 * Address of the Hub for mounts made from then on. Default: `HF_ENDPOINT`, else the Hub at huggingface.co.
 */
endpoint: string | null, 
/**
 * Proxy for everything: `http://`, `https://` or `socks5://` host and port. Default: what the environment says
 * (`HTTPS_PROXY`, `NO_PROXY`, …).
 */
proxy: string | null, 
/**
 * A PEM file of further certificate authorities, beside those of the system.
 */
ca_file: string | null, 
/**
 * The folder in which mounts land that name none. Default: `~/Weightless`.
 */
mount_folder: string | null, 
/**
 * What the log says: `error`, `warn`, `info`, `debug`. Takes effect at once. Default: `info`.
 */
log_level: string | null, 
/**
 * What was read is kept on this device, up to so many GiB; 0 keeps nothing, and removes what is kept. Takes effect at once.
 * Default: 50.
 */
store_max_gb: number | null, 
/**
 * GiB that stay free on the disk, whatever `store_max_gb` allows. Takes effect at once. Default: 10.
 */
store_keep_free_gb: number | null, 
/**
 * A port of the loopback address that answers with figures for Prometheus. Default: none.
 */
metrics_port: number | null, };

/**
 * The settings, and what is to know about them.
 */
export type SettingsReply = { 
/**
 * As they are in the file, and as the environment overrides them.
 */
settings: Settings, 
/**
 * What stands for a value that is absent, on this machine.
 */
defaults: Settings, 
/**
 * Names of settings that the environment decides; changing them in the file has no effect until it does not.
 */
overridden: Array<string>, 
/**
 * The file.
 */
path: string, 
/**
 * Memory of this machine, or of the container: what `read_ahead_mb` is a part of.
 */
ram_bytes: number, 
/**
 * What in the file is not understood; kept as it is.
 */
problems: Array<Problem>, };

/**
 * The figures of a moment.
 */
export type Stats = { 
/**
 * When, in milliseconds since 1970.
 */
at_unix_ms: number, 
/**
 * All mounts together.
 */
total: Traffic, 
/**
 * The memory for file content.
 */
memory: Memory, 
/**
 * Requests and what they met.
 */
network: Network, 
/**
 * What came from this device instead.
 */
local: Local, 
/**
 * Each mount, in the order of `status`.
 */
mounts: Array<MountStats>, 
/**
 * Each open file, at most [`FILES_MAX`], the busiest first.
 */
files: Array<FileStats>, };

/**
 * Asks what is mounted.
 */
export type Status = Record<symbol, never>;

/**
 * What is mounted, by whom.
 */
export type StatusReply = { 
/**
 * The engine that answers.
 */
engine: EngineStatus, 
/**
 * The Hub folder, if it is on.
 */
folder?: FolderStatus | null, 
/**
 * Its mounts, in the order in which they were made; repos in use in the Hub folder are among them.
 */
mounts: Array<MountStatus>, };

/**
 * Ends the engine: unmounts everything, then leaves.
 */
export type Stop = { 
/**
 * Also if files are open; else it is refused with `mount_point_busy`.
 */
force: boolean, 
/**
 * Whether the next engine mounts again what was mounted: a restart.
 */
keep_mounts: boolean, };

/**
 * What is kept on this device of what was read.
 */
export type StoreStatus = { 
/**
 * Its folder.
 */
dir: string, 
/**
 * Bytes that it takes on the disk.
 */
used_bytes: number, 
/**
 * Bytes that it may take.
 */
max_bytes: number, 
/**
 * Bytes that it leaves free on the disk.
 */
keep_free_bytes: number, 
/**
 * Why nothing is kept at the moment, where that is so.
 */
fault: Fault | null, };

/**
 * Starts the stream on this connection, or changes what it carries. Requests go on as before.
 */
export type Subscribe = { 
/**
 * Milliseconds between two `stats` events, at least [`STATS_MS_MIN`]; none without.
 */
stats_ms: number | null, };

/**
 * The stream runs.
 */
export type Subscribed = Record<symbol, never>;

/**
 * Where a token lies.
 */
export type TokenSource = "keychain" | "environment" | "file" | "other";

/**
 * Bytes that went through, and how fast.
 */
export type Traffic = { 
/**
 * Bytes that programs have read.
 */
delivered_bytes: number, 
/**
 * Bytes of content that came over the network.
 */
fetched_bytes: number, 
/**
 * Delivered over the last second.
 */
delivered_rate_1s: number, 
/**
 * Delivered over the last ten seconds.
 */
delivered_rate_10s: number, 
/**
 * Fetched over the last second.
 */
fetched_rate_1s: number, 
/**
 * Fetched over the last ten seconds.
 */
fetched_rate_10s: number, };

/**
 * Unmounts one mount of the engine, and forgets that it was wanted at login. A repo in the Hub folder is let go of until its name is
 * used again; the Hub folder itself is turned off.
 */
export type Unmount = { 
/**
 * The mount point, as [`MountStatus::dir`] gives it.
 */
dir: string, 
/**
 * What to do if files are open.
 */
manner: UnmountManner, };

/**
 * What to do with a mount that is in use.
 */
export type UnmountManner = "refuse" | "lazily" | "force";

/**
 * The mount is gone from the tree.
 */
export type Unmounted = { 
/**
 * The mount point.
 */
dir: string, };

/**
 * Moves a mount to the commit that its revision stands for now. New opens and look-ups see it at once and as a whole; files that are
 * open keep their content. A mount that is there already stays as it is.
 */
export type UpdateMount = { 
/**
 * The mount point.
 */
dir: string, };

/**
 * Makes an account the default, now and for mounts that run.
 */
export type UseAccount = { 
/**
 * Name on the Hub.
 */
name: string, };

/**
 * What a read waits for.
 */
export type Waiting = { "reason": "link" } | { "reason": "budget" } | { "reason": "retry", 
/**
 * Seconds until then.
 */
in_s: number, } | { "reason": "hub_limit", 
/**
 * Seconds until then.
 */
in_s: number, } | { "reason": "other" };

/**
 * The answer: what is spoken from now on.
 */
export type Welcome = { 
/**
 * The newest protocol that both speak.
 */
protocol: number, 
/**
 * Product version of the process that answers.
 */
version: string, 
/**
 * Its process id.
 */
pid: number, };

/** Every method: what it takes, what it gives. */
export interface Methods {
  "hello": { params: Hello; reply: Welcome };
  "status": { params: Status; reply: StatusReply };
  "mounts.add": { params: AddMount; reply: Mounted };
  "mounts.remove": { params: Unmount; reply: Unmounted };
  "mounts.set": { params: SetMount; reply: MountStatus };
  "mounts.update": { params: UpdateMount; reply: MountStatus };
  "folder.get": { params: GetFolder; reply: FolderReply };
  "folder.set": { params: SetFolder; reply: FolderReply };
  "pause": { params: Pause; reply: Done };
  "settings.get": { params: GetSettings; reply: SettingsReply };
  "settings.set": { params: SetSettings; reply: SettingsReply };
  "accounts.list": { params: ListAccounts; reply: Accounts };
  "accounts.add": { params: AddAccount; reply: Account };
  "accounts.remove": { params: RemoveAccount; reply: Accounts };
  "accounts.use": { params: UseAccount; reply: Accounts };
  "search": { params: Search; reply: Found };
  "repos.describe": { params: DescribeRepo; reply: RepoDescription };
  "repos.list": { params: ListFolder; reply: Folder };
  "repos.readme": { params: GetReadme; reply: Readme };
  "stats": { params: GetStats; reply: Stats };
  "subscribe": { params: Subscribe; reply: Subscribed };
  "store.free": { params: Free; reply: Freed };
  "doctor": { params: Doctor; reply: Checkup };
  "diagnostics": { params: Diagnose; reply: Diagnostics };
  "stop": { params: Stop; reply: Done };
}
