//! Whether the branch or tag of a mount has a newer commit: asked from time to time while the mount is used, one small request each.
//! Who is interested is told, and a mount that follows is moved.

use super::host::Host;
use super::hosted::Hosted;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use weightless_core::ErrorKind;
use weightless_core::hub::Hub;

/// The longest pause after questions that failed, in periods.
const BACK_OFF_MAX: u32 = 32;

/// Asks until the mount is over.
pub(super) async fn run(host: Arc<Host>, hosted: Arc<Hosted>, hub: Arc<Hub>) {
    if is_commit(hosted.mount().revision(), &hosted.mount().commit()) {
        return;
    }
    let ended = hosted.ended();
    tokio::select! {
        () = ended => {}
        () = ask(&host, &hosted, &hub) => {}
    }
}

async fn ask(host: &Host, hosted: &Hosted, hub: &Hub) {
    let mut settings = host.settings_changes();
    let (mut back_off, mut uses) = (1, hosted.mount().uses());
    loop {
        let pause = async {
            match host.resolved().refresh_s {
                0 => std::future::pending().await,
                period_s => sleep(jittered(Duration::from_secs(period_s) * back_off)).await,
            }
        };
        tokio::select! {
            () = pause => {}
            // The period may be another.
            _ = settings.changed() => continue,
        }
        let mount = hosted.mount();
        let is_used = mount.uses() != uses || mount.open_files() > 0;
        uses = mount.uses();
        if !is_used {
            continue;
        }
        match hub.commit(mount.repo(), mount.revision()).await {
            Ok(commit) => {
                back_off = 1;
                host.found(hosted, &commit.sha).await;
            }
            Err(error) if error.kind() == ErrorKind::Paused => {}
            Err(error) => {
                tracing::debug!(dir = hosted.dir(), ?error, "whether there is a newer commit is not known");
                back_off = (back_off * 2).min(BACK_OFF_MAX);
            }
        }
    }
}

/// A revision that can only ever be this commit: its sha, or the beginning of it.
fn is_commit(revision: &str, commit: &str) -> bool {
    const SHORT: usize = 7;
    revision.len() >= SHORT && commit.starts_with(revision)
}

/// A tenth more or less, so that mounts which were made at once do not ask at once.
fn jittered(pause: Duration) -> Duration {
    // Each has keys of its own: the only randomness of the standard library.
    let random = RandomState::new().build_hasher().finish() % 1_000;
    pause * 9 / 10 + pause * u32::try_from(random).unwrap_or(0) / 5_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_asked_for_and_a_commit_is_not() {
        let sha = "607a30d783dfa663caf39e06633721c8d4cfcd7e";
        for (revision, expected) in
            [("main", false), ("v1.0", false), ("607a", false), ("607a30d", true), (sha, true), ("refs/pr/2", false)]
        {
            assert_eq!(is_commit(revision, sha), expected, "{revision}");
        }
    }

    #[test]
    fn pauses_differ_by_a_tenth_at_most() {
        for _ in 0..1_000 {
            let pause = jittered(Duration::from_secs(100)).as_secs_f64();
            assert!((90.0..110.0).contains(&pause), "{pause}");
        }
    }
}
