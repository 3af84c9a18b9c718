//! The processors: a few, with one queue of tasks that want one, first come, first served.
//!
//! A task keeps its processor until it waits, or until its slice is over and another task wants
//! to run. Interrupt work goes to an idle processor if there is one; otherwise it delays what the
//! first processor does. Idle time is told to the observer whenever it begins or ends.

use std::collections::VecDeque;

use super::events::{Event, Events};
use super::observer::{Work, WorldObserver};

#[derive(Clone, Copy, Debug, Default)]
struct Processor {
    running: Option<u32>,
    /// When its task got it.
    since_ns: u64,
    /// Interrupt work that its task has not been delayed by yet.
    debt_ns: u64,
    /// Interrupt work on an idle processor goes on until then.
    busy_until_ns: u64,
}

/// All processors.
#[derive(Debug)]
pub(super) struct Processors {
    processors: Vec<Processor>,
    ready: VecDeque<u32>,
    slice_ns: u64,
    idle: u32,
    /// Tasks that wait for pages or for the queue.
    io_waiting: u32,
    told_until_ns: u64,
    /// Interrupts are served one after another.
    interrupt_until_ns: u64,
}

impl Processors {
    pub(super) fn new(count: u32, slice_ns: u64) -> Self {
        let count = count.max(1);
        Self {
            processors: (0..count).map(|_| Processor::default()).collect(),
            ready: VecDeque::new(),
            slice_ns,
            idle: count,
            io_waiting: 0,
            told_until_ns: 0,
            interrupt_until_ns: 0,
        }
    }

    /// The task on a processor.
    pub(super) fn running(&self, cpu: u32) -> Option<u32> {
        self.at(cpu).running
    }

    /// A task can run.
    pub(super) fn make_ready(
        &mut self,
        task: u32,
        now_ns: u64,
        events: &mut Events,
        observer: &mut impl WorldObserver,
    ) {
        let free = self
            .processors
            .iter()
            .position(|processor| processor.running.is_none());
        match free.and_then(|cpu| u32::try_from(cpu).ok()) {
            Some(cpu) => {
                self.tell_idle(now_ns, observer);
                self.idle -= 1;
                let start_ns = self.give(cpu, task, now_ns, events);
                if start_ns > now_ns {
                    // The interrupt work until then has been told as work of an idle processor.
                    observer.on_idle(1, false, now_ns, start_ns - now_ns);
                }
            }
            None => self.ready.push_back(task),
        }
    }

    /// The task on `cpu` waits or has ended.
    pub(super) fn release(
        &mut self,
        cpu: u32,
        now_ns: u64,
        events: &mut Events,
        observer: &mut impl WorldObserver,
    ) {
        match self.ready.pop_front() {
            Some(task) => {
                self.give(cpu, task, now_ns, events);
            }
            None => {
                self.tell_idle(now_ns, observer);
                self.idle += 1;
                self.at_mut(cpu).running = None;
            }
        }
    }

    /// When the task on `cpu` has to make way for another one that waits; never if none does.
    pub(super) fn slice_end_ns(&self, cpu: u32) -> u64 {
        if self.slice_ns == 0 || self.ready.is_empty() {
            return u64::MAX;
        }
        self.at(cpu).since_ns.saturating_add(self.slice_ns)
    }

    /// The task on `cpu` goes to the end of the queue.
    pub(super) fn rotate(&mut self, cpu: u32, now_ns: u64, events: &mut Events) {
        let Some(task) = self.at(cpu).running else {
            return;
        };
        self.ready.push_back(task);
        if let Some(next) = self.ready.pop_front() {
            self.give(cpu, next, now_ns, events);
        }
    }

    /// Interrupt work that has delayed the task on `cpu` and that it has to wait out.
    pub(super) fn take_debt(&mut self, cpu: u32) -> u64 {
        std::mem::take(&mut self.at_mut(cpu).debt_ns)
    }

