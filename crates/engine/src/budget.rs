//! One memory budget for all windows of a host.
//!
//! Two numbers come from outside: the pages that memory can hold for readers (the cgroup's or the
//! machine's limit), and the most we may leave unread. Everything else is counted here. Counts
//! are published by files when they decide, so they lag by a few accesses; the budget is a bound
//! on asking, not a lock.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_units::PageCount;

use crate::members::Outstanding;

/// Most pages left unread when nothing else is set: 256 MiB. Sixty-four streams then have
/// 4 MiB each, which keeps one arm at 70 % of its bandwidth; more would only help slower disks,
/// and takes memory from everybody else.
pub const UNREAD_PAGES_MAX: u64 = 65536;

/// Windows beside which those that are not read any more are looked for, whatever they hold: with as many a request is 2 MiB at most, with
/// 1025 none is worth asking. Fewer, and a host with many readers looks for them again and again.
const WINDOWS_MANY: u32 = 64;

/// The budget, shared by all threads of a host.
#[derive(Debug, Default)]
pub struct Budget {
    /// What reclaim leaves to readers.
    memory: AtomicU64,
    unread_pages_max: AtomicU64,
    unread: AtomicU64,
    windows: AtomicU32,
    /// Pages that files were filled in with and that are not read yet, and how many they may be.
    filled: AtomicU64,
    filled_pages_max: AtomicU64,
    /// They are among those that the settings allow.
    has_setting: AtomicBool,
    /// Of the unread pages, those of files that were closed.
    left: AtomicU64,
    /// What other processes with the same budget have.
    others_unread: AtomicU64,
    others_windows: AtomicU32,
    /// Grows when everything is forgotten at once.
    epoch: AtomicU32,
}

/// What one file has published last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    unread: u64,
    windows: u32,
    left: u64,
    epoch: u32,
}

