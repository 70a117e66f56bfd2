//! What can be typed. Parses and bounds values; asks nothing and does nothing.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  weightless mount Qwen/Qwen2.5-0.5B ~/qwen         a model, as a folder
  weightless mount datasets/squad                   a dataset, at ~/Weightless/datasets/squad
  weightless mount https://huggingface.co/gpt2      whatever a browser shows
  weightless folder on                              every repo of the Hub, under ~/Weightless
  weightless status --watch                         what is mounted, live
  weightless unmount ~/qwen                         gone again
  weightless doctor                                 what is wrong, where something is

Exit codes:
  0 done             3 no such repo, revision, file or mount    5 network or Hub
  1 failed           4 not allowed: login, token, licence       6 mount point or driver
  2 wrong usage

WEIGHTLESS_LOG=debug says more, NO_COLOR=1 takes the colours away.";

/// Hugging Face repos as folders, without downloading them
#[derive(Debug, Parser)]
#[command(name = "weightless", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(propagate_version = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show repos as folders
    Mount(MountArgs),
    /// Take folders away again
    #[command(visible_alias = "umount")]
    Unmount(UnmountArgs),
    /// Move mounts of branches to their newest commits
    Update(UpdateArgs),
    /// Show what is mounted, with --watch live
    Status(StatusArgs),
    /// The Hub folder: every repo there under its name, without mounting it
    Folder(FolderArgs),
    /// Open a mount in the file manager
    Open(OpenArgs),
    /// Search the Hub for repos
    Search(SearchArgs),
    /// List files of a repo without mounting it
    Ls(LsArgs),
    /// Show what a repo is: commit, size, number of files
    Info(InfoArgs),
    /// Show the commits of a repo
    Log(LogArgs),
    /// Free what is kept on this device of what was read
    Free(FreeArgs),
    /// Pause all network, or of one mount
    Pause(PauseArgs),
    /// Go on after a pause
    Resume(PauseArgs),
    /// Log in with a token, which goes into the keychain of the system
    Login(LoginArgs),
    /// Forget an account and its token
    Logout(LogoutArgs),
    /// Show accounts, or choose the one that asks
    Accounts(AccountsArgs),
    /// Show or change settings
    Config(ConfigArgs),
    /// Test the way to the Hub, hop by hop
    Doctor(DoctorArgs),
    /// The process that owns the mounts: its state, its log, stop, restart
    Engine(EngineArgs),
    /// Try it without network and account: a Hub of its own, with a small model
    #[cfg(feature = "demo")]
    Demo(DemoArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    Man(ManArgs),
}

/// How the Hub is reached and who asks.
#[derive(Debug, Clone, Args)]
pub(crate) struct HubArgs {
    /// Address of the Hub; without it HF_ENDPOINT, then the Hub at huggingface.co
    #[arg(long, value_name = "URL", env = "WEIGHTLESS_ENDPOINT", hide_env_values = true)]
    pub(crate) endpoint: Option<String>,
    /// File that holds the token; without it HF_TOKEN, HF_TOKEN_PATH, then the file of `hf auth login`
    #[arg(long, value_name = "FILE", env = "WEIGHTLESS_TOKEN_FILE", hide_env_values = true)]
    pub(crate) token_file: Option<PathBuf>,
}

/// What of a repo is meant.
#[derive(Debug, Clone, Args)]
pub(crate) struct RepoArgs {
    /// org/name, datasets/org/name, spaces/org/name, hf://… or a link of the Hub
    #[arg(value_name = "REPO")]
    pub(crate) repo: String,
    /// Branch, tag, commit or refs/pr/N [default: main]
    #[arg(long, short, value_name = "REV")]
    pub(crate) revision: Option<String>,
}

