//! How much memory the daemon's windows may count on: what the machine has available, no more than its own control group
//! may have, and less while tasks wait for memory.
//!
//! What the daemon asks for is charged to its own group, whoever reads it, so the groups of readers limit nothing here.

use std::path::Path;

use ahead_engine::budget::UNREAD_PAGES_MAX;
use ahead_engine::group::MEMORY_BYTES_UNKNOWN;
use ahead_sys::meminfo::MemoryInfo;
use ahead_sys::{memory_limit, memory_pressure};
use ahead_units::{ByteLength, PAGE_BYTES, PageCount, Timestamp};

/// Looks are no closer than this: four a second, so that two of them see a second of pressure.
const LOOK_NS: u64 = 250_000_000;

/// Part of the time between two looks in which tasks waited for memory: above it windows are halved, below the other they
/// grow again. The kernel's own example of a trigger worth acting on is 150 ms in a second; a machine that reclaims
/// clean pages only is below 1 %.
const STALLED_PERCENT_MANY: u64 = 15;
const STALLED_PERCENT_FEW: u64 = 1;

/// Halved so often at most: a 64th still covers a round trip of a few readers.
const HALVED_MAX: u32 = 6;

/// Looks without pressure until windows are doubled again, 2 s: memory that is just free again is soon asked for.
const CALM_LOOKS: u32 = 8;

/// What the machine says at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryFacts {
    /// What windows could count on without pressure.
    pub(crate) bytes: u64,
    /// How long tasks have waited for memory in all, where that is known.
    pub(crate) stalled_ns: Option<u64>,
}

impl MemoryFacts {
    /// As it is now.
    pub(crate) fn of_this_machine() -> Self {
        Self::read(Path::new("/proc"), Path::new("/sys/fs/cgroup"))
    }

    /// What pages of one file can be taken to have; the rest is for other files.
    pub(crate) const fn for_one_file(self) -> PageCount {
        PageCount::holding(ByteLength::new(self.bytes / 2))
    }

    /// Reads them. `proc_root` is normally `/proc`, `cgroup_root` `/sys/fs/cgroup`.
    pub(crate) fn read(proc_root: &Path, cgroup_root: &Path) -> Self {
        let available = MemoryInfo::read(proc_root)
            .ok()
            .and_then(|memory| memory.available_bytes);
        let limit = memory_limit::of_this_process(proc_root, cgroup_root);
        let bytes = available.unwrap_or(MEMORY_BYTES_UNKNOWN);
        Self {
            bytes: bytes.min(limit.unwrap_or(u64::MAX)),
            stalled_ns: memory_pressure::stalled_ns(proc_root),
        }
    }
}

/// The windows' memory under pressure. Pure.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PressedMemory {
    /// When it was looked last, and how long tasks had waited until then.
    looked: Option<(Timestamp, u64)>,
    halved: u32,
    calm: u32,
}

