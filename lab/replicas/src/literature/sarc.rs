//! SARC: one cache for sequential and random data, divided by what a page more is worth to each.
//!
//! **Prefetching** ([`Sarc`]) is of a fixed degree. The unit is a *track* of some pages: a missing
//! page brings its track. A track whose predecessors were read too, [`SEQUENTIAL_TRACKS`] in a row
//! with itself, is sequential. When such a track is missing, [`DEGREE_TRACKS`] more come with it.
//! When half of that group has been read, the next one is asked for while no read waits.
//!
//! **Division** ([`Division`]) is what the paper is about. The cache is two lists in order of use:
//! SEQ for sequential tracks, RANDOM for all others. What would a little more space save?
//!
//! * In SEQ, misses come from groups evicted before use. With `s` sequential misses in some time
//!   and `L` tracks in the list, one track more saves about `2 s / L` of them.
//! * In RANDOM, a hit in the oldest `b` tracks is a miss that those tracks saved. With `h` such
//!   hits in the same time, one track more saves about `h / b`.
//!
//! The time is taken from one such hit to the next, so `h` is 1. At each the two are compared, and
//! the size that SEQ should have moves towards the list with more use for space. Between the hits,
//! misses are only counted. A list longer than it should be gives up its oldest track.
//!
//! The division needs a cache with two lists; the page cache of a kernel is none. Here it is
//! arithmetic alone, for whoever has one: [`Sarc`] reads over the ordinary cache.
//!
//! Source: B. S. Gill and D. S. Modha, "SARC: Sequential prefetching in adaptive replacement
//! cache", USENIX ATC 2005. The length of tracks, the number of them that makes a run, and by how
//! much the size moves are settings of its machine; the values here are ours.

use crate::kernel::{Class, Host, Read, ReadAhead};

use super::{faults_are_reads, is_absent, start};
use crate::replica::{Key, Replica};

/// The name of its prefetching.
pub const REPLICAS: &[Replica<Sarc>] = &[Replica::new(
    "sarc",
    2005,
    "SARC, ATC 2005: its prefetching, tracks of so many pages",
    &[Key::number("track", 8)],
    |values| Sarc::new(values.number("track")),
)];

/// Tracks prefetched at a time.
pub const DEGREE_TRACKS: u64 = 8;

/// Tracks in a row, the present one included, that make it sequential. Less, and every second
/// track of random data would bring eight more; more, and short runs have no use of it.
pub const SEQUENTIAL_TRACKS: u32 = 2;

/// One open file.
#[derive(Clone, Copy, Debug)]
pub struct Sarc {
    track_pages: u64,
    /// The track read last, and how many in a row up to it.
    track: u64,
    tracks_in_row: u32,
    /// First track behind what was fetched for this run; 0 outside runs.
    fetched_until: u64,
}

impl Sarc {
    /// A file that was not read yet, in tracks of `track_pages`.
    #[must_use]
    pub const fn new(track_pages: u64) -> Self {
        Self {
            track_pages: if track_pages == 0 { 1 } else { track_pages },
            track: 0,
            tracks_in_row: 0,
            fetched_until: 0,
        }
    }

    /// Takes in that a page of `track` is read.
    fn count(&mut self, track: u64) {
        let is_first = self.tracks_in_row == 0;
        if !is_first && track == self.track {
            return;
        }
        if !is_first && track == self.track + 1 {
            self.tracks_in_row = self.tracks_in_row.saturating_add(1);
        } else {
            self.tracks_in_row = 1;
            self.fetched_until = 0;
        }
        self.track = track;
    }

    fn fetch<H: Host>(&self, host: &mut H, track: u64, tracks: u64, class: Class) {
        start(
            host,
            track * self.track_pages,
            tracks * self.track_pages,
            class,
        );
    }
}

