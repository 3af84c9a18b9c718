//! Reads that are longer than what the kernel asks for at once: those it brings in piece by piece.
//!
//! A disk says how much it takes with one request, often 128 KiB, and the kernel asks for no more at once. Of a read of 1 MiB at a
//! random place it has two pieces of eight on their way at most, however many the device could serve. All of such a read is
//! wanted, so all of it is asked for before it begins, if the one before it waited; and it is timed, as what waits for the bandwidth
//! alone is no faster for it.
//!
//! The kernel brings in some more behind it, which is in vain where places are random, and is the next read where they are not.
//! Both are the rule somewhere, so that is found out: while somebody reads there, as much is asked for as the kernel would bring.

use ahead_policy::adaptive::Outcome;
use ahead_policy::decision::Prefetch;
use ahead_policy::reason::Reason;
use ahead_policy::stock::{KERNEL_PAGES, RATIO_OF_KERNEL, long_read};
use ahead_units::{PageCount, PageIndex, PageRange};

use super::around::Around;
use super::filled::Limits;
use crate::adviser::Answer;

/// Reads among which one is looked for that reads what the kernel would bring in behind a long one. Fewer, and who comes back
/// there after a row of a picture seems not to; more, and random places are found out late.
const READS_LOOKED_AT: u8 = 64;

/// Long reads behind which nothing was read, one after the other, after which they are asked for without it. One, and chance
/// decides; more, and random places are found out late.
const IN_VAIN: u8 = 2;

/// Pages behind a long read that are asked for at most: what the kernel brings in where it asks for 128 KiB at once. Where it asks
/// for megabytes they would be as long as the read.
const BEHIND_PAGES_MAX: u64 = 2 * KERNEL_PAGES;

/// Long reads that are asked for before their times are compared.
const TIMED_FIRST: u8 = 3;

/// One of so many is made the other way from then on, so that both are timed. Fewer, and what is slower is done more often; more,
/// and what has changed is seen late.
const TIMED_EVERY: u8 = 32;

/// One that is asked for has to take less than one of the kernel's by one part in so many: calls cost the processor some time.
const FASTER_PARTS: u64 = 16;

/// Pieces up to which one is asked for where others use the device too, who wait behind it: 1 MiB of 128 KiB each. Generated
/// 40132, 4 MiB beside a reader of small files: 1.19 of the kernel's time.
const PIECES_BESIDE_OTHERS: u64 = 8;

/// What is asked for behind a read ends with a multiple of so many pages, as the kernel's windows do, by its folios: 64 KiB.
const ALIGN_PAGES: u64 = 16;

/// Most long reads for which nothing is asked after one that was in memory.
const PAUSE_MAX: u8 = 64;

/// What the newest read is, and a read that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LongRead {
    /// Not longer than what the kernel asks for at once, or asked for otherwise.
    #[default]
    No,
    /// The kernel brings it in.
    ByKernel,
    /// All of it was asked for.
    Whole,
}

/// What is known of the long reads of a file. All zero: nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongReads {
    /// What the kernel would bring in behind one of them, of which is found out whether it is read. Empty: nothing is.
    behind: PageRange,
    /// What a page of those took that the kernel brought in, in nanoseconds; 0: not known.
    kernel_ns: u32,
    /// The same of those that were asked for whole.
    whole_ns: u32,
    /// Reads since the one with `behind`.
    looked_at: u8,
    /// Those behind which nothing was read, since one behind which something was.
    in_vain: u8,
    /// Counts those that could be asked for, wrapping above [`TIMED_FIRST`].
    turn: u8,
    /// Of so many more nothing is asked for, as one was in memory.
    pause: u8,
    /// And of so many after the next one that is.
    next_pause: u8,
    /// One has waited, and none was asked for since.
    has_waited: bool,
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
        self.look_at(access);
        let is_alone = around.device.is_newest_reader(asker) && !around.is_shared;
        if outcome.decision.prefetch.count > 0 || outcome.decision.reason == Reason::KernelAsks {
            return false;
        }
        let file_end = PageIndex::new(limits.file_pages.get());
        let access = access.before(file_end);
        let device = around.device;
        let window = device
            .kernel_window(PageCount::new(1), limits.kernel_window)
            .get();
        // Of a copy the kernel asks for its own window at once, as it reads in pieces of a pipe.
        let piece = if limits.is_copied {
            window
        } else {
            device.call_pages_max()
        };
        let length = access.len().get();
        let may_ask = limits.knobs.readahead_ratio > RATIO_OF_KERNEL
            && around.sees_all
            && !around.group.guard.is_left_alone();
        if length <= piece || window == 0 || !may_ask {
            return false;
        }
        self.newest = LongRead::ByKernel;
        let end = access.start.get() + long_read(length, window, piece);
        let behind = PageRange::new(access.end.get(), end);
        if self.behind.is_empty() {
            (self.behind, self.looked_at) = (behind, 0);
        }
        let is_polite = is_alone || length <= piece * PIECES_BESIDE_OTHERS;
        if !core::mem::take(&mut self.has_waited) || !is_polite || !self.is_worth() {
            return false;
        }
        let least = access.end.get();
        let with_behind = end.min(least + BEHIND_PAGES_MAX) / ALIGN_PAGES * ALIGN_PAGES;
        let end = if self.in_vain < IN_VAIN {
            with_behind.max(least)
        } else {
            least
        };
        let most = access.start.get() + limits.knobs.request_pages_max.get();
        let pages = PageRange::new(access.start.get(), end.min(most)).before(file_end);
        outcome.decision.prefetch = Prefetch::range(pages);
        outcome.decision.reason = Reason::LongRead;
        self.newest = LongRead::Whole;
        true
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

    /// Whether it pays to ask for one more.
    fn is_worth(&mut self) -> bool {
        const LAST: u8 = TIMED_FIRST + TIMED_EVERY;
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        if self.turn < TIMED_FIRST {
            self.turn += 1;
            return true;
        }
        self.turn = if self.turn < LAST {
            self.turn
        } else {
            TIMED_FIRST
        } + 1;
        let whole_ns = u64::from(self.whole_ns);
        let is_faster = whole_ns + whole_ns / FASTER_PARTS < u64::from(self.kernel_ns);
        is_faster != (self.turn == LAST)
    }

    /// What came of asking for one.
    pub(super) fn on_answer(&mut self, answer: Answer) {
        match answer {
            Answer::OnItsWay => self.next_pause = 0,
            Answer::WasCached => {
                self.next_pause = (self.next_pause * 2).clamp(1, PAUSE_MAX);
                self.pause = self.next_pause;
            }
            Answer::Unknown | Answer::Refused | Answer::NotHere => {}
        }
    }

    /// A read of `pages`, which is this, waited `waited_ns`.
    pub(super) fn on_wait(&mut self, read: LongRead, pages: PageCount, waited_ns: u64) {
        let known = match read {
            LongRead::No => return,
            LongRead::ByKernel => &mut self.kernel_ns,
            LongRead::Whole => &mut self.whole_ns,
        };
        self.has_waited = true;
        let ns = u32::try_from(waited_ns / pages.get().max(1)).unwrap_or(u32::MAX);
        *known = if *known == 0 {
            ns
        } else {
            *known - *known / 4 + ns / 4
        };
    }
}

