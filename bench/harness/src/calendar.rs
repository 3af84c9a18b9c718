//! Moments from the clocks of the system: a date for reports, and when a run began.

use std::time::{Duration, UNIX_EPOCH};

/// `now` in UTC as `2025-01-31 12:00`.
#[must_use]
pub fn utc_minutes(now: std::time::SystemTime) -> String {
    let seconds = now
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    let (year, month, day) = date(seconds / 86_400);
    let minutes = seconds % 86_400 / 60;
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}",
        minutes / 60,
        minutes % 60
    )
}

/// Now by `CLOCK_MONOTONIC`, by which a guest logs the requests to its disk.
pub(crate) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec)
}

/// The date `days` after 1 January 1970.
fn date(mut days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_have_their_known_dates() {
        let at = |seconds| utc_minutes(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00");
        assert_eq!(at(951_827_640), "2000-02-29 12:34");
        assert_eq!(at(1_735_689_599), "2024-12-31 23:59");
    }
}
