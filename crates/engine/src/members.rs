//! The processes of a group and what each has asked for, in memory that all of them map.
//!
//! Each process has a slot of three words, which only it writes. A process that was killed leaves its
//! slot behind; a slot that was not written for a while does not count, and later belongs to whoever
//! needs one. Nothing here is a lock, and nobody waits for anybody: a lost update is a bound that is
//! missed once.
//!
//! ```text
//! word 0   process            | when, in milliseconds (0 in both: a free slot)
//! word 1   unread pages       | lone reads wait (1 bit), windows
//! word 2   group              | device of the newest request
//! ```

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_units::{PageCount, Timestamp};

/// Processes that can be told apart; further ones are on their own.
pub const SLOTS: usize = 256;
const SLOT_WORDS: usize = 3;
/// Words of the shared memory. All zero is no process.
pub const WORDS: usize = SLOTS * SLOT_WORDS;

/// What others have is looked at not more often than this: a look takes a tenth of a microsecond.
const HEAR_EVERY_MS: u32 = 1;
/// A process whose lone reads have not waited for so long has none any more: six accesses of an arm.
const LONE_MS: u32 = 50;
/// In the half of a word that counts windows: lone reads wait.
const LONE: u32 = 1 << 31;
/// A process that has not asked for so long does not count: as
/// `IDLE_NS` of the session has it for a file.
const QUIET_MS: u32 = 5_000;
/// A slot that was not written for so long may be taken by another process.
const FORGOTTEN_MS: u32 = 60_000;

/// What one process, or several, have asked for and not read yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// Pages.
    pub unread: PageCount,
    /// Streams with a window.
    pub windows: u32,
    /// Reads that no window covers wait for the device.
    pub lone_reads: bool,
}

/// The words that the processes of all groups share; too few are none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Members<'a>(&'a [AtomicU64]);

impl<'a> Members<'a> {
    /// In these words, [`WORDS`] of them.
    #[must_use]
    pub const fn new(words: &'a [AtomicU64]) -> Self {
        Self(words)
    }

    fn slot(self, place: usize) -> Option<&'a [AtomicU64; SLOT_WORDS]> {
        self.slots().nth(place)
    }

    fn slots(self) -> impl Iterator<Item = &'a [AtomicU64; SLOT_WORDS]> {
        let (slots, _) = self.0.as_chunks::<SLOT_WORDS>();
        slots.iter().take(SLOTS)
    }
}

/// One process among the others.
#[derive(Debug, Default)]
pub struct Member {
    process: AtomicU32,
    group: AtomicU32,
    /// Its slot, counted from 1.
    place: AtomicU32,
    now_ms: AtomicU32,
    heard_ms: AtomicU32,
    /// One bit for each device that others asked last.
    devices: AtomicU64,
    /// The same for those on which lone reads of others wait.
    lone_devices: AtomicU64,
}

