//! How much to ask for, and where the marker goes.
//!
//! Goals that pull against each other:
//!
//! * The reader never waits: ask early, and for enough to cover one access of the device.
//! * The device works, not seeks: where a request has to be positioned for (backward, or several
//!   streams on one arm), ask for a·b·u/(1−u) at once.
//! * Pages wait in memory, not in vain: never more than the stream's share, halved for the two
//!   requests that overlap; a percentage (`readahead_ratio`) of the thrashing threshold.
//! * Small files and false starts stay cheap: begin small and double with each marker crossed.
//!
//! A window always consists of two requests: the reader is inside one while the next is on its
//! way. The marker is the first page of the newest request.

use super::stream::{Shape, Stream};
use crate::decision::Prefetch;
use crate::device::DeviceEstimate;
use crate::knobs::Knobs;
use crate::reason::Reason;
use ahead_units::{PageCount, PageRange};

/// First request of a stream: 128 KiB, what the kernel has begun with for twenty years.
pub(super) const FIRST_WINDOW_PAGES: u64 = 32;

/// Requests end on multiples of this once they are this large, so that they fill the kernel's
/// pieces and large folios.
const ALIGN_PAGES: u64 = 64;

/// Elements of a comb that are asked for at once, at least and at most. Fewer leave the device
/// idle between them; more are a long list of calls for a stream that may end.
const COMB_ELEMENTS: (u64, u64) = (8, 256);

/// Largest doubling of a window by waits, and largest skipping of windows found in memory.
const BOOST_MAX: u8 = 1;
const CACHED_MAX: u8 = 6;

/// Waits double a window up to here (256 MiB); the limits of the next request hold anyway.
const GROWN_PAGES_MAX: u32 = 65536;

/// A probe into a range that is probably in memory: 64 KiB.
const PROBE_PAGES: u64 = 16;

/// What holds at the moment of an access, all of it from outside.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The knobs.
    pub knobs: Knobs,
    /// The device under the file.
    pub device: DeviceEstimate,
    /// Pages of the file; nothing beyond is asked for.
    pub file_pages: PageCount,
    /// A file of at most so many pages that begins to be read is expected to be read whole; 0:
    /// nothing is expected.
    pub expected: PageCount,
    /// Thrashing threshold as far as known: pages that this stream can leave unread before
    /// reclaim takes them back.
    pub threshold: PageCount,
    /// Pages of the memory budget that no window uses.
    pub available: PageCount,
    /// Others made the device move since this stream asked last.
    pub contested: bool,
}

/// What came of asking.
pub(super) struct Asked {
    pub(super) prefetch: Prefetch,
    pub(super) reason: Reason,
}

impl Asked {
    fn nothing(reason: Reason) -> Self {
        Self {
            prefetch: Prefetch::default(),
            reason,
        }
    }
}

/// Largest single request for `stream` now; 0 when memory is short.
pub(super) fn limit(stream: &Stream, moment: &Moment, thrash_pages: u32) -> u64 {
    let device = &moment.device;
    // Alone, a stream has to cover the device's latency by itself. In company the others do that
    // too, and what counts is the cost of a request. A backward stream needs both: each of its
    // requests is positioned for.
    let model = match (moment.contested, stream.shape) {
        (true, _) => device.efficient_window(),
        (false, Shape::Backward) => device.efficient_window().max(device.pipeline_window()),
        (false, _) => device.pipeline_window(),
    };
    // Waits of streams that share a device with many channels come from sharing its bandwidth.
    let shared = moment.contested && device.depth > 1;
    let boost = if shared {
        0
    } else {
        stream.boost.min(BOOST_MAX)
    };
    let wanted = (model.get() << boost).max(u64::from(stream.length));
    let mut threshold = moment.threshold.get();
    if thrash_pages > 0 {
        threshold = threshold.min(u64::from(thrash_pages));
    }
    // What the reader wants now may become part of the request.
    let left = moment
        .available
        .get()
        .saturating_sub(u64::from(stream.length));
    let lead = threshold.saturating_mul(u64::from(moment.knobs.readahead_ratio)) / 100;
    wanted
        .min(moment.knobs.window_pages_max.get())
        .min(lead / 2)
        .min(left)
}

/// Asks for the next window of `stream`, whose newest access is `access`.
pub(super) fn ask(
    stream: &mut Stream,
    access: PageRange,
    moment: &Moment,
    thrash_pages: u32,
) -> Asked {
    let limit = limit(stream, moment, thrash_pages);
    if limit < 4 {
        return Asked::nothing(Reason::BudgetUsed);
    }
    if access.start.get() >= moment.file_pages.get() {
        return Asked::nothing(Reason::EndOfFile);
    }
    let first = u64::from(stream.window)
        .max(FIRST_WINDOW_PAGES)
        .max(u64::from(stream.length) * 2);
    let pages = first.min(limit);
    let asked = match stream.shape {
        Shape::Forward => ask_forward(stream, access, pages, moment.file_pages.get()),
        Shape::Backward => ask_backward(stream, access, pages),
        Shape::Strided => ask_strided(stream, access, pages, limit, moment),
        Shape::Vacant | Shape::Candidate => Asked::nothing(Reason::NoPattern),
    };
    // Four times while small, as each step costs the device an access; then twice, as each step
    // risks that many pages.
    let growth = if pages * 4 <= limit { 4 } else { 2 };
    stream.window = u32::try_from((pages * growth).min(limit)).unwrap_or(u32::MAX);
    Asked {
        prefetch: asked.prefetch.before(moment.file_pages),
        ..asked
    }
}

