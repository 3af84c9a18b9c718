//! A `read()` in virtual time: the walk of [`ahead_replicas::kernel`], with waits and costs.
//!
//! ```text
//! Look ──► Fetch ──► Settle ──► Deliver ──► Look at the next page
//!   └ queue full ┘ └┘ in flight └┘
//! ```
//!
//! Each page goes as far as it comes. The task stops where it has
//! to wait for a page or for the queue, and goes on from that phase. A page is copied after its
//! wait even if reclaim took it in between: the reader has held it all the time.

use ahead_engine::adviser::{Act, Adviser, Answer};
use ahead_engine::session::{Pending, Token, WhenTold};
use ahead_policy::decision::Decision;
use ahead_replicas::kernel::{Host, PageState, Read, ReadAhead, Window};
use ahead_units::{ByteRange, PAGE_BYTES, PageCount};

use super::adaptive::Before;
use super::kernel::KernelHost;
use super::observer::{Found, Work, WorldMoment, WorldObserver};
use super::state::{Front, World};
use super::task::{Activity, Flow, Phase, ReadWalk, Watch, at};
use ahead_replicas::page_cache::FileId;

/// The page that a read needs and nobody has brought.
pub(super) const fn single(page: u64) -> Window {
    Window {
        start: page,
        pages: 1,
        mark: None,
        order: 0,
        class: ahead_replicas::kernel::Class::Single,
        may_drop: false,
    }
}

/// `readahead(2)` on the way of a task.
struct Calls<'a, 'h, A, O: WorldObserver> {
    host: &'a mut KernelHost<'h, O>,
    algorithm: &'a mut A,
    file_pages: PageCount,
    calls: u64,
}

impl<A: ReadAhead, O: WorldObserver> Adviser for Calls<'_, '_, A, O> {
    fn prepare(&mut self, _decision: &Decision) -> Option<PageCount> {
        Some(self.file_pages)
    }

    fn act(&mut self, act: Act) -> Answer {
        let Act::Prefetch(range) = act else {
            return Answer::Unknown;
        };
        self.calls += 1;
        let before = self.host.started();
        self.algorithm
            .on_will_need(self.host, range.start.get(), range.len().get());
        self.host.end_one_call();
        if self.host.started() > before {
            Answer::OnItsWay
        } else {
            Answer::WasCached
        }
    }
}

impl<A: ReadAhead + Clone, O: WorldObserver> World<A, O> {
    /// A task begins a read. The library or the oracle looks first, if there is one.
    pub(super) fn begin_read(
        &mut self,
        task: u32,
        descriptor: u32,
        offset: u64,
        length: u64,
    ) -> Flow {
        let process = self.tasks[at(task)].process;
        let began_ns = self.now_ns;
        let file = self.descriptors[at(descriptor)].file;
        let bytes = self.kernel.files.bytes(file);
        let read = Read {
            start: offset,
            end: offset.saturating_add(length),
        };
        let moment = self.moment(task, file);
        self.kernel.observer.on_read(&moment, &read);
        let (token, is_timed) = self.ask_library(task, descriptor, file, &read);
        self.charge(Work::System, process, self.kernel.costs.syscall_ns);
        let moment = self.moment(task, file);
        let end = read.end.min(bytes).max(offset);
        let (mut host, algorithm) = self.host(task, descriptor, moment, true);
        algorithm.on_read(&mut host, &read);
        let cost = host.finish().0;
        self.charge(Work::System, process, cost);
        let walk = ReadWalk {
            descriptor,
            read,
            page: read.first_page(),
            end_page: if end > offset {
                end.div_ceil(PAGE_BYTES)
            } else {
                read.first_page()
            },
            end,
            phase: Phase::Look,
            began_ns,
            token,
            is_timed,
        };
        self.tasks[at(task)].activity = Activity::Read(walk);
        self.flow_of(task)
    }

    /// What the library does before a read, if there is one; and whether it times the read from its
    /// beginning.
    fn ask_library(
        &mut self,
        task: u32,
        descriptor: u32,
        file: FileId,
        read: &Read,
    ) -> (Option<Token<u32>>, bool) {
        let process = self.tasks[at(task)].process;
        let Front::Adaptive(hosts) = &self.front else {
            return (None, true);
        };
        let open = &mut self.descriptors[at(descriptor)];
        if open.program_advises {
            return (None, true);
        }
        let host = &hosts[at(process)];
        let was = open.watch;
        open.watch = host.watch(was);
        let mut answer = Before::Calm;
        if open.watch == Watch::Watched {
            if was == Watch::Fresh {
                let pages = self.kernel.files.pages(file);
                host.look_at(file.0, pages, open.advice, self.now_ns);
            }
            let access = ByteRange::new(read.start, read.end);
            answer = host.before_read(file.0, access, self.now_ns);
        }
        let (token, pending, is_timed) = match answer {
            Before::Calm => {
                open.watch = Watch::Unwatched;
                (None, None, open.clock.start(task))
            }
            Before::Quick(token) => (Some(token), None, open.clock.start(task)),
            Before::Slow(token, pending) => (Some(token), pending, true),
        };
        if was == Watch::Fresh {
            host.after_fresh(token.as_ref());
        }
        self.charge(Work::User, process, self.kernel.costs.library_ns);
        if let Some(pending) = pending {
            self.carry_out(task, descriptor, &pending);
        }
        (token, is_timed)
    }

