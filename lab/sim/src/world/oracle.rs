//! The ceiling: a reader's helper that knows what will be read, under the same memory.
//!
//! It has its own copy of every program and runs ahead in it. With that future it does three
//! things, and never lets the kernel read ahead on its own:
//!
//! * **Fetch in the order of need, in the order of the disk.** When less than half of a program's
//!   window is in memory or on its way, it takes what the program reads next, up to the window
//!   (or the program's share of memory), and starts it sorted by place. Or, with little under way at
//!   any time, it takes a piece for the program that would end last. A hole is read through where
//!   that costs the disk less than a second request, and what else is soon read of a block of the
//!   disk comes with it.
//! * **Keep what is needed soonest.** A page that will not be read again leaves when its reader is
//!   done with it. When memory is full the page that is needed last leaves (Belady), and
//!   never for one that is needed later still: then fetching stops.
//! * **Fetch nothing twice**, as long as the future is known: it looks two memories ahead, and
//!   takes what comes after that for never.
//!
//! Of several programs each is believed to go on as fast as the others. It costs no processor
//! time. It is not a proof of optimality: a disk may like another order better. It is a ceiling
//! in the sense that nobody without its knowledge should come out above it.

use std::collections::{BTreeSet, VecDeque};

use ahead_replicas::kernel::{Class, PageState, Window};
use ahead_units::PAGE_BYTES;

use super::future::{GroupFuture, PageName, Uses, Work, groups_of};
use super::kernel::Kernel;
use super::machine::Machine;
use super::observer::{Started, WorldMoment, WorldObserver};
use super::page_set::PageMap;
use super::pricing::Pricing;
use super::task::at;
use crate::queue::{IoDirection, PageRun};
use ahead_replicas::page_cache::FileId;
use ahead_workload::Job;

/// What the oracle may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OracleSettings {
    /// Pages that it has in memory or on their way for one program, before they are read.
    pub window_pages: u64,
    /// How it goes about it.
    pub style: OracleStyle,
}

impl Default for OracleSettings {
    /// 128 MiB, the horizon of the bench's reader that knows its future; the best style.
    fn default() -> Self {
        Self {
            window_pages: 32_768,
            style: OracleStyle::Best,
        }
    }
}

/// How the oracle asks. Knowing the future is not knowing which order a disk likes best, so there
/// is more than one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OracleStyle {
    /// A run with each of the others; the fastest counts. A single world takes the first.
    #[default]
    Best,
    /// Programs share memory; windows are asked for whole.
    Shared,
    /// Programs share memory; windows begin with 64 KiB and double, so that the first pages need
    /// not wait for the last.
    SharedSlowly,
    /// The first program in need may take all memory; windows are asked for whole.
    Greedy,
    /// The first program in need may take all memory; windows begin with 64 KiB and double.
    GreedySlowly,
    /// Windows of 256 KiB: for readers that take their time.
    Near,
    /// In pieces of 256 KiB, whenever little is under way: for the program that has the least in
    /// memory of what it still has to do.
    Turns,
    /// As these, in pieces of 4 MiB: for arms.
    LongTurns,
}

impl OracleStyle {
    /// All but [`Best`](Self::Best).
    pub const ALL: [Self; 7] = [
        Self::Shared,
        Self::SharedSlowly,
        Self::Greedy,
        Self::GreedySlowly,
        Self::Near,
        Self::Turns,
        Self::LongTurns,
    ];

    /// Whether it does what a style does that is not greedy, when `programs` have `memory_pages`.
    pub(crate) fn is_twin(self, asked_pages: u64, programs: u64, memory_pages: u64) -> bool {
        let window_pages = |style: Self| style.window_pages(asked_pages, programs, memory_pages);
        self.is_greedy() && window_pages(self) == window_pages(Self::Shared)
    }

    const fn is_greedy(self) -> bool {
        matches!(self, Self::Greedy | Self::GreedySlowly)
    }

    const fn first_pages(self) -> u64 {
        match self {
            Self::Best | Self::Shared | Self::Greedy => u64::MAX,
            _ => 16,
        }
    }

