//! `status --watch`: a table that stays and moves, from the engine's stream of events. Draws on a terminal; elsewhere each
//! picture is a block of lines, so that it can be piped and read.

use super::{faults, notes, state, title};
use crate::exit::Outcome;
use crate::output;
use crate::processes;
use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _, stdout};
use std::time::{Duration, Instant};
use weightless_control::stats::{Stats, Waiting};
use weightless_control::{ClientError, Event, MountStatus, Status, StatusReply, Subscribe};

/// Between two pictures.
const PICTURE_MS: u64 = 500;
/// Between two questions for what no event tells: that something is over.
const ASK_MS: u64 = 5_000;
/// Rates that a sparkline shows, one a picture.
const PAST: usize = 24;
/// Files that are listed, the busiest.
const FILES: usize = 8;
/// The engine sends figures all the time; silence this long means that it is stuck.
const SILENCE_MS_MAX: u64 = 10_000;

pub(super) fn run() -> Outcome {
    let limit = Duration::from_millis(SILENCE_MS_MAX);
    let mut client = processes::engine(limit)?;
    client.call(&Subscribe { stats_ms: Some(PICTURE_MS) }).map_err(ClientError::into_fault)?;
    let StatusReply { mut engine, mut mounts, .. } = client.call(&Status {}).map_err(ClientError::into_fault)?;
    let mut past: HashMap<String, VecDeque<u64>> = HashMap::new();
    let mut height = 0;
    let mut last_asked = Instant::now();
    loop {
        client.set_limit(limit);
        let message = match client.next_event() {
            Ok(message) => message,
            Err(error) => return Err(error.into_fault()),
        };
        // What is wrong with everything comes in words and goes without any.
        let is_stale = message.lost > 0 || matches!(message.event, Event::Notice { .. } | Event::Settings { .. });
        if is_stale || last_asked.elapsed() > Duration::from_millis(ASK_MS) {
            StatusReply { engine, mounts, .. } = client.call(&Status {}).map_err(ClientError::into_fault)?;
            last_asked = Instant::now();
        }
        match message.event {
            Event::Mount { mount } => match mounts.iter_mut().find(|known| known.dir == mount.dir) {
                Some(known) => *known = *mount,
                None => mounts.push(*mount),
            },
            Event::MountGone { dir } => mounts.retain(|mount| mount.dir != dir),
            Event::Paused { paused } => engine.is_paused = paused,
            Event::Stats { stats } => {
                remember(&mut past, &stats);
                let mut lines = picture(&mounts, &stats, &past);
                lines.extend(notes(&engine));
                if !draw(&lines, &mut height) {
                    return Ok(());
                }
            }
            _ => {}
        }
    }
}

fn remember(past: &mut HashMap<String, VecDeque<u64>>, stats: &Stats) {
    past.retain(|dir, _| stats.mounts.iter().any(|mount| mount.dir == *dir));
    for mount in &stats.mounts {
        let rates = past.entry(mount.dir.clone()).or_default();
        rates.push_back(mount.traffic.delivered_rate_1s);
        if rates.len() > PAST {
            rates.pop_front();
        }
    }
}

