//! What a memory control group of Linux 6.12 knows beside its pages.
//!
//! * **Nodes.** The tree in which a file's pages are found has a node for each 64 of them, and one for
//!   each 64 nodes. They are charged to the group, and stay when the pages have left: in them stands
//!   when they did. Nodes without pages are taken away when there are more of them than an eighth of the
//!   group's pages. So a reader in 64 MiB loses a page of memory for each 448 that it reads, up to
//!   1.1 MiB.
//! * **Shadows.** A page that comes back is active at once if no more pages have left since it did than
//!   there are active ones (`workingset_test_recent`).
//! * **Counts.** How many pages are active and inactive is counted per processor and added up every two
//!   seconds (`FLUSH_TIME`); those who ask in between get the old sums.

use std::collections::{HashMap, HashSet};

use super::chunk::{CHUNK_PAGES, FileId};

/// Bytes of a node, with what the group needs to know whose it is: 576 and a pointer.
const NODE_BYTES: u64 = 584;
const PAGE_BYTES: u64 = 4096;

/// How often the kernel adds up the pages of all groups, from its boot on: `FLUSH_TIME` of 6.12.
pub const GROUP_COUNT_NS: u64 = 2_000_000_000;

/// The sums as they were added up last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) inactive: u64,
    pub(super) active: u64,
    /// Pages that were active when they came back, since the beginning.
    pub(super) activations: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct ControlGroup {
    /// Of pages that left: the age of the group at that moment.
    shadows: HashMap<(FileId, u64), u64>,
    /// Those that have or had pages: the file, the height, and the number at that height.
    nodes: HashSet<(FileId, u32, u64)>,
    /// Pages that left, and pages that became active.
    age: u64,
    activations: u64,
    pub(super) counts: Counts,
    /// The sum of activations that the last reclaim saw.
    pub(super) reclaim_saw: u64,
}

impl ControlGroup {
    /// A page of the chunk `number` comes in.
    pub(super) fn on_chunk(&mut self, file: FileId, number: u64) {
        self.nodes.insert((file, 0, number));
        let (mut height, mut number) = (0, number);
        while number > 0 {
            height += 1;
            number /= CHUNK_PAGES;
            if !self.nodes.insert((file, height, number)) {
                break;
            }
        }
    }

    /// A page comes in; whether it is active.
    pub(super) fn on_entered(&mut self, file: FileId, page: u64) -> bool {
        let left = self.shadows.remove(&(file, page));
        let is_recent = left.is_some_and(|left| self.age - left <= self.counts.active);
        if is_recent {
            self.activations += 1;
            self.age += 1;
        }
        is_recent
    }

    /// A page that was accessed twice becomes active.
    pub(super) fn on_activated(&mut self) {
        self.age += 1;
    }

    /// Reclaim takes a page.
    pub(super) fn on_left(&mut self, file: FileId, page: u64) {
        self.shadows.insert((file, page), self.age);
        self.age += 1;
    }

    /// The sums are added up.
    pub(super) fn count(&mut self, inactive: u64, active: u64) {
        self.counts = Counts {
            inactive,
            active,
            activations: self.activations,
        };
    }

    /// Pages that nodes take, where `chunks` have pages and there are `resident` of them.
    pub(super) fn node_pages(&self, chunks: u64, resident: u64) -> u64 {
        let nodes = (self.nodes.len() as u64).min(chunks + resident / 8);
        (nodes * NODE_BYTES).div_ceil(PAGE_BYTES)
    }
}
