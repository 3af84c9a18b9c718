//! What programs will do, as far as the [oracle](super::oracle) has run ahead in its own copies.

use std::collections::VecDeque;

use ahead_units::PAGE_BYTES;

use super::task::at;
use ahead_workload::{Process, Program, Step};

/// Whether a step belongs to the future that the oracle follows.
pub(super) fn is_of_interest(step: &Step) -> bool {
    matches!(
        step,
        Step::Read { .. } | Step::Touch { .. } | Step::DontNeed { .. } | Step::DropCaches
    )
}

/// Something of a program's future.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) file: u32,
    pub(super) start: u64,
    /// 0: nothing is read, and pages fetched before this would be lost in it.
    pub(super) pages: u64,
    /// Pages read before this, in the program.
    pub(super) position: u64,
}

/// The program of one thread group, known up to a horizon.
pub(super) struct GroupFuture {
    program: Box<dyn Program>,
    /// The rest of a long step.
    rest: Option<Step>,
    slots: Vec<u32>,
    areas: Vec<u32>,
    /// What comes; the front is next.
    pub(super) items: VecDeque<Item>,
    /// How many of them have been fetched, and how many pages of the one behind.
    pub(super) fetched: usize,
    part: u64,
    /// Pages in `items`, and in the fetched part of it.
    pub(super) known_pages: u64,
    pub(super) fetched_pages: u64,
    /// How much it fetches now; grows to the window.
    pub(super) batch_pages: u64,
    pub(super) position: u64,
    /// Time that the program took by itself up to there.
    own_ns: u64,
    pub(super) is_at_end: bool,
}

/// All that a program does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// Pages that it reads.
    pub(super) pages: u64,
    /// Time that it takes by itself.
    pub(super) own_ns: u64,
}

/// A page: its file, and its number there.
pub(super) type PageName = (u32, u64);

/// When a page is read: one moment, and seldom more.
pub(super) struct Uses {
    first: u64,
    /// Ascending.
    later: Vec<u64>,
}

impl Uses {
    pub(super) const fn new(first: u64) -> Self {
        Self {
            first,
            later: Vec::new(),
        }
    }

    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    pub(super) fn insert(&mut self, position: u64) {
        let later = self.first.max(position);
        self.first = self.first.min(position);
        let place = self.later.partition_point(|known| *known <= later);
        self.later.insert(place, later);
    }

    /// Takes a moment out; whether it was the only one, which then stays.
    pub(super) fn remove(&mut self, position: u64) -> bool {
        if position != self.first {
            if let Ok(place) = self.later.binary_search(&position) {
                self.later.remove(place);
            }
            return false;
        }
        if self.later.is_empty() {
            return true;
        }
        self.first = self.later.remove(0);
        false
    }
}

/// The thread groups of a process, at their beginning.
pub(super) fn groups_of(process: &Process) -> impl Iterator<Item = GroupFuture> {
    process.groups.iter().map(|group| GroupFuture {
        program: group.program.fork(),
        rest: None,
        slots: process.open.clone(),
        areas: Vec::new(),
        items: VecDeque::new(),
        fetched: 0,
        part: 0,
        known_pages: 0,
        fetched_pages: 0,
        batch_pages: u64::MAX,
        position: 0,
        own_ns: 0,
        is_at_end: false,
    })
}

impl GroupFuture {
    /// All that the program does from here on.
    pub(super) fn into_work(mut self, file_pages: &[u64]) -> Work {
        while self.next_item(file_pages).is_some() {}
        Work {
            pages: self.position,
            own_ns: self.own_ns,
        }
    }

    /// Pages that the program has read, or is about to: where the oldest item begins.
    pub(super) fn taken_pages(&self) -> u64 {
        self.items
            .front()
            .map_or(self.position, |item| item.position)
    }

    /// The item that has not been fetched whole, and how many of its pages have.
    pub(super) fn next_to_fetch(&self) -> Option<(Item, u64)> {
        Some((*self.items.get(self.fetched)?, self.part))
    }

    /// One more page of `item`, the one that was next, is fetched; or all of an empty one.
    pub(super) const fn note_fetched(&mut self, item: &Item) {
        if item.pages > 0 {
            self.part += 1;
            self.fetched_pages += 1;
        }
        if self.part == item.pages {
            self.part = 0;
            self.fetched += 1;
        }
    }

    /// The program has begun with `item`, the oldest.
    pub(super) const fn note_taken(&mut self, item: &Item) {
        if self.fetched > 0 {
            self.fetched -= 1;
            self.fetched_pages -= item.pages;
        } else {
            self.fetched_pages -= self.part;
            self.part = 0;
        }
    }

    /// The next thing of interest that the program will do.
    pub(super) fn next_item(&mut self, file_pages: &[u64]) -> Option<Item> {
        loop {
            let rest = self.rest.take();
            let (step, rest) = match rest {
                Some(rest) => rest,
                None => self.program.step()?,
            }
            .split();
            self.rest = rest;
            let (file, start, end) = match step {
                Step::Open { slot, file } => {
                    put(&mut self.slots, slot, file);
                    continue;
                }
                Step::Map { area, slot, .. } => {
                    let file = self.slots.get(at(slot)).copied().unwrap_or(0);
                    put(&mut self.areas, area, file);
                    continue;
                }
                Step::Read {
                    slot,
                    offset,
                    length,
                } => {
                    let file = self.slots.get(at(slot)).copied().unwrap_or(0);
                    let end = offset.saturating_add(length).div_ceil(PAGE_BYTES);
                    (file, offset / PAGE_BYTES, end)
                }
                Step::Touch { area, page, pages } => {
                    let file = self.areas.get(at(area)).copied().unwrap_or(0);
                    (file, page, page.saturating_add(pages))
                }
                Step::Compute { ns } | Step::Think { ns } => {
                    self.own_ns = self.own_ns.saturating_add(ns);
                    continue;
                }
                step if is_of_interest(&step) => (0, 0, 0),
                _ => continue,
            };
            let end = end.min(file_pages.get(at(file)).copied().unwrap_or(0));
            let item = Item {
                file,
                start,
                pages: end.saturating_sub(start),
                position: self.position,
            };
            self.position += item.pages.max(1);
            return Some(item);
        }
    }
}

fn put(table: &mut Vec<u32>, place: u32, value: u32) {
    if table.len() <= at(place) {
        table.resize(at(place) + 1, 0);
    }
    table[at(place)] = value;
}
