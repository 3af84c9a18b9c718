//! The steps of programs, one by one: whatever takes no walk is done here.

use ahead_replicas::kernel::{Advice, ReadAhead};
use ahead_units::PAGE_BYTES;

use super::error::WorldError;
use super::future;
use super::kernel::Area;
use super::observer::{Work, WorldObserver};
use super::page_set::PageSet;
use super::state::{Front, World};
use super::task::{Activity, Descriptor, Flow, Phase, ReadClock, TouchWalk, Watch, WriteWalk, at};
use ahead_replicas::page_cache::FileId;
use ahead_workload::Step;

impl<A: ReadAhead + Clone, O: WorldObserver> World<A, O> {
    /// The next step of a task.
    pub(super) fn next_step(&mut self, task: u32) -> Flow {
        let Some(step) = self.take_step(task) else {
            return Flow::End;
        };
        match self.perform(task, step) {
            Ok(flow) => flow,
            Err(failure) => {
                self.failure = Some(failure);
                Flow::End
            }
        }
    }

    /// The rest of a long step, or the next one.
    fn take_step(&mut self, task: u32) -> Option<Step> {
        let rest = self.tasks[at(task)].rest.take();
        let (step, rest) = match rest {
            Some(rest) => rest,
            None => self.take_whole_step(task)?,
        }
        .split();
        self.tasks[at(task)].rest = rest;
        self.tell_oracle(task, &step);
        Some(step)
    }

    /// A worker takes a whole unit; a task with a program of its own takes step after step.
    fn take_whole_step(&mut self, task: u32) -> Option<Step> {
        let group = self.tasks[at(task)].group;
        let (program, is_shared) = &mut self.programs[at(group)];
        if *is_shared {
            let unit = &mut self.tasks[at(task)].unit;
            if unit.is_empty() {
                while let Some(step) = program.step() {
                    if step == Step::UnitDone {
                        break;
                    }
                    unit.push_back(step);
                }
            }
            return unit.pop_front();
        }
        loop {
            let step = program.step()?;
            if step != Step::UnitDone {
                return Some(step);
            }
        }
    }

    /// The oracle follows what has happened of the future it knows.
    fn tell_oracle(&mut self, task: u32, step: &Step) {
        let group = self.tasks[at(task)].group;
        if let Front::Oracle(oracle) = &mut self.front
            && future::is_of_interest(step)
        {
            oracle.on_step(task, group, &mut self.kernel, self.now_ns);
            self.kernel.unplug(self.now_ns);
        }
    }

