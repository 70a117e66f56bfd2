//! What `bench` can be asked for.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use weightless_hub_sim::net::Profile;

use super::baseline::Baseline;
use super::pattern::Pattern;

/// Reads through a mount against what the link can carry.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) verb: Option<Verb>,
    #[command(flatten)]
    pub(super) run: Run,
}

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Tells the layers apart: the reader without a mount, the whole way, the mount from memory alone.
    Raw(Run),
    /// Reads a file by the reader alone and prints what that took; what `raw` starts.
    #[command(hide = true)]
    Drive(Drive),
    /// Lists the patterns.
    #[command(alias = "help")]
    List,
    /// Serves the files of the patterns until stopped, so that another tool can be mounted on them; prints the endpoint.
    Serve {
        /// lan, cloud, home, far, thin or rough.
        #[arg(long, default_value = "cloud")]
        profile: Profile,
        /// The Hub's port; any free one by default.
        #[arg(long, default_value_t = 0)]
        port: u16,
        /// Whose files; all by default.
        patterns: Vec<Pattern>,
    },
}

/// One file, to be read from start to end without a mount.
#[derive(clap::Args)]
pub(super) struct Drive {
    #[arg(long)]
    pub(super) endpoint: String,
    #[arg(long)]
    pub(super) read_ahead_mb: u32,
    /// Not by the reader, but by this.
    #[arg(long)]
    pub(super) by: Option<Baseline>,
    pub(super) path: String,
}

#[derive(clap::Args)]
pub(super) struct Run {
    /// The patterns, all by default; `bench list` names them.
    pub(super) patterns: Vec<Pattern>,
    /// lan, cloud, home, far, thin or rough.
    #[arg(long, default_value = "cloud")]
    pub(super) profile: Profile,
    /// The link serves first in, first out, instead of fairly.
    #[arg(long)]
    pub(super) fifo: bool,
    /// Runs of each arm; the median is shown with the range.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) runs: u32,
    /// Memory the mount may use for content, in MiB.
    #[arg(long, default_value_t = 1024)]
    pub(super) read_ahead_mb: u32,
    /// Threads that answer the kernel.
    #[arg(long, default_value_t = 4)]
    pub(super) event_loops: u16,
    /// The mount's stall timeout.
    #[arg(long, default_value_t = 30_000)]
    pub(super) stall_timeout_ms: u32,
    /// Keeps what is read in a local store, which is empty at first; by default nothing is kept.
    #[arg(long)]
    pub(super) store: bool,
    /// The binary under test; by default `weightless` beside this program.
    #[arg(long)]
    pub(super) weightless: Option<PathBuf>,
    /// With patterns that are read without a mount: what the Xet crates offer by themselves beside the reader.
    #[arg(long)]
    pub(super) baselines: bool,
    /// A python with huggingface_hub and hf_xet: whole files are then also fetched by `hf_hub_download`.
    #[arg(long)]
    pub(super) python: Option<PathBuf>,
    /// Reads here instead of mounting: a folder where another tool shows `bench/files` of `bench serve`. One pattern, for
    /// a folder that was read is warm.
    #[arg(long, requires = "control")]
    pub(super) folder: Option<PathBuf>,
    /// The endpoint that `bench serve` printed.
    #[arg(long)]
    pub(super) control: Option<String>,
    /// The process that serves `--folder`, for memory and CPU time.
    #[arg(long)]
    pub(super) pid: Option<u32>,
    /// Fails when a pattern's median reaches a smaller part of the link than this.
    #[arg(long, default_value_t = 0.0)]
    pub(super) floor: f64,
}
