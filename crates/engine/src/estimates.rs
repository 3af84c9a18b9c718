//! What was learned of devices, in memory that all processes of a run map, and that is kept between runs.
//!
//! A device has a slot of four words, found by what identifies it. An estimate is one word, so that it
//! is always one that some process had. Nothing here is a lock: a lost update is a wait that taught
//! one process only. Whatever is in the words, what comes out is an estimate that a device could have:
//! other programs of the same user can write there, and a file that is kept can be damaged.
//!
//! ```text
//! word 0   identity of the device (0: a free slot)
//! word 1   the estimate, and who reads scans ahead (the layout stands in estimate_word.rs)
//! word 2   word 1 as it was kept last
//! word 3   when word 1 was written, in seconds since 1970
//! ```
//!
//! The file in which estimates are kept is [`MAGIC`] and the words of all slots, as they are in memory.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use ahead_policy::device::DeviceEstimate;
use ahead_units::Timestamp;

use crate::estimate_word::{SCANS, scans_from_bits, scans_to_bits};
pub use crate::estimate_word::{from_word, to_word};

/// Devices that are told apart; a further one takes the slot that was written longest ago.
pub const SLOTS: usize = 64;
const SLOT_WORDS: usize = 4;
/// Words of all slots. All zero is no device.
pub const WORDS: usize = SLOTS * SLOT_WORDS;

/// Version of the layout of a slot. Words of another one say something else.
pub const VERSION: u64 = 3;
/// First word of the file: "ahead", "D" and the version.
pub const MAGIC: u64 = 0x6168_6561_6444_0000 | VERSION;
/// Size of the file in bytes.
pub const FILE_BYTES: usize = (1 + WORDS) * 8;

/// An estimate that was not written for 30 days is not used. Sooner, and what runs once a month always
/// begins with a guess, which costs it two accesses; later, and a network volume is expected to be
/// what it was under the load of last season.
const AGED_S: u64 = 30 * 24 * 3600;
/// An estimate that was written within 10 s is that of a process that waits for the device now.
const LIVE_S: u64 = 10;
/// The clocks of two processes differ by no more: each counts from a whole second of its own.
const CLOCKS_DIFFER_S: u64 = 1;
/// An estimate that did not change is kept again after a day, so that it does not age.
const KEPT_AGAIN_S: u64 = 24 * 3600;
/// What differs from what was kept by more than one part in four is kept again: less is the
/// difference between two runs on one disk.
const KEPT_PARTS: u64 = 4;

/// The words that processes share; too few are no slots.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimates<'a> {
    words: &'a [AtomicU64],
    /// Seconds from 1970 to the zero of the host's clock.
    clock_s: u64,
}

/// What others believe of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The newest estimate.
    pub estimate: DeviceEstimate,
    /// Whether the kernel reads scans ahead better by itself, if that was found out and is news.
    pub scans_are_left: Option<bool>,
    /// No process that runs now needs to have made it: it may be another device by now.
    pub was_kept: bool,
}

/// One device among them, as one process sees it.
#[derive(Debug, Default)]
pub struct SharedEstimate {
    /// What identifies it; 0: it is not shared.
    identity: AtomicU64,
    /// The newest estimate, as a word, that this process heard or told.
    newest: AtomicU64,
    /// Something was heard or told.
    is_known: AtomicBool,
}

impl<'a> Estimates<'a> {
    /// In these words, [`WORDS`] of them. `clock_s` are the seconds from 1970 to the zero of the clock by
    /// which the host says when things happen.
    #[must_use]
    pub const fn new(words: &'a [AtomicU64], clock_s: u64) -> Self {
        Self { words, clock_s }
    }