/// What a mount may use.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReaderArgs {
    /// Memory for file content, in MiB [default: a quarter of the RAM, at most 1024]
    #[arg(long, value_name = "MIB", env = "WEIGHTLESS_READ_AHEAD_MB", hide_env_values = true, value_parser = clap::value_parser!(u32).range(4..=1 << 20))]
    pub(crate) read_ahead_mb: Option<u32>,
    /// Threads that answer the kernel [default: one a core, 2 to 4]
    #[arg(long, value_name = "N", env = "WEIGHTLESS_EVENT_LOOPS", hide_env_values = true, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) event_loops: Option<u16>,
    /// How long a connection may be silent before it is tried again, in ms [default: 30000]
    #[arg(long, value_name = "MS", env = "WEIGHTLESS_STALL_TIMEOUT_MS", hide_env_values = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) stall_timeout_ms: Option<u32>,
}

impl ReaderArgs {
    /// The values that were given, by the environment variables that say the same.
    pub(crate) fn overrides(&self) -> Vec<(&'static str, String)> {
        let given = [
            ("WEIGHTLESS_READ_AHEAD_MB", self.read_ahead_mb.map(|n| n.to_string())),
            ("WEIGHTLESS_EVENT_LOOPS", self.event_loops.map(|n| n.to_string())),
            ("WEIGHTLESS_STALL_TIMEOUT_MS", self.stall_timeout_ms.map(|n| n.to_string())),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

#[derive(Debug, Clone, Args)]
#[command(
    override_usage = "weightless mount [OPTIONS] <REPO> [DIR]\n       weightless mount [OPTIONS] --each <REPO>..."
)]
#[command(after_help = "\
Examples:
  weightless mount Qwen/Qwen2.5-0.5B                        at ~/Weightless/Qwen/Qwen2.5-0.5B
  weightless mount Qwen/Qwen2.5-0.5B ~/qwen                 at ~/qwen
  weightless mount org/name --revision v1.0 --subfolder onnx
  weightless mount --each org/a org/b datasets/org/c        several, each at its place
  path=$(weightless mount org/name)                         stdout is the absolute path alone

While the Hub folder is on at ~/Weightless, a repo mounted without DIR is the one that is there under its name.

The mount lives on after the command; `weightless unmount` ends it. With --foreground it lives until Ctrl-C, in a process of
its own: the options about memory, threads and patience hold for that one. For all other mounts they are settings:
weightless config set read_ahead_mb 512")]
pub(crate) struct MountArgs {
    #[command(flatten)]
    pub(crate) what: RepoArgs,
    /// Where; an empty or absent folder [default: `~/Weightless/ORG/NAME`]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// All names are repos, each mounted at its place
    #[arg(long, conflicts_with_all = ["foreground", "revision", "subfolder"])]
    pub(crate) each: bool,
    /// Further repos, with --each
    #[arg(value_name = "REPO", requires = "each")]
    pub(crate) more: Vec<String>,
    /// Show this folder of the repo only
    #[arg(long, value_name = "PATH")]
    pub(crate) subfolder: Option<String>,
    /// Mount it again whenever the engine starts
    #[arg(long, conflicts_with = "foreground")]
    pub(crate) at_login: bool,
    /// Show each newer commit of the branch by itself; files that are open keep their content
    #[arg(long)]
    pub(crate) follow: bool,
    /// The account that asks, of those that `weightless accounts` shows
    #[arg(long, value_name = "NAME", conflicts_with = "token_file")]
    pub(crate) account: Option<String>,
    /// Stay in the terminal and unmount on Ctrl-C
    #[arg(long, short)]
    pub(crate) foreground: bool,
    /// Read everything from the network and keep nothing on this device; for all other mounts it is the setting store_max_gb
    #[arg(long, requires = "foreground")]
    pub(crate) no_store: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
    #[command(flatten)]
    pub(crate) reader: ReaderArgs,
}

#[derive(Debug, Args)]
#[command(override_usage = "weightless unmount [--lazy | --force] <DIR|REPO|--all>")]
#[command(after_help = "\
Examples:
  weightless unmount ~/qwen
  weightless unmount Qwen/Qwen2.5-0.5B      every mount of this repo
  weightless unmount --all")]
pub(crate) struct UnmountArgs {
    /// A mounted folder, or a repo
    #[arg(value_name = "DIR|REPO", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) target: Option<String>,
    /// Everything that is mounted
    #[arg(long)]
    pub(crate) all: bool,
    /// Also if files are open: they stay readable until they are closed
    #[arg(long, short, conflicts_with = "force")]
    pub(crate) lazy: bool,
    /// Also if files are open: reading them fails from now on
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(override_usage = "weightless folder [on | off | DIR]")]
#[command(after_help = "\
Examples:
  weightless folder on                  at ~/Weightless; comes back whenever the engine starts
  weightless folder ~/hub               at ~/hub
  weightless folder                     where it is, and which names in it led nowhere
  weightless folder off                 gone, and forgotten

In it every repo is there under its name, and is asked for when somebody looks it up:
  ~/Weightless/Qwen/Qwen2.5-0.5B
  ~/Weightless/Qwen/Qwen2.5-0.5B@v1.0           a branch, tag or commit; a slash in it is written %2F
  ~/Weightless/datasets/org/name
  ~/Weightless/spaces/org/name
Listing shows what was mounted or used lately, and asks nobody.")]
pub(crate) struct FolderArgs {
    /// Turn it on, turn it off, or have it at this folder; without, say where it is
    #[arg(value_name = "on|off|DIR")]
    pub(crate) what: Option<String>,
    /// With off, also if files are open: they stay readable until they are closed
    #[arg(long, short, conflicts_with = "force")]
    pub(crate) lazy: bool,
    /// With off, also if files are open: reading them fails from now on
    #[arg(long, short)]
    pub(crate) force: bool,
    /// The account that asks, of those that `weightless accounts` shows
    #[arg(long, value_name = "NAME", conflicts_with = "token_file")]
    pub(crate) account: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weightless update                 every mount that is known to have a newer commit
  weightless update ~/qwen          asks the Hub, and moves if there is one

Names and new opens are those of the newer commit at once; files that are open keep their content.")]
pub(crate) struct UpdateArgs {
    /// A mounted folder, or a repo
    #[arg(value_name = "DIR|REPO")]
    pub(crate) target: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Stay, and show figures as they change, until Ctrl-C
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) watch: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// A mounted folder or a repo; without, the Hub folder or the only mount
    #[arg(value_name = "DIR|REPO")]
    pub(crate) target: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weightless search qwen 0.5b
  weightless search --kind dataset squad
  weightless search --author google --limit 50")]
pub(crate) struct SearchArgs {
    /// Words of the name; without any, what is popular
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// What to search
    #[arg(long, value_enum, default_value_t)]
    pub(crate) kind: Kind,
    /// Only repos of this account or organisation
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// Results at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) limit: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// What a repo holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Kind {
    /// Models
    #[default]
    Model,
    /// Datasets
    Dataset,
    /// Spaces
    Space,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    #[command(flatten)]
    pub(crate) what: RepoArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weightless free --dry-run         what is kept, what was not used for longest first
  weightless free org/name          what was first read in this repo
  weightless free                   everything

Files stay readable: what is needed again comes from the network again.")]
pub(crate) struct FreeArgs {
    /// org/name, datasets/org/name, spaces/org/name; everything without one
    #[arg(value_name = "REPO")]
    pub(crate) repo: Option<String>,
    /// Only show what would be freed
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// A mounted folder or a repo; all network without one
    #[arg(value_name = "DIR|REPO")]
    pub(crate) target: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weightless login                      asks for the token, which is not shown
  weightless login < token.txt          reads it from a file

A token is made on the Hub's page Settings, Access Tokens. Whoever has used `hf auth login` is logged in already.")]
pub(crate) struct LoginArgs {
    /// The Hub that it is for
    #[arg(long, value_name = "URL", env = "WEIGHTLESS_ENDPOINT", hide_env_values = true)]
    pub(crate) endpoint: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// Name on the Hub; the default account without
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AccountsArgs {
    /// Make this account the one that asks, also for mounts that run
    #[arg(long = "use", value_name = "NAME")]
    pub(crate) choose: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weightless config                           all settings, with defaults and what they mean
  weightless config get read_ahead_mb
  weightless config set read_ahead_mb 512     takes effect at once
  weightless config unset read_ahead_mb       back to the default
  weightless config path                      the file, to be edited by hand")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) what: Option<ConfigVerb>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Show one value
    Get {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Change values: name and value by turns
    Set {
        /// Names and values
        #[arg(value_name = "NAME VALUE", required = true, num_args = 2..)]
        pairs: Vec<String>,
    },
    /// Go back to the default
    Unset {
        /// Names
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
    /// Print where the file is
    Path,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The Hub to test; the one of the settings without
    #[arg(long, value_name = "URL", env = "WEIGHTLESS_ENDPOINT", hide_env_values = true)]
    pub(crate) endpoint: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(override_usage = "weightless engine [COMMAND]")]
pub(crate) struct EngineArgs {
    #[command(subcommand)]
    pub(crate) what: Option<EngineVerb>,
    /// Detach from the terminal and report on stdout once ready; how clients start it
    #[arg(long, hide = true)]
    pub(crate) background: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EngineVerb {
    /// Unmount everything and end it
    Stop {
        /// Also if files are open
        #[arg(long)]
        force: bool,
    },
    /// End it and start it again, with the mounts that there were
    Restart {
        /// Also if files are open
        #[arg(long)]
        force: bool,
    },
    /// Print the end of its log
    Log,
    /// Collect what a person who helps wants to know; tokens are taken out
    Diagnostics,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weightless ls Qwen/Qwen2.5-0.5B
  weightless ls datasets/org/name/data --recursive
  weightless ls org/name@v1.0 --json")]
pub(crate) struct LsArgs {
    /// org/name[/path], datasets/org/name[/path], spaces/org/name[/path], hf://… or a link of the Hub
    #[arg(value_name = "REPO[/PATH]")]
    pub(crate) repo: String,
    /// Branch, tag, commit or refs/pr/N [default: main]
    #[arg(long, value_name = "REV")]
    pub(crate) revision: Option<String>,
    /// Also what is in folders
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) what: RepoArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

#[cfg(feature = "demo")]
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where; an empty or absent folder [default: a temporary one]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Folder with a model to serve; without it tensors are made up
    #[arg(long, value_name = "FOLDER", env = "WEIGHTLESS_DEMO_MODEL", hide_env_values = true)]
    pub(crate) model_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weightless completions bash > ~/.local/share/bash-completion/completions/weightless
  weightless completions zsh > ~/.zfunc/_weightless
  weightless completions fish > ~/.config/fish/completions/weightless.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// An existing folder, such as ~/.local/share/man/man1
    #[arg(value_name = "FOLDER")]
    pub(crate) dir: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_holds() {
        Cli::command().debug_assert();
    }

    #[test]
    fn values_that_cannot_work_are_refused() {
        for line in [
            "mount",
            "mount a/b /d --stall-timeout-ms 0",
            "mount a/b /d --event-loops 0",
            "mount a/b /d --read-ahead-mb 1",
            "mount a/b /d /e",
            "mount --each a/b c/d --revision v1",
            "config set read_ahead_mb",
            "unmount /d --lazy --force",
            "folder on off",
            "folder off --lazy --force",
            "unmount",
            "unmount /d --all",
            "mont a/b",
        ] {
            let words = std::iter::once("weightless").chain(line.split_whitespace());
            assert!(Cli::try_parse_from(words).is_err(), "{line}");
        }
    }
}
