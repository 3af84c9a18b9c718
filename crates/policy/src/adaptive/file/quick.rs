//! The fast path: what asks for nothing is answered without a look.

use super::FileStreams;
use super::outcome::Quick;
use crate::adaptive::stream::Stream;
use crate::adaptive::window::pages32;
use ahead_units::PageRange;

impl FileStreams {
    /// The fast path of [`Self::on_access`], for callers that count nanoseconds. It answers what
    /// asks for nothing: the exact step of a learned stream inside its window, or where the kernel asks for as much, and most
    /// reads of a file in which nothing waits. [`Quick::No`] has changed nothing.
    #[inline]
    pub fn on_quick_access(&mut self, streams: &mut [Stream], access: PageRange) -> Quick {
        let tick = self.tick.wrapping_add(1);
        let hint = self.hint(streams);
        let Some(stream) = streams.get_mut(usize::from(hint)) else {
            return Quick::No;
        };
        if stream.step(access, tick) {
            self.tick = tick;
            if self.last != hint {
                (self.last, self.left) = (hint, 0);
            }
            self.unexplained_run = 0;
            return Quick::Step(stream.id(hint));
        }
        // A stream that would have to ask must not be missed.
        if self.is_calm(tick, stream) && !stream.may_fit(access) {
            self.tick = tick;
            return Quick::Calm;
        }
        if self.left > 0 && hint == self.last {
            return self.step_left(stream, access);
        }
        Quick::No
    }

    /// The step of a scan that is left to the kernel for at least as long: exactly where it was expected, or none.
    #[cold]
    fn step_left(&mut self, stream: &mut Stream, access: PageRange) -> Quick {
        let tick = self.tick.wrapping_add(1);
        let left = self.left.checked_sub(pages32(access.len()));
        let Some(left) = left.filter(|_| stream.step_left(access, tick)) else {
            return Quick::No;
        };
        (self.tick, self.left) = (tick, left);
        self.unexplained_run = 0;
        Quick::Left(stream.id(self.last))
    }
}
