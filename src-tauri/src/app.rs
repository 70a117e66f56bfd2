//! What the app is made of, and the one place where the engine's news meets window, tray and notifications.

use crate::engine::{Engine, EngineState, News};
use crate::links;
use crate::mirror::Mirror;
use crate::notices::Told;
use crate::recent::{Recent, Repo};
use crate::tray::Tray;
use crate::window::{self, Page};
use crate::{autostart, commands, system, texts, updates};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tauri::{AppHandle, Manager, State};
use tauri_plugin_deep_link::DeepLinkExt;
use tauri_plugin_notification::NotificationExt;
use weightless_control::{Event, EventMessage, MountState};

/// Figures for the tray while bytes flow or files are open.
const TRAY_BUSY_MS: u64 = 1_000;
/// Figures for the tray while nothing is read: how late it may show that somebody began.
const TRAY_IDLE_MS: u64 = 2_000;
/// Between two figures in the tray; a little less than they are asked for.
const DRAW_EVERY: Duration = Duration::from_millis(900);
/// At login the panel may come after the app; without one by then the window is shown.
const TRAY_WAIT: Duration = Duration::from_secs(10);

/// What the app holds beside the engine. Its locks are held for a look or a change only, never two at once.
pub(crate) struct App {
    handle: AppHandle,
    pub(crate) page: Page,
    pub(crate) tray: Tray,
    mirror: Mutex<Mirror>,
    told: Mutex<Told>,
    recent: Mutex<Recent>,
    /// How often the window wants figures.
    window_stats_ms: Mutex<Option<u64>>,
    is_visible: AtomicBool,
    is_in_front: AtomicBool,
    has_icon: AtomicBool,
    has_tray_place: AtomicBool,
    /// Whether the tray is about to be drawn anyway.
    is_drawing: AtomicBool,
    /// When figures were last drawn there.
    drawn: Mutex<Option<Instant>>,
}

/// Runs the app until it is quit.
pub(crate) fn run() -> tauri::Result<()> {
    let context = tauri::generate_context!();
    let has_updates = updates::is_on(context.config());
    let mut builder = tauri::Builder::default()
        // First, so that a second start does nothing else.
        .plugin(tauri_plugin_single_instance::init(|app, args, _| {
            if !args.iter().any(|arg| arg == autostart::HIDDEN) {
                window::show(app);
            }
        }))
        .plugin(tauri_plugin_deep_link::init())
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_notification::init())
        .plugin(tauri_plugin_opener::init())
        .plugin(
            // The window is restored where it is made.
            tauri_plugin_window_state::Builder::new()
                .with_state_flags(window::KEPT)
                .skip_initial_state(window::LABEL)
                .build(),
        )
        .plugin(autostart::plugin());
    if has_updates {
        builder = builder.plugin(tauri_plugin_updater::Builder::new().build());
    }
    let app = builder
        .invoke_handler(tauri::generate_handler![
            commands::engine_call,
            commands::engine_watch,
            commands::app_info,
            commands::set_autostart,
            commands::open_folder,
            commands::open_page,
            commands::restart_engine,
        ])
        .setup(move |app| {
            setup(app.handle(), has_updates)?;
            Ok(())
        })
        .build(context)?;
    app.run(|app, event| {
        #[cfg(target_os = "macos")]
        if let tauri::RunEvent::Reopen { .. } = event {
            window::show(app);
        }
        // Closing hides the window, so that the last one to go is no reason to end.
        if let tauri::RunEvent::ExitRequested { code: None, api, .. } = event
            && App::of(app).has_tray()
        {
            api.prevent_exit();
        }
    });
    Ok(())
}

