//! The clock: which event comes next, and what it sets in motion.
//!
//! The [head of this module](super) says how time moves. Here are the events themselves:
//! completions, arrivals, wake-ups, and the turns of tasks on processors.

use ahead_replicas::kernel::{PageState, ReadAhead};
use ahead_units::Timestamp;

use super::error::WorldError;
use super::events::Event;
use super::observer::{WaitFor, Work, WorldObserver};
use super::state::{Front, World};
use super::task::{Activity, Flow, Task, at};
use crate::queue::{Done, IoDirection};
use ahead_replicas::page_cache::FileId;

impl<A: ReadAhead + Clone, O: WorldObserver> World<A, O> {
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
                } else if self.now_ns >= self.processors.slice_end_ns(cpu) {
                    self.processors.rotate(cpu, self.now_ns, &mut self.events);
                } else {
                    self.run_processor(cpu);
                }
            }
            Event::Wake(task) => self.wake(task),
            Event::LookForDirty => self.look_for_dirty(),
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
            let delivery_ns = self.kernel.costs.delivery_ns;
            if work_ns + delivery_ns == 0 {
                self.arrive(&done);
            } else {
                let over_ns =
                    self.processors
                        .interrupt(self.now_ns, work_ns, &mut self.kernel.observer);
                self.arriving.push_back(done);
                self.events.push(over_ns + delivery_ns, Event::Arrive);
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
        self.kernel.submit_dirty(self.now_ns);
        if let Front::Oracle(oracle) = &mut self.front {
            oracle.pump(&mut self.kernel, self.now_ns);
            moved = true;
        }
        if moved {
            self.kernel.unplug(self.now_ns);
        }
    }

    /// Pages are in memory, or on the disk.
    fn arrive(&mut self, done: &Done) {
        if done.direction == IoDirection::Write {
            for task in self.on_written(done) {
                self.wake(task);
            }
            return;
        }
        let (file, end) = (done.file.0, done.start + done.pages);
        self.kernel
            .cache
            .set_valid(done.file, done.start, done.pages);
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
                Activity::Write(walk) => walk.file,
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

    pub(super) fn make_ready(&mut self, task: u32) {
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
        self.look_ahead(cpu);
        // It is this task's turn, so one piece is done whatever else is due: two tasks that leave
        // each other the first move would never move.
        loop {
            let flow = self.go_on(task);
            if self.failure.is_some() {
                return;
            }
            if std::mem::take(&mut self.kernel.queue_moved) {
                self.look_ahead(cpu);
            }
            if self.now_ns >= self.horizon_ns {
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

    /// Notes until when the task on `cpu` may go on without looking up.
    fn look_ahead(&mut self, cpu: u32) {
        let due_ns = self.disk_due_ns().min(self.events.due_ns());
        self.horizon_ns = due_ns.min(self.processors.slice_end_ns(cpu));
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
            Activity::Write(mut walk) => {
                let flow = self.write_on(task, &mut walk);
                self.tasks[at(task)].activity = if walk.page < walk.end_page {
                    Activity::Write(walk)
                } else {
                    Activity::Between
                };
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
            Flow::WriteBack => {
                let waits = self.waits_for_write_back(task);
                if waits {
                    self.start_wait(task, WaitFor::WriteBack);
                }
                !waits
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
        let process = self.tasks[at(task)].process;
        let is_done_or_other = |task: &Task| task.process != process || task.is_done;
        if let Front::Adaptive(hosts) = &self.front
            && self.tasks.iter().all(is_done_or_other)
        {
            hosts[at(process)].on_exit();
        }
        let ending = &mut self.tasks[at(task)];
        for joiner in std::mem::take(&mut ending.joiners) {
            self.wake(joiner);
        }
        let moment = self.moment(task, FileId(0));
        self.kernel.observer.on_task_done(&moment);
    }
}
