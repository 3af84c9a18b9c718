//! A machine in virtual time: processes, processors, the kernel's read path, queue and disk.
//!
//! Time is whole nanoseconds and moves only from event to event. An event is the next completion
//! of the disk, a sleeper that wakes up, or a task that goes on; at one moment completions come
//! first, then the others as they were announced. A run depends on nothing but its arguments.
//!
//! A task on a processor runs *inline*: every small piece of its work (a page copied, a call made)
//! takes effect at its beginning and moves the clock to its end. While nothing else is due
//! before, the task simply goes on; otherwise it announces its own continuation and lets the
//! other event come first. So pages that arrive during a long copy are there when the copy gets
//! to them, and a reader in a warm cache costs no event at all.
//!
//! ```text
//!  program ──steps──► walk, fault ──► algorithm ──► kernel host ──► cache
//!     ▲                 │ waits                        │ runs
//!     └── processors ◄──┴── events ◄── completions ◄── queue ── disk
//! ```
//!
//! * [`program`]: files, steps, programs, jobs; [`machine`]: what they run on
//! * `walk`, `fault`: one page of a read, one touch of a mapping
//! * `kernel`: what an algorithm sees; `files`: where pages lie
//! * `processors`, `events`: who runs, and when
//! * [`observer`]: what is told; [`Account`] adds it up
//! * `adaptive`, `oracle`: those that act before a read: the library, and the ceiling
//!
//! What is simple on purpose: a task that has been woken waits for a processor behind those that
//! came before, whatever their priority; interrupts are work without a place; memory is the page
//! cache and nothing else; writes do not exist.

pub mod account;
pub mod machine;
pub mod observer;
pub mod program;

mod adaptive;
mod events;
mod fault;
mod files;
mod kernel;
mod oracle;
mod page_set;
mod processors;
mod steps;
mod task;
mod walk;

use std::collections::{BTreeMap, VecDeque};

use ahead_engine::settings::Settings;
use ahead_policy::kernel::{Class, Learned, PageState, ReadAhead, Window};
use ahead_policy::units::Timestamp;

pub use account::Account;
pub use machine::{Costs, Machine};
pub use observer::{Found, Moment, Observer, Started, WaitFor, Work};
pub use oracle::{OracleSettings, OracleStyle};
pub use program::{Crew, FileSpec, Job, Layout, Listed, Process, Program, Step};

use crate::cache::{CacheSettings, FileId, PageCache};
use crate::queue::{Done, RequestQueue};
use adaptive::{Adaptive, Facts};
use events::{Event, Events};
use files::Files;
use kernel::{Kernel, KernelHost};
use oracle::Oracle;
use page_set::PageSet;
use processors::Processors;
use task::{Activity, Descriptor, Flow, Task, at};

/// Who acts before a read, beside the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub enum FrontChoice {
    /// Nobody.
    #[default]
    None,
    /// The library of `ahead run`, with these settings, over a kernel with this read-ahead limit.
    Adaptive {
        /// The library's settings.
        settings: Settings,
        /// Read-ahead limit of the kernel, in pages: the library looks it up.
        ra_pages: u64,
    },
    /// Somebody who knows what will be read.
    Oracle(OracleSettings),
}

/// A world that cannot be made, or that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A file has no place.
    #[error("file {file} needs the disk up to byte {needed}, and it has {capacity}")]
    DiskFull {
        /// Its number.
        file: usize,
        /// First byte behind its end.
        needed: u64,
        /// Bytes of the disk.
        capacity: u64,
    },
    /// A job names what it does not have.
    #[error("{what} {number} does not exist")]
    Unknown {
        /// File, slot, mapped area or task.
        what: &'static str,
        /// The number given.
        number: u32,
    },
    /// Tasks wait for each other.
    #[error("{tasks} tasks wait for what will never happen")]
    Stuck {
        /// How many.
        tasks: usize,
    },
}

pub(crate) enum Front {
    Kernel,
    Adaptive(Vec<Adaptive>),
    Oracle(Box<Oracle>),
}

