//! Every policy by its name: the replicas', and the three that only a simulator has.
//!
//! A policy is written `name` or `name:key=value,key=value`; replicas say what they take in
//! [`ahead_replicas::registry`]. Here are `none`, which is the newest kernel with a limit of 0 pages,
//! and two that act before a read: `adaptive` is the library of `ahead run` over the kernel of 6.18,
//! `oracle` knows the future over a kernel that never reads ahead.

use std::fmt;
use std::str::FromStr;

use ahead_disk_model::DiskModel;
use ahead_engine::settings::{SettingError, Settings};
use ahead_policy::device::DeviceEstimate;
use ahead_replicas::kernel::Learned;
use ahead_replicas::kernel::folio::{Folio, FolioRelease};
use ahead_replicas::registry::{self, Algorithm};
use ahead_replicas::replica::{About, Key, PairError, RA_KB, pairs};

use crate::world::{FrontChoice, Machine, OracleSettings};

const NONE: About = About::new(
    "none",
    2025,
    "no read-ahead: what is asked for is read",
    &[],
);

/// Whether the disk says the opposite of what it is.
const MISLED: &str = "misled";

/// Its keys are the library's settings, two of them by the short names of 2005; these are the ones
/// worth showing.
const ADAPTIVE: About = About::new(
    "adaptive",
    2025,
    "ahead's policy over linux-6.18",
    &[
        Key::number("ratio", 50),
        Key::number("hit_rate", 2),
        RA_KB,
        Key::number("budget_mib", 0),
        Key::number("window_mib_max", 8),
        Key::number("access_us", 0),
        Key::number("bandwidth_mb", 0),
        Key::number("depth", 0),
        Key::number(MISLED, 0),
    ],
);

const ORACLE: About = About::new(
    "oracle",
    2025,
    "knows the future: a ceiling under the same memory",
    &[Key::number("window_mib", 128)],
);

/// What is said about every policy, in the order of lists.
#[must_use]
pub fn policies() -> Vec<&'static About> {
    let own = [&ADAPTIVE, &ORACLE];
    let replicas = registry::names();
    [&NONE].into_iter().chain(replicas).chain(own).collect()
}

/// A policy that can be run.
#[derive(Clone, Debug)]
pub struct Policy {
    /// As it was written.
    pub name: String,
    /// A file just opened.
    pub prototype: Algorithm,
    /// Who acts before a read.
    pub front: FrontChoice,
    /// What is known about a device at the start.
    pub learned: Learned,
    /// Its kernel maps what is cached around a fault: Linux since 3.15.
    pub knows_fault_around: bool,
}

