//! From the text of a policy to its prototype: names, keys, values.

use std::fmt;
use std::str::FromStr;

use ahead_disk_model::DiskModel;
use ahead_engine::settings::{SettingError, Settings};
use ahead_policy::device::DeviceEstimate;
use ahead_replicas::kernel::Learned;
use ahead_replicas::kernel::advise::Advised;
use ahead_replicas::kernel::ara::{self, Ara};
use ahead_replicas::kernel::ara_v1::AraV1;
use ahead_replicas::kernel::folio::{self, Folio};
use ahead_replicas::kernel::linux_2_2::{self, Linux2_2};
use ahead_replicas::kernel::linux_2_4::Linux2_4;
use ahead_replicas::kernel::linux_2_6_9::Linux2_6_9;
use ahead_replicas::kernel::linux_2_6_11::{self, Stock};
use ahead_replicas::kernel::on_demand::{self, OnDemand};
use ahead_replicas::literature::amp::Amp;
use ahead_replicas::literature::competitive::Competitive;
use ahead_replicas::literature::degree::{self, Degree};
use ahead_replicas::literature::majority_trend::MajorityTrend;
use ahead_replicas::literature::mountpoint::Mountpoint;
use ahead_replicas::literature::one_block::{OneBlock, When};
use ahead_replicas::literature::rocksdb::RocksDb;
use ahead_replicas::literature::sarc::Sarc;

use super::{Algorithm, NAMES};
use crate::world::{FrontChoice, Machine, OracleSettings};

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

/// Kernels before fault-around. Their rules for mappings count hits that fault-around hides.
const BEFORE_FAULT_AROUND: &[&str] = &[
    "linux-2.2",
    "advise-original",
    "advise-true",
    "linux-2.4",
    "linux-2.6.9",
    "linux-2.6.11",
    "linux-2.6.18",
    "ara-v1",
    "ara-v15",
    "ara-june",
    "ara-v16",
    "linux-2.6.24",
    "linux-2.6.31",
    "linux-3.12",
    "thrash-safe-2010",
];

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
    #[error("policy '{name}' does not take '{pair}': it takes {known}")]
    BadPair {
        /// The policy.
        name: String,
        /// As it was written.
        pair: String,
        /// Its keys, with their defaults.
        known: String,
    },
    /// A setting of `adaptive` was refused.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// Keys and values behind the colon.
struct Pairs<'a> {
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Pairs<'a> {
    fn parse(text: &'a str) -> Self {
        let pairs = text
            .split(',')
            .map(str::trim)
            .filter(|pair| !pair.is_empty());
        Self {
            pairs: pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .collect(),
        }
    }

    fn text(&mut self, key: &str) -> Option<&'a str> {
        let place = self.pairs.iter().position(|(known, _)| *known == key)?;
        Some(self.pairs.remove(place).1)
    }

    /// The number of `key`, or `default`. One that cannot be read stays, and is refused later.
    fn number(&mut self, key: &str, default: u64) -> u64 {
        let place = self.pairs.iter().position(|(known, _)| *known == key);
        let number = place.and_then(|place| {
            let number = self.pairs[place]
                .1
                .parse()
                .ok()
                .filter(|n| *n <= NUMBER_MAX)?;
            self.pairs.remove(place);
            Some(number)
        });
        number.unwrap_or(default)
    }

    /// `ra_kb` in pages.
    fn ra_pages(&mut self, default_kb: u64) -> u64 {
        self.number("ra_kb", default_kb) / 4
    }
}

