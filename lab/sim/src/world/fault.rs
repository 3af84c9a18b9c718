//! Touching mapped pages in virtual time: no kernel at all, fault-around, or a fault.
//!
//! A page that is mapped costs only the program's own work. The rules for others are those of
//! 6.18, as the running kernel shows them:
//!
//! 1. A fault first maps what is up to date and unlocked around it: the aligned block of
//!    `fault_around_pages`, inside the area and one page table. Folios with the look-ahead mark
//!    are left out, so that somebody comes across them. A large folio is mapped whole.
//! 2. The algorithm hears how many pages were seen there, mapped before or not.
//! 3. If that mapped the page, the fault is over. If not, the algorithm sees the fault, and the
//!    page is waited for as in a read.
//! 4. Who read something, waited, or found a mark begins again at 1, once.
//! 5. A page that is not mapped even then is mapped with its whole folio.
//!
//! With a block of one page, as before Linux 3.15, a fault maps its own page and nothing else.
//! Addresses lie in page tables as pages lie in the file. Pages that leave the cache are unmapped.

use ahead_replicas::kernel::{Fault, PageState, ReadAhead};

use super::observer::{Found, Work, WorldObserver};
use super::state::World;
use super::task::{Activity, Flow, Phase, TouchWalk, at};
use ahead_replicas::page_cache::FileId;

/// Pages of one page table.
const TABLE_PAGES: u64 = 512;

impl<A: ReadAhead + Clone, O: WorldObserver> World<A, O> {
    /// Takes the touches of `task` one page further, or to their end.
    pub(super) fn touch_on(&mut self, task: u32, walk: &mut TouchWalk) -> Flow {
        let area = &self.kernel.areas[at(walk.area)];
        let (file, descriptor) = (area.file, area.descriptor);
        if walk.page >= walk.end_page.min(area.end) {
            self.tasks[at(task)].activity = Activity::Between;
            return Flow::Go;
        }
        let process = self.tasks[at(task)].process;
        let page = walk.page;
        if walk.phase == Phase::Look {
            if area.mapped.contains(file.0, page) {
                // The processor marks the page as used, which reclaim sees later.
                let access = self.kernel.cache.access(file, page);
                let moment = self.moment(task, file);
                let observer = &mut self.kernel.observer;
                observer.on_mapped_access(&moment, page, &access);
                self.next_touch(process, walk);
                return Flow::Go;
            }
            walk.began_ns = self.now_ns;
            walk.neighbours = 0;
            let costs = &self.kernel.costs;
            let fault_ns = costs.fault_ns + costs.page_lookup_ns;
            let moment = self.moment(task, file);
            let found = self.look(&moment, page);
            self.fault_around(walk, descriptor);
            walk.begins_again = false;
            walk.phase = Phase::Deliver;
            if !self.is_mapped(walk) {
                walk.begins_again =
                    found != Found::Unlocked || self.kernel.cache.is_marked(file, page);
                self.call_on_fault(task, walk, found);
                walk.phase = Phase::Fetch;
            }
            self.charge(Work::System, process, fault_ns);
            if self.has_unsubmitted(task) {
                return Flow::Queue;
            }
        }
        if walk.phase == Phase::Fetch {
            walk.phase = Phase::Settle;
            let flow = self.fetch(task, descriptor, file, page);
            if flow != Flow::Go {
                return flow;
            }
        }
        if walk.phase == Phase::Settle {
            let flow = self.settle(task, file, page);
            if flow == Flow::Queue {
                return flow;
            }
            walk.phase = Phase::Deliver;
            if flow != Flow::Go {
                return flow;
            }
        }
        self.end_fault(task, walk, file, descriptor);
        Flow::Go
    }

    fn is_mapped(&self, walk: &TouchWalk) -> bool {
        let area = &self.kernel.areas[at(walk.area)];
        area.mapped.contains(area.file.0, walk.page)
    }

    fn call_on_fault(&mut self, task: u32, walk: &TouchWalk, found: Found) {
        let area = &self.kernel.areas[at(walk.area)];
        let fault = Fault {
            page: walk.page,
            area_start: area.start,
            area_end: area.end,
            advice: area.advice,
            executable: area.executable,
            ..Fault::default()
        };
        let (file, descriptor) = (area.file, area.descriptor);
        let moment = self.moment(task, file);
        let is_cached = found != Found::Missing;
        let (mut host, algorithm) = self.host(task, descriptor, moment, is_cached);
        algorithm.on_fault(&mut host, &fault);
        let (cost, started) = host.finish();
        if started > 0 {
            self.end_of_call();
        }
        let process = self.tasks[at(task)].process;
        self.charge(Work::System, process, cost);
    }

    /// Rules 1 and 2.
    fn fault_around(&mut self, walk: &mut TouchWalk, descriptor: u32) {
        let block = self.fault_around_pages;
        if block <= 1 {
            return;
        }
        let cache = &self.kernel.cache;
        let area = &mut self.kernel.areas[at(walk.area)];
        let file = area.file;
        let table = walk.page / TABLE_PAGES * TABLE_PAGES;
        let start = (walk.page / block * block).max(area.start);
        let end = (start + block).min(area.end).min(table + TABLE_PAGES);
        let mut seen = 0;
        let mut next = start;
        while next < end {
            if cache.state(file, next) != PageState::Valid {
                next += 1;
                continue;
            }
            let (first, behind) = cache.folio(file, next);
            if cache.is_marked(file, next) {
                next = behind;
                continue;
            }
            let has_space =
                first >= area.start.max(table) && behind <= area.end.min(table + TABLE_PAGES);
            let pages = if has_space {
                first..behind
            } else {
                next..behind.min(end)
            };
            seen += pages.end - pages.start;
            for page in pages {
                walk.neighbours += u64::from(area.mapped.insert(file.0, page));
            }
            next = behind;
        }
        if seen > 0 {
            self.descriptors[at(descriptor)]
                .algorithm
                .on_neighbours_mapped(seen);
        }
    }

    /// Rules 4 and 5.
    fn end_fault(&mut self, task: u32, walk: &mut TouchWalk, file: FileId, descriptor: u32) {
        let process = self.tasks[at(task)].process;
        let page = walk.page;
        if walk.begins_again {
            self.fault_around(walk, descriptor);
        }
        let moment = self.moment(task, file);
        if self.kernel.cache.state(file, page) != PageState::Absent {
            let access = self.kernel.cache.access(file, page);
            self.kernel.observer.on_access(&moment, page, &access);
            if !self.is_mapped(walk) {
                let (first, behind) = self.kernel.cache.folio(file, page);
                let area = &mut self.kernel.areas[at(walk.area)];
                for page in first.max(area.start)..behind.min(area.end) {
                    walk.neighbours += u64::from(area.mapped.insert(file.0, page));
                }
            }
        }
        let elapsed_ns = self.now_ns - walk.began_ns;
        self.end_of_call();
        let neighbours = walk.neighbours.saturating_sub(1);
        self.kernel
            .observer
            .on_fault_done(&moment, neighbours, elapsed_ns);
        self.next_touch(process, walk);
    }

    fn next_touch(&mut self, process: u32, walk: &mut TouchWalk) {
        self.charge(Work::User, process, self.kernel.costs.user_page_ns);
        walk.page += 1;
        walk.phase = Phase::Look;
    }
}