    /// Pages of a piece of those who take turns.
    const fn turn_pages(self) -> Option<u64> {
        match self {
            Self::Turns => Some(64),
            Self::LongTurns => Some(1024),
            _ => None,
        }
    }

    /// Most pages ahead of one of `programs` that have `memory_pages`, where `asked_pages` are asked for.
    fn window_pages(self, asked_pages: u64, programs: u64, memory_pages: u64) -> u64 {
        let sharers = if self.is_greedy() { 1 } else { programs.max(1) };
        let most = if self == Self::Near { 64 } else { u64::MAX };
        asked_pages.min(most).min(memory_pages / sharers).max(1)
    }
}

/// Batches end where a multiple of so many pages begins, as long as reading goes on in order:
/// disks have pages of their own, and a request that begins inside one reads it twice.
const CUT_PAGES: u64 = 16;

/// The oracle of a world.
pub(super) struct Oracle {
    window_pages: u64,
    memory_pages: u64,
    pricing: Pricing,
    file_pages: Vec<u64>,
    groups: Vec<GroupFuture>,
    /// All that each of them does; empty unless they take turns.
    work: Vec<Work>,
    /// Pages of a piece, if they do.
    turn_pages: Option<u64>,
    /// When each page is read, soonest first.
    uses: PageMap<Uses>,
    /// Pages in memory that will be read, by when.
    kept: BTreeSet<(u64, PageName)>,
    /// Pages that a task is reading: they cannot leave.
    delivered: Vec<Vec<PageName>>,
    /// Pages of holes, to be dropped when they have come.
    garbage: VecDeque<PageName>,
    unsubmitted: VecDeque<PageRun>,
    /// In memory from the beginning.
    cached: Vec<(u32, u64, u64)>,
}

impl Oracle {
    pub(super) fn new(settings: &OracleSettings, machine: &Machine, job: &Job) -> Self {
        let mut groups: Vec<_> = job.processes.iter().flat_map(groups_of).collect();
        let style = settings.style;
        let programs = groups.len() as u64;
        let window_pages =
            style.window_pages(settings.window_pages, programs, machine.memory_pages);
        let pages = |spec: &ahead_workload::FileSpec| spec.bytes.div_ceil(PAGE_BYTES);
        for group in &mut groups {
            group.batch_pages = style.first_pages().min(window_pages);
        }
        let file_pages: Vec<_> = job.files.iter().map(pages).collect();
        let turn_pages = style.turn_pages();
        let from_the_start = job.processes.iter().flat_map(groups_of);
        let work = from_the_start
            .filter(|_| turn_pages.is_some())
            .map(|group| group.into_work(&file_pages))
            .collect();
        Self {
            window_pages,
            memory_pages: machine.cache_pages(),
            pricing: Pricing::of(&machine.disk, machine.capacity),
            file_pages,
            groups,
            work,
            turn_pages,
            uses: PageMap::default(),
            kept: BTreeSet::new(),
            delivered: Vec::new(),
            garbage: VecDeque::new(),
            unsubmitted: VecDeque::new(),
            cached: job.cached.clone(),
        }
    }

    /// A task of `group` takes its next step of interest.
    pub(super) fn on_step<O: WorldObserver>(
        &mut self,
        task: u32,
        group: u32,
        kernel: &mut Kernel<O>,
        now_ns: u64,
    ) {
        if self.delivered.len() <= at(task) {
            self.delivered.resize(at(task) + 1, Vec::new());
        }
        self.learn(at(group));
        for page in std::mem::take(&mut self.delivered[at(task)]) {
            match self.uses.get(&page).map(Uses::first) {
                Some(first) => {
                    self.kept.insert((first, page));
                }
                None => kernel.forget(now_ns, FileId(page.0), page.1, 1),
            }
        }
        if !self.cached.is_empty() {
            self.take_over_cached(kernel, now_ns);
        }
        if self.groups[at(group)].fetched == 0 {
            self.fetch(at(group), kernel, now_ns);
        }
        let known = &mut self.groups[at(group)];
        let Some(item) = known.items.pop_front() else {
            return;
        };
        known.known_pages -= item.pages;
        known.note_taken(&item);
        for step in 0..item.pages {
            let page = (item.file, item.start + step);
            self.note_use(task, page, item.position + step);
        }
        self.pump(kernel, now_ns);
    }

