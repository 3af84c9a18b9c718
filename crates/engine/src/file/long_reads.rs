//! Reads that are longer than what the kernel asks for at once: those it brings in piece by piece.
//!
//! A disk says how much it takes with one request, often 128 KiB, and the kernel asks for no more at once. Of a read of 1 MiB at a
//! random place it has two pieces of eight on their way at most, however many the device could serve. All of such a read is
//! wanted, so all of it is asked for before it begins, if the one before it waited; and it is timed, as what waits for the bandwidth
//! alone is no faster for it.
//!
//! The kernel brings in some more behind it, which is in vain where places are random, and is the next read where they are not.
//! Both are the rule somewhere, so that is found out: as long as it is read, as much is asked for as the kernel would bring.

use ahead_policy::adaptive::Outcome;
use ahead_policy::decision::Prefetch;
use ahead_policy::knobs::{HIT_RATE_OF_NONE, RATIO_OF_KERNEL};
use ahead_policy::reason::Reason;
use ahead_policy::stock::{KERNEL_PAGES, long_read};
use ahead_units::{PageCount, PageIndex, PageRange};

use super::around::Around;
use super::limits::Limits;
use crate::device::LongRead;

/// Reads among which one is looked for that reads what the kernel would bring in behind a long one. Fewer, and who comes back
/// there after a row of a picture seems not to; more, and random places are found out late.
const READS_LOOKED_AT: u8 = 40;

/// Long reads behind which nothing was read, one after the other, after which they are asked for without it. One, and chance
/// decides; more, and random places are found out late.
const IN_VAIN: u8 = 2;

/// Pages behind a long read that are asked for at most: what the kernel brings in where it asks for 128 KiB at once. Where it asks
/// for megabytes they would be as long as the read.
const BEHIND_PAGES_MAX: u64 = 2 * KERNEL_PAGES;

/// Longest one that is asked for where others use the device too, who wait behind it: 1 MiB. Generated 40132, 4 MiB beside a reader of
/// small files: 1.19 of the kernel's time.
const PAGES_BESIDE_OTHERS: u64 = 256;

/// What is asked for behind a read ends with a multiple of so many pages, as the kernel's windows do, by its folios: 64 KiB.
const ALIGN_PAGES: u64 = 16;

/// What is known of the long reads of a file. All zero: nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongReads {
    /// What the kernel would bring in behind one of them, of which is found out whether it is read. Empty: nothing is.
    behind: PageRange,
    /// Reads since the one with `behind`.
    looked_at: u8,
    /// Those behind which nothing was read, since one behind which something was.
    in_vain: u8,
    /// Pages of the file were asked for, or read where none were.
    was_read: bool,
    newest: LongRead,
}

impl LongReads {
    /// What the newest read is.
    pub(super) fn newest(&self) -> LongRead {
        self.newest
    }

    /// `asker` reads `access`, of which this is what came. If all of it is asked for, `outcome` says so. Whether it does.
    #[inline]
    pub(super) fn on_read(
        &mut self,
        access: PageRange,
        asker: u64,
        outcome: &mut Outcome,
        limits: &Limits,
        around: &Around<'_>,
    ) -> bool {
        self.newest = LongRead::No;
        let asks = outcome.decision.prefetch.count > 0;
        (asks || !outcome.covered) && self.on_read_outside(access, asker, outcome, limits, around)
    }

