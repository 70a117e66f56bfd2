//! The one window: made when it is first wanted, hidden when it is closed. Where it is to lead before its page listens is kept
//! until it does.

use crate::app::App;
use crate::links::Target;
use crate::texts;
use std::sync::{Mutex, PoisonError};
use tauri::webview::PageLoadEvent;
use tauri::{AppHandle, Emitter, Manager, WebviewUrl, WebviewWindow, WebviewWindowBuilder, WindowEvent};
use tauri_plugin_window_state::{AppHandleExt, StateFlags, WindowExt};

/// Its name in capabilities.
pub(crate) const LABEL: &str = "main";

/// Everything but visibility, which is the app's own to decide.
pub(crate) const KEPT: StateFlags =
    StateFlags::SIZE.union(StateFlags::POSITION).union(StateFlags::MAXIMIZED).union(StateFlags::FULLSCREEN);

const SIZE: (f64, f64) = (1040.0, 720.0);
/// What the page is made for at least.
const SIZE_MIN: (f64, f64) = (720.0, 520.0);

/// What the page has been told. Held for a look or a change only.
#[derive(Debug, Default)]
pub(crate) struct Page(Mutex<PageState>);

#[derive(Debug, Default)]
struct PageState {
    is_listening: bool,
    /// Where it is to lead once it listens.
    target: Option<Target>,
}

impl Page {
    /// The page listens from now on. Says where it is to lead; `None` if it listened before, or leads nowhere.
    pub(crate) fn listens(&self) -> (bool, Option<Target>) {
        let mut page = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !std::mem::replace(&mut page.is_listening, true);
        (is_new, page.target.take())
    }

    fn starts_anew(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_listening = false;
    }

    /// Takes a target; gives it back where the page listens and can be told.
    fn lead(&self, target: Target) -> Option<Target> {
        let mut page = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if page.is_listening {
            return Some(target);
        }
        page.target = Some(target);
        None
    }
}

/// Shows the window in front, making it where there is none.
pub(crate) fn show(app: &AppHandle) {
    #[cfg(target_os = "macos")]
    let _ = app.set_activation_policy(tauri::ActivationPolicy::Regular);
    let shown = match app.get_webview_window(LABEL) {
        Some(window) => raise(&window),
        None => make(app).map(|_| ()),
    };
    match shown {
        Ok(()) => App::of(app).set_visible(true),
        Err(error) => tracing::error!(%error, "no window"),
    }
}

/// Shows the window at a section or a repo.
pub(crate) fn lead(app: &AppHandle, target: Target) {
    if let Some(target) = App::of(app).page.lead(target) {
        tell(app, "navigate", &target);
    }
    show(app);
}

/// Tells the page, if there is one.
pub(crate) fn tell(app: &AppHandle, event: &str, payload: &(impl serde::Serialize + Clone)) {
    if let Err(error) = app.emit_to(LABEL, event, payload) {
        tracing::warn!(event, %error, "the window was not told");
    }
}

fn raise(window: &WebviewWindow) -> tauri::Result<()> {
    window.unminimize()?;
    window.show()?;
    window.set_focus()
}

fn make(app: &AppHandle) -> tauri::Result<WebviewWindow> {
    let of_page = app.clone();
    let window = WebviewWindowBuilder::new(app, LABEL, WebviewUrl::default())
        .title(texts::NAME)
        .inner_size(SIZE.0, SIZE.1)
        .min_inner_size(SIZE_MIN.0, SIZE_MIN.1)
        .center()
        // Shown once there is something to see, so that no white sheet flashes up.
        .visible(false)
        .on_page_load(move |window, load| match load.event() {
            PageLoadEvent::Started => App::of(&of_page).page.starts_anew(),
            PageLoadEvent::Finished => {
                if let Err(error) = raise(&window) {
                    tracing::error!(%error, "the window is not shown");
                }
            }
        })
        .build()?;
    window.restore_state(KEPT)?;
    let of_events = app.clone();
    window.on_window_event(move |event| match event {
        WindowEvent::CloseRequested { api, .. } => {
            api.prevent_close();
            close(&of_events);
        }
        WindowEvent::Focused(is_in_front) => App::of(&of_events).set_in_front(*is_in_front),
        _ => {}
    });
    Ok(window)
}

/// Hides the window where the tray brings it back; elsewhere this is the way out.
fn close(app: &AppHandle) {
    if !App::of(app).has_tray() {
        return crate::quit::ask(app);
    }
    if let Err(error) = app.save_window_state(KEPT) {
        tracing::warn!(%error, "the window's place is not kept");
    }
    if let Some(window) = app.get_webview_window(LABEL) {
        let _ = window.hide();
    }
    App::of(app).set_visible(false);
    #[cfg(target_os = "macos")]
    let _ = app.set_activation_policy(tauri::ActivationPolicy::Accessory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to_lead_waits_until_the_page_listens() {
        let page = Page::default();
        let (first, second) = (Target::section("settings"), Target::repo("a/b".into(), None));
        assert_eq!(page.lead(first), None);
        assert_eq!(page.lead(second.clone()), None);
        assert_eq!(page.listens(), (true, Some(second.clone())));
        assert_eq!(page.listens(), (false, None));
        assert_eq!(page.lead(second.clone()), Some(second.clone()));
        page.starts_anew();
        assert_eq!(page.lead(second), None);
    }
}