fn setup(app: &AppHandle, has_updates: bool) -> Result<(), Box<dyn std::error::Error>> {
    let is_hidden = std::env::args().any(|arg| arg == autostart::HIDDEN);
    let recent = Recent::load(app.path().app_config_dir()?.join("recent.json"));
    app.manage(App::new(app.clone(), recent));
    let of_app = App::of(app);

    let has_icon = of_app.tray.start(app, &of_app.mirror(), &of_app.recent_repos());
    of_app.has_icon.store(has_icon, Ordering::Relaxed);
    let of_tray = app.clone();
    system::watch_tray_place(move |is_there| App::of(&of_tray).set_tray_place(is_there));

    let of_engine = app.clone();
    app.manage(Engine::start(move |news| App::of(&of_engine).take(&news))?);
    // What came before the engine could be reached from here.
    of_app.refresh();

    let of_links = app.clone();
    app.deep_link().on_open_url(move |event| follow(&of_links, &event.urls()));
    register_scheme(app);
    autostart::assert(app);
    if has_updates {
        updates::watch(app);
    }

    let start_link = app.deep_link().get_current()?.unwrap_or_default();
    follow(app, &start_link);
    if is_hidden && has_icon {
        #[cfg(target_os = "macos")]
        app.set_activation_policy(tauri::ActivationPolicy::Accessory)?;
        show_without_tray(app);
    } else {
        window::show(app);
    }
    Ok(())
}

/// Packages tell the desktop whose the scheme is; an AppImage that was only put somewhere has to say so itself.
fn register_scheme(app: &AppHandle) {
    if app.env().appimage.is_some()
        && let Err(error) = app.deep_link().register_all()
    {
        tracing::warn!(%error, "links in pages do not lead here");
    }
}

fn follow(app: &AppHandle, urls: &[tauri::Url]) {
    if let Some(target) = urls.iter().find_map(links::target) {
        window::lead(app, target);
    }
}

/// Started at login without a panel for the tray, the app could not be reached.
fn show_without_tray(app: &AppHandle) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        tokio::time::sleep(TRAY_WAIT).await;
        if !App::of(&app).has_tray() {
            on_main_thread(&app, window::show);
        }
    });
}

fn on_main_thread(app: &AppHandle, work: impl FnOnce(&AppHandle) + Send + 'static) {
    let of_work = app.clone();
    // An error means that the app is ending.
    let _ = app.run_on_main_thread(move || work(&of_work));
}

impl App {
    fn new(handle: AppHandle, recent: Recent) -> Self {
        App {
            handle,
            page: Page::default(),
            tray: Tray::default(),
            mirror: Mutex::default(),
            told: Mutex::default(),
            recent: Mutex::new(recent),
            window_stats_ms: Mutex::default(),
            is_visible: AtomicBool::new(false),
            is_in_front: AtomicBool::new(false),
            has_icon: AtomicBool::new(false),
            has_tray_place: AtomicBool::new(false),
            is_drawing: AtomicBool::new(false),
            drawn: Mutex::default(),
        }
    }

