//! Writing: pages that programs have written, and how they get to the disk.
//!
//! A write puts whole pages into memory, where they are *dirty*: they can be read, and cannot leave.
//! They go to the disk
//! * when there are more of them than the *background* share of memory, until there are not;
//! * when a file has been dirty for [`expire_ns`](WriteBackSettings::expire_ns): looked for every
//!   [`period_ns`](WriteBackSettings::period_ns).
//!
//! Files take turns, the one that has been dirty for longest first, 4 MiB of each, ascending
//! (`MAX_WRITEBACK_PAGES` and the list of dirty inodes of 2.6). Whoever writes while dirty pages and
//! those on their way to the disk are more than the *limit* waits until they are not.
//!
//! This is a twin of Linux 2.6, and differs: who writes back has no processor time and is never late; a
//! writer over the limit waits for those who write back, where before 3.1 it submitted pages itself and
//! since then is slowed before it gets there; there is no fsync, no journal and no block that has to be
//! found first; a page that is written while it is being read waits for that, one that is on its way
//! to the disk does not.

use std::collections::{BTreeMap, VecDeque};

use ahead_replicas::kernel::{PageState, ReadAhead};
use ahead_units::{PAGE_BYTES, Timestamp};

use super::events::Event;
use super::kernel::Kernel;
use super::observer::{Work, WorldObserver};
use super::page_set::PageSet;
use super::state::World;
use super::task::{Flow, WriteWalk, at};
use super::walk::single;
use crate::queue::{Direction, Done, PageRun};
use ahead_replicas::page_cache::FileId;

/// Pages of one file that are written back before the next file has its turn.
const TURN_PAGES: u64 = 1024;

/// When dirty pages are written, as `vm.dirty_*` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBackSettings {
    /// Percent of memory that may be dirty before write-back begins.
    pub background_percent: u64,
    /// Percent of memory, dirty or on its way to the disk, at which writers wait.
    pub limit_percent: u64,
    /// How long a file stays dirty when nothing else asks for it.
    pub expire_ns: u64,
    /// How often that is looked for.
    pub period_ns: u64,
}

impl WriteBackSettings {
    /// Linux since 2.6.22: 10 and 20 percent, 30 s, 5 s.
    #[must_use]
    pub const fn linux() -> Self {
        Self {
            background_percent: 10,
            limit_percent: 20,
            expire_ns: 30_000_000_000,
            period_ns: 5_000_000_000,
        }
    }

    /// Linux 2.6 until then: 40 percent at most.
    #[must_use]
    pub const fn linux_2_6_18() -> Self {
        Self {
            limit_percent: 40,
            ..Self::linux()
        }
    }
}

/// A file with dirty pages.
#[derive(Debug)]
struct DirtyFile {
    file: FileId,
    since_ns: u64,
    /// First page, and how many.
    runs: BTreeMap<u64, u64>,
}

impl DirtyFile {
    fn add(&mut self, page: u64) {
        let before = self.runs.range_mut(..=page).next_back();
        if let Some((_, pages)) = before.filter(|(start, pages)| **start + **pages == page) {
            *pages += 1;
        } else {
            self.runs.insert(page, 1);
        }
    }
}

/// Dirty pages, and those on their way to the disk.
#[derive(Debug)]
pub(super) struct WriteBack {
    settings: WriteBackSettings,
    memory_pages: u64,
    /// Dirty for longest first.
    files: VecDeque<DirtyFile>,
    /// Pages in `files`.
    listed: PageSet,
    dirty_pages: u64,
    writing_pages: u64,
    /// Files that have been dirty since before then are written.
    old_before_ns: u64,
    is_look_announced: bool,
    unsubmitted: VecDeque<PageRun>,
    /// Writers over the limit.
    waiters: Vec<u32>,
}

impl WriteBack {
    pub(super) fn new(settings: WriteBackSettings, memory_pages: u64) -> Self {
        Self {
            settings,
            memory_pages,
            files: VecDeque::new(),
            listed: PageSet::default(),
            dirty_pages: 0,
            writing_pages: 0,
            old_before_ns: 0,
            is_look_announced: false,
            unsubmitted: VecDeque::new(),
            waiters: Vec::new(),
        }
    }

    fn is_over_limit(&self) -> bool {
        let limit = self.memory_pages * self.settings.limit_percent / 100;
        self.dirty_pages + self.writing_pages > limit.max(1)
    }

    fn is_over_background(&self) -> bool {
        self.dirty_pages > self.memory_pages * self.settings.background_percent / 100
    }

    fn add(&mut self, now_ns: u64, file: FileId, page: u64) {
        if !self.listed.insert(file.0, page) {
            return;
        }
        self.dirty_pages += 1;
        if let Some(known) = self.files.iter_mut().find(|known| known.file == file) {
            known.add(page);
            return;
        }
        self.files.push_back(DirtyFile {
            file,
            since_ns: now_ns,
            runs: [(page, 1)].into(),
        });
    }

