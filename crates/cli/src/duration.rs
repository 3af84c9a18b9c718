//! Times as people write them: `60s`, `5m`, `20ms`, `150us`.

/// The text is no time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a time: write a whole number with us, ms, s, m or h behind it, such as 60s")]
pub struct DurationError(String);

/// Nanoseconds that `text` stands for.
///
/// # Errors
/// Not a whole number, no unit, or more than fits into 64 bits.
pub fn parse(text: &str) -> Result<u64, DurationError> {
    let wrong = || DurationError(text.to_owned());
    let digits = text.trim_end_matches(|sign: char| !sign.is_ascii_digit());
    let unit_ns: u64 = match &text[digits.len()..] {
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(wrong()),
    };
    if !digits.bytes().all(|sign| sign.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(unit_ns).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_whole_number_with_a_unit() {
        assert_eq!(parse("60s"), Ok(60_000_000_000));
        assert_eq!(parse("20ms"), Ok(20_000_000));
        assert_eq!(parse("5m"), parse("300s"));
        for text in [
            "",
            "s",
            "60",
            "1.5s",
            "-1s",
            "+1s",
            "60s ",
            "1 s",
            "99999999999h",
            "3d",
        ] {
            assert_eq!(parse(text), Err(DurationError(text.to_owned())));
        }
    }
}