/// Far beyond every sensible value, and far from where arithmetic wraps.
const NUMBER_MAX: u64 = 1 << 40;

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

    fn parse(text: &str, estimate: DeviceEstimate) -> Result<Self, PolicyError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        let Some((_, known, _)) = NAMES.iter().find(|(known, ..)| *known == name) else {
            let names: Vec<_> = NAMES.iter().map(|(name, ..)| *name).collect();
            return Err(PolicyError::UnknownName {
                name: name.to_owned(),
                known: names.join(" "),
            });
        };
        let mut pairs = Pairs::parse(rest);
        let mut front = FrontChoice::None;
        let prototype = match name {
            "adaptive" => {
                let ra_pages = pairs.ra_pages(128);
                let settings = settings(&mut pairs)?;
                front = FrontChoice::Adaptive { settings, ra_pages };
                Algorithm::Folio(Folio::new(folio::Release::Linux6_18, ra_pages))
            }
            "oracle" => {
                let window_pages = pairs.number("window_mib", 128) * 256;
                front = FrontChoice::Oracle(OracleSettings {
                    window_pages,
                    ..OracleSettings::default()
                });
                Algorithm::Folio(Folio::new(folio::Release::Linux6_18, 0))
            }
            _ => kernel(name, &mut pairs)
                .or_else(|| literature(name, &mut pairs, estimate))
                .unwrap_or_else(|| unreachable!("{name} is in NAMES")),
        };
        if let Some((key, value)) = pairs.pairs.first() {
            return Err(PolicyError::BadPair {
                name: name.to_owned(),
                pair: format!("{key}={value}"),
                known: if known.is_empty() {
                    "nothing".to_owned()
                } else {
                    (*known).to_owned()
                },
            });
        }
        let learned = if name == "ara-v16" {
            ara::Release::V16.learned()
        } else {
            Learned::default()
        };
        Ok(Self {
            name: text.trim().to_owned(),
            prototype,
            front,
            learned,
            knows_fault_around: !BEFORE_FAULT_AROUND.contains(&name),
        })
    }
}

impl Policy {
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

/// All other pairs are settings of the library, under their own names or the short ones of 2005.
fn settings(pairs: &mut Pairs<'_>) -> Result<Settings, SettingError> {
    let mut settings = Settings::default();
    for (key, value) in std::mem::take(&mut pairs.pairs) {
        let key = match key {
            "ratio" => "readahead_ratio",
            "hit_rate" => "readahead_hit_rate",
            other => other,
        };
        settings.set(key, value)?;
    }
    Ok(settings)
}

fn kernel(name: &str, pairs: &mut Pairs<'_>) -> Option<Algorithm> {
    let old = |pairs: &mut Pairs<'_>, settings: linux_2_2::Settings| linux_2_2::Settings {
        ahead_max: pairs.number("n", settings.ahead_max),
        ahead_min: pairs.number("min", settings.ahead_min),
        cluster: pairs.number("cluster", settings.cluster),
        ..settings
    };
    let on_demand = |pairs: &mut Pairs<'_>, release, ra_kb| {
        Algorithm::OnDemand(OnDemand::new(release, pairs.ra_pages(ra_kb)))
    };
    Some(match name {
        "none" => Algorithm::Folio(Folio::new(folio::Release::Linux6_18, 0)),
        "linux-2.2" => {
            let settings = old(pairs, linux_2_2::Settings::LINUX_2_2);
            Algorithm::Linux2_2(Linux2_2::new(settings))
        }
        "linux-2.4" => {
            let settings = old(pairs, linux_2_2::Settings::LINUX_2_4);
            Algorithm::Linux2_4(Linux2_4::new(settings))
        }
        "advise-original" => Algorithm::Advised(Advised::original(pairs.number("n", 16))),
        "advise-true" => {
            let pages = pairs.number("n", 16);
            Algorithm::Advised(match pairs.number("period", 0) {
                0 => Advised::true_read_ahead(pages),
                period => Advised::true_with_period(pages, period),
            })
        }
        "linux-2.6.9" => Algorithm::Linux2_6_9(Linux2_6_9::new(pairs.ra_pages(128))),
        "linux-2.6.11" => Algorithm::Stock(Stock::new(
            linux_2_6_11::Release::Linux2_6_11,
            pairs.ra_pages(128),
        )),
        "linux-2.6.18" => Algorithm::Stock(Stock::new(
            linux_2_6_11::Release::Linux2_6_18,
            pairs.ra_pages(128),
        )),
        "ara-v1" => Algorithm::AraV1(AraV1::new(pairs.number("ratio", 50), pairs.ra_pages(128))),
        "ara-v15" => adaptive_2006(ara::Release::V15, pairs),
        "ara-june" => adaptive_2006(ara::Release::June, pairs),
        "ara-v16" => adaptive_2006(ara::Release::V16, pairs),
        "linux-2.6.24" => on_demand(pairs, on_demand::Release::Linux2_6_24, 128),
        "linux-2.6.31" => on_demand(pairs, on_demand::Release::Linux2_6_31, 128),
        "linux-3.12" => on_demand(pairs, on_demand::Release::Linux3_12, 128),
        "linux-4.19" => on_demand(pairs, on_demand::Release::Linux4_19, 128),
        "thrash-safe-2010" => on_demand(pairs, on_demand::Release::ThrashSafe2010, 512),
        "linux-6.12" => {
            Algorithm::Folio(Folio::new(folio::Release::Linux6_12, pairs.ra_pages(128)))
        }
        "linux-6.18" => {
            Algorithm::Folio(Folio::new(folio::Release::Linux6_18, pairs.ra_pages(128)))
        }
        _ => return None,
    })
}

