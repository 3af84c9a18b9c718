//! Strays: reads inside the window of a stream, too far ahead of its reader to be its next ones.
//!
//! One is a look at something else, as at an inner page of a tree: the scan goes on where it was.
//! Some in a row, each beginning where the last one ended, are the reader itself, which has left
//! something out.

use super::window::place32;

/// Accesses in a row inside a window, far ahead of its reader, that are the reader itself. Fewer, and
/// a look at the pages of a tree ends its scan; more, and what follows a gap inside the window is
/// late.
const STRAYS_MAX: u8 = 4;

/// The newest strays of a file that follow each other. All zero: none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stray {
    /// Where the next one would begin, in reading order, wrapping.
    next: u32,
    /// The file's access count of the newest.
    tick: u32,
    /// Pages of all of them.
    pages: u32,
    /// How many.
    count: u8,
    /// In whose window.
    place: u8,
}

impl Stray {
    /// A stray from `start` to `end` (exclusive, in reading order) in the window of the stream at
    /// `place`. Returns the pages of all that follow each other once they are the reader itself.
    pub(super) fn on_read(&mut self, place: u8, tick: u32, start: u64, end: u64) -> Option<u64> {
        let follows =
            self.place == place && self.tick.wrapping_add(1) == tick && self.next == place32(start);
        let (pages, count) = if follows {
            (self.pages, self.count)
        } else {
            (0, 0)
        };
        let length = u32::try_from(end.saturating_sub(start)).unwrap_or(u32::MAX);
        *self = Self {
            next: place32(end),
            tick,
            pages: pages.saturating_add(length),
            count: count.saturating_add(1),
            place,
        };
        if self.count < STRAYS_MAX {
            return None;
        }
        self.count = 0;
        Some(u64::from(self.pages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_in_a_row_are_the_reader_and_others_are_not() {
        let mut stray = Stray::default();
        for look in 0..100 {
            assert_eq!(stray.on_read(1, look * 10, 500, 501), None, "now and then");
        }
        for read in 0..3 {
            let start = 900 + u64::from(read) * 4;
            assert_eq!(stray.on_read(1, 2000 + read, start, start + 4), None);
        }
        assert_eq!(stray.on_read(1, 2003, 912, 916), Some(16));
        assert_eq!(stray.on_read(2, 2004, 916, 920), None, "another window");
    }
}
