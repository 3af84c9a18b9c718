//! Sixty-four neighbouring pages of a file: everything known about them, a bit each.
//!
//! A fact about a page is one bit of a word, so a question about a run of pages is one operation.
//! Where a chunk is found is [`table`](super::table)'s business, the order among pages that of
//! [`lists`](super::lists).

use crate::kernel::{Class, PageState};

/// A file in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Pages of a chunk: the bits of a word.
pub(super) const CHUNK_PAGES: u64 = 64;

/// log2 of [`CHUNK_PAGES`]. A folio of a higher order covers whole chunks.
pub(super) const CHUNK_ORDER: u8 = 6;

/// Chunk number of a page, and its bit there.
pub(super) const fn split(page: u64) -> (u64, u32) {
    (page / CHUNK_PAGES, (page % CHUNK_PAGES) as u32)
}

/// Rounds up to the place of the next chunk.
pub(super) const fn next_chunk(page: u64) -> u64 {
    (page | (CHUNK_PAGES - 1)).saturating_add(1)
}

/// The bits of `[first, first + pages)`, `first < 64`; a run that does not end inside the word is
/// cut.
pub(super) const fn run_mask(first: u32, pages: u64) -> u64 {
    let ones = if pages < CHUNK_PAGES {
        (1 << pages) - 1
    } else {
        u64::MAX
    };
    ones << first
}

/// The state of the pages `[number × 64, +64)` of a file. Two cache lines.
///
/// `referenced`, `twice`, `lists` and `marked` belong to a folio and live in the bit of its first
/// page; the others belong to each page. All bits of an absent page are clear.
#[derive(Clone, Debug, Default)]
#[repr(C, align(128))]
pub(super) struct Chunk {
    pub(super) number: u64,
    pub(super) file: FileId,
    /// Order of the folio that covers this chunk and others; 0 if none does.
    pub(super) span_order: u8,
    pub(super) present: u64,
    /// Cannot leave: I/O under way. Together with `stale`: it can be read, and is not on the disk yet.
    pub(super) locked: u64,
    /// I/O dropped, unless locked.
    pub(super) stale: u64,
    /// Delivered to a reader at least once.
    pub(super) used: u64,
    /// The reference mark.
    pub(super) referenced: u64,
    /// Accessed again after the reference mark was set (generational only).
    pub(super) twice: u64,
    /// The list it is on, as two bits.
    pub(super) lists: [u64; 2],
    /// The look-ahead mark.
    pub(super) marked: u64,
    /// Not the first page of its folio.
    pub(super) tail: u64,
    pub(super) classes: [u64; 4],
}

const _: () = assert!(size_of::<Chunk>() == 128);

impl Chunk {
    pub(super) fn state(&self, bit: u32) -> PageState {
        let page = 1 << bit;
        if self.present & page == 0 {
            PageState::Absent
        } else if self.locked & !self.stale & page != 0 {
            PageState::InFlight
        } else if self.stale & !self.locked & page != 0 {
            PageState::Stale
        } else {
            PageState::Valid
        }
    }

    /// Adds absent pages, each a folio of its own until said otherwise.
    pub(super) fn insert(&mut self, pages: u64, class: Class) {
        debug_assert_eq!(self.present & pages, 0, "inserted twice");
        self.present |= pages;
        let class = class as u8;
        for (place, plane) in self.classes.iter_mut().enumerate() {
            if class >> place & 1 != 0 {
                *plane |= pages;
            }
        }
    }

    /// Forgets everything about `pages`.
    pub(super) fn remove(&mut self, pages: u64) {
        let keep = !pages;
        self.present &= keep;
        self.locked &= keep;
        self.stale &= keep;
        self.used &= keep;
        self.referenced &= keep;
        self.twice &= keep;
        self.marked &= keep;
        self.tail &= keep;
        for plane in self.lists.iter_mut().chain(&mut self.classes) {
            *plane &= keep;
        }
        if self.present == 0 {
            self.span_order = 0;
        }
    }

    pub(super) fn class(&self, bit: u32) -> Class {
        let [ones, twos, fours, eights] = self.classes.map(|plane| (plane >> bit & 1) as usize);
        CLASSES[ones | twos << 1 | fours << 2 | eights << 3]
    }

    /// The list of the folio that begins at `bit`.
    pub(super) fn list(&self, bit: u32) -> usize {
        (self.lists[0] >> bit & 1) as usize | ((self.lists[1] >> bit & 1) as usize) << 1
    }

    pub(super) fn set_list(&mut self, bit: u32, list: usize) {
        for (place, plane) in self.lists.iter_mut().enumerate() {
            *plane = *plane & !(1 << bit) | (list as u64 >> place & 1) << bit;
        }
    }

    /// The first page of the folio around the page at `bit`, if the folio lies inside this chunk.
    pub(super) fn head(&self, bit: u32) -> u32 {
        debug_assert_eq!(self.span_order, 0);
        let heads = !self.tail & run_mask(0, u64::from(bit) + 1);
        u64::BITS - 1 - heads.leading_zeros()
    }

    /// Pages of the folio that begins at `bit`.
    pub(super) fn folio_pages(&self, bit: u32) -> u64 {
        if self.span_order > 0 {
            1 << self.span_order
        } else if bit == u64::BITS - 1 {
            1
        } else {
            u64::from((self.tail >> (bit + 1)).trailing_ones()) + 1
        }
    }
}

/// [`Class`] by its number; the rest of the sixteen is never stored.
const CLASSES: [Class; 16] = {
    let mut classes = [Class::Initial; 16];
    let all = [
        Class::Initial,
        Class::Subsequent,
        Class::Context,
        Class::Thrash,
        Class::Around,
        Class::Backward,
        Class::Random,
        Class::Seek,
        Class::Advice,
        Class::Single,
    ];
    let mut next = 0;
    while next < all.len() {
        classes[all[next] as usize] = all[next];
        next += 1;
    }
    classes
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_comes_back_from_its_bits() {
        let mut chunk = Chunk::default();
        for (bit, class) in (0..).zip(CLASSES.into_iter().take(10)) {
            chunk.insert(1 << bit, class);
            assert_eq!(chunk.class(bit), class);
        }
    }

    #[test]
    fn a_run_of_all_bits_is_the_whole_word() {
        assert_eq!(run_mask(0, 64), u64::MAX);
        assert_eq!(run_mask(63, 1), 1 << 63);
        assert_eq!(run_mask(5, 0), 0);
    }

    #[test]
    fn a_folio_ends_where_its_tails_end() {
        let mut chunk = Chunk::default();
        chunk.insert(run_mask(8, 16), Class::Initial);
        chunk.tail = run_mask(9, 3) | run_mask(13, 3);
        assert_eq!((chunk.head(11), chunk.folio_pages(8)), (8, 4));
        assert_eq!((chunk.head(12), chunk.folio_pages(12)), (12, 4));
        assert_eq!((chunk.head(16), chunk.folio_pages(16)), (16, 1));
    }
}
