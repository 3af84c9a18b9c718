//! What is known for a moment: of the most recent ones, and asked again when it is old.

use std::hash::Hash;
use std::num::NonZeroUsize;

use ahead_units::Timestamp;
use lru::LruCache;

/// What was asked so long ago is asked again.
const KNOWN_NS: u64 = 1_000_000_000;

/// Answers by what they are about.
#[derive(Debug)]
pub(crate) struct Recent<K: Hash + Eq, V> {
    known: LruCache<K, (Timestamp, V)>,
}

impl<K: Hash + Eq + Copy, V> Recent<K, V> {
    /// None yet, and so many at most.
    pub(crate) fn new(most: NonZeroUsize) -> Self {
        Self {
            known: LruCache::new(most),
        }
    }

    /// The answer about `key`, asked with `ask` where none is known or it is old.
    pub(crate) fn get(&mut self, key: K, now: Timestamp, ask: impl Fn() -> V) -> &V {
        let is_fresh = |(asked, _): &(Timestamp, V)| now.since(*asked) < KNOWN_NS;
        if !self.known.peek(&key).is_some_and(is_fresh) {
            self.known.put(key, (now, ask()));
        }
        &self.known.get_or_insert(key, || (now, ask())).1
    }

    /// What is known of `key`, old or not.
    pub(crate) fn peek(&self, key: &K) -> Option<&V> {
        self.known.peek(key).map(|(_, known)| known)
    }

    /// It is asked again.
    pub(crate) fn forget(&mut self, key: &K) {
        self.known.pop(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_asked_again_when_it_is_old_or_pushed_out() {
        let mut recent = Recent::new(NonZeroUsize::new(2).unwrap());
        let mut get = |key: u32, seconds: u64, answer: u32| {
            *recent.get(key, Timestamp::new(seconds * KNOWN_NS), || answer)
        };
        assert_eq!(get(1, 0, 10), 10);
        assert_eq!(get(1, 0, 11), 10, "known");
        assert_eq!(get(1, 1, 12), 12, "old");
        assert_eq!((get(2, 1, 20), get(3, 1, 30)), (20, 30));
        assert_eq!(get(1, 1, 13), 13, "pushed out");
    }
}
