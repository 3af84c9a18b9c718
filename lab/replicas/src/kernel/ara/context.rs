//! A reader that left its trace in the cache: nothing needs to be remembered about it.
//!
//! **Where to start.** At a marked page: at the first hole behind it. At an absent page whose
//! neighbour below is cached: there. With a hit rate above 1, also behind the nearest cached page
//! below, if that is near: a reader that leaves gaps. Otherwise there is no reader.
//!
//! **How much.** The *history* is the run of cached pages directly below. Those pages are the part
//! of the reader's past that memory kept, so the history is a low estimate of its thrashing
//! threshold, provided they were *read*: a few of them are sampled for a reference mark on the
//! inactive list, and if too few carry one, V15 starts small and V16 not at all. A history longer
//! than the limit is probed on, in steps of the limit. The chunk is the ratio's share of it; a
//! history that reaches the start of the file has lost nothing, and counts whole.
//!
//! At a mark with less history than pages still ahead, those pages are in danger: they are
//! [rescued](crate::kernel::rescue), and nothing is read.

use super::bounds::{Chunk, adjust, limit};
use super::chunks::Method;
use super::events::{AraEvent, AraObserver};
use super::file::Ara;
use super::release::AraRelease;
use super::visit::{Found, Visit};
use crate::kernel::{Host, PageState};

/// Samples of a history: V15 and June, V16.
const SAMPLES: u64 = 16;
const SAMPLES_V16: u64 = 8;

/// So many samples found in use end the sampling.
const SAMPLES_USED_ENOUGH: u64 = 2;

/// Scatters the samples over the history without a division.
const SAMPLE_STRIDE: u64 = 29;

/// The probe of a long history ends at so many chunks of the ratio.
const PROBE_CHUNKS: u64 = 9;

/// Where a chunk would start, seen from where.
#[derive(Clone, Copy)]
struct Place {
    /// The history lies below this page.
    origin: u64,
    /// First page of the chunk.
    start: u64,
    /// Smallest chunk here.
    pages_min: u64,
}

impl Place {
    /// Pages that the reader still has ahead of it.
    const fn ahead(&self) -> u64 {
        self.start - self.origin
    }
}

/// The cached pages directly below a page.
#[derive(Clone, Copy)]
struct History {
    /// How many, up to the limit. Page 0 is not counted.
    pages: u64,
    /// Where the look back stopped: a hole, page 0, or the limit.
    stop: u64,
}

impl<O: AraObserver> Ara<O> {
    /// Looks at the cache around the page.
    pub(super) fn context<H: Host>(&mut self, host: &mut H, visit: &Visit) -> Found {
        if self.release == AraRelease::V16 {
            return self.context_v16(host, visit);
        }
        let Some(place) = self.place(host, visit) else {
            return Found::Nothing;
        };
        let (origin, ahead, max) = (place.origin, place.ahead(), visit.bounds.max);
        let history = look_back(host, origin, max);
        let is_own = origin == self.chunks.end && self.is_hit_enough();
        let is_used = is_own || {
            let used = pages_in_use(host, history.stop, origin, SAMPLES);
            used.saturating_mul(self.hit_rate()) >= history.pages
        };
        let count = if is_used {
            history.pages
        } else {
            place.pages_min
        };
        let count = self.probe_further(host, origin, count, max);
        let in_danger = history.pages <= ahead && history.pages < origin;
        if visit.is_marked && in_danger && ahead > 1 {
            self.rescue(host, visit.page, ahead);
            return Found::Enough;
        }
        if count >= origin {
            let chunk = Chunk {
                size: self.share(origin.saturating_sub(ahead)) + self.share(origin),
                look_ahead: self.share(origin),
            };
            return self.submit_context(host, Method::ContextAll, place, limit(chunk, ahead, max));
        }
        let share = self.share(count).max(place.pages_min);
        self.submit_share(host, place, share, max)
    }

    fn context_v16<H: Host>(&mut self, host: &mut H, visit: &Visit) -> Found {
        let place = match self.place_v16(host, visit) {
            Some(place) => place,
            // A mark deep inside what is cached: its reader needs nothing yet.
            None if visit.is_marked => return Found::Enough,
            None => return Found::Nothing,
        };
        let (origin, ahead, max) = (place.origin, place.ahead(), visit.bounds.max);
        let history = look_back(host, origin, max);
        let is_used = self.knobs.nfsd || {
            let used = pages_in_use(host, history.stop, origin, SAMPLES_V16);
            used.saturating_mul(self.hit_rate()) >= history.pages
        };
        let count = if is_used { history.pages } else { 0 };
        let count = self.probe_further(host, origin, count, max);
        if visit.is_marked && count < ahead {
            if count < origin {
                self.rescue(host, visit.page, ahead);
            }
            return Found::Enough;
        }
        if count == 0 {
            return Found::Nothing;
        }
        if count >= origin {
            let chunk = Chunk {
                size: origin.saturating_sub(ahead) + origin,
                look_ahead: origin,
            };
            return self.submit_context(host, Method::ContextAll, place, limit(chunk, ahead, max));
        }
        let share = self.share(count).max(place.pages_min);
        self.submit_share(host, place, share, max)
    }

