//! Strides that broke, and how long the next one has to last before anything is asked for.
//!
//! Steps that drift are equal, to the page, for a dozen elements, and then they are not. What was asked for by the old ones
//! is read in vain, and on a device with an arm the reader waits behind it. So each stride that broke while its elements were
//! on their way doubles what the next one has to show, and each one that shows twice that takes one doubling back.

use super::shape::regular::REGULAR_STEPS;
use super::stream::Stream;

/// Doublings at most. Fewer, and steps that drift slowly are asked for again and again; more, and columns of a table, which end
/// before they show so much, are never asked for again.
const DOUBLINGS_MAX: u8 = 4;

/// How often what the next stride has to show was doubled. All zero: never.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BrokenStrides(u8);

impl BrokenStrides {
    /// So many strides broke while elements of them were on their way.
    pub(super) fn on_broken(&mut self, strides: u8) {
        self.0 = self.0.saturating_add(strides).min(DOUBLINGS_MAX);
    }

    /// `stream` took a step: `in_vain`, if it broke its stride while elements were on their way.
    #[inline]
    pub(super) fn on_step(&mut self, in_vain: bool, stream: &Stream) {
        if in_vain {
            self.on_broken(1);
        } else if self.0 > 0 && !stream.drifts() {
            self.on_element(stream.elements_in_a_row());
        }
    }

    /// Once for each stride: one that goes on for ever says nothing of those that break beside it. One that drifts comes to a number
    /// of elements again and again.
    fn on_element(&mut self, in_a_row: u8) {
        if in_a_row == needed(self.0 + 1) {
            self.0 = self.0.saturating_sub(1);
        }
    }

    /// Whether the next one has to show more than others, as some broke.
    pub(super) fn are_some(self) -> bool {
        self.0 > 0
    }

    /// Elements that have to come as expected before more of them are asked for.
    pub(super) fn elements_needed(self) -> u8 {
        needed(self.0)
    }
}

fn needed(doublings: u8) -> u8 {
    let times = 1 << doublings.min(DOUBLINGS_MAX);
    REGULAR_STEPS.get().saturating_mul(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_break_doubles_what_is_needed_and_a_stride_that_lasts_takes_one_back() {
        let mut broken = BrokenStrides::default();
        assert_eq!(broken.elements_needed(), 6);
        broken.on_broken(2);
        assert_eq!(broken.elements_needed(), 24);
        (1..48).for_each(|element| broken.on_element(element));
        assert_eq!(broken.elements_needed(), 24);
        (48..=255).for_each(|element| broken.on_element(element));
        assert_eq!(broken.elements_needed(), 12);
    }

    #[test]
    fn a_stride_is_never_out_of_reach() {
        let mut broken = BrokenStrides::default();
        broken.on_broken(255);
        let needed = broken.elements_needed();
        broken.on_element(needed);
        assert_eq!((needed, broken.elements_needed()), (96, 48));
    }
}