    /// Fetches for whoever has less than half a window.
    pub(super) fn pump<O: WorldObserver>(&mut self, kernel: &mut Kernel<O>, now_ns: u64) {
        while let Some(&(file, page)) = self.garbage.front() {
            if kernel.cache.state(FileId(file), page) == PageState::InFlight {
                break;
            }
            self.garbage.pop_front();
            if !self.uses.contains_key(&(file, page)) {
                kernel.forget(now_ns, FileId(file), page, 1);
            }
        }
        if !kernel.resubmit(now_ns, &mut self.unsubmitted) {
            return;
        }
        if let Some(pages) = self.turn_pages {
            self.take_turns(pages, kernel, now_ns);
            return;
        }
        for group in 0..self.groups.len() {
            if self.groups[group].fetched_pages <= self.groups[group].batch_pages / 2 {
                self.learn(group);
                self.fetch(group, kernel, now_ns);
            }
        }
    }

    /// While less than two pieces of `pages` are under way, fetches one for the program that is in the
    /// greatest need.
    fn take_turns<O: WorldObserver>(&mut self, pages: u64, kernel: &mut Kernel<O>, now_ns: u64) {
        let mut waiting: Vec<_> = (0..self.groups.len()).collect();
        while kernel.queue.queued_pages() < pages * 2 {
            waiting.retain(|group| self.groups[*group].fetched_pages < self.window_pages);
            let Some(&group) = waiting.iter().min_by_key(|group| self.lead(**group)) else {
                return;
            };
            self.learn(group);
            let before = self.groups[group].fetched_pages;
            self.fetch(group, kernel, now_ns);
            if self.groups[group].fetched_pages == before {
                waiting.retain(|other| *other != group);
            }
        }
    }

    /// How much of what a program still has to do its pages in memory stand for, in millionths. Whoever has
    /// the least ends last.
    fn lead(&self, group: usize) -> u64 {
        let (work, known) = (self.work[group], &self.groups[group]);
        let left = work.pages.saturating_sub(known.taken_pages()).max(1);
        let own_pages = work.own_ns / self.pricing.page_ns();
        let left_of_all = u128::from(work.pages + own_pages) * u128::from(left);
        let per_page = u128::from(known.fetched_pages) * u128::from(work.pages.max(1));
        u64::try_from(per_page * 1_000_000 / left_of_all.max(1)).unwrap_or(u64::MAX)
    }

    /// The page is being read at `position`.
    fn note_use(&mut self, task: u32, page: PageName, position: u64) {
        if let Some(uses) = self.uses.get_mut(&page) {
            self.kept.remove(&(uses.first(), page));
            if uses.remove(position) {
                self.uses.remove(&page);
            }
        }
        self.delivered[at(task)].push(page);
    }

    /// Runs ahead in a program until two memories are known.
    fn learn(&mut self, group: usize) {
        let known = &mut self.groups[group];
        let enough = self.memory_pages.saturating_mul(2).max(self.window_pages);
        while known.known_pages < enough && !known.is_at_end {
            let Some(item) = known.next_item(&self.file_pages) else {
                known.is_at_end = true;
                break;
            };
            known.items.push_back(item);
            known.known_pages += item.pages;
            for step in 0..item.pages {
                let page = (item.file, item.start + step);
                let position = item.position + step;
                let Some(uses) = self.uses.get_mut(&page) else {
                    self.uses.insert(page, Uses::new(position));
                    continue;
                };
                let before = uses.first();
                uses.insert(position);
                if position < before && self.kept.remove(&(before, page)) {
                    self.kept.insert((position, page));
                }
            }
        }
    }

