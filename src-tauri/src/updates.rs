//! Newer versions of the app: looked for, named in the tray, installed when asked to. Off unless the build names an endpoint
//! and a key (`plugins.updater` of the configuration), and off where a package manager installed the app.

use crate::app::App;
use crate::texts;
use std::time::Duration;
use tauri::utils::config::BundleType;
use tauri::utils::platform::bundle_type;
use tauri::{AppHandle, Config};
use tauri_plugin_updater::{Update, UpdaterExt};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(24 * 3600);

/// Whether this build looks after itself.
pub(crate) fn is_on(config: &Config) -> bool {
    config.plugins.0.get("updater").is_some_and(is_configured) && bundle_type().is_some_and(|kind| is_own(&kind))
}

fn is_configured(updater: &serde_json::Value) -> bool {
    let has_key = updater["pubkey"].as_str().is_some_and(|key| !key.is_empty());
    let has_endpoint = updater["endpoints"].as_array().is_some_and(|endpoints| !endpoints.is_empty());
    has_key && has_endpoint
}

/// What apt, dnf and the like install, they update.
fn is_own(kind: &BundleType) -> bool {
    matches!(kind, BundleType::AppImage | BundleType::App | BundleType::Dmg | BundleType::Nsis | BundleType::Msi)
}

/// Looks for newer versions for as long as the app runs.
pub(crate) fn watch(app: &AppHandle) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        loop {
            match look(&app).await {
                Ok(Some(update)) => App::of(&app).set_update(&update.version),
                Ok(None) => {}
                Err(error) => tracing::info!(%error, "no word of newer versions"),
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    });
}

/// Installs the newer version and starts it.
pub(crate) fn install(app: &AppHandle) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        match install_found(&app).await {
            Ok(true) => app.restart(),
            Ok(false) => {}
            Err(error) => App::of(&app).notify(&texts::update_failed(&error.to_string())),
        }
    });
}

async fn install_found(app: &AppHandle) -> tauri_plugin_updater::Result<bool> {
    let Some(update) = look(app).await? else { return Ok(false) };
    update.download_and_install(|_, _| {}, || {}).await?;
    Ok(true)
}

async fn look(app: &AppHandle) -> tauri_plugin_updater::Result<Option<Update>> {
    app.updater()?.check().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn updates_need_an_endpoint_and_a_key_and_no_package_manager() {
        let full = json!({"pubkey": "k", "endpoints": ["https://updates.test/latest.json"]});
        assert!(is_configured(&full));
        for part in [
            json!({}),
            json!({"pubkey": "k"}),
            json!({"pubkey": "", "endpoints": ["x"]}),
            json!({"pubkey": "k", "endpoints": []}),
        ] {
            assert!(!is_configured(&part), "{part}");
        }
        assert!(is_own(&BundleType::AppImage) && is_own(&BundleType::Nsis));
        assert!(!is_own(&BundleType::Deb) && !is_own(&BundleType::Rpm));
    }
}