impl Member {
    /// Of no group.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            process: AtomicU32::new(0),
            group: AtomicU32::new(0),
            place: AtomicU32::new(0),
            now_ms: AtomicU32::new(0),
            heard_ms: AtomicU32::new(0),
            devices: AtomicU64::new(0),
            lone_devices: AtomicU64::new(0),
        }
    }

    /// It is `process` now, and belongs to `group`; neither is 0. Also the child of a fork says so.
    pub fn join(&self, process: u32, group: u32) {
        self.process.store(process, Relaxed);
        self.group.store(group, Relaxed);
        self.place.store(0, Relaxed);
    }

    /// As [`Self::join`], in the group that it belongs to already.
    pub fn rejoin(&self, process: u32) {
        self.join(process, self.group.load(Relaxed));
    }

    /// What the others of its group have, if it is time to look.
    pub fn hear(&self, members: Members<'_>, now: Timestamp) -> Option<Outstanding> {
        let now_ms = milliseconds(now);
        self.now_ms.store(now_ms, Relaxed);
        let heard_ms = self.heard_ms.load(Relaxed);
        if members.0.is_empty() || now_ms.wrapping_sub(heard_ms) < HEAR_EVERY_MS {
            return None;
        }
        self.heard_ms.store(now_ms, Relaxed);
        let (own, group) = (self.process.load(Relaxed), self.group.load(Relaxed));
        let (mut outstanding, mut devices, mut lone_devices) = (Outstanding::default(), 0, 0);
        for [who, what, whose] in members.slots() {
            let (process, at_ms) = halves(who.load(Relaxed));
            if process == 0 || process == own || now_ms.wrapping_sub(at_ms) > QUIET_MS {
                continue;
            }
            let (its_group, device) = halves(whose.load(Relaxed));
            let (unread, windows) = halves(what.load(Relaxed));
            let has_lone_reads = windows & LONE != 0 && now_ms.wrapping_sub(at_ms) <= LONE_MS;
            let windows = windows & !LONE;
            if its_group != group || windows == 0 && !has_lone_reads {
                continue;
            }
            if has_lone_reads {
                outstanding.lone_reads = true;
                lone_devices |= bit(device);
            }
            outstanding.unread =
                PageCount::new(outstanding.unread.get().saturating_add(u64::from(unread)));
            outstanding.windows = outstanding.windows.saturating_add(windows);
            devices |= bit(device);
        }
        self.devices.store(devices, Relaxed);
        self.lone_devices.store(lone_devices, Relaxed);
        Some(outstanding)
    }

    /// Tells the others what this process has, and which device it asked or waited for last.
    pub fn tell(&self, members: Members<'_>, outstanding: Outstanding, device: u64) {
        let process = self.process.load(Relaxed);
        if members.0.is_empty() || process == 0 {
            return;
        }
        let Some([who, what, whose]) = self.own_slot(members, process) else {
            return;
        };
        let unread = u32::try_from(outstanding.unread.get()).unwrap_or(u32::MAX);
        let lone = if outstanding.lone_reads { LONE } else { 0 };
        what.store(word(unread, outstanding.windows & !LONE | lone), Relaxed);
        whose.store(word(self.group.load(Relaxed), short(device)), Relaxed);
        who.store(word(process, self.now_ms.load(Relaxed)), Relaxed);
    }

    /// It ends: its slot is free.
    pub fn leave(&self, members: Members<'_>) {
        let place = self.place.swap(0, Relaxed);
        let slot = usize::try_from(place)
            .ok()
            .and_then(|place| place.checked_sub(1));
        if let Some([who, what, _]) = slot.and_then(|place| members.slot(place))
            && halves(who.load(Relaxed)).0 == self.process.load(Relaxed)
        {
            what.store(0, Relaxed);
            who.store(0, Relaxed);
        }
    }

    /// Whether others asked this device last.
    #[must_use]
    pub fn shares(&self, device: u64) -> bool {
        self.devices.load(Relaxed) & bit(short(device)) != 0
    }

    /// Whether lone reads of others wait for this device.
    #[must_use]
    pub fn has_lone_reads(&self, device: u64) -> bool {
        self.lone_devices.load(Relaxed) & bit(short(device)) != 0
    }

    /// The slot of this process, taken if it has none or lost it.
    fn own_slot<'a>(
        &self,
        members: Members<'a>,
        process: u32,
    ) -> Option<&'a [AtomicU64; SLOT_WORDS]> {
        let place = usize::try_from(self.place.load(Relaxed)).ok()?;
        if let Some(slot) = place.checked_sub(1).and_then(|place| members.slot(place))
            && halves(slot[0].load(Relaxed)).0 == process
        {
            return Some(slot);
        }
        let now_ms = self.now_ms.load(Relaxed);
        let take = |fits: &dyn Fn(u32, u32) -> bool| {
            let mut slots = (1..).zip(members.slots());
            slots.find(|(_, slot)| {
                let seen = slot[0].load(Relaxed);
                let (owner, at_ms) = halves(seen);
                let taken = word(process, now_ms);
                fits(owner, at_ms)
                    && slot[0]
                        .compare_exchange(seen, taken, Relaxed, Relaxed)
                        .is_ok()
            })
        };
        // A process that executes another program goes on with its number.
        let left_behind = |owner, _| owner == process;
        let free = |owner, at_ms| owner == 0 || now_ms.wrapping_sub(at_ms) > FORGOTTEN_MS;
        let (place, slot) = take(&left_behind).or_else(|| take(&free))?;
        self.place.store(place, Relaxed);
        Some(slot)
    }
}

/// Milliseconds, which begin again after seven weeks.
fn milliseconds(time: Timestamp) -> u32 {
    halves(time.get() / 1_000_000).1
}

/// A device's number in a word's half.
fn short(device: u64) -> u32 {
    let (high, low) = halves(device);
    high ^ low
}

const fn bit(device: u32) -> u64 {
    // Neighbouring numbers, as parts of a disk have, are different bits.
    1 << (device % 61)
}

