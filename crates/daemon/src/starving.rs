//! On which devices page faults starve behind scans that take turns with them for nothing, whoever requests for these.
//!
//! The engine knows of waits behind what it has requested itself. What the kernel requests for a scan is in the queue as
//! well, 128 KiB and more for each, and a page waits behind that. It is seen as a scan that goes on while a fault waits.
//!
//! Such waits also make a device look like an arm, whose accesses take as long, and an arm is worse off with small
//! requests: each is a seek. So what a turn takes is measured by itself: the mean time from one file to the next, by answers
//! and by what is requested. An arm has to move in between, other devices do not.

use std::num::NonZeroUsize;

use ahead_engine::starved::Starved;
use ahead_observer::observation::FileKey;
use ahead_units::Timestamp;
use lru::LruCache;

/// Devices that are followed at once; the one that was used least recently goes.
const DEVICES_MAX: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// A turn of an arm takes 4 to 15 ms, one of a network volume with windows of 128 KiB 1 to 1.5. Shorter, and a volume on a busy
/// machine is taken for an arm; longer, and a fast arm is left to seek.
const ARM_TURN_NS: u64 = 2_000_000;

/// Turns over which their time is a mean, and the first ones, of which too few are known. Fewer, and a machine that is busy for a
/// moment makes an arm of a volume.
const TURNS: u64 = 32;

/// A turn counts as so much at most: in between nobody may have asked, or had a processor.
const TURN_NS_MAX: u64 = 2 * ARM_TURN_NS;

/// So long after the last sign faults are said to starve. Shorter, and scans go on whenever the reader of pages has lost its
/// processor; longer, and they are held back for nobody.
const HELD_NS: u64 = 1_000_000_000;

#[derive(Debug, Default)]
struct OneDevice {
    starved: Starved,
    /// When the newest fault came that was a sign.
    starved_at: Option<Timestamp>,
    /// When a scan was told of last.
    scanned: Timestamp,
    /// Which file had the newest turn, and when.
    served: Option<(u64, Timestamp)>,
    turn_ns: u64,
    turns: u64,
}

impl OneDevice {
    fn is_on(&self, now: Timestamp) -> bool {
        self.starved_at.is_some_and(|at| now.since(at) < HELD_NS)
    }

    /// What a turn takes; `None` where too few were seen, or an arm moves for each.
    fn short_turn_ns(&self) -> Option<u64> {
        (self.turns >= TURNS && self.turn_ns < ARM_TURN_NS).then_some(self.turn_ns)
    }
}

/// Starving faults, by device.
#[derive(Debug)]
pub(crate) struct StarvingFaults(LruCache<u64, OneDevice>);

impl StarvingFaults {
    /// There were none.
    pub(crate) fn new() -> Self {
        Self(LruCache::new(DEVICES_MAX))
    }

    fn of(&mut self, device: u64) -> &mut OneDevice {
        self.0.get_or_insert_mut(device, OneDevice::default)
    }

    /// The device of `file` has answered a reader of it, or is asked for it.
    pub(crate) fn on_turn(&mut self, file: FileKey, now: Timestamp) {
        let FileKey { device, inode } = file;
        let one = self.of(device);
        if let Some((other, before)) = one.served.replace((inode, now))
            && other != inode
        {
            let turn_ns = now.since(before).min(TURN_NS_MAX);
            let known = one.turns.min(TURNS - 1);
            one.turn_ns = (one.turn_ns * known + turn_ns) / (known + 1);
            one.turns += 1;
        }
    }

    /// A scan has read from `device`.
    pub(crate) fn on_scan(&mut self, device: u64, now: Timestamp) {
        self.of(device).scanned = now;
    }

    /// A fault that no stream explains waited `waited_ns`, until `now`.
    pub(crate) fn on_lone_fault(&mut self, device: u64, waited_ns: u64, now: Timestamp) {
        let one = self.of(device);
        let is_on = one.is_on(now);
        let Some(turn_ns) = one.short_turn_ns() else {
            return;
        };
        let is_behind = one.scanned.get() > now.get().saturating_sub(waited_ns);
        one.starved
            .on_lone_fault(waited_ns, is_behind, turn_ns, now);
        if is_on || one.starved.is_on(now) {
            one.starved_at = Some(now);
        }
    }

    /// What a turn takes there, in the mean of those that were seen; 0: none was.
    pub(crate) fn turn_ns(&self, device: u64) -> u64 {
        self.0.peek(&device).map_or(0, |one| one.turn_ns)
    }

    /// Whether faults starve there, as far as is known.
    pub(crate) fn is_on(&self, device: u64, now: Timestamp) -> bool {
        self.0.peek(&device).is_some_and(|one| one.is_on(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Timestamp {
        Timestamp::new(us * 1000)
    }

    fn file(inode: u64) -> FileKey {
        FileKey { device: 1, inode }
    }

    /// Four scans that are answered in turn, one each `turn_us`, and a fault behind each eight of them.
    fn starves(turn_us: u64, files: u64) -> bool {
        let mut faults = StarvingFaults::new();
        for turn in 1..100 {
            let now = at(turn * turn_us);
            faults.on_turn(file(turn % files), now);
            faults.on_scan(1, now);
            if turn % 8 == 0 {
                faults.on_lone_fault(1, turn_us * 8000, now);
            }
        }
        assert!(!faults.is_on(2, at(99 * turn_us)), "another device");
        faults.is_on(1, at(99 * turn_us))
    }

    #[test]
    fn long_waits_while_scans_go_on_are_starving_where_turns_are_short() {
        assert!(starves(1_000, 4));
        assert!(!starves(8_000, 4), "an arm");
        assert!(!starves(1_000, 1), "nobody else");
    }

    #[test]
    fn long_waits_beside_no_scan_are_not_starving() {
        let mut faults = StarvingFaults::new();
        for turn in 1..100 {
            let now = at(turn * 1000);
            faults.on_turn(file(turn % 4), now);
            if turn % 8 == 0 {
                faults.on_lone_fault(1, 8_000_000, now);
                assert!(!faults.is_on(1, now));
            }
        }
    }
}
