//! The tray: one icon, one menu. Shows what `tray/icon.rs` and `tray/menu.rs` decide and performs what is clicked.

mod icon;
mod menu;

pub(crate) use icon::Ground;

use crate::app::App;
use crate::engine::Engine;
use crate::links::Target;
use crate::mirror::Mirror;
use crate::recent::Repo;
use crate::{quit, system, texts, updates, window};
use menu::{Action, Entry};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tauri::menu::{IsMenuItem, Menu, MenuItem, PredefinedMenuItem, Submenu};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Manager, Wry};
use tauri_plugin_opener::OpenerExt;
use weightless_control::upkeep::Pause;
use weightless_control::{Fault, Method, Unmount, UnmountManner};

const ID: &str = "weightless";

/// The tray, where there is one. Used on the main thread; std because held for a redraw only.
#[derive(Default)]
pub(crate) struct Tray(Mutex<Option<Shown>>);

/// What is on show, so that only what differs is drawn again.
struct Shown {
    icon: TrayIcon,
    picture: (icon::State, Ground),
    entries: Vec<Entry>,
    labels: HashMap<String, Label>,
}

/// A text in the menu that may change.
enum Label {
    Item(MenuItem<Wry>),
    Menu(Submenu<Wry>),
}

impl Tray {
    /// Puts the icon up. `false`: there is none, and the reason has been told.
    pub(crate) fn start(&self, app: &AppHandle, mirror: &Mirror, recent: &[Repo]) -> bool {
        let shown = system::with_tray_library(|| Shown::new(app, mirror, recent));
        match shown {
            Some(Ok(shown)) => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
                true
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "no tray icon");
                false
            }
            None => false,
        }
    }

    /// Shows what is known now. On the main thread.
    pub(crate) fn show(&self, app: &AppHandle, mirror: &Mirror, recent: &[Repo]) {
        if let Some(shown) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)
            && let Err(error) = shown.update(app, mirror, recent)
        {
            tracing::warn!(%error, "the tray is not up to date");
        }
    }

    fn action(&self, id: &str) -> Option<Action> {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.as_ref().and_then(|shown| menu::action(&shown.entries, id))
    }
}

impl Shown {
    fn new(app: &AppHandle, mirror: &Mirror, recent: &[Repo]) -> tauri::Result<Self> {
        let entries = menu::of(mirror, recent);
        let picture = (icon::state(mirror), system::ground());
        let (menu, labels) = build(app, &entries)?;
        let icon = TrayIconBuilder::with_id(ID)
            .menu(&menu)
            .icon(icon::picture(picture.0, picture.1)?)
            .icon_as_template(picture.1 == Ground::Template)
            .tooltip(texts::NAME)
            .on_menu_event(|app, event| {
                if let Some(action) = App::of(app).tray.action(&event.id().0) {
                    perform(app, action);
                }
            })
            .build(app)?;
        Ok(Shown { icon, picture, entries, labels })
    }

    fn update(&mut self, app: &AppHandle, mirror: &Mirror, recent: &[Repo]) -> tauri::Result<()> {
        let picture = (icon::state(mirror), system::ground());
        if picture != self.picture {
            self.icon
                .set_icon_with_as_template(Some(icon::picture(picture.0, picture.1)?), picture.1 == Ground::Template)?;
            self.picture = picture;
        }
        let entries = menu::of(mirror, recent);
        if entries == self.entries {
            return Ok(());
        }
        if menu::is_same_shape(&self.entries, &entries) {
            self.relabel(&entries)?;
        } else {
            let (menu, labels) = build(app, &entries)?;
            self.icon.set_menu(Some(menu))?;
            self.labels = labels;
        }
        self.entries = entries;
        Ok(())
    }

