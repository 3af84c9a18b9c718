//! Whether the kernel's window pays where a mapping is read: for hosts that see page faults and can take it away.
//!
//! A fault that misses brings the kernel's window around it. Where the next faults lie in such windows, that is what
//! makes a mapping fast; where they lie anywhere, each costs a window for a page. Which it is can be told from the
//! places of the faults alone, with the window and without: a fault is *near* if one of the last sixteen faults was
//! less than a window away. Far steps that are even are far: what is requested of a stride needs no window around it.

use ahead_units::PageRange;

/// Faults that are remembered, and that a judgement is over. Fewer, and a few faults decide; more, and a reader that
/// turns to another pattern pays for it longer.
const RECENT: usize = 16;

/// A window around a fault, 128 KiB: what the kernel has where nothing was set.
const WINDOW_PAGES: u64 = 32;

/// Near faults of [`RECENT`] with which the window is worth its price, and with which it is not. A window costs a disk
/// with an arm about a seventh more than a page does, and flash two to four times as much; in between nothing is
/// changed, so that chance does not turn it on and off.
const NEAR_MIN: u32 = 4;
const NEAR_FEW: u32 = 1;

/// What the window of a mapping should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappedNeed {
    /// Too few faults to say, or in between: as it is.
    AsItIs,
    /// The device's window.
    Window,
    /// None: a page for each fault.
    NoWindow,
}

/// The newest faults of one file.
#[derive(Clone, Copy, Debug, Default)]
pub struct MappedWindow {
    pages: [u64; RECENT],
    /// Faults so far, as far as they are counted.
    faults: u8,
    /// One bit for each of the last faults: whether it was near.
    near: u16,
}

impl MappedWindow {
    /// A fault at `touched`.
    pub fn on_fault(&mut self, touched: PageRange) -> MappedNeed {
        let known = usize::from(self.faults).min(RECENT);
        let is_near = |page: &u64| {
            let (start, end) = (touched.start.get(), touched.end.get());
            *page < end.saturating_add(WINDOW_PAGES) && start < page.saturating_add(WINDOW_PAGES)
        };
        let near = self.pages[..known].iter().any(is_near);
        self.near = self.near << 1 | u16::from(near);
        self.pages[usize::from(self.faults) % RECENT] = touched.start.get();
        self.faults = if usize::from(self.faults) + 1 >= 2 * RECENT {
            // Still at the same place of the ring.
            self.faults + 1 - 16
        } else {
            self.faults + 1
        };
        if usize::from(self.faults) < RECENT {
            return MappedNeed::AsItIs;
        }
        match self.near.count_ones() {
            0..=NEAR_FEW => MappedNeed::NoWindow,
            NEAR_MIN.. => MappedNeed::Window,
            _ => MappedNeed::AsItIs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(at: u64) -> PageRange {
        PageRange::new(at, at + 1)
    }

    #[test]
    fn faults_anywhere_want_no_window_and_a_scan_has_it_again() {
        let mut window = MappedWindow::default();
        let needs: Vec<_> = (0..100_u64)
            .map(|number| window.on_fault(page(number * 7919 % 9973 * 100)))
            .collect();
        assert!(needs[..15].iter().all(|need| *need == MappedNeed::AsItIs));
        assert!(needs[15..].iter().all(|need| *need == MappedNeed::NoWindow));
        let scan: Vec<_> = (0..5)
            .map(|number| window.on_fault(page(500_050 + number * 16)))
            .collect();
        assert_eq!(scan[4], MappedNeed::Window);
    }

    /// Program text, or an index: anywhere, but several faults at each place.
    #[test]
    fn places_that_are_touched_more_than_once_keep_the_window() {
        let mut window = MappedWindow::default();
        for number in 0..200_u64 {
            let place = number / 4 * 7919 % 9973 * 100;
            let need = window.on_fault(page(place + number % 4 * 5));
            assert_ne!(need, MappedNeed::NoWindow);
        }
    }
}