    /// Pages that were in memory when the clock started are kept for their use, or leave.
    fn take_over_cached<O: WorldObserver>(&mut self, kernel: &mut Kernel<O>, now_ns: u64) {
        for group in 0..self.groups.len() {
            self.learn(group);
        }
        for (file, start, pages) in std::mem::take(&mut self.cached) {
            for page in start..start + pages {
                let name = (file, page);
                if kernel.cache.state(FileId(file), page) != PageState::Valid {
                    continue;
                }
                match self.uses.get(&name).map(Uses::first) {
                    Some(first) => {
                        self.kept.insert((first, name));
                    }
                    None => kernel.forget(now_ns, FileId(file), page, 1),
                }
            }
        }
    }

    /// Starts what a program reads next, up to its window, sorted by place.
    fn fetch<O: WorldObserver>(&mut self, group: usize, kernel: &mut Kernel<O>, now_ns: u64) {
        let mut wanted: Vec<(u64, PageName)> = Vec::new();
        let known = &mut self.groups[group];
        let batch_pages = if let Some(pages) = self.turn_pages {
            known.fetched_pages + pages
        } else {
            let doubled = known.batch_pages.saturating_mul(2).min(self.window_pages);
            std::mem::replace(&mut known.batch_pages, doubled)
        };
        let resident = kernel.cache.resident_pages();
        let space = self.memory_pages.saturating_sub(resident);
        let mut space = space.min(kernel.cache.pages_that_fit());
        let mut before = (u32::MAX, 0);
        let mut position_after = 0;
        while let Some((item, step)) = self.groups[group].next_to_fetch() {
            let page = (item.file, item.start + step);
            let position = item.position + step;
            // What is read next has to come in any case.
            if self.groups[group].fetched > 0 {
                let is_cut = page != (before.0, before.1 + 1) || page.1.is_multiple_of(CUT_PAGES);
                let is_enough = self.groups[group].fetched_pages >= batch_pages
                    || space < CUT_PAGES && !self.has_later(position);
                if item.pages == 0 || is_cut && is_enough {
                    break;
                }
            }
            if item.pages > 0 && !self.take(page, position, &mut space, &mut wanted, kernel, now_ns)
            {
                break;
            }
            before = page;
            position_after = position;
            self.groups[group].note_fetched(&item);
        }
        let space = self.complete_blocks(&mut wanted, position_after, space, kernel, now_ns);
        self.start(wanted, space, kernel, now_ns);
    }

    /// Adds what else will soon be read of the blocks that a batch touches: read alone, it would cost the disk
    /// the same block again. Returns the space that is left.
    fn complete_blocks<O: WorldObserver>(
        &mut self,
        wanted: &mut Vec<(u64, PageName)>,
        position: u64,
        mut space: u64,
        kernel: &mut Kernel<O>,
        now_ns: u64,
    ) -> u64 {
        let horizon = position.saturating_add(self.window_pages);
        let blocks: BTreeSet<_> = wanted
            .iter()
            .map(|(_, (file, page))| (*file, page - page % CUT_PAGES))
            .collect();
        for (file, start) in blocks {
            for page in start..start + CUT_PAGES {
                let is_soon = |uses: &Uses| uses.first() <= horizon;
                let name = (file, page);
                if space > 0 && self.uses.get(&name).is_some_and(is_soon) {
                    self.take(name, u64::MAX, &mut space, wanted, kernel, now_ns);
                }
            }
        }
        space
    }

    /// Makes a page part of a batch unless it is in memory; false if memory is too full for it.
    fn take<O: WorldObserver>(
        &mut self,
        page: PageName,
        position: u64,
        space: &mut u64,
        wanted: &mut Vec<(u64, PageName)>,
        kernel: &mut Kernel<O>,
        now_ns: u64,
    ) -> bool {
        let (file, number) = (FileId(page.0), page.1);
        if kernel.cache.state(file, number) != PageState::Absent {
            return true;
        }
        if *space == 0 && !self.make_space(position, kernel, now_ns) {
            return false;
        }
        *space = space.saturating_sub(1);
        wanted.push((kernel.files.disk_offset(file, number), page));
        if let Some(first) = self.uses.get(&page).map(Uses::first) {
            self.kept.insert((first, page));
        }
        // In the cache at once, so that a second use in the same batch finds it.
        kernel.put_in_flight(now_ns, file, &page_window(number));
        true
    }

