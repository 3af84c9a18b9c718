//! Facts about reads, put in their order. Pure.
//!
//! Reads are told late and several together, and how long one waited comes as a fact of its own. So each is held for a
//! while: until it is known when it began and how long it took, and until none is told any more that began before it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use ahead_observer::observation::{FactKind, FileKey, Observation};
use ahead_trace::{Access, FileRef, Operation};
use ahead_units::Timestamp;
use lru::LruCache;

/// A read that is told later than this after it began is out of its order in the trace.
const HELD_NS: u64 = 2_000_000_000;

/// More are not held, whatever may come before them: reads from memory come by the million, and each takes some hundred
/// bytes here.
const HELD_MAX: usize = 1 << 20;

/// Threads and files of which the newest read is remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// Its begin, and a number that tells reads of one moment apart.
type Place = (u64, u64);

/// Reads that are not written yet.
#[derive(Debug)]
pub(super) struct Held {
    began_ns: u64,
    accesses: BTreeMap<Place, Access>,
    number: u64,
    /// The newest read of each thread, for its wait.
    last: LruCache<u32, (FileKey, Place)>,
    /// When each file was told of last.
    told: LruCache<FileKey, Timestamp>,
}

/// How many reads a fact tells of.
pub(super) fn reads_of(fact: &Observation) -> u64 {
    match fact.kind {
        FactKind::Wait => 0,
        // A read-ahead of the kernel's own in the background is no read.
        FactKind::Miss if !fact.is_early => 0,
        FactKind::Miss | FactKind::Accesses => u64::from(fact.count),
    }
}

