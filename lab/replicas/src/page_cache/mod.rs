//! The page cache: which pages of which files are in memory, in what state, and who leaves first.
//!
//! Memory is a fixed number of pages, all of them for file contents. Pages enter in flight, in the
//! order of their window; the caller says when their I/O is complete, dropped, or repeated. Before
//! pages enter, others leave until they fit; a folio leaves whole, and never while a page of it is
//! in flight. Nothing else removes pages, except [`forget`](PageCache::forget). So the cache is
//! larger than memory only while all of it is in flight.
//!
//! Who leaves is the [`Replacement`]'s choice; [`reclaim`] describes both variants, rule by rule. What
//! an access does is described here:
//!
//! * **Two lists** (2.6): a new page stands on the inactive list, at its young end, without the
//!   reference mark. An access sets the mark; an access to an inactive page that has it moves the
//!   page to the active list and takes the mark away; further ones set it again.
//! * **Generational**: an access is only counted, up to two, since the page came to its generation.
//!   Reclaim looks at the count when the page is the oldest.
//!
//! The **aging clock** is the one of adaptive read-ahead, see [`Aging`].
//!
//! This is a twin of Linux, and differs:
//!
//! * One zone, one memory, no watermarks: reclaim happens at the moment of need, just as much as is
//!   needed, in no process' time. [`Limit::Watermarks`] runs ahead of need as the kernel's does, and the
//!   limit of a memory control group in its batches, see [`Limit`].
//! * A dirty page only stays until it is said to be written: who writes it, and when, is the caller's
//!   affair. Pages are never mapped: the accessed bits of page tables do not exist. Who
//!   simulates a mapping calls [`access`](PageCache::access) when a page is mapped, and again if
//!   hot mapped pages are to stay.
//! * The batches (`pagevec`) that delay list work by up to 14 pages are left out.
//! * Evicted pages leave a shadow with watermarks and in a group only. Whether a page came back is for an observer to
//!   notice.
//!
//! Memory use is proportional to what is cached: pages are kept in chunks of 64, about 170 bytes
//! each, found by a hash, and where a folio begins, eight neighbouring pages share 68 bytes of
//! links. Questions about runs of pages look at 64 at a time.

use crate::kernel::{Class, Window};

mod cache;
mod chunk;
mod control_group;
mod lists;
mod pages;
pub mod reclaim;
mod table;

use cache::ACTIVE;
use chunk::{CHUNK_PAGES, run_mask, split};
use lists::{BLOCK_PAGES, NO_BLOCK};

pub use cache::{Aging, CacheObserver, CacheSettings, Evicted, Limit, PageCache, Replacement};
pub use chunk::FileId;
pub use control_group::GROUP_COUNT_NS;
pub use reclaim::Watermarks;

/// What an access found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageAccess {
    /// No process had got this page since it came.
    pub first_use: bool,
    /// Why it had been brought.
    pub class: Class,
    /// Its I/O was still under way.
    pub was_locked: bool,
}

impl PageCache {
    /// Brings the absent pages of `window` in, in flight, and returns how many there were.
    ///
    /// Others leave before each run of absent pages enters, possibly pages of the same window
    /// further on, which are then brought in as well. With an order, `window` is one folio if it
    /// has just that many pages, begins at a multiple of them, and all are absent; otherwise its
    /// pages come single. The mark is set if its page came in.
    pub fn insert(
        &mut self,
        file: FileId,
        window: &Window,
        observer: &mut impl CacheObserver,
    ) -> u64 {
        self.insert_as(file, window, true, observer)
    }

    /// As [`insert`](Self::insert), for I/O that takes no time: the pages are up to date at once.
    pub fn insert_valid(
        &mut self,
        file: FileId,
        window: &Window,
        observer: &mut impl CacheObserver,
    ) -> u64 {
        self.insert_as(file, window, false, observer)
    }

    fn insert_as(
        &mut self,
        file: FileId,
        window: &Window,
        is_locked: bool,
        observer: &mut impl CacheObserver,
    ) -> u64 {
        let end = window.start.saturating_add(window.pages);
        let mut from = window.start;
        let mut inserted = 0;
        while let Some((start, pages)) = self.next_absent_run(file, from, end) {
            let pages = self.make_room(pages, window, observer);
            if pages == 0 {
                break;
            }
            let is_folio = window.order > 0
                && pages == window.pages
                && window.order < 64
                && pages == 1 << window.order
                && start % pages == 0;
            let order = if is_folio { window.order } else { 0 };
            self.insert_run(file, start, pages, order, is_locked, window.class);
            if let Some(mark) = window.mark
                && (start..start + pages).contains(&mark)
            {
                self.set_mark(file, mark);
            }
            inserted += pages;
            from = start + pages;
        }
        inserted
    }

