//! Making space: which pages leave.
//!
//! While memory does not hold what is about to enter, the folio at the old end of the list is
//! examined:
//!
//! **Two lists.**
//! 1. Fewer inactive than active pages: up to 32 folios move from the old end of the active list
//!    to the young end of the inactive one, keeping their reference mark, until the balance is
//!    right. So a page that was active is active again at its next access.
//! 2. The oldest inactive folio is examined. In flight: it goes to the young end. Otherwise it
//!    leaves, reference mark or not: a page of a file that is not mapped is worth keeping only if
//!    it was accessed twice, and then it is active.
//! 3. A whole turn of the inactive list found everything in flight: the active list follows it.
//!
//! Linux 2.6.11 scans the active list in proportion to its size instead of (1); the rule here is
//! the one of 2.6.28, `inactive_file_is_low`, which protects active pages longer.
//!
//! **Generations.** There are always four. A page enters the oldest one; a page brought in by a
//! fault enters the second youngest, as mapped pages do.
//! 1. The oldest generation is empty: the next one is the oldest, and a new youngest begins.
//! 2. The oldest folio of the oldest generation is examined. In flight: it goes to the young end.
//!    Accessed at least twice since it came to the generation: it moves to the next one, and its
//!    accesses are forgotten. Otherwise it leaves.
//! 3. A whole turn of the oldest generation found everything in flight: it joins the next one.
//!
//! Linux has two to four generations, ages them by walking page tables, and decides how many
//! accesses protect a page by comparing how often pages with more and with fewer come back.
//!
//! When nothing is left but pages in flight, memory is exceeded.
//!
//! **Watermarks** ([`Limit::Watermarks`], `kswapd`, `workingset_refault`). When less than the low mark would
//! be free, pages leave as above until the high mark is free, at once and in no process' time: kswapd is
//! never late here. A page that comes back is active if no more pages have left since it did than are
//! active now.
//!
//! **The limit of a group** ([`Limit::Group`], `try_charge_memcg` and `shrink_lruvec` of Linux 6.12, two
//! lists). Pages are charged one by one, so that a window enters until memory is full. Then:
//! 1. A part of the inactive list is examined from its old end: a 4096th of it, then twice as much
//!    each time, until 32 folios have left or a whole list was examined. What is in flight goes to
//!    the young end. The active list gives up the same share of its own if it was the longer one
//!    when pages were last counted, if pages have become active since, or if nothing left otherwise.
//! 2. Some left: the window goes on. None left: it ends here, as read-ahead is an allocation that may
//!    fail. Only the page that a reader needs by itself comes in all the same. Where everything is in
//!    flight nothing is examined: the kernel turns its lists in vain there, over and over.
//!
//! The aging clock ticks for each page of each folio examined, or of each without reference mark.

use super::cache::{
    ACTIVE, Aging, CacheObserver, Evicted, INACTIVE, Limit, PageCache, Replacement,
};
use super::chunk::{CHUNK_PAGES, FileId, run_mask};
use super::lists::{BLOCK_PAGES, LISTS, NO_BLOCK};
use crate::kernel::{Class, Window};

/// Folios moved from the active list before each look at the inactive one: Linux's
/// `SWAP_CLUSTER_MAX`. With fewer, a sudden surplus of active pages stays protected for longer;
/// with more, pages lose their place on the active list before there is need.
const REFILL_FOLIOS: u64 = 32;

/// Folios that reclaim for a group wants, and examines before it looks whether it has them: the same
/// `SWAP_CLUSTER_MAX`.
const BATCH_FOLIOS: u64 = 32;

/// Where reclaim for a group starts: it examines `1 / 2^12` of a list. Linux's `DEF_PRIORITY`.
const FIRST_PRIORITY: u32 = 12;

/// How many pages a machine keeps free: `min_free_kbytes` of Linux and what follows from it, of one zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// With less free, `kswapd` begins.
    pub low_pages: u64,
    /// With so many free, it ends.
    pub high_pages: u64,
}

impl Watermarks {
    /// Those of a machine with `memory_pages`: the minimum is the root of 16 times its KiB, from 128 KiB to
    /// 256 MiB (`calculate_min_free_kbytes`); low and high lie a quarter of that, or a thousandth of
    /// memory, above each other (`__setup_per_zone_wmarks`).
    #[must_use]
    pub fn of(memory_pages: u64) -> Self {
        let kib = memory_pages.saturating_mul(4);
        let least = kib.saturating_mul(16).isqrt().clamp(128, 262_144) / 4;
        let step = (least / 4).max(memory_pages / 1000);
        Self {
            low_pages: least + step,
            high_pages: least + 2 * step,
        }
    }
}

/// What became of a folio that was examined.
enum Examined {
    Left,
    /// Moved up: it has been used, but may be examined again.
    Promoted,
    /// In flight.
    Kept,
}

