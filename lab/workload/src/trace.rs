//! A job from a recorded trace.
//!
//! Each process of the trace becomes a process, each thread a task. A thread opens a file of its
//! own at its first access, and again where the trace says so. A file is as long as the trace
//! knows, and at least up to the last byte touched. Writes, syncs and decisions of policies are
//! left out.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use ahead_trace::{Access, FileAdvice as Said, Operation, Reader, TraceError};
use ahead_units::Advice;
use ahead_units::PAGE_BYTES;

use crate::{FileSpec, Job, Listed, Process, Step, ThreadGroup};

/// How fast a trace is repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// Each thread as fast as its reads are answered.
    #[default]
    Fast,
    /// No access before its moment in the trace.
    AsRecorded,
}

#[derive(Default)]
struct Thread {
    steps: Vec<Step>,
    slots: BTreeMap<u32, u32>,
    /// Files whose area exists; it has the number of the slot.
    mapped: BTreeSet<u32>,
}

/// The job of `reader`, up to its end or its first error, and that error.
pub fn job(reader: impl Reader, timing: Timing) -> (Job, Option<TraceError>) {
    let mut reader = reader;
    let mut threads: BTreeMap<(u32, u32), Thread> = BTreeMap::new();
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    let mut failure = None;
    let mut start_ns = None;
    for access in &mut reader {
        let access = match access {
            Ok(access) => access,
            Err(error) => {
                failure = Some(error);
                break;
            }
        };
        let thread = threads.entry((access.process, access.thread)).or_default();
        let end = ends.entry(access.file.0).or_default();
        if access.operation.is_reading() {
            *end = (*end).max(access.end());
        }
        let start_ns = *start_ns.get_or_insert(access.at_ns);
        if timing == Timing::AsRecorded {
            let ns = access.at_ns.saturating_sub(start_ns);
            thread.steps.push(Step::At { ns });
        }
        thread.take(&access);
    }
    let sizes = reader.files();
    let files = sizes.iter().map(|file| {
        let known = sizes.size(file).unwrap_or(0);
        FileSpec::contiguous(known.max(ends.get(&file.0).copied().unwrap_or(0)))
    });
    let mut processes: BTreeMap<u32, Process> = BTreeMap::new();
    let files = files.collect();
    for ((process, _), thread) in threads {
        let entry = processes.entry(process).or_insert_with(|| Process {
            name: format!("process {process}"),
            ..Process::default()
        });
        entry.groups.push(ThreadGroup {
            program: Box::new(Listed::new(thread.steps)),
            tasks: 1,
        });
    }
    let job = Job {
        files,
        processes: processes.into_values().collect(),
        ..Job::default()
    };
    (job, failure)
}

impl Thread {
    fn take(&mut self, access: &Access) {
        let (offset, length) = (access.offset, access.length);
        match access.operation {
            Operation::Read => {
                let slot = self.slot(access.file.0);
                self.steps.push(Step::Read {
                    slot,
                    offset,
                    length,
                });
            }
            Operation::Fault => {
                let slot = self.slot(access.file.0);
                let start = offset / PAGE_BYTES;
                let end = access.end().max(offset + 1).div_ceil(PAGE_BYTES);
                if self.mapped.insert(access.file.0) {
                    self.steps.push(Step::Map {
                        area: slot,
                        slot,
                        start: 0,
                        pages: u64::MAX,
                        advice: Advice::Normal,
                        executable: false,
                    });
                }
                self.steps.push(Step::Touch {
                    area: slot,
                    page: start,
                    pages: end - start,
                });
            }
            Operation::Open => {
                let file = access.file.0;
                if self.slots.contains_key(&file) {
                    let slot = self.slot(file);
                    self.steps.push(Step::Open { slot, file });
                } else {
                    self.slot(file);
                }
            }
            Operation::Advise(said) => {
                let slot = self.slot(access.file.0);
                let length = if length == 0 {
                    u64::MAX - offset
                } else {
                    length
                };
                self.steps.push(match said {
                    Said::Normal => advise(slot, Advice::Normal),
                    Said::Sequential => advise(slot, Advice::Sequential),
                    Said::Random => advise(slot, Advice::Random),
                    Said::WillNeed => Step::WillNeed {
                        slot,
                        offset,
                        length,
                    },
                    Said::DontNeed => Step::DontNeed {
                        slot,
                        offset,
                        length,
                    },
                });
            }
            Operation::Write
            | Operation::Close
            | Operation::Sync
            | Operation::Discard
            | Operation::Prefetch(_) => {}
        }
    }

    /// The thread's slot for a file, which is opened at its first mention.
    fn slot(&mut self, file: u32) -> u32 {
        let next = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        match self.slots.entry(file) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                place.insert(next);
                self.steps.push(Step::Open { slot: next, file });
                next
            }
        }
    }
}

const fn advise(slot: u32, advice: Advice) -> Step {
    Step::Advise { slot, advice }
}
