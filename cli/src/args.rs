//! What can be typed. Parses and bounds values; asks nothing and does nothing.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  weightless mount Qwen/Qwen2.5-0.5B ~/qwen         a model, as a folder
  weightless mount datasets/squad                   a dataset, at ~/Weightless/datasets/squad
  weightless mount https://huggingface.co/gpt2      whatever a browser shows
  weightless status                                 what is mounted
  weightless unmount ~/qwen                         gone again

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
    /// Show a repo as a folder
    Mount(MountArgs),
    /// Take a folder away again
    #[command(visible_alias = "umount")]
    Unmount(UnmountArgs),
    /// Show what is mounted
    Status(StatusArgs),
    /// List files of a repo without mounting it
    Ls(LsArgs),
    /// Show what a repo is: commit, size, number of files
    Info(InfoArgs),
    /// Try it without network and account: a Hub of its own, with a small model
    #[cfg(feature = "demo")]
    Demo(DemoArgs),
    /// Host one mount in the background; started by `mount`
    #[command(hide = true)]
    Host(HostArgs),
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
#[derive(Debug, Clone, Args)]
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

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  weightless mount Qwen/Qwen2.5-0.5B                        at ~/Weightless/Qwen/Qwen2.5-0.5B
  weightless mount Qwen/Qwen2.5-0.5B ~/qwen                 at ~/qwen
  weightless mount org/name --revision v1.0 --subfolder onnx
  path=$(weightless mount org/name)                         stdout is the absolute path alone

The mount lives on after the command; `weightless unmount` ends it. With --foreground it lives until Ctrl-C.")]
pub(crate) struct MountArgs {
    #[command(flatten)]
    pub(crate) what: RepoArgs,
    /// Where; an empty or absent folder [default: `~/Weightless/ORG/NAME`]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Show this folder of the repo only
    #[arg(long, value_name = "PATH")]
    pub(crate) subfolder: Option<String>,
    /// Stay in the terminal and unmount on Ctrl-C
    #[arg(long, short)]
    pub(crate) foreground: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
    #[command(flatten)]
    pub(crate) reader: ReaderArgs,
}

#[derive(Debug, Args)]
#[command(override_usage = "weightless unmount [--lazy] <DIR|REPO|--all>")]
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
    #[arg(long, short)]
    pub(crate) lazy: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
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
pub(crate) struct HostArgs {
    #[command(flatten)]
    pub(crate) mount: MountArgs,
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
            "unmount",
            "unmount /d --all",
            "mont a/b",
        ] {
            let words = std::iter::once("weightless").chain(line.split_whitespace());
            assert!(Cli::try_parse_from(words).is_err(), "{line}");
        }
    }
}