    /// The same where no window covers it, or where a window is asked for.
    #[inline(never)]
    fn on_read_outside(
        &mut self,
        access: PageRange,
        asker: u64,
        outcome: &mut Outcome,
        limits: &Limits,
        around: &Around<'_>,
    ) -> bool {
        let was_in_vain = self.are_in_vain();
        self.look_at(access);
        if self.are_in_vain() != was_in_vain {
            around.device.long_reads().on_other_length();
        }
        // Who goes from file to file has the device alone all the same.
        let is_other = around.device.on_file(asker);
        let has_come_back = core::mem::replace(&mut self.was_read, true) && is_other;
        // Of what else may ask there is a reason why it does not.
        let is_free = matches!(
            outcome.decision.reason,
            Reason::NoPattern
                | Reason::RandomReads
                | Reason::ReadsAreLong
                | Reason::RunEnds
                | Reason::LeftToKernel
                | Reason::DoesNotPay
        );
        if !is_free || limits.is_copied {
            return false;
        }
        let file_end = PageIndex::new(limits.file_pages.get());
        let access = access.before(file_end);
        let (length, device) = (access.len().get(), around.device);
        let piece = device.call_pages_max();
        let window = device.kernel_window(PageCount::new(1), limits.kernel_window);
        let window = window.get();
        let may_ask = limits.knobs.readahead_ratio > RATIO_OF_KERNEL
            && around.sees_all
            && !around.is_over
            && !around.group.guard.is_left_alone();
        let is_long = length > piece.max(window) && length <= limits.knobs.request_pages_max.get();
        if !is_long || window == 0 || !may_ask {
            return false;
        }
        let is_alone = !has_come_back
            && limits.waiting.is_alone(around.now)
            && !around.is_shared
            && !around.has_lone_reads
            && !device.is_starved(around.now);
        let read_end = access.end.get();
        let kernel_end = access.start.get() + long_read(length, window, piece);
        let end = kernel_end.min(read_end + BEHIND_PAGES_MAX) / ALIGN_PAGES * ALIGN_PAGES;
        let behind = PageRange::new(read_end, end.max(read_end)).before(file_end);
        if self.behind.is_empty() {
            (self.behind, self.looked_at) = (behind, 0);
        }
        let may_be_in_vain = limits.knobs.readahead_hit_rate > HIT_RATE_OF_NONE;
        let end = if self.are_in_vain() || !may_be_in_vain {
            access.end
        } else {
            behind.end
        };
        let pages = PageRange::new(access.start.get(), end.get());
        let is_allowed = (is_alone || length <= PAGES_BESIDE_OTHERS)
            && pages.len() <= around.group.budget.available();
        if !is_allowed {
            return false;
        }
        if !device.long_reads().on_next() {
            self.newest = LongRead::ByKernel;
            return false;
        }
        device.on_other_ask(pages.len(), around.now);
        outcome.decision.prefetch = Prefetch::range(pages);
        outcome.decision.reason = Reason::LongRead;
        self.newest = LongRead::Whole;
        true
    }

    /// Whether nothing is read behind them.
    fn are_in_vain(&self) -> bool {
        self.in_vain >= IN_VAIN
    }

