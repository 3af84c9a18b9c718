//! Strides that broke, and how long the next one has to last before anything is asked for.
//!
//! Steps that drift are equal, to the page, for a dozen elements, and then they are not. What was asked for by the old ones
//! is read in vain, and on a device with an arm the reader waits behind it. So each stride that breaks while its elements
//! are on their way doubles what the next one has to show; one that shows twice that is believed, and forgives the others.

use super::stream::{REGULAR_STEPS, Stream};

/// Doublings at most: elements in a row are counted up to 255.
const DOUBLINGS_MAX: u8 = 5;

/// How often strides of a file broke. All zero: never.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BrokenStrides(u8);

impl BrokenStrides {
    /// A stride broke while elements of it were on their way.
    pub(super) fn on_broken(&mut self) {
        self.0 = (self.0 + 1).min(DOUBLINGS_MAX);
    }

    /// `stream` took a step: it `has_broken` while elements of it were on their way, or goes on.
    #[inline]
    pub(super) fn on_step(&mut self, has_broken: bool, stream: &Stream) {
        if has_broken {
            self.on_broken();
        } else {
            self.on_element(stream.elements_in_a_row());
        }
    }

    fn on_element(&mut self, in_a_row: u8) {
        if self.0 > 0 && in_a_row >= needed(self.0 + 1) {
            self.0 = 0;
        }
    }

    /// Elements that have to come as expected before more of them are asked for.
    pub(super) fn elements_needed(self) -> u8 {
        needed(self.0)
    }
}

fn needed(doublings: u8) -> u8 {
    REGULAR_STEPS.get() << doublings.min(DOUBLINGS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_break_doubles_what_is_needed_and_a_stride_that_lasts_forgives_them() {
        let mut broken = BrokenStrides::default();
        assert_eq!(broken.elements_needed(), 6);
        broken.on_broken();
        broken.on_broken();
        assert_eq!(broken.elements_needed(), 24);
        broken.on_element(47);
        assert_eq!(broken.elements_needed(), 24);
        broken.on_element(48);
        assert_eq!(broken.elements_needed(), 6);
    }

    #[test]
    fn a_stride_is_never_out_of_reach() {
        let mut broken = BrokenStrides::default();
        (0..300).for_each(|_| broken.on_broken());
        let needed = broken.elements_needed();
        broken.on_element(needed);
        assert_eq!((needed, broken.elements_needed()), (192, 6));
    }
}
