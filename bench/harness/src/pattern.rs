//! The read patterns: their names, and what each means for files, memory and the summary.
//!
//! Which offsets a pattern reads is in [`operations`](crate::operations).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// How one program reads. Sizes are in KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// One file from its start, in reads of `read`.
    Sequential {
        /// Read size.
        read: u64,
    },
    /// One file from its end to its start, 64 KiB a read.
    Backward,
    /// `read` out of every `period`, ascending.
    Strided {
        /// Read size.
        read: u64,
        /// Distance between the starts of two reads.
        period: u64,
    },
    /// One thread, one descriptor: so many sequential streams in turn, 64 KiB a read.
    Interleaved {
        /// How many streams.
        streams: u32,
    },
    /// One thread, a file and descriptor per stream, in turn, 64 KiB a read.
    Separate {
        /// How many streams.
        streams: u32,
    },
    /// Eight threads, each with its own eighth of one file, 64 KiB a read.
    Threads,
    /// Eight threads share one sequential scan, 32 KiB a read, shuffled within windows of eight,
    /// a fresh open per read: what a parallel file server does.
    Server,
    /// Sequential, 64 KiB a read, closed and opened again after every 1 MiB.
    Reopen,
    /// Sequential, 64 KiB a read, and after every 256 KiB one random read of 16 KiB.
    Mixed,
    /// Ascending single pages, each with a probability of `percent`.
    Sparse {
        /// Probability in per cent.
        percent: u64,
    },
    /// The same 512 MiB twice, in half as much memory.
    Loop,
    /// Random places, aligned to the read size.
    Random {
        /// Read size.
        read: u64,
    },
    /// 2000 files of 100 KiB in directory order.
    Small,
    /// Every page of a mapping, ascending.
    MappedSequential,
    /// Every page of a mapping, descending.
    MappedBackward,
    /// Random pages of a mapping.
    MappedRandom,
}

/// Every pattern by its name, in the order of reports.
pub const PATTERNS: &[(&str, Pattern)] = &[
    ("seq4k", Pattern::Sequential { read: 4 }),
    ("seq64k", Pattern::Sequential { read: 64 }),
    ("seq2m", Pattern::Sequential { read: 2048 }),
    ("back64k", Pattern::Backward),
    (
        "stride16-64",
        Pattern::Strided {
            read: 16,
            period: 64,
        },
    ),
    (
        "stride64-192",
        Pattern::Strided {
            read: 64,
            period: 192,
        },
    ),
    ("one2", Pattern::Interleaved { streams: 2 }),
    ("one8", Pattern::Interleaved { streams: 8 }),
    ("one64", Pattern::Interleaved { streams: 64 }),
    ("sep2", Pattern::Separate { streams: 2 }),
    ("sep8", Pattern::Separate { streams: 8 }),
    ("sep64", Pattern::Separate { streams: 64 }),
    ("thr8", Pattern::Threads),
    ("nfsd", Pattern::Server),
    ("reopen", Pattern::Reopen),
    ("mixed", Pattern::Mixed),
    ("sparse", Pattern::Sparse { percent: 60 }),
    ("skim", Pattern::Sparse { percent: 10 }),
    ("loop", Pattern::Loop),
    ("rand4k", Pattern::Random { read: 4 }),
    ("rand16k", Pattern::Random { read: 16 }),
    ("small", Pattern::Small),
    ("mseq", Pattern::MappedSequential),
    ("mback", Pattern::MappedBackward),
    ("mrand", Pattern::MappedRandom),
];

impl Pattern {
    /// The name in plans and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        PATTERNS
            .iter()
            .find(|(_, pattern)| *pattern == self)
            .map_or("?", |(name, _)| name)
    }

    /// Whether a policy could know what comes next; only these enter the geometric mean.
    #[must_use]
    pub const fn is_predictable(self) -> bool {
        !matches!(
            self,
            Self::Mixed
                | Self::Sparse { percent: 0..=59 }
                | Self::Loop
                | Self::Random { .. }
                | Self::MappedRandom
        )
    }

    /// Whether it touches mapped memory instead of calling read.
    #[must_use]
    pub const fn is_mapped(self) -> bool {
        matches!(
            self,
            Self::MappedSequential | Self::MappedBackward | Self::MappedRandom
        )
    }

    /// Whether half of it would measure something else, so that only its own end stops it.
    #[must_use]
    pub const fn runs_to_its_end(self) -> bool {
        matches!(self, Self::Loop | Self::Small)
    }

    /// How many threads read.
    #[must_use]
    pub const fn threads(self) -> u32 {
        if matches!(self, Self::Threads | Self::Server) {
            8
        } else {
            1
        }
    }

    /// When its descriptors are opened.
    #[must_use]
    pub const fn opening(self) -> Opening {
        match self {
            Self::Server => Opening::PerRead,
            Self::Reopen => Opening::Every(MIB),
            Self::Small => Opening::PerFile,
            _ => Opening::Before,
        }
    }

    /// Memory of the process group that the pattern prescribes, in MiB.
    #[must_use]
    pub const fn memory_mib_max(self) -> Option<u64> {
        if matches!(self, Self::Loop) {
            Some(256)
        } else {
            None
        }
    }
}

