//! The pages of a file that were read, one by one, or in long files some at a time.

use ahead_units::{PageCount, PageRange};

/// Pages that are known one by one: those of 512 MiB. Of a file that is longer as many parts of equal length are.
const BITS: u64 = 1 << 17;

/// The set. A part of which one page is in it counts as if all were.
#[derive(Debug)]
pub(super) struct PageSet {
    words: [u64; (BITS / 64) as usize],
    /// Pages of a part; 0 before it is that of a file.
    part_pages: u64,
}

/// Pages of a range that are not in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// How many.
    pub(super) pages: PageCount,
    /// Of how many runs: between two of them is one that is.
    pub(super) runs: u64,
}

impl PageSet {
    /// Nothing, of no file.
    pub(super) const EMPTY: Self = Self {
        words: [0; (BITS / 64) as usize],
        part_pages: 0,
    };

    /// It is one of a file of so many pages, of which none is in it.
    pub(super) fn begin(&mut self, file_pages: PageCount) {
        self.part_pages = part_pages(file_pages);
    }

    /// Whether it is cut as that of a file of so many pages is.
    pub(super) fn fits(&self, file_pages: PageCount) -> bool {
        self.part_pages == part_pages(file_pages)
    }

    /// Whether each page is known by itself.
    pub(super) fn is_of_pages(&self) -> bool {
        self.part_pages <= 1
    }

    /// Nothing is in it any more.
    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Puts `pages` in. Those of the parts that were not, which may be more.
    pub(super) fn insert(&mut self, pages: PageRange) -> PageCount {
        let missing = self.count_missing(pages);
        self.change(pages, |word, bits| word | bits);
        missing
    }

    /// Takes `pages` out.
    pub(super) fn remove(&mut self, pages: PageRange) {
        self.change(pages, |word, bits| word & !bits);
    }

    fn change(&mut self, pages: PageRange, changed: impl Fn(u64, u64) -> u64) {
        for (word, bits) in self.words_of(pages) {
            if let Some(word) = self.words.get_mut(word) {
                *word = changed(*word, bits);
            }
        }
    }

    /// Pages of the parts of `pages` that are not in it, which may be more.
    pub(super) fn count_missing(&self, pages: PageRange) -> PageCount {
        self.missing(pages).pages
    }

    /// The same, and how often they begin anew: requests are as many.
    pub(super) fn missing(&self, pages: PageRange) -> Missing {
        let (mut parts, mut runs, mut goes_on) = (0_u64, 0_u64, 0_u64);
        for (word, bits) in self.words_of(pages) {
            let word = self.words.get(word).copied().unwrap_or(u64::MAX);
            let missing = bits & !word;
            parts += u64::from(missing.count_ones());
            runs += u64::from((missing & !(missing << 1 | goes_on)).count_ones());
            goes_on = missing >> 63;
        }
        Missing {
            pages: PageCount::new(parts.saturating_mul(self.part_pages)),
            runs,
        }
    }

    /// The words that have parts of `pages`, and the bits of those.
    fn words_of(&self, pages: PageRange) -> impl Iterator<Item = (usize, u64)> + use<> {
        let part_pages = self.part_pages.max(1);
        let first = pages.start.get() / part_pages;
        let end = pages.end.get().div_ceil(part_pages).min(BITS);
        let end = if pages.is_empty() { first } else { end };
        let words = if first < end {
            first / 64..end.div_ceil(64)
        } else {
            0..0
        };
        words.map(move |word| {
            let from = first.max(word * 64) - word * 64;
            let to = end.min(word * 64 + 64) - word * 64;
            let bits = (u64::MAX >> (64 - (to - from))) << from;
            (usize::try_from(word).unwrap_or(usize::MAX), bits)
        })
    }
}

fn part_pages(file_pages: PageCount) -> u64 {
    file_pages.get().div_ceil(BITS).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(start: u64, end: u64) -> PageRange {
        PageRange::new(start, end)
    }

    #[test]
    fn what_is_in_it_is_counted_once() {
        let mut set = PageSet::EMPTY;
        set.begin(PageCount::new(10_000));
        assert_eq!(set.insert(pages(60, 70)).get(), 10);
        assert_eq!(set.insert(pages(65, 200)).get(), 130);
        assert_eq!(set.count_missing(pages(0, 256)).get(), 60 + 56);
        assert_eq!(set.insert(pages(0, 10_000)).get(), 10_000 - 140);
        assert_eq!(set.insert(pages(9, 10)).get(), 0);
        set.remove(pages(63, 129));
        assert_eq!(set.count_missing(pages(0, 10_000)).get(), 66);
    }

    #[test]
    fn what_is_missing_begins_anew_behind_what_is_not() {
        let mut set = PageSet::EMPTY;
        set.begin(PageCount::new(10_000));
        let runs = |set: &PageSet, start, end| set.missing(pages(start, end)).runs;
        assert_eq!(runs(&set, 3, 300), 1);
        set.insert(pages(64, 65));
        set.insert(pages(127, 129));
        assert_eq!(runs(&set, 3, 300), 3);
        assert_eq!(runs(&set, 64, 129), 1);
        assert_eq!(runs(&set, 127, 129), 0);
        assert_eq!(runs(&set, 0, 64), 1);
    }

    #[test]
    fn nothing_is_no_page() {
        let mut set = PageSet::EMPTY;
        set.begin(PageCount::new(10_000));
        for page in [0, 6, 63, 64, 70, BITS, u64::MAX] {
            assert_eq!(set.insert(pages(page, page)).get(), 0, "{page}");
        }
        assert_eq!(set.count_missing(pages(0, 128)).get(), 128);
    }

    #[test]
    fn of_a_long_file_parts_are_known_and_nothing_beyond_it() {
        let mut set = PageSet::EMPTY;
        set.begin(PageCount::new(BITS * 4));
        assert_eq!(set.insert(pages(6, 7)).get(), 4, "a part for one page");
        assert_eq!(set.insert(pages(4, 8)).get(), 0, "all of that part");
        assert_eq!(set.insert(pages(0, 12)).get(), 8);
        let beyond = pages(BITS * 4, u64::MAX);
        assert_eq!(set.insert(beyond).get(), 0);
        assert!(!set.is_of_pages());
    }
}
