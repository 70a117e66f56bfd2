//! Linux: GTK's session, the tray as a D-Bus service that may be absent, and a library that may be.

use crate::texts;
use crate::tray::Ground;
use gtk::gdk;
use gtk::gio::{self, BusNameWatcherFlags, BusType, Cancellable, DBusCallFlags, DBusConnection, DBusSignalFlags};
use gtk::glib::{Variant, VariantTy};
use gtk::prelude::{GtkSettingsExt, ToVariant};
use std::env;
use std::os::unix::process::CommandExt;
use std::panic::{self, AssertUnwindSafe};
use std::process::Command;
use std::sync::Arc;

/// Looks at the session before anything is made that would panic without one. Words for people if there is none.
pub(crate) fn prepare() -> Result<(), String> {
    name_a_language()?;
    // What a panel calls the icon.
    gtk::glib::set_application_name(texts::NAME);
    gtk::init().map_err(|_| texts::NO_DISPLAY.to_owned())
}

/// Under `C.UTF-8` WebKitGTK tells pages the language "C", which `Intl` refuses, and the window stays blank. The process of
/// the page takes its language from the environment, and Rust cannot change its own safely, so the app starts anew with one
/// that has a language. A locale that is not installed is as good as none: WebKitGTK then says `en-US`.
fn name_a_language() -> Result<(), String> {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| env::var(name).ok().filter(|it| !it.is_empty()));
    if !locale.is_some_and(|locale| is_without_language(&locale)) {
        return Ok(());
    }
    let program = env::current_exe().map_err(|error| format!("{}: {error}", texts::CANNOT_START))?;
    let error = Command::new(program).args(env::args_os().skip(1)).env("LC_ALL", "en_US.UTF-8").exec();
    Err(format!("{}: {error}", texts::CANNOT_START))
}

/// `C` and `POSIX` alone are understood.
fn is_without_language(locale: &str) -> bool {
    locale.starts_with("C.") || locale.starts_with("POSIX.")
}

/// Runs what needs libayatana-appindicator, which is loaded at its first use and panics where it is missing. `None` then, for
/// good: it must not be tried again.
pub(crate) fn with_tray_library<T>(make: impl FnOnce() -> T) -> Option<T> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let made = panic::catch_unwind(AssertUnwindSafe(make));
    panic::set_hook(hook);
    match made {
        Ok(made) => Some(made),
        Err(_) => {
            eprintln!("{}", texts::NO_TRAY_LIBRARY);
            None
        }
    }
}

const WATCHER: &str = "org.kde.StatusNotifierWatcher";
const WATCHER_PATH: &str = "/StatusNotifierWatcher";
/// A watcher that does not answer shows no tray.
const ANSWER_MS: i32 = 2_000;

/// Tells, on GTK's thread, whether a panel shows tray icons, now and whenever that changes.
pub(crate) fn watch_tray_place(told: impl Fn(bool) + Send + Sync + 'static) {
    let told = Arc::new(told);
    gio::bus_get(BusType::Session, Cancellable::NONE, move |bus| {
        let Ok(bus) = bus else { return told(false) };
        let (appeared, vanished) = (told.clone(), told.clone());
        gio::bus_watch_name_on_connection(
            &bus,
            WATCHER,
            BusNameWatcherFlags::NONE,
            move |bus, _, _| ask_for_host(&bus, &appeared),
            move |_, _| vanished(false),
        );
        // The service may be there before a panel is.
        bus.signal_subscribe(
            None,
            Some(WATCHER),
            None,
            Some(WATCHER_PATH),
            None,
            DBusSignalFlags::NONE,
            move |bus, _, _, _, signal, _| {
                if signal.starts_with("StatusNotifierHost") {
                    ask_for_host(bus, &told);
                }
            },
        );
    });
}

fn ask_for_host(bus: &DBusConnection, told: &Arc<impl Fn(bool) + Send + Sync + 'static>) {
    let told = told.clone();
    bus.call(
        Some(WATCHER),
        WATCHER_PATH,
        "org.freedesktop.DBus.Properties",
        "Get",
        Some(&(WATCHER, "IsStatusNotifierHostRegistered").to_variant()),
        VariantTy::new("(v)").ok(),
        DBusCallFlags::NO_AUTO_START,
        ANSWER_MS,
        Cancellable::NONE,
        move |answer| told(answer.ok().and_then(|answer| flag(&answer)).unwrap_or(false)),
    );
}

fn flag(answer: &Variant) -> Option<bool> {
    answer.child_value(0).as_variant()?.get()
}

/// Panels follow the theme, but for GNOME's, which is dark.
pub(crate) fn ground() -> Ground {
    let desktop = env::var("XDG_CURRENT_DESKTOP").unwrap_or_default();
    let is_dark = gtk::Settings::default().is_some_and(|settings| {
        let name = settings.gtk_theme_name().unwrap_or_default();
        settings.is_gtk_application_prefer_dark_theme() || name.to_lowercase().contains("dark")
    });
    if is_dark || desktop.split(':').any(|name| name.eq_ignore_ascii_case("gnome")) {
        Ground::Dark
    } else {
        Ground::Light
    }
}

/// Puts text into the clipboard. On GTK's thread.
pub(crate) fn copy(text: &str) {
    gtk::Clipboard::get(&gdk::SELECTION_CLIPBOARD).set_text(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_without_a_language_is_known() {
        for (locale, expected) in [
            ("C.UTF-8", true),
            ("C.utf8", true),
            ("POSIX.UTF-8", true),
            ("C", false),
            ("POSIX", false),
            ("de_DE.UTF-8", false),
        ] {
            assert_eq!(is_without_language(locale), expected, "{locale}");
        }
    }
}
