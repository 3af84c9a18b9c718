//! What Linux has done since 2.2: one file per algorithm, page for page.
//!
//! Each file opens with its rules in prose; what differs between releases is a named switch. An
//! algorithm is the state of one open file. It sees the page cache through [`Host`]; only the
//! simulator and tests give it one.
//!
//! The walk of a buffered read is the host's:
//!
//! 1. [`ReadAhead::on_read`] once,
//! 2. for each page of the request that lies inside the file: [`ReadAhead::on_page`]; if the page
//!    is [`PageState::Absent`] afterwards, the host calls [`ReadAhead::on_missing`] and reads that
//!    page alone; then it waits for the page, copies it, and marks it accessed,
//! 3. [`ReadAhead::on_read_done`] once.
//!
//! A fault is [`ReadAhead::on_fault`]; an absent page is again read alone.
//!
//! Pages are bare `u64` in here: the rules are arithmetic on unsigned long, including where it
//! wraps. Ranges are `start` and a number of pages.

pub use ahead_units::Advice;
use ahead_units::PAGE_BYTES;

pub mod advise;
pub mod ara;
pub mod ara_v1;
pub mod folio;
mod folio_calls;
mod folio_fault;
mod folio_scan;
mod folio_window;
mod hints;
pub mod linux_2_2;
pub mod linux_2_4;
pub mod linux_2_6_11;
pub mod linux_2_6_9;
mod miss_counter;
pub mod on_demand;
mod on_demand_calls;
mod on_demand_fault;
mod on_demand_window;
mod read_around;
mod rescue;
pub mod thrash_safe;
mod window_sizes;

/// Whether a page is in the cache, and usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Not in the cache: a hole.
    Absent,
    /// In the cache and locked: its I/O is under way.
    InFlight,
    /// In the cache, unlocked, not up to date: its I/O was dropped (Linux 2.2 READA).
    Stale,
    /// In the cache and up to date.
    Valid,
}

/// Why pages were asked for, as the statistics patches of 2010 to 2012 name it, and ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// The start of a sequential run.
    #[default]
    Initial,
    /// The next window of a known run.
    Subsequent,
    /// Found by looking at the cache around the page.
    Context,
    /// After a window was evicted before use.
    Thrash,
    /// Around a faulting page.
    Around,
    /// Behind a reader that goes backwards.
    Backward,
    /// Exactly what was asked for.
    Random,
    /// Bursts at random places (adaptive read-ahead's on-seek).
    Seek,
    /// `fadvise`, `madvise`, `readahead(2)`.
    Advice,
    /// One page, because the read needs it and nothing brought it.
    Single,
}

/// Pages to bring in: those of `[start, start + pages)` that are absent and inside the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// First page.
    pub start: u64,
    /// How many pages.
    pub pages: u64,
    /// The page that gets the look-ahead mark, if it is newly allocated.
    pub mark: Option<u64>,
    /// log2 of the pages of the folios to allocate; 0 before folios.
    pub order: u8,
    /// Why.
    pub class: Class,
    /// May be dropped by a full request queue instead of waiting for a place in it.
    pub may_drop: bool,
}

/// One `read()`: bytes `[start, end)` as the program asked, not cut at the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// First byte.
    pub start: u64,
    /// First byte behind.
    pub end: u64,
}

impl Read {
    /// A read of whole pages.
    #[must_use]
    pub const fn of_pages(start: u64, pages: u64) -> Self {
        Self {
            start: start * PAGE_BYTES,
            end: (start + pages) * PAGE_BYTES,
        }
    }

    /// The page of the first byte.
    #[must_use]
    pub const fn first_page(&self) -> u64 {
        self.start / PAGE_BYTES
    }

    /// The first page behind the last byte.
    #[must_use]
    pub const fn end_page(&self) -> u64 {
        self.end.div_ceil(PAGE_BYTES)
    }

    /// Pages still to deliver from `page` on.
    #[must_use]
    pub const fn pages_from(&self, page: u64) -> u64 {
        self.end_page().saturating_sub(page)
    }
}

/// A page fault on a file mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// The page, in the file.
    pub page: u64,
    /// First page of the mapped area, in the file.
    pub area_start: u64,
    /// First page behind the mapped area, in the file.
    pub area_end: u64,
    /// The area's advice.
    pub advice: Advice,
    /// The area is executable.
    pub executable: bool,
    /// The area is advised to use huge pages (`MADV_HUGEPAGE`).
    pub huge: bool,
}

/// A call inside the kernel's read-ahead that a tracepoint shows; see `readahead:*` in 6.18.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `page_cache_sync_ra`: values before the decision.
    Sync(CallState),
    /// `page_cache_async_ra`: values before the decision.
    Async(CallState),
    /// `page_cache_ra_unbounded`: small folios.
    Unbounded {
        /// First page.
        index: u64,
        /// Pages to read.
        pages: u64,
        /// Pages behind the mark.
        look_ahead: u64,
    },
    /// `page_cache_ra_order`: folios of `order`.
    Order {
        /// First page.
        index: u64,
        /// log2 of the pages of a folio.
        order: u8,
        /// Pages of the window.
        size: u64,
        /// Pages behind the mark.
        async_size: u64,
    },
}

/// What the sync and async tracepoints print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallState {
    /// Page of the call.
    pub index: u64,
    /// Pages still to deliver.
    pub request: u64,
    /// Folio order kept in the file state.
    pub order: u8,
    /// Window size.
    pub size: u64,
    /// Pages behind the mark.
    pub async_size: u64,
    /// Limit of the file.
    pub ra_pages: u64,
    /// The file's miss counter.
    pub mmap_miss: u64,
    /// Byte position after the last read; −1 at open.
    pub prev_pos: i64,
}