    /// Carries out what the library decided, in the reading task.
    fn carry_out(&mut self, task: u32, descriptor: u32, pending: &Pending) {
        let process = self.tasks[at(task)].process;
        let file = self.descriptors[at(descriptor)].file;
        let file_pages = PageCount::new(self.kernel.files.pages(file));
        let moment = self.moment(task, file);
        self.kernel.observer.on_decision(&moment, &pending.decision);
        let (mut host, algorithm) = self.host(task, descriptor, moment, true);
        let mut calls = Calls {
            host: &mut host,
            algorithm,
            file_pages,
            calls: 0,
        };
        let carried = pending.carry_out(&mut calls);
        let count = calls.calls;
        let cost = host.finish().0;
        self.end_of_call();
        let syscalls = self.kernel.costs.syscall_ns * count;
        self.charge(Work::System, process, cost + syscalls);
        if let Front::Adaptive(hosts) = &self.front {
            hosts[at(process)].on_carried_out(file.0, &carried);
        }
    }

    /// Takes the read of `task` further: to its end, to a wait, or to the moment when something
    /// else is due; by one page at least.
    pub(super) fn read_on(&mut self, task: u32, walk: &mut ReadWalk) -> Flow {
        if walk.page >= walk.end_page {
            return self.end_read(task, walk);
        }
        loop {
            let flow = self.read_page(task, walk);
            let is_turn = self.now_ns < self.horizon_ns && !self.kernel.queue_moved;
            if flow != Flow::Go || walk.page >= walk.end_page || !is_turn {
                return flow;
            }
        }
    }