    /// An interrupt that takes `ns` of a processor; returns when it is over.
    pub(super) fn interrupt(
        &mut self,
        now_ns: u64,
        ns: u64,
        observer: &mut impl WorldObserver,
    ) -> u64 {
        let start_ns = now_ns.max(self.interrupt_until_ns);
        self.interrupt_until_ns = start_ns + ns;
        let idle = self
            .processors
            .iter_mut()
            .find(|processor| processor.running.is_none());
        match idle {
            Some(processor) => {
                processor.busy_until_ns = self.interrupt_until_ns;
                observer.on_work(Work::InterruptInIdle, 0, start_ns, ns);
            }
            None => {
                self.at_mut(0).debt_ns += ns;
                observer.on_work(Work::Interrupt, 0, start_ns, ns);
            }
        }
        self.interrupt_until_ns
    }

    /// One more (or one less) task waits for pages or for the queue.
    pub(super) fn count_io_wait(
        &mut self,
        waits: bool,
        now_ns: u64,
        observer: &mut impl WorldObserver,
    ) {
        if self.io_waiting == u32::from(!waits) {
            self.tell_idle(now_ns, observer);
        }
        if waits {
            self.io_waiting += 1;
        } else {
            self.io_waiting -= 1;
        }
    }

    /// Tells the observer about idle time up to now.
    pub(super) fn tell_idle(&mut self, now_ns: u64, observer: &mut impl WorldObserver) {
        let ns = now_ns.saturating_sub(self.told_until_ns);
        if ns > 0 && self.idle > 0 {
            observer.on_idle(self.idle, self.io_waiting > 0, self.told_until_ns, ns);
        }
        self.told_until_ns = self.told_until_ns.max(now_ns);
    }

    /// Gives `cpu` to `task`, and returns when it starts.
    fn give(&mut self, cpu: u32, task: u32, now_ns: u64, events: &mut Events) -> u64 {
        let processor = self.at_mut(cpu);
        let start_ns = now_ns.max(processor.busy_until_ns);
        processor.running = Some(task);
        processor.since_ns = start_ns;
        events.push(start_ns, Event::Continue(cpu));
        start_ns
    }

    fn at(&self, cpu: u32) -> &Processor {
        &self.processors[usize::try_from(cpu).unwrap_or(0)]
    }

    fn at_mut(&mut self, cpu: u32) -> &mut Processor {
        &mut self.processors[usize::try_from(cpu).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Idle(Vec<(u32, bool, u64, u64)>);

    impl WorldObserver for Idle {
        fn on_idle(&mut self, idle: u32, io_wait: bool, from_ns: u64, ns: u64) {
            self.0.push((idle, io_wait, from_ns, ns));
        }
    }

    #[test]
    fn a_second_task_waits_until_the_first_lets_go() {
        let (mut events, mut idle) = (Events::default(), Idle::default());
        let mut one = Processors::new(1, 0);
        one.make_ready(7, 100, &mut events, &mut idle);
        one.make_ready(8, 150, &mut events, &mut idle);
        assert_eq!(one.running(0), Some(7));
        one.release(0, 400, &mut events, &mut idle);
        assert_eq!(one.running(0), Some(8));
        one.count_io_wait(true, 450, &mut idle);
        one.release(0, 500, &mut events, &mut idle);
        one.tell_idle(600, &mut idle);
        assert_eq!(idle.0, [(1, false, 0, 100), (1, true, 500, 100)]);
    }

    #[test]
    fn an_interrupt_delays_whoever_runs_and_is_served_alone() {
        let mut events = Events::default();
        let mut one = Processors::new(1, 0);
        one.make_ready(0, 0, &mut events, &mut ());
        assert_eq!(one.interrupt(10, 5, &mut ()), 15);
        assert_eq!(one.interrupt(12, 5, &mut ()), 20);
        assert_eq!(one.take_debt(0), 10);
        assert_eq!(one.take_debt(0), 0);
    }
}
