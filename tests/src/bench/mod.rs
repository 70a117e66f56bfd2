//! The benchmarks: patterns of model loaders, run against a Hub behind a modelled link, compared with what that link
//! could do. Never shares a process with what it measures: Hub, mount and reader each have their own.

mod args;
mod arm;
mod baseline;
mod drive;
mod hub;
mod mixed;
mod mount;
mod pattern;
mod process;
mod reader;
mod sample;
mod table;
mod tensors;
mod watch;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use args::{Args, Run, Verb};
use arm::Arm;
use hub::Hub;
use pattern::Pattern;
use sample::Sample;
use table::Table;

/// Runs what the arguments ask for.
pub fn main() -> Result<()> {
    let args = Args::parse();
    match args.verb {
        Some(Verb::Serve { profile, port, patterns }) => hub::serve(profile, port, &patterns),
        Some(Verb::List) => {
            Pattern::ALL.iter().for_each(|pattern| println!("{:<12} {}", pattern.name(), pattern.about()));
            Ok(())
        }
        Some(Verb::Raw(mut run)) => {
            run.patterns = vec![Pattern::Driven(1024), Pattern::WholeMib(1024), Pattern::Held(HELD_FILES)];
            measure(&run)
        }
        Some(Verb::Drive(order)) => drive::run(&order),
        None => measure(&args.run),
    }
}

/// Files of `bench raw` that are read from memory: as many as fit into the default memory with room to spare.
const HELD_FILES: usize = 8;

fn measure(run: &Run) -> Result<()> {
    let patterns = if run.patterns.is_empty() { Pattern::ALL.to_vec() } else { run.patterns.clone() };
    let mut table = Table::new(run.profile, run.fifo);
    for pattern in patterns {
        // A Hub for each pattern: it then holds no more than that pattern's files.
        let hub = Hub::start(run.profile, run.fifo, pattern)?;
        let arms = Arm::of(run, pattern);
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); arms.len()];
        // Arms alternate within each round, so that what drifts on the machine meets all of them.
        for _ in 0..run.runs {
            for (arm, samples) in arms.iter().zip(&mut samples) {
                let sample = arm.measure(&hub, run, pattern);
                samples.push(sample.with_context(|| format!("{} by {}", pattern.name(), arm.name()))?);
            }
        }
        for (arm, samples) in arms.iter().zip(samples) {
            table.row(pattern, arm, &hub, &samples);
        }
    }
    let slowest = table.worst_ratio();
    ensure!(
        slowest >= run.floor,
        "a pattern reached {:.0} % of the link, less than the floor of {:.0} %",
        slowest * 100.0,
        run.floor * 100.0
    );
    Ok(())
}
