//! A window as it is typed: with its unit, as both are in use and differ by two.

use crate::size;

/// A text that is no window.
#[derive(Debug, thiserror::Error)]
pub enum WindowValueError {
    /// It says no unit.
    #[error(
        "'{0}' says no unit: write {0}K (KiB, as read_ahead_kb) or {0}s (sectors of 512 bytes, as blockdev)"
    )]
    NoUnit(String),
    /// It is no size.
    #[error("'{0}' is no window: write 512K, 4M or, in sectors of 512 bytes, 1024s")]
    Value(String),
}

/// A window in KiB, from `512K`, `4M` or `1024s`. Half a KiB is no multiple of a page and cannot be said here.
///
/// # Errors
/// [`WindowValueError`].
pub(super) fn kib(text: &str) -> Result<u64, WindowValueError> {
    let wrong = || WindowValueError::Value(text.to_owned());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if text == "0" {
        return Ok(0);
    }
    if is_number(text) {
        return Err(WindowValueError::NoUnit(text.to_owned()));
    }
    let bytes = match text.strip_suffix('s') {
        Some(sectors) if is_number(sectors) => {
            let sectors: u64 = sectors.parse().map_err(|_| wrong())?;
            sectors.checked_mul(512).ok_or_else(wrong)?
        }
        _ => size::parse(text).map_err(|_| wrong())?,
    };
    if bytes % 1024 != 0 {
        return Err(wrong());
    }
    Ok(bytes / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_said_with_its_unit() {
        assert_eq!(kib("512K").ok(), Some(512));
        assert_eq!(kib("4M").ok(), Some(4096));
        assert_eq!(kib("256s").ok(), Some(128));
        assert_eq!(kib("0").ok(), Some(0));
        for text in ["128k ", "256 sectors", "1s", "", "s", "-4K", "4.5M"] {
            assert!(
                matches!(kib(text), Err(WindowValueError::Value(_))),
                "{text}"
            );
        }
        let error = kib("3").expect_err("no unit").to_string();
        assert!(error.contains("3K") && error.contains("3s"), "{error}");
    }
}