    fn perform(&mut self, task: u32, step: Step) -> Result<Flow, WorldError> {
        let process = self.tasks[at(task)].process;
        let syscall_ns = self.kernel.costs.syscall_ns;
        match step {
            Step::Open { slot, file } => {
                self.check_file(file)?;
                self.charge(Work::System, process, syscall_ns);
                let descriptor = self.open(FileId(file));
                self.close(task, slot);
                let slots = &mut self.tasks[at(task)].slots;
                if slots.len() <= at(slot) {
                    slots.resize(at(slot) + 1, None);
                }
                slots[at(slot)] = Some(descriptor);
            }
            Step::Close { slot } => {
                self.charge(Work::System, process, syscall_ns);
                self.close(task, slot);
            }
            Step::Read {
                slot,
                offset,
                length,
            } => {
                let descriptor = self.descriptor(task, slot)?;
                if length == 0 {
                    self.charge(Work::System, process, syscall_ns);
                    return Ok(Flow::Go);
                }
                return Ok(self.begin_read(task, descriptor, offset, length));
            }
            Step::Advise { slot, advice } => {
                let descriptor = self.descriptor(task, slot)?;
                self.charge(Work::System, process, syscall_ns);
                let descriptor = &mut self.descriptors[at(descriptor)];
                descriptor.program_advises = advice == Advice::Random;
                descriptor.advice = advice;
                descriptor.algorithm.on_advice(advice);
                if let Front::Adaptive(hosts) = &self.front
                    && descriptor.watch == Watch::Watched
                {
                    hosts[at(process)].on_advice(descriptor.file.0, advice);
                }
            }
            Step::Write {
                slot,
                offset,
                length,
            } => {
                let descriptor = self.descriptor(task, slot)?;
                self.charge(Work::System, process, syscall_ns);
                let file = self.descriptors[at(descriptor)].file;
                let (page, end_page) = self.written_pages(file, offset, length);
                let moment = self.moment(task, file);
                self.kernel.observer.on_write(&moment, end_page - page);
                self.tasks[at(task)].activity = Activity::Write(WriteWalk {
                    file,
                    page,
                    end_page,
                });
            }
            Step::WillNeed {
                slot,
                offset,
                length,
            } => return self.will_need(task, slot, offset, length),
            Step::DontNeed {
                slot,
                offset,
                length,
            } => {
                let descriptor = self.descriptor(task, slot)?;
                self.charge(Work::System, process, syscall_ns);
                let file = self.descriptors[at(descriptor)].file;
                let pages = self.kernel.files.pages(file);
                let start = offset.div_ceil(PAGE_BYTES);
                let end = (offset.saturating_add(length) / PAGE_BYTES).min(pages);
                if start < end {
                    self.kernel.forget(self.now_ns, file, start, end - start);
                }
            }
            Step::Map {
                area,
                slot,
                start,
                pages,
                advice,
                executable,
            } => {
                let descriptor = self.descriptor(task, slot)?;
                self.charge(Work::System, process, syscall_ns);
                self.descriptors[at(descriptor)].users += 1;
                let file = self.descriptors[at(descriptor)].file;
                let end = start.saturating_add(pages);
                let mapping = Area {
                    file,
                    descriptor,
                    start,
                    end: end.min(self.kernel.files.pages(file)),
                    advice,
                    executable,
                    mapped: PageSet::default(),
                };
                self.unmap(task, area);
                let number = u32::try_from(self.kernel.areas.len()).unwrap_or(u32::MAX);
                self.kernel.areas.push(mapping);
                let areas = &mut self.tasks[at(task)].areas;
                if areas.len() <= at(area) {
                    areas.resize(at(area) + 1, None);
                }
                areas[at(area)] = Some(number);
            }
            Step::Touch { area, page, pages } => {
                let known = self.tasks[at(task)].areas.get(at(area)).copied().flatten();
                let number = known.ok_or(WorldError::Unknown {
                    what: "mapped area",
                    number: area,
                })?;
                self.tasks[at(task)].activity = Activity::Touch(TouchWalk {
                    area: number,
                    page,
                    end_page: page.saturating_add(pages),
                    phase: Phase::Look,
                    began_ns: self.now_ns,
                    neighbours: 0,
                    begins_again: false,
                });
            }
            Step::Unmap { area } => {
                self.charge(Work::System, process, syscall_ns);
                self.unmap(task, area);
            }
            Step::Compute { ns } => self.tasks[at(task)].activity = Activity::Compute(ns),
            Step::Think { ns } => return Ok(Flow::Until(self.now_ns.saturating_add(ns))),
            Step::At { ns } if ns > self.now_ns => return Ok(Flow::Until(ns)),
            Step::At { .. } | Step::UnitDone => {}
            Step::Join { task: other } => {
                let known = self.tasks.get(at(other)).ok_or(WorldError::Unknown {
                    what: "task",
                    number: other,
                })?;
                if !known.is_done {
                    return Ok(Flow::Task(other));
                }
            }
            Step::Label(label) => {
                let moment = self.moment(task, FileId(0));
                self.kernel.observer.on_label(&moment, label);
            }
            Step::DropCaches => {
                for file in 0..self.kernel.files.count() {
                    let file = FileId(u32::try_from(file).unwrap_or(u32::MAX));
                    let pages = self.kernel.files.pages(file);
                    self.kernel.forget(self.now_ns, file, 0, pages);
                }
            }
        }
        Ok(Flow::Go)
    }