    /// Nothing is shared.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.words.is_empty()
    }

    fn slots(self) -> impl Iterator<Item = &'a [AtomicU64; SLOT_WORDS]> {
        let (slots, _) = self.words.as_chunks::<SLOT_WORDS>();
        slots.iter().take(SLOTS)
    }

    fn find(self, identity: u64) -> Option<&'a [AtomicU64; SLOT_WORDS]> {
        let is_it = |slot: &&[AtomicU64; SLOT_WORDS]| slot[0].load(Relaxed) == identity;
        self.slots().find(is_it)
    }

    /// The slot of a device, made for it if it had none.
    fn claim(self, identity: u64, now_s: u64) -> Option<&'a [AtomicU64; SLOT_WORDS]> {
        let age = |[whose, .., when]: &[AtomicU64; SLOT_WORDS]| match whose.load(Relaxed) {
            0 => u64::MAX,
            _ => age_s(when.load(Relaxed), now_s),
        };
        self.find(identity).or_else(|| {
            let slot = self.slots().max_by_key(|slot| age(slot))?;
            let [whose, what, kept, when] = slot;
            whose.store(identity, Relaxed);
            for word in [what, kept, when] {
                word.store(0, Relaxed);
            }
            Some(slot)
        })
    }

    fn seconds(self, now: Timestamp) -> u64 {
        self.clock_s.saturating_add(now.get() / 1_000_000_000)
    }

    /// Takes over from `kept` the devices that are not here, unless they have aged. Returns the numbers
    /// of the slots that changed, from 0.
    #[must_use]
    pub fn take_over(self, kept: Estimates<'_>, now: Timestamp) -> Vec<usize> {
        let mut changed = Vec::new();
        let now_s = self.seconds(now);
        for [whose, what, _, when] in kept.slots() {
            let (identity, when_s) = (whose.load(Relaxed), when.load(Relaxed));
            let word = what.load(Relaxed);
            if from_word(word).is_none() {
                continue;
            }
            if identity == 0 || age_s(when_s, now_s) > AGED_S || self.find(identity).is_some() {
                continue;
            }
            let Some([_, own, own_kept, own_when]) = self.claim(identity, now_s) else {
                continue;
            };
            own.store(word, Relaxed);
            own_kept.store(word, Relaxed);
            own_when.store(when_s, Relaxed);
            let place = self.slots().position(|slot| core::ptr::eq(&slot[1], own));
            changed.extend(place);
        }
        changed
    }

    /// The bytes of a slot in a file, and how many bytes are in front of it.
    #[must_use]
    pub fn bytes_of_slot(self, number: usize) -> (usize, [u8; SLOT_WORDS * 8]) {
        let mut bytes = [0; SLOT_WORDS * 8];
        let slot = self.slots().nth(number);
        for (word, bytes) in slot.into_iter().flatten().zip(bytes.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        (number * SLOT_WORDS * 8, bytes)
    }

    /// What a file of estimates has to hold.
    #[must_use]
    pub fn file(self) -> [u8; FILE_BYTES] {
        let mut bytes = [0; FILE_BYTES];
        self.put_file(&mut bytes);
        bytes
    }

    /// Writes the same into `bytes`, for who has a small stack.
    pub fn put_file(self, bytes: &mut [u8; FILE_BYTES]) {
        let words = self.words.iter().map(|word| word.load(Relaxed));
        let all = core::iter::once(MAGIC).chain(words);
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(all) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
    }

    /// How many devices have a slot.
    #[must_use]
    pub fn devices(self) -> usize {
        self.slots()
            .filter(|slot| slot[0].load(Relaxed) != 0)
            .count()
    }
}

/// The words of slots, from bytes that [`Estimates::file`] made without its first word, or from any
/// others: what is missing is zero.
#[must_use]
pub fn words_of(bytes: &[u8]) -> Vec<AtomicU64> {
    let (words, _) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_ne_bytes(*word));
    let all = words.chain(core::iter::repeat(0));
    all.take(WORDS).map(AtomicU64::new).collect()
}

/// The words of slots in a file; `None` for what is no such file, or of another version.
#[must_use]
pub fn words_of_file(bytes: &[u8]) -> Option<Vec<AtomicU64>> {
    let (magic, slots) = bytes.split_first_chunk::<8>()?;
    let is_one = u64::from_ne_bytes(*magic) == MAGIC && bytes.len() == FILE_BYTES;
    is_one.then(|| words_of(slots))
}