impl PressedMemory {
    /// Whether it is time to look.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.looked
            .is_none_or(|(looked, _)| now.since(looked) >= LOOK_NS)
    }

    /// What windows may count on at `now`, of which they use `ratio` per cent.
    pub(crate) fn pages(&mut self, now: Timestamp, facts: MemoryFacts, ratio: u32) -> PageCount {
        let stalled_ns = facts.stalled_ns.unwrap_or(0);
        if let Some((looked, before)) = self.looked.replace((now, stalled_ns)) {
            let passed = now.since(looked).max(1);
            let percent = stalled_ns.saturating_sub(before).saturating_mul(100) / passed;
            self.on_look(percent);
        }
        // More than the budget can use would have to be halved in vain first.
        let most = UNREAD_PAGES_MAX * 100 / u64::from(ratio.clamp(1, 100)) * PAGE_BYTES;
        let bytes = facts.bytes.min(most) >> self.halved;
        PageCount::holding(ByteLength::new(bytes))
    }

    fn on_look(&mut self, stalled_percent: u64) {
        if stalled_percent >= STALLED_PERCENT_MANY {
            self.halved = (self.halved + 1).min(HALVED_MAX);
            self.calm = 0;
        } else if stalled_percent > STALLED_PERCENT_FEW {
            self.calm = 0;
        } else {
            self.calm += 1;
            if self.calm >= CALM_LOOKS {
                self.halved = self.halved.saturating_sub(1);
                self.calm = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const GIB: u64 = 1 << 30;

    fn facts(stalled_ms: u64) -> MemoryFacts {
        MemoryFacts {
            bytes: 8 * GIB,
            stalled_ns: Some(stalled_ms * 1_000_000),
        }
    }

    /// Looks every quarter of a second, from `at_ms` on; tasks wait for `waited_ms` of each.
    fn look(
        memory: &mut PressedMemory,
        at_ms: &mut u64,
        stalled_ms: &mut u64,
        waited_ms: u64,
    ) -> u64 {
        *at_ms += 250;
        *stalled_ms += waited_ms;
        let now = Timestamp::new(*at_ms * 1_000_000);
        memory.pages(now, facts(*stalled_ms), 50).get()
    }

    #[test]
    fn windows_shrink_within_a_second_of_pressure_and_grow_again_slowly() {
        let mut memory = PressedMemory::default();
        let (mut at_ms, mut stalled_ms) = (0, 0);
        let all = look(&mut memory, &mut at_ms, &mut stalled_ms, 0);
        assert_eq!(all, 2 * UNREAD_PAGES_MAX);
        let mut pages = all;
        for _ in 0..4 {
            pages = look(&mut memory, &mut at_ms, &mut stalled_ms, 100);
        }
        assert_eq!(pages, all / 16, "after one second");
        for _ in 0..20 {
            pages = look(&mut memory, &mut at_ms, &mut stalled_ms, 100);
        }
        assert_eq!(pages, all / 64, "never nothing");
        for _ in 0..4 {
            assert_eq!(look(&mut memory, &mut at_ms, &mut stalled_ms, 0), pages);
        }
        for _ in 0..48 {
            pages = look(&mut memory, &mut at_ms, &mut stalled_ms, 0);
        }
        assert_eq!(pages, all);
    }

    /// Reclaim of clean pages alone.
    #[test]
    fn a_little_waiting_changes_nothing() {
        let mut memory = PressedMemory::default();
        let (mut at_ms, mut stalled_ms) = (0, 0);
        for _ in 0..100 {
            let pages = look(&mut memory, &mut at_ms, &mut stalled_ms, 10);
            assert_eq!(pages, 2 * UNREAD_PAGES_MAX);
        }
    }

    #[test]
    fn a_look_is_due_four_times_a_second() {
        let mut memory = PressedMemory::default();
        assert!(memory.is_due(Timestamp::new(5)));
        memory.pages(Timestamp::new(5), facts(0), 50);
        assert!(!memory.is_due(Timestamp::new(LOOK_NS)));
        assert!(memory.is_due(Timestamp::new(5 + LOOK_NS)));
    }

    #[test]
    fn the_least_of_machine_and_control_group_counts() {
        let root = tempfile::tempdir().unwrap();
        let (proc, cgroup) = (root.path().join("proc"), root.path().join("cgroup"));
        let unknown = MemoryFacts::read(&proc, &cgroup);
        assert_eq!(unknown.bytes, MEMORY_BYTES_UNKNOWN);
        assert_eq!(unknown.stalled_ns, None);
        for folder in ["proc/self", "proc/pressure", "cgroup/ahead.service"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let write = |file: &str, text: &str| fs::write(root.path().join(file), text).unwrap();
        write(
            "proc/meminfo",
            "MemTotal: 9000000 kB\nMemAvailable: 2097152 kB\n",
        );
        write("proc/self/cgroup", "0::/ahead.service\n");
        write("cgroup/ahead.service/memory.max", "max\n");
        write(
            "proc/pressure/memory",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
        );
        let whole = MemoryFacts::read(&proc, &cgroup);
        assert_eq!((whole.bytes, whole.stalled_ns), (2 * GIB, Some(7000)));
        write("cgroup/ahead.service/memory.max", "268435456\n");
        assert_eq!(MemoryFacts::read(&proc, &cgroup).bytes, 256 << 20);
    }
}