    /// The app of a handle.
    pub(crate) fn of(handle: &AppHandle) -> State<'_, App> {
        handle.state::<App>()
    }

    /// What is known of the engine now.
    pub(crate) fn mirror(&self) -> Mirror {
        lock(&self.mirror).clone()
    }

    /// Whether the tray can bring a hidden window back.
    pub(crate) fn has_tray(&self) -> bool {
        self.has_icon.load(Ordering::Relaxed) && self.has_tray_place.load(Ordering::Relaxed)
    }

    /// Tells people through the desktop.
    pub(crate) fn notify(&self, words: &str) {
        if let Err(error) = self.handle.notification().builder().title(texts::NAME).body(words).show() {
            tracing::warn!(%error, words, "the desktop tells nothing");
        }
    }

    /// How often the window wants figures.
    pub(crate) fn set_window_stats(&self, stats_ms: Option<u64>) {
        *lock(&self.window_stats_ms) = stats_ms;
        self.refresh();
    }

    /// The window is shown, or hidden.
    pub(crate) fn set_visible(&self, is_visible: bool) {
        self.is_visible.store(is_visible, Ordering::Relaxed);
        self.refresh();
    }

    /// Somebody works in the window, or no longer.
    pub(crate) fn set_in_front(&self, is_in_front: bool) {
        self.is_in_front.store(is_in_front, Ordering::Relaxed);
    }

    /// A newer version was found.
    pub(crate) fn set_update(&self, version: &str) {
        let is_new = lock(&self.mirror).update.replace(version.to_owned()).as_deref() != Some(version);
        if is_new {
            self.notify(&texts::update_found(version));
            self.refresh();
        }
    }

    fn set_tray_place(&self, is_there: bool) {
        let was_there = self.has_tray_place.swap(is_there, Ordering::Relaxed);
        if was_there && !is_there && !self.is_visible.load(Ordering::Relaxed) {
            on_main_thread(&self.handle, window::show);
        }
        self.refresh();
    }

    fn recent_repos(&self) -> Vec<Repo> {
        lock(&self.recent).repos().to_vec()
    }

    /// Takes the engine's news, on its threads.
    fn take(&self, news: &News) {
        lock(&self.mirror).take(news);
        self.remember(news);
        let words = lock(&self.told).take(news);
        if let Some(words) = words
            && !self.is_in_front.load(Ordering::Relaxed)
        {
            self.notify(&words);
        }
        self.pass_on(news);
        if !matches!(news, News::Event(EventMessage { event: Event::Stats { .. }, .. })) || self.is_time_to_draw() {
            self.refresh();
        }
    }

    /// The window may take figures several times a second; a menu that changes as often is nothing but work.
    fn is_time_to_draw(&self) -> bool {
        let now = Instant::now();
        let mut drawn = lock(&self.drawn);
        if drawn.is_some_and(|drawn| now.duration_since(drawn) < DRAW_EVERY) {
            return false;
        }
        *drawn = Some(now);
        true
    }

    fn remember(&self, news: &News) {
        if let News::Event(message) = news
            && let Event::Mount { mount } = &message.event
            && mount.state == MountState::Ready
        {
            lock(&self.recent).add(Repo { repo: mount.repo.clone(), revision: mount.revision.clone() });
        }
    }

    fn pass_on(&self, news: &News) {
        match news {
            News::State(state) => window::tell(&self.handle, "engine-state", state),
            // The tray's own figures are none of the window's while it shows none.
            News::Event(message) if matches!(message.event, Event::Stats { .. }) && self.window_wants().is_none() => {}
            News::Event(message) => window::tell(&self.handle, "engine-event", message),
            News::Status(_) | News::Settings(_) => {}
        }
    }

    fn window_wants(&self) -> Option<u64> {
        lock(&self.window_stats_ms).filter(|_| self.is_visible.load(Ordering::Relaxed))
    }

    /// Asks for as many figures as somebody looks at, and draws the tray.
    fn refresh(&self) {
        if let Some(engine) = self.handle.try_state::<Engine>() {
            let tray = tray_wants(&self.mirror()).filter(|_| self.has_tray());
            engine.watch([self.window_wants(), tray].into_iter().flatten().min());
        }
        if !self.is_drawing.swap(true, Ordering::Relaxed) {
            on_main_thread(&self.handle, |app| {
                let of_app = App::of(app);
                of_app.is_drawing.store(false, Ordering::Relaxed);
                of_app.tray.show(app, &of_app.mirror(), &of_app.recent_repos());
            });
        }
    }
}

/// How often the tray wants figures: never while nothing can be read.
fn tray_wants(mirror: &Mirror) -> Option<u64> {
    let can_read = mirror.mounts.iter().any(|mount| mount.state == MountState::Ready);
    let is_busy = mirror.is_active() || mirror.open_files > 0;
    (mirror.engine == EngineState::Connected && can_read).then_some(if is_busy { TRAY_BUSY_MS } else { TRAY_IDLE_MS })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::MountStatus;

    #[test]
    fn the_tray_asks_for_figures_only_while_something_can_be_read() {
        let mut mirror = Mirror { engine: EngineState::Connected, ..Mirror::default() };
        assert_eq!(tray_wants(&mirror), None);
        mirror.mounts.push(MountStatus::new("a/b", "main", "/m", MountState::Starting));
        assert_eq!(tray_wants(&mirror), None);
        mirror.mounts[0].state = MountState::Ready;
        assert_eq!(tray_wants(&mirror), Some(TRAY_IDLE_MS));
        mirror.open_files = 1;
        assert_eq!(tray_wants(&mirror), Some(TRAY_BUSY_MS));
        mirror.engine = EngineState::Lost;
        assert_eq!(tray_wants(&mirror), None);
    }
}
