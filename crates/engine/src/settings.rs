//! What a person may set: names, defaults, limits, and the text form that travels in the environment.
//!
//! The command line, the config file and the interposed library all go through [`Settings::set`],
//! so a value is checked once, in one place. Which source wins is the caller's business.

use core::fmt::Write as _;

use ahead_policy::knobs::Knobs;
use ahead_units::{ByteLength, PageCount};

/// Who decides what is read ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyChoice {
    /// The shipped policy: streams, patterns, windows.
    #[default]
    Adaptive,
    /// None: the kernel's read-ahead is turned off for the files read, nothing is prefetched.
    Off,
    /// The kernel alone: accesses are watched and reported, nothing is asked for.
    Kernel,
}

/// The longest that a page takes to be copied from memory. 4 KiB take 350 ns; more where the copy has
/// faults of its own. Lower, and long reads from memory look like waits.
pub const COPY_PAGE_NS: u64 = 1_000;

/// One name that can be set.
#[derive(Clone, Copy, Debug)]
pub struct KeyDoc {
    /// What `--set` and the config file call it.
    pub name: &'static str,
    /// Its value when it is not set, as text.
    pub default: &'static str,
    /// One sentence for a person.
    pub meaning: &'static str,
}

/// Every name that can be set, in the order shown to a person.
pub const KEYS: &[KeyDoc] = &[
    KeyDoc {
        name: "policy",
        default: "adaptive",
        meaning: "who decides: adaptive, off (no read-ahead at all), kernel (watch only)",
    },
    KeyDoc {
        name: "readahead_ratio",
        default: "50",
        meaning: "0 no read-ahead, 1 the kernel's own, 2 and more: window as a percentage of the thrashing threshold",
    },
    KeyDoc {
        name: "readahead_hit_rate",
        default: "2",
        meaning: "prefetched pages allowed per accessed page, 1 to 64; higher reads through the holes of sparse patterns",
    },
    KeyDoc {
        name: "budget_mib",
        default: "0",
        meaning: "memory for pages prefetched and not yet read, per process, in MiB; 0 follows the memory limit",
    },
    KeyDoc {
        name: "window_mib_max",
        default: "8",
        meaning: "largest request for one stream in MiB, 1 to 256",
    },
    KeyDoc {
        name: "wait_us",
        default: "20",
        meaning: "a read that takes so many microseconds longer than copying its pages may have waited for a device, 1 to 10000000",
    },
    KeyDoc {
        name: "access_us",
        default: "0",
        meaning: "time of one isolated read on the device in microseconds; 0 learns it",
    },
    KeyDoc {
        name: "bandwidth_mb",
        default: "0",
        meaning: "media rate of the device in MB/s; 0 assumes what is usual for its kind",
    },
    KeyDoc {
        name: "depth",
        default: "0",
        meaning: "requests the device serves at the same time, 0 to 1024; 0 follows the kind of device",
    },
    KeyDoc {
        name: "trees",
        default: "on",
        meaning: "files of a folder ahead of a program that goes through it, by a thread of ahead's in the program: on, off",
    },
];

/// Why a setting was refused. The text names the key, the value and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// Nothing is called that.
    #[error("unknown setting '{key}': the settings are {known}")]
    UnknownKey {
        /// The name given.
        key: String,
        /// All names, comma separated.
        known: String,
    },
    /// The value cannot be used.
    #[error("setting '{key}' cannot be '{value}': expected {expected}")]
    BadValue {
        /// The name given.
        key: String,
        /// The value given.
        value: String,
        /// What would be accepted.
        expected: &'static str,
    },
    /// A `KEY=VALUE` without `=`.
    #[error("'{text}' is not KEY=VALUE: write for example readahead_ratio=50")]
    NotAPair {
        /// The text given.
        text: String,
    },
}

