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

use ahead_units::Timestamp;

use super::files::Files;
use super::page_set::PageSet;
use crate::queue::{Done, IoDirection, PageRun, RequestQueue};
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

    /// Whether writers wait.
    pub(super) fn is_over_limit(&self) -> bool {
        let limit = self.memory_pages * self.settings.limit_percent / 100;
        self.dirty_pages + self.writing_pages > limit.max(1)
    }

    /// Whether so much is dirty that it is written at once.
    pub(super) fn is_over_background(&self) -> bool {
        self.dirty_pages > self.memory_pages * self.settings.background_percent / 100
    }

    /// A page of `file` has been written to.
    pub(super) fn add(&mut self, now_ns: u64, file: FileId, page: u64) {
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

    /// Submits what is to be written now, as far as the queue takes it; whether it took any.
    pub(super) fn submit(&mut self, now_ns: u64, queue: &mut RequestQueue, files: &Files) -> bool {
        let mut has_moved = false;
        loop {
            while let Some(run) = self.unsubmitted.front_mut() {
                let taken = queue.submit(Timestamp::new(now_ns), *run, false);
                has_moved |= taken > 0;
                if taken < run.pages {
                    *run = run.skip(taken);
                    return has_moved;
                }
                self.unsubmitted.pop_front();
            }
            let Some((file, turn)) = self.next_turn(now_ns) else {
                return has_moved;
            };
            for (start, pages) in turn {
                let runs = files.runs(file, start, pages);
                self.unsubmitted.extend(runs.map(|run| PageRun {
                    direction: IoDirection::Write,
                    ..run
                }));
            }
        }
    }

    /// Pages of a run have reached the disk; those of them that are dirty again stay so.
    pub(super) fn on_written(&mut self, done: &Done) -> impl Iterator<Item = u64> + '_ {
        self.writing_pages -= done.pages;
        let file = done.file.0;
        let pages = done.start..done.start + done.pages;
        pages.filter(move |page| !self.listed.contains(file, *page))
    }

    /// A task waits until less is dirty.
    pub(super) fn wait(&mut self, task: u32) {
        self.waiters.push(task);
    }

    /// Those who need not wait any more.
    pub(super) fn take_waiters(&mut self) -> Vec<u32> {
        if self.is_over_limit() {
            return Vec::new();
        }
        std::mem::take(&mut self.waiters)
    }

    /// When files that have been dirty for long are to be looked for next; `None` if that is known, or nothing
    /// is dirty.
    pub(super) fn next_look_ns(&mut self, now_ns: u64) -> Option<u64> {
        if self.dirty_pages == 0 || self.is_look_announced {
            return None;
        }
        self.is_look_announced = true;
        let period_ns = self.settings.period_ns.max(1);
        Some((now_ns / period_ns + 1) * period_ns)
    }

    /// It is time to look.
    pub(super) fn look(&mut self, now_ns: u64) {
        self.is_look_announced = false;
        self.old_before_ns = now_ns.saturating_sub(self.settings.expire_ns);
    }
}