impl SharedEstimate {
    /// Not shared.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            identity: AtomicU64::new(0),
            newest: AtomicU64::new(0),
            is_known: AtomicBool::new(false),
        }
    }

    /// The device with this identity, without a guess: whatever is kept of it is heard, and whatever is told of it
    /// is news. For who only looks, or only writes down.
    #[must_use]
    pub const fn without_guess(identity: u64) -> Self {
        Self {
            identity: AtomicU64::new(identity),
            ..Self::new()
        }
    }

    /// It is the device with this identity, of which nothing but a guess is known; with 0 it is not
    /// shared.
    pub fn set_identity(&self, identity: u64, guess: DeviceEstimate) {
        self.newest.store(to_word(guess), Relaxed);
        self.is_known.store(false, Relaxed);
        self.identity.store(identity, Relaxed);
    }

    /// The estimate of others, if it is another one than this process heard or told last.
    #[must_use]
    pub fn hear(&self, all: Estimates<'_>, now: Timestamp) -> Option<Heard> {
        let identity = self.identity.load(Relaxed);
        if identity == 0 {
            return None;
        }
        let [_, what, _, when] = all.find(identity)?;
        let word = what.load(Relaxed);
        if word == self.newest.load(Relaxed) {
            return None;
        }
        let age_s = age_s(when.load(Relaxed), all.seconds(now));
        let is_first = !self.is_known.load(Relaxed);
        if is_first && age_s > AGED_S {
            return None;
        }
        let estimate = from_word(word)?;
        let before = self.newest.swap(word, Relaxed);
        self.is_known.store(true, Relaxed);
        // Who has found it out and not told yet is not told otherwise by another figure.
        let is_news = (before ^ word) & SCANS != 0;
        let scans_are_left = scans_from_bits(word).filter(|_| is_news);
        Some(Heard {
            estimate,
            scans_are_left,
            was_kept: is_first && age_s > LIVE_S,
        })
    }

    /// Tells the others what is believed now, and whether the kernel reads scans ahead better by itself, if that was found out here:
    /// else what others have found out stands. True if it is worth keeping: the host then writes the [file](Estimates::file).
    #[must_use]
    pub fn tell(
        &self,
        all: Estimates<'_>,
        estimate: DeviceEstimate,
        scans_are_left: Option<bool>,
        now: Timestamp,
    ) -> bool {
        let identity = self.identity.load(Relaxed);
        let own = to_word(estimate) | scans_to_bits(scans_are_left);
        let newest = self.newest.load(Relaxed);
        let is_heard = scans_are_left.is_none() && own == newest & !SCANS;
        if identity == 0 || own == newest || is_heard {
            return false;
        }
        let now_s = all.seconds(now);
        let Some([_, what, kept, when]) = all.claim(identity, now_s) else {
            return false;
        };
        let others = scans_from_bits(what.load(Relaxed));
        let word = own | scans_to_bits(scans_are_left.or(others));
        // What others have found out and this process has not heard yet is news when it listens next.
        let heard = scans_from_bits(newest);
        let known = own | scans_to_bits(scans_are_left.or(heard));
        self.newest.store(known, Relaxed);
        self.is_known.store(true, Relaxed);
        let was_s = when.load(Relaxed);
        what.store(word, Relaxed);
        when.store(now_s, Relaxed);
        let kept_word = kept.load(Relaxed);
        let keeps = differs(estimate, from_word(kept_word))
            || (kept_word ^ word) & SCANS != 0
            || was_s / KEPT_AGAIN_S != now_s / KEPT_AGAIN_S;
        if keeps {
            kept.store(word, Relaxed);
        }
        keeps
    }
}

/// Seconds since `when_s`. What was written in the future has aged: one of the clocks was wrong. But that of two
/// processes may be a second ahead.
fn age_s(when_s: u64, now_s: u64) -> u64 {
    match when_s.saturating_sub(now_s) {
        0..=CLOCKS_DIFFER_S => now_s.saturating_sub(when_s),
        _ => u64::MAX - 1,
    }
}

