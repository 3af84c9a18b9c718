//! On-demand read-ahead, Linux 2.6.23 to the time before folios.
//!
//! The state of a file is its newest window: `start`, `size`, and `async_size`, the pages behind
//! the mark. There is no second window and no off state. Two things wake it, per page of a read:
//!
//! * the page is absent: a *sync* call,
//! * the page is there and marked: the mark is cleared, and unless the device is congested for
//!   reads, an *async* call.
//!
//! ```text
//!           |<------------- size ------------->|
//!           |              |<-- async_size --->|
//!  ---------#==============#===================|-------
//!           ^start         ^mark               ^start + size
//! ```
//!
//! **2.6.24** asks, in this order (`request` = pages the read still wants, from this page on):
//!
//! 1. The page, not 0, is the mark or the end of the window: the window moves on and
//!    grows by `window_sizes::next`.
//! 2. Absent page, and neither next to the page read last nor a request above the limit: the
//!    request is read as it is, without a mark; the state stays.
//! 3. Marked page: another reader's mark. The window goes to the first hole behind it, grown
//!    from the distance to the hole. No hole within the limit: nothing.
//! 4. Otherwise a run begins: a window of `window_sizes::initial`, marked behind the request.
//!
//! **2.6.31** asks: page 0 begins a run; the expected page moves on; a foreign mark (the distance
//! counts plus the request); too large a request, or a page next to the last, begins a run; cached
//! pages directly below show a run (*context*: their number, twice if they reach the start of
//! the file, plus the request make the first window, all of it behind the mark); else as is. A
//! window whose mark would be the page at hand is merged with the one behind it.
//!
//! **3.12** wants more history than the request is long, takes exactly history plus request, and
//! marks the last page: one accidental neighbour no longer costs a whole window.
//! **4.19** lets a request above the limit use the device's largest request, and never merges
//! above the limit.
//!
//! Faults are in `on_demand_fault`. Left out: the congestion of a block control group (4.19), which
//! makes both calls do nothing, and write-back sharing the mark's bit.
//!
//! Read in 2.6.24 and 4.19; 2.6.31 and 3.12 from the patches.

use super::hints::{advised_limit, read_forced};
use super::miss_counter::MissCounter;
use super::read_around::ReadAround;
use super::window_sizes::{self, NEVER_READ};
use super::{Advice, Class, Fault, Host, PageState, Read, ReadAhead, Window};
use crate::replica::{Key, RA_KB, Replica};
use ahead_units::PAGE_BYTES;

