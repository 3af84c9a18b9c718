//! The shapes of a stream: how its accesses follow each other. One file for each says how it
//! recognises its next access, how it moves, and what its window and marker are.
//!
//! ```text
//!             second access nearby           holes, late requests
//!  Vacant ──> Candidate ──────────────> Run <──> Sparse, Shuffled
//!     │                                  │  equal holes   ▲
//!     └── three evenly spaced ──────> Strided <───────────┘  an uneven step nearby
//!
//!  and every shape becomes Vacant when its place is wanted
//! ```
//!
//! Direction is no shape: a run and a strided stream go either way, see
//! [`direction`](super::direction). [`run`] moves all three kinds of runs; [`sparse`] and
//! [`shuffled`] say which kind it is.

pub(crate) mod candidate;
pub(crate) mod drift;
pub(crate) mod fit;
pub(crate) mod grid;
pub(crate) mod regular;
pub(crate) mod run;
pub(crate) mod shuffled;
pub(crate) mod sparse;
pub(crate) mod strided;

/// How the accesses of a stream follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A free place in the table.
    #[default]
    Vacant,
    /// One access that nothing explained.
    Candidate,
    /// Each access begins where the last one ended, more or less.
    Run,
    /// A run whose requests come out of order.
    Shuffled,
    /// A run that leaves out more than one page of eight.
    Sparse,
    /// A fixed length every fixed period.
    Strided,
}

impl Shape {
    /// Whether it moves as [`run`] says.
    #[inline]
    pub(super) fn is_run(self) -> bool {
        matches!(self, Self::Run | Self::Shuffled | Self::Sparse)
    }

    /// Whether a stream of this shape may turn into one of shape `to`.
    pub(super) fn may_become(self, to: Self) -> bool {
        match (self, to) {
            // Every place is given back once; a vacant one cannot be.
            (from, Self::Vacant) => from != Self::Vacant,
            (Self::Vacant, Self::Candidate | Self::Strided) => true,
            // Runs turn into each other and into strided streams, and back.
            (Self::Candidate, to) => to.is_run(),
            (from, Self::Strided) => from.is_run(),
            (from, to) => from != to && to.is_run() && (from.is_run() || from == Self::Strided),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Shape::{self, Candidate, Run, Shuffled, Sparse, Strided, Vacant};

    #[test]
    fn the_picture_at_the_head_of_this_file_is_all_there_is() {
        let all = [Vacant, Candidate, Run, Shuffled, Sparse, Strided];
        let leads_to = |from: Shape| -> Vec<Shape> {
            all.into_iter().filter(|to| from.may_become(*to)).collect()
        };
        assert_eq!(leads_to(Vacant), [Candidate, Strided]);
        assert_eq!(leads_to(Candidate), [Vacant, Run, Shuffled, Sparse]);
        assert_eq!(leads_to(Run), [Vacant, Shuffled, Sparse, Strided]);
        assert_eq!(leads_to(Shuffled), [Vacant, Run, Sparse, Strided]);
        assert_eq!(leads_to(Sparse), [Vacant, Run, Shuffled, Strided]);
        assert_eq!(leads_to(Strided), [Vacant, Run, Shuffled, Sparse]);
    }
}
