//! In which order requests that wait are served.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{ModelError, within};

/// In which order waiting requests are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum ServiceOrder {
    /// First come, first served.
    Fifo,
    /// Ascending from where the head is, then again from the lowest, as elevators do.
    CLook {
        /// A request that has waited longer (real milliseconds) goes first, oldest first. Without
        /// this, one contiguous stream holds the head and the others starve.
        age_ms_max: u64,
    },
}

/// What Linux' own deadline scheduler allows a read to wait. Lower, and concurrent streams tear each
/// other apart; higher, and a waiting reader looks hung.
const AGE_MS_MAX: u64 = 500;

impl ServiceOrder {
    /// C-LOOK with the usual limit for waiting.
    pub const C_LOOK: Self = Self::CLook {
        age_ms_max: AGE_MS_MAX,
    };

    pub(crate) fn check(self) -> Result<(), ModelError> {
        match self {
            Self::Fifo => Ok(()),
            Self::CLook { age_ms_max } => {
                let field = "order.age_ms_max";
                within(field, age_ms_max, 0, 3_600_000, "at most an hour")
            }
        }
    }
}

impl FromStr for ServiceOrder {
    type Err = ModelError;

    /// Reads `fifo`, `c-look`, or `c-look:MS` with the longest wait in milliseconds.
    fn from_str(text: &str) -> Result<Self, ModelError> {
        let unknown = || ModelError::UnknownOrder(text.to_owned());
        match text {
            "fifo" => Ok(Self::Fifo),
            "c-look" => Ok(Self::C_LOOK),
            _ => {
                let age = text.strip_prefix("c-look:").ok_or_else(unknown)?;
                let age_ms_max = age.parse().map_err(|_| unknown())?;
                Ok(Self::CLook { age_ms_max })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_people_write_them() {
        assert_eq!("fifo".parse(), Ok(ServiceOrder::Fifo));
        assert_eq!("c-look".parse(), Ok(ServiceOrder::C_LOOK));
        assert_eq!(
            "c-look:20".parse(),
            Ok(ServiceOrder::CLook { age_ms_max: 20 })
        );
        for wrong in ["", "clook", "c-look:", "c-look:-1", "FIFO"] {
            assert!(
                wrong.parse::<ServiceOrder>().is_err(),
                "{wrong:?} was accepted"
            );
        }
    }
}
