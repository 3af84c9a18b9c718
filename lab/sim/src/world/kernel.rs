//! The kernel of a world: cache, queue and files, and how an algorithm sees them.
//!
//! [`KernelHost`] is what one call of an algorithm gets. Pages that it starts are in the cache,
//! in flight, at once. Neighbouring folios become one run for the queue and one window for the
//! observer; [`KernelHost::finish`] hands both over when the call is done. A run that finds the
//! queue full is left in the task's list, and the task waits until it is in; a run that may be
//! dropped ends at the page that found no place, which stays in the cache, not up to date.

use std::collections::VecDeque;

use ahead_replicas::kernel::{Advice, Call, Host, Learned, PageState, Window};
use ahead_units::Timestamp;

use super::dirty::WriteBack;
use super::files::Files;
use super::machine::Costs;
use super::observer::{Started, WorldMoment, WorldObserver};
use super::page_set::PageSet;

use crate::queue::{PageRun, RequestQueue};
use ahead_replicas::page_cache::{CacheObserver, Evicted, FileId, GROUP_COUNT_NS, PageCache};

/// A mapping of a file.
#[derive(Debug)]
pub(super) struct Area {
    pub(super) file: FileId,
    pub(super) descriptor: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) advice: Advice,
    pub(super) executable: bool,
    /// Pages that a touch reaches without a fault.
    pub(super) mapped: PageSet,
}

/// Everything that tasks share.
pub(super) struct Kernel<O> {
    pub(super) cache: PageCache,
    pub(super) queue: RequestQueue,
    pub(super) files: Files,
    pub(super) write_back: WriteBack,
    pub(super) observer: O,
    /// Pages that reclaim took and that have not come back.
    pub(super) evicted: PageSet,
    pub(super) areas: Vec<Area>,
    pub(super) learned: Learned,
    pub(super) costs: Costs,
    pub(super) folio_order_max: u8,
    /// Pages of the largest request.
    pub(super) io_pages: u64,
    /// Pages in the cache that are neither in flight nor up to date.
    pub(super) stale: u64,
    /// The queue may have a new next event.
    pub(super) queue_moved: bool,
    /// When the pages of a control group are counted next.
    pub(super) group_counted_ns: u64,
    /// Runs were submitted since the last unplug.
    pub(super) is_plugged: bool,
}

/// Where pages go that leave the cache.
struct Leaving<'a, O> {
    now_ns: u64,
    observer: &'a mut O,
    evicted: &'a mut PageSet,
    areas: &'a mut [Area],
}

impl<O: WorldObserver> CacheObserver for Leaving<'_, O> {
    fn on_evicted(&mut self, evicted: &Evicted) {
        self.evicted.insert(evicted.file.0, evicted.page);
        unmap(self.areas, evicted.file, evicted.page);
        self.observer.on_evicted(self.now_ns, evicted);
    }

    fn on_dropped(&mut self, dropped: &Evicted) {
        unmap(self.areas, dropped.file, dropped.page);
        self.observer.on_dropped(self.now_ns, dropped);
    }
}

fn unmap(areas: &mut [Area], file: FileId, page: u64) {
    for area in areas.iter_mut().filter(|area| area.file == file) {
        area.mapped.remove(file.0, page);
    }
}

impl<O: WorldObserver> Kernel<O> {
    /// Puts the absent pages `[start, start + pages)` of `window` into the cache, in flight; how many
    /// of them memory took, which are the first.
    fn insert(
        &mut self,
        now_ns: u64,
        file: FileId,
        start: u64,
        pages: u64,
        window: &Window,
    ) -> u64 {
        if now_ns >= self.group_counted_ns {
            self.cache.count_group();
            self.group_counted_ns += GROUP_COUNT_NS;
        }
        let mut leaving = Leaving {
            now_ns,
            observer: &mut self.observer,
            evicted: &mut self.evicted,
            areas: &mut self.areas,
        };
        let part = Window {
            start,
            pages,
            ..*window
        };
        let taken = self.cache.insert(file, &part, &mut leaving);
        self.evicted.remove_range(file.0, start, taken);
        taken
    }

