//! The app's way to the engine: finds it, starts it when none answers, asks it, and passes on what it says. Decides nothing
//! about mounts and waits for nothing on the thread of the window.
//!
//! | file | noun |
//! | --- | --- |
//! | `place` | where the engine's program and socket are |
//! | `start` | starting one |
//! | `link` | a connection: several requests under way, and the events |
//! | `keeper` | the thread that has a connection or makes one |

mod keeper;
mod link;
mod place;
mod start;

pub(crate) use keeper::{Engine, News};

use serde::Serialize;
use weightless_control::Fault;

/// How the app stands with the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum EngineState {
    /// Looked for, or started.
    Starting,
    /// It answers.
    Connected,
    /// It answered and is gone; another one is started.
    Lost,
    /// None answers and none could be started. Tried again from time to time, and when asked to.
    Failed {
        /// Why.
        fault: Fault,
    },
}
