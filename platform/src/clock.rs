//! Moments as a person's clock shows them. Reads no clock itself.

#[cfg(not(unix))]
mod others;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use others as os;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
#[cfg(unix)]
use unix as os;

/// The first minute of the local clock that is not before `moment`: `14:05`. Where the system does not tell the local time, that
/// of Greenwich: `14:05 UTC`.
pub fn minute(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default() + Duration::from_millis(59_999);
    let seconds = since.as_secs() / 60 * 60;
    match os::hour_and_minute(seconds) {
        Some((hour, minute)) => format!("{hour:02}:{minute:02}"),
        None => format!("{:02}:{:02} UTC", seconds / 3600 % 24, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_shown_by_the_minute_in_which_it_is_over() {
        let at = |seconds| minute(UNIX_EPOCH + Duration::from_millis(seconds));
        // Zones differ by quarters of an hour, so the last digit is the same everywhere.
        for (millis, last) in [(0, '0'), (1, '1'), (60_000, '1'), (60_001, '2'), (1_700_000_040_000, '4')] {
            let text = at(millis);
            assert!(text.len() >= 5 && text.as_bytes()[2] == b':', "{text}");
            assert_eq!(text.chars().nth(4), Some(last), "{millis}: {text}");
        }
    }
}