impl ReadAhead for Sarc {
    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        let track = page / self.track_pages;
        self.count(track);
        let is_sequential = self.tracks_in_row >= SEQUENTIAL_TRACKS;
        if is_absent(host, page) {
            let wanted = read.end_page().div_ceil(self.track_pages) - track;
            let (more, class) = if is_sequential {
                (DEGREE_TRACKS, Class::Initial)
            } else {
                (0, Class::Random)
            };
            self.fetch(host, track, wanted + more, class);
            self.fetched_until = if is_sequential {
                track + wanted + more
            } else {
                0
            };
        }
        let is_in_group = track < self.fetched_until;
        if is_in_group && track + DEGREE_TRACKS / 2 >= self.fetched_until {
            let first = self.fetched_until;
            self.fetch(host, first, DEGREE_TRACKS, Class::Subsequent);
            self.fetched_until += DEGREE_TRACKS;
        }
    }

    faults_are_reads!();
}

/// One of the two lists of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Sequential tracks.
    Seq,
    /// All others.
    Random,
}

/// How many tracks each list should have. All numbers are tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    cache: u64,
    bottom: u64,
    seq_wanted: u64,
    seq_misses: u64,
}

impl Division {
    /// A cache of `cache` tracks, of which SEQ shall have `seq_wanted` at first; the oldest `bottom`
    /// tracks of RANDOM are watched, a small part of the cache.
    #[must_use]
    pub const fn new(cache: u64, bottom: u64, seq_wanted: u64) -> Self {
        Self {
            cache,
            bottom,
            seq_wanted: if seq_wanted < cache {
                seq_wanted
            } else {
                cache
            },
            seq_misses: 0,
        }
    }

    /// Tracks that SEQ should have; RANDOM should have the rest.
    #[must_use]
    pub const fn seq_wanted(&self) -> u64 {
        self.seq_wanted
    }

    /// A sequential track was missing.
    pub const fn on_sequential_miss(&mut self) {
        self.seq_misses = self.seq_misses.saturating_add(1);
    }

    /// A track was hit in the watched part of RANDOM, while SEQ had `seq` tracks: the size that SEQ
    /// should have moves by one track, towards the list that has more use for it.
    pub fn on_bottom_hit(&mut self, seq: u64) {
        // 2 s / L against 1 / b, without dividing.
        let use_of_seq = u128::from(self.seq_misses) * 2 * u128::from(self.bottom);
        self.seq_wanted = if use_of_seq > u128::from(seq) {
            (self.seq_wanted + 1).min(self.cache)
        } else {
            self.seq_wanted.saturating_sub(1)
        };
        self.seq_misses = 0;
    }

    /// The list that gives up its oldest track when the cache is full and SEQ has `seq` tracks. A
    /// list of the right size counts as too long if the other one is empty.
    #[must_use]
    pub const fn gives_up(&self, seq: u64) -> List {
        if seq > self.seq_wanted || seq >= self.cache {
            List::Seq
        } else {
            List::Random
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Division, List};

    /// 2 × 6 misses × 10 watched tracks are worth more than 100 tracks, 2 × 5 × 10 are not.
    #[test]
    fn sequential_misses_make_seq_larger_and_bottom_hits_alone_make_it_smaller() {
        let mut division = Division::new(1000, 10, 100);
        for _ in 0..6 {
            division.on_sequential_miss();
        }
        division.on_bottom_hit(100);
        assert_eq!(division.seq_wanted(), 101);
        for _ in 0..5 {
            division.on_sequential_miss();
        }
        division.on_bottom_hit(100);
        assert_eq!(division.seq_wanted(), 100);
        division.on_bottom_hit(100);
        assert_eq!(division.seq_wanted(), 99);
    }

    #[test]
    fn the_division_stays_inside_the_cache() {
        let mut division = Division::new(2, 1, 5);
        assert_eq!(division.seq_wanted(), 2);
        division.on_sequential_miss();
        division.on_bottom_hit(1);
        assert_eq!(division.seq_wanted(), 2);
        for _ in 0..5 {
            division.on_bottom_hit(1);
        }
        assert_eq!(division.seq_wanted(), 0);
    }

    #[test]
    fn the_list_that_is_too_long_gives_up_a_track() {
        let division = Division::new(100, 5, 40);
        assert_eq!(division.gives_up(41), List::Seq);
        assert_eq!(division.gives_up(40), List::Random);
        assert_eq!(Division::new(100, 5, 100).gives_up(100), List::Seq);
    }
}
