//! The table that `bench` prints: medians with their ranges. Never measures.

use weightless_hub_sim::net::{Link, Profile};

use super::arm::Arm;
use super::hub::Hub;
use super::pattern::Pattern;
use super::sample::Sample;
use super::watch::Rss;

pub(super) struct Table {
    worst: f64,
}

const HEAD: &str = "pattern      arm              MB/s median [range]      of link  ideal×  TTFB RTT  requests (data)  \
                    fetched/read  peak MiB  CPU s/GiB";

impl Table {
    pub(super) fn new(profile: Profile, fifo: bool) -> Self {
        println!("link: {}, {}\n{HEAD}", profile.name(), if fifo { "first in, first out" } else { "shared fairly" });
        Self { worst: f64::INFINITY }
    }

    /// The smallest part of the link that a median has reached; infinite where the link has no rate.
    pub(super) fn worst_ratio(&self) -> f64 {
        self.worst
    }

    pub(super) fn row(&mut self, pattern: Pattern, arm: &Arm, hub: &Hub, samples: &[Sample]) {
        let link = &hub.link;
        let speed = Spread::of(samples, |sample| Some(sample.bytes_per_s() / 1e6));
        let ratio = link_rate(link).map(|rate| speed.median * 1e6 / rate);
        if let Some(ratio) = ratio
            && !pattern.is_about_latency()
        {
            self.worst = self.worst.min(ratio);
        }
        let ideal =
            Spread::of(samples, |sample| Some(sample.reads.took.as_secs_f64() / ideal_s(link, pattern, sample)?));
        let trips = Spread::of(samples, |sample| round_trips(link, sample.reads.first_byte.as_secs_f64()));
        let median = |of: &dyn Fn(&Sample) -> Option<f64>| Spread::of(samples, of).median;
        println!(
            "{:<12} {:<16} {:<24} {:>7} {:>7} {:>9} {:>9} {:>6} {:>13} {:>9} {:>10}{}",
            pattern.name(),
            arm.name(),
            format!("{:.1} [{:.1}–{:.1}]", speed.median, speed.least, speed.most),
            ratio.map_or("–".into(), |ratio| format!("{:.0} %", ratio * 100.0)),
            number(ideal.median, 2),
            number(trips.median, 1),
            number(median(&|sample| Some(sample.requests as f64)), 0),
            format!("({})", number(median(&|sample| Some(sample.data_requests as f64)), 0)),
            number(median(&|sample| Some(sample.fetched_per_read())), 2),
            number(median(&|sample| sample.peak_mib), 0),
            number(median(&Sample::cpu_s_per_gib), 2),
            extras(link, pattern, samples),
        );
    }
}

/// What single patterns are about besides: the spread of equal readers, the round trips of single reads.
fn extras(link: &Link, pattern: Pattern, samples: &[Sample]) -> String {
    let mut extras = String::new();
    let above = Spread::of(samples, |sample| sample.rss?.above_held);
    if above.median.is_finite() {
        extras += &format!("  RSS above what is held: {:.0} MiB at most", above.most);
    }
    if pattern.lingers() {
        let rss = |of: fn(Rss) -> f64| Spread::of(samples, |sample| sample.rss.map(of)).median;
        let (first, last) = (rss(|rss| rss.first), rss(|rss| rss.last));
        extras += &format!("  RSS {first:.0} MiB before, {last:.0} MiB after");
    }
    let spread = Spread::of(samples, |sample| sample.reads.spread);
    if spread.median.is_finite() {
        extras += &format!("  slowest/fastest {:.2}", spread.most);
    }
    let at = |part: f64| {
        Spread::of(samples, |sample| {
            let index = ((sample.reads.each.len().checked_sub(1)?) as f64 * part) as usize;
            Some(sample.reads.each[index].as_secs_f64() * 1e3)
        })
    };
    let (half, all) = (at(0.5), at(1.0));
    if half.median.is_finite() {
        extras += &format!("  a read: median {:.1} ms, at most {:.1} ms", half.median, all.most);
        if let (Some(half), Some(all)) = (round_trips(link, half.median / 1e3), round_trips(link, all.most / 1e3)) {
            extras += &format!(" ({half:.2} and {all:.2} RTT)");
        }
    }
    extras
}

/// The rate of the link. A reader is free to open more connections, so the rate of one is no limit beside it.
fn link_rate(link: &Link) -> Option<f64> {
    link.link_bytes_per_s.or(link.connection_bytes_per_s).map(|rate| rate as f64)
}

/// Round trips that must follow one another, then the bytes at the rate of the link.
fn ideal_s(link: &Link, pattern: Pattern, sample: &Sample) -> Option<f64> {
    let trips = pattern.round_trips_needed()? as f64 * link.round_trip_ms as f64 / 1e3;
    Some(trips + sample.reads.bytes as f64 / link_rate(link)?)
}

fn round_trips(link: &Link, seconds: f64) -> Option<f64> {
    (link.round_trip_ms > 0).then(|| seconds * 1e3 / link.round_trip_ms as f64)
}

fn number(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "–".into() }
}

/// Median and range; not finite where no sample has the figure.
struct Spread {
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    fn of(samples: &[Sample], figure: impl Fn(&Sample) -> Option<f64>) -> Self {
        let mut figures: Vec<f64> = samples.iter().filter_map(figure).collect();
        figures.sort_by(f64::total_cmp);
        let [least, .., most] = figures[..] else {
            let only = figures.first().copied().unwrap_or(f64::NAN);
            return Self { least: only, median: only, most: only };
        };
        let middle = figures.len() / 2;
        let median = if figures.len().is_multiple_of(2) {
            figures[middle - 1].midpoint(figures[middle])
        } else {
            figures[middle]
        };
        Self { least, median, most }
    }
}
