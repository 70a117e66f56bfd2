//! The Hub folder: every repo of the Hub under its name, in one mount. A repo in it that is used is a mount like any other in
//! `status`; it comes when its name is used and goes when it has not been used for a while.

use crate::fault::Fault;
use crate::message::Method;
use crate::mounts::{MountState, UnmountManner};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Asks for the Hub folder.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct GetFolder {}

impl Method for GetFolder {
    const NAME: &str = "folder.get";
    type Reply = FolderReply;
}

/// Turns the Hub folder on, moves it, or turns it off. On, it comes back whenever the engine starts.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(default)]
pub struct SetFolder {
    /// Whether it is to be there.
    pub on: bool,
    /// Absolute path of the mount point; where it is, or else the folder for mounts, without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// The Hub; the one of the settings without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The account that asks; the default one without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Absolute path of a file with the token, instead of an account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<String>,
    /// A token for the folder alone, instead of an account: what `HF_TOKEN` of the client holds. Kept in memory only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// What to do if files are open in it and it is to go.
    pub manner: UnmountManner,
}

/// Without the token.
impl fmt::Debug for SetFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetFolder")
            .field("on", &self.on)
            .field("dir", &self.dir)
            .field("endpoint", &self.endpoint)
            .field("account", &self.account)
            .field("token_file", &self.token_file)
            .field("manner", &self.manner)
            .finish_non_exhaustive()
    }
}

impl Method for SetFolder {
    const NAME: &str = "folder.set";
    type Reply = FolderReply;
}

/// The Hub folder, if it is on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FolderReply {
    /// What there is to know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<FolderStatus>,
    /// What else there is to say, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The Hub folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FolderStatus {
    /// Absolute path of the mount point.
    pub dir: String,
    /// What it is doing.
    pub state: MountState,
    /// The Hub that it shows.
    #[serde(default)]
    pub endpoint: String,
    /// The account that asks, where one was chosen for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Repos that were used and are listed in it, by their paths in it; newest first.
    #[serde(default)]
    pub recent: Vec<String>,
    /// Names in it that led nowhere lately; newest first.
    #[serde(default)]
    pub problems: Vec<FolderProblem>,
    /// Why it is not there, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

impl FolderStatus {
    /// A Hub folder of which no more is known.
    pub fn new(dir: impl Into<String>, state: MountState) -> Self {
        FolderStatus {
            dir: dir.into(),
            state,
            endpoint: String::new(),
            account: None,
            recent: Vec::new(),
            problems: Vec::new(),
            fault: None,
        }
    }
}

/// A name in the Hub folder that led nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FolderProblem {
    /// The name, as a path in the folder.
    pub path: String,
    /// Why.
    pub fault: Fault,
}