    /// Whether some page in memory is needed later than at `position`.
    fn has_later(&self, position: u64) -> bool {
        self.kept.last().is_some_and(|(last, _)| *last > position)
    }

    /// Lets the page go that is needed last, if that is after `position`.
    fn make_space<O: WorldObserver>(
        &mut self,
        position: u64,
        kernel: &mut Kernel<O>,
        now_ns: u64,
    ) -> bool {
        while let Some(&(last, page)) = self.kept.last() {
            let (file, number) = (FileId(page.0), page.1);
            match kernel.cache.state(file, number) {
                PageState::Absent => {
                    self.kept.pop_last();
                }
                PageState::Valid if last > position => {
                    self.kept.pop_last();
                    kernel.forget(now_ns, file, number, 1);
                    return true;
                }
                PageState::Valid | PageState::InFlight | PageState::Stale => return false,
            }
        }
        false
    }

    /// Submits pages that are in flight already, sorted by place, through holes where it pays.
    fn start<O: WorldObserver>(
        &mut self,
        mut wanted: Vec<(u64, PageName)>,
        mut space: u64,
        kernel: &mut Kernel<O>,
        now_ns: u64,
    ) {
        wanted.sort_unstable();
        let mut run: Option<PageRun> = None;
        for (offset, (file, page)) in wanted {
            if let Some(last) = &mut run
                && last.file == FileId(file)
                && last.start + last.pages <= page
            {
                let hole = page - last.start - last.pages;
                let end = last.disk_offset + last.pages * PAGE_BYTES;
                if end + hole * PAGE_BYTES == offset
                    && hole <= space
                    && self.pricing.is_worth_it(last.pages, hole)
                    && self.fill(last, hole, kernel, now_ns)
                {
                    space -= hole;
                    last.pages += hole + 1;
                    continue;
                }
            }
            let next = PageRun {
                file: FileId(file),
                start: page,
                pages: 1,
                disk_offset: offset,
                direction: IoDirection::Read,
            };
            if let Some(last) = run.replace(next) {
                self.submit(last, kernel, now_ns);
            }
        }
        if let Some(last) = run {
            self.submit(last, kernel, now_ns);
        }
    }

    fn submit<O: WorldObserver>(&mut self, run: PageRun, kernel: &mut Kernel<O>, now_ns: u64) {
        kernel.submit(now_ns, run, &mut self.unsubmitted);
        let moment = WorldMoment {
            now_ns,
            task: 0,
            process: 0,
            file: run.file,
        };
        let end = run.start + run.pages;
        let started = Started {
            start: run.start,
            pages: run.pages,
            io_pages: run.pages,
            async_pages: run.pages,
            class: Class::Advice,
            is_asynchronous: true,
            at_end_of_file: end >= kernel.files.pages(run.file),
        };
        kernel.observer.on_started(&moment, &started);
    }

    /// Takes the pages of a hole behind `run` along; not possible when one of them is there.
    fn fill<O: WorldObserver>(
        &mut self,
        run: &PageRun,
        hole: u64,
        kernel: &mut Kernel<O>,
        now_ns: u64,
    ) -> bool {
        let (start, end) = (run.start + run.pages, run.start + run.pages + hole);
        if hole == 0 {
            return true;
        }
        if kernel.cache.first_present(run.file, start, hole).is_some() {
            return false;
        }
        for page in start..end {
            kernel.put_in_flight(now_ns, run.file, &page_window(page));
            let name = (run.file.0, page);
            // Somebody may read it later; then it was no hole.
            match self.uses.get(&name).map(Uses::first) {
                Some(first) => {
                    self.kept.insert((first, name));
                }
                None => self.garbage.push_back(name),
            }
        }
        true
    }
}

fn page_window(page: u64) -> Window {
    Window {
        start: page,
        pages: 1,
        class: Class::Advice,
        ..Window::default()
    }
}
