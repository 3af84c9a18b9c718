//! How much of something is typed, where none of it would be nothing to do.

use std::str::FromStr;

use crate::size;

/// A number of times or seconds.
pub(super) fn from_one<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number >= N::from(1));
    number.ok_or_else(|| "write a whole number, 1 or more".to_owned())
}

/// A size, as it was typed.
pub(super) fn some_bytes(text: &str) -> Result<String, String> {
    match size::parse(text) {
        Ok(0) => Err("nothing would be read: write a size such as 64M".to_owned()),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_do_is_refused() {
        assert_eq!(from_one("3"), Ok(3_u32));
        assert_eq!(some_bytes("64M").as_deref(), Ok("64M"));
        for text in ["0", "", "-1", "three", "4294967296"] {
            assert!(from_one::<u32>(text).is_err(), "{text}");
        }
        for text in ["0", "0M", "4.5M"] {
            assert!(some_bytes(text).is_err(), "{text}");
        }
    }
}
