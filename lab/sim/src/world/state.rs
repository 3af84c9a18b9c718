//! What a world consists of at some moment, and what every part of it does with that: charge time,
//! say where it stands, call an algorithm.

use std::collections::{BTreeMap, VecDeque};

use ahead_replicas::kernel::ReadAhead;
use ahead_workload::Program;

use super::adaptive::Adaptive;
use super::error::WorldError;
use super::events::Events;
use super::kernel::{Kernel, KernelHost};
use super::observer::{Work, WorldMoment, WorldObserver};
use super::oracle::Oracle;
use super::processors::Processors;
use super::task::{Descriptor, Flow, Task, at};
use crate::queue::Done;
use ahead_replicas::page_cache::FileId;

/// Who acts before a read, beside the kernel, in motion.
pub(super) enum Front {
    Kernel,
    Adaptive(Vec<Adaptive>),
    Oracle(Box<Oracle>),
}

/// A machine with its files and processes, at some moment.
pub struct World<A, O> {
    pub(super) kernel: Kernel<O>,
    pub(super) fault_around_pages: u64,
    pub(super) interrupt_page_ns: u64,
    pub(super) prototype: A,
    pub(super) front: Front,
    pub(super) descriptors: Vec<Descriptor<A>>,
    pub(super) free_descriptors: Vec<u32>,
    pub(super) programs: Vec<(Box<dyn Program>, bool)>,
    pub(super) tasks: Vec<Task>,
    pub(super) alive: usize,
    pub(super) processors: Processors,
    pub(super) events: Events,
    pub(super) now_ns: u64,
    /// The moment of the newest event.
    pub(super) clock_ns: u64,
    /// Until then the running task need not look up.
    pub(super) horizon_ns: u64,
    pub(super) page_waiters: BTreeMap<(u32, u64), Vec<u32>>,
    pub(super) queue_waiters: VecDeque<u32>,
    /// Completions whose pages the processor has still to carry to memory.
    pub(super) arriving: VecDeque<Done>,
    pub(super) done: Vec<Done>,
    pub(super) failure: Option<WorldError>,
}

impl<A: ReadAhead + Clone, O: WorldObserver> World<A, O> {
    pub(super) fn check_file(&self, file: u32) -> Result<(), WorldError> {
        if at(file) < self.kernel.files.count() {
            return Ok(());
        }
        Err(WorldError::Unknown {
            what: "file",
            number: file,
        })
    }

    /// Processor time passes.
    #[inline]
    pub(super) fn charge(&mut self, work: Work, process: u32, ns: u64) {
        if ns > 0 {
            self.kernel.observer.on_work(work, process, self.now_ns, ns);
            self.now_ns += ns;
        }
    }

    #[inline]
    pub(super) fn moment(&self, task: u32, file: FileId) -> WorldMoment {
        WorldMoment {
            now_ns: self.now_ns,
            task,
            process: self.tasks[at(task)].process,
            file,
        }
    }

    /// The algorithm of a descriptor, and its host for one call.
    #[inline]
    pub(super) fn host(
        &mut self,
        task: u32,
        descriptor: u32,
        moment: WorldMoment,
        is_asynchronous: bool,
    ) -> (KernelHost<'_, O>, &mut A) {
        let unsubmitted = &mut self.tasks[at(task)].unsubmitted;
        let host = KernelHost::new(&mut self.kernel, unsubmitted, moment, is_asynchronous);
        (host, &mut self.descriptors[at(descriptor)].algorithm)
    }

    /// A host for what the read path starts itself.
    pub(super) fn bare_host(&mut self, task: u32, moment: WorldMoment) -> KernelHost<'_, O> {
        let unsubmitted = &mut self.tasks[at(task)].unsubmitted;
        KernelHost::new(&mut self.kernel, unsubmitted, moment, false)
    }

    /// An algorithm has started pages and returned.
    pub(super) fn end_of_call(&mut self) {
        self.kernel.end_call(self.now_ns);
    }

    pub(super) fn has_unsubmitted(&self, task: u32) -> bool {
        !self.tasks[at(task)].unsubmitted.is_empty()
    }

    /// Whether a task whose call is over may go on at once.
    pub(super) fn flow_of(&self, task: u32) -> Flow {
        if self.has_unsubmitted(task) {
            Flow::Queue
        } else {
            Flow::Go
        }
    }
}
