//! Sizes as people write them: `4G`, `512M`, `1048576`.

/// The text is not a size.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a size: write a whole number with K, M, G or T behind it, such as 4G")]
pub struct SizeError(String);

/// Bytes that `text` stands for. The suffixes are powers of 1024; `iB` may follow them.
///
/// # Errors
/// Not a whole number, an unknown suffix, or more than fits into 64 bits.
pub fn parse(text: &str) -> Result<u64, SizeError> {
    let wrong = || SizeError(text.to_owned());
    let digits = text.trim_end_matches(|sign: char| !sign.is_ascii_digit());
    let shift = match text[digits.len()..].trim_end_matches("iB") {
        "" => 0,
        "K" | "k" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_powers_of_1024() {
        assert_eq!(parse("4G"), Ok(4 << 30));
        assert_eq!(parse("64MiB"), Ok(64 << 20));
        assert_eq!(parse("4096"), Ok(4096));
    }

    #[test]
    fn what_is_no_size_is_named() {
        for text in ["", "G", "4X", "4.5G", "-1", "99999999999T", "4 G"] {
            assert_eq!(parse(text), Err(SizeError(text.to_owned())));
        }
    }
}