/// What adaptive read-ahead learns about one device; shared by all files on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// `ra_expect_bytes`: how much of a fresh file gets read.
    pub expect_bytes: u64,
    /// `ra_thrash_bytes`: low estimate of the thrashing threshold.
    pub thrash_bytes: u64,
}

impl Learned {
    /// Of a device that nothing is known about.
    pub const AT_START: Self = Self {
        expect_bytes: 128 << 10,
        thrash_bytes: 128 << 10,
    };
}

impl Default for Learned {
    fn default() -> Self {
        Self::AT_START
    }
}

/// The page cache and the device of one file, as an algorithm sees them.
pub trait Host {
    /// Bytes in the file.
    fn file_bytes(&self) -> u64;

    /// The state of one page.
    fn state(&self, page: u64) -> PageState;

    /// Starts reading every absent or stale page of `window` inside the file, in ascending order,
    /// and returns how many pages were started. An algorithm that cuts windows itself (folios)
    /// calls this once per folio, with `pages == 1 << order`.
    ///
    /// When the queue is full, a window that [may drop](Window::may_drop) stops at the first page
    /// refused (which becomes [`PageState::Stale`], or stays absent); any other makes the process
    /// wait later and counts as started.
    fn start(&mut self, window: &Window) -> u64;

    /// First and one-past-last page of the folio that holds `page`; `(page, page + 1)` if it is
    /// absent or single.
    fn folio(&self, page: u64) -> (u64, u64) {
        (page, page + 1)
    }

    /// Whether the folio that holds `page` carries the look-ahead mark.
    fn is_marked(&self, page: u64) -> bool;

    /// Takes the mark away from the folio that holds `page`.
    fn clear_mark(&mut self, page: u64);

    /// Gives a cached page the mark.
    fn set_mark(&mut self, page: u64);

    /// The first absent page in `[from, from + pages)`.
    fn first_absent(&self, from: u64, pages: u64) -> Option<u64> {
        (from..from.saturating_add(pages)).find(|&page| self.state(page) == PageState::Absent)
    }

    /// The first cached page in `[from, from + pages)`.
    fn first_present(&self, from: u64, pages: u64) -> Option<u64> {
        (from..from.saturating_add(pages)).find(|&page| self.state(page) != PageState::Absent)
    }

    /// The nearest absent page at or below `from`, looking at no more than `pages` pages and not
    /// below page 0.
    fn last_absent(&self, from: u64, pages: u64) -> Option<u64> {
        let low = (from + 1).saturating_sub(pages);
        (low..=from)
            .rev()
            .find(|&page| self.state(page) == PageState::Absent)
    }

    /// Whether the device's queue is congested for reads.
    fn is_congested(&self) -> bool {
        false
    }

    /// Largest request of the device, in pages (`io_pages`).
    fn io_pages(&self) -> u64 {
        320
    }

    /// Largest folio order of the mapping; 0 where the file system has only single pages.
    fn folio_order_max(&self) -> u8 {
        0
    }

    /// Pages on the inactive list plus free pages.
    fn reclaimable_pages(&self) -> u64;

    /// The aging clock of reclaim (adaptive read-ahead); how it ticks is the host's switch.
    fn aging_clock(&self) -> u64 {
        0
    }

    /// Whether a cached page is on the active list.
    fn is_active(&self, page: u64) -> bool {
        let _ = page;
        false
    }

    /// Whether a cached page carries the reference mark.
    fn is_referenced(&self, page: u64) -> bool {
        let _ = page;
        false
    }

    /// Moves an inactive, unlocked page to the young end of the inactive list.
    fn rescue(&mut self, page: u64) {
        let _ = page;
    }

    /// What is learned about the device.
    fn learned(&mut self) -> &mut Learned;

    /// Hears of calls that tracepoints show.
    fn on_call(&mut self, call: Call) {
        let _ = call;
    }
}

/// One open file's read-ahead.
pub trait ReadAhead {
    /// A `read()` begins.
    fn on_read<H: Host>(&mut self, host: &mut H, read: &Read) {
        let _ = (host, read);
    }

    /// The walk reached `page`, which may be in the cache or not. Not yet marked accessed.
    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64);

    /// `page` is still absent after [`Self::on_page`] or [`Self::on_fault`]: it is read alone.
    fn on_missing<H: Host>(&mut self, host: &mut H, page: u64) {
        let _ = (host, page);
    }

    /// The `read()` is over; bytes `[read.start, end)` were copied, `end` cut at the end of file.
    fn on_read_done<H: Host>(&mut self, host: &mut H, read: &Read, end: u64) {
        let _ = (host, read, end);
    }

    /// A fault on a mapped page, which may be in the cache or not.
    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault);

    /// A fault mapped `pages` cached neighbours as well (fault-around, 6.x).
    fn on_neighbours_mapped(&mut self, pages: u64) {
        let _ = pages;
    }

    /// `posix_fadvise` NORMAL, SEQUENTIAL or RANDOM.
    fn on_advice(&mut self, advice: Advice) {
        let _ = advice;
    }

    /// `posix_fadvise` WILLNEED, `madvise` WILLNEED or `readahead(2)` for `pages` pages.
    fn on_will_need<H: Host>(&mut self, host: &mut H, start: u64, pages: u64) {
        host.start(&Window {
            start,
            pages,
            class: Class::Advice,
            ..Window::default()
        });
    }

    /// The descriptor is closed at byte position `position`.
    fn on_close<H: Host>(&mut self, host: &mut H, position: u64) {
        let _ = (host, position);
    }
}