fn ask_forward(stream: &mut Stream, access: PageRange, pages: u64, file_pages: u64) -> Asked {
    // What the reader wants now goes first, in the same request.
    let start = stream.frontier.max(access.start.get());
    if start >= file_pages {
        stream.marker = u64::MAX;
        return Asked::nothing(Reason::EndOfFile);
    }
    let reach = pages << stream.cached.min(CACHED_MAX);
    let mut end = start.max(access.end.get()).saturating_add(reach);
    if reach >= ALIGN_PAGES * 2 {
        end -= end % ALIGN_PAGES;
    }
    let end = end.min(file_pages);
    stream.frontier = end;
    stream.marker = if end == file_pages {
        u64::MAX
    } else {
        start.max(stream.next)
    };
    let mut range = PageRange::new(start, end);
    if stream.cached > 1 {
        // Everything so far was in memory. Look at the far end only: a hole there will show.
        range = PageRange::new(end - PROBE_PAGES.min(end - start), end);
        stream.marker = if end == file_pages { u64::MAX } else { end - 1 };
    }
    Asked {
        prefetch: Prefetch::range(range),
        reason: Reason::MarkerCrossed,
    }
}

fn ask_backward(stream: &mut Stream, access: PageRange, pages: u64) -> Asked {
    let end = stream.frontier.min(access.end.get());
    if end == 0 {
        stream.marker = 0;
        return Asked::nothing(Reason::EndOfFile);
    }
    let reach = pages << stream.cached.min(CACHED_MAX);
    let mut start = end.min(access.start.get()).saturating_sub(reach);
    if reach >= ALIGN_PAGES * 2 && start > 0 {
        start = start.next_multiple_of(ALIGN_PAGES);
    }
    stream.frontier = start;
    stream.marker = if start == 0 { 0 } else { end.min(stream.next) };
    let mut range = PageRange::new(start, end);
    if stream.cached > 1 {
        range = PageRange::new(start, start + PROBE_PAGES.min(end - start));
        stream.marker = if start == 0 { 0 } else { start + 1 };
    }
    Asked {
        prefetch: Prefetch::range(range),
        reason: Reason::MarkerCrossed,
    }
}

fn ask_strided(
    stream: &mut Stream,
    access: PageRange,
    pages: u64,
    limit: u64,
    moment: &Moment,
) -> Asked {
    let period = stream.period;
    let length = u64::from(stream.length.max(1));
    let step = period.unsigned_abs().max(1);
    // The comb begins at the first element not asked for, or at the one being read now.
    let passed = is_ahead(stream.next, stream.frontier, period);
    let first = if passed {
        access.start.get()
    } else {
        stream.frontier
    };
    // Only whole elements: all ranges of a comb are equally long.
    let in_file = if period > 0 {
        let last = moment.file_pages.get().checked_sub(length);
        last.and_then(|last| last.checked_sub(first))
            .map_or(0, |room| room / step + 1)
    } else {
        first / step + 1
    };
    let by_span = pages / step;
    let fewest = COMB_ELEMENTS.0.max(u64::from(moment.device.depth) * 2);
    let affordable = (limit / length).max(1);
    let count = by_span
        .max(fewest)
        .min(COMB_ELEMENTS.1)
        .min(affordable)
        .min(in_file);
    if count == 0 || first >= moment.file_pages.get() {
        stream.marker = if period > 0 { u64::MAX } else { 0 };
        return Asked::nothing(Reason::EndOfFile);
    }
    let steps = i64::try_from(count)
        .unwrap_or(i64::MAX)
        .saturating_mul(period);
    stream.marker = first;
    stream.frontier = first.saturating_add_signed(steps);
    let end = first.saturating_add(length).min(moment.file_pages.get());
    let comb = Prefetch {
        first: PageRange::new(first, end),
        period,
        count: u32::try_from(count).unwrap_or(u32::MAX),
    };
    Asked {
        prefetch: comb,
        reason: Reason::MarkerCrossed,
    }
}

/// Whether `a` lies behind `b` in the direction of `period`, so that `b` has been passed.
fn is_ahead(a: u64, b: u64, period: i64) -> bool {
    if period > 0 { a > b } else { a < b }
}

/// Whether reading through the holes of `stream` pays: the limit allows it and a hole costs less
/// than a request of its own.
pub(super) fn holes_pay(stream: &Stream, moment: &Moment) -> bool {
    let (held, spanned) = (u64::from(stream.held), u64::from(stream.spanned));
    if held.saturating_mul(u64::from(moment.knobs.readahead_hit_rate)) < spanned {
        return false;
    }
    let accesses = (held / u64::from(stream.length.max(1))).max(1);
    spanned.saturating_sub(held) / accesses <= moment.device.hole_worth_reading().get()
}

/// A wait inside the window: the next request is larger, and so may all be.
pub(super) fn grow_after_wait(stream: &mut Stream) {
    stream.window = stream.window.saturating_mul(2).min(GROWN_PAGES_MAX);
    stream.boost = (stream.boost + 1).min(BOOST_MAX);
}
