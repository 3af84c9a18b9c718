//! Which touches of a mapped page become faults, and what a fault maps beside its own page.
//!
//! A page that is mapped is touched without the kernel hearing of it, so this decides which faults
//! read-ahead sees. The rules of 6.12 and 6.18, for I/O that is over at once:
//!
//! 1. A fault first maps what is cached around it: the 16 pages of memory around the address,
//!    aligned to 16 pages *of memory*, inside the area, the file, and the 2 MiB of one page table.
//!    Folios with the look-ahead mark are left out, so that somebody comes across them. A large
//!    folio is mapped whole if it lies inside file, area and page table.
//! 2. Every page seen there, mapped before or not, lowers the miss counter by one.
//! 3. If that mapped the page, the fault is over. If not, read-ahead hears of it.
//! 4. Whoever read something, or found a mark, let go of the locks for it and begins again at 1.
//! 5. A page that is not mapped even then (its folio has the mark) is mapped with its whole folio,
//!    if none of that is mapped yet; otherwise alone.
//!
//! A fault for writing to a private area gives the process a copy of its page, and maps nothing
//! else. Who found a mark comes to read-ahead twice, and so lowers the counter twice.
//!
//! A folio of 2 MiB that lies in memory as it does in the file is mapped by one entry; no page is
//! counted.

use std::collections::BTreeSet;
use std::ops::Range;

/// Pages around a fault (`fault_around_bytes`, 64 KiB unless somebody changed it in debugfs).
const AROUND_PAGES: u64 = 16;

/// Pages of one page table.
const TABLE_PAGES: u64 = 512;

/// One folio in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedFolio {
    /// First page.
    pub start: u64,
    /// First page behind.
    pub end: u64,
    /// Has the look-ahead mark.
    pub is_marked: bool,
}

/// A mapped area of the file, and which of its pages are mapped.
#[derive(Clone, Debug)]
pub struct Area {
    /// Pages of the file.
    pub pages: Range<u64>,
    /// Pages of the whole file.
    pub file_pages: u64,
    /// Address of the first page, in pages.
    pub address_pages: u64,
    /// Pages of the file that can be touched without a fault.
    mapped: BTreeSet<u64>,
    /// Of these, the ones that are copies: they hold no page of the cache.
    copied: BTreeSet<u64>,
}

impl Area {
    /// Nothing of it is mapped yet.
    pub fn new(pages: Range<u64>, file_pages: u64, address_pages: u64) -> Self {
        Self {
            pages,
            file_pages,
            address_pages,
            mapped: BTreeSet::new(),
            copied: BTreeSet::new(),
        }
    }

    /// Whether a touch of `page` goes unnoticed.
    pub fn is_mapped(&self, page: u64) -> bool {
        self.mapped.contains(&page)
    }

    /// Whether one of `pages` of the cache is mapped.
    pub fn holds_any(&self, pages: Range<u64>) -> bool {
        self.mapped
            .range(pages)
            .any(|page| !self.copied.contains(page))
    }

    fn maps_any(&self, pages: Range<u64>) -> bool {
        self.mapped.range(pages).next().is_some()
    }

    /// Rules 1 and 2 for a fault on `page`; returns by how much the miss counter falls.
    pub fn map_around(&mut self, page: u64, folio_at: impl Fn(u64) -> Option<CachedFolio>) -> u64 {
        let slot = self.slot(page);
        let low = (slot - slot % AROUND_PAGES).max(slot.saturating_sub(page - self.pages.start));
        let high = (low + AROUND_PAGES)
            .min(TABLE_PAGES)
            .min(slot + (self.pages.end - page));
        let first = page + low - slot;
        let end = (page + high - slot).min(self.file_pages);
        let mut seen = 0;
        let mut next = first;
        let mut is_first = true;
        while next < end {
            let Some(folio) = folio_at(next).filter(|folio| !folio.is_marked) else {
                next = folio_at(next).map_or(next + 1, |folio| folio.end);
                continue;
            };
            let is_huge = folio.end - folio.start == TABLE_PAGES;
            if is_first
                && is_huge
                && self.has_room_for(&folio)
                && !self.maps_any(folio.start..folio.end)
            {
                self.mapped.extend(folio.start..folio.end);
                return 0;
            }
            is_first = false;
            let pages = if folio.end - folio.start > 1 && self.has_room_for(&folio) {
                folio.start..folio.end
            } else {
                next..folio.end.min(end)
            };
            seen += pages.end - pages.start;
            self.mapped.extend(pages);
            next = folio.end;
        }
        seen
    }

    /// Rule 5.
    pub fn map_folio(&mut self, page: u64, folio: &CachedFolio) {
        let whole = folio.start..folio.end;
        if self.has_room_for(folio) && !self.maps_any(whole.clone()) {
            self.mapped.extend(whole);
        } else {
            self.mapped.insert(page);
        }
    }

    /// A fault for writing gave the process its own copy of `page`.
    pub fn map_copy(&mut self, page: u64) {
        self.mapped.insert(page);
        self.copied.insert(page);
    }

    /// Place of `page` in its page table.
    fn slot(&self, page: u64) -> u64 {
        (self.address_pages + page - self.pages.start) % TABLE_PAGES
    }

    /// Whether the folio lies inside the file, the area, and one page table.
    fn has_room_for(&self, folio: &CachedFolio) -> bool {
        folio.end <= self.file_pages
            && folio.start >= self.pages.start
            && folio.end <= self.pages.end
            && self.slot(folio.start) + (folio.end - folio.start) <= TABLE_PAGES
    }
}
