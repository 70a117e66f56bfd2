//! The way out. Mounts are the engine's and need no app, so people choose what becomes of them.

use crate::app::App;
use crate::engine::Engine;
use crate::{texts, window};
use tauri::{AppHandle, Manager};
use tauri_plugin_dialog::{DialogExt, MessageDialogButtons, MessageDialogKind, MessageDialogResult};
use tauri_plugin_window_state::AppHandleExt;
use tokio::sync::oneshot;
use weightless_control::upkeep::Stop;

/// Asks what becomes of the mounts, if there are any, then ends the app.
pub(crate) fn ask(app: &AppHandle) {
    let mounts = App::of(app).mirror().mounts.len();
    if mounts == 0 {
        return leave(app);
    }
    let buttons = MessageDialogButtons::YesNoCancelCustom(
        texts::QUIT_KEEP.into(),
        texts::QUIT_UNMOUNT.into(),
        texts::CANCEL.into(),
    );
    let app = app.clone();
    app.clone()
        .dialog()
        .message(texts::quit_question(mounts))
        .title(texts::QUIT_TITLE)
        .buttons(buttons)
        .show_with_result(move |answer| match answer {
            MessageDialogResult::Custom(text) if text == texts::QUIT_KEEP => leave(&app),
            MessageDialogResult::Custom(text) if text == texts::QUIT_UNMOUNT => {
                tauri::async_runtime::spawn(async move { unmount_all(&app).await });
            }
            _ => {}
        });
}

/// Asks a question with one way on and one way back.
pub(crate) async fn confirm(app: &AppHandle, title: &str, question: &str, yes: &str) -> bool {
    let (sender, receiver) = oneshot::channel();
    app.dialog()
        .message(question)
        .title(title)
        .kind(MessageDialogKind::Warning)
        .buttons(MessageDialogButtons::OkCancelCustom(yes.to_owned(), texts::CANCEL.to_owned()))
        .show(move |is_yes| {
            // An error means that nobody waits any more.
            let _ = sender.send(is_yes);
        });
    receiver.await.unwrap_or(false)
}

async fn unmount_all(app: &AppHandle) {
    let engine = app.state::<Engine>();
    engine.leave();
    let Err(fault) = engine.ask(&Stop { force: false, keep_mounts: false }).await else { return leave(app) };
    if fault.code != "mount_point_busy" {
        engine.stay();
        return App::of(app).notify(&texts::fault(&fault));
    }
    let question = texts::busy_question(&fault, texts::BUSY_ALL);
    if !confirm(app, texts::BUSY_TITLE, &question, texts::ANYWAY).await {
        return engine.stay();
    }
    match engine.ask(&Stop { force: true, keep_mounts: false }).await {
        Ok(_) => leave(app),
        Err(fault) => {
            engine.stay();
            App::of(app).notify(&texts::fault(&fault));
        }
    }
}

fn leave(app: &AppHandle) {
    app.state::<Engine>().leave();
    if let Err(error) = app.save_window_state(window::KEPT) {
        tracing::warn!(%error, "the window's place is not kept");
    }
    app.exit(0);
}
