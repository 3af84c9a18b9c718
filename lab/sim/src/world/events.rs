//! What is going to happen, in the order of time; equal moments in the order in which they were
//! announced. Completions of the disk are not in here: the queue knows them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The task on this processor goes on.
    Continue(u32),
    /// A sleeping task wakes up.
    Wake(u32),
    /// The processor has carried the oldest waiting completion to memory.
    Arrive,
    /// Files that have been dirty for long are looked for.
    LookForDirty,
}

/// Announced events.
#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<(u64, u64, Event)>>,
    announced: u64,
}

impl Events {
    /// Announces an event.
    pub(super) fn push(&mut self, at_ns: u64, event: Event) {
        self.announced += 1;
        self.heap.push(Reverse((at_ns, self.announced, event)));
    }

    /// When the next one is due; `u64::MAX` if there is none.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        self.heap
            .peek()
            .map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns)
    }

    /// Takes the next one.
    pub(super) fn pop(&mut self) -> Option<(u64, Event)> {
        self.heap
            .pop()
            .map(|Reverse((at_ns, _, event))| (at_ns, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_moments_keep_the_order_of_announcement() {
        let mut events = Events::default();
        events.push(7, Event::Wake(2));
        events.push(7, Event::Continue(1));
        events.push(3, Event::Arrive);
        assert_eq!(events.due_ns(), 3);
        let order: Vec<_> = std::iter::from_fn(|| events.pop()).collect();
        assert_eq!(
            order,
            [
                (3, Event::Arrive),
                (7, Event::Wake(2)),
                (7, Event::Continue(1))
            ]
        );
        assert_eq!(events.due_ns(), u64::MAX);
    }
}
