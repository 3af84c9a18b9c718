//! Linux 2.2: four numbers per open file for `read()`, an aligned cluster per fault.
//!
//! All numbers are pages. Each open file has
//!
//! * `ra_end`, the first page behind the last one we tried to read ahead,
//! * `ra_length`, how long the newest block is,
//! * `ra_window`, how long the newest block and the one before it are together,
//! * `ra_next`, how long the next block will be.
//!
//! ```text
//!           |<--------- ra_window --------->|
//!           |               |<- ra_length ->|
//!  ---------#===============|===============|- - - - -
//!                           ^ its first page ^ ra_end
//!                             starts the next block
//! ```
//!
//! **When a `read()` begins.** Its first page lies behind `ra_end`, or more than `ra_window` before
//! it: the read is not sequential, and everything is 0 again. A fresh file therefore takes a read
//! of page 0 as sequential, and no other. Then `ra_next` rises to what the read needs, to
//! [`OldSettings::ahead_min`] if the read is sequential, and is cut at [`OldSettings::ahead_max`]. A read
//! that ends in the first half page of the file sets it to 0: a header is looked at.
//!
//! **For each page.** An absent page is read alone; that it was absent in a sequential read cuts
//! `ra_next` to the minimum. A cached page that is neither valid nor on its way is read again,
//! with the same cut, and takes no step. All others take a step:
//!
//! * The page is *locked*, by us just now or by an earlier block. If it lies in the newest block,
//!   that block is on its way: nothing. Otherwise a run begins here: the next `ra_next` pages are
//!   queued behind it (the *synchronous* case).
//! * The page is *not locked*. If the read is sequential and the page lies in the newest block, or
//!   just behind it, `ra_next` + 1 pages are queued from `ra_end` on (the *asynchronous* case: the
//!   reader reached the newest block, so the pipeline is always one block ahead). The one page
//!   more makes asynchronous blocks as long as a synchronous one with its missing page.
//!
//! After each block `ra_next` doubles, up to the maximum. So a sequential reader ends at blocks of
//! 19 pages, and a single page at a random place costs two, because it *needs* one page more.
//!
//! **Faults** know nothing of all this. A missing page brings the aligned cluster it lies in,
//! pages before it included, with ordinary requests. A cached page brings nothing. `madvise` and
//! `posix_fadvise` do not exist yet, and nothing in the file layer uses requests that may be
//! dropped: read-ahead waits for a place in the queue.
//!
//! Linux 2.4 kept this machine and changed constants and comparisons ([`OldRelease`]); what it added
//! for faults is in [`super::linux_2_4`].
//!
//! Source: 2.2.1, mm/filemap.c, and 2.4.27.

use super::{Class, Fault, Host, PageState, Read, ReadAhead, Window};
use crate::replica::{Key, Replica, Values};
use ahead_units::PAGE_BYTES;

/// The name of it, and keys that take the place of its figures.
pub const REPLICAS: &[Replica<Linux2_2>] = &[Replica::new(
    "linux-2.2",
    1999,
    "Linux 2.2; sizes in pages",
    &keys(&OldSettings::LINUX_2_2),
    |values| Linux2_2::new(OldSettings::LINUX_2_2.with(values)),
)
.before_fault_around()];

/// Settings as keys.
pub(super) const fn keys(settings: &OldSettings) -> [Key; 3] {
    [
        Key::number("n", settings.ahead_max),
        Key::number("min", settings.ahead_min),
        Key::number("cluster", settings.cluster),
    ]
}

/// A read that ends here or before does not count as the beginning of a run.
const HALF_PAGE_BYTES: u64 = PAGE_BYTES / 2;

/// Whose comparisons. The methods are the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldRelease {
    /// 2.2.x.
    Linux2_2,
    /// 2.4.x.
    Linux2_4,
}

impl OldRelease {
    /// A read needs the pages it crosses into; 2.4 counts the first one too.
    const fn pages_needed(self, first: u64, end_byte: u64) -> u64 {
        let crossed = (end_byte / PAGE_BYTES).saturating_sub(first);
        match self {
            Self::Linux2_2 => crossed,
            Self::Linux2_4 => crossed + 1,
        }
    }

    /// A page missing in a sequential read was evicted, or never read: start small again.
    const fn missing_page_cuts(self) -> bool {
        matches!(self, Self::Linux2_2)
    }

