//! What a kernel does with one file's read-ahead: calls, and folios that enter or leave the cache.
//!
//! The same words for the kernel that runs and for its replica, so that two lists can be compared
//! without any tolerance. Reading them from text is the [`recorder`](super::recorder)'s affair.

use std::fmt;

use ahead_replicas::kernel::Call;

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A call inside the read-ahead code.
    Call(Call),
    /// A folio of `1 << order` pages entered the page cache.
    Added {
        /// First page.
        index: u64,
        /// log2 of its pages.
        order: u8,
    },
    /// A folio of `1 << order` pages left the page cache.
    Removed {
        /// First page.
        index: u64,
        /// log2 of its pages.
        order: u8,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state =
            |f: &mut fmt::Formatter<'_>, name, state: &ahead_replicas::kernel::CallState| {
                write!(
                    f,
                    "{name} {} req {} order {} size {} async {} ra {} miss {} prev {}",
                    state.index,
                    state.request,
                    state.order,
                    state.size,
                    state.async_size,
                    state.ra_pages,
                    state.mmap_miss,
                    state.prev_pos
                )
            };
        match self {
            Self::Call(Call::Sync(call)) => state(f, "sync", call),
            Self::Call(Call::Async(call)) => state(f, "async", call),
            Self::Call(Call::Unbounded {
                index,
                pages,
                look_ahead,
            }) => write!(f, "unbounded [{index},+{pages}) look-ahead {look_ahead}"),
            Self::Call(Call::Order {
                index,
                order,
                size,
                async_size,
            }) => write!(
                f,
                "order [{index},+{size}) order {order} async {async_size}"
            ),
            Self::Added { index, order } => write!(f, "added {index}/{order}"),
            Self::Removed { index, order } => write!(f, "removed {index}/{order}"),
        }
    }
}

/// One line for a list of events; runs of single pages are drawn together.
pub fn line(events: &[Event]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = events;
    while let [first, ..] = rest {
        let (&Event::Added { index, order } | &Event::Removed { index, order }) = first else {
            parts.push(first.to_string());
            rest = &rest[1..];
            continue;
        };
        let is_added = matches!(first, Event::Added { .. });
        let next = |count: u64| {
            let index = index + (count << order);
            if is_added {
                Event::Added { index, order }
            } else {
                Event::Removed { index, order }
            }
        };
        let count = (0..)
            .zip(rest)
            .take_while(|&(position, event)| *event == next(position))
            .count();
        parts.push(format!(
            "{}{index}: {count} x {}",
            if is_added { "+" } else { "-" },
            1_u64 << order
        ));
        rest = &rest[count..];
    }
    parts.join("; ")
}
