//! The first message of a connection: which protocol both sides speak. Decides a version, never refuses by product version.

use crate::message::Method;
use serde::{Deserialize, Serialize};

/// The oldest protocol this build still speaks.
pub const PROTOCOL_OLDEST: u32 = 1;
/// The newest protocol this build speaks.
pub const PROTOCOL_NEWEST: u32 = 1;

/// A client introduces itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Hello {
    /// Who connects, for the log: `weightless 0.1.0`.
    pub client: String,
    /// The oldest protocol it speaks.
    pub protocol_oldest: u32,
    /// The newest protocol it speaks.
    pub protocol_newest: u32,
}

/// The answer: what is spoken from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Welcome {
    /// The newest protocol that both speak.
    pub protocol: u32,
    /// Product version of the process that answers.
    pub version: String,
    /// Its process id.
    pub pid: u32,
}

impl Hello {
    /// A client that speaks what this build speaks.
    pub fn new(client: impl Into<String>) -> Self {
        Hello { client: client.into(), protocol_oldest: PROTOCOL_OLDEST, protocol_newest: PROTOCOL_NEWEST }
    }

    /// The newest protocol that the client and a server of `oldest..=newest` have in common.
    pub fn settle(&self, oldest: u32, newest: u32) -> Option<u32> {
        let common = self.protocol_newest.min(newest);
        (common >= self.protocol_oldest.max(oldest)).then_some(common)
    }
}

impl Method for Hello {
    const NAME: &str = "hello";
    type Reply = Welcome;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_settle_on_the_newest_protocol_they_share() {
        #[track_caller]
        fn check(client: (u32, u32), server: (u32, u32), expected: Option<u32>) {
            let hello = Hello { client: String::new(), protocol_oldest: client.0, protocol_newest: client.1 };
            assert_eq!(hello.settle(server.0, server.1), expected);
        }
        check((1, 1), (1, 1), Some(1));
        check((1, 3), (1, 1), Some(1));
        check((1, 1), (1, 3), Some(1));
        check((2, 4), (1, 3), Some(3));
        check((2, 3), (1, 1), None);
        check((1, 1), (2, 3), None);
        check((3, 1), (1, 9), None);
    }
}