/// A machine with its files and processes, at some moment.
pub struct World<A, O> {
    kernel: Kernel<O>,
    fault_around_pages: u64,
    interrupt_page_ns: u64,
    prototype: A,
    front: Front,
    descriptors: Vec<Descriptor<A>>,
    free_descriptors: Vec<u32>,
    programs: Vec<(Box<dyn Program>, bool)>,
    tasks: Vec<Task>,
    alive: usize,
    processors: Processors,
    events: Events,
    now_ns: u64,
    /// The moment of the newest event.
    clock_ns: u64,
    page_waiters: BTreeMap<(u32, u64), Vec<u32>>,
    queue_waiters: VecDeque<u32>,
    /// Completions whose pages the processor has still to carry to memory.
    arriving: VecDeque<Done>,
    done: Vec<Done>,
    failure: Option<WorldError>,
}

impl<A: ReadAhead + Clone, O: Observer> World<A, O> {
    /// A world at moment 0. Every descriptor that is opened gets a copy of `prototype`, the state
    /// of a file just opened.
    ///
    /// # Errors
    /// [`WorldError::DiskFull`], or [`WorldError::Unknown`] when a process has a file open that
    /// the job does not list.
    pub fn new(
        machine: &Machine,
        prototype: A,
        front: &FrontChoice,
        job: &Job,
        observer: O,
    ) -> Result<Self, WorldError> {
        let mut cache = PageCache::new(&CacheSettings {
            memory_pages: machine.memory_pages,
            replacement: machine.replacement,
            aging: machine.aging,
        });
        let mut files = Files::new(machine.capacity.get());
        for spec in &job.files {
            files.add(spec)?;
            cache.add_file();
        }
        let queue = RequestQueue::new(&machine.queue, &machine.disk, machine.capacity);
        let mut world = Self {
            kernel: Kernel {
                cache,
                queue,
                files,
                observer,
                evicted: PageSet::default(),
                areas: Vec::new(),
                learned: Learned::default(),
                costs: machine.costs,
                folio_order_max: machine.folio_order_max,
                io_pages: machine.queue.request_pages_max,
                stale: 0,
                queue_moved: false,
                is_plugged: false,
            },
            fault_around_pages: machine.fault_around_pages,
            interrupt_page_ns: machine.disk.cpu_ns_per_page(),
            prototype,
            front: Front::Kernel,
            descriptors: Vec::new(),
            free_descriptors: Vec::new(),
            programs: Vec::new(),
            tasks: Vec::new(),
            alive: 0,
            processors: Processors::new(machine.cpus, machine.slice_ns),
            events: Events::default(),
            now_ns: 0,
            clock_ns: 0,
            page_waiters: BTreeMap::new(),
            queue_waiters: VecDeque::new(),
            arriving: VecDeque::new(),
            done: Vec::new(),
            failure: None,
        };
        world.front = world.make_front(machine, front, job);
        world.fill_cache(job);
        for (number, process) in (0..).zip(&job.processes) {
            world.add_process(number, process)?;
        }
        Ok(world)
    }

    fn make_front(&self, machine: &Machine, front: &FrontChoice, job: &Job) -> Front {
        match front {
            FrontChoice::None => Front::Kernel,
            FrontChoice::Adaptive { settings, ra_pages } => {
                let facts = Facts {
                    rotational: machine.disk.is_rotational(),
                    request_pages_max: machine.queue.request_pages_max,
                    ra_pages: *ra_pages,
                    memory_pages: machine.memory_pages,
                };
                let host = |_| Adaptive::new(settings, &facts, job.files.len());
                Front::Adaptive(job.processes.iter().map(host).collect())
            }
            FrontChoice::Oracle(settings) => {
                Front::Oracle(Box::new(Oracle::new(settings, machine, job)))
            }
        }
    }

    /// Puts into memory what the job says, as if it had been read before.
    fn fill_cache(&mut self, job: &Job) {
        for &(file, start, pages) in &job.cached {
            let file = FileId(file);
            let end = start.saturating_add(pages).min(self.kernel.files.pages(file));
            let window = Window {
                start,
                pages: end.saturating_sub(start),
                class: Class::Single,
                ..Window::default()
            };
            self.kernel.cache.insert_valid(file, &window, &mut ());
            for page in start..end {
                if self.kernel.cache.first_present(file, page, 1).is_some() {
                    self.kernel.cache.access(file, page);
                }
            }
        }
    }