    /// The pages to write next, if any are to be written now.
    fn next_turn(&mut self, now_ns: u64) -> Option<(FileId, Vec<(u64, u64)>)> {
        let oldest = self.files.front()?;
        if !self.is_over_background() && oldest.since_ns >= self.old_before_ns {
            return None;
        }
        let mut taken = self.files.pop_front()?;
        let (mut left, mut turn) = (TURN_PAGES, Vec::new());
        while left > 0
            && let Some((start, pages)) = taken.runs.pop_first()
        {
            let now = pages.min(left);
            if now < pages {
                taken.runs.insert(start + now, pages - now);
            }
            self.listed.remove_range(taken.file.0, start, now);
            turn.push((start, now));
            left -= now;
        }
        let file = taken.file;
        if !taken.runs.is_empty() {
            taken.since_ns = now_ns;
            self.files.push_back(taken);
        }
        let pages = TURN_PAGES - left;
        self.dirty_pages -= pages;
        self.writing_pages += pages;
        Some((file, turn))
    }
}

impl<O: WorldObserver> Kernel<O> {
    /// Submits what is to be written now, as far as the queue takes it.
    pub(super) fn write_back(&mut self, now_ns: u64) {
        loop {
            while let Some(run) = self.write_back.unsubmitted.front_mut() {
                let taken = self.queue.submit(Timestamp::new(now_ns), *run, false);
                self.queue_moved |= taken > 0;
                if taken < run.pages {
                    *run = super::kernel::behind(*run, taken);
                    return;
                }
                self.write_back.unsubmitted.pop_front();
            }
            let Some((file, turn)) = self.write_back.next_turn(now_ns) else {
                return;
            };
            for (start, pages) in turn {
                let runs = self.files.runs(file, start, pages);
                self.write_back.unsubmitted.extend(runs.map(|run| PageRun {
                    direction: Direction::Write,
                    ..run
                }));
            }
        }
    }
}

impl<A: ReadAhead + Clone, O: WorldObserver> World<A, O> {
    /// Takes a write further: to its end, to a wait, or to the moment when something else is due; by
    /// one page at least.
    pub(super) fn write_on(&mut self, task: u32, walk: &mut WriteWalk) -> Flow {
        let process = self.tasks[at(task)].process;
        let file = walk.file;
        while walk.page < walk.end_page {
            if self.kernel.write_back.is_over_limit() {
                return Flow::WriteBack;
            }
            let page = walk.page;
            let costs = self.kernel.costs;
            let mut cost_ns = costs.page_lookup_ns + costs.page_copy_ns;
            match self.kernel.cache.state(file, page) {
                PageState::InFlight => return Flow::Page(file, page),
                PageState::Absent => {
                    self.kernel.put_in_flight(self.now_ns, file, &single(page));
                    cost_ns += costs.page_insert_ns;
                }
                PageState::Valid => {}
                // Written whole, so that what was to be read does not matter.
                PageState::Stale => self.kernel.stale -= 1,
            }
            self.kernel.cache.set_dirty(file, page);
            self.kernel.cache.access(file, page);
            self.kernel.write_back.add(self.now_ns, file, page);
            self.charge(Work::System, process, cost_ns);
            walk.page += 1;
            if self.now_ns >= self.horizon_ns {
                break;
            }
        }
        if self.kernel.write_back.is_over_background() {
            self.kernel.write_back(self.now_ns);
        }
        self.announce_look();
        Flow::Go
    }

    /// Somebody looks for files that have been dirty for long, as long as there are any.
    fn announce_look(&mut self) {
        let write_back = &mut self.kernel.write_back;
        if write_back.dirty_pages > 0 && !write_back.is_look_announced {
            write_back.is_look_announced = true;
            let period_ns = write_back.settings.period_ns.max(1);
            let next_ns = (self.now_ns / period_ns + 1) * period_ns;
            self.events.push(next_ns, Event::LookForDirty);
        }
    }

    /// It is time to look.
    pub(super) fn look_for_dirty(&mut self) {
        let write_back = &mut self.kernel.write_back;
        write_back.is_look_announced = false;
        write_back.old_before_ns = self.now_ns.saturating_sub(write_back.settings.expire_ns);
        self.kernel.write_back(self.now_ns);
        self.announce_look();
    }

    /// Whether a writer has to wait; it is woken when it has not.
    pub(super) fn waits_for_write_back(&mut self, task: u32) -> bool {
        self.kernel.write_back(self.now_ns);
        let waits = self.kernel.write_back.is_over_limit();
        if waits {
            self.kernel.write_back.waiters.push(task);
        }
        waits
    }

    /// Pages have reached the disk.
    pub(super) fn on_written(&mut self, done: &Done) {
        let kernel = &mut self.kernel;
        kernel.write_back.writing_pages -= done.pages;
        for page in done.start..done.start + done.pages {
            // Written again meanwhile.
            if !kernel.write_back.listed.contains(done.file.0, page) {
                kernel.cache.set_written(done.file, page);
            }
        }
        kernel.write_back(self.now_ns);
        if !self.kernel.write_back.is_over_limit() {
            for task in std::mem::take(&mut self.kernel.write_back.waiters) {
                self.wake(task);
            }
        }
    }

    /// The pages of a write: the first, and the one behind the last; none beyond the end of the file.
    pub(super) fn written_pages(&self, file: FileId, offset: u64, length: u64) -> (u64, u64) {
        let end = offset
            .saturating_add(length)
            .min(self.kernel.files.bytes(file));
        let first = offset / PAGE_BYTES;
        (first, end.div_ceil(PAGE_BYTES).max(first))
    }
}