#[cfg(test)]
mod tests {
    use ahead_policy::knobs::Knobs;
    use ahead_units::Timestamp;

    use super::*;
    use crate::device::Device;
    use crate::device_facts::DeviceFacts;
    use crate::group::Group;
    use crate::settings::Settings;

    const MINE: u64 = 7;

    struct World {
        group: Group,
        device: Device,
        limits: Limits,
        long_reads: LongReads,
    }

    impl World {
        /// Requests of 128 KiB at most, as the kernel's window is.
        fn new() -> Self {
            let device = Device::default();
            let facts = DeviceFacts::configured(&Settings::default());
            device.set_facts(&facts.with_call_limits(32, 32));
            Self {
                group: Group::new(),
                device,
                limits: Limits {
                    file_pages: PageCount::new(1 << 20),
                    knobs: Knobs::default(),
                    kernel_window: None,
                    is_copied: false,
                },
                long_reads: LongReads::default(),
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
                is_shared: false,
                has_lone_reads: false,
                sees_all: true,
                now: Timestamp::new(0),
            };
            let access = PageRange::new(start, start + length);
            let mut outcome = Outcome::default();
            let asks = self
                .long_reads
                .on_read(access, asker, &mut outcome, &self.limits, &around);
            let asked = outcome.decision.prefetch.one_range();
            asks.then(|| (asked.start.get(), asked.len().get()))
        }

        /// The newest one, of so many pages, waited.
        fn wait(&mut self, length: u64, page_ns: u64) {
            let newest = self.long_reads.newest();
            let pages = PageCount::new(length);
            self.long_reads.on_wait(newest, pages, length * page_ns);
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
        world.reads(2 * u64::from(READS_LOOKED_AT) + 4, 500, 1000);
        assert_eq!(world.read(500_000, 64), Some((500_000, 64)));
        world.wait(64, 500);
        let behind = world.long_reads.behind;
        assert_eq!(world.read(behind.start.get(), 1), None);
        assert_eq!(world.read(600_000, 64), Some((600_000, 96)), "read there");
    }

    #[test]
    fn what_is_no_faster_is_left_to_the_kernel_but_for_one_of_thirty_two() {
        assert_eq!(World::new().reads(640, 500, 1000), 620);
        assert_eq!(World::new().reads(640, 960, 1000), 22);
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
                world.long_reads.on_answer(Answer::WasCached);
            }
        }
        assert!((10..=25).contains(&asked), "{asked}");
    }

    /// Generated 40132: 4 MiB at once stood before the reads of a reader of small files.
    #[test]
    fn a_very_long_read_is_left_to_the_kernel_beside_others() {
        let mut world = World::new();
        for (reader, length, asked) in [(MINE, 1024, true), (8, 1024, false), (8, 256, true)] {
            world.read(1000, 1024);
            world.wait(1024, 1000);
            world.read_of(reader, 20, 4);
            let is_asked = world.read(500_000, length).is_some();
            assert_eq!(is_asked, asked, "{reader} {length}");
        }
    }

    /// The kernel reads in pieces of a pipe there, whatever the disk takes at once.
    #[test]
    fn of_a_copy_all_is_asked_for_where_a_disk_takes_much_at_once() {
        for is_copied in [false, true] {
            let mut world = World::new();
            let facts = DeviceFacts::configured(&Settings::default());
            world.device.set_facts(&facts.with_call_limits(1024, 32));
            world.limits.is_copied = is_copied;
            world.read(1000, 64);
            world.wait(64, 1000);
            assert_eq!(world.read(5000, 64).is_some(), is_copied);
        }
    }

    #[test]
    fn the_knob_that_leaves_all_to_the_kernel_leaves_these() {
        for ratio in [0, 1, 50] {
            let mut world = World::new();
            world.limits.knobs.readahead_ratio = ratio;
            world.read(1000, 64);
            world.wait(64, 1000);
            assert_eq!(world.read(5000, 64).is_some(), ratio > 1, "{ratio}");
        }
    }
}
