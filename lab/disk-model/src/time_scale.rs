//! How much faster (or slower) than real a disk runs, as an exact ratio.
//!
//! A scale divides every service time, and every limit that is a time. What the ratio should be is
//! the caller's affair: on two cores up to four times real speed holds for the hdd model.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Speed relative to real: 4 means that everything takes a quarter of its real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeScale {
    faster: u64,
    slower: u64,
}

/// The largest number on either side of the ratio; keeps every product inside 128 bits.
const SIDE_MAX: u64 = 1_000_000;

/// A time scale that could not be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("time scale {0:?} is not a number above zero, such as 4, 0.5 or 1/3")]
pub struct TimeScaleError(String);

impl TimeScale {
    /// Real speed.
    pub const REAL: Self = Self {
        faster: 1,
        slower: 1,
    };

    /// `faster / slower` times real speed; `None` when a side is zero or above a million.
    #[must_use]
    pub const fn new(faster: u64, slower: u64) -> Option<Self> {
        if faster == 0 || slower == 0 || faster > SIDE_MAX || slower > SIDE_MAX {
            return None;
        }
        Some(Self { faster, slower })
    }

    /// The ratio: how much faster, and how much slower. Both are above 0.
    #[must_use]
    pub const fn sides(self) -> (u64, u64) {
        (self.faster, self.slower)
    }

    /// A real duration in this scale, in nanoseconds. Rounds up: never faster than the model allows.
    #[must_use]
    pub fn apply(self, real_ns: u64) -> u64 {
        let scaled = (u128::from(real_ns) * u128::from(self.slower)).div_ceil(self.faster.into());
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// The real duration that takes `scaled_ns` in this scale. Rounds up: a moment that comes in and
    /// goes out again is never earlier than it was.
    #[must_use]
    pub(crate) fn real_from(self, scaled_ns: u64) -> u64 {
        let real = (u128::from(scaled_ns) * u128::from(self.faster)).div_ceil(self.slower.into());
        u64::try_from(real).unwrap_or(u64::MAX)
    }

    /// Nanoseconds for `amount` units at `per_second` units in a real second. Rounds up.
    #[must_use]
    pub(crate) fn time_for(self, amount: u64, per_second: u64) -> u64 {
        let numerator = u128::from(amount) * 1_000_000_000 * u128::from(self.slower);
        let denominator = u128::from(per_second.max(1)) * u128::from(self.faster);
        u64::try_from(numerator.div_ceil(denominator)).unwrap_or(u64::MAX)
    }
}

impl Default for TimeScale {
    fn default() -> Self {
        Self::REAL
    }
}

impl fmt::Display for TimeScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.slower {
            1 => write!(f, "{}", self.faster),
            slower => write!(f, "{}/{slower}", self.faster),
        }
    }
}

impl From<TimeScale> for String {
    fn from(scale: TimeScale) -> Self {
        scale.to_string()
    }
}

impl TryFrom<String> for TimeScale {
    type Error = TimeScaleError;
    fn try_from(text: String) -> Result<Self, TimeScaleError> {
        text.parse()
    }
}

impl FromStr for TimeScale {
    type Err = TimeScaleError;

    /// Reads `4`, `0.25` (up to six decimals) or `1/3`.
    fn from_str(text: &str) -> Result<Self, TimeScaleError> {
        let wrong = || TimeScaleError(text.to_owned());
        let (faster, slower) = if let Some((faster, slower)) = text.split_once('/') {
            (faster.to_owned(), slower.parse().map_err(|_| wrong())?)
        } else if let Some((whole, decimals)) = text.split_once('.') {
            let places = u32::try_from(decimals.len()).map_err(|_| wrong())?;
            let slower = 10_u64.checked_pow(places).ok_or_else(wrong)?;
            (format!("{whole}{decimals}"), slower)
        } else {
            (text.to_owned(), 1)
        };
        let digits_only = faster.bytes().all(|byte| byte.is_ascii_digit());
        let faster: u64 = faster.parse().map_err(|_| wrong())?;
        let divisor = greatest_common_divisor(faster, slower).max(1);
        match Self::new(faster / divisor, slower / divisor) {
            Some(scale) if digits_only => Ok(scale),
            _ => Err(wrong()),
        }
    }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_read_as_people_write_them() {
        assert_eq!(
            "4".parse(),
            Ok(TimeScale {
                faster: 4,
                slower: 1
            })
        );
        assert_eq!(
            "0.25".parse(),
            Ok(TimeScale {
                faster: 1,
                slower: 4
            })
        );
        assert_eq!(
            "2/6".parse(),
            Ok(TimeScale {
                faster: 1,
                slower: 3
            })
        );
        for wrong in [
            "", "0", "0.0", "-1", "+4", "1/0", "x", "1e3", "99999999", ".",
        ] {
            assert!(
                wrong.parse::<TimeScale>().is_err(),
                "{wrong:?} was accepted"
            );
        }
    }

    #[test]
    fn a_scale_survives_being_written_and_read() {
        let third = TimeScale::new(1, 3).expect("in range");
        assert_eq!(third.to_string().parse(), Ok(third));
    }

    #[test]
    fn a_scaled_time_is_never_shorter_than_the_model_allows() {
        let triple = TimeScale::new(3, 1).expect("in range");
        assert_eq!(triple.apply(10), 4);
        assert_eq!(triple.apply(u64::MAX), u64::MAX / 3);
    }
}
