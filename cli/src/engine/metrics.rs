//! Figures for Prometheus, on the loopback address only and only where the settings name a port. Text format 0.0.4
//! (prometheus.io/docs/instrumenting/exposition_formats).

use super::host::Host;
use crate::exit::io_fault;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use weightless_control::stats::Stats;

/// Who asks more often gets the same figures again.
const AGE_MAX: Duration = Duration::from_millis(500);

/// Serves as long as the setting stays as it is, and follows its changes; never resolves.
pub(super) async fn run(host: &Arc<Host>) {
    let mut settings = host.settings_changes();
    loop {
        let port = host.resolved().metrics_port;
        tokio::select! {
            () = serve(host, port) => {}
            _ = settings.changed() => {}
        }
    }
}

async fn serve(host: &Arc<Host>, port: Option<u16>) {
    let Some(port) = port else { return std::future::pending().await };
    let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
        Ok(listener) => listener,
        Err(error) => {
            let fault = io_fault(format_args!("the port {port} for figures"), &error);
            tracing::warn!("{fault}");
            host.events.notice(None, &fault.advise("Choose another: weightless config set metrics_port N."));
            return std::future::pending().await;
        }
    };
    let asked = host.clone();
    let answer = move || async move {
        ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text(&asked.stats(AGE_MAX))).into_response()
    };
    let router = Router::new().route("/metrics", get(answer));
    if let Err(error) = axum::serve(listener, router).await {
        tracing::warn!(%error, "figures are not served any more");
    }
}

fn text(stats: &Stats) -> String {
    let mut text = String::new();
    for (name, kind, about, value) in [
        ("delivered_bytes_total", "counter", "Bytes that programs have read", stats.total.delivered_bytes),
        ("fetched_bytes_total", "counter", "Bytes of content off the network", stats.total.fetched_bytes),
        ("requests_total", "counter", "Content requests", stats.network.requests),
        ("retries_total", "counter", "Content requests after a failed one", stats.network.retries),
        ("reads_total", "counter", "Reads", stats.network.reads),
        ("memory_hits_total", "counter", "Reads answered from memory", stats.network.memory_hits),
        ("store_read_bytes_total", "counter", "Bytes of content from the local store", stats.local.store_bytes),
        (
            "hub_cache_read_bytes_total",
            "counter",
            "Bytes of content from the Hugging Face cache",
            stats.local.hub_cache_bytes,
        ),
        ("store_bytes", "gauge", "Bytes that the local store takes on the disk", stats.local.kept_bytes),
        ("waiting_reads", "gauge", "Reads that wait", stats.network.waiting_reads),
        ("in_flight_fetches", "gauge", "Fetches under way", stats.network.in_flight),
        ("memory_budget_bytes", "gauge", "Memory for file content", stats.memory.budget_bytes),
        ("memory_used_bytes", "gauge", "Memory used for file content", stats.memory.used_bytes),
    ] {
        let _ = write!(
            text,
            "# HELP weightless_{name} {about}.\n# TYPE weightless_{name} {kind}\nweightless_{name} {value}\n"
        );
    }
    for (name, kind, about) in [
        ("mount_delivered_bytes_total", "counter", "Bytes that programs have read"),
        ("mount_fetched_bytes_total", "counter", "Bytes of content off the network"),
        ("mount_open_files", "gauge", "Files open now"),
    ] {
        let _ = write!(text, "# HELP weightless_{name} {about}, by mount.\n# TYPE weightless_{name} {kind}\n");
        for mount in &stats.mounts {
            let value = match name {
                "mount_delivered_bytes_total" => mount.traffic.delivered_bytes,
                "mount_fetched_bytes_total" => mount.traffic.fetched_bytes,
                _ => mount.open_files,
            };
            let _ = writeln!(text, "weightless_{name}{{dir=\"{}\"}} {value}", label(&mount.dir));
        }
    }
    text
}

/// A label's value, escaped as the format asks.
fn label(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::stats::{MountStats, Traffic};

    #[test]
    fn each_figure_has_its_help_its_type_and_its_value() {
        let mut stats = Stats::default();
        stats.total.fetched_bytes = 7;
        let traffic = Traffic { delivered_bytes: 9, ..Traffic::default() };
        stats.mounts.push(MountStats { dir: "/a \"b\"\\".into(), traffic, open_files: 2, waiting: None });
        let text = text(&stats);
        for line in [
            "# TYPE weightless_fetched_bytes_total counter",
            "weightless_fetched_bytes_total 7",
            "weightless_mount_delivered_bytes_total{dir=\"/a \\\"b\\\"\\\\\"} 9",
            "weightless_mount_open_files{dir=\"/a \\\"b\\\"\\\\\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let names = text.lines().filter(|line| line.starts_with("# TYPE")).count();
        assert_eq!(names, text.lines().filter(|line| line.starts_with("# HELP")).count());
    }
}