/// A policy was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy has this name.
    #[error("no policy is called '{name}': known are {known}")]
    UnknownName {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
    /// The policy has no such key, or the value cannot be used.
    #[error(transparent)]
    BadPair(#[from] PairError),
    /// A setting of `adaptive` was refused.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

impl Policy {
    /// The policy that `text` writes, for machines with this disk.
    ///
    /// # Errors
    /// [`PolicyError`] says what is known instead.
    pub fn for_disk(text: &str, disk: &DiskModel) -> Result<Self, PolicyError> {
        let estimate = if disk.is_rotational() {
            DeviceEstimate::ARM
        } else {
            DeviceEstimate::FLASH
        };
        Self::parse(text, estimate)
    }

    fn parse(text: &str, device: DeviceEstimate) -> Result<Self, PolicyError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let (about, prototype, front) = match name.trim() {
            "none" => {
                NONE.values(rest, device)?;
                (&NONE, newest_kernel(0), FrontChoice::None)
            }
            "adaptive" => {
                let (front, ra_pages) = adaptive(rest, device)?;
                (&ADAPTIVE, newest_kernel(ra_pages), front)
            }
            "oracle" => {
                let values = ORACLE.values(rest, device)?;
                let front = FrontChoice::Oracle(OracleSettings {
                    window_pages: values.number("window_mib") * 256,
                    ..OracleSettings::default()
                });
                (&ORACLE, newest_kernel(0), front)
            }
            name => {
                let made = registry::make(name, rest, device);
                let (about, prototype) = made.ok_or_else(|| unknown(name))??;
                (about, prototype, FrontChoice::None)
            }
        };
        Ok(Self {
            name: text.trim().to_owned(),
            prototype,
            front,
            learned: about.learned,
            knows_fault_around: about.knows_fault_around,
        })
    }

    /// The same library over another kernel.
    #[must_use]
    pub fn over(self, kernel: Self) -> Self {
        Self {
            front: self.front,
            name: self.name,
            ..kernel
        }
    }

    /// `machine` as this policy's kernel uses it.
    #[must_use]
    pub fn machine(&self, machine: &Machine) -> Machine {
        let mut machine = machine.clone();
        if !self.knows_fault_around {
            machine.fault_around_pages = 1;
        }
        machine
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    /// As [`Policy::for_disk`] for a disk with an arm.
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        Self::parse(text, DeviceEstimate::ARM)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn newest_kernel(ra_pages: u64) -> Algorithm {
    Algorithm::Folio(Folio::new(FolioRelease::Linux6_18, ra_pages))
}

fn unknown(name: &str) -> PolicyError {
    let known: Vec<_> = policies().iter().map(|about| about.name).collect();
    PolicyError::UnknownName {
        name: name.to_owned(),
        known: known.join(" "),
    }
}

/// The library over the newest kernel, and that kernel's window in pages. What is neither the window
/// nor a lie of the disk is a setting of the library.
fn adaptive(text: &str, device: DeviceEstimate) -> Result<(FrontChoice, u64), PolicyError> {
    let mut is_misled = false;
    let mut settings = Settings::default();
    let mut ra_pages = None;
    for (key, value) in pairs(text) {
        let key = match key {
            "ratio" => "readahead_ratio",
            "hit_rate" => "readahead_hit_rate",
            "ra_kb" if ra_pages.is_none() => {
                let pair = format!("{key}={value}");
                let values = ADAPTIVE.values(&pair, device)?;
                ra_pages = Some(values.ra_pages());
                continue;
            }
            MISLED => {
                let pair = format!("{key}={value}");
                let values = ADAPTIVE.values(&pair, device)?;
                is_misled = values.number(MISLED) > 0;
                continue;
            }
            other => other,
        };
        settings.set(key, value)?;
    }
    let ra_pages = match ra_pages {
        Some(pages) => pages,
        None => ADAPTIVE.values("", device)?.ra_pages(),
    };
    let front = FrontChoice::Adaptive {
        settings,
        ra_pages,
        is_misled,
    };
    Ok((front, ra_pages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_policy_and_so_is_every_key_it_shows() {
        for about in policies() {
            let policy: Policy = about.name.parse().unwrap();
            assert_eq!(policy.to_string(), about.name);
            for Key { name: key, .. } in about.keys {
                let value = if *key == "when" { "miss" } else { "7" };
                let text = format!("{}:{key}={value}", about.name);
                text.parse::<Policy>().unwrap();
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_all_names() {
        let error = "linux-7.0".parse::<Policy>().unwrap_err().to_string();
        assert!(error.contains("known are none linux-2.2 "), "{error}");
        assert!(error.contains("linux-6.18 obl"), "{error}");
        assert!(error.ends_with("mountpoint adaptive oracle"), "{error}");
    }

    #[test]
    fn a_key_that_a_policy_does_not_have_is_refused() {
        for text in [
            "none:ra_kb=1",
            "linux-6.18:n=4",
            "oracle:window_mib=x",
            "adaptive:ra=1",
            "adaptive:ra_kb=x",
            "adaptive:ra_kb=1,ra_kb=2",
        ] {
            assert!(text.parse::<Policy>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_keys_that_adaptive_shows_have_the_defaults_of_the_library() {
        let plain = adaptive("", DeviceEstimate::ARM).unwrap();
        let shown = adaptive(&ADAPTIVE.keys_text(), DeviceEstimate::ARM).unwrap();
        assert_eq!(shown, plain);
    }
}