fn word(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_be_bytes();
    (
        u32::from_be_bytes([a, b, c, d]),
        u32::from_be_bytes([e, f, g, h]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn words() -> Vec<AtomicU64> {
        (0..WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    fn member(process: u32, group: u32) -> Member {
        let member = Member::new();
        member.join(process, group);
        member
    }

    fn outstanding(unread: u64, windows: u32) -> Outstanding {
        Outstanding {
            unread: PageCount::new(unread),
            windows,
            lone_reads: false,
        }
    }

    /// Says at `ms` what `member` has on device 8.
    fn say(member: &Member, members: Members<'_>, ms: u64, what: Outstanding) {
        member.hear(members, Timestamp::new(ms * MS));
        member.tell(members, what, 8);
    }

    #[test]
    fn each_hears_what_the_others_of_its_group_have() {
        let words = words();
        let members = Members::new(&words);
        let (one, two, stranger) = (member(1, 7), member(2, 7), member(3, 8));
        say(&one, members, 100, outstanding(1000, 2));
        say(&two, members, 100, outstanding(10, 1));
        say(&stranger, members, 100, outstanding(500, 5));
        assert_eq!(
            one.hear(members, Timestamp::new(101 * MS)),
            Some(outstanding(10, 1))
        );
        assert!(one.shares(8) && !one.shares(9));
        assert_eq!(
            one.hear(members, Timestamp::new(101 * MS)),
            None,
            "too early"
        );
        two.leave(members);
        assert_eq!(
            one.hear(members, Timestamp::new(102 * MS)),
            Some(Outstanding::default())
        );
        assert!(!one.shares(8));
    }

    /// generated:seed=5017: reads at random places in one process behind the windows of another.
    #[test]
    fn lone_reads_of_others_are_heard_of_and_soon_forgotten() {
        let words = words();
        let members = Members::new(&words);
        let (scan, lookups) = (member(1, 7), member(2, 7));
        let waits = Outstanding {
            lone_reads: true,
            ..Outstanding::default()
        };
        say(&lookups, members, 100, waits);
        assert_eq!(scan.hear(members, Timestamp::new(101 * MS)), Some(waits));
        assert!(scan.has_lone_reads(8) && !scan.has_lone_reads(9));
        assert!(scan.shares(8), "the device moves for them");
        scan.hear(members, Timestamp::new(151 * MS));
        assert!(!scan.has_lone_reads(8) && !scan.shares(8));
    }

    #[test]
    fn who_was_killed_is_forgotten_and_its_slot_taken() {
        let words = words();
        let members = Members::new(&words);
        let one = member(1, 7);
        for process in 2..=u32::try_from(SLOTS).unwrap() + 1 {
            say(&member(process, 7), members, 100, outstanding(1, 1));
        }
        // All slots are taken.
        say(&one, members, 200, outstanding(9, 1));
        let all = u64::try_from(SLOTS).unwrap();
        let heard = one.hear(members, Timestamp::new(201 * MS)).unwrap();
        assert_eq!(heard.unread, PageCount::new(all));
        let quiet = u64::from(QUIET_MS);
        let heard = one
            .hear(members, Timestamp::new((101 + quiet) * MS))
            .unwrap();
        assert_eq!(heard, Outstanding::default());
        let forgotten = 101 + u64::from(FORGOTTEN_MS);
        say(&one, members, forgotten, outstanding(9, 1));
        let other = member(999, 7);
        assert_eq!(
            other.hear(members, Timestamp::new(forgotten * MS)),
            Some(outstanding(9, 1))
        );
    }

    #[test]
    fn the_child_of_a_fork_has_a_slot_of_its_own() {
        let words = words();
        let members = Members::new(&words);
        let parent = member(1, 7);
        say(&parent, members, 100, outstanding(5, 1));
        let child = member(1, 7);
        child.place.store(parent.place.load(Relaxed), Relaxed);
        child.rejoin(2);
        say(&child, members, 101, outstanding(3, 1));
        assert_eq!(
            parent.hear(members, Timestamp::new(102 * MS)),
            Some(outstanding(3, 1))
        );
        assert_eq!(
            child.hear(members, Timestamp::new(102 * MS)),
            Some(outstanding(5, 1))
        );
    }

    /// `python3` that is a script for bash, which executes `env`, which executes the program.
    #[test]
    fn a_process_that_executes_another_program_keeps_its_slot() {
        let words = words();
        let members = Members::new(&words);
        say(&member(1, 7), members, 100, outstanding(5, 1));
        say(&member(1, 7), members, 200, outstanding(3, 1));
        let heard = member(2, 7).hear(members, Timestamp::new(201 * MS));
        assert_eq!(heard, Some(outstanding(3, 1)));
    }

    #[test]
    fn without_shared_memory_everybody_is_alone() {
        let member = member(1, 7);
        member.tell(Members::default(), outstanding(5, 1), 8);
        assert_eq!(member.hear(Members::default(), Timestamp::new(MS)), None);
    }

    /// Whatever is in the words: other programs of the same user can write there.
    #[test]
    fn any_words_are_answered_with_numbers() {
        let mut random = 1_u64;
        let words: Vec<_> = (0..WORDS)
            .map(|_| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                AtomicU64::new(random)
            })
            .collect();
        let members = Members::new(&words);
        let member = member(1, 7);
        for ms in 1..200_000 {
            say(&member, members, ms * 977, outstanding(u64::MAX, u32::MAX));
        }
        member.leave(members);
    }
}
