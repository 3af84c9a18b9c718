//! A sparse set of pages: which were evicted, which are mapped. A file of any size costs only what
//! is in the set, 64 neighbours a word.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by file and page (or by file and group of pages).
pub(crate) type PageMap<V> = HashMap<(u32, u64), V, BuildHasherDefault<WordHasher>>;

/// Pages of many files.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageSet {
    words: PageMap<u64>,
}

impl PageSet {
    /// Adds a page; whether it was missing.
    pub(crate) fn insert(&mut self, file: u32, page: u64) -> bool {
        let word = self.words.entry((file, page / 64)).or_default();
        let bit = 1 << (page % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Takes a page out; whether it was there.
    pub(crate) fn remove(&mut self, file: u32, page: u64) -> bool {
        if self.words.is_empty() {
            return false;
        }
        let key = (file, page / 64);
        let bit = 1 << (page % 64);
        let Some(word) = self.words.get_mut(&key) else {
            return false;
        };
        let was_there = *word & bit != 0;
        *word &= !bit;
        if *word == 0 {
            self.words.remove(&key);
        }
        was_there
    }

    /// Whether a page is in it.
    #[inline]
    pub(crate) fn contains(&self, file: u32, page: u64) -> bool {
        self.words
            .get(&(file, page / 64))
            .is_some_and(|word| word & (1 << (page % 64)) != 0)
    }

    /// How many of `[start, end)` are in it.
    pub(crate) fn count(&self, file: u32, start: u64, end: u64) -> u64 {
        if self.words.is_empty() || end <= start {
            return 0;
        }
        let mut count = 0;
        for chunk in start / 64..end.div_ceil(64) {
            let Some(word) = self.words.get(&(file, chunk)) else {
                continue;
            };
            let low = start.saturating_sub(chunk * 64).min(63);
            let high = (end - chunk * 64).min(64);
            let mask = (u64::MAX << low) & (u64::MAX >> (64 - high));
            count += u64::from((word & mask).count_ones());
        }
        count
    }

    /// Takes `[start, start + pages)` out.
    pub(crate) fn remove_range(&mut self, file: u32, start: u64, pages: u64) {
        if self.words.is_empty() {
            return;
        }
        for page in start..start + pages {
            self.remove(file, page);
        }
    }
}

/// A fixed mixing of two numbers: runs must not depend on the day.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        // An odd constant near 2^64 divided by the golden ratio spreads neighbours far apart.
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(
            steps in prop::collection::vec((any::<bool>(), 0u32..2, 0u64..300), 0..300),
            range in (0u64..300, 0u64..300),
        ) {
            let mut set = PageSet::default();
            let mut model = BTreeSet::new();
            for (add, file, page) in steps {
                if add {
                    prop_assert_eq!(set.insert(file, page), model.insert((file, page)));
                } else {
                    prop_assert_eq!(set.remove(file, page), model.remove(&(file, page)));
                }
                prop_assert_eq!(set.contains(file, page), model.contains(&(file, page)));
            }
            let (start, end) = range;
            let expected = model
                .iter()
                .filter(|(file, page)| *file == 1 && (start..end).contains(page))
                .count();
            prop_assert_eq!(set.count(1, start, end), u64::try_from(expected).unwrap());
        }
    }
}
