//! Which stream does an access belong to, and where does a new one go?
//!
//! Four questions, cheapest first, the first and the third asked elsewhere:
//!
//! 1. Does it continue the stream that followed the last one the last time? Round robin over
//!    sixty-four streams is answered here, as is a single scan.
//! 2. Does it continue any other stream: exactly, or within the tolerance? The best fit wins, of those within it one that
//!    has left the pages out.
//! 3. Do three recent unexplained accesses have equal steps and lengths? Then a strided stream is
//!    born: this finds strides of any period, forwards and backwards.
//! 4. Otherwise it becomes a candidate, in the place of the oldest candidate. Established streams
//!    give way only when they have not moved for a long time.

use super::access::Access;
use super::shape::fit::Fit;
use super::stream::Stream;
use crate::steering::steering;

/// Streams of a file that has few.
pub const STREAMS_FEW: usize = 4;
/// Streams of a file that has many.
pub const STREAMS_MANY: usize = 64;

steering! {
    /// A stream that has not moved for this many accesses of its file, times the size of the table,
    /// may be replaced. Sixty-four streams in turn need at least one round, random lookups between
    /// them need some more; with too many, streams that ended keep new ones out.
    /// Evidence: docs/results/evidence/STALE_ROUNDS.csv
    STALE_ROUNDS: u32 = 16;

    /// The same for wide strides, which are easily seen where there are none.
    /// Evidence: docs/results/evidence/STALE_ROUNDS_STRIDED.csv
    STALE_ROUNDS_STRIDED: u32 = 2;
}

/// What an access is to the streams of a table; each has its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// It continues this one.
    Continues(usize),
    /// It continues none, and lies in the window of this one, far ahead of its reader.
    LiesAhead(usize),
    /// Neither.
    Nothing,
}

/// Which stream `access` belongs to: the one that fits best, else the first in whose window it lies.
/// One pass, because random reads look at all streams. What it left out long ago only the stream of the `newest` access comes back for:
/// random reads of a small file are late for one as often as not.
pub(super) fn find(streams: &[Stream], newest: Option<usize>, access: &Access) -> Match {
    let mut near = None;
    let mut around = None;
    let pages = access.pages();
    for (place, stream) in streams.iter().enumerate() {
        match stream.fit_of(pages, access) {
            Fit::Exact if !stream.is_candidate() => return Match::Continues(place),
            Fit::None => {
                if around.is_none() && !stream.is_candidate() && stream.holds(access) {
                    around = Some(place);
                }
            }
            Fit::Near if newest != Some(place) && stream.fills_old_gap(access) => {}
            fit => {
                let better = match near {
                    None => true,
                    Some((other, held)) => {
                        rank(stream, fit, access) < rank(&streams[other], held, access)
                    }
                };
                if better {
                    near = Some((place, fit));
                }
            }
        }
    }
    match (near, around) {
        (Some((place, _)), _) => Match::Continues(place),
        (None, Some(place)) => Match::LiesAhead(place),
        (None, None) => Match::Nothing,
    }
}

/// Lower is better: exact before near, then what fills a gap before what leaves one, then the shorter way.
fn rank(stream: &Stream, fit: Fit, access: &Access) -> (bool, bool, u64) {
    (
        fit != Fit::Exact,
        !stream.fills_gap(access),
        stream.distance(access),
    )
}

/// Another stream in whose window the one at `place` runs.
pub(super) fn leader(streams: &[Stream], place: usize) -> Option<usize> {
    let follower = streams.get(place)?;
    let mut others = streams.iter().enumerate();
    others
        .find(|(other, stream)| *other != place && stream.leads(follower))
        .map(|(other, _)| other)
}

/// Accesses without one of another stream after which one is alone. Fewer, and what another strides by is forgotten over what this one reads in
/// between; more, and two fields of each record behind a header are seen late.
const ALONE_ACCESSES: u32 = 64;

/// Whether nothing else in the file was read lately than the stream at `place`.
pub(super) fn is_alone(streams: &[Stream], place: usize, tick: u32) -> bool {
    let is_idle = |stream: &Stream| {
        stream.is_vacant() || tick.wrapping_sub(stream.last_used()) > ALONE_ACCESSES
    };
    let mut others = streams.iter().enumerate();
    others.all(|(other, stream)| other == place || is_idle(stream))
}

/// Whether something else in the file was read before the candidate at `place`, and did not go on since.
pub(super) fn others_stopped(streams: &[Stream], place: usize, tick: u32) -> bool {
    let idle = |stream: &Stream| tick.wrapping_sub(stream.last_used());
    let mut others = streams.iter().enumerate();
    others.any(|(other, stream)| {
        other != place && !stream.is_vacant() && idle(stream) > idle(&streams[place])
    })
}

/// The place for a new candidate: a vacant one, else a candidate, else a stream that has not moved
/// for long; never `taken`. `None` when every stream is alive. Where `runs_stop`, each before the next one begins, one of few accesses that has not
/// moved for as many as a large table has places is not: of runs of three accesses none would ever be seen to have ended.
///
/// In a small table the oldest candidate gives way. In a large one it is the first of any kind
/// from a place that changes with every access: with one stream more than places, read in turn,
/// the oldest would always be the one needed next.
pub(super) fn place_for_candidate(
    streams: &[Stream],
    tick: u32,
    taken: Option<usize>,
    runs_stop: bool,
) -> Option<usize> {
    let may_go = |place: usize| {
        Some(place) != taken && may_give_way(&streams[place], tick, streams.len(), runs_stop)
    };
    if streams.len() > STREAMS_FEW {
        let first = usize::try_from(tick.wrapping_mul(0x9e37_79b9) >> 8).unwrap_or(0);
        let places = (0..streams.len()).map(|step| (first + step) % streams.len());
        let mut found = places.filter(|place| may_go(*place));
        return found.next();
    }
    let age = |place: &usize| {
        let stream = &streams[*place];
        let age = tick.wrapping_sub(stream.last_used());
        if stream.is_vacant() {
            (2, 0)
        } else {
            (u8::from(stream.is_candidate()), age)
        }
    };
    (0..streams.len())
        .filter(|place| may_go(*place))
        .max_by_key(age)
}

/// Whether a new candidate may take the place of `stream`.
fn may_give_way(stream: &Stream, tick: u32, places: usize, runs_stop: bool) -> bool {
    if stream.is_vacant() || stream.is_candidate() || stream.has_ended() {
        return true;
    }
    let age = tick.wrapping_sub(stream.last_used());
    let rounds = |count: u32| {
        u32::try_from(places)
            .unwrap_or(u32::MAX)
            .saturating_mul(count)
    };
    if runs_stop && places > STREAMS_FEW && stream.is_short_run() && age >= rounds(1) {
        true
    } else if stream.is_wide_stride() {
        stream.is_doubtful() || age >= rounds(STALE_ROUNDS_STRIDED.get())
    } else {
        age >= rounds(STALE_ROUNDS.get())
    }
}
