//! Questions about pages, and marks on them.
//!
//! Runs are `from` and a number of pages; they may reach beyond every file, since pages that no
//! file has are absent. An absent page has no mark, and giving it one does nothing.

use super::cache::{Limit, PageCache};
use super::chunk::{CHUNK_PAGES, Chunk, FileId, next_chunk, run_mask, split};
use super::lists::LISTS;
use crate::kernel::PageState;

impl PageCache {
    /// Whether the page is there, and usable.
    #[inline]
    #[must_use]
    pub fn state(&self, file: FileId, page: u64) -> PageState {
        let (number, bit) = split(page);
        self.table
            .find(file, number)
            .map_or(PageState::Absent, |place| {
                self.table.chunk(place).state(bit)
            })
    }

    /// First page of the folio around `page`, and first page behind it; `(page, page + 1)` if it
    /// is absent or single.
    #[must_use]
    pub fn folio(&self, file: FileId, page: u64) -> (u64, u64) {
        let Some((place, bit)) = self.locate_folio(file, page) else {
            return (page, page.saturating_add(1));
        };
        let chunk = self.table.chunk(place);
        let start = chunk.number * CHUNK_PAGES + u64::from(bit);
        (start, start + chunk.folio_pages(bit))
    }

    /// The first absent page in `[from, from + pages)`.
    #[must_use]
    pub fn first_absent(&self, file: FileId, from: u64, pages: u64) -> Option<u64> {
        let end = from.saturating_add(pages);
        let mut page = from;
        while page < end {
            let (number, bit) = split(page);
            let present = self
                .table
                .find(file, number)
                .map_or(0, |place| self.table.chunk(place).present);
            let absent = !present >> bit;
            if absent != 0 {
                let found = page.saturating_add(u64::from(absent.trailing_zeros()));
                return (found < end).then_some(found);
            }
            page = next_chunk(page);
        }
        None
    }

    /// The first cached page in `[from, from + pages)`.
    #[must_use]
    pub fn first_present(&self, file: FileId, from: u64, pages: u64) -> Option<u64> {
        let end = from.saturating_add(pages);
        let present_in = |place: u32, page: u64| {
            let present = self.table.chunk(place).present >> split(page).1;
            (present != 0).then(|| page + u64::from(present.trailing_zeros()))
        };
        if self.has_fewer_chunks_than(from, end) {
            return self
                .table
                .chunks_in(file, from / CHUNK_PAGES, end.div_ceil(CHUNK_PAGES))
                .into_iter()
                .find_map(|(number, place)| present_in(place, from.max(number * CHUNK_PAGES)))
                .filter(|&found| found < end);
        }
        let mut page = from;
        while page < end {
            if let Some(place) = self.table.find(file, split(page).0)
                && let Some(found) = present_in(place, page)
            {
                return (found < end).then_some(found);
            }
            page = next_chunk(page);
        }
        None
    }

    /// The nearest absent page at or below `from`, looking at no more than `pages` pages and not
    /// below page 0.
    #[must_use]
    pub fn last_absent(&self, file: FileId, from: u64, pages: u64) -> Option<u64> {
        let low = from.saturating_add(1).saturating_sub(pages);
        let mut page = from;
        loop {
            let (number, bit) = split(page);
            let present = self
                .table
                .find(file, number)
                .map_or(0, |place| self.table.chunk(place).present);
            let absent = !present & run_mask(0, u64::from(bit) + 1);
            let first = number * CHUNK_PAGES;
            if absent != 0 {
                let found = first + u64::from(63 - absent.leading_zeros());
                return (found >= low).then_some(found);
            }
            if first <= low {
                return None;
            }
            page = first - 1;
        }
    }

    /// The first run of absent pages in `[from, end)`: its first page, and how many.
    #[must_use]
    pub fn next_absent_run(&self, file: FileId, from: u64, end: u64) -> Option<(u64, u64)> {
        let start = self.first_absent(file, from, end.saturating_sub(from))?;
        let pages = end - start;
        let stop = self.first_present(file, start, pages).unwrap_or(end);
        Some((start, stop - start))
    }

    /// The I/O of these pages is complete. Pages not in flight stay as they are.
    pub fn set_valid(&mut self, file: FileId, start: u64, pages: u64) {
        self.change(file, start, pages, |chunk, mask| chunk.locked &= !mask);
    }

    /// The I/O of these pages was dropped: they stay, unlocked and not up to date. Pages not in
    /// flight stay as they are.
    pub fn set_stale(&mut self, file: FileId, start: u64, pages: u64) {
        self.change(file, start, pages, |chunk, mask| {
            chunk.stale |= chunk.locked & mask;
            chunk.locked &= !mask;
        });
    }

    /// A cached page, whatever its state, has been written to: it can be read and cannot leave.
    pub fn set_dirty(&mut self, file: FileId, page: u64) {
        self.change(file, page, 1, |chunk, mask| {
            let mask = chunk.present & mask;
            chunk.locked |= mask;
            chunk.stale |= mask;
        });
    }

    /// A dirty page is on the disk: it is as if it had been read. Others stay as they are.
    pub fn set_written(&mut self, file: FileId, page: u64) {
        self.change(file, page, 1, |chunk, mask| {
            let mask = chunk.locked & chunk.stale & mask;
            chunk.locked &= !mask;
            chunk.stale &= !mask;
        });
    }

    /// I/O for these cached pages begins (again).
    pub fn set_in_flight(&mut self, file: FileId, start: u64, pages: u64) {
        self.change(file, start, pages, |chunk, mask| {
            let mask = chunk.present & mask;
            chunk.locked |= mask;
            chunk.stale &= !mask;
        });
    }