fn differs(estimate: DeviceEstimate, kept: Option<DeviceEstimate>) -> bool {
    let far = |a: u64, b: u64| a.abs_diff(b) > b / KEPT_PARTS;
    kept.is_none_or(|kept| {
        estimate.depth != kept.depth
            || far(estimate.access_ns, kept.access_ns)
            || far(estimate.bytes_per_second, kept.bytes_per_second)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_S: u64 = 24 * 3600;
    const MEDIUM: DeviceEstimate = DeviceEstimate {
        access_ns: 700_000,
        bytes_per_second: 200_000_000,
        depth: 4,
    };

    fn words() -> Vec<AtomicU64> {
        words_of(&[])
    }

    /// One process's view of the device with this identity.
    fn met(identity: u64) -> SharedEstimate {
        let shared = SharedEstimate::new();
        shared.set_identity(identity, DeviceEstimate::FLASH);
        shared
    }

    fn heard(estimate: DeviceEstimate, was_kept: bool) -> Option<Heard> {
        Some(Heard {
            estimate,
            scans_are_left: None,
            was_kept,
        })
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::new(seconds * 1_000_000_000)
    }

    fn slower(factor: u64) -> DeviceEstimate {
        DeviceEstimate {
            access_ns: MEDIUM.access_ns * factor,
            ..MEDIUM
        }
    }

    #[test]
    fn what_one_process_learned_the_others_begin_with_and_follow() {
        let words = words();
        let all = Estimates::new(&words, 1_000_000);
        let (one, two, other) = (met(7), met(7), met(8));
        assert_eq!(one.hear(all, at(1)), None);
        assert!(
            one.tell(all, MEDIUM, None, at(1)),
            "the first is worth keeping"
        );
        assert_eq!(two.hear(all, at(2)), heard(MEDIUM, false));
        assert_eq!(other.hear(all, at(2)), None);
        assert!(!two.tell(all, MEDIUM, None, at(3)), "nothing new");
        let _ = two.tell(all, slower(2), None, at(3));
        assert_eq!(one.hear(all, at(4)), heard(slower(2), false));
        assert_eq!(one.hear(all, at(4)), None, "heard already");
        assert_eq!(all.devices(), 1);
    }

    #[test]
    fn a_guess_that_no_wait_corrected_is_told_to_nobody() {
        let words = words();
        let all = Estimates::new(&words, 0);
        assert!(!met(7).tell(all, DeviceEstimate::FLASH, None, at(1)));
        assert_eq!(all.devices(), 0);
    }

    #[test]
    fn a_device_without_identity_is_not_shared() {
        let words = words();
        let all = Estimates::new(&words, 0);
        assert!(!met(0).tell(all, MEDIUM, None, at(1)));
        assert_eq!((all.devices(), met(0).hear(all, at(1))), (0, None));
        let none = Estimates::default();
        assert!(!met(7).tell(none, MEDIUM, None, at(1)));
        assert_eq!(met(7).hear(none, at(1)), None);
    }

    #[test]
    fn who_reads_scans_ahead_is_shared_and_kept_beside_the_estimate() {
        let words = words();
        let all = Estimates::new(&words, 0);
        let (one, two) = (met(7), met(7));
        assert!(one.tell(all, MEDIUM, None, at(1)));
        let _ = two.hear(all, at(1));
        assert!(one.tell(all, MEDIUM, Some(true), at(2)), "worth keeping");
        let left = Heard {
            estimate: MEDIUM,
            scans_are_left: Some(true),
            was_kept: false,
        };
        assert_eq!(two.hear(all, at(2)), Some(left));
        assert!(
            !two.tell(all, MEDIUM, Some(true), at(2)),
            "what was heard is no news"
        );
        let later = self::words();
        let later = Estimates::new(&later, 0);
        assert_eq!(later.take_over(all, at(3)).len(), 1);
        let kept = met(7).hear(later, at(60)).unwrap();
        assert_eq!((kept.scans_are_left, kept.was_kept), (Some(true), true));
    }

    /// Programs side by side: each told of a bandwidth undid what another had found out and not told yet.
    #[test]
    fn another_figure_of_others_says_nothing_of_who_reads_scans_ahead() {
        let words = words();
        let all = Estimates::new(&words, 0);
        let (one, two) = (met(7), met(7));
        assert!(one.tell(all, MEDIUM, None, at(1)));
        let _ = two.hear(all, at(1));
        let _ = one.tell(all, slower(2), None, at(2));
        assert_eq!(two.hear(all, at(2)), heard(slower(2), false));
        assert!(two.tell(all, slower(2), Some(true), at(3)));
        assert_eq!(one.hear(all, at(3)).unwrap().scans_are_left, Some(true));
    }

    /// A process that told of an access before it listened kept what was found out, and never heard it.
    #[test]
    fn what_others_found_out_is_heard_also_after_something_was_told() {
        let words = words();
        let all = Estimates::new(&words, 0);
        let (one, two) = (met(7), met(7));
        assert!(one.tell(all, MEDIUM, Some(true), at(1)));
        let _ = two.tell(all, slower(2), None, at(2));
        assert_eq!(two.hear(all, at(3)).unwrap().scans_are_left, Some(true));
        assert_eq!(two.hear(all, at(3)), None);
        assert_eq!(one.hear(all, at(3)), heard(slower(2), false));
    }

    #[test]
    fn small_changes_are_shared_and_not_kept_again() {
        let words = words();
        let all = Estimates::new(&words, 0);
        let one = met(7);
        assert!(one.tell(all, MEDIUM, None, at(1)));
        let mut kept = 0;
        for step in 1..=100 {
            let drifts = DeviceEstimate {
                access_ns: MEDIUM.access_ns + step * 7_000,
                ..MEDIUM
            };
            kept += u32::from(one.tell(all, drifts, None, at(1 + step)));
        }
        assert_eq!(kept, 3, "from 0.7 to 1.4 ms by a quarter each");
        let a_day_later = at(1 + 100 + DAY_S);
        assert!(
            one.tell(all, slower(2), None, a_day_later) || one.tell(all, MEDIUM, None, a_day_later)
        );
    }

    #[test]
    fn what_was_not_written_for_long_is_not_used_and_neither_is_what_comes_from_the_future() {
        let words = words();
        let all = Estimates::new(&words, 100 * DAY_S);
        let _ = met(7).tell(all, MEDIUM, None, at(0));
        assert!(met(7).hear(all, at(AGED_S)).is_some());
        assert_eq!(met(7).hear(all, at(AGED_S + 1)), None);
        let earlier = Estimates::new(&words, 99 * DAY_S);
        assert_eq!(met(7).hear(earlier, at(0)), None);
    }

    /// A run that began within a second behind another took what that one had learned for something from the
    /// future, and began with a guess.
    #[test]
    fn what_a_clock_wrote_that_is_a_second_ahead_is_new() {
        let words = words();
        let _ = met(7).tell(Estimates::new(&words, DAY_S + 1), MEDIUM, None, at(0));
        let behind = Estimates::new(&words, DAY_S);
        assert_eq!(met(7).hear(behind, at(0)), heard(MEDIUM, false));
    }

    #[test]
    fn the_slot_that_was_written_longest_ago_gives_way() {
        let words = words();
        let all = Estimates::new(&words, 0);
        let slots = u64::try_from(SLOTS).unwrap();
        for identity in 1..=slots + 1 {
            let _ = met(identity).tell(all, MEDIUM, None, at(identity));
        }
        assert_eq!(all.devices(), SLOTS);
        assert_eq!(met(1).hear(all, at(100)), None);
        assert!(met(2).hear(all, at(100)).is_some());
        assert!(met(slots + 1).hear(all, at(100)).is_some());
    }

    #[test]
    fn a_file_brings_back_what_has_not_aged_and_is_not_known_better() {
        let words = words();
        let before = Estimates::new(&words, 0);
        let _ = met(6).tell(before, MEDIUM, None, at(0));
        let _ = met(7).tell(before, MEDIUM, None, at(AGED_S));
        let _ = met(8).tell(before, MEDIUM, None, at(AGED_S));
        let kept = words_of_file(&before.file()).unwrap();
        let words = super::tests::words();
        let all = Estimates::new(&words, 0);
        let _ = met(8).tell(all, slower(3), None, at(AGED_S));
        let now = at(AGED_S + 1);
        let changed = all.take_over(Estimates::new(&kept, 0), now);
        assert_eq!((changed.len(), all.devices()), (1, 2));
        assert_eq!(met(6).hear(all, now), None);
        assert_eq!(met(7).hear(all, now), heard(MEDIUM, false));
        assert_eq!(met(8).hear(all, now), heard(slower(3), false));
        let later = met(8).hear(all, at(AGED_S + 100));
        assert_eq!(later, heard(slower(3), true));
        let (at, bytes) = all.bytes_of_slot(changed[0]);
        assert_eq!(bytes[..8], 7_u64.to_ne_bytes());
        assert_eq!(bytes, all.file()[8 + at..8 + at + 32]);
    }

    #[test]
    fn a_file_of_another_length_or_version_is_none() {
        let words = words();
        let file = Estimates::new(&words, 0).file();
        assert!(words_of_file(&file).is_some());
        assert!(words_of_file(&file[..file.len() - 1]).is_none());
        assert!(words_of_file(&[file.as_slice(), &[0]].concat()).is_none());
        assert!(words_of_file(&[]).is_none());
        let mut newer = file;
        newer[0] = newer[0].wrapping_add(1);
        assert!(words_of_file(&newer).is_none());
    }

    /// Whatever is in the words, or in a file that has the right beginning.
    #[test]
    fn any_words_are_answered_with_estimates_that_a_device_can_have() {
        let mut random = 1_u64;
        let mut next = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            random ^ random >> 29
        };
        for round in 0..2_000 {
            let words: Vec<_> = (0..WORDS)
                .map(|word| match (word % SLOT_WORDS, round % 2) {
                    (0, _) => AtomicU64::new(next() % 100),
                    (3, 1) => AtomicU64::new(next() % 1000),
                    _ => AtomicU64::new(next() >> (next() % 64)),
                })
                .collect();
            let all = Estimates::new(&words, next() >> (next() % 64));
            for identity in 0..100 {
                let device = met(identity);
                for _ in 0..2 {
                    if let Some(Heard {
                        estimate: heard, ..
                    }) = device.hear(all, at(1000))
                    {
                        assert!((1_000..=50_000_000).contains(&heard.access_ns));
                        assert!((1..=255).contains(&heard.depth));
                        assert!(heard.bytes_per_second >= 1_000_000);
                    }
                    let _ = device.tell(all, MEDIUM, None, at(1000));
                }
            }
            let fresh = super::tests::words();
            let _ = Estimates::new(&fresh, 0).take_over(all, at(next() >> 32));
        }
    }
}