fn adaptive_2006(release: ara::Release, pairs: &mut Pairs<'_>) -> Algorithm {
    let knobs = ara::Knobs::of(release);
    let knobs = ara::Knobs {
        ratio: pairs.number("ratio", knobs.ratio),
        hit_rate: pairs.number("hit_rate", knobs.hit_rate),
        pages_max: pairs.ra_pages(knobs.pages_max * 4),
        nfsd: release == ara::Release::V16 && pairs.number("nfsd", 0) > 0,
        ..knobs
    };
    Algorithm::Ara(Ara::with_knobs(release, knobs))
}

fn literature(name: &str, pairs: &mut Pairs<'_>, estimate: DeviceEstimate) -> Option<Algorithm> {
    let degree = |pairs: &mut Pairs<'_>, adaptive, pages, trigger_part: Option<u64>| {
        let degree_pages = pairs.number("n", pages);
        let trigger_pages =
            trigger_part.map(|part| pairs.number("trigger", (degree_pages / part).max(1)));
        Algorithm::Degree(Degree::new(degree::Settings {
            adaptive,
            trigger_pages,
            degree_pages,
        }))
    };
    Some(match name {
        "obl" => {
            let when = match pairs.text("when") {
                None | Some("tagged") => When::Tagged,
                Some("always") => When::Always,
                Some("miss") => When::OnMiss,
                Some(other) => {
                    pairs.pairs.push(("when", other));
                    When::Tagged
                }
            };
            Algorithm::OneBlock(OneBlock::new(when))
        }
        "fixed-sync" => degree(pairs, false, 32, None),
        "fixed-async" => degree(pairs, false, 32, Some(2)),
        "adaptive-sync" => degree(pairs, true, 128, None),
        "adaptive-async" => degree(pairs, true, 128, Some(4)),
        "amp" => Algorithm::Amp(Amp::new(pairs.number("n", 256))),
        "sarc" => Algorithm::Sarc(Sarc::new(pairs.number("track", 8))),
        "leap" => Algorithm::MajorityTrend(MajorityTrend::default()),
        "competitive" => {
            let access_us = pairs.number("access_us", estimate.access_ns / 1000);
            let megabytes = pairs.number("bandwidth_mb", estimate.bytes_per_second / 1_000_000);
            Algorithm::Competitive(Competitive::new(&DeviceEstimate {
                access_ns: access_us * 1000,
                bytes_per_second: megabytes * 1_000_000,
                ..estimate
            }))
        }
        "rocksdb" => Algorithm::RocksDb(RocksDb::default()),
        "mountpoint" => Algorithm::Mountpoint(Mountpoint::new(pairs.number("mib", 2048) * 256)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_policy_and_so_is_every_key_it_shows() {
        for (name, keys, _) in NAMES {
            let policy: Policy = name.parse().unwrap();
            assert_eq!(policy.to_string(), *name);
            for pair in keys.split(',').filter(|pair| !pair.is_empty()) {
                let (key, value) = pair.split_once('=').unwrap();
                let value = if value.parse::<u64>().is_ok() || key == "when" {
                    value
                } else {
                    "7"
                };
                format!("{name}:{key}={value}").parse::<Policy>().unwrap();
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_all_names() {
        let error = "linux-7.0".parse::<Policy>().unwrap_err().to_string();
        assert!(error.contains("linux-6.18 obl"), "{error}");
    }

    #[test]
    fn a_key_that_a_policy_does_not_have_is_refused() {
        for text in [
            "linux-6.18:n=4",
            "linux-6.18:ra_kb=x",
            "obl:when=never",
            "leap:n=1",
            "adaptive:ra=1",
        ] {
            assert!(text.parse::<Policy>().is_err(), "{text}");
        }
    }
}