    fn add_process(&mut self, number: u32, process: &Process) -> Result<(), WorldError> {
        let mut shared = Vec::new();
        for &file in &process.open {
            self.check_file(file)?;
            let descriptor = self.open(FileId(file));
            // Its users are the tasks.
            self.descriptors[at(descriptor)].users = 0;
            shared.push(Some(descriptor));
        }
        for crew in &process.crews {
            let crew_number = u32::try_from(self.programs.len()).unwrap_or(u32::MAX);
            self.programs.push((crew.program.fork(), crew.tasks > 1));
            for _ in 0..crew.tasks {
                for descriptor in shared.iter().flatten() {
                    self.descriptors[at(*descriptor)].users += 1;
                }
                let task = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
                self.tasks.push(Task {
                    process: number,
                    crew: crew_number,
                    slots: shared.clone(),
                    areas: Vec::new(),
                    activity: Activity::Between,
                    unit: VecDeque::new(),
                    unsubmitted: VecDeque::new(),
                    waiting: None,
                    was_woken: false,
                    stopping: None,
                    is_done: false,
                    joiners: Vec::new(),
                });
                self.alive += 1;
                self.make_ready(task);
            }
        }
        Ok(())
    }

    fn check_file(&self, file: u32) -> Result<(), WorldError> {
        if at(file) < self.kernel.files.count() {
            return Ok(());
        }
        Err(WorldError::Unknown {
            what: "file",
            number: file,
        })
    }

    /// Sets what is known about the device when the clock starts.
    pub fn set_learned(&mut self, learned: Learned) {
        self.kernel.learned = learned;
    }

    /// Runs until every task has ended, and returns the moment.
    ///
    /// # Errors
    /// [`WorldError::Stuck`] when tasks wait and nothing can wake them; [`WorldError::Unknown`]
    /// when a program names what it does not have.
    pub fn run(&mut self) -> Result<u64, WorldError> {
        self.run_until(u64::MAX)
    }

    /// Runs until every task has ended or the clock would pass `limit_ns`, and returns the moment.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_until(&mut self, limit_ns: u64) -> Result<u64, WorldError> {
        while self.alive > 0 && self.failure.is_none() {
            let disk_ns = self.disk_due_ns();
            let due_ns = disk_ns.min(self.events.due_ns());
            if due_ns == u64::MAX {
                return Err(WorldError::Stuck { tasks: self.alive });
            }
            if due_ns > limit_ns {
                self.now_ns = limit_ns;
                break;
            }
            // The task that ran last has moved the clock to the end of its piece of work.
            self.clock_ns = self.clock_ns.max(due_ns);
            self.now_ns = self.clock_ns;
            if disk_ns <= due_ns {
                self.complete();
            } else if let Some((_, event)) = self.events.pop() {
                self.take_place(event);
            }
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.processors
            .tell_idle(self.now_ns, &mut self.kernel.observer);
        Ok(self.now_ns)
    }