    fn insert_run(
        &mut self,
        file: FileId,
        start: u64,
        pages: u64,
        order: u8,
        is_locked: bool,
        class: Class,
    ) {
        let is_folio = order > 0;
        let list = self.list_of_new(class);
        let mut page = start;
        while page < start + pages {
            let (number, first) = split(page);
            let mask = run_mask(first, start + pages - page);
            let place = self.table.find_or_add(file, number);
            let chunk = self.table.chunk_mut(place);
            chunk.insert(mask, class);
            if is_locked {
                chunk.locked |= mask;
            }
            if let Some(group) = &mut self.group {
                group.on_chunk(file, number);
            }
            if !is_folio {
                for bit in first..first + mask.count_ones() {
                    let list = self.list_of_page(file, number * CHUNK_PAGES + u64::from(bit), list);
                    self.join(place, bit, list, 1);
                }
            } else if page == start {
                chunk.tail |= mask & (mask - 1);
            } else {
                chunk.tail |= mask;
            }
            if is_folio && pages > CHUNK_PAGES {
                self.table.chunk_mut(place).span_order = order;
            }
            if is_folio && page == start {
                self.join(place, first, list, pages);
            }
            page += u64::from(mask.count_ones());
        }
        self.resident += pages;
        self.unread += pages;
        if is_locked {
            self.in_flight += pages;
        }
    }

    /// The list of a page that comes in by itself: a group, and a machine with watermarks, remembers those that left, see
    /// [`control_group`].
    fn list_of_page(&mut self, file: FileId, page: u64, list: usize) -> usize {
        let group = self.group.as_mut();
        if group.is_some_and(|group| group.on_entered(file, page)) {
            ACTIVE
        } else {
            list
        }
    }

    /// Puts a folio that is on no list at the young end of `list`.
    fn join(&mut self, place: u32, bit: u32, list: usize, pages: u64) {
        self.table.chunk_mut(place).set_list(bit, list);
        let block = &mut self.table.blocks[place as usize][(bit / BLOCK_PAGES) as usize];
        if *block == NO_BLOCK {
            *block = self
                .lists
                .add_block(place * BLOCK_PAGES + bit / BLOCK_PAGES);
        }
        let slot = *block * BLOCK_PAGES + bit % BLOCK_PAGES;
        self.lists.push_young(list, slot, pages);
    }

    /// A reader gets a cached page, and this counts for its age.
    ///
    /// # Panics
    ///
    /// If the page is absent: a reader waits until it is there.
    #[inline]
    pub fn access(&mut self, file: FileId, page: u64) -> PageAccess {
        self.access_after(file, page, None)
    }

    /// A reader gets a cached page, after it got `previous` of the same file. If both are in one
    /// folio, this does not count for its age: the many small reads that a folio answers are one
    /// access to it.
    ///
    /// # Panics
    ///
    /// If the page is absent.
    #[inline]
    pub fn access_after(&mut self, file: FileId, page: u64, previous: Option<u64>) -> PageAccess {
        self.access_if_cached(file, page, previous)
            .expect("access to an absent page")
    }

    /// As [`access_after`](Self::access_after); `None` if the page is absent.
    // Always inlined: nearly every access ends in a few bit tests, and most callers do not look at
    // all that is answered.
    #[inline(always)]
    pub fn access_if_cached(
        &mut self,
        file: FileId,
        page: u64,
        previous: Option<u64>,
    ) -> Option<PageAccess> {
        let (place, bit) = self.locate(file, page)?;
        let mask = 1 << bit;
        let chunk = self.table.chunk_mut(place);
        let access = PageAccess {
            first_use: chunk.used & mask == 0,
            class: chunk.class(bit),
            was_locked: chunk.locked & !chunk.stale & mask != 0,
        };
        self.unread -= u64::from(access.first_use);
        chunk.used |= mask;
        if chunk.tail != 0 {
            self.access_folio(file, page, previous);
        } else if previous != Some(page) {
            self.mark_accessed(place, bit);
        }
        Some(access)
    }

    #[inline(never)]
    fn access_folio(&mut self, file: FileId, page: u64, previous: Option<u64>) {
        let (start, end) = self.folio(file, page);
        if previous.is_none_or(|previous| !(start..end).contains(&previous))
            && let Some((place, bit)) = self.locate(file, start)
        {
            self.mark_accessed(place, bit);
        }
    }

    /// `mark_page_accessed` for the folio that begins at `bit`.
    #[inline]
    fn mark_accessed(&mut self, place: u32, bit: u32) {
        let mask = 1 << bit;
        let chunk = self.table.chunk_mut(place);
        if chunk.referenced & mask == 0 {
            chunk.referenced |= mask;
            self.clock += u64::from(self.settings.aging == Aging::FirstReferences);
        } else if self.settings.replacement == Replacement::Generational {
            chunk.twice |= mask;
        } else if chunk.lists[0] & mask == 0 {
            self.activate(place, bit);
        }
    }

    #[inline(never)]
    fn activate(&mut self, place: u32, bit: u32) {
        self.table.chunk_mut(place).referenced &= !(1 << bit);
        self.move_to(place, bit, ACTIVE);
        if let Some(group) = &mut self.group {
            group.on_activated();
        }
    }
}