    fn will_need(
        &mut self,
        task: u32,
        slot: u32,
        offset: u64,
        length: u64,
    ) -> Result<Flow, WorldError> {
        let process = self.tasks[at(task)].process;
        let descriptor = self.descriptor(task, slot)?;
        self.charge(Work::System, process, self.kernel.costs.syscall_ns);
        let file = self.descriptors[at(descriptor)].file;
        self.descriptors[at(descriptor)].program_advises = true;
        let moment = self.moment(task, file);
        let start = offset / PAGE_BYTES;
        let end = offset.saturating_add(length).div_ceil(PAGE_BYTES);
        let (mut host, algorithm) = self.host(task, descriptor, moment, true);
        algorithm.on_will_need(&mut host, start, end.saturating_sub(start));
        let cost = host.finish().0;
        self.end_of_call();
        self.charge(Work::System, process, cost);
        Ok(self.flow_of(task))
    }

    /// User work, a slice at a time so that others get their turn.
    pub(super) fn compute(&mut self, task: u32, left_ns: u64) -> Flow {
        const PIECE_NS: u64 = 1_000_000;
        let process = self.tasks[at(task)].process;
        let now = left_ns.min(PIECE_NS);
        self.charge(Work::User, process, now);
        self.tasks[at(task)].activity = if now == left_ns {
            Activity::Between
        } else {
            Activity::Compute(left_ns - now)
        };
        Flow::Go
    }

    fn descriptor(&self, task: u32, slot: u32) -> Result<u32, WorldError> {
        let slots = &self.tasks[at(task)].slots;
        let known = slots.get(at(slot)).copied().flatten();
        known.ok_or(WorldError::Unknown {
            what: "slot",
            number: slot,
        })
    }

    /// A new descriptor without a user yet.
    pub(super) fn open(&mut self, file: FileId) -> u32 {
        let descriptor = Descriptor {
            file,
            algorithm: self.prototype.clone(),
            position: 0,
            program_advises: false,
            advice: Advice::Normal,
            watch: Watch::Fresh,
            clock: ReadClock::default(),
            users: 1,
        };
        if let Some(free) = self.free_descriptors.pop() {
            self.descriptors[at(free)] = descriptor;
            return free;
        }
        self.descriptors.push(descriptor);
        u32::try_from(self.descriptors.len() - 1).unwrap_or(u32::MAX)
    }

    /// Closes a slot of a task; nothing if it stands for nothing.
    pub(super) fn close(&mut self, task: u32, slot: u32) {
        let slots = &mut self.tasks[at(task)].slots;
        if let Some(descriptor) = slots.get_mut(at(slot)).and_then(Option::take) {
            self.let_go(task, descriptor);
        }
    }

    fn unmap(&mut self, task: u32, area: u32) {
        let areas = &mut self.tasks[at(task)].areas;
        if let Some(number) = areas.get_mut(at(area)).and_then(Option::take) {
            let mapping = &mut self.kernel.areas[at(number)];
            mapping.end = mapping.start;
            mapping.mapped = PageSet::default();
            let descriptor = mapping.descriptor;
            self.let_go(task, descriptor);
        }
    }

    /// One user less; the last one closes the descriptor.
    fn let_go(&mut self, task: u32, descriptor: u32) {
        let closing = &mut self.descriptors[at(descriptor)];
        closing.users = closing.users.saturating_sub(1);
        if closing.users > 0 {
            return;
        }
        let (file, position) = (closing.file, closing.position);
        if let Front::Adaptive(hosts) = &self.front {
            hosts[at(self.tasks[at(task)].process)].on_close(file.0, self.now_ns);
        }
        let moment = self.moment(task, file);
        let (mut host, algorithm) = self.host(task, descriptor, moment, true);
        algorithm.on_close(&mut host, position);
        host.finish();
        self.free_descriptors.push(descriptor);
    }
}
