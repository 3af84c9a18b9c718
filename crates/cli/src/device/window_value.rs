//! A window as it is typed: with its unit, as both are in use and differ by two.

use ahead_device::window::{self, WINDOW_KIB_MAX};

use crate::size;

/// A text that is no window.
#[derive(Debug, thiserror::Error)]
pub enum WindowValueError {
    /// It says no unit.
    #[error("'{text}' says no unit: write {}", .suggestions.join(" or "))]
    NoUnit {
        /// As it was typed.
        text: String,
        /// The windows that it can mean, to whole pages.
        suggestions: Vec<String>,
    },
    /// Sectors that make no pages.
    #[error("'{text}' is not a whole number of pages, which are 8 sectors: write {whole}s")]
    NotPages {
        /// As it was typed.
        text: String,
        /// In sectors.
        whole: u64,
    },
    /// Too large in any unit.
    #[error("'{0}' is more than {WINDOW_KIB_MAX} KiB (1 GiB), which no device needs")]
    TooLarge(String),
    /// It is no size.
    #[error(
        "'{0}' is no window: write a whole number and its unit, as in 512K, 4M or, in sectors of 512 bytes, 1024s"
    )]
    Value(String),
}

/// A window in KiB, from `512K`, `4M` or `1024s`. Half a KiB is no multiple of a page and cannot be said here.
///
/// # Errors
/// [`WindowValueError`].
pub(super) fn kib(text: &str) -> Result<u64, WindowValueError> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if text == "0" {
        return Ok(0);
    }
    if is_number(text) {
        return Err(without_unit(text));
    }
    if let Some(sectors) = text.strip_suffix('s').filter(|it| is_number(it)) {
        // More than fits is more than there can be.
        let sectors = sectors.parse().unwrap_or(u64::MAX);
        if sectors / 2 > WINDOW_KIB_MAX {
            return Err(WindowValueError::TooLarge(text.to_owned()));
        }
        if sectors % 2 != 0 {
            let (text, whole) = (text.to_owned(), 2 * window::whole_pages(sectors / 2));
            return Err(WindowValueError::NotPages { text, whole });
        }
        return Ok(sectors / 2);
    }
    let bytes = size::parse(text).map_err(|_| {
        let digits = text.trim_end_matches(|sign: char| !sign.is_ascii_digit());
        // The number alone does not fit, or what the unit makes of it.
        if is_number(digits) && size::parse(&text.replacen(digits, "1", 1)).is_ok() {
            WindowValueError::TooLarge(text.to_owned())
        } else {
            WindowValueError::Value(text.to_owned())
        }
    })?;
    Ok(bytes / 1024)
}

/// What a number without a unit can mean: each is one that can be set.
fn without_unit(text: &str) -> WindowValueError {
    let number = text.parse().unwrap_or(u64::MAX);
    let suggestions: Vec<String> = [
        (number, 1, "K (KiB, as read_ahead_kb)"),
        (number / 2, 2, "s (sectors of 512 bytes, as blockdev)"),
    ]
    .into_iter()
    .filter(|(kib, ..)| *kib <= WINDOW_KIB_MAX)
    .map(|(kib, factor, unit)| format!("{}{unit}", factor * window::whole_pages(kib)))
    .collect();
    let text = text.to_owned();
    if suggestions.is_empty() {
        WindowValueError::TooLarge(text)
    } else {
        WindowValueError::NoUnit { text, suggestions }
    }
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
        for text in ["128k ", "256 sectors", "", "s", "-4K", "4.5M", "512kb"] {
            assert!(
                matches!(kib(text), Err(WindowValueError::Value(_))),
                "{text}"
            );
        }
    }

    /// `1025` was answered with `1025K` and `1025s`, which were both refused.
    #[test]
    fn what_a_refusal_says_to_write_is_taken() {
        for (text, suggestions) in [
            ("3", &["4K", "8s"][..]),
            ("512", &["512K", "512s"]),
            ("1025", &["1024K", "1024s"]),
            ("2097152", &["2097152s"]),
            ("1s", &["8s"]),
            ("1025s", &["1024s"]),
        ] {
            let said = kib(text).expect_err("refused").to_string();
            for suggestion in suggestions {
                let is_said = said.contains(&format!("write {suggestion}"))
                    || said.contains(&format!("or {suggestion}"));
                assert!(is_said, "{text}: {said}");
                let kib = kib(suggestion).expect("a window");
                assert!(window::check(kib).is_ok(), "{suggestion}");
            }
        }
        for text in [
            "2097154",
            "99999999999999999999",
            "2097154s",
            "99999999999T",
        ] {
            let error = kib(text).expect_err("refused");
            assert!(
                matches!(error, WindowValueError::TooLarge(_)),
                "{text}: {error}"
            );
        }
    }
}
