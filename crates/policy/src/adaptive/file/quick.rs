//! The fast path: what asks for nothing is answered without a look.

use super::FileStreams;
use super::outcome::Quick;
use crate::adaptive::stream::Stream;
use ahead_units::PageRange;

impl FileStreams {
    /// The fast path of [`Self::on_access`], for callers that count nanoseconds. It answers what
    /// asks for nothing: the exact step of a learned stream inside its window, and most reads of
    /// a file in which nothing waits. [`Quick::No`] has changed nothing.
    #[inline]
    pub fn on_quick_access(&mut self, streams: &mut [Stream], access: PageRange) -> Quick {
        let tick = self.tick.wrapping_add(1);
        let hint = self.hint(streams);
        let Some(stream) = streams.get_mut(usize::from(hint)) else {
            return Quick::No;
        };
        if stream.step(access, tick) {
            self.tick = tick;
            self.last = hint;
            self.unexplained_run = 0;
            return Quick::Step(stream.id(hint));
        }
        // A stream that would have to ask must not be missed.
        if self.is_calm(tick, stream) && !stream.may_fit(access) {
            self.tick = tick;
            return Quick::Calm;
        }
        Quick::No
    }
}
