//! The cache itself: its settings, who hears of it, and where pages, folios and lists are found.

use super::chunk::{CHUNK_ORDER, CHUNK_PAGES, FileId, run_mask, split};
use super::control_group::ControlGroup;
use super::lists::{BLOCK_PAGES, LISTS, Lists};
use super::table::Table;
use crate::kernel::Class;

/// The list of pages accessed at most once, of two lists. With two, the lower bit separates them.
pub(super) const INACTIVE: usize = 0;

/// The list of pages accessed more often.
pub(super) const ACTIVE: usize = 1;

/// Generations from the oldest that count as inactive, as in Linux's `lru_gen_is_active`.
const INACTIVE_GENERATIONS: usize = 2;

/// Who leaves first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replacement {
    /// The inactive and the active list of Linux 2.6.
    #[default]
    TwoList,
    /// Four generations, like the multi-generational LRU of Linux 6.
    Generational,
}

/// What makes the aging clock of adaptive read-ahead tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aging {
    /// A page gets its reference mark, or reclaim examines a page without one. ("Smooth aging",
    /// V14 and V15.)
    #[default]
    FirstReferences,
    /// Reclaim examines an inactive page. (The updates of June 2006, and V16.)
    Scanned,
}

/// What the size of memory is, and so what happens when it is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// The machine's memory: just as much is reclaimed as is needed, and where nothing can leave,
    /// memory is exceeded.
    #[default]
    Machine,
    /// The machine's memory as Linux 6 keeps it: reclaim begins when little is free and frees ahead of
    /// need ([`Watermarks`](super::Watermarks)), and pages that come back soon are active at once. With
    /// two lists only.
    Watermarks,
    /// The limit of a memory control group of Linux 6: reclaim works in batches, and read-ahead ends
    /// at the page for which nothing could leave.
    Group,
}

/// How large the cache is, and how it forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Pages of memory; at least 1.
    pub memory_pages: u64,
    /// Who leaves first.
    pub replacement: Replacement,
    /// What the aging clock counts.
    pub aging: Aging,
    /// Whose size that is.
    pub limit: Limit,
}

/// A page that leaves the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Its file.
    pub file: FileId,
    /// Its number there.
    pub page: u64,
    /// Why it had been brought.
    pub class: Class,
    /// A reader got it at least once.
    pub was_used: bool,
}

/// Hears which pages leave, in the order in which they do.
pub trait CacheObserver {
    /// Reclaim took the page.
    fn on_evicted(&mut self, page: &Evicted) {
        let _ = page;
    }

    /// The page was [forgotten](PageCache::forget) on request.
    fn on_dropped(&mut self, page: &Evicted) {
        let _ = page;
    }
}

/// Hears nothing.
impl CacheObserver for () {}

impl<O: CacheObserver> CacheObserver for &mut O {
    fn on_evicted(&mut self, page: &Evicted) {
        (**self).on_evicted(page);
    }

    fn on_dropped(&mut self, page: &Evicted) {
        (**self).on_dropped(page);
    }
}

/// The cache. See the [module](super).
#[derive(Clone, Debug)]
pub struct PageCache {
    pub(super) settings: CacheSettings,
    pub(super) table: Table,
    pub(super) lists: Lists,
    /// The list of the oldest generation; generations follow each other around the lists.
    pub(super) oldest: usize,
    files: u32,
    pub(super) clock: u64,
    pub(super) resident: u64,
    pub(super) unread: u64,
    pub(super) in_flight: u64,
    /// Not with [`Limit::Machine`].
    pub(super) group: Option<Box<ControlGroup>>,
}

impl PageCache {
    /// An empty cache.
    #[must_use]
    pub fn new(settings: &CacheSettings) -> Self {
        assert!(settings.memory_pages > 0, "a page cache without memory");
        Self {
            settings: *settings,
            table: Table::default(),
            lists: Lists::new(),
            oldest: 0,
            files: 0,
            clock: 0,
            resident: 0,
            unread: 0,
            in_flight: 0,
            group: (settings.limit != Limit::Machine).then(Box::default),
        }
    }