    /// A cached page without data takes a step before it is read, and one after.
    const fn stale_page_steps(self) -> bool {
        matches!(self, Self::Linux2_4)
    }

    /// The first page that is never read ahead: 2.4 leaves out a partial last page.
    const fn end_page(self, file_bytes: u64) -> u64 {
        match self {
            Self::Linux2_2 => file_bytes.div_ceil(PAGE_BYTES),
            Self::Linux2_4 => file_bytes / PAGE_BYTES,
        }
    }
}

/// What can be set, all in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldSettings {
    /// Whose comparisons.
    pub release: OldRelease,
    /// Shortest block of a sequential reader.
    pub ahead_min: u64,
    /// Longest block, without the page more of an asynchronous one; the table `max_readahead` of
    /// block devices.
    pub ahead_max: u64,
    /// What a missing page of a mapping brings, itself included: 2 to the power of `page_cluster`,
    /// which is 2, 3 or 4 below 16 MiB, below 32 MiB, and from 32 MiB of memory.
    pub cluster: u64,
}

impl OldSettings {
    /// 2.2 with 32 MiB of memory or more.
    pub const LINUX_2_2: Self = Self {
        release: OldRelease::Linux2_2,
        ahead_min: 3,
        ahead_max: 18,
        cluster: 16,
    };

    /// 2.2 built with the option for little read-ahead.
    pub const LINUX_2_2_SMALL: Self = Self {
        ahead_min: 2,
        ahead_max: 7,
        ..Self::LINUX_2_2
    };

    /// 2.4: `vm_min_readahead` and `vm_max_readahead`.
    pub const LINUX_2_4: Self = Self {
        release: OldRelease::Linux2_4,
        ahead_min: 3,
        ahead_max: 31,
        cluster: 16,
    };

    /// These, with what was written in their place.
    pub(super) fn with(self, values: &Values<'_>) -> Self {
        Self {
            ahead_max: values.number("n"),
            ahead_min: values.number("min"),
            cluster: values.number("cluster"),
            ..self
        }
    }
}

/// The state of one open file.
#[derive(Clone, Copy, Debug)]
pub struct Linux2_2 {
    settings: OldSettings,
    is_sequential: bool,
    ra_end: u64,
    ra_length: u64,
    ra_window: u64,
    ra_next: u64,
}

/// The four numbers of a file, as they stand between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linux2_2State {
    /// First page behind the last one tried.
    pub ra_end: u64,
    /// Length of the newest block.
    pub ra_length: u64,
    /// Length of the newest blocks together.
    pub ra_window: u64,
    /// Length of the next block.
    pub ra_next: u64,
}

impl Linux2_2 {
    /// A file just opened.
    #[must_use]
    pub const fn new(settings: OldSettings) -> Self {
        Self {
            settings,
            is_sequential: false,
            ra_end: 0,
            ra_length: 0,
            ra_window: 0,
            ra_next: 0,
        }
    }

    /// The limits in force.
    #[must_use]
    pub const fn settings(&self) -> &OldSettings {
        &self.settings
    }

    /// Where the file stands.
    #[must_use]
    pub const fn state(&self) -> Linux2_2State {
        Linux2_2State {
            ra_end: self.ra_end,
            ra_length: self.ra_length,
            ra_window: self.ra_window,
            ra_next: self.ra_next,
        }
    }

    /// The page was not there although the read is sequential.
    fn cut_next(&mut self) {
        if self.is_sequential && self.settings.release.missing_page_cuts() {
            self.ra_next = self.ra_next.min(self.settings.ahead_min);
        }
    }

    /// What the page at hand sets going.
    fn step<H: Host>(&mut self, host: &mut H, page: u64, is_locked: bool) {
        let end_page = self.settings.release.end_page(host.file_bytes());
        let (base, ahead, class) = if is_locked {
            if self.is_in_newest_block(page) {
                return;
            }
            let ahead = if page < end_page { self.ra_next } else { 0 };
            self.ra_length = 1;
            self.ra_window = 0;
            if ahead == 0 {
                // Remember this page alone, so that a read of the next one is sequential.
                self.ra_end = page + 1;
                self.ra_window = 1;
            }
            let class = if self.is_sequential {
                Class::Initial
            } else {
                Class::Random
            };
            (page, ahead, class)
        } else {
            if !self.may_step_ahead(page) {
                return;
            }
            let base = self.ra_end - 1;
            if base >= end_page {
                return;
            }
            self.ra_window = self.ra_length;
            self.ra_length = 0;
            (base, self.ra_next + 1, Class::Subsequent)
        };
        if ahead > 0 {
            self.queue(host, base, ahead, end_page, class);
        }
    }

