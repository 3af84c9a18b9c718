//! Who wants to see streams change.

use super::direction::Direction;
use super::id::{StreamId, place8};
use super::shape::Shape;

/// A stream changed its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Which stream.
    pub stream: StreamId,
    /// What it was.
    pub from: Shape,
    /// What it is now.
    pub to: Shape,
    /// Which way it runs now.
    pub direction: Direction,
}

/// Sees what [`FileStreams`](super::FileStreams) does. Whoever does not want to see anything
/// passes `()`, which costs nothing.
pub trait Observer {
    /// A stream changed its shape.
    fn on_transition(&mut self, transition: Transition) {
        let _ = transition;
    }
}

impl Observer for () {}

/// An observer, and the place in the table of the stream that it sees.
pub(super) struct Report<'a, O> {
    pub(super) place: u8,
    pub(super) observer: &'a mut O,
}

/// An observer of the stream at `place`.
pub(super) fn report<O>(place: usize, observer: &mut O) -> Report<'_, O> {
    Report {
        place: place8(place),
        observer,
    }
}