    fn change(&mut self, file: FileId, start: u64, pages: u64, change: impl Fn(&mut Chunk, u64)) {
        let end = start.saturating_add(pages);
        let mut page = start;
        while page < end {
            let (number, first) = split(page);
            if let Some(place) = self.table.find(file, number) {
                let chunk = self.table.chunk_mut(place);
                let before = u64::from(chunk.locked.count_ones());
                change(chunk, run_mask(first, end - page));
                self.in_flight += u64::from(chunk.locked.count_ones());
                self.in_flight -= before;
            }
            page = next_chunk(page);
        }
    }

    /// Whether the folio around `page` has the look-ahead mark.
    #[inline]
    #[must_use]
    pub fn is_marked(&self, file: FileId, page: u64) -> bool {
        let (number, bit) = split(page);
        self.table.find(file, number).is_some_and(|place| {
            let chunk = self.table.chunk(place);
            if chunk.tail >> bit & 1 == 0 {
                chunk.marked >> bit & 1 != 0
            } else {
                self.has_folio_bit(file, page, |chunk| chunk.marked)
            }
        })
    }

    /// Gives the folio around `page` the look-ahead mark.
    pub fn set_mark(&mut self, file: FileId, page: u64) {
        if let Some((place, bit)) = self.locate_folio(file, page) {
            self.table.chunk_mut(place).marked |= 1 << bit;
        }
    }

    /// Takes the look-ahead mark from the folio around `page`.
    pub fn clear_mark(&mut self, file: FileId, page: u64) {
        if let Some((place, bit)) = self.locate_folio(file, page) {
            self.table.chunk_mut(place).marked &= !(1 << bit);
        }
    }

    /// Whether the page is cached and protected: on the active list, or in the two youngest
    /// generations.
    #[must_use]
    pub fn is_active(&self, file: FileId, page: u64) -> bool {
        self.locate_folio(file, page)
            .is_some_and(|(place, bit)| self.is_active_list(self.table.chunk(place).list(bit)))
    }

    /// Whether the page is cached and has the reference mark.
    #[must_use]
    pub fn is_referenced(&self, file: FileId, page: u64) -> bool {
        self.has_folio_bit(file, page, |chunk| chunk.referenced)
    }

    fn has_folio_bit(&self, file: FileId, page: u64, bits: impl Fn(&Chunk) -> u64) -> bool {
        self.locate_folio(file, page)
            .is_some_and(|(place, bit)| bits(self.table.chunk(place)) >> bit & 1 != 0)
    }

    /// Moves the folio around `page`, if cached, inactive and not in flight, to the young end of
    /// its list.
    pub fn rescue(&mut self, file: FileId, page: u64) {
        if let Some((place, bit)) = self.locate_folio(file, page) {
            let list = self.table.chunk(place).list(bit);
            if !self.is_active_list(list) && !self.is_locked_folio(place, bit) {
                self.move_to(place, bit, list);
            }
        }
    }

    /// Pages that reclaim could give: inactive ones, and free memory.
    #[must_use]
    pub fn reclaimable_pages(&self) -> u64 {
        self.inactive_pages() + self.free_pages()
    }

    /// Pages of memory that hold nothing.
    #[must_use]
    pub fn free_pages(&self) -> u64 {
        let taken = self.resident + self.node_pages();
        self.settings.memory_pages.saturating_sub(taken)
    }

    /// Pages that may enter before something has to leave for them. In a group they take more than themselves: a node to
    /// find each 64 of them.
    #[must_use]
    pub fn pages_that_fit(&self) -> u64 {
        const PAGES_PER_NODE_PAGE: u64 = 448;
        let free = self.free_pages();
        match self.settings.limit {
            Limit::Group => free - free.div_ceil(PAGES_PER_NODE_PAGE),
            _ => free,
        }
    }

    /// Pages that a group needs to find pages.
    fn node_pages(&self) -> u64 {
        let group = self.group.as_ref();
        let group = group.filter(|_| self.settings.limit == Limit::Group);
        group.map_or(0, |group| {
            group.node_pages(self.table.len() as u64, self.resident)
        })
    }

    /// What a group says of its pages is of this moment, until this is called again: Linux does it
    /// every two seconds.
    pub fn count_group(&mut self) {
        let (inactive, active) = (self.inactive_pages(), self.active_pages());
        if let Some(group) = &mut self.group {
            group.count(inactive, active);
        }
    }

    /// Pages not [active](Self::is_active).
    #[must_use]
    pub fn inactive_pages(&self) -> u64 {
        self.resident - self.active_pages()
    }

    /// Pages that are [active](Self::is_active).
    #[must_use]
    pub fn active_pages(&self) -> u64 {
        (0..LISTS)
            .filter(|&list| self.is_active_list(list))
            .map(|list| self.lists.pages(list))
            .sum()
    }

    /// Cached pages, in whatever state.
    #[must_use]
    pub const fn resident_pages(&self) -> u64 {
        self.resident
    }

    /// Cached pages that no reader has got yet.
    #[must_use]
    pub const fn unread_pages(&self) -> u64 {
        self.unread
    }

    /// Cached pages that cannot leave: their I/O is under way, or they are not on the disk yet.
    #[must_use]
    pub const fn in_flight_pages(&self) -> u64 {
        self.in_flight
    }

    /// The clock of adaptive read-ahead; what it counts is [`Aging`](super::Aging)'s choice.
    #[must_use]
    pub const fn aging_clock(&self) -> u64 {
        self.clock
    }

    /// Chunks of 64 pages of which at least one is cached: what the cache costs.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.table.len()
    }
}
