//! The arms: under which circumstances the same reads are compared.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One arm of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Arm {
    /// The kernel's read-ahead switched off for the device: the floor.
    Off,
    /// The stock kernel with one read-ahead size for the device.
    Stock {
        /// `read_ahead_kb` of the device.
        kib: u64,
    },
    /// The best of several static sizes, found by trying them all. Never run as such: a plan with
    /// it runs the sizes of its sweep as [`Arm::Stock`].
    StaticBest,
    /// The interposed library, with these settings on top of those of the plan.
    Run {
        /// `key=value` pairs.
        settings: Vec<String>,
    },
    /// The daemon beside the reader.
    Daemon {
        /// The reader is linked statically: nothing could be loaded into it.
        is_static: bool,
    },
    /// The kernel's own adaptive read-ahead, beside 128 KiB for the device: a kernel with our patches.
    Patched,
    /// A reader that knows its own future and keeps the device busy.
    Ceiling,
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Stock { kib } => write!(f, "stock:{kib}"),
            Self::StaticBest => f.write_str("static-best"),
            Self::Run { settings } if settings.is_empty() => f.write_str("run"),
            Self::Run { settings } => write!(f, "run:{}", settings.join("+")),
            Self::Daemon { is_static: false } => f.write_str("daemon"),
            Self::Daemon { is_static: true } => f.write_str("daemon:static"),
            Self::Patched => f.write_str("patched"),
            Self::Ceiling => f.write_str("ceiling"),
        }
    }
}

impl From<Arm> for String {
    fn from(arm: Arm) -> Self {
        arm.to_string()
    }
}

impl TryFrom<String> for Arm {
    type Error = ParseArmError;
    fn try_from(text: String) -> Result<Self, ParseArmError> {
        text.parse()
    }
}

/// An arm was not understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{text}` is no arm; known: off, stock:KIB, static-best, run, run:KEY=VALUE+KEY=VALUE, daemon, daemon:static, \
     patched, ceiling"
)]
pub struct ParseArmError {
    /// What was asked for.
    pub text: String,
}

impl FromStr for Arm {
    type Err = ParseArmError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || ParseArmError {
            text: text.to_owned(),
        };
        match text.split_once(':') {
            None => match text {
                "off" => Ok(Self::Off),
                "static-best" => Ok(Self::StaticBest),
                "run" => Ok(Self::Run {
                    settings: Vec::new(),
                }),
                "daemon" => Ok(Self::Daemon { is_static: false }),
                "patched" => Ok(Self::Patched),
                "ceiling" => Ok(Self::Ceiling),
                _ => Err(unknown()),
            },
            Some(("stock", kib)) => {
                let kib = kib.parse().map_err(|_| unknown())?;
                Ok(Self::Stock { kib })
            }
            Some(("daemon", "static")) => Ok(Self::Daemon { is_static: true }),
            Some(("run", settings)) => {
                let settings: Vec<_> = settings.split('+').map(str::to_owned).collect();
                let pairs = settings
                    .iter()
                    .all(|pair| pair.split_once('=').is_some_and(|p| !p.0.is_empty()));
                if pairs {
                    Ok(Self::Run { settings })
                } else {
                    Err(unknown())
                }
            }
            Some(_) => Err(unknown()),
        }
    }
}

/// Reads a list of arms with commas between.
pub fn parse_list(text: &str) -> Result<Vec<Arm>, ParseArmError> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::parse)
        .collect()
}

/// The arms that are really run for what was asked: the sweep in place of `static-best`, each
/// setting once.
#[must_use]
pub fn expand(arms: &[Arm], sweep_kib: &[u64]) -> Vec<Arm> {
    let mut expanded: Vec<Arm> = Vec::new();
    let mut add = |arm: Arm| {
        if !expanded.contains(&arm) {
            expanded.push(arm);
        }
    };
    for arm in arms {
        match arm {
            Arm::StaticBest => sweep_kib
                .iter()
                .for_each(|kib| add(Arm::Stock { kib: *kib })),
            other => add(other.clone()),
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arm_is_read_back_as_itself() {
        let text = "off,stock:128,static-best,run,run:readahead_hit_rate=2+submit=thread,patched,daemon,\
                    daemon:static,ceiling";
        let arms = parse_list(text).unwrap();
        let back: Vec<_> = arms.iter().map(ToString::to_string).collect();
        assert_eq!(back.join(","), text);
    }

    #[test]
    fn an_unknown_arm_is_answered_with_the_known_ones() {
        for text in [
            "stok:128",
            "stock:many",
            "run:",
            "run:x",
            "best",
            "daemon:shared",
        ] {
            let error = parse_list(text).unwrap_err().to_string();
            assert!(error.contains("static-best"), "{error}");
        }
    }

    #[test]
    fn a_sweep_shares_its_sizes_with_the_stock_arms() {
        let arms = parse_list("off,stock:128,static-best,ceiling").unwrap();
        let expanded = expand(&arms, &[32, 128, 512]);
        let names: Vec<_> = expanded.iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            ["off", "stock:128", "stock:32", "stock:512", "ceiling"]
        );
    }
}