impl Budget {
    /// A budget of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            memory: AtomicU64::new(0),
            unread_pages_max: AtomicU64::new(0),
            unread: AtomicU64::new(0),
            windows: AtomicU32::new(0),
            filled: AtomicU64::new(0),
            filled_pages_max: AtomicU64::new(0),
            has_setting: AtomicBool::new(false),
            left: AtomicU64::new(0),
            others_unread: AtomicU64::new(0),
            others_windows: AtomicU32::new(0),
            epoch: AtomicU32::new(0),
        }
    }

    /// Forgets what every file has published, without going to the files: the child of a fork
    /// begins with windows of its own only.
    pub fn forget_all(&self) {
        self.epoch.fetch_add(1, Relaxed);
        self.unread.store(0, Relaxed);
        self.filled.store(0, Relaxed);
        self.windows.store(0, Relaxed);
        self.left.store(0, Relaxed);
    }

    /// Sets the limits. `memory` is what reclaim leaves to readers, `configured` what the settings
    /// say (0 pages: nothing), `ratio` the share of memory that may be unread, in percent.
    pub fn set_limits(&self, memory: PageCount, configured: PageCount, ratio: u32) {
        let has_setting = configured.get() > 0;
        let share = memory.get().saturating_mul(u64::from(ratio.min(100))) / 100;
        // What is set is for windows and for files that are filled in. Without that only windows have less than their share of memory.
        let (unread, filled) = if has_setting {
            (configured.get(), configured.get() / 2)
        } else {
            (UNREAD_PAGES_MAX.min(share), share)
        };
        self.has_setting.store(has_setting, Relaxed);
        self.filled_pages_max.store(filled, Relaxed);
        self.unread_pages_max.store(unread, Relaxed);
        self.memory.store(memory.get(), Relaxed);
    }

    /// What other processes with the same budget have.
    pub fn set_others(&self, others: Outstanding) {
        self.others_unread.store(others.unread.get(), Relaxed);
        self.others_windows.store(others.windows, Relaxed);
    }

    /// What this process has.
    #[must_use]
    pub fn outstanding(&self) -> Outstanding {
        Outstanding {
            unread: PageCount::new(self.own_unread()),
            windows: self.windows.load(Relaxed),
            lone_reads: false,
        }
    }

    /// What reclaim leaves to readers.
    #[must_use]
    pub fn memory(&self) -> PageCount {
        PageCount::new(self.memory.load(Relaxed))
    }

    /// Streams with a window, at least one.
    #[must_use]
    pub fn streams(&self) -> u32 {
        let others = self.others_windows.load(Relaxed);
        self.windows.load(Relaxed).max(1).saturating_add(others)
    }

    /// Pages that one of the streams with a window can leave unread before reclaim takes them.
    #[must_use]
    pub fn threshold(&self) -> PageCount {
        // Beyond twice the budget more memory changes nothing at a ratio of 50.
        let most = self.unread_pages_max.load(Relaxed).saturating_mul(2);
        PageCount::new(self.memory().get().min(most) / u64::from(self.streams()))
    }

    /// Pages that may still be asked for.
    #[must_use]
    pub fn available(&self) -> PageCount {
        let most = self.unread_pages_max.load(Relaxed);
        PageCount::new(most.saturating_sub(self.all_unread()))
    }

    /// Whether more than half of the budget is in use, or so many windows share it that what one gets is small: time to look for windows that
    /// are not read.
    #[must_use]
    pub fn is_tight(&self) -> bool {
        self.windows.load(Relaxed) > WINDOWS_MANY
            || self.all_unread() > self.unread_pages_max.load(Relaxed) / 2
    }

    /// Files were filled in with so many pages that are not read yet.
    pub(crate) fn set_filled(&self, pages: PageCount) {
        self.filled.store(pages.get(), Relaxed);
    }

    /// Of these one file has given up so many.
    pub(crate) fn give_back_filled(&self, pages: PageCount) {
        let left = self.filled.load(Relaxed).saturating_sub(pages.get());
        self.filled.store(left, Relaxed);
    }

    /// Pages that files may still be filled in with: of what is set half is for windows.
    #[must_use]
    pub fn available_to_fill(&self) -> PageCount {
        let most = self.filled_pages_max.load(Relaxed);
        PageCount::new(most.saturating_sub(self.filled.load(Relaxed))).min(self.available())
    }

    fn all_unread(&self) -> u64 {
        let others = self.others_unread.load(Relaxed);
        self.own_unread().saturating_add(others)
    }

    fn own_unread(&self) -> u64 {
        let counts = self.has_setting.load(Relaxed);
        let filled = if counts { self.filled.load(Relaxed) } else { 0 };
        self.unread.load(Relaxed).saturating_add(filled)
    }

    /// Pages asked for and not yet reached, over all files.
    #[must_use]
    pub fn unread(&self) -> PageCount {
        PageCount::new(self.unread.load(Relaxed))
    }

    /// Pages asked for and not yet reached, in files that were not closed since.
    #[must_use]
    pub fn awaited(&self) -> PageCount {
        let unread = self.unread.load(Relaxed);
        PageCount::new(unread.saturating_sub(self.left.load(Relaxed)))
    }

    /// Pages asked for and not reached, in files that were closed since.
    #[must_use]
    pub fn left(&self) -> PageCount {
        PageCount::new(self.left.load(Relaxed))
    }

    /// What a file holds is left: it was closed. Until it publishes something again.
    pub fn leave(&self, held: &mut Published) {
        self.begin_epoch(held);
        let left = held.unread.wrapping_sub(held.left);
        self.left.fetch_add(left, Relaxed);
        held.left = held.unread;
    }

    fn begin_epoch(&self, before: &mut Published) {
        let epoch = self.epoch.load(Relaxed);
        if before.epoch != epoch {
            *before = Published {
                epoch,
                ..Published::default()
            };
        }
    }

    /// Replaces what a file published before by what holds now.
    pub fn publish(&self, before: &mut Published, unread: PageCount, windows: u32) {
        self.begin_epoch(before);
        let now = Published {
            unread: unread.get(),
            windows,
            left: 0,
            epoch: before.epoch,
        };
        if now == *before {
            return;
        }
        // Wrapping differences: the sum over all files never goes below zero.
        self.unread
            .fetch_add(now.unread.wrapping_sub(before.unread), Relaxed);
        self.windows
            .fetch_add(now.windows.wrapping_sub(before.windows), Relaxed);
        self.left.fetch_sub(before.left, Relaxed);
        *before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_four_streams_share_what_one_may_have_alone() {
        let budget = Budget::default();
        budget.set_limits(PageCount::new(1 << 22), PageCount::new(0), 50);
        assert_eq!(budget.threshold(), PageCount::new(131_072));
        let mut files = [Published::default(); 64];
        for file in &mut files {
            budget.publish(file, PageCount::new(1000), 1);
        }
        assert_eq!(budget.threshold(), PageCount::new(2048));
        assert_eq!(budget.available(), PageCount::new(65_536 - 64_000));
        for file in &mut files {
            budget.publish(file, PageCount::new(0), 0);
        }
        assert_eq!(budget.unread(), PageCount::new(0));
        assert_eq!(budget.threshold(), PageCount::new(131_072));
    }

    #[test]
    fn what_files_are_filled_in_with_is_a_part_of_what_is_set_and_else_of_memory() {
        let budget = Budget::new();
        let to_fill = |configured: u64, filled: u64| {
            budget.set_limits(PageCount::new(1 << 20), PageCount::new(configured), 50);
            budget.set_filled(PageCount::new(filled));
            (budget.available_to_fill().get(), budget.available().get())
        };
        assert_eq!(to_fill(1000, 0), (500, 1000));
        assert_eq!(to_fill(1000, 400), (100, 600));
        assert_eq!(to_fill(1000, 500), (0, 500), "for windows");
        budget.give_back_filled(PageCount::new(200));
        let others = budget.available_to_fill();
        assert_eq!(others.get(), 200, "what other files have stays");
        assert_eq!(to_fill(0, 0), (UNREAD_PAGES_MAX, UNREAD_PAGES_MAX));
        assert_eq!(to_fill(0, 1 << 19), (0, UNREAD_PAGES_MAX));
    }

    #[test]
    fn what_a_closed_file_holds_is_not_awaited_until_it_is_read_again() {
        let budget = Budget::default();
        let mut files = [Published::default(); 2];
        for file in &mut files {
            budget.publish(file, PageCount::new(100), 1);
        }
        budget.leave(&mut files[0]);
        budget.leave(&mut files[0]);
        assert_eq!(budget.awaited(), PageCount::new(100));
        assert_eq!(budget.unread(), PageCount::new(200));
        budget.publish(&mut files[0], PageCount::new(50), 1);
        assert_eq!(budget.awaited(), PageCount::new(150));
        budget.leave(&mut files[1]);
        budget.publish(&mut files[1], PageCount::new(0), 0);
        assert_eq!(budget.awaited(), budget.unread());
    }

    #[test]
    fn the_child_of_a_fork_does_not_inherit_what_its_parent_has_asked_for() {
        let budget = Budget::default();
        budget.set_limits(PageCount::new(1 << 22), PageCount::new(0), 50);
        let mut file = Published::default();
        budget.publish(&mut file, PageCount::new(1000), 1);
        budget.forget_all();
        assert_eq!(budget.unread(), PageCount::new(0));
        budget.publish(&mut file, PageCount::new(10), 1);
        budget.publish(&mut file, PageCount::new(0), 0);
        assert_eq!(budget.unread(), PageCount::new(0));
        assert_eq!(budget.threshold(), PageCount::new(131_072));
    }

    #[test]
    fn processes_share_what_one_may_have_alone() {
        let budget = Budget::default();
        budget.set_limits(PageCount::new(32_768), PageCount::new(0), 50);
        budget.set_others(Outstanding {
            lone_reads: false,
            unread: PageCount::new(10_000),
            windows: 3,
        });
        assert_eq!(budget.available(), PageCount::new(6384));
        assert_eq!(budget.threshold(), PageCount::new(8192));
        assert!(budget.is_tight());
        budget.set_others(Outstanding::default());
        assert_eq!(budget.available(), PageCount::new(16_384));
    }

    #[test]
    fn a_small_cgroup_lends_half_of_itself() {
        let budget = Budget::default();
        budget.set_limits(PageCount::new(32_768), PageCount::new(0), 50);
        assert_eq!(budget.available(), PageCount::new(16_384));
    }
}
