//! A window like that of Mountpoint for S3: a first request of just over 1 MiB, doubled by waits.
//!
//! The first request of a file opens a stream. What has been asked for is kept a window ahead of
//! the reader: when no more than half of the window is left, it is filled up again. A reader that
//! has to wait for a page on its way doubles the window, up to the largest; data arrive in parts of
//! [`PART_PAGES`], so that one part makes a reader wait no more than once. A step ahead of at most
//! [`FORWARD_PAGES`], or back of at most [`BACKWARD_PAGES`], stays in the stream; any other jump
//! starts a new one with the first window. (The original cannot leave out what it jumps over: it
//! reads one long object. Here pages between the end of the stream and the reader are not read.)
//!
//! The 128 KiB beyond the first MiB are chosen so that the kernel's own read-ahead at the end of
//! the first MiB does not have to wait.
//!
//! Source: Mountpoint for Amazon S3 1.x, prefetcher (initial request 1 MiB + 128 KiB, window
//! multiplier 2, forward seek 16 MiB, backward seek 1 MiB). Shrinking under memory pressure is left
//! out: it needs the mount's own memory limiter.

use crate::kernel::{Class, Host, PageState, Read, ReadAhead};

use super::{faults_are_reads, is_absent, start};
use crate::replica::{Key, Replica};

/// The name of it.
pub const REPLICAS: &[Replica<Mountpoint>] = &[Replica::new(
    "mountpoint",
    2023,
    "an object store client: 1 MiB, then parts, up to mib",
    &[Key::number("mib", 2048)],
    |values| Mountpoint::new(values.number("mib") * 256),
)];

/// Pages of the first request.
pub const FIRST_PAGES: u64 = 288;
/// Pages of one part: 8 MiB.
pub const PART_PAGES: u64 = 2048;
/// Pages of the largest window that the original allows: 2 GiB.
pub const PAGES_MAX: u64 = 524_288;
/// Steps ahead that stay in the stream.
pub const FORWARD_PAGES: u64 = 4096;
/// Steps back that stay in the stream.
pub const BACKWARD_PAGES: u64 = 256;

/// One open file.
#[derive(Clone, Copy, Debug)]
pub struct Mountpoint {
    pages_max: u64,
    window: u64,
    /// Page behind the last one read.
    reader: u64,
    /// First page not asked for.
    asked_until: u64,
    /// The part up to here has made its reader wait already.
    waited_until: u64,
    has_stream: bool,
}

impl Mountpoint {
    /// A file that was not read yet; the window never exceeds `pages_max`, usually [`PAGES_MAX`].
    #[must_use]
    pub const fn new(pages_max: u64) -> Self {
        Self {
            pages_max,
            window: 0,
            reader: 0,
            asked_until: 0,
            waited_until: 0,
            has_stream: false,
        }
    }

    fn stays(&self, page: u64) -> bool {
        let low = self.reader.saturating_sub(BACKWARD_PAGES);
        self.has_stream && (low..=self.reader.saturating_add(FORWARD_PAGES)).contains(&page)
    }
}

impl ReadAhead for Mountpoint {
    fn on_read<H: Host>(&mut self, _host: &mut H, read: &Read) {
        let page = read.first_page();
        if !self.stays(page) {
            self.has_stream = true;
            self.window = FIRST_PAGES.min(self.pages_max);
            self.asked_until = page;
            self.waited_until = page;
        }
        self.reader = page;
    }

    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        let has_been_asked = page < self.asked_until;
        if is_absent(host, page) && has_been_asked {
            // Behind the stream, or evicted: what the request wants, in one piece.
            start(host, page, read.pages_from(page), Class::Random);
        }
        let has_to_wait = has_been_asked && host.state(page) == PageState::InFlight;
        if has_to_wait && page >= self.waited_until {
            self.waited_until = self.asked_until.min(page.saturating_add(PART_PAGES));
            self.window = self.window.saturating_mul(2).min(self.pages_max);
        }
        self.reader = page + 1;
        let left = self.asked_until.saturating_sub(page);
        if left <= self.window / 2 {
            let from = self.asked_until.max(page);
            let until = page.saturating_add(self.window.max(read.pages_from(page)));
            let class = if has_been_asked {
                Class::Subsequent
            } else {
                Class::Initial
            };
            start(host, from, until - from, class);
            self.asked_until = until;
        }
    }

    faults_are_reads!();
}