    fn place<H: Host>(&self, host: &H, visit: &Visit) -> Option<Place> {
        let (page, pages_min) = (visit.page, visit.bounds.min);
        let here = |start, pages_min| Place {
            origin: page,
            start,
            pages_min,
        };
        if visit.is_marked {
            // A little more than the largest chunk: the reader's own next one may lie there.
            let scan = visit.bounds.max * 5 / 4;
            let hole = host.first_absent(page, scan);
            return Some(here(hole.unwrap_or(page + scan), pages_min));
        }
        if host.state(page - 1) != PageState::Absent {
            let is_slow_start = self.release == AraRelease::June && self.hit_rate() == 1;
            return Some(here(page, if is_slow_start { 1 } else { pages_min }));
        }
        if self.hit_rate() == 1 {
            return None;
        }
        let start = nearest_below(host, page, self.hit_rate().saturating_add(pages_min))?;
        Some(Place {
            origin: start,
            start,
            pages_min: pages_min + 2 * (page - start),
        })
    }

    fn place_v16<H: Host>(&self, host: &H, visit: &Visit) -> Option<Place> {
        let (page, pages_min) = (visit.page, visit.bounds.min);
        let here = |start, pages_min| Place {
            origin: page,
            start,
            pages_min,
        };
        if visit.is_marked {
            let hole = host.first_absent(page, visit.bounds.max + pages_min)?;
            return Some(here(hole, pages_min));
        }
        if page == self.prev_page.wrapping_add(1) {
            return Some(here(page, pages_min));
        }
        let hit_rate = self.knobs.hit_rate;
        if hit_rate > 0 && host.state(page - 1) != PageState::Absent {
            // An accidental neighbour of another reader stays cheap.
            return Some(here(page, pages_min.min(hit_rate.saturating_mul(2))));
        }
        if hit_rate <= 1 {
            return None;
        }
        let start = nearest_below(host, page, pages_min.saturating_sub(1))?;
        let distance = page - (start - 1);
        Some(Place {
            origin: start,
            start,
            pages_min: pages_min + distance,
        })
    }

    /// A history of the limit or more: on in steps of the limit, one page looked at per step.
    fn probe_further<H: Host>(&self, host: &H, origin: u64, pages: u64, limit: u64) -> u64 {
        if pages < limit || !self.knobs.look_ahead {
            return pages;
        }
        let most = limit * PROBE_CHUNKS * 100 / (self.knobs.ratio | 1);
        let mut pages = pages + limit;
        while pages < most
            && origin
                .checked_sub(pages)
                .is_some_and(|page| host.state(page) != PageState::Absent)
        {
            pages += limit;
        }
        pages
    }

    /// The ratio's share of `pages`.
    const fn share(&self, pages: u64) -> u64 {
        pages.saturating_mul(self.knobs.ratio) / 100
    }

    fn submit_share<H: Host>(&mut self, host: &mut H, place: Place, share: u64, max: u64) -> Found {
        let ahead = place.ahead();
        let Some(chunk) = adjust(share, ahead, max) else {
            self.report(AraEvent::ReadAheadShrink, Method::Context, ahead);
            return Found::Enough;
        };
        self.submit_context(host, Method::Context, place, chunk)
    }

    fn submit_context<H: Host>(
        &mut self,
        host: &mut H,
        method: Method,
        place: Place,
        chunk: Chunk,
    ) -> Found {
        self.chunks.begin(method);
        self.chunks
            .place(place.origin, place.start, chunk.size, chunk.look_ahead);
        self.submit(host);
        Found::Submitted
    }
}

/// The history of `origin`, at most `pages` long. The look back ends at page 0 without counting
/// it, as the patch's search through the page tree does.
fn look_back<H: Host>(host: &H, origin: u64, pages: u64) -> History {
    let last = origin.saturating_sub(1);
    let stop = host
        .last_absent(last, pages)
        .unwrap_or_else(|| last.saturating_sub(pages));
    History {
        pages: last - stop,
        stop,
    }
}

/// The page behind the nearest cached page among the `pages` below `page`.
fn nearest_below<H: Host>(host: &H, page: u64, pages: u64) -> Option<u64> {
    (page.saturating_sub(pages)..page)
        .rev()
        .find(|&below| host.state(below) != PageState::Absent)
        .map(|below| below + 1)
}

/// Estimates how many pages of a history, from behind `stop` to `origin`, were read and not yet
/// evicted, from samples in an order that scatters them.
fn pages_in_use<H: Host>(host: &H, stop: u64, origin: u64, samples: u64) -> u64 {
    let size = origin - stop;
    let (mut taken, mut used) = (0, 0);
    while taken < samples && used < SAMPLES_USED_ENOUGH {
        let page = stop + 1 + size * (SAMPLE_STRIDE * taken % samples) / samples;
        taken += 1;
        used += u64::from(host.is_referenced(page) && !host.is_active(page));
    }
    size * used / taken
}
