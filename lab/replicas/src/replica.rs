//! What an algorithm says about itself to the [registry](crate::registry): names, keys, year, and
//! how it is made from what is written behind its name.
//!
//! A policy is written `name` or `name:key=value,key=value`. A file of an algorithm has a constant
//! `REPLICAS` with one [`Replica`] for each name; everything that is said about keys (which there
//! are, what they are without being written, what they may be) stands there and nowhere else.

use std::fmt;

use ahead_policy::device::DeviceEstimate;

use crate::kernel::Learned;

/// Far beyond every sensible value, and far from where arithmetic wraps.
const NUMBER_MAX: u64 = 1 << 40;

/// The key that most releases have: the window of the device in KiB, as in sysfs.
pub const RA_KB: Key = Key::number("ra_kb", 128);

/// A key, and what may stand behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it is when it is not written, and what may be written.
    pub kind: KeyKind,
}

/// What may stand behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// A number.
    Number {
        /// Without being written.
        default: u64,
    },
    /// A number that is worked out from others when it is not written.
    Computed {
        /// How, for people.
        from: &'static str,
    },
    /// One of these words, the first when it is not written.
    Word(&'static [&'static str]),
}

impl Key {
    /// A number.
    #[must_use]
    pub const fn number(name: &'static str, default: u64) -> Self {
        let kind = KeyKind::Number { default };
        Self { name, kind }
    }

    /// A number that the algorithm works out when it is not written.
    #[must_use]
    pub const fn computed(name: &'static str, from: &'static str) -> Self {
        let kind = KeyKind::Computed { from };
        Self { name, kind }
    }

    /// One of `words`, the first when it is not written.
    #[must_use]
    pub const fn word(name: &'static str, words: &'static [&'static str]) -> Self {
        let kind = KeyKind::Word(words);
        Self { name, kind }
    }

    fn takes(&self, value: &str) -> bool {
        match self.kind {
            KeyKind::Number { .. } | KeyKind::Computed { .. } => number(value).is_some(),
            KeyKind::Word(words) => words.contains(&value),
        }
    }
}

impl fmt::Display for Key {
    /// As in lists: `n=16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match self.kind {
            KeyKind::Number { default } => write!(f, "{name}={default}"),
            KeyKind::Computed { from } => write!(f, "{name}={from}"),
            KeyKind::Word(words) => write!(f, "{name}={}", words.first().unwrap_or(&"")),
        }
    }
}

fn number(value: &str) -> Option<u64> {
    value.parse().ok().filter(|number| *number <= NUMBER_MAX)
}

/// What is said about one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The name, as people write it.
    pub name: &'static str,
    /// When it was released or published.
    pub year: u16,
    /// What it is, in a line.
    pub meaning: &'static str,
    /// What it takes behind its colon.
    pub keys: &'static [Key],
    /// Its kernel maps what is cached around a fault: Linux since 3.15. Older rules for mappings
    /// count hits that this hides.
    pub knows_fault_around: bool,
    /// What is known about a device at the start.
    pub learned: Learned,
}

impl About {
    /// A name over a kernel of today.
    #[must_use]
    pub const fn new(
        name: &'static str,
        year: u16,
        meaning: &'static str,
        keys: &'static [Key],
    ) -> Self {
        Self {
            name,
            year,
            meaning,
            keys,
            knows_fault_around: true,
            learned: Learned::AT_START,
        }
    }

    /// Keys with their defaults, as they could be written; empty when there is none.
    #[must_use]
    pub fn keys_text(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(Key::to_string).collect();
        keys.join(",")
    }