impl PageCache {
    /// Evicts until `pages` more pages of `window` fit into memory, or all is in flight; how many of
    /// them may enter now.
    #[inline]
    pub(super) fn make_room(
        &mut self,
        pages: u64,
        window: &Window,
        observer: &mut impl CacheObserver,
    ) -> u64 {
        if self.settings.limit == Limit::Group {
            return self.charge(pages, window, observer);
        }
        if self.settings.limit == Limit::Watermarks {
            let marks = Watermarks::of(self.settings.memory_pages);
            let needed = self.resident.saturating_add(pages);
            if needed + marks.low_pages > self.settings.memory_pages {
                self.reclaim(pages + marks.high_pages, observer);
                self.count_group();
            }
        } else if self.resident.saturating_add(pages) > self.settings.memory_pages {
            self.reclaim(pages, observer);
        }
        pages
    }

    /// How many of `pages` a group takes, one by one; a folio enters whole.
    fn charge(&mut self, pages: u64, window: &Window, observer: &mut impl CacheObserver) -> u64 {
        let at_once = if window.order > 0 { pages } else { 1 };
        while self.free_pages() < at_once
            && self.in_flight < self.resident
            && self.shrink(observer) > 0
        {}
        let free = self.free_pages();
        if free >= at_once {
            pages.min(free)
        } else if window.class == Class::Single {
            pages
        } else {
            0
        }
    }

    /// One reclaim for a group: how many folios left.
    fn shrink(&mut self, observer: &mut impl CacheObserver) -> u64 {
        let mut may_deactivate = false;
        if let Some(group) = &mut self.group {
            let counts = group.counts;
            may_deactivate =
                counts.activations != group.reclaim_saw || counts.inactive < counts.active;
            group.reclaim_saw = counts.activations;
        }
        let left = self.shrink_lists(may_deactivate, observer);
        if left == 0 && !may_deactivate {
            self.shrink_lists(true, observer)
        } else {
            left
        }
    }

    fn shrink_lists(&mut self, may_deactivate: bool, observer: &mut impl CacheObserver) -> u64 {
        let mut left = 0;
        for priority in (0..=FIRST_PRIORITY).rev() {
            let mut inactive = self.lists.pages(INACTIVE) >> priority;
            let mut active = if may_deactivate {
                self.lists.pages(ACTIVE) >> priority
            } else {
                0
            };
            let mut left_now = 0;
            while inactive + active > 0 && left_now < BATCH_FOLIOS {
                let batch = inactive.min(BATCH_FOLIOS);
                inactive -= batch;
                for _ in 0..batch.min(self.lists.folios(INACTIVE)) {
                    let examined = self.examine_oldest(INACTIVE, observer);
                    left_now += u64::from(matches!(examined, Examined::Left));
                }
                let batch = active.min(BATCH_FOLIOS);
                active -= batch;
                self.refill(batch, true);
            }
            left += left_now;
            if left >= BATCH_FOLIOS {
                break;
            }
        }
        left
    }

    fn reclaim(&mut self, pages: u64, observer: &mut impl CacheObserver) {
        // Folios in a row that could not leave, and lists added because of that.
        let mut kept = 0;
        let mut turns = 0;
        while self.resident.saturating_add(pages) > self.settings.memory_pages
            && self.in_flight < self.resident
        {
            let list = match self.settings.replacement {
                Replacement::TwoList => {
                    if self.refill(REFILL_FOLIOS, false) {
                        kept = 0;
                    }
                    INACTIVE
                }
                Replacement::Generational => {
                    while self.lists.folios(self.oldest) == 0 {
                        self.oldest = (self.oldest + 1) % LISTS;
                    }
                    self.oldest
                }
            };
            if kept >= self.lists.folios(list) {
                // Twice around the generations: a folio may move up once before it may leave.
                let has_more = match self.settings.replacement {
                    Replacement::TwoList => self.refill(u64::MAX, true),
                    Replacement::Generational => self.join_generations(),
                };
                turns += 1;
                kept = 0;
                if !has_more || turns > 2 * LISTS {
                    return;
                }
                continue;
            }
            match self.examine_oldest(list, observer) {
                Examined::Left | Examined::Promoted => {}
                Examined::Kept => kept += 1,
            }
        }
    }

    /// Moves up to `folios` folios from the active to the inactive list, all or until the balance
    /// is right; whether it moved any.
    fn refill(&mut self, folios: u64, all: bool) -> bool {
        let mut moved = 0;
        while moved < folios
            && (all || self.lists.pages(INACTIVE) < self.lists.pages(ACTIVE))
            && let Some(slot) = self.lists.oldest(ACTIVE)
        {
            let (place, bit) = self.folio_at(slot);
            self.move_to(place, bit, INACTIVE);
            moved += 1;
        }
        moved > 0
    }

