//! Which stream does an access belong to, and when is it the birth of a new one?
//!
//! Four questions, cheapest first:
//!
//! 1. Does it continue the stream that followed the last one the last time (`successor`)? Round
//!    robin over sixty-four streams is answered here, as is a single scan.
//! 2. Does it continue any other stream: exactly, or within the tolerance? The best fit wins.
//! 3. Do three recent unexplained accesses have equal steps and lengths? Then a strided stream is
//!    born: this finds strides of any period, forwards and backwards.
//! 4. Otherwise it becomes a candidate, in the place of the oldest candidate. Established streams
//!    give way only when they have not moved for a long time.

use super::stream::{Fit, Shape, Stream};
use ahead_units::PageRange;

/// Unexplained accesses that are remembered for question 3.
pub(super) const RECENT: usize = 8;

/// A stream that has not moved for this many accesses of its file, times the size of the table,
/// may be replaced. Sixty-four streams in turn need at least one round; random lookups between
/// them need some more.
const STALE_ROUNDS: u32 = 16;

/// A start and a length, remembered until it explains something or is overwritten.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unexplained {
    start: u64,
    length: u32,
}

/// The stream that fits best, by place in the table.
pub(super) fn best(streams: &[Stream], access: PageRange) -> Option<(usize, Fit)> {
    let mut near = None;
    for (place, stream) in streams.iter().enumerate() {
        match stream.fit(access) {
            Fit::Exact if stream.shape != Shape::Candidate => return Some((place, Fit::Exact)),
            Fit::None => {}
            fit => {
                let better = match near {
                    None => true,
                    Some((other, held)) => {
                        rank(&streams[place], fit, access) < rank(&streams[other], held, access)
                    }
                };
                if better {
                    near = Some((place, fit));
                }
            }
        }
    }
    near
}

/// Another stream in whose window the one at `place` runs.
pub(super) fn leader(streams: &[Stream], place: usize) -> Option<usize> {
    let follower = streams.get(place)?;
    let others = streams
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != place);
    others
        .filter(|(_, stream)| stream.leads(follower))
        .map(|(other, _)| other)
        .next()
}

/// Lower is better: exact before near, then the shorter way.
fn rank(stream: &Stream, fit: Fit, access: PageRange) -> (bool, u64) {
    let at = if stream.shape == Shape::Backward {
        access.end
    } else {
        access.start
    };
    (fit != Fit::Exact, at.get().abs_diff(stream.next))
}

/// The period of a comb whose third element is `access`, if two recent accesses are its first
/// two. Steps shorter than the access itself are not strides.
pub(super) fn comb_period(
    recent: &[Unexplained; RECENT],
    newest: usize,
    access: PageRange,
) -> Option<i64> {
    let start = access.start.get();
    let length = super::stream::pages32(access.len());
    for back in 0..RECENT {
        let second = recent[(newest + RECENT - back) % RECENT];
        let period = start.wrapping_sub(second.start).cast_signed();
        if second.length != length || period.unsigned_abs() <= u64::from(length) {
            continue;
        }
        let first_start = second.start.checked_add_signed(period.checked_neg()?);
        for further in back + 1..RECENT {
            let first = recent[(newest + RECENT - further) % RECENT];
            if first.length == length && Some(first.start) == first_start {
                return Some(period);
            }
        }
    }
    None
}

/// Remembers an access that nothing explained; `newest` is the place of the one before.
pub(super) fn remember(
    recent: &mut [Unexplained; RECENT],
    newest: usize,
    access: PageRange,
) -> usize {
    let place = (newest + 1) % RECENT;
    recent[place] = Unexplained {
        start: access.start.get(),
        length: super::stream::pages32(access.len()),
    };
    place
}

/// The place for a new candidate: a vacant one, else a candidate, else a stream that has not moved
/// for long; never `taken`. `None` when every stream is alive.
///
/// In a small table the oldest candidate gives way. In a large one it is the first of any kind
/// from a place that changes with every access: with one stream more than places, read in turn,
/// the oldest would always be the one needed next.
pub(super) fn place_for_candidate(
    streams: &[Stream],
    tick: u32,
    taken: Option<usize>,
) -> Option<usize> {
    let may_go = |place: usize| {
        let stream = &streams[place];
        Some(place) != taken && may_give_way(stream, tick, streams.len())
    };
    if streams.len() > super::STREAMS_FEW {
        let first = usize::try_from(tick.wrapping_mul(0x9e37_79b9) >> 8).unwrap_or(0);
        let places = (0..streams.len()).map(|step| (first + step) % streams.len());
        let mut found = places.filter(|place| may_go(*place));
        return found.next();
    }
    let age = |place: &usize| match streams[*place].shape {
        Shape::Vacant => (2, 0),
        Shape::Candidate => (1, tick.wrapping_sub(streams[*place].last_used)),
        _ => (0, tick.wrapping_sub(streams[*place].last_used)),
    };
    (0..streams.len())
        .filter(|place| may_go(*place))
        .max_by_key(age)
}

/// Whether a new candidate may take the place of `stream`.
fn may_give_way(stream: &Stream, tick: u32, places: usize) -> bool {
    let age = tick.wrapping_sub(stream.last_used);
    let rounds = |count: u32| {
        u32::try_from(places)
            .unwrap_or(u32::MAX)
            .saturating_mul(count)
    };
    match stream.shape {
        Shape::Vacant | Shape::Candidate => true,
        Shape::Strided if stream.is_wide_comb() => stream.is_doubtful() || age >= rounds(2),
        _ => age >= rounds(STALE_ROUNDS),
    }
}