fn picture(mounts: &[MountStatus], stats: &Stats, past: &HashMap<String, VecDeque<u64>>) -> Vec<String> {
    let memory = &stats.memory;
    let mut lines = vec![format!(
        "read {}/s   fetched {}/s   memory {} of {}   in flight {}",
        output::size(stats.total.delivered_rate_1s),
        output::size(stats.total.fetched_rate_1s),
        output::size(memory.used_bytes),
        output::size(memory.budget_bytes),
        output::size(memory.in_flight_bytes),
    )];
    let mut rows = vec![["REPO", "DIR", "STATE", "OPEN", "READ/s", "", "WAITS FOR"].map(String::from).to_vec()];
    for mount in mounts {
        let figures = stats.mounts.iter().find(|figures| figures.dir == mount.dir);
        rows.push(vec![
            title(mount),
            output::plain(&mount.dir),
            state(mount).to_owned(),
            figures.map_or(0, |figures| figures.open_files).to_string(),
            output::size(figures.map_or(0, |figures| figures.traffic.delivered_rate_1s)),
            past.get(&mount.dir).map(sparkline).unwrap_or_default(),
            figures.and_then(|figures| figures.waiting).map(waiting).unwrap_or_default(),
        ]);
    }
    if mounts.is_empty() {
        lines.push("Nothing is mounted.".to_owned());
    } else {
        lines.push(String::new());
        lines.extend(output::table(&rows, &[3, 4]));
        lines.extend(faults(mounts));
    }
    if !stats.files.is_empty() {
        lines.push(String::new());
        let mut rows = vec![["FILE", "PROGRAM", "READ/s", "READ", "WAITS FOR"].map(String::from).to_vec()];
        rows.extend(stats.files.iter().take(FILES).map(|file| {
            let program = match (&file.program, file.pid) {
                (Some(program), Some(pid)) => format!("{program} ({pid})"),
                (None, Some(pid)) => pid.to_string(),
                _ => String::new(),
            };
            vec![
                output::plain(&file.path),
                output::plain(&program),
                output::size(file.traffic.delivered_rate_1s),
                output::size(file.traffic.delivered_bytes),
                file.waiting.map(waiting).unwrap_or_default(),
            ]
        }));
        lines.extend(output::table(&rows, &[2, 3]));
    }
    lines
}

fn waiting(waiting: Waiting) -> String {
    match waiting {
        Waiting::Link => "the link".to_owned(),
        Waiting::Budget => "memory".to_owned(),
        Waiting::Retry { in_s } => format!("another attempt in {in_s} s"),
        Waiting::HubLimit { in_s } => format!("the Hub's limit, {in_s} s"),
        Waiting::Other => "something".to_owned(),
    }
}

/// Eight heights, the highest rate being full.
fn sparkline(rates: &VecDeque<u64>) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let top = rates.iter().copied().max().unwrap_or(0).max(1);
    rates.iter().map(|rate| HEIGHTS[(rate.saturating_mul(7) / top) as usize]).collect()
}

/// Draws over the last picture on a terminal. `false`: nobody looks any more.
fn draw(lines: &[String], height: &mut usize) -> bool {
    let mut text = String::new();
    if stdout().is_terminal() {
        if *height > 0 {
            // Up to the first line of the last picture, and away with it.
            let _ = write!(text, "\x1b[{height}A\x1b[J");
        }
        *height = lines.len();
        let width = terminal_width();
        for line in lines {
            // A line that wraps would be two.
            text.extend(line.chars().take(width));
            text.push('\n');
        }
    } else {
        text = lines.join("\n") + "\n\n";
    }
    let mut out = stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Columns of the terminal; 80 where it does not say.
fn terminal_width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::MountState;
    use weightless_control::stats::{MountStats, Traffic};

    #[test]
    fn a_sparkline_shows_the_past_against_its_highest_rate() {
        assert_eq!(sparkline(&[0, 50, 100].into()), "▁▄█");
        assert_eq!(sparkline(&[0, 0].into()), "▁▁");
        assert_eq!(sparkline(&VecDeque::new()), "");
        assert_eq!(sparkline(&[u64::MAX].into()).chars().count(), 1);
    }

    #[test]
    fn the_picture_names_what_is_mounted_and_what_waits() {
        let mount = MountStatus::new("org/name", "main", "/m", MountState::Ready);
        let traffic = Traffic { delivered_rate_1s: 3_000_000, ..Traffic::default() };
        let mut stats = Stats::default();
        stats.mounts.push(MountStats {
            dir: "/m".into(),
            traffic,
            open_files: 2,
            waiting: Some(Waiting::Retry { in_s: 4 }),
        });
        let mut past = HashMap::new();
        remember(&mut past, &stats);
        let text = picture(&[mount], &stats, &past).join("\n");
        for part in ["org/name@main", "/m", "ready", "3.00 MB", "█", "another attempt in 4 s"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(picture(&[], &Stats::default(), &past).join("\n").contains("Nothing is mounted."));
    }
}