impl Held {
    /// None; the trace begins now.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            began_ns: now.get(),
            accesses: BTreeMap::new(),
            number: 0,
            last: LruCache::new(REMEMBERED),
            told: LruCache::new(REMEMBERED),
        }
    }

    /// A fact about what is called `file` in the trace.
    pub(super) fn on_fact(&mut self, fact: &Observation, file: FileRef) {
        match fact.kind {
            FactKind::Wait => self.on_wait(fact),
            _ if reads_of(fact) == 0 => {}
            FactKind::Miss | FactKind::Accesses => self.on_accesses(fact, file),
        }
    }

    fn on_wait(&mut self, fact: &Observation) {
        if let Some((key, place)) = self.last.get(&fact.thread)
            && *key == fact.file
            && let Some(access) = self.accesses.get_mut(place)
        {
            access.duration_ns = Some(fact.waited_ns);
        }
    }

    /// They lie evenly between the last telling and this one; the last of them ended with its wait.
    fn on_accesses(&mut self, fact: &Observation, file: FileRef) {
        let before = self.told.put(fact.file, fact.time).unwrap_or(fact.time);
        let between = fact.time.since(before) / u64::from(fact.count);
        let last = u64::from(fact.count);
        for (number, range) in (1..).zip(fact.accesses()) {
            let told_ns = before.get().min(fact.time.get()) + between * number;
            let waited_ns = Some(fact.waited_ns).filter(|waited| number == last && *waited > 0);
            let at_ns = told_ns.saturating_sub(waited_ns.unwrap_or(0) + self.began_ns);
            let access = Access {
                at_ns,
                process: fact.process,
                thread: fact.thread,
                file,
                operation: if fact.is_mapped {
                    Operation::Fault
                } else {
                    Operation::Read
                },
                offset: range.start.get(),
                length: range.len().get(),
                duration_ns: waited_ns,
            };
            self.number += 1;
            let place = (at_ns, self.number);
            self.accesses.insert(place, access);
            self.last.put(fact.thread, (fact.file, place));
        }
    }

    /// The next read that no later fact can change or come before, at `now`; `None`: there is none yet.
    pub(super) fn next(&mut self, now: Timestamp) -> Option<Access> {
        let (at_ns, _) = *self.accesses.first_key_value()?.0;
        let is_old = now.get().saturating_sub(self.began_ns + at_ns) >= HELD_NS;
        let is_full = self.accesses.len() > HELD_MAX;
        (is_old || is_full)
            .then(|| self.accesses.pop_first())?
            .map(|(_, access)| access)
    }

    /// The next read, at the end.
    pub(super) fn last(&mut self) -> Option<Access> {
        self.accesses.pop_first().map(|(_, access)| access)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use ahead_units::{ByteRange, PageCount, PageRange};

    use super::*;

    const BEGAN: Timestamp = Timestamp::new(1_000_000_000);

    /// One of so many reads from `page` of file 2 of device 1 on, `ms` after the recording began.
    pub(in crate::record) fn fact(
        kind: FactKind,
        ms: u64,
        thread: u32,
        page: u64,
        count: u32,
    ) -> Observation {
        Observation {
            kind,
            time: Timestamp::new(BEGAN.get() + ms * 1_000_000),
            file: FileKey {
                device: 1,
                inode: 2,
            },
            generation: None,
            file_pages: PageCount::new(100),
            first: ByteRange::from(PageRange::new(page, page + 1)),
            step: 4096,
            count,
            waited_ns: 0,
            process: 7,
            thread,
            programs: 0,
            descriptor: None,
            is_mapped: false,
            advised_random: false,
            is_early: false,
            window: None,
        }
    }

    fn at_the_end(held: &mut Held) -> Vec<(u64, u64, Option<u64>)> {
        std::iter::from_fn(|| held.last())
            .map(|one| (one.at_ns / 1_000_000, one.offset / 4096, one.duration_ns))
            .collect()
    }

    #[test]
    fn reads_that_were_told_together_lie_evenly_in_time() {
        let mut held = Held::new(BEGAN);
        held.on_fact(&fact(FactKind::Accesses, 10, 1, 0, 1), FileRef(0));
        held.on_fact(&fact(FactKind::Accesses, 40, 1, 1, 3), FileRef(0));
        let expected = [(10, 0, None), (20, 1, None), (30, 2, None), (40, 3, None)];
        assert_eq!(at_the_end(&mut held), expected);
    }

    /// It is told by itself, after the next read of another thread.
    #[test]
    fn a_wait_belongs_to_the_last_read_of_its_thread() {
        let mut held = Held::new(BEGAN);
        let early = Observation {
            is_early: true,
            ..fact(FactKind::Miss, 1, 1, 0, 1)
        };
        held.on_fact(&early, FileRef(0));
        held.on_fact(&fact(FactKind::Accesses, 2, 9, 50, 1), FileRef(0));
        let wait = Observation {
            waited_ns: 8_000_000,
            ..fact(FactKind::Wait, 9, 1, 0, 1)
        };
        held.on_fact(&wait, FileRef(0));
        let expected = [(1, 0, Some(8_000_000)), (2, 50, None)];
        assert_eq!(at_the_end(&mut held), expected);
    }

    /// One that is told when it is over has begun before one that was told meanwhile.
    #[test]
    fn reads_are_in_the_order_of_their_begins() {
        let mut held = Held::new(BEGAN);
        held.on_fact(&fact(FactKind::Accesses, 20, 2, 50, 1), FileRef(0));
        let waited = Observation {
            waited_ns: 15_000_000,
            ..fact(FactKind::Accesses, 30, 1, 0, 1)
        };
        held.on_fact(&waited, FileRef(0));
        let background = fact(FactKind::Miss, 31, 1, 7, 1);
        held.on_fact(&background, FileRef(0));
        let expected = [(15, 0, Some(15_000_000)), (20, 50, None)];
        assert_eq!(at_the_end(&mut held), expected);
    }

    #[test]
    fn a_read_is_held_while_another_may_come_before_it() {
        let mut held = Held::new(BEGAN);
        held.on_fact(&fact(FactKind::Accesses, 10, 1, 0, 1), FileRef(0));
        let at = |ms: u64| Timestamp::new(BEGAN.get() + ms * 1_000_000);
        assert_eq!(held.next(at(2009)), None);
        assert!(held.next(at(2010)).is_some());
        assert_eq!(held.next(at(9999)), None);
    }
}
