//! Touching mapped pages in virtual time: no kernel at all, fault-around, or a fault.
//!
//! A page that is mapped costs only the program's own work. Otherwise a fault first looks whether
//! the cache has what it needs (fault-around: all pages of the aligned block that are up to date,
//! unlocked and without a mark are mapped; the algorithm only hears how many). If the page itself
//! is not among them, the algorithm sees the fault, and the page is waited for as in a read.
//! Pages that leave the cache are unmapped.

use ahead_policy::kernel::{Fault, PageState, ReadAhead};

use super::World;
use super::observer::{Found, Observer, Work};
use super::task::{Activity, Flow, Phase, TouchWalk, at};
use crate::cache::FileId;

impl<A: ReadAhead + Clone, O: Observer> World<A, O> {
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
                self.kernel.cache.access(file, page);
                let moment = self.moment(task, file);
                self.kernel.observer.on_mapped_access(&moment, page);
                self.next_touch(process, walk);
                return Flow::Go;
            }
            walk.began_ns = self.now_ns;
            let costs = &self.kernel.costs;
            let fault_ns = costs.fault_ns + costs.page_lookup_ns;
            let moment = self.moment(task, file);
            let found = self.look(&moment, page);
            walk.neighbours = self.fault_around(walk.area, page, found);
            if walk.neighbours > 0 {
                self.descriptors[at(descriptor)]
                    .algorithm
                    .on_neighbours_mapped(walk.neighbours);
            }
            walk.phase = Phase::Deliver;
            if !self.kernel.areas[at(walk.area)]
                .mapped
                .contains(file.0, page)
            {
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
        self.map_page(task, walk, file);
        Flow::Go
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

    /// Maps the cached pages of the block around `page`, and returns how many there were. Nothing
    /// if `page` itself is not up to date.
    fn fault_around(&mut self, area: u32, page: u64, found: Found) -> u64 {
        let block = self.fault_around_pages;
        if block <= 1 || found != Found::Unlocked {
            return 0;
        }
        let cache = &self.kernel.cache;
        let area = &mut self.kernel.areas[at(area)];
        let start = (page / block * block).max(area.start);
        let end = (page / block * block + block).min(area.end);
        let mut mapped = 0;
        for page in start..end {
            if cache.state(area.file, page) == PageState::Valid
                && !cache.is_marked(area.file, page)
                && area.mapped.insert(area.file.0, page)
            {
                mapped += 1;
            }
        }
        mapped
    }

    fn map_page(&mut self, task: u32, walk: &mut TouchWalk, file: FileId) {
        let process = self.tasks[at(task)].process;
        let page = walk.page;
        let moment = self.moment(task, file);
        if self.kernel.cache.state(file, page) != PageState::Absent {
            let access = self.kernel.cache.access(file, page);
            self.kernel.observer.on_access(&moment, page, &access);
            self.kernel.areas[at(walk.area)]
                .mapped
                .insert(file.0, page);
        }
        let elapsed_ns = self.now_ns - walk.began_ns;
        self.end_of_call();
        self.kernel
            .observer
            .on_fault_done(&moment, walk.neighbours, elapsed_ns);
        self.next_touch(process, walk);
    }

    fn next_touch(&mut self, process: u32, walk: &mut TouchWalk) {
        self.charge(Work::User, process, self.kernel.costs.user_page_ns);
        walk.page += 1;
        walk.neighbours = 0;
        walk.phase = Phase::Look;
    }
}
