//! Whether the streams of a file end where they are left.
//!
//! A read elsewhere comes between two reads of a scan with lookups, and behind the last one of a piece. Which it was shows the next read that a
//! stream asks for: it goes on where the one before was left, or somewhere else.

use ahead_units::PageRange;

use crate::tally::Tally;

/// Pages by which a stream that goes on may be off.
const NEAR_PAGES: u64 = 2;

/// What was read before a read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadBefore {
    /// The newest one.
    pages: PageRange,
    /// Pages of all, counted from anywhere.
    all_pages: u64,
}

impl ReadBefore {
    /// `newest` was counted last, into this account.
    pub(super) fn counted(newest: PageRange, all: &Tally) -> Self {
        Self {
            pages: newest,
            all_pages: all.pages,
        }
    }
}

/// Whether streams of a file end where a read elsewhere comes between: one that is read beside lookups goes on. All zero: not, as far as is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StreamEnds {
    /// A stream asked for the newest read that was looked at.
    in_stream: bool,
    /// One was left, and none was read since.
    is_left: bool,
    /// The newest one that was left did not go on.
    are_ending: bool,
    /// Where it was left, and how much was read by then.
    left_at: u64,
    all_pages: u64,
}

impl StreamEnds {
    /// `access` is read, which a stream has asked for, or not. Whether one has ended with the read before.
    pub(super) fn on_read(
        &mut self,
        access: PageRange,
        in_stream: bool,
        before: ReadBefore,
    ) -> bool {
        let was_in_stream = core::mem::replace(&mut self.in_stream, in_stream);
        if in_stream {
            if core::mem::take(&mut self.is_left) {
                let way = access.start.get().wrapping_sub(self.left_at);
                let read = before.all_pages.wrapping_sub(self.all_pages);
                self.are_ending =
                    way.wrapping_add(NEAR_PAGES) > read.saturating_add(2 * NEAR_PAGES);
            }
            return false;
        }
        if was_in_stream {
            self.is_left = true;
            (self.left_at, self.all_pages) = (before.pages.end.get(), before.all_pages);
        }
        was_in_stream && self.are_ending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads one after the other: their first pages, and whether a stream has asked for them. Each is of one page. With which of them a stream has
    /// ended.
    fn ended(reads: impl IntoIterator<Item = (u64, bool)>) -> Vec<usize> {
        let (mut ends, mut newest) = (StreamEnds::default(), PageRange::default());
        let ended = reads.into_iter().enumerate().filter(|(number, read)| {
            let (start, in_stream) = *read;
            let access = PageRange::new(start, start + 1);
            let before = ReadBefore {
                pages: core::mem::replace(&mut newest, access),
                all_pages: *number as u64,
            };
            ends.on_read(access, in_stream, before)
        });
        ended.map(|(number, _)| number).collect()
    }

    /// Patterns `mixed` of the bench: over the kernel a volume took 1.04 of the time for what was spent at its lookups.
    #[test]
    fn a_stream_that_is_read_beside_lookups_does_not_end() {
        let reads =
            (0..100).flat_map(|page| [(page, page % 4 > 0), (5000 + page * 37 % 91, false)]);
        assert_eq!(ended(reads), []);
    }

    #[test]
    fn pieces_that_are_read_elsewhere_end_from_the_second_one_on() {
        let reads = (0..5).flat_map(|piece| {
            let start = piece * 7 % 5 * 100;
            (0..4).map(move |page| (start + page, page > 0))
        });
        assert_eq!(ended(reads), [8, 12, 16]);
    }

    #[test]
    fn a_stream_of_which_steps_are_not_seen_goes_on() {
        let mut ends = StreamEnds::default();
        let read = |page: u64| PageRange::new(page, page + 1);
        let before = |pages, all_pages| ReadBefore { pages, all_pages };
        for lookup in 1..10 {
            let scanned = lookup * 100;
            assert!(!ends.on_read(read(scanned - 50), true, before(read(0), scanned - 50)));
            assert!(!ends.on_read(read(9000), false, before(read(scanned - 1), scanned)));
        }
    }
}