    /// Reads what is behind the colon.
    ///
    /// # Errors
    /// [`PairError`] names the first pair that this name does not take.
    pub fn values<'a>(
        &self,
        text: &'a str,
        device: DeviceEstimate,
    ) -> Result<Values<'a>, PairError> {
        let mut values = Values {
            name: self.name,
            keys: self.keys,
            written: Vec::new(),
            device,
        };
        for (name, value) in pairs(text) {
            let key = self.keys.iter().find(|key| key.name == name);
            match key {
                Some(key) if key.takes(value) && values.written(name).is_none() => {
                    values.written.push((key.name, value));
                }
                _ => return Err(self.does_not_take(name, value)),
            }
        }
        Ok(values)
    }

    fn does_not_take(&self, key: &str, value: &str) -> PairError {
        let known = self.keys_text();
        PairError {
            name: self.name,
            pair: format!("{key}={value}"),
            known: if known.is_empty() {
                "nothing".to_owned()
            } else {
                known
            },
        }
    }
}

/// The pairs of `key=value,key=value`. What has no `=` is a key with nothing behind it.
pub fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// A policy has no such key, or the value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("policy '{name}' does not take '{pair}': it takes {known}")]
pub struct PairError {
    /// The policy.
    pub name: &'static str,
    /// As it was written.
    pub pair: String,
    /// Its keys, with their defaults.
    pub known: String,
}

/// What was written behind a name, checked against its keys.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    name: &'static str,
    keys: &'static [Key],
    written: Vec<(&'static str, &'a str)>,
    /// What is known about the disk that the files are on.
    pub device: DeviceEstimate,
}

impl<'a> Values<'a> {
    fn written(&self, key: &str) -> Option<&'a str> {
        let pair = self.written.iter().find(|(name, _)| *name == key)?;
        Some(pair.1)
    }

    fn kind(&self, key: &str) -> KeyKind {
        match self.keys.iter().find(|known| known.name == key) {
            Some(key) => key.kind,
            None => unreachable!("{} asks for '{key}', which is not in its keys", self.name),
        }
    }

    /// The number of `key`, if it was written. `key` is one of the name's own.
    #[must_use]
    pub fn written_number(&self, key: &str) -> Option<u64> {
        // Asking for a key that no list shows is a mistake of the file that asks.
        self.kind(key);
        self.written(key).and_then(number)
    }

    /// The number of `key`, which has a default.
    #[must_use]
    pub fn number(&self, key: &str) -> u64 {
        match (self.written_number(key), self.kind(key)) {
            (Some(number), _) => number,
            (None, KeyKind::Number { default }) => default,
            (None, other) => unreachable!("{}: '{key}' is {other:?}", self.name),
        }
    }

    /// The word of `key`.
    #[must_use]
    pub fn word(&self, key: &str) -> &'a str {
        match (self.written(key), self.kind(key)) {
            (Some(word), _) => word,
            (None, KeyKind::Word([first, ..])) => first,
            (None, other) => unreachable!("{}: '{key}' is {other:?}", self.name),
        }
    }

    /// `ra_kb` in pages.
    #[must_use]
    pub fn ra_pages(&self) -> u64 {
        self.number(RA_KB.name) / 4
    }
}

/// One name of an algorithm whose state of an open file is `S`.
#[derive(Clone, Copy, Debug)]
pub struct Replica<S: 'static> {
    /// What is said about it.
    pub about: About,
    /// The state of a file that was just opened.
    pub make: fn(&Values<'_>) -> S,
}

impl<S> Replica<S> {
    /// A name over a kernel of today.
    #[must_use]
    pub const fn new(
        name: &'static str,
        year: u16,
        meaning: &'static str,
        keys: &'static [Key],
        make: fn(&Values<'_>) -> S,
    ) -> Self {
        let about = About::new(name, year, meaning, keys);
        Self { about, make }
    }

    /// Its kernel is older than fault-around.
    #[must_use]
    pub const fn before_fault_around(mut self) -> Self {
        self.about.knows_fault_around = false;
        self
    }

    /// Its devices start with this.
    #[must_use]
    pub const fn with_learned(mut self, learned: Learned) -> Self {
        self.about.learned = learned;
        self
    }
}