    /// Puts the absent pages of `window` into the cache, in flight; their runs are the caller's to
    /// submit.
    pub(super) fn put_in_flight(&mut self, now_ns: u64, file: FileId, window: &Window) {
        self.insert(now_ns, file, window.start, window.pages, window);
    }

    /// Forgets pages that are up to date.
    pub(super) fn forget(&mut self, now_ns: u64, file: FileId, start: u64, pages: u64) {
        let mut leaving = Leaving {
            now_ns,
            observer: &mut self.observer,
            evicted: &mut self.evicted,
            areas: &mut self.areas,
        };
        self.cache.forget(file, start, pages, &mut leaving);
    }

    /// Hands a run to the queue; what finds no place stays in `unsubmitted`. Returns whether a
    /// part of it was taken.
    pub(super) fn submit(
        &mut self,
        now_ns: u64,
        run: PageRun,
        unsubmitted: &mut VecDeque<PageRun>,
    ) -> bool {
        // What waits already goes first.
        let taken = if unsubmitted.is_empty() {
            self.queue.submit(Timestamp::new(now_ns), run, false)
        } else {
            0
        };
        self.note_submission(taken);
        if taken < run.pages {
            unsubmitted.push_back(run.skip(taken));
        }
        taken > 0
    }

    /// Tries again what found no place before; whether everything is in now.
    pub(super) fn resubmit(&mut self, now_ns: u64, unsubmitted: &mut VecDeque<PageRun>) -> bool {
        while let Some(run) = unsubmitted.front_mut() {
            let taken = self.queue.submit(Timestamp::new(now_ns), *run, false);
            self.queue_moved |= taken > 0;
            self.is_plugged |= taken > 0;
            if taken < run.pages {
                *run = run.skip(taken);
                return false;
            }
            unsubmitted.pop_front();
        }
        true
    }

    /// Submits what is to be written to the disk now.
    pub(super) fn submit_dirty(&mut self, now_ns: u64) {
        let moved = self.write_back.submit(now_ns, &mut self.queue, &self.files);
        self.queue_moved |= moved;
    }

    fn note_submission(&mut self, taken: u64) {
        self.queue_moved |= taken > 0;
        self.is_plugged |= taken > 0;
    }

    /// A call that submitted something is over: the callers' plugs are pulled.
    pub(super) fn end_call(&mut self, now_ns: u64) {
        if self.is_plugged {
            self.queue_moved = true;
            self.queue.end_call(Timestamp::new(now_ns));
        }
    }

    /// A task waits: every plug is pulled.
    pub(super) fn unplug(&mut self, now_ns: u64) {
        if self.is_plugged {
            self.is_plugged = false;
            self.queue_moved = true;
            self.queue.unplug(Timestamp::new(now_ns));
        }
    }
}

/// One call of an algorithm.
pub(super) struct KernelHost<'a, O: WorldObserver> {
    kernel: &'a mut Kernel<O>,
    unsubmitted: &'a mut VecDeque<PageRun>,
    moment: WorldMoment,
    /// The page that the reader has reached is in the cache.
    is_asynchronous: bool,
    run: Option<PageRun>,
    window: Option<(Started, Option<u64>)>,
    cost_ns: u64,
    started: u64,
}

impl<'a, O: WorldObserver> KernelHost<'a, O> {
    #[inline]
    pub(super) fn new(
        kernel: &'a mut Kernel<O>,
        unsubmitted: &'a mut VecDeque<PageRun>,
        moment: WorldMoment,
        is_asynchronous: bool,
    ) -> Self {
        Self {
            kernel,
            unsubmitted,
            moment,
            is_asynchronous,
            run: None,
            window: None,
            cost_ns: 0,
            started: 0,
        }
    }

    /// Pages started so far in this call.
    pub(super) fn started(&self) -> u64 {
        self.started
    }

    /// Ends the call: processor time it took, and pages it started.
    #[inline]
    pub(super) fn finish(mut self) -> (u64, u64) {
        if self.started > 0 || self.window.is_some() {
            self.hand_over();
        }
        (self.cost_ns, self.started)
    }

    /// One of several system calls in a row is over: what it started is submitted by itself, and
    /// the call's plug is pulled.
    pub(super) fn end_one_call(&mut self) {
        self.hand_over();
        self.kernel.end_call(self.moment.now_ns);
    }

