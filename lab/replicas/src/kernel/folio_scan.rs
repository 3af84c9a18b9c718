//! How 6.x counts cached pages before and behind a place, and where it stumbles over large folios.
//!
//! The page cache is a tree: nodes of 64 slots, a leaf slot for a page, a slot one level up for 64
//! pages, and so on. A folio of up to 32 pages sits in as many leaf slots, one of 64 pages and more
//! in slots of the level above; the first is its head, and the others point to it.
//!
//! A scan has a page number and a slot. Looking up its first page leads to the *head* of the folio
//! there, while the number stays: inside a large folio the two part. From then on both go forward
//! or backward together, so that the scan looks at slots that lag behind its numbers:
//!
//! ```text
//!  asked from page 9:   | 8 . . . | 12 . . . |hole at 16
//!  number                   9 10 11 12 13 14 15 16 17      <- "hole at 17"
//!  slot looked at           8  9 10 11 12 13 14 15 16
//! ```
//!
//! So the hole behind is reported too far away, and the history before too short: by as many pages
//! as lie between the head and the first page. At the end of a node the slot is set anew from the
//! number, and on upper levels a slot that lags goes one further at each step, so the error can
//! also end on the way, or skip pages. With single pages there is none of this.
//!
//! The rule is not in any text; it was found where 6.18.44 and the plain count differed, and is
//! held to the running kernel by `tests/live_kernel.rs`. The tree's code is the same in
//! 6.12.
//!
//! What the counts are used for is decided in [`folio`](super::folio).

use super::window_sizes;
use super::{Host, PageState};

/// log2 of the slots of a node.
const SLOT_BITS: u32 = 6;

/// Slots of a node.
const SLOTS: u64 = 1 << SLOT_BITS;

/// No tree is higher: page numbers end here.
const SHIFT_MAX: u32 = 60;

/// The page that the scan calls the first absent one of `[from, from + pages)`.
pub(super) fn next_hole<H: Host>(host: &H, from: u64, pages: u64) -> Option<u64> {
    if host.folio_order_max() == 0 {
        return host.first_absent(from, pages);
    }
    let Some(mut scan) = Scan::begin(host, from) else {
        return (pages > 0).then_some(from);
    };
    for _ in 1..pages {
        if !scan.step_forward(host) {
            return Some(scan.page);
        }
    }
    None
}

/// What the scan finds directly below a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct History {
    /// Cached pages, fewer than were looked at.
    pub(super) pages: u64,
    /// The scan ran off the start of the file.
    pub(super) reaches_start: bool,
}

/// Counts the cached pages directly below `page`, looking at `pages` pages. When all of them are
/// cached the last one does not count.
pub(super) fn history<H: Host>(host: &H, page: u64, pages: u64) -> History {
    let nothing = History {
        pages: 0,
        reaches_start: false,
    };
    if page == 0 || pages == 0 {
        return nothing;
    }
    if host.folio_order_max() == 0 {
        let history = window_sizes::history(host, page, pages - 1);
        return History {
            pages: history,
            reaches_start: history == page,
        };
    }
    let Some(mut scan) = Scan::begin(host, page - 1) else {
        return nothing;
    };
    for _ in 1..pages {
        // Below page 0 the number wraps.
        if !scan.step_backward(host) || scan.page == u64::MAX {
            break;
        }
    }
    History {
        pages: page.wrapping_sub(scan.page).wrapping_sub(1),
        reaches_start: scan.page == u64::MAX,
    }
}

/// A place in the tree, and the number that goes with it.
#[derive(Clone, Copy, Debug)]
struct Scan {
    /// The number.
    page: u64,
    /// First page of the node.
    node_start: u64,
    /// log2 of the pages of a slot of the node.
    shift: u32,
    /// The slot, which may have run off the node.
    slot: u64,
}

/// What a slot holds.
enum Slot {
    Nothing,
    Folio,
    Node,
}

impl Scan {
    /// Looks `page` up; `None` if it is absent.
    fn begin<H: Host>(host: &H, page: u64) -> Option<Self> {
        if host.state(page) == PageState::Absent {
            return None;
        }
        let (head, end) = host.folio(page);
        let shift = (end - head).ilog2() / SLOT_BITS * SLOT_BITS;
        Some(Self {
            page,
            node_start: node_start(head, shift),
            shift,
            slot: slot_of(head, shift),
        })
    }

    /// To the next page; whether the slot there holds something.
    fn step_forward<H: Host>(&mut self, host: &H) -> bool {
        self.page = self.page.wrapping_add(1);
        if self.shift == 0 && self.slot != SLOTS - 1 {
            self.slot += 1;
            return self.is_cached(host);
        }
        if self.slot != slot_of(self.page, self.shift) {
            self.slot += 1;
        }
        while self.slot == SLOTS {
            if !self.go_up() {
                return false;
            }
            self.slot += 1;
        }
        self.go_down(host)
    }

    /// To the page before; whether the slot there holds something.
    fn step_backward<H: Host>(&mut self, host: &H) -> bool {
        self.page = self.page.wrapping_sub(1);
        if self.shift == 0 && self.slot != 0 {
            self.slot -= 1;
            return self.is_cached(host);
        }
        if self.slot != slot_of(self.page, self.shift) {
            while self.slot == 0 {
                if !self.go_up() {
                    return false;
                }
            }
            self.slot -= 1;
        }
        self.go_down(host)
    }

    /// To the slot of this node in the node above; `false` at the top.
    fn go_up(&mut self) -> bool {
        let start = self.node_start;
        self.shift += SLOT_BITS;
        self.node_start = node_start(start, self.shift);
        self.slot = slot_of(start, self.shift);
        self.shift < SHIFT_MAX
    }

    /// Down to what lies at the number, where nodes are in the way; whether there is something.
    fn go_down<H: Host>(&mut self, host: &H) -> bool {
        loop {
            match self.content(host) {
                Slot::Nothing => return false,
                Slot::Folio => return true,
                Slot::Node => {
                    self.node_start += self.slot << self.shift;
                    self.shift -= SLOT_BITS;
                    self.slot = slot_of(self.page, self.shift);
                }
            }
        }
    }

    fn content<H: Host>(&self, host: &H) -> Slot {
        if self.shift == 0 {
            return if self.is_cached(host) {
                Slot::Folio
            } else {
                Slot::Nothing
            };
        }
        let start = self.node_start + (self.slot << self.shift);
        let pages = 1 << self.shift;
        let Some(present) = host.first_present(start, pages) else {
            return Slot::Nothing;
        };
        let (head, end) = host.folio(present);
        if end - head >= pages {
            Slot::Folio
        } else {
            Slot::Node
        }
    }

    fn is_cached<H: Host>(&self, host: &H) -> bool {
        host.state(self.node_start + self.slot) != PageState::Absent
    }
}

/// First page of the node that holds `page` in slots of `1 << shift` pages.
const fn node_start(page: u64, shift: u32) -> u64 {
    let bits = shift + SLOT_BITS;
    if bits < u64::BITS {
        page >> bits << bits
    } else {
        0
    }
}

/// The slot of `page` in such a node.
const fn slot_of(page: u64, shift: u32) -> u64 {
    (page >> shift) % SLOTS
}
