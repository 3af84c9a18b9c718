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
//! * [`machine`]: what jobs run on
//! * `state`: what a world consists of; `error`: what it refuses
//! * `walk`, `fault`: one page of a read, one touch of a mapping
//! * `dirty`, `writing`: what programs have written, on its way to the disk
//! * `kernel`: what an algorithm sees; `files`: where pages lie
//! * `clock`, `processors`, `events`: who runs, and when
//! * [`observer`]: what is told; [`RunTotals`] adds it up
//! * `adaptive`, `oracle`: those that act before a read: the library, and the ceiling
//!
//! What is simple on purpose: a task that has been woken waits for a processor behind those that
//! came before, whatever their priority; interrupts are work without a place; memory is the page
//! cache and nothing else; who writes pages back takes no processor (`dirty`).

pub mod account;
pub mod machine;
pub mod observer;

mod adaptive;
mod clock;
mod dirty;
mod error;
mod events;
mod fault;
mod files;
mod future;
mod kernel;
mod oracle;
mod page_set;
mod pricing;
mod processors;
mod state;
mod steps;
mod task;
mod walk;
mod writing;

use std::collections::{BTreeMap, VecDeque};

use ahead_engine::settings::Settings;
use ahead_replicas::kernel::{Class, Learned, ReadAhead, Window};
use ahead_workload::{Job, Process};

pub use account::RunTotals;
pub use ahead_replicas::kernel::Read;
pub use dirty::WriteBackSettings;
pub use error::WorldError;
pub use machine::{Costs, FOLIO_ORDER_MAX, Machine};
pub use observer::{Found, Started, WaitFor, Work, WorldMoment, WorldObserver};
pub use oracle::{OracleSettings, OracleStyle};
pub use state::World;

use crate::queue::RequestQueue;
use adaptive::{Adaptive, Facts};
use ahead_replicas::page_cache::{CacheSettings, FileId, PageCache};
use dirty::WriteBack;
use events::Events;
use files::Files;
use kernel::Kernel;
use oracle::Oracle;
use page_set::PageSet;
use processors::Processors;
use state::Front;
use task::{Activity, Task, at};

/// Who acts before a read, beside the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
        /// The disk says the opposite of what it is: flash that rotates, an arm that does not.
        is_misled: bool,
    },
    /// Somebody who knows what will be read.
    Oracle(OracleSettings),
}

impl<A: ReadAhead + Clone, O: WorldObserver> World<A, O> {
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
            memory_pages: machine.cache_pages(),
            replacement: machine.replacement,
            aging: machine.aging,
            limit: machine.limit,
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
                write_back: WriteBack::new(machine.write_back, machine.cache_pages()),
                observer,
                evicted: PageSet::default(),
                areas: Vec::new(),
                learned: Learned::default(),
                costs: machine.costs,
                folio_order_max: machine.folio_order_max,
                io_pages: machine.queue.request_pages_max,
                stale: 0,
                queue_moved: false,
                group_counted_ns: machine.group_counted_ns,
                is_plugged: false,
            },
            fault_around_pages: machine.fault_around_pages,
            interrupt_page_ns: machine.disk.cpu_ns_per_page() + machine.costs.interrupt_page_ns,
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
            horizon_ns: 0,
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
            FrontChoice::Adaptive {
                settings,
                ra_pages,
                is_misled,
            } => {
                let facts = Facts {
                    rotational: machine.disk.is_rotational() != *is_misled,
                    stripes: machine.disk.stripes(),
                    request_pages_max: machine.queue.request_pages_max,
                    ra_pages: *ra_pages,
                    memory_pages: machine.memory_pages,
                };
                let members = adaptive::members(job.processes.len());
                let processes = (0..).zip(&job.processes);
                let files = job.files.len();
                let host = |(number, _)| Adaptive::new(settings, &facts, files, number, &members);
                Front::Adaptive(processes.map(host).collect())
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
            let end = start
                .saturating_add(pages)
                .min(self.kernel.files.pages(file));
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
        for group in &process.groups {
            let group_number = u32::try_from(self.programs.len()).unwrap_or(u32::MAX);
            self.programs.push((group.program.fork(), group.tasks > 1));
            for _ in 0..group.tasks {
                for descriptor in shared.iter().flatten() {
                    self.descriptors[at(*descriptor)].users += 1;
                }
                let task = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
                self.tasks.push(Task {
                    process: number,
                    group: group_number,
                    slots: shared.clone(),
                    areas: Vec::new(),
                    activity: Activity::Between,
                    unit: VecDeque::new(),
                    rest: None,
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

    /// Sets what is known about the device when the clock starts.
    pub fn set_learned(&mut self, learned: Learned) {
        self.kernel.learned = learned;
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

    /// Logs every request that the disk gets from now on.
    pub fn keep_request_log(&mut self) {
        self.kernel.queue.keep_log();
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
}