    /// The oldest generation, all of it in flight, joins the next one, and a new youngest begins.
    fn join_generations(&mut self) -> bool {
        let next = (self.oldest + 1) % LISTS;
        while let Some(slot) = self.lists.oldest(self.oldest) {
            let (place, bit) = self.folio_at(slot);
            self.move_to(place, bit, next);
        }
        self.oldest = next;
        true
    }

    fn examine_oldest(&mut self, list: usize, observer: &mut impl CacheObserver) -> Examined {
        let slot = self.lists.oldest(list).expect("the list has folios");
        let (place, bit) = self.folio_at(slot);
        let chunk = self.table.chunk(place);
        let is_referenced = chunk.referenced >> bit & 1 != 0;
        let is_frequent = chunk.twice >> bit & 1 != 0;
        if self.settings.aging == Aging::Scanned || !is_referenced {
            self.clock += chunk.folio_pages(bit);
        }
        if self.is_locked_folio(place, bit) {
            self.move_to(place, bit, list);
            Examined::Kept
        } else if is_frequent {
            let chunk = self.table.chunk_mut(place);
            chunk.referenced &= !(1 << bit);
            chunk.twice &= !(1 << bit);
            self.move_to(place, bit, (list + 1) % LISTS);
            Examined::Promoted
        } else {
            let mut group = self.group.take();
            self.remove_folio(place, bit, |page| {
                if let Some(group) = &mut group {
                    group.on_left(page.file, page.page);
                }
                observer.on_evicted(page);
            });
            self.group = group;
            Examined::Left
        }
    }

    /// Takes a folio out of the cache, page by page.
    fn remove_folio(&mut self, place: u32, bit: u32, mut report: impl FnMut(&Evicted)) {
        let chunk = self.table.chunk(place);
        let (file, number) = (chunk.file, chunk.number);
        let pages = chunk.folio_pages(bit);
        let slot = self.slot(place, bit);
        self.lists.unlink(chunk.list(bit), slot, pages);
        if pages > CHUNK_PAGES {
            for number in number..number + pages / CHUNK_PAGES {
                let place = self.table.find(file, number);
                let place = place.expect("a folio is cached whole");
                self.remove_pages(place, u64::MAX, &mut report);
            }
        } else {
            self.remove_pages(place, run_mask(bit, pages), &mut report);
        }
    }

    fn remove_pages(&mut self, place: u32, mask: u64, report: &mut impl FnMut(&Evicted)) {
        let chunk = self.table.chunk_mut(place);
        let mut left = mask;
        while left != 0 {
            let bit = left.trailing_zeros();
            report(&Evicted {
                file: chunk.file,
                page: chunk.number * CHUNK_PAGES + u64::from(bit),
                class: chunk.class(bit),
                was_used: chunk.used >> bit & 1 != 0,
            });
            left &= left - 1;
        }
        self.resident -= u64::from(mask.count_ones());
        self.unread -= u64::from((mask & !chunk.used).count_ones());
        chunk.remove(mask);
        let heads = chunk.present & !chunk.tail;
        let is_empty = chunk.present == 0;
        let first = mask.trailing_zeros() / BLOCK_PAGES;
        let last = (u64::BITS - 1 - mask.leading_zeros()) / BLOCK_PAGES;
        for number in first..=last {
            let block = &mut self.table.blocks[place as usize][number as usize];
            if *block != NO_BLOCK
                && heads & run_mask(number * BLOCK_PAGES, u64::from(BLOCK_PAGES)) == 0
            {
                self.lists.remove_block(*block);
                *block = NO_BLOCK;
            }
        }
        if is_empty {
            self.table.remove(place);
        }
    }

    /// Drops the folios that lie wholly inside `[start, start + pages)` and are not in flight, as
    /// `POSIX_FADV_DONTNEED` and dropping caches do.
    pub fn forget(
        &mut self,
        file: FileId,
        start: u64,
        pages: u64,
        observer: &mut impl CacheObserver,
    ) {
        let end = start.saturating_add(pages);
        for place in self.chunks_of(file, start, pages) {
            let chunk = self.table.chunk(place);
            // A folio that reaches further back has no head here, so it is left; the chunks of one
            // that was dropped whole are gone.
            let mut heads = chunk.present & !chunk.tail;
            let number = chunk.number;
            while heads != 0 {
                let bit = heads.trailing_zeros();
                heads &= heads - 1;
                let head = number * CHUNK_PAGES + u64::from(bit);
                let pages = self.table.chunk(place).folio_pages(bit);
                if head >= start && head + pages <= end && !self.is_locked_folio(place, bit) {
                    self.remove_folio(place, bit, |page| observer.on_dropped(page));
                }
            }
        }
    }
}
