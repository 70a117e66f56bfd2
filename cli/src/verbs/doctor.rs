//! `doctor`: the way to the Hub, hop by hop, and what to do.

use crate::args::DoctorArgs;
use crate::exit::Outcome;
use crate::output::{self, Format};
use crate::{processes, wanted};
use std::time::Duration;
use weightless_control::upkeep::{Checkup, Doctor, HopState};
use weightless_control::{ClientError, Fault};

/// Every hop has its own bound; there are seven.
const DOCTOR_MS_MAX: u64 = 120_000;

pub(crate) fn run(args: &DoctorArgs) -> Outcome {
    let mut client = processes::engine(Duration::from_millis(DOCTOR_MS_MAX))?;
    let waiting = output::Waiting::start("testing the way to the Hub".to_owned());
    let (endpoint, endpoint_from) = wanted::named_endpoint(args.endpoint.as_deref())?.unzip();
    let request = Doctor { endpoint, endpoint_from: endpoint_from.map(str::to_owned) };
    let checkup = client.call(&request).map_err(ClientError::into_fault);
    waiting.end();
    let checkup = checkup?;
    match Format::of(args.json) {
        Format::Json => output::json(&checkup),
        Format::Text => text(&checkup).iter().for_each(output::line),
    }
    match checkup.hops.iter().find(|hop| hop.state == HopState::Failed) {
        // The exit code is that of what failed.
        Some(hop) => Err(Fault::new(&*hop.code, format!("{}: {}", hop.name, hop.detail)).advise(hop.advice.clone())),
        None => Ok(()),
    }
}

fn text(checkup: &Checkup) -> Vec<String> {
    let mut rows = Vec::new();
    for hop in &checkup.hops {
        let mark = match hop.state {
            HopState::Ok => "ok",
            HopState::Warning => "look",
            HopState::Failed => "FAILED",
            HopState::Skipped => "-",
            HopState::Other => "?",
        };
        let took = if hop.state == HopState::Skipped { String::new() } else { format!("{} ms", hop.took_ms) };
        rows.push(vec![mark.to_owned(), hop.name.clone(), took, output::plain(&hop.detail)]);
        if !hop.advice.is_empty() {
            rows.push(vec![String::new(), String::new(), String::new(), output::plain(&hop.advice)]);
        }
    }
    let mut lines = output::table(&rows, &[2]);
    if !checkup.hosts.is_empty() {
        lines.push(format!("A firewall must allow: {}", output::plain(&checkup.hosts.join(", "))));
    }
    lines
}
