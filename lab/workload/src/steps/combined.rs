//! Workloads made of others: with time of the program's own, one after another, and several at a
//! time.

use crate::random::mix;
use crate::{FileSpec, Process, Program, Step, ThreadGroup, Workload};

/// A program with something to do after each read or touch.
struct Paced {
    program: Box<dyn Program>,
    after: Vec<Step>,
    due: usize,
}

impl Program for Paced {
    fn step(&mut self) -> Option<Step> {
        if let Some(step) = self.after.get(self.due) {
            self.due += 1;
            return Some(*step);
        }
        let step = self.program.step()?;
        if matches!(step, Step::Read { .. } | Step::Touch { .. }) {
            self.due = 0;
        }
        Some(step)
    }

    fn fork(&self) -> Box<dyn Program> {
        Box::new(Self {
            program: self.program.fork(),
            after: self.after.clone(),
            due: self.due,
        })
    }
}

pub(super) fn paced(mut all: Vec<Process>, compute_ns: u64, think_ns: u64) -> Vec<Process> {
    let mut after = Vec::new();
    if compute_ns > 0 {
        after.push(Step::Compute { ns: compute_ns });
    }
    if think_ns > 0 {
        after.push(Step::Think { ns: think_ns });
    }
    for group in groups_of(&mut all) {
        group.program = Box::new(Paced {
            program: group.program.fork(),
            after: after.clone(),
            due: after.len(),
        });
    }
    all
}

/// A program whose files and tasks have other numbers.
struct Renumbered {
    program: Box<dyn Program>,
    files_before: u32,
    tasks_before: u32,
}

impl Program for Renumbered {
    fn step(&mut self) -> Option<Step> {
        Some(match self.program.step()? {
            Step::Open { slot, file } => Step::Open {
                slot,
                file: file + self.files_before,
            },
            Step::Join { task } => Step::Join {
                task: task + self.tasks_before,
            },
            other => other,
        })
    }

    fn fork(&self) -> Box<dyn Program> {
        Box::new(Self {
            program: self.program.fork(),
            ..*self
        })
    }
}

/// Each work has as many of `files` as it asks for, in order; `processes` makes those of one.
pub(super) fn together(
    works: &[Workload],
    files: &[FileSpec],
    seed: u64,
    processes: fn(&Workload, &[FileSpec], u64) -> Vec<Process>,
) -> Vec<Process> {
    let mut together = Vec::new();
    let (mut left, mut files_before, mut tasks_before) = (files, 0, 0);
    for (number, work) in (0..).zip(works) {
        let count = work.files().len().min(left.len());
        let (own, rest) = left.split_at(count);
        left = rest;
        let mut all = processes(work, own, seed ^ mix(number));
        for file in all.iter_mut().flat_map(|process| &mut process.open) {
            *file += files_before;
        }
        let mut tasks = 0;
        for group in groups_of(&mut all) {
            tasks += group.tasks;
            group.program = Box::new(Renumbered {
                program: group.program.fork(),
                files_before,
                tasks_before,
            });
        }
        tasks_before += tasks;
        files_before += u32::try_from(count).unwrap_or(0);
        together.append(&mut all);
    }
    together
}

/// Programs one after another.
struct Chained {
    programs: Vec<Box<dyn Program>>,
    current: usize,
}

impl Program for Chained {
    fn step(&mut self) -> Option<Step> {
        while let Some(program) = self.programs.get_mut(self.current) {
            if let Some(step) = program.step() {
                return Some(step);
            }
            self.current += 1;
        }
        None
    }

    fn fork(&self) -> Box<dyn Program> {
        Box::new(Self {
            programs: self.programs.iter().map(|one| one.fork()).collect(),
            current: self.current,
        })
    }
}

/// The programs of all `works` in one process, over the same file.
pub(super) fn phases(
    works: &[Workload],
    files: &[FileSpec],
    seed: u64,
    processes: fn(&Workload, &[FileSpec], u64) -> Vec<Process>,
) -> Vec<Process> {
    let mut programs = Vec::new();
    for (number, work) in (0..).zip(works) {
        let mut all = processes(work, files, seed ^ mix(number));
        let is_simple = |process: &Process| {
            process.open == [0] && process.groups.len() == 1 && process.groups[0].tasks == 1
        };
        if all.len() == 1 && is_simple(&all[0]) {
            programs.extend(groups_of(&mut all).map(|group| group.program.fork()));
        }
    }
    vec![Process {
        name: "phases".to_owned(),
        open: vec![0],
        groups: vec![ThreadGroup {
            program: Box::new(Chained {
                programs,
                current: 0,
            }),
            tasks: 1,
        }],
    }]
}

fn groups_of(processes: &mut [Process]) -> impl Iterator<Item = &mut ThreadGroup> {
    processes
        .iter_mut()
        .flat_map(|process| process.groups.iter_mut())
}