    fn relabel(&self, entries: &[Entry]) -> tauri::Result<()> {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        texts_of(&self.entries, "", &mut old);
        texts_of(entries, "", &mut new);
        for ((key, text), (_, old)) in new.iter().zip(&old) {
            match self.labels.get(key) {
                Some(Label::Item(item)) if text != old => item.set_text(shown(text))?,
                Some(Label::Menu(menu)) if text != old => menu.set_text(shown(text))?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// A name for each entry, unique in the menu: the same fault may stand under two mounts.
fn key(entry: &Entry, within: &str) -> Option<String> {
    match entry {
        Entry::Text(name, _) => Some(format!("{within}text {name}")),
        Entry::Item(action, _) => Some(action.id()),
        Entry::Menu(name, _, _) => Some(format!("menu {name}")),
        Entry::Gap => None,
    }
}

fn texts_of(entries: &[Entry], within: &str, texts: &mut Vec<(String, String)>) {
    for entry in entries {
        let Some(key) = key(entry, within) else { continue };
        match entry {
            Entry::Text(_, text) | Entry::Item(_, text) => texts.push((key, text.clone())),
            Entry::Menu(_, text, inner) => {
                texts.push((key.clone(), text.clone()));
                texts_of(inner, &key, texts);
            }
            Entry::Gap => {}
        }
    }
}

/// A single `&` would underline the next letter.
fn shown(text: &str) -> String {
    text.replace('&', "&&")
}

type Labels = HashMap<String, Label>;

fn build(app: &AppHandle, entries: &[Entry]) -> tauri::Result<(Menu<Wry>, Labels)> {
    let mut labels = HashMap::new();
    let items = build_items(app, entries, "", &mut labels)?;
    let items: Vec<&dyn IsMenuItem<Wry>> = items.iter().map(|item| &**item).collect();
    Ok((Menu::with_items(app, &items)?, labels))
}

fn build_items(
    app: &AppHandle,
    entries: &[Entry],
    within: &str,
    labels: &mut Labels,
) -> tauri::Result<Vec<Box<dyn IsMenuItem<Wry>>>> {
    let mut items: Vec<Box<dyn IsMenuItem<Wry>>> = Vec::new();
    for entry in entries {
        let Some(key) = key(entry, within) else {
            items.push(Box::new(PredefinedMenuItem::separator(app)?));
            continue;
        };
        match entry {
            Entry::Text(_, text) => {
                let item = MenuItem::with_id(app, &key, shown(text), false, None::<&str>)?;
                labels.insert(key, Label::Item(item.clone()));
                items.push(Box::new(item));
            }
            Entry::Item(_, text) => {
                let item = MenuItem::with_id(app, &key, shown(text), true, None::<&str>)?;
                labels.insert(key, Label::Item(item.clone()));
                items.push(Box::new(item));
            }
            Entry::Menu(_, text, inner) => {
                let inner = build_items(app, inner, &key, labels)?;
                let inner: Vec<&dyn IsMenuItem<Wry>> = inner.iter().map(|item| &**item).collect();
                let menu = Submenu::with_id_and_items(app, &key, shown(text), true, &inner)?;
                labels.insert(key, Label::Menu(menu.clone()));
                items.push(Box::new(menu));
            }
            Entry::Gap => {}
        }
    }
    Ok(items)
}

fn perform(app: &AppHandle, action: Action) {
    match action {
        Action::Open(dir) => open(app, dir),
        Action::Copy(dir) => system::copy(&dir),
        Action::Unmount(dir) => {
            let app = app.clone();
            tauri::async_runtime::spawn(async move { unmount(&app, dir).await });
        }
        Action::Window => window::show(app),
        Action::Show(section) => window::lead(app, Target::section(section)),
        Action::Repo(Repo { repo, revision }) => window::lead(app, Target::repo(repo, Some(revision))),
        Action::Pause(paused) => {
            let app = app.clone();
            tauri::async_runtime::spawn(async move { ask(&app, &Pause { paused }).await });
        }
        Action::Restart => app.state::<Engine>().retry(),
        Action::Update => updates::install(app),
        Action::Quit => quit::ask(app),
    }
}

/// Opens a mount in the file manager, away from the main thread: a mount whose engine has gone may hold up who looks at it.
fn open(app: &AppHandle, dir: String) {
    let app = app.clone();
    tauri::async_runtime::spawn_blocking(move || {
        if let Err(error) = app.opener().open_path(&dir, None::<&str>) {
            App::of(&app).notify(&format!("{dir}: {error}"));
        }
    });
}

async fn unmount(app: &AppHandle, dir: String) {
    let request = Unmount { dir, manner: UnmountManner::Refuse };
    let Err(fault) = app.state::<Engine>().ask(&request).await else { return };
    if fault.code != "mount_point_busy" {
        return App::of(app).notify(&texts::fault(&fault));
    }
    if quit::confirm(app, texts::BUSY_TITLE, &texts::busy_question(&fault, texts::BUSY_ONE), texts::ANYWAY).await {
        ask(app, &Unmount { manner: UnmountManner::Lazily, ..request }).await;
    }
}

/// Asks the engine for what was clicked; people are told if it fails.
async fn ask<M: Method>(app: &AppHandle, params: &M) {
    let outcome: Result<M::Reply, Fault> = app.state::<Engine>().ask(params).await;
    if let Err(fault) = outcome {
        App::of(app).notify(&texts::fault(&fault));
    }
}
