//! What the window may ask for. Each command is named in `capabilities/main.json`; none takes a path or an address that is
//! not checked, and the engine's methods go through a list.

use crate::app::App;
use crate::engine::{Engine, EngineState};
use crate::{autostart, links, texts, window};
use serde::Serialize;
use serde_json::Value;
use tauri::{AppHandle, State};
use tauri_plugin_opener::OpenerExt;
use weightless_control::hello::PROTOCOL_NEWEST;
use weightless_control::upkeep::Stop;
use weightless_control::{Call, Fault, Hello, Method, Subscribe};

/// What the window shows about the app.
#[derive(Debug, Serialize)]
pub(crate) struct AppInfo {
    version: &'static str,
    engine_version: Option<String>,
    protocol: u32,
    platform: &'static str,
    autostart: bool,
    tray: bool,
}

/// Asks the engine.
#[tauri::command(rename_all = "snake_case")]
pub(crate) async fn engine_call(engine: State<'_, Engine>, method: String, params: Value) -> Result<Value, Fault> {
    if !is_allowed(&method) {
        return Err(Fault::new("usage", format!("{method}: not for the window")));
    }
    engine.call(&method, &params).await
}

/// The connection itself is the app's: its version, and what it listens to.
fn is_allowed(method: &str) -> bool {
    Call::NAMES.contains(&method) && method != Hello::NAME && method != Subscribe::NAME
}

/// How often the window wants figures.
#[tauri::command(rename_all = "snake_case")]
pub(crate) async fn engine_watch(app: AppHandle, stats_ms: Option<u64>) {
    App::of(&app).set_window_stats(stats_ms);
}

/// About the app. The page asks once it listens, which is when it can be led somewhere.
#[tauri::command(rename_all = "snake_case")]
pub(crate) async fn app_info(app: AppHandle, engine: State<'_, Engine>) -> Result<AppInfo, Fault> {
    let of_app = App::of(&app);
    let welcome = engine.welcome();
    let (is_new, target) = of_app.page.listens();
    if is_new && let state @ (EngineState::Lost | EngineState::Failed { .. }) = engine.state() {
        window::tell(&app, "engine-state", &state);
    }
    if let Some(target) = target {
        window::tell(&app, "navigate", &target);
    }
    Ok(AppInfo {
        version: env!("CARGO_PKG_VERSION"),
        protocol: welcome.as_ref().map_or(PROTOCOL_NEWEST, |welcome| welcome.protocol),
        engine_version: welcome.map(|welcome| welcome.version),
        platform: std::env::consts::OS,
        autostart: autostart::is_on(&app),
        tray: of_app.has_tray(),
    })
}

/// Whether the app starts at login.
#[tauri::command(rename_all = "snake_case")]
pub(crate) async fn set_autostart(app: AppHandle, on: bool) -> Result<(), Fault> {
    autostart::set(&app, on).map_err(|error| Fault::new("io", error))
}

/// Opens a mount, or the folder of the log, in the file manager.
#[tauri::command(rename_all = "snake_case")]
pub(crate) async fn open_folder(app: AppHandle, dir: String) -> Result<(), Fault> {
    if !links::is_ours(&dir, &App::of(&app).mirror()) {
        return Err(Fault::new("usage", format!("{dir}: not a folder of Weightless")));
    }
    open(move || app.opener().open_path(dir, None::<&str>)).await
}

/// Opens a page in the browser.
#[tauri::command(rename_all = "snake_case")]
pub(crate) async fn open_page(app: AppHandle, url: String) -> Result<(), Fault> {
    let Some(page) = links::page(&url, &App::of(&app).mirror()) else {
        return Err(Fault::new("usage", format!("{url}: not a page of a Hub in use")));
    };
    open(move || app.opener().open_url(page, None::<&str>)).await
}

/// Away from the runtime's own threads: whatever opens it may take its time.
async fn open(work: impl FnOnce() -> Result<(), tauri_plugin_opener::Error> + Send + 'static) -> Result<(), Fault> {
    match tauri::async_runtime::spawn_blocking(work).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Fault::new("io", error.to_string())),
        Err(_) => Err(Fault::new("internal", texts::CANNOT_OPEN)),
    }
}

/// Ends the engine, whose mounts come back with the next one, or looks for one now.
#[tauri::command(rename_all = "snake_case")]
pub(crate) async fn restart_engine(engine: State<'_, Engine>) -> Result<(), Fault> {
    if engine.welcome().is_some() {
        engine.ask(&Stop { force: false, keep_mounts: true }).await?;
    } else {
        engine.retry();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_may_use_every_method_but_those_of_the_connection_itself() {
        let refused: Vec<&&str> = Call::NAMES.iter().filter(|name| !is_allowed(name)).collect();
        assert_eq!(refused, [&Hello::NAME, &Subscribe::NAME]);
        for method in ["", "hello", "subscribe", "status ", "event", "format_disk"] {
            assert!(!is_allowed(method), "{method}");
        }
    }
}