    /// Takes the present page as far as it comes.
    fn read_page(&mut self, task: u32, walk: &mut ReadWalk) -> Flow {
        let process = self.tasks[at(task)].process;
        let file = self.descriptors[at(walk.descriptor)].file;
        let page = walk.page;
        if walk.phase == Phase::Look {
            let moment = self.moment(task, file);
            let found = self.look(&moment, page);
            let is_cached = found != Found::Missing;
            let (mut host, algorithm) = self.host(task, walk.descriptor, moment, is_cached);
            algorithm.on_page(&mut host, &walk.read, page);
            let (cost, started) = host.finish();
            if started > 0 {
                self.end_of_call();
            } else if found == Found::Unlocked {
                self.charge(Work::System, process, cost);
                self.deliver(task, walk, file, true);
                return Flow::Go;
            }
            self.charge(Work::System, process, cost);
            walk.phase = Phase::Fetch;
            if self.has_unsubmitted(task) {
                return Flow::Queue;
            }
        }
        if walk.phase == Phase::Fetch {
            walk.phase = Phase::Settle;
            let flow = self.fetch(task, walk.descriptor, file, page);
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
        let is_cached = self.kernel.cache.state(file, page) != PageState::Absent;
        self.deliver(task, walk, file, is_cached);
        Flow::Go
    }

    /// How the page is before the algorithm looks at it.
    pub(super) fn look(&mut self, moment: &WorldMoment, page: u64) -> Found {
        let found = match self.kernel.cache.state(moment.file, page) {
            PageState::Valid => Found::Unlocked,
            PageState::InFlight => Found::Locked,
            PageState::Stale => Found::Stale,
            PageState::Absent => Found::Missing,
        };
        self.kernel.observer.on_page(moment, page, found);
        found
    }

    /// Reads the page alone if the algorithm has not brought it.
    pub(super) fn fetch(&mut self, task: u32, descriptor: u32, file: FileId, page: u64) -> Flow {
        let state = self.kernel.cache.state(file, page);
        if matches!(state, PageState::Valid | PageState::InFlight) {
            return Flow::Go;
        }
        let process = self.tasks[at(task)].process;
        let moment = self.moment(task, file);
        let (mut host, algorithm) = self.host(task, descriptor, moment, false);
        if state == PageState::Absent {
            algorithm.on_missing(&mut host, page);
        }
        host.start(&single(page));
        let cost = host.finish().0;
        self.end_of_call();
        self.charge(Work::System, process, cost);
        if self.has_unsubmitted(task) {
            return Flow::Queue;
        }
        Flow::Go
    }

    /// Whether the page can be delivered. A page whose I/O was dropped meanwhile is read again.
    pub(super) fn settle(&mut self, task: u32, file: FileId, page: u64) -> Flow {
        match self.kernel.cache.state(file, page) {
            PageState::Valid | PageState::Absent => Flow::Go,
            PageState::InFlight => Flow::Page(file, page),
            PageState::Stale => {
                let moment = self.moment(task, file);
                let mut host = self.bare_host(task, moment);
                host.start(&single(page));
                let cost = host.finish().0;
                self.end_of_call();
                let process = self.tasks[at(task)].process;
                self.charge(Work::System, process, cost);
                if self.has_unsubmitted(task) {
                    Flow::Queue
                } else {
                    Flow::Page(file, page)
                }
            }
        }
    }

    /// Copies the page to the program.
    fn deliver(&mut self, task: u32, walk: &mut ReadWalk, file: FileId, is_cached: bool) {
        let process = self.tasks[at(task)].process;
        let page = walk.page;
        if is_cached {
            let cache = &mut self.kernel.cache;
            let previous = if page > walk.read.first_page() {
                Some(page - 1)
            } else {
                let position = self.descriptors[at(walk.descriptor)].position;
                position.checked_sub(1).map(|last| last / PAGE_BYTES)
            };
            // In a group reclaim runs for a window of which nothing enters then, and may take this page. Its reader holds
            // it, and gets it; but it is of no age any more.
            if let Some(access) = cache.access_if_cached(file, page, previous) {
                let moment = self.moment(task, file);
                self.kernel.observer.on_access(&moment, page, &access);
            }
        }
        let from = walk.read.start.max(page * PAGE_BYTES);
        let bytes = walk.end.min((page + 1) * PAGE_BYTES) - from;
        let costs = &self.kernel.costs;
        let share = |ns: u64| {
            if bytes == PAGE_BYTES {
                ns
            } else {
                ns * bytes / PAGE_BYTES
            }
        };
        let system_ns = costs.page_lookup_ns + share(costs.page_copy_ns);
        let user_ns = share(costs.user_page_ns);
        self.charge(Work::System, process, system_ns);
        self.charge(Work::User, process, user_ns);
        walk.page += 1;
        walk.phase = Phase::Look;
    }

    /// The library hears of a read that is over. One that waited through an unwatched descriptor is
    /// an access, and may be one to act on.
    fn tell_library(&mut self, task: u32, walk: &ReadWalk, file: FileId) {
        let process = self.tasks[at(task)].process;
        let Front::Adaptive(hosts) = &self.front else {
            return;
        };
        let (host, now_ns) = (&hosts[at(process)], self.now_ns);
        let descriptor = &mut self.descriptors[at(walk.descriptor)];
        if descriptor.program_advises {
            return;
        }
        let wanted = ByteRange::new(walk.read.start, walk.end);
        let access = wanted.pages();
        let limit_ns = host.wait_limit_ns(access.len());
        let clock = &mut descriptor.clock;
        let Some(elapsed_ns) = clock.stop(task, walk.is_timed, walk.began_ns, now_ns, limit_ns)
        else {
            return;
        };
        let mut token = walk.token;
        if token.is_none() {
            let device_pages = self.kernel.queue.stats().pages;
            if !host.has_waited(access.len(), elapsed_ns, device_pages) {
                return;
            }
            descriptor.watch = Watch::Watched;
            let pages = self.kernel.files.pages(file);
            host.look_at(file.0, pages, descriptor.advice, now_ns);
            let (read, pending) = host.on_access(file.0, wanted, now_ns, WhenTold::After);
            token = Some(read);
            if let Some(pending) = pending {
                self.carry_out(task, walk.descriptor, &pending);
            }
        }
        if let (Front::Adaptive(hosts), Some(token)) = (&self.front, &token) {
            let evicted = &self.kernel.evicted;
            hosts[at(process)].after_read(token, elapsed_ns, evicted, now_ns);
        }
    }

    fn end_read(&mut self, task: u32, walk: &ReadWalk) -> Flow {
        let process = self.tasks[at(task)].process;
        let file = self.descriptors[at(walk.descriptor)].file;
        let moment = self.moment(task, file);
        let (mut host, algorithm) = self.host(task, walk.descriptor, moment, true);
        algorithm.on_read_done(&mut host, &walk.read, walk.end);
        let cost = host.finish().0;
        self.end_of_call();
        self.charge(Work::System, process, cost);
        let bytes = walk.end - walk.read.start;
        if bytes > 0 {
            self.descriptors[at(walk.descriptor)].position = walk.end;
        }
        let elapsed_ns = self.now_ns - walk.began_ns;
        if bytes > 0 {
            self.tell_library(task, walk, file);
        }
        let moment = self.moment(task, file);
        self.kernel
            .observer
            .on_read_done(&moment, bytes, elapsed_ns);
        self.tasks[at(task)].activity = Activity::Between;
        self.flow_of(task)
    }
}