/// When a reader opens what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Before the clock starts.
    Before,
    /// For every read, inside the clock.
    PerRead,
    /// Again after so many bytes, inside the clock.
    Every(u64),
    /// Each file when its turn comes, inside the clock.
    PerFile,
}

/// A pattern and the circumstances under which it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scenario {
    /// How it reads.
    pub pattern: Pattern,
    /// Whether everything is in memory beforehand (`cached:` in front of the name).
    pub cached: bool,
    /// Memory of the reader's process group in MiB (`@128m` behind the name).
    pub memory_mib_max: Option<u64>,
}

impl Scenario {
    /// A pattern as it is.
    #[must_use]
    pub const fn plain(pattern: Pattern) -> Self {
        Self {
            pattern,
            cached: false,
            memory_mib_max: None,
        }
    }

    /// Whether it enters the geometric mean: predictable, and under plain circumstances.
    #[must_use]
    pub const fn counts(&self) -> bool {
        self.pattern.is_predictable() && !self.cached && self.memory_mib_max.is_none()
    }

    /// The memory limit that applies, in bytes.
    #[must_use]
    pub fn memory_bytes_max(&self) -> Option<u64> {
        self.memory_mib_max
            .or_else(|| self.pattern.memory_mib_max())
            .map(|mib| mib * MIB)
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cached {
            f.write_str("cached:")?;
        }
        f.write_str(self.pattern.name())?;
        if let Some(mib) = self.memory_mib_max {
            write!(f, "@{mib}m")?;
        }
        Ok(())
    }
}

impl From<Scenario> for String {
    fn from(scenario: Scenario) -> Self {
        scenario.to_string()
    }
}

impl TryFrom<String> for Scenario {
    type Error = ParsePatternError;
    fn try_from(text: String) -> Result<Self, ParsePatternError> {
        text.parse()
    }
}

/// A pattern was not understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParsePatternError {
    /// No pattern has this name.
    #[error(
        "no pattern is called `{name}`; known: {}, or `all`; `cached:` in front runs it from \
             memory, `@128m` behind it in so much memory",
        known_names()
    )]
    UnknownName {
        /// What was asked for.
        name: String,
    },
    /// What follows `@` is not a number of MiB.
    #[error("`{text}`: the memory limit behind `@` is a number of MiB such as `@128m`")]
    BadLimit {
        /// What was asked for.
        text: String,
    },
}

fn known_names() -> String {
    PATTERNS
        .iter()
        .map(|(name, _)| *name)
        .collect::<Vec<_>>()
        .join(" ")
}

impl FromStr for Scenario {
    type Err = ParsePatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (cached, rest) = text
            .strip_prefix("cached:")
            .map_or((false, text), |rest| (true, rest));
        let (name, memory_mib_max) = match rest.split_once('@') {
            None => (rest, None),
            Some((name, limit)) => {
                let mib = limit.strip_suffix('m').and_then(|mib| mib.parse().ok());
                let mib = mib.filter(|mib| (1..=1 << 20).contains(mib));
                let bad = || ParsePatternError::BadLimit {
                    text: text.to_owned(),
                };
                (name, Some(mib.ok_or_else(bad)?))
            }
        };
        let pattern = PATTERNS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, pattern)| *pattern)
            .ok_or_else(|| ParsePatternError::UnknownName {
                name: name.to_owned(),
            })?;
        Ok(Self {
            pattern,
            cached,
            memory_mib_max,
        })
    }
}

/// Reads a list of patterns with commas between; `all` stands for every plain pattern.
pub fn parse_list(text: &str) -> Result<Vec<Scenario>, ParsePatternError> {
    let mut scenarios = Vec::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        if part == "all" {
            scenarios.extend(
                PATTERNS
                    .iter()
                    .map(|(_, pattern)| Scenario::plain(*pattern)),
            );
        } else {
            scenarios.push(part.parse()?);
        }
    }
    Ok(scenarios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_as_itself() {
        for (name, pattern) in PATTERNS {
            assert_eq!(name.parse::<Scenario>().unwrap(), Scenario::plain(*pattern));
            let limited = format!("cached:{name}@128m");
            assert_eq!(limited.parse::<Scenario>().unwrap().to_string(), limited);
        }
    }

    #[test]
    fn an_unknown_pattern_is_answered_with_the_known_ones() {
        let error = parse_list("seq4k,seq5k").unwrap_err().to_string();
        assert!(error.contains("`seq5k`"), "{error}");
        for (name, _) in PATTERNS {
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn a_limit_without_a_number_is_refused() {
        assert!(matches!(
            "sep64@lots".parse::<Scenario>(),
            Err(ParsePatternError::BadLimit { .. })
        ));
    }

    #[test]
    fn the_unpredictable_patterns_stay_out_of_the_mean() {
        let out: Vec<_> = parse_list("all")
            .unwrap()
            .into_iter()
            .filter(|scenario| !scenario.counts())
            .map(|scenario| scenario.to_string())
            .collect();
        assert_eq!(out, ["mixed", "skim", "loop", "rand4k", "rand16k", "mrand"]);
        assert!(!"sep64@128m".parse::<Scenario>().unwrap().counts());
    }
}
