//! `hub-sim`: serves folders, or the demo's repos, as a Hub on loopback until it is stopped.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};
use weightless_hub_sim::{HubSim, RepoDef, RepoKind, demo_repos};

/// A Hugging Face Hub on loopback.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Port on 127.0.0.1; any free one by default.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Serves a folder as a repo: FOLDER=org/name, FOLDER=datasets/org/name or FOLDER=spaces/org/name.
    #[arg(long, value_name = "FOLDER=REPO")]
    dir: Vec<String>,
    /// Serves the demo's repos too; they are served alone where nothing else is given.
    #[arg(long)]
    demo: bool,
    /// A folder with the files of all-MiniLM-L6-v2, for the demo.
    #[arg(long, value_name = "FOLDER")]
    model: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().with_env_filter(tracing_subscriber::EnvFilter::from_default_env()).init();
    let args = Args::parse();
    let mut repos = args.dir.iter().map(|dir| served_dir(dir)).collect::<Result<Vec<_>>>()?;
    if args.demo || repos.is_empty() {
        repos.extend(demo_repos(args.model.as_deref()).context("cannot read the demo's model")?);
    }
    let names: Vec<String> =
        repos.iter().map(|repo| repo.name()).map(|(kind, id)| format!("{}{id}", kind.prefix())).collect();
    let sim = HubSim::builder().port(args.port).repos(repos).start().await.context("cannot start")?;
    println!("{}", sim.endpoint());
    eprintln!("serving {}", names.join(", "));
    eprintln!(
        "HF_ENDPOINT={} HF_TOKEN={} (or {}, who sees less)",
        sim.endpoint(),
        sim.owner_token(),
        sim.reader_token()
    );
    let mut terminated = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot wait for Ctrl-C"),
        _ = terminated.recv() => Ok(()),
    }
}

fn served_dir(argument: &str) -> Result<RepoDef> {
    let Some((folder, repo)) = argument.rsplit_once('=') else { bail!("{argument}: not FOLDER=REPO") };
    let kinds = [RepoKind::Dataset, RepoKind::Space].into_iter();
    let (kind, id) = kinds
        .filter_map(|kind| Some((kind, repo.strip_prefix(kind.prefix())?)))
        .next()
        .unwrap_or((RepoKind::Model, repo));
    RepoDef::new(kind, id).dir(folder).with_context(|| format!("cannot read {folder}"))
}
