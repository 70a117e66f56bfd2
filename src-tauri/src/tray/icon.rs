//! Which picture the tray shows. Chooses among what is built in.

use crate::engine::EngineState;
use crate::mirror::Mirror;
use tauri::image::Image;
use weightless_control::MountState;

/// What the picture says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// All is well and nothing moves.
    Idle,
    /// Bytes flow.
    Busy,
    /// All network is paused.
    Paused,
    /// The engine or a mount is not there.
    Error,
    /// A newer version waits.
    Update,
}

/// The ground on which the picture stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// Dark: the picture is light.
    Dark,
    /// Light: the picture is dark.
    Light,
    /// The system inks the picture itself (macOS).
    Template,
}

/// What is wrong comes first, then what people chose, then what happens.
pub(crate) fn state(mirror: &Mirror) -> State {
    let is_wrong = |state| matches!(state, MountState::Failed | MountState::Silent | MountState::Dead);
    if matches!(mirror.engine, EngineState::Failed { .. }) || mirror.mounts.iter().any(|mount| is_wrong(mount.state)) {
        State::Error
    } else if mirror.is_paused {
        State::Paused
    } else if mirror.is_active() {
        State::Busy
    } else if mirror.update.is_some() {
        State::Update
    } else {
        State::Idle
    }
}

/// The picture: 48 pixels for panels that scale down, 44 for macOS at twice its 22 points.
pub(crate) fn picture(state: State, ground: Ground) -> tauri::Result<Image<'static>> {
    let png: &[u8] = match (state, ground) {
        (State::Idle, Ground::Dark) => include_bytes!("../../../icons/tray/idle-dark-48.png"),
        (State::Idle, Ground::Light) => include_bytes!("../../../icons/tray/idle-light-48.png"),
        (State::Idle, Ground::Template) => include_bytes!("../../../icons/tray/idle-template-44.png"),
        (State::Busy, Ground::Dark) => include_bytes!("../../../icons/tray/busy-dark-48.png"),
        (State::Busy, Ground::Light) => include_bytes!("../../../icons/tray/busy-light-48.png"),
        (State::Busy, Ground::Template) => include_bytes!("../../../icons/tray/busy-template-44.png"),
        (State::Paused, Ground::Dark) => include_bytes!("../../../icons/tray/paused-dark-48.png"),
        (State::Paused, Ground::Light) => include_bytes!("../../../icons/tray/paused-light-48.png"),
        (State::Paused, Ground::Template) => include_bytes!("../../../icons/tray/paused-template-44.png"),
        (State::Error, Ground::Dark) => include_bytes!("../../../icons/tray/error-dark-48.png"),
        (State::Error, Ground::Light) => include_bytes!("../../../icons/tray/error-light-48.png"),
        (State::Error, Ground::Template) => include_bytes!("../../../icons/tray/error-template-44.png"),
        (State::Update, Ground::Dark) => include_bytes!("../../../icons/tray/update-dark-48.png"),
        (State::Update, Ground::Light) => include_bytes!("../../../icons/tray/update-light-48.png"),
        (State::Update, Ground::Template) => include_bytes!("../../../icons/tray/update-template-44.png"),
    };
    Image::from_bytes(png)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weightless_control::{Fault, MountStatus};

    #[test]
    fn what_is_wrong_comes_before_what_was_chosen_and_that_before_what_happens() {
        let mut mirror = Mirror { engine: EngineState::Connected, ..Mirror::default() };
        assert_eq!(state(&mirror), State::Idle);
        mirror.update = Some("2".into());
        assert_eq!(state(&mirror), State::Update);
        mirror.traffic.delivered_rate_1s = 1;
        assert_eq!(state(&mirror), State::Busy);
        mirror.is_paused = true;
        assert_eq!(state(&mirror), State::Paused);
        mirror.mounts.push(MountStatus::new("a/b", "main", "/m", MountState::Failed));
        assert_eq!(state(&mirror), State::Error);
        mirror.mounts.clear();
        mirror.engine = EngineState::Failed { fault: Fault::new("x", "y") };
        assert_eq!(state(&mirror), State::Error);
    }

    #[test]
    fn every_state_has_its_own_picture_on_every_ground() {
        let states = [State::Idle, State::Busy, State::Paused, State::Error, State::Update];
        let mut seen = Vec::new();
        for ground in [Ground::Dark, Ground::Light, Ground::Template] {
            for state in states {
                let picture = picture(state, ground).unwrap().rgba().to_vec();
                assert!(picture.chunks(4).any(|pixel| pixel[3] == 255), "{state:?} on {ground:?} is empty");
                assert!(!seen.contains(&picture), "{state:?} on {ground:?} looks like another");
                seen.push(picture);
            }
        }
    }
}