/// The names of it.
pub const REPLICAS: &[Replica<OnDemand>] = &[
    Replica::new(
        "linux-2.6.24",
        2008,
        "on-demand read-ahead",
        &[RA_KB],
        |values| OnDemand::new(OnDemandRelease::Linux2_6_24, values.ra_pages()),
    )
    .before_fault_around(),
    Replica::new("linux-2.6.31", 2009, "with context", &[RA_KB], |values| {
        OnDemand::new(OnDemandRelease::Linux2_6_31, values.ra_pages())
    })
    .before_fault_around(),
    Replica::new(
        "linux-3.12",
        2013,
        "with careful context",
        &[RA_KB],
        |values| OnDemand::new(OnDemandRelease::Linux3_12, values.ra_pages()),
    )
    .before_fault_around(),
    Replica::new(
        "linux-4.19",
        2018,
        "the last before folios",
        &[RA_KB],
        |values| OnDemand::new(OnDemandRelease::Linux4_19, values.ra_pages()),
    ),
    Replica::new(
        "thrash-safe-2010",
        2010,
        "the thrashing-safe patches of 2010",
        &[Key::number("ra_kb", 512)],
        |values| OnDemand::new(OnDemandRelease::ThrashSafe2010, values.ra_pages()),
    )
    .before_fault_around(),
];

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
    const fn has_context(self) -> bool {
        !matches!(self, Self::Linux2_6_24)
    }

    /// Context must be longer than the request.
    fn has_conservative_context(self) -> bool {
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
    fn has_random_mode(self) -> bool {
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
    device_pages: u64,
    /// The file's limit.
    pub(super) ra_pages: u64,
    /// `FMODE_RANDOM`.
    is_random: bool,
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

    pub(super) fn on_absent<H: Host>(&mut self, host: &mut H, page: u64, request: u64) {
        if self.ra_pages == 0 {
            return;
        }
        if self.is_random {
            self.force(host, page, request, Class::Random);
            return;
        }
        self.decide(host, Trigger::Absent, page, request);
    }

    pub(super) fn on_marked<H: Host>(&mut self, host: &mut H, page: u64, request: u64) {
        if self.ra_pages == 0 {
            return;
        }
        host.clear_mark(page);
        if !host.is_congested() {
            self.decide(host, Trigger::Marked, page, request);
        }
    }

    fn decide<H: Host>(&mut self, host: &mut H, trigger: Trigger, page: u64, request: u64) {
        let max = self.limit(host, request);
        let class = match self.release {
            OnDemandRelease::Linux2_6_24 => {
                self.decide_without_context(host, trigger, page, request, max)
            }
            OnDemandRelease::ThrashSafe2010 => {
                self.decide_thrash_safe(host, trigger, page, request, max)
            }
            OnDemandRelease::Linux2_6_31
            | OnDemandRelease::Linux3_12
            | OnDemandRelease::Linux4_19 => {
                self.decide_with_context(host, trigger, page, request, max)
            }
        };
        let Some(class) = class else {
            return;
        };
        if self.release.has_context() && page == self.start && self.size == self.async_size {
            self.merge_with_next(max);
        }
        self.submit(host, class);
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

    /// The rules of 2.6.24. Sets the window and says why; `None`: the state is untouched, and what
    /// there was to read is started.
    fn decide_without_context<H: Host>(
        &mut self,
        host: &mut H,
        trigger: Trigger,
        page: u64,
        request: u64,
        max: u64,
    ) -> Option<Class> {
        if self.is_expected(page) {
            return Some(self.move_on(max));
        }
        // Signed on purpose: the page before a file that was never read is −1, next to page 0.
        let prev_page = (self.prev_pos >> PAGE_BYTES.trailing_zeros()).cast_unsigned();
        let is_sequential = page.wrapping_sub(prev_page) <= 1 || request > max;
        if trigger == Trigger::Absent && !is_sequential {
            return read_as_is(host, page, request);
        }
        if trigger == Trigger::Marked {
            // The scan begins at the page itself, which is cached.
            let hole = host.first_absent(page, max.saturating_add(1))?;
            self.set_behind_hole(hole, hole - page, max);
            return Some(Class::Context);
        }
        Some(self.begin(page, request, max))
    }

    /// The rules from 2.6.31 on; the result is that of [`Self::decide_without_context`].
    fn decide_with_context<H: Host>(
        &mut self,
        host: &mut H,
        trigger: Trigger,
        page: u64,
        request: u64,
        max: u64,
    ) -> Option<Class> {
        if page == 0 {
            return Some(self.begin(page, request, max));
        }
        if self.is_expected(page) {
            return Some(self.move_on(max));
        }
        if trigger == Trigger::Marked {
            let hole = host.first_absent(page.saturating_add(1), max)?;
            self.set_behind_hole(hole, (hole - page).saturating_add(request), max);
            return Some(Class::Context);
        }
        let prev_page = window_sizes::page_of(self.prev_pos);
        if request > max || page.wrapping_sub(prev_page) <= 1 {
            return Some(self.begin(page, request, max));
        }
        let history = window_sizes::history(host, page, max);
        let needed = if self.release.has_conservative_context() {
            request
        } else {
            0
        };
        if history <= needed {
            return read_as_is(host, page, request);
        }
        let reaches_start = history >= page;
        let run = history * (1 + u64::from(reaches_start)) + request;
        self.start = page;
        if self.release.has_conservative_context() {
            self.size = run.min(max);
            self.async_size = 1;
        } else {
            self.size = window_sizes::initial(run, max);
            self.async_size = self.size;
        }
        Some(Class::Context)
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

    fn set_behind_hole(&mut self, hole: u64, run: u64, max: u64) {
        self.start = hole;
        self.size = window_sizes::next(run, max);
        self.async_size = self.size;
    }

    /// The window would meet its own mark at once: the one behind it is added now.
    fn merge_with_next(&mut self, max: u64) {
        let next = window_sizes::next(self.size, max);
        if !self.release.knows_io_pages() || self.size + next <= max {
            self.async_size = next;
            self.size += next;
        } else {
            self.size = max;
            self.async_size = max / 2;
        }
    }

    fn limit<H: Host>(&self, host: &H, request: u64) -> u64 {
        if self.release.knows_io_pages() {
            window_sizes::limit(self.ra_pages, host.io_pages(), request)
        } else if self.release.windows_fit_memory() {
            self.ra_pages.min(host.reclaimable_pages() / 2)
        } else {
            self.ra_pages
        }
    }

    /// Reads what was named, without a mark, up to what one call may.
    fn force<H: Host>(&self, host: &mut H, start: u64, pages: u64, class: Class) {
        let max = if self.release.knows_io_pages() {
            host.io_pages().max(self.ra_pages)
        } else {
            host.reclaimable_pages() / 2
        };
        read_forced(host, start, pages.min(max), class);
    }
}

/// A small read somewhere: what it wants, no mark, no memory of it.
fn read_as_is<H: Host>(host: &mut H, start: u64, pages: u64) -> Option<Class> {
    host.start(&Window {
        start,
        pages,
        class: Class::Random,
        ..Window::default()
    });
    None
}

impl ReadAhead for OnDemand {
    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        let request = read.pages_from(page);
        if host.state(page) == PageState::Absent {
            self.on_absent(host, page, request);
        }
        // Also after the sync call, whose window may carry its mark here.
        if host.is_marked(page) {
            self.on_marked(host, page, request);
        }
    }

    fn on_read_done<H: Host>(&mut self, _host: &mut H, read: &Read, end: u64) {
        if end > read.start {
            // The page visited last, and the place in it behind the copy: 0 behind its end.
            let last_page = (end - 1) / PAGE_BYTES;
            self.prev_pos = (last_page * PAGE_BYTES + end % PAGE_BYTES).cast_signed();
        }
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        self.take_fault(host, fault);
    }

    fn on_neighbours_mapped(&mut self, pages: u64) {
        if self.release.read_around_has_mark() {
            self.misses.on_hits(pages);
        }
    }

    fn on_advice(&mut self, advice: Advice) {
        self.is_random = advice == Advice::Random && self.release.has_random_mode();
        if !self.is_random {
            self.ra_pages = advised_limit(advice, self.device_pages);
        }
    }

    fn on_will_need<H: Host>(&mut self, host: &mut H, start: u64, pages: u64) {
        self.force(host, start, pages, Class::Advice);
    }
}
