//! Whether pages were in memory before they were asked for, where the kernel does not say: by the sectors that the asking thread had
//! read meanwhile.
//!
//! A call that had sectors read has brought pages. One that had none found all in memory, but only where reads are counted for
//! the thread that asks: a server may do them (FUSE, also over a block device), and a kernel may count none (it was
//! built without accounts of tasks). So no sectors say something of a device once sectors of it were seen to be counted.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::adviser::Answer;

/// What is known of the sectors of one device. All zero: nothing.
#[derive(Debug, Default)]
pub struct CountedReads {
    were_seen: AtomicBool,
}

impl CountedReads {
    /// Of a device of which nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            were_seen: AtomicBool::new(false),
        }
    }

    /// Makes `call` and says what came of it. `call` answers [`Answer::Unknown`] where it was made. `is_of_server` is asked before
    /// sectors are believed for the first time: those may be of something else then, such as memory of the process that was swapped out.
    pub fn ask(
        &self,
        sectors_read: impl Fn() -> u64,
        is_of_server: impl FnOnce() -> bool,
        call: impl FnOnce() -> Answer,
    ) -> Answer {
        let before = sectors_read();
        let answer = call();
        if answer != Answer::Unknown {
            return answer;
        }
        let were_read = sectors_read() > before;
        if were_read && !self.were_seen.load(Relaxed) && !is_of_server() {
            self.were_seen.store(true, Relaxed);
        }
        match self.were_seen.load(Relaxed) {
            false => Answer::Unknown,
            true if were_read => Answer::OnItsWay,
            true => Answer::WasCached,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn answers(moves: &[u64], is_of_server: bool) -> Vec<Answer> {
        let (reads, sectors) = (CountedReads::default(), Cell::new(100));
        let ask = |more: &u64| {
            let call = || {
                sectors.set(sectors.get() + more);
                Answer::Unknown
            };
            reads.ask(|| sectors.get(), || is_of_server, call)
        };
        moves.iter().map(ask).collect()
    }

    /// A volume of ntfs-3g, and any on a kernel that counts nothing, seemed to be in memory as a whole.
    #[test]
    fn no_sectors_say_nothing_before_any_were_counted() {
        use Answer::{OnItsWay, Unknown, WasCached};
        assert_eq!(answers(&[0, 0, 0], false), [Unknown; 3]);
        let counted = answers(&[0, 8, 0, 8], false);
        assert_eq!(counted, [Unknown, OnItsWay, WasCached, OnItsWay]);
        assert_eq!(answers(&[0, 8, 0], true), [Unknown; 3], "of something else");
    }

    #[test]
    fn a_call_that_was_not_made_says_nothing_of_the_device() {
        let reads = CountedReads::default();
        let sectors = Cell::new(0);
        let sectors_read = || sectors.replace(sectors.get() + 1);
        let answer = reads.ask(sectors_read, || false, || Answer::Refused);
        assert_eq!(answer, Answer::Refused);
        let next = reads.ask(|| 1, || false, || Answer::Unknown);
        assert_eq!(next, Answer::Unknown);
    }
}