    fn hand_over(&mut self) {
        if let Some(run) = self.run.take() {
            self.submit(run);
        }
        if let Some((mut started, mark)) = self.window.take() {
            let end = started.start + started.pages;
            started.async_pages = mark.map_or(0, |mark| end.saturating_sub(mark));
            self.kernel.observer.on_started(&self.moment, &started);
        }
    }

    fn submit(&mut self, run: PageRun) {
        self.cost_ns += self.kernel.costs.request_ns;
        self.kernel
            .submit(self.moment.now_ns, run, self.unsubmitted);
    }

    /// Collects runs that touch on the disk.
    fn collect(&mut self, start: u64, pages: u64) {
        let file = self.moment.file;
        for run in self.kernel.files.runs(file, start, pages) {
            match &mut self.run {
                Some(last)
                    if last.start + last.pages == run.start
                        && last.skip(last.pages).disk_offset == run.disk_offset =>
                {
                    last.pages += run.pages;
                }
                _ => {
                    if let Some(last) = self.run.replace(run) {
                        self.submit(last);
                    }
                }
            }
        }
    }

    /// Notes `pages` asked for and `io_pages` started; continues the newest window where it ends.
    fn note(&mut self, window: &Window, end: u64, io_pages: u64) {
        let at_end_of_file = end >= self.kernel.files.pages(self.moment.file);
        self.started += io_pages;
        let pages = end - window.start;
        if let Some((last, mark)) = &mut self.window
            && last.class == window.class
            && last.start + last.pages == window.start
        {
            last.pages += pages;
            last.io_pages += io_pages;
            last.at_end_of_file |= at_end_of_file;
            *mark = mark.or(window.mark);
            return;
        }
        let started = Started {
            start: window.start,
            pages,
            io_pages,
            async_pages: 0,
            class: window.class,
            is_asynchronous: self.is_asynchronous,
            at_end_of_file,
        };
        if let Some((mut last, mark)) = self.window.replace((started, window.mark)) {
            let end = last.start + last.pages;
            last.async_pages = mark.map_or(0, |mark| end.saturating_sub(mark));
            self.kernel.observer.on_started(&self.moment, &last);
        }
    }

    /// The first run of pages to start in `[from, end)`: absent ones, or one that is stale.
    fn next_hole(&self, from: u64, end: u64) -> Option<(u64, u64, bool)> {
        let (cache, file) = (&self.kernel.cache, self.moment.file);
        let absent = cache.next_absent_run(file, from, end);
        if self.kernel.stale > 0 {
            let limit = absent.map_or(end, |(start, _)| start);
            let stale = (from..limit).find(|&page| cache.state(file, page) == PageState::Stale);
            if let Some(page) = stale {
                return Some((page, 1, true));
            }
        }
        absent.map(|(start, pages)| (start, pages, false))
    }

    /// Starts one run that may be dropped; how many pages of it found a place.
    fn start_droppable(&mut self, window: &Window, start: u64, pages: u64, was_stale: bool) -> u64 {
        let (file, now_ns) = (self.moment.file, self.moment.now_ns);
        if let Some(run) = self.run.take() {
            self.submit(run);
        }
        let mut taken = 0;
        for run in self.kernel.files.runs(file, start, pages) {
            let accepted = self
                .kernel
                .queue
                .submit(Timestamp::new(now_ns), run, true)
                .min(run.pages);
            self.kernel.note_submission(accepted);
            if accepted > 0 {
                self.cost_ns += self.kernel.costs.request_ns;
                if was_stale {
                    self.kernel.stale -= accepted;
                    self.kernel.cache.set_in_flight(file, run.start, accepted);
                } else {
                    self.kernel
                        .insert(now_ns, file, run.start, accepted, window);
                }
            }
            taken += accepted;
            if accepted < run.pages {
                if !was_stale {
                    // The page was put into the cache before the queue refused it.
                    let refused = run.start + accepted;
                    self.kernel.insert(now_ns, file, refused, 1, window);
                    self.kernel.cache.set_stale(file, refused, 1);
                    self.kernel.stale += 1;
                }
                break;
            }
        }
        self.cost_ns += self.kernel.costs.page_insert_ns * taken;
        taken
    }
}