/// All settings of one run. Numbers of 0 mean "find out".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who decides.
    pub policy: PolicyChoice,
    /// Percentage of the thrashing threshold; 0 and 1 have the meaning given in [`KEYS`].
    pub readahead_ratio: u32,
    /// Prefetched pages per accessed page.
    pub readahead_hit_rate: u32,
    /// Budget in MiB, 0 = follow the memory limit.
    pub budget_mib: u32,
    /// Largest request for one stream in MiB.
    pub window_mib_max: u32,
    /// A read that takes longer than copying its pages, by so many microseconds, may have waited.
    pub wait_us: u32,
    /// Access time in microseconds, 0 = learn.
    pub access_us: u32,
    /// Bandwidth in MB/s, 0 = by kind of device.
    pub bandwidth_mb: u32,
    /// Useful depth, 0 = by kind of device.
    pub depth: u32,
    /// Whether files are prefetched before they are opened.
    pub trees: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Settings {
    /// What holds where nobody says anything.
    pub const DEFAULT: Self = Self {
        policy: PolicyChoice::Adaptive,
        readahead_ratio: 50,
        readahead_hit_rate: 2,
        budget_mib: 0,
        window_mib_max: 8,
        wait_us: 20,
        access_us: 0,
        bandwidth_mb: 0,
        depth: 0,
        trees: true,
    };

    /// Sets one value. On an error nothing has changed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), SettingError> {
        let bad = |expected| SettingError::BadValue {
            key: key.to_owned(),
            value: value.to_owned(),
            expected,
        };
        let number = |lowest: u32, highest: u32, expected| {
            value
                .parse::<u32>()
                .ok()
                .filter(|n| (lowest..=highest).contains(n))
                .ok_or_else(|| bad(expected))
        };
        match key {
            "policy" => {
                self.policy = match value {
                    "adaptive" => PolicyChoice::Adaptive,
                    "off" => PolicyChoice::Off,
                    "kernel" => PolicyChoice::Kernel,
                    _ => return Err(bad("adaptive, off or kernel")),
                }
            }
            "readahead_ratio" => self.readahead_ratio = number(0, 1000, "0 to 1000")?,
            "readahead_hit_rate" => self.readahead_hit_rate = number(1, 64, "1 to 64")?,
            "budget_mib" => self.budget_mib = number(0, 1 << 20, "0 to 1048576 MiB")?,
            "window_mib_max" => self.window_mib_max = number(1, 256, "1 to 256 MiB")?,
            "wait_us" => self.wait_us = number(1, 10_000_000, "1 to 10000000 microseconds")?,
            "access_us" => self.access_us = number(0, 10_000_000, "0 to 10000000 microseconds")?,
            "bandwidth_mb" => self.bandwidth_mb = number(0, 1_000_000, "0 to 1000000 MB/s")?,
            "depth" => self.depth = number(0, 1024, "0 to 1024")?,
            "trees" => {
                self.trees = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(bad("on or off")),
                }
            }
            _ => {
                let known = KEYS.iter().map(|k| k.name).collect::<Vec<_>>().join(", ");
                return Err(SettingError::UnknownKey {
                    key: key.to_owned(),
                    known,
                });
            }
        }
        Ok(())
    }

    /// Sets one value from `KEY=VALUE`; spaces around both are ignored.
    pub fn set_pair(&mut self, pair: &str) -> Result<(), SettingError> {
        let (key, value) = pair.split_once('=').ok_or_else(|| SettingError::NotAPair {
            text: pair.to_owned(),
        })?;
        self.set(key.trim(), value.trim())
    }

    /// The value of every key as text, in the order of [`KEYS`].
    #[must_use]
    pub fn values(&self) -> [(&'static str, String); 10] {
        let policy = match self.policy {
            PolicyChoice::Adaptive => "adaptive",
            PolicyChoice::Off => "off",
            PolicyChoice::Kernel => "kernel",
        };
        [
            ("policy", policy.to_owned()),
            ("readahead_ratio", self.readahead_ratio.to_string()),
            ("readahead_hit_rate", self.readahead_hit_rate.to_string()),
            ("budget_mib", self.budget_mib.to_string()),
            ("window_mib_max", self.window_mib_max.to_string()),
            ("wait_us", self.wait_us.to_string()),
            ("access_us", self.access_us.to_string()),
            ("bandwidth_mb", self.bandwidth_mb.to_string()),
            ("depth", self.depth.to_string()),
            ("trees", if self.trees { "on" } else { "off" }.to_owned()),
        ]
    }

    /// The text that [`Settings::from_environment`] reads back: `key=value` joined by commas.
    #[must_use]
    pub fn to_environment(&self) -> String {
        let mut text = String::new();
        for (key, value) in self.values() {
            let _ = write!(
                text,
                "{}{key}={value}",
                if text.is_empty() { "" } else { "," }
            );
        }
        text
    }

    /// Reads what [`Settings::to_environment`] wrote. What cannot be read keeps its default: inside
    /// the program there is no place for a message.
    #[must_use]
    pub fn from_environment(text: &str) -> Self {
        let mut settings = Self::default();
        for pair in text.split(',') {
            let _ = settings.set_pair(pair);
        }
        settings
    }

    /// The budget that was set, in pages; 0 when it follows the memory limit.
    #[must_use]
    pub const fn budget_pages(&self) -> PageCount {
        PageCount::holding(ByteLength::new((self.budget_mib as u64) << 20))
    }

    /// The longest that a read of `pages` takes without waiting for a device, in nanoseconds.
    #[must_use]
    pub const fn wait_limit_ns(&self, pages: PageCount) -> u64 {
        (self.wait_us as u64 * 1000).saturating_add(COPY_PAGE_NS.saturating_mul(pages.get()))
    }

    /// The part that the policy needs.
    #[must_use]
    pub fn knobs(&self) -> Knobs {
        let ratio = match self.policy {
            PolicyChoice::Off => 0,
            PolicyChoice::Kernel => 1,
            PolicyChoice::Adaptive => self.readahead_ratio,
        };
        let window = ByteLength::new(u64::from(self.window_mib_max) << 20);
        Knobs {
            readahead_ratio: ratio,
            readahead_hit_rate: self.readahead_hit_rate,
            request_pages_max: PageCount::holding(window),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_key_can_be_set_to_its_documented_default() {
        let mut settings = Settings::default();
        for key in KEYS {
            settings.set(key.name, key.default).expect(key.name);
        }
        assert_eq!(settings, Settings::default());
        let names: Vec<_> = settings.values().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, KEYS.iter().map(|k| k.name).collect::<Vec<_>>());
    }

    #[test]
    fn what_travels_in_the_environment_comes_back_whole() {
        let mut settings = Settings::default();
        settings.set("depth", "7").unwrap();
        settings.set("readahead_hit_rate", "7").unwrap();
        settings.set("policy", "kernel").unwrap();
        settings.set("trees", "on").unwrap();
        assert_eq!(
            Settings::from_environment(&settings.to_environment()),
            settings
        );
    }

    #[test]
    fn a_refused_value_changes_nothing_and_says_what_would_be_accepted() {
        let mut settings = Settings::default();
        let error = settings.set("readahead_hit_rate", "0").unwrap_err();
        assert_eq!(
            error.to_string(),
            "setting 'readahead_hit_rate' cannot be '0': expected 1 to 64"
        );
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = Settings::default().set_pair("readahead=1").unwrap_err();
        assert!(error.to_string().contains("readahead_ratio"), "{error}");
    }
}
