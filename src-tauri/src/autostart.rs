//! Starting at login, by what each desktop has for it.

use tauri::{AppHandle, Wry};
use tauri_plugin_autostart::{Builder, ManagerExt};

/// Given at login: the tray alone.
pub(crate) const HIDDEN: &str = "--hidden";

pub(crate) fn plugin() -> tauri::plugin::TauriPlugin<Wry> {
    Builder::new().arg(HIDDEN).build()
}

/// Whether the app starts at login.
pub(crate) fn is_on(app: &AppHandle) -> bool {
    app.autolaunch().is_enabled().unwrap_or(false)
}

/// Changes that.
pub(crate) fn set(app: &AppHandle, on: bool) -> Result<(), String> {
    let changed = if on { app.autolaunch().enable() } else { app.autolaunch().disable() };
    changed.map_err(|error| error.to_string())
}

/// Writes the entry anew where there is one: an update or a move changes where the app lies.
pub(crate) fn assert(app: &AppHandle) {
    if is_on(app)
        && let Err(error) = set(app, true)
    {
        tracing::warn!(%error, "starting at login may not work");
    }
}
