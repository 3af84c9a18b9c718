//! The newest window of a file under on-demand read-ahead: where it lies, how it moves, and the limit
//! that it keeps to.
//!
//! ```text
//!           |<------------- size ------------->|
//!           |              |<-- async_size --->|
//!  ---------#==============#===================|-------
//!           ^start         ^mark               ^start + size
//! ```

use super::hints::read_forced;
use super::miss_counter::MissCounter;
use super::read_around::ReadAround;
use super::window_sizes::{self, NEVER_READ};
use super::{Class, Host, Window};

/// Whose rules. The methods are the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnDemandRelease {
    /// 2.6.23 to 2.6.30.
    Linux2_6_24,
    /// 2.6.31 to 2.6.39.
    Linux2_6_31,
    /// The [series of 2010](super::thrash_safe), on top of 2.6.33.
    ThrashSafe2010,
    /// 3.12 to 4.18; its faults are those from 3.0 on.
    Linux3_12,
    /// 4.19 to the time before folios.
    Linux4_19,
}

impl OnDemandRelease {
    /// Looks at the cache below a missing page, and merges a window with a mark on the page at
    /// hand.
    pub(super) const fn has_context(self) -> bool {
        !matches!(self, Self::Linux2_6_24)
    }

    /// Context must be longer than the request.
    pub(super) fn has_conservative_context(self) -> bool {
        self >= Self::Linux3_12
    }

    /// A large request may use the device's largest one; merging stops at the limit.
    pub(super) fn knows_io_pages(self) -> bool {
        self >= Self::Linux4_19
    }

    /// Half of the inactive and free pages bounds every window, not only read-around and hints.
    fn windows_fit_memory(self) -> bool {
        self.has_context() && !self.knows_io_pages()
    }

    /// `fadvise` RANDOM is a mode of the file; before, it set the limit to 0. (2.6.34.)
    pub(super) fn has_random_mode(self) -> bool {
        self >= Self::Linux3_12
    }

    /// Read-around leaves a mark, faults leave the position of the file alone, and so a fault next
    /// to the last one is nothing special. (3.0.)
    pub(super) fn read_around_has_mark(self) -> bool {
        self >= Self::Linux3_12
    }
}

/// Where a window is asked from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// The page is absent.
    Absent,
    /// The page is marked.
    Marked,
}

/// The state of one open file.
#[derive(Clone, Copy, Debug)]
pub struct OnDemand {
    pub(super) release: OnDemandRelease,
    /// The device's limit, which advice goes back to.
    pub(super) device_pages: u64,
    /// The file's limit.
    pub(super) ra_pages: u64,
    /// `FMODE_RANDOM`.
    pub(super) is_random: bool,
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) async_size: u64,
    /// A window was evicted before use; only the series of 2010 knows.
    pub(super) was_thrashed: bool,
    /// Faults since 2.6.31.
    pub(super) misses: MissCounter,
    /// Faults before.
    pub(super) read_around: ReadAround,
    pub(super) prev_pos: i64,
}

impl OnDemand {
    /// A file just opened on a device whose limit is `ra_pages` pages.
    #[must_use]
    pub const fn new(release: OnDemandRelease, ra_pages: u64) -> Self {
        Self {
            release,
            device_pages: ra_pages,
            ra_pages,
            is_random: false,
            start: 0,
            size: 0,
            async_size: 0,
            was_thrashed: false,
            misses: MissCounter::new(),
            read_around: ReadAround::new(),
            prev_pos: NEVER_READ,
        }
    }

    /// Reads the window.
    pub(super) fn submit<H: Host>(&self, host: &mut H, class: Class) {
        host.start(&Window {
            start: self.start,
            pages: self.size,
            mark: (self.async_size > 0).then(|| self.mark()),
            class,
            ..Window::default()
        });
    }

    const fn mark(&self) -> u64 {
        self.start + self.size - self.async_size
    }

    pub(super) const fn is_expected(&self, page: u64) -> bool {
        page != 0 && (page == self.mark() || page == self.start + self.size)
    }

    pub(super) fn move_on(&mut self, max: u64) -> Class {
        self.start += self.size;
        self.size = window_sizes::next(self.size, max);
        self.async_size = self.size;
        Class::Subsequent
    }

    pub(super) fn begin(&mut self, page: u64, request: u64, max: u64) -> Class {
        self.start = page;
        self.size = window_sizes::initial(request, max);
        self.async_size = window_sizes::behind_request(self.size, request, self.size);
        Class::Initial
    }

    pub(super) fn set_behind_hole(&mut self, hole: u64, run: u64, max: u64) {
        self.start = hole;
        self.size = window_sizes::next(run, max);
        self.async_size = self.size;
    }

    /// The window would meet its own mark at once: the one behind it is added now.
    pub(super) fn merge_with_next(&mut self, max: u64) {
        let next = window_sizes::next(self.size, max);
        if !self.release.knows_io_pages() || self.size + next <= max {
            self.async_size = next;
            self.size += next;
        } else {
            self.size = max;
            self.async_size = max / 2;
        }
    }

    pub(super) fn limit<H: Host>(&self, host: &H, request: u64) -> u64 {
        if self.release.knows_io_pages() {
            window_sizes::limit(self.ra_pages, host.io_pages(), request)
        } else if self.release.windows_fit_memory() {
            self.ra_pages.min(host.reclaimable_pages() / 2)
        } else {
            self.ra_pages
        }
    }

    /// Reads what was named, without a mark, up to what one call may.
    pub(super) fn force<H: Host>(&self, host: &mut H, start: u64, pages: u64, class: Class) {
        let max = if self.release.knows_io_pages() {
            host.io_pages().max(self.ra_pages)
        } else {
            host.reclaimable_pages() / 2
        };
        read_forced(host, start, pages.min(max), class);
    }
}