    /// A name for one more file. Files have no size here: the caller cuts windows.
    pub fn add_file(&mut self) -> FileId {
        let file = FileId(self.files);
        self.files += 1;
        file
    }

    pub(super) fn slot(&self, place: u32, bit: u32) -> u32 {
        let block = self.table.blocks[place as usize][(bit / BLOCK_PAGES) as usize];
        block * BLOCK_PAGES + bit % BLOCK_PAGES
    }

    /// Chunk and bit of the folio that `slot` stands for.
    pub(super) fn folio_at(&self, slot: u32) -> (u32, u32) {
        let (owner, place) = self.lists.owner(slot);
        (
            owner / BLOCK_PAGES,
            owner % BLOCK_PAGES * BLOCK_PAGES + place,
        )
    }

    /// Moves a folio to the young end of `list`.
    pub(super) fn move_to(&mut self, place: u32, bit: u32, list: usize) {
        let pages = self.table.chunk(place).folio_pages(bit);
        let slot = self.slot(place, bit);
        self.lists
            .unlink(self.table.chunk(place).list(bit), slot, pages);
        self.table.chunk_mut(place).set_list(bit, list);
        self.lists.push_young(list, slot, pages);
    }

    /// Where a cached page is.
    #[inline]
    pub(super) fn locate(&self, file: FileId, page: u64) -> Option<(u32, u32)> {
        let (number, bit) = split(page);
        let place = self.table.find(file, number)?;
        (self.table.chunk(place).present >> bit & 1 != 0).then_some((place, bit))
    }

    /// Where the folio around a cached page begins.
    pub(super) fn locate_folio(&self, file: FileId, page: u64) -> Option<(u32, u32)> {
        let (place, bit) = self.locate(file, page)?;
        let chunk = self.table.chunk(place);
        if chunk.tail >> bit & 1 == 0 {
            Some((place, bit))
        } else if chunk.span_order == 0 {
            Some((place, chunk.head(bit)))
        } else {
            self.locate(file, page & !((1 << chunk.span_order) - 1))
        }
    }

    /// The chunks that overlap a run, ascending.
    pub(super) fn chunks_of(&self, file: FileId, start: u64, pages: u64) -> Vec<u32> {
        let end = start.saturating_add(pages);
        let numbers = start / CHUNK_PAGES..end.div_ceil(CHUNK_PAGES);
        if self.has_fewer_chunks_than(start, end) {
            let found = self.table.chunks_in(file, numbers.start, numbers.end);
            found.into_iter().map(|(_, place)| place).collect()
        } else {
            numbers
                .filter_map(|number| self.table.find(file, number))
                .collect()
        }
    }

    /// Going through all chunks beats asking for every number between `from` and `end`.
    pub(super) fn has_fewer_chunks_than(&self, from: u64, end: u64) -> bool {
        end.saturating_sub(from) / CHUNK_PAGES > 16 + 2 * self.table.len() as u64
    }

    pub(super) const fn list_of_new(&self, class: Class) -> usize {
        match (self.settings.replacement, class) {
            (Replacement::TwoList, _) => INACTIVE,
            (Replacement::Generational, Class::Around) => (self.oldest + 2) % LISTS,
            (Replacement::Generational, _) => self.oldest,
        }
    }

    pub(super) const fn is_active_list(&self, list: usize) -> bool {
        match self.settings.replacement {
            Replacement::TwoList => list == ACTIVE,
            Replacement::Generational => {
                (list + LISTS - self.oldest) % LISTS >= INACTIVE_GENERATIONS
            }
        }
    }

    /// Whether a page of the folio is in flight.
    pub(super) fn is_locked_folio(&self, place: u32, bit: u32) -> bool {
        let chunk = self.table.chunk(place);
        if chunk.span_order == 0 {
            let mask = run_mask(bit, chunk.folio_pages(bit));
            chunk.locked & mask != 0
        } else {
            (0..1 << (chunk.span_order - CHUNK_ORDER)).any(|more| {
                let other = self.table.find(chunk.file, chunk.number + more);
                other.is_some_and(|place| self.table.chunk(place).locked != 0)
            })
        }
    }
}
