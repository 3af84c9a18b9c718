//! How late accesses to a watched file may be told: at once while they lead to something, and later and later where they do not.
//!
//! To be told of each takes a reader of flash a tenth of its time, and where programs compute on all processors one of them may have
//! that of the reader afterwards, for some milliseconds. Told late, they are told many at once.

use std::time::Duration;

/// Accesses that led to nothing, after which they are told late. Fewer, and a reader with a window to come is heard of
/// late; more, and a reader of a few places is told at once for all of them.
const UNEXPECTED: u32 = 32;

/// Accesses in a row that found what had been requested, after which all are told at once. Fewer, and a reader of random places of
/// a small file, for which something is requested by chance, is told at once for all of them; more, and a scan has to wait.
const SERVED_MIN: u32 = 4;

/// How late, in milliseconds, and how often that is doubled with their number. Less, and each second has many moments in which a
/// busy machine may give the reader's processor to another; more, and a scan of a file that was read at random for an hour
/// is noticed later still.
const PAUSE_MS: u64 = 2;
const PAUSE_DOUBLINGS: u32 = 5;

/// What accesses that were told together have led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// So many led to nothing: nothing was requested because of them, or had been.
    pub in_vain: u32,
    /// So many of the last ones, in a row, found what had been requested.
    pub served: u32,
    /// There were others before those.
    pub is_broken: bool,
    /// Some are those of a scan that is left to the kernel: how fast it is has to be known soon.
    pub is_left: bool,
}

impl Told {
    /// One more access, which `was_served` what had been requested, or has `asked` for something.
    pub const fn add(&mut self, was_served: bool, asked: bool) {
        if was_served {
            self.served += 1;
        } else {
            (self.served, self.is_broken) = (0, true);
            self.in_vain += !asked as u32;
        }
    }
}

/// How late accesses to a file may be told, by what the ones before have led to. At first: at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pause {
    /// Accesses that led to nothing since some in a row did.
    fruitless: u32,
    /// Accesses in a row that found what had been requested, up to [`SERVED_MIN`].
    served: u32,
}

impl Pause {
    /// Zero: at once.
    #[must_use]
    pub fn length(&self) -> Duration {
        match (self.fruitless / UNEXPECTED).checked_ilog2() {
            None => Duration::ZERO,
            Some(doublings) => Duration::from_millis(PAUSE_MS << doublings.min(PAUSE_DOUBLINGS)),
        }
    }

    /// Accesses were told.
    pub fn on_told(&mut self, told: &Told) {
        let row = if told.is_broken { 0 } else { self.served };
        self.served = row.saturating_add(told.served).min(SERVED_MIN);
        let more = self.fruitless.saturating_add(told.in_vain);
        self.fruitless = if self.served >= SERVED_MIN {
            0
        } else if told.is_left {
            UNEXPECTED
        } else {
            more
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_vain(accesses: u32) -> Told {
        Told {
            in_vain: accesses,
            is_broken: true,
            ..Told::default()
        }
    }

    fn served(accesses: u32) -> Told {
        Told {
            served: accesses,
            ..Told::default()
        }
    }

    #[test]
    fn accesses_that_lead_to_nothing_are_told_later_and_later_and_at_once_when_some_in_a_row_did() {
        let mut pause = Pause::default();
        let mut late = |told: &Told| {
            pause.on_told(told);
            pause.length().as_millis()
        };
        assert_eq!(late(&in_vain(UNEXPECTED - 1)), 0);
        assert_eq!(late(&in_vain(1)), 2);
        assert_eq!(late(&in_vain(UNEXPECTED - 1)), 2);
        assert_eq!(late(&in_vain(1)), 4);
        assert_eq!(late(&in_vain(u32::MAX)), 64);
        assert_eq!(late(&in_vain(u32::MAX)), 64);
        let left = Told {
            is_left: true,
            ..in_vain(1)
        };
        assert_eq!(late(&left), 2);
        assert_eq!(late(&served(SERVED_MIN)), 0);
        assert_eq!(late(&in_vain(UNEXPECTED)), 2);
    }

    /// A reader of random places of a small file, where windows are requested and met by chance.
    #[test]
    fn some_that_find_a_window_by_chance_do_not_end_a_pause() {
        let mut pause = Pause::default();
        pause.on_told(&in_vain(UNEXPECTED));
        for _ in 0..100 {
            pause.on_told(&served(SERVED_MIN - 1));
            let mut told = Told::default();
            told.add(false, true);
            pause.on_told(&told);
        }
        assert!(!pause.length().is_zero());
        pause.on_told(&served(SERVED_MIN - 1));
        pause.on_told(&served(1));
        assert!(
            pause.length().is_zero(),
            "a row goes on from one telling to the next"
        );
    }
}