    /// Whether `access` reads of what lies behind a long one.
    fn look_at(&mut self, access: PageRange) {
        if self.behind.is_empty() {
            return;
        }
        self.looked_at += 1;
        if access.shared(self.behind).get() > 0 {
            (self.in_vain, self.behind) = (0, PageRange::default());
        } else if self.looked_at >= READS_LOOKED_AT {
            self.in_vain = self.in_vain.saturating_add(1);
            self.behind = PageRange::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use ahead_policy::knobs::Knobs;
    use ahead_units::Timestamp;

    use ahead_policy::decision::Decision;
    use ahead_policy::reason::Pattern;

    use super::*;
    use crate::adviser::Answer;
    use crate::device::Device;
    use crate::device_facts::DeviceFacts;
    use crate::group::Group;
    use crate::settings::Settings;
    use crate::waiting::Waiting;

    const MINE: u64 = 7;

    struct World {
        group: Group,
        device: Device,
        limits: Limits,
        long_reads: LongReads,
        /// Why its streams ask for nothing.
        reason: Reason,
        is_shared: bool,
        has_lone_reads: bool,
        sees_all: bool,
        is_over: bool,
    }

    impl World {
        /// Requests of 128 KiB at most, as the kernel's window is.
        fn new() -> Self {
            let device = Device::default();
            let facts = DeviceFacts::configured(&Settings::default());
            device.set_facts(&facts.with_call_limits(32, 32));
            let group = Group::new();
            let memory = PageCount::new(1 << 20);
            group.budget.set_limits(memory, PageCount::new(0), 50);
            Self {
                group,
                device,
                limits: Limits {
                    file_pages: PageCount::new(1 << 20),
                    knobs: Knobs::default(),
                    kernel_window: None,
                    is_copied: false,
                    waiting: Waiting::default(),
                },
                long_reads: LongReads::default(),
                reason: Reason::RandomReads,
                is_shared: false,
                has_lone_reads: false,
                sees_all: true,
                is_over: false,
            }
        }

        /// What is asked for with a read that no stream explains, by its first page and its length.
        fn read(&mut self, start: u64, length: u64) -> Option<(u64, u64)> {
            self.read_of(MINE, start, length)
        }

        fn read_of(&mut self, asker: u64, start: u64, length: u64) -> Option<(u64, u64)> {
            let around = Around {
                group: &self.group,
                device: &self.device,
                is_shared: self.is_shared,
                has_lone_reads: self.has_lone_reads,
                sees_all: self.sees_all,
                is_over: self.is_over,
                now: Timestamp::new(0),
            };
            let access = PageRange::new(start, start + length);
            let decision = Decision::nothing(Pattern::Random, self.reason);
            let mut outcome = Outcome {
                decision,
                ..Outcome::default()
            };
            let asks = self
                .long_reads
                .on_read(access, asker, &mut outcome, &self.limits, &around);
            let asked = outcome.decision.prefetch.one_range();
            asks.then(|| (asked.start.get(), asked.len().get()))
        }

        /// A long one comes, and waits: the next one may be asked for.
        fn read_and_wait(&mut self, length: u64) {
            self.read(1000, length);
            self.wait(length, 1000);
        }

        /// The newest one, of so many pages, waited.
        fn wait(&mut self, length: u64, page_ns: u64) {
            let newest = self.long_reads.newest();
            let pages = PageCount::new(length);
            let times = self.device.long_reads();
            times.on_wait(newest, pages, length * page_ns);
        }

        /// Reads of 64 pages that all wait, at places behind which nothing is read; a page takes so long where all was asked for,
        /// and where the kernel brought it. How many of them were asked for.
        fn reads(&mut self, count: u64, whole_ns: u64, kernel_ns: u64) -> u64 {
            let mut asked = 0;
            for number in 0..count {
                let is_asked = self.read((number * 37 % count + 1) * 1000, 64).is_some();
                asked += u64::from(is_asked);
                self.wait(64, if is_asked { whole_ns } else { kernel_ns });
            }
            asked
        }
    }

    #[test]
    fn a_long_read_is_asked_for_whole_after_one_that_waited() {
        let mut world = World::new();
        assert_eq!(world.read(1000, 64), None);
        assert_eq!(world.read(3008, 64), None, "none waited");
        world.wait(64, 1000);
        assert_eq!(world.read(5008, 64), Some((5008, 96)), "as the kernel");
        assert_eq!(world.read(7000, 64), None, "that one did not wait");
        world.wait(64, 1000);
        assert_eq!(world.read(9000, 32), None, "one request of the kernel's");
        assert_eq!(world.read((1 << 20) - 40, 64), Some(((1 << 20) - 40, 40)));
    }

    #[test]
    fn nothing_behind_them_is_asked_for_where_nothing_is_read_there() {
        let mut world = World::new();
        world.reads(2 * u64::from(READS_LOOKED_AT) + 10, 500, 1000);
        assert_eq!(world.read(500_000, 64), Some((500_000, 64)));
        world.wait(64, 500);
        let behind = world.long_reads.behind;
        assert_eq!(world.read(behind.start.get(), 1), None);
        assert_eq!(world.read(600_000, 64), Some((600_000, 96)), "read there");
    }

    #[test]
    fn what_is_no_faster_is_left_to_the_kernel_but_for_two_of_sixty_four() {
        let faster = World::new().reads(640, 500, 1000);
        let not_faster = World::new().reads(640, 960, 1000);
        assert!((615..625).contains(&faster), "{faster}");
        assert!((20..30).contains(&not_faster), "{not_faster}");
    }

    #[test]
    fn what_is_in_memory_is_asked_for_less_and_less() {
        let mut world = World::new();
        let mut asked = 0;
        for number in 0..1000 {
            let is_asked = world.read(number * 1000, 64).is_some();
            world.wait(64, 1000);
            if is_asked {
                asked += 1;
                let times = world.device.long_reads();
                times.on_answer(Answer::WasCached);
            }
        }
        assert!((10..=25).contains(&asked), "{asked}");
    }

    /// Generated 40132: 4 MiB at once stood before the reads of a reader of small files.
    #[test]
    fn a_very_long_read_is_left_to_the_kernel_beside_others() {
        for (reader, length, is_asked) in [(MINE, 1024, true), (8, 1024, false), (8, 256, true)] {
            let mut world = World::new();
            world.read_and_wait(1024);
            world.read_of(reader, 20, 4);
            assert_eq!(world.read(500_000, length).is_some(), is_asked);
        }
        let mut world = World::new();
        // Two at a time, since the clock began.
        (world.limits.waiting).on_wait(1_000_000, Timestamp::new(500_000), 1);
        world.read_and_wait(1024);
        assert_eq!(world.read(500_000, 1024), None, "threads of one file");
    }

    #[test]
    fn nor_beside_other_processes_or_faults_that_starve() {
        let beside: [fn(&mut World); 3] = [
            |world| world.is_shared = true,
            |world| world.has_lone_reads = true,
            |world| {
                let (device, gib) = (&world.device, PageCount::new(1 << 18));
                device.on_other_ask(gib, Timestamp::new(0));
                for waited_until_ns in [1_000_000_000, 1_200_000_000] {
                    device.on_lone_fault(500_000_000, Timestamp::new(waited_until_ns));
                }
            },
        ];
        for make in beside {
            for (length, is_asked) in [(1024, false), (256, true)] {
                let mut world = World::new();
                make(&mut world);
                world.read_and_wait(length);
                assert_eq!(world.read(500_000, length).is_some(), is_asked);
            }
        }
    }

    #[test]
    fn what_is_longer_than_the_largest_window_is_left_to_the_kernel() {
        for (length, is_asked) in [(2048, true), (2049, false)] {
            let mut world = World::new();
            world.limits.knobs.request_pages_max = PageCount::new(2048);
            world.read_and_wait(length);
            assert_eq!(world.read(500_000, length).is_some(), is_asked);
        }
    }

    #[test]
    fn who_goes_from_file_to_file_is_alone() {
        let mut world = World::new();
        for file in 0..8 {
            world.long_reads = LongReads::default();
            let is_asked = world.read_of(file, 0, 1024).is_some();
            assert_eq!(is_asked, file > 0);
            world.wait(1024, if is_asked { 500 } else { 1000 });
        }
    }

    #[test]
    fn what_is_refused_or_belongs_to_others_is_not_asked_for_either() {
        for (reason, is_asked) in [
            (Reason::NoPattern, true),
            (Reason::ReadsAreLong, true),
            (Reason::BudgetUsed, false),
            (Reason::HitRateLimit, false),
            (Reason::ProgramAsksAhead, false),
            (Reason::KernelAsks, false),
            (Reason::DoesNotPay, true),
        ] {
            let mut world = World::new();
            world.read_and_wait(64);
            world.reason = reason;
            assert_eq!(world.read(5000, 64).is_some(), is_asked, "{reason:?}");
        }
    }

    #[test]
    fn what_memory_has_no_place_for_is_not_asked_for() {
        let mut world = World::new();
        (world.group.budget).set_limits(PageCount::new(64), PageCount::new(0), 50);
        world.read_and_wait(64);
        assert_eq!(world.read(5000, 64), None);
    }

    /// Volumes behind which a read of 4 KiB waits for 1 MiB of another file are not arms.
    #[test]
    fn who_waits_behind_one_waits_for_more_than_an_access() {
        let mut world = World::new();
        world.read_and_wait(64);
        let now = Timestamp::new(1_000_000);
        assert!(world.device.was_idle(1000, now));
        assert!(world.read(5000, 64).is_some());
        assert!(!world.device.was_idle(1000, now));
    }

    /// The kernel reads in pieces of a pipe there, and who it is for decides how long that takes.
    #[test]
    fn a_copy_is_not_asked_for() {
        let mut world = World::new();
        world.limits.is_copied = true;
        world.read_and_wait(64);
        assert_eq!(world.read(5000, 64), None);
    }

    /// The daemon hears of reads when they are over.
    #[test]
    fn a_host_that_is_told_late_asks_for_none() {
        let mut world = World::new();
        world.sees_all = false;
        world.read_and_wait(64);
        assert_eq!(world.read(5000, 64), None);
    }

    #[test]
    fn a_read_that_is_over_is_not_asked_for_and_leaves_the_next_one_to_be() {
        let mut world = World::new();
        world.read_and_wait(64);
        world.is_over = true;
        assert_eq!(world.read(5000, 64), None);
        world.wait(64, 1000);
        world.is_over = false;
        assert!(world.read(7000, 64).is_some());
    }

    /// Those that may not be asked for take the kernel a third of the time for each page.
    #[test]
    fn what_may_not_be_asked_for_says_nothing_of_what_may() {
        let mut world = World::new();
        world.read_and_wait(64);
        let mut asked = 0;
        for number in 1..=128 {
            world.read_of(8, number, 4);
            assert_eq!(world.read(number * 5000, 1024), None);
            world.wait(1024, 300);
            let is_asked = world.read(number * 3000, 64).is_some();
            asked += u64::from(is_asked);
            world.wait(64, if is_asked { 500 } else { 1000 });
        }
        assert!((124..=126).contains(&asked), "{asked}");
    }

    #[test]
    fn at_a_rate_of_one_nothing_behind_it_is_asked_for() {
        let mut world = World::new();
        world.limits.knobs.readahead_hit_rate = 1;
        world.read_and_wait(64);
        assert_eq!(world.read(5008, 64), Some((5008, 64)));
    }

    #[test]
    fn the_knob_that_leaves_all_to_the_kernel_leaves_these() {
        for ratio in [0, 1, 50] {
            let mut world = World::new();
            world.limits.knobs.readahead_ratio = ratio;
            world.read_and_wait(64);
            assert_eq!(world.read(5000, 64).is_some(), ratio > 1, "{ratio}");
        }
    }
}