    /// The moment of the newest event.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Whether every task has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.alive == 0
    }

    /// The page cache.
    #[must_use]
    pub fn cache(&self) -> &PageCache {
        &self.kernel.cache
    }

    /// The request queue.
    #[must_use]
    pub fn queue(&self) -> &RequestQueue {
        &self.kernel.queue
    }

    /// Who listens.
    #[must_use]
    pub fn observer(&self) -> &O {
        &self.kernel.observer
    }

    /// Ends the world and gives the observer back.
    #[must_use]
    pub fn into_observer(self) -> O {
        self.kernel.observer
    }

    fn disk_due_ns(&self) -> u64 {
        self.kernel
            .queue
            .next_event()
            .map_or(u64::MAX, Timestamp::get)
    }

    fn take_place(&mut self, event: Event) {
        match event {
            Event::Continue(cpu) => {
                let debt_ns = self.processors.take_debt(cpu);
                if debt_ns > 0 {
                    self.events.push(self.now_ns + debt_ns, event);
                } else if self.processors.must_yield(cpu, self.now_ns) {
                    self.processors.rotate(cpu, self.now_ns, &mut self.events);
                } else {
                    self.run_processor(cpu);
                }
            }
            Event::Wake(task) => self.wake(task),
            Event::Arrive => {
                if let Some(done) = self.arriving.pop_front() {
                    self.arrive(&done);
                }
            }
        }
    }

    /// Completions are due.
    fn complete(&mut self) {
        let mut done = std::mem::take(&mut self.done);
        self.kernel
            .queue
            .advance(Timestamp::new(self.now_ns), &mut done);
        for done in done.drain(..) {
            let work_ns =
                self.kernel.costs.interrupt_ns + self.interrupt_page_ns.saturating_mul(done.pages);
            if work_ns == 0 {
                self.arrive(&done);
            } else {
                let over_ns =
                    self.processors
                        .interrupt(self.now_ns, work_ns, &mut self.kernel.observer);
                self.arriving.push_back(done);
                self.events.push(over_ns, Event::Arrive);
            }
        }
        self.done = done;
        self.serve_queue_waiters();
    }

    /// There may be places in the queue: the first in line take them.
    fn serve_queue_waiters(&mut self) {
        let mut moved = false;
        while let Some(&task) = self.queue_waiters.front() {
            let unsubmitted = &mut self.tasks[at(task)].unsubmitted;
            let is_in = self.kernel.resubmit(self.now_ns, unsubmitted);
            moved = true;
            if !is_in {
                break;
            }
            self.queue_waiters.pop_front();
            self.wake(task);
        }
        if let Front::Oracle(oracle) = &mut self.front {
            oracle.pump(&mut self.kernel, self.now_ns);
            moved = true;
        }
        if moved {
            self.kernel.unplug(self.now_ns);
        }
    }

    /// Pages are in memory.
    fn arrive(&mut self, done: &Done) {
        let (file, end) = (done.file.0, done.start + done.pages);
        self.kernel.cache.set_valid(done.file, done.start, done.pages);
        self.kernel.observer.on_arrived(self.now_ns, done);
        while let Some((&key, _)) = self
            .page_waiters
            .range((file, done.start)..(file, end))
            .next()
        {
            for task in self.page_waiters.remove(&key).unwrap_or_default() {
                self.wake(task);
            }
        }
    }

    fn wake(&mut self, task: u32) {
        let waiter = &mut self.tasks[at(task)];
        waiter.was_woken = true;
        if let Some((what, since_ns)) = waiter.waiting.take() {
            let file = match &waiter.activity {
                Activity::Read(walk) => self.descriptors[at(walk.descriptor)].file,
                Activity::Touch(walk) => self.kernel.areas[at(walk.area)].file,
                Activity::Between | Activity::Compute(_) => FileId(0),
            };
            let moment = self.moment(task, file);
            let waited_ns = self.now_ns - since_ns;
            let observer = &mut self.kernel.observer;
            observer.on_wait_done(&moment, what, waited_ns);
            self.processors.count_io_wait(false, self.now_ns, observer);
        }
        self.make_ready(task);
    }

    fn make_ready(&mut self, task: u32) {
        self.processors.make_ready(
            task,
            self.now_ns,
            &mut self.events,
            &mut self.kernel.observer,
        );
    }

    /// The task on `cpu` runs until it waits, or until something else is due.
    fn run_processor(&mut self, cpu: u32) {
        let Some(task) = self.processors.running(cpu) else {
            return;
        };
        let process = self.tasks[at(task)].process;
        if std::mem::take(&mut self.tasks[at(task)].was_woken) {
            self.charge(Work::System, process, self.kernel.costs.switch_ns);
        }
        if let Some(flow) = self.tasks[at(task)].stopping.take() {
            return self.stop(cpu, task, flow);
        }
        let mut horizon_ns = self.disk_due_ns().min(self.events.due_ns());
        // It is this task's turn, so one piece is done whatever else is due: two tasks that leave
        // each other the first move would never move.
        loop {
            let flow = self.go_on(task);
            if self.failure.is_some() {
                return;
            }
            if std::mem::take(&mut self.kernel.queue_moved) {
                horizon_ns = self.disk_due_ns().min(self.events.due_ns());
            }
            if self.now_ns >= horizon_ns || self.processors.must_yield(cpu, self.now_ns) {
                // What is due comes first, and may be what the task wants to wait for.
                self.tasks[at(task)].stopping = (flow != Flow::Go).then_some(flow);
                self.events.push(self.now_ns, Event::Continue(cpu));
                return;
            }
            if flow != Flow::Go {
                return self.stop(cpu, task, flow);
            }
        }
    }

    /// One piece of a task's work.
    fn go_on(&mut self, task: u32) -> Flow {
        // A walk changes `activity` itself when it ends; until then its state goes back.
        match self.tasks[at(task)].activity {
            Activity::Between => self.next_step(task),
            Activity::Read(mut walk) => {
                let flow = self.read_on(task, &mut walk);
                if let Activity::Read(place) = &mut self.tasks[at(task)].activity {
                    *place = walk;
                }
                flow
            }
            Activity::Touch(mut walk) => {
                let flow = self.touch_on(task, &mut walk);
                if let Activity::Touch(place) = &mut self.tasks[at(task)].activity {
                    *place = walk;
                }
                flow
            }
            Activity::Compute(left_ns) => self.compute(task, left_ns),
        }
    }

    /// The task cannot go on, unless what it waits for has happened meanwhile.
    fn stop(&mut self, cpu: u32, task: u32, flow: Flow) {
        let now_ns = self.now_ns;
        self.kernel.unplug(now_ns);
        let goes_on = match flow {
            Flow::Go => true,
            Flow::Page(file, page) => {
                let waits = self.kernel.cache.state(file, page) == PageState::InFlight;
                if waits {
                    let waiters = self.page_waiters.entry((file.0, page)).or_default();
                    waiters.push(task);
                    self.start_wait(task, WaitFor::Page);
                }
                !waits
            }
            Flow::Queue => {
                // Those who came before go first.
                let is_in = self.queue_waiters.is_empty()
                    && self
                        .kernel
                        .resubmit(now_ns, &mut self.tasks[at(task)].unsubmitted);
                if is_in {
                    self.kernel.end_call(now_ns);
                } else {
                    self.queue_waiters.push_back(task);
                    self.start_wait(task, WaitFor::Queue);
                }
                is_in
            }
            Flow::Until(at_ns) => {
                self.events.push(at_ns.max(now_ns), Event::Wake(task));
                false
            }
            Flow::Task(other) => {
                let other = &mut self.tasks[at(other)];
                if !other.is_done {
                    other.joiners.push(task);
                }
                other.is_done
            }
            Flow::End => {
                self.end_task(task);
                false
            }
        };
        if goes_on {
            self.events.push(now_ns, Event::Continue(cpu));
            return;
        }
        self.processors
            .release(cpu, now_ns, &mut self.events, &mut self.kernel.observer);
    }

    fn start_wait(&mut self, task: u32, what: WaitFor) {
        self.tasks[at(task)].waiting = Some((what, self.now_ns));
        self.processors
            .count_io_wait(true, self.now_ns, &mut self.kernel.observer);
    }

    fn end_task(&mut self, task: u32) {
        for slot in 0..self.tasks[at(task)].slots.len() {
            self.close(task, u32::try_from(slot).unwrap_or(u32::MAX));
        }
        let ending = &mut self.tasks[at(task)];
        ending.is_done = true;
        self.alive -= 1;
        for joiner in std::mem::take(&mut ending.joiners) {
            self.wake(joiner);
        }
        let moment = self.moment(task, FileId(0));
        self.kernel.observer.on_task_done(&moment);
    }

    /// Processor time passes.
    #[inline]
    fn charge(&mut self, work: Work, process: u32, ns: u64) {
        if ns > 0 {
            self.kernel
                .observer
                .on_work(work, process, self.now_ns, ns);
            self.now_ns += ns;
        }
    }

    #[inline]
    fn moment(&self, task: u32, file: FileId) -> Moment {
        Moment {
            now_ns: self.now_ns,
            task,
            process: self.tasks[at(task)].process,
            file,
        }
    }

    /// The algorithm of a descriptor, and its host for one call.
    #[inline]
    fn host(
        &mut self,
        task: u32,
        descriptor: u32,
        moment: Moment,
        is_asynchronous: bool,
    ) -> (KernelHost<'_, O>, &mut A) {
        let unsubmitted = &mut self.tasks[at(task)].unsubmitted;
        let host = KernelHost::new(&mut self.kernel, unsubmitted, moment, is_asynchronous);
        (host, &mut self.descriptors[at(descriptor)].algorithm)
    }

    /// A host for what the read path starts itself.
    fn bare_host(&mut self, task: u32, moment: Moment) -> KernelHost<'_, O> {
        let unsubmitted = &mut self.tasks[at(task)].unsubmitted;
        KernelHost::new(&mut self.kernel, unsubmitted, moment, false)
    }

    /// An algorithm has started pages and returned.
    fn end_of_call(&mut self) {
        self.kernel.end_call(self.now_ns);
    }

    fn has_unsubmitted(&self, task: u32) -> bool {
        !self.tasks[at(task)].unsubmitted.is_empty()
    }

    /// Whether a task whose call is over may go on at once.
    fn flow_of(&self, task: u32) -> Flow {
        if self.has_unsubmitted(task) {
            Flow::Queue
        } else {
            Flow::Go
        }
    }
}