    /// A locked page: whether its block needs nothing more. The two releases measure the block
    /// with different numbers.
    const fn is_in_newest_block(&self, page: u64) -> bool {
        let reach = match self.settings.release {
            OldRelease::Linux2_2 => self.ra_length,
            OldRelease::Linux2_4 => self.ra_window,
        };
        self.ra_length != 0 && page < self.ra_end && page + reach >= self.ra_end
    }

    /// A page that is not locked: whether it is the moment to queue the next block.
    const fn may_step_ahead(&self, page: u64) -> bool {
        self.is_sequential
            && self.ra_next != 0
            && self.ra_end >= 1
            && page <= self.ra_end
            && page + self.ra_length >= self.ra_end
    }

    /// Queues the `ahead` pages behind `base`. Cached pages count as tried, and in 2.2 pages behind
    /// the end of the file too; 2.4 stops there, and with nothing to try the numbers stay.
    fn queue<H: Host>(&mut self, host: &mut H, base: u64, ahead: u64, end_page: u64, class: Class) {
        let tried = match self.settings.release {
            OldRelease::Linux2_2 => ahead,
            OldRelease::Linux2_4 => ahead.min(end_page - base - 1),
        };
        if tried == 0 {
            return;
        }
        host.start(&Window {
            start: base + 1,
            pages: tried,
            class,
            ..Window::default()
        });
        self.ra_length += tried;
        self.ra_window += self.ra_length;
        self.ra_end = base + tried + 1;
        self.ra_next = self.ra_next.saturating_mul(2).min(self.settings.ahead_max);
    }
}

/// An ordinary request for one page.
fn read_alone<H: Host>(host: &mut H, page: u64) {
    host.start(&Window {
        start: page,
        pages: 1,
        class: Class::Single,
        ..Window::default()
    });
}

/// Starts reading the aligned cluster of `cluster` pages that `page` lies in.
pub(super) fn read_cluster<H: Host>(host: &mut H, page: u64, cluster: u64, end_page: u64) {
    let cluster = cluster.max(1);
    let start = page - page % cluster;
    host.start(&Window {
        start,
        pages: cluster.min(end_page.saturating_sub(start)),
        class: Class::Around,
        ..Window::default()
    });
}

impl ReadAhead for Linux2_2 {
    fn on_read<H: Host>(&mut self, _host: &mut H, read: &Read) {
        let OldSettings {
            release,
            ahead_min,
            ahead_max,
            ..
        } = self.settings;
        let first = read.first_page();
        self.is_sequential = first <= self.ra_end && first + self.ra_window >= self.ra_end;
        if !self.is_sequential {
            *self = Self::new(self.settings);
        }
        if read.end <= HALF_PAGE_BYTES {
            self.ra_next = 0;
            return;
        }
        let least = if self.is_sequential { ahead_min } else { 0 };
        self.ra_next = self
            .ra_next
            .max(release.pages_needed(first, read.end))
            .max(least)
            .min(ahead_max);
    }

    fn on_page<H: Host>(&mut self, host: &mut H, _read: &Read, page: u64) {
        match host.state(page) {
            PageState::Absent => {
                self.cut_next();
                read_alone(host, page);
                self.step(host, page, true);
            }
            PageState::Stale => {
                self.cut_next();
                let steps = self.settings.release.stale_page_steps();
                if steps {
                    self.step(host, page, false);
                }
                read_alone(host, page);
                if steps {
                    self.step(host, page, true);
                }
            }
            PageState::InFlight => self.step(host, page, true),
            PageState::Valid => self.step(host, page, false),
        }
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        if host.state(fault.page) == PageState::Absent {
            read_cluster(host, fault.page, self.settings.cluster, u64::MAX);
        }
    }

    /// There is no call for it yet.
    fn on_will_need<H: Host>(&mut self, _host: &mut H, _start: u64, _pages: u64) {}
}