impl<O: WorldObserver> Host for KernelHost<'_, O> {
    fn file_bytes(&self) -> u64 {
        self.kernel.files.bytes(self.moment.file)
    }

    #[inline]
    fn state(&self, page: u64) -> PageState {
        self.kernel.cache.state(self.moment.file, page)
    }

    fn start(&mut self, window: &Window) -> u64 {
        let (file, now_ns) = (self.moment.file, self.moment.now_ns);
        let file_pages = self.kernel.files.pages(file);
        let mut end = window.start.saturating_add(window.pages).min(file_pages);
        if window.start >= end {
            return 0;
        }
        if window.order > 0 {
            let cache = &self.kernel.cache;
            if cache
                .first_present(file, window.start, window.pages)
                .is_some()
            {
                return 0;
            }
            let taken = self
                .kernel
                .insert(now_ns, file, window.start, window.pages, window);
            if taken == 0 {
                return 0;
            }
            // The part of the folio behind the end of the file has no place on the disk.
            self.collect(window.start, end - window.start);
            self.note(window, end, end - window.start);
            self.cost_ns += self.kernel.costs.page_insert_ns;
            return window.pages;
        }
        let (mut from, mut started) = (window.start, 0);
        while from < end
            && let Some((start, pages, was_stale)) = self.next_hole(from, end)
        {
            from = start + pages;
            if window.may_drop {
                let taken = self.start_droppable(window, start, pages, was_stale);
                started += taken;
                if taken < pages {
                    break;
                }
                continue;
            }
            let taken = if was_stale {
                self.kernel.stale -= pages;
                self.kernel.cache.set_in_flight(file, start, pages);
                pages
            } else {
                self.kernel.insert(now_ns, file, start, pages, window)
            };
            self.collect(start, taken);
            self.cost_ns += self.kernel.costs.page_insert_ns * taken;
            started += taken;
            if taken < pages {
                end = start + taken;
                break;
            }
        }
        self.note(window, end, started);
        started
    }

    fn folio(&self, page: u64) -> (u64, u64) {
        self.kernel.cache.folio(self.moment.file, page)
    }

    #[inline]
    fn is_marked(&self, page: u64) -> bool {
        self.kernel.cache.is_marked(self.moment.file, page)
    }

    fn clear_mark(&mut self, page: u64) {
        self.kernel.cache.clear_mark(self.moment.file, page);
    }

    fn set_mark(&mut self, page: u64) {
        self.kernel.cache.set_mark(self.moment.file, page);
    }

    fn first_absent(&self, from: u64, pages: u64) -> Option<u64> {
        self.kernel
            .cache
            .first_absent(self.moment.file, from, pages)
    }

    fn first_present(&self, from: u64, pages: u64) -> Option<u64> {
        self.kernel
            .cache
            .first_present(self.moment.file, from, pages)
    }

    fn last_absent(&self, from: u64, pages: u64) -> Option<u64> {
        self.kernel.cache.last_absent(self.moment.file, from, pages)
    }

    fn is_congested(&self) -> bool {
        self.kernel.queue.is_congested()
    }

    fn io_pages(&self) -> u64 {
        self.kernel.io_pages
    }

    fn folio_order_max(&self) -> u8 {
        self.kernel.folio_order_max
    }

    fn reclaimable_pages(&self) -> u64 {
        self.kernel.cache.reclaimable_pages()
    }

    fn aging_clock(&self) -> u64 {
        self.kernel.cache.aging_clock()
    }

    fn is_active(&self, page: u64) -> bool {
        self.kernel.cache.is_active(self.moment.file, page)
    }

    fn is_referenced(&self, page: u64) -> bool {
        self.kernel.cache.is_referenced(self.moment.file, page)
    }

    fn rescue(&mut self, page: u64) {
        self.kernel.cache.rescue(self.moment.file, page);
    }

    fn learned(&mut self) -> &mut Learned {
        &mut self.kernel.learned
    }

    fn on_call(&mut self, call: Call) {
        self.kernel.observer.on_call(&self.moment, &call);
    }
}
