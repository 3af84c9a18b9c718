//! The sections of a file, and sets of them.

use core::ops::Range;

use ahead_units::{PageCount, PageRange};

/// Smallest section: 256 KiB, as the smallest request of a stream. Smaller, and a file is filled in by requests that cost more than they
/// transfer; larger, and the first of them is earned late.
const SECTION_PAGES_MIN: u64 = 64;

/// Sections of a file, at most: of a longer one they are larger. Fewer, and the first section of a long file is earned late; more are memory.
const SECTIONS_MAX: u64 = 4096;

const WORDS: usize = (SECTIONS_MAX / 64) as usize;

/// How a file is cut. All zero: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    file_pages: u64,
    section_pages: u64,
}

impl Cut {
    /// No file.
    pub(super) const NONE: Self = Self {
        file_pages: 0,
        section_pages: 0,
    };

    /// That of a file of so many pages.
    pub(super) fn of(file_pages: PageCount) -> Self {
        let pages = file_pages.get().div_ceil(SECTIONS_MAX);
        Self {
            file_pages: file_pages.get(),
            section_pages: pages.next_power_of_two().max(SECTION_PAGES_MIN),
        }
    }

    /// Pages of the file.
    pub(super) fn file_pages(self) -> PageCount {
        PageCount::new(self.file_pages)
    }

    /// Pages of a section.
    pub(super) fn section(self) -> PageCount {
        PageCount::new(self.section_pages)
    }

    /// How many there are; the last one may be shorter.
    pub(super) fn count(self) -> u64 {
        self.file_pages.div_ceil(self.section_pages.max(1))
    }

    /// Those that `pages` are in.
    pub(super) fn sections(self, pages: PageRange) -> Range<u64> {
        let of = self.section_pages.max(1);
        pages.start.get() / of..pages.end.get().div_ceil(of)
    }

    /// The part of the file that is in these.
    pub(super) fn pages(self, sections: &Range<u64>) -> PageRange {
        let end = (sections.end.saturating_mul(self.section_pages)).min(self.file_pages);
        let start = sections.start.saturating_mul(self.section_pages).min(end);
        PageRange::new(start, end)
    }
}

/// Some of the sections of a file: one bit for each. Half a kilobyte, which is never copied: readers have small stacks.
#[derive(Debug)]
pub(super) struct Sections([u64; WORDS]);

impl Sections {
    /// None.
    pub(super) const NONE: Self = Self([0; WORDS]);

    /// Whether it is one of them.
    pub(super) fn has(&self, section: u64) -> bool {
        let word = word_of(section).and_then(|word| self.0.get(word));
        word.is_some_and(|word| word & bit_of(section) != 0)
    }

    /// Makes it one of them, if there is such a section.
    pub(super) fn insert(&mut self, section: u64) {
        if let Some(word) = word_of(section).and_then(|word| self.0.get_mut(word)) {
            *word |= bit_of(section);
        }
    }

    /// It is none of them any more.
    pub(super) fn remove(&mut self, section: u64) {
        if let Some(word) = word_of(section).and_then(|word| self.0.get_mut(word)) {
            *word &= !bit_of(section);
        }
    }

    /// None of them any more.
    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// These too, which are then those of `next`, which are none any more.
    pub(super) fn take_in(&mut self, others: &mut Self, next: &mut Self) {
        let words = self.0.iter_mut().zip(&mut others.0).zip(&mut next.0);
        for ((word, other), next) in words {
            *word |= core::mem::replace(other, core::mem::take(next));
        }
    }
}

fn word_of(section: u64) -> Option<usize> {
    usize::try_from(section / 64).ok()
}

fn bit_of(section: u64) -> u64 {
    1 << (section % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_256_kib_or_as_long_as_4096_of_them_have_to_be() {
        let of = |pages: u64| {
            let cut = Cut::of(PageCount::new(pages));
            (cut.section().get(), cut.count())
        };
        assert_eq!(of(1), (64, 1));
        assert_eq!(of(65), (64, 2));
        assert_eq!(of(64 * 4096), (64, 4096));
        assert_eq!(of(64 * 4096 + 1), (128, 2049));
        assert!(of(u64::from(u32::MAX)).1 <= SECTIONS_MAX);
        assert_eq!(Cut::NONE.count(), 0);
    }

    #[test]
    fn the_last_section_ends_with_the_file_and_there_are_none_behind_it() {
        let cut = Cut::of(PageCount::new(100));
        assert_eq!(cut.sections(PageRange::new(60, 70)), 0..2);
        assert_eq!(cut.pages(&(1..2)), PageRange::new(64, 100));
        assert!(cut.pages(&(2..9)).is_empty());
        let mut some = Sections::NONE;
        for section in [0, 63, 64, 4095, 4096, u64::MAX] {
            some.insert(section);
        }
        let has = [0, 1, 63, 64, 4095, 4096, u64::MAX].map(|section| some.has(section));
        assert_eq!(has, [true, false, true, true, true, false, false]);
        some.remove(64);
        assert!(!some.has(64) && some.has(63));
    }
}
