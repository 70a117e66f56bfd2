//! What a link can do, as numbers. Never does it; see [`super::shaper`].
//!
//! The model, so that a benchmark can state what a link could have done:
//! - A request on a kept connection costs one round trip: the head of its answer leaves `round_trip` after the request
//!   arrived, or when the router is done if that is later (the time a router takes is hidden behind the round trip).
//! - A new connection costs one more (SYN), charged to its first request. There is no TLS and no slow start.
//! - Bodies follow at the rate of the connection and of the link, whichever is less. Heads are free. A body of n bytes
//!   alone on the link ends `round_trip + n / rate` after its request.
//! - Request bodies take the same link, in the same way.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::rough::Rough;

/// A link between the client and every site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// One round trip.
    pub round_trip_ms: u64,
    /// Rate of one connection; none is unlimited.
    pub connection_bytes_per_s: Option<u64>,
    /// Rate of all connections together; none is unlimited.
    pub link_bytes_per_s: Option<u64>,
    /// Who goes first when the link is full.
    pub sharing: Sharing,
    /// Faults that happen on their own.
    pub rough: Option<Rough>,
}

/// Who goes first when the link is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Active responses take turns.
    #[default]
    Fair,
    /// As a saturated queue serves: a body enters the queue at the rate of its connection as soon as its head is out
    /// (at once where that is unlimited), and a later one waits behind it.
    FirstInFirstOut,
}

/// The links that benchmarks name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// No added latency, unlimited.
    Lan,
    /// 50 ms, 40 MB/s a connection, 300 MB/s in all.
    Cloud,
    /// 30 ms, 12 MB/s.
    Home,
    /// 200 ms, 20 MB/s a connection, 100 MB/s in all.
    Far,
    /// 100 ms, 3 MB/s.
    Thin,
    /// `Cloud` with stalls, resets and failures, each over within one retry.
    Rough,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 6] = [Self::Lan, Self::Cloud, Self::Home, Self::Far, Self::Thin, Self::Rough];

    /// The name it is asked for by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lan => "lan",
            Self::Cloud => "cloud",
            Self::Home => "home",
            Self::Far => "far",
            Self::Thin => "thin",
            Self::Rough => "rough",
        }
    }

    /// The profile's link, shared fairly.
    #[must_use]
    pub fn link(self) -> Link {
        match self {
            Self::Lan => Link::default(),
            Self::Cloud => Link::new(50, Some(40), Some(300)),
            Self::Home => Link::new(30, None, Some(12)),
            Self::Far => Link::new(200, Some(20), Some(100)),
            Self::Thin => Link::new(100, None, Some(3)),
            Self::Rough => Link { rough: Some(Rough::default()), ..Self::Cloud.link() },
        }
    }
}

impl std::str::FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        let named = Self::ALL.into_iter().find(|profile| profile.name() == name);
        named.ok_or_else(|| UnknownProfile(name.to_owned()))
    }
}

/// A profile that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("no link profile is called {0:?}; there are lan, cloud, home, far, thin and rough")]
pub struct UnknownProfile(String);

impl Link {
    /// Rates in MB/s (10^6 bytes).
    fn new(round_trip_ms: u64, connection_mb_per_s: Option<u64>, link_mb_per_s: Option<u64>) -> Self {
        Self {
            round_trip_ms,
            connection_bytes_per_s: connection_mb_per_s.map(|rate| rate * 1_000_000),
            link_bytes_per_s: link_mb_per_s.map(|rate| rate * 1_000_000),
            ..Self::default()
        }
    }

    /// The same link with another queue.
    #[must_use]
    pub fn sharing(self, sharing: Sharing) -> Self {
        Self { sharing, ..self }
    }

    pub(super) fn round_trip(&self) -> Duration {
        Duration::from_millis(self.round_trip_ms)
    }

    pub(super) fn is_limited(&self) -> bool {
        self.connection_bytes_per_s.is_some() || self.link_bytes_per_s.is_some()
    }
}
