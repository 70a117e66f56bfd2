//! What people set, as it is stored, sent and shown. Checked by the engine as a whole; a value that is absent stands for its
//! default.

use crate::message::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Every setting. `None` is the default, which [`SettingsReply::defaults`] names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(default)]
pub struct Settings {
    /// Memory for file content, in MiB: read-ahead, blocks kept, bytes on their way. Takes effect at once. Default: a quarter
    /// of the RAM, at most 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ahead_mb: Option<u32>,
    /// Most that file content takes of the network, in KiB a second (5120 is 5 MiB a second), at least 512. Takes effect at once. Default: no
    /// cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_cap_kb: Option<u32>,
    /// How long a connection may be silent before it is tried again, in milliseconds. Takes effect at once. Default: 30000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_timeout_ms: Option<u32>,
    /// Threads that answer the kernel for each mount. Holds for mounts made from then on. Default: one a core, 2 to 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_loops: Option<u16>,
    /// How often the Hub is asked whether a branch or tag that is mounted has a newer commit, in seconds, while the mount is used;
    /// 0 is never. Takes effect at once. Default: 600.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_s: Option<u32>,
    /// Address of the Hub for mounts made from then on. Default: `HF_ENDPOINT`, else the Hub at huggingface.co.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Proxy for everything: `http://`, `https://` or `socks5://` host and port. Default: what the environment says
    /// (`HTTPS_PROXY`, `NO_PROXY`, …).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// A PEM file of further certificate authorities, beside those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// The folder in which mounts land that name none. Default: `~/Weightless`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_folder: Option<String>,
    /// What the log says: `error`, `warn`, `info`, `debug`. Takes effect at once. Default: `info`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
    /// What was read is kept on this device, up to so many GiB; 0 keeps nothing, and removes what is kept. Takes effect at once.
    /// Default: 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store_max_gb: Option<u32>,
    /// GiB that stay free on the disk, whatever `store_max_gb` allows. Takes effect at once. Default: 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store_keep_free_gb: Option<u32>,
    /// A port of the loopback address that answers with figures for Prometheus. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_port: Option<u16>,
}

/// Asks for the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct GetSettings {}

impl Method for GetSettings {
    const NAME: &str = "settings.get";
    type Reply = SettingsReply;
}

/// Changes some settings, all of them or none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SetSettings {
    /// New values by name; `null` goes back to the default.
    pub changes: Map<String, Value>,
}

impl Method for SetSettings {
    const NAME: &str = "settings.set";
    type Reply = SettingsReply;
}

/// The settings, and what is to know about them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SettingsReply {
    /// As they are in the file, and as the environment overrides them.
    pub settings: Settings,
    /// What stands for a value that is absent, on this machine.
    pub defaults: Settings,
    /// Names of settings that the environment decides; changing them in the file has no effect until it does not.
    pub overridden: Vec<String>,
    /// The file.
    pub path: String,
    /// Memory of this machine, or of the container: what `read_ahead_mb` is a part of.
    pub ram_bytes: u64,
    /// What in the file is not understood; kept as it is.
    pub problems: Vec<Problem>,
}

/// A setting that cannot be, or is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Problem {
    /// Its name.
    pub setting: String,
    /// What is wrong with it, in words; no full stop.
    pub sentence: String,
}
