//! What processes do: files, steps, programs, jobs.
//!
//! A job is data: the files on the disk, and for each process the descriptors it starts with and
//! the programs its tasks run. A program is an iterator of steps that can be copied, so that an
//! oracle can run ahead in its own copy, and a reader can begin again. How steps take time is left
//! to who interprets them: a simulated world, or a process that reads real files.

use std::sync::Arc;

use ahead_units::Advice;
use serde::{Deserialize, Serialize};

/// Where the pages of a file lie on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// In one piece, behind the file added before.
    #[default]
    Contiguous,
    /// In one piece, from this byte of the disk on.
    At {
        /// First byte on the disk.
        offset: u64,
    },
    /// In pieces of `extent_pages` with `gap_pages` of other files between them.
    Fragmented {
        /// Pages of a piece, at least 1.
        extent_pages: u64,
        /// Pages between two pieces.
        gap_pages: u64,
    },
    /// In these pieces, one behind the other in the file; the last one holds what follows it too.
    Pieces {
        /// The pieces.
        pieces: Vec<Piece>,
    },
}

/// Pages of a file that lie one after another on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Piece {
    /// How many pages.
    pub pages: u64,
    /// First byte on the disk.
    pub offset: u64,
}

/// A file on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSpec {
    /// Its length in bytes.
    pub bytes: u64,
    /// Where it lies.
    #[serde(default)]
    pub layout: Layout,
}

impl FileSpec {
    /// A file in one piece.
    #[must_use]
    pub const fn contiguous(bytes: u64) -> Self {
        Self {
            bytes,
            layout: Layout::Contiguous,
        }
    }
}

/// One thing that a task does. Files are numbered as the job lists them; slots and areas are
/// numbers of the program's choice, small ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Opens `file` as descriptor `slot` of this task.
    Open {
        /// Descriptor.
        slot: u32,
        /// Which file of the job.
        file: u32,
    },
    /// Closes a descriptor.
    Close {
        /// Descriptor.
        slot: u32,
    },
    /// Reads; beyond the end of the file nothing comes.
    Read {
        /// Descriptor.
        slot: u32,
        /// First byte.
        offset: u64,
        /// Bytes asked for.
        length: u64,
    },
    /// Writes whole pages, which are in memory then and reach the disk later. A part of a page counts
    /// as the page: nothing is read for it.
    Write {
        /// Descriptor.
        slot: u32,
        /// First byte.
        offset: u64,
        /// Bytes written; none beyond the end of the file, which has its size from the start.
        length: u64,
    },
    /// `posix_fadvise` for the whole descriptor.
    Advise {
        /// Descriptor.
        slot: u32,
        /// What it says.
        advice: Advice,
    },
    /// `posix_fadvise(WILLNEED)`, `readahead(2)`.
    WillNeed {
        /// Descriptor.
        slot: u32,
        /// First byte.
        offset: u64,
        /// Bytes wanted.
        length: u64,
    },
    /// `posix_fadvise(DONTNEED)`: whole pages inside the range leave the cache.
    DontNeed {
        /// Descriptor.
        slot: u32,
        /// First byte.
        offset: u64,
        /// Bytes given up.
        length: u64,
    },
    /// Maps pages of a file; `mmap` and, with an advice, `madvise`.
    Map {
        /// Mapped area.
        area: u32,
        /// Descriptor.
        slot: u32,
        /// First page of the file.
        start: u64,
        /// Pages.
        pages: u64,
        /// The area's advice.
        advice: Advice,
        /// Code.
        executable: bool,
    },
    /// Touches pages of a mapped area, ascending.
    Touch {
        /// Mapped area.
        area: u32,
        /// First page, in the file.
        page: u64,
        /// How many.
        pages: u64,
    },
    /// Ends a mapping.
    Unmap {
        /// Mapped area.
        area: u32,
    },
    /// Uses the processor.
    Compute {
        /// For so long.
        ns: u64,
    },
    /// Sleeps.
    Think {
        /// For so long.
        ns: u64,
    },
    /// Sleeps until a moment; nothing if it has passed.
    At {
        /// Nanoseconds since the clock started.
        ns: u64,
    },
    /// Waits until another task has ended.
    Join {
        /// Number of the task in its job, counted over all processes.
        task: u32,
    },
    /// A phase begins: for observers.
    Label(u32),
    /// Forgets every page that is not in flight.
    DropCaches,
    /// Ends a unit of work: another worker of the same pool may take what follows.
    UnitDone,
}

/// Most pages that a task touches in one step; longer steps are done in parts.
const TOUCH_PAGES_MAX: u64 = 16;

impl Step {
    /// What is done at once of this step, and what is left for later.
    #[must_use]
    pub const fn split(self) -> (Self, Option<Self>) {
        match self {
            Self::Touch { area, page, pages } if pages > TOUCH_PAGES_MAX => (
                Self::Touch {
                    area,
                    page,
                    pages: TOUCH_PAGES_MAX,
                },
                Some(Self::Touch {
                    area,
                    page: page + TOUCH_PAGES_MAX,
                    pages: pages - TOUCH_PAGES_MAX,
                }),
            ),
            whole => (whole, None),
        }
    }
}

/// What a task does, step by step. Every iterator of steps that can be cloned is one.
pub trait Program: Send {
    /// The next step; `None` when the task ends.
    fn step(&mut self) -> Option<Step>;

    /// A copy that stands at the same place and goes its own way.
    fn fork(&self) -> Box<dyn Program>;
}

impl<P> Program for P
where
    P: Iterator<Item = Step> + Clone + Send + 'static,
{
    fn step(&mut self) -> Option<Step> {
        self.next()
    }

    fn fork(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }
}

/// A thread group: one program and the tasks that run it.
pub struct ThreadGroup {
    /// What they do.
    pub program: Box<dyn Program>,
    /// How many tasks share the program, each taking the next unit ([`Step::UnitDone`]) when it
    /// has finished its own. 1: an ordinary task.
    pub tasks: u32,
}

/// Threads with common descriptors.
#[derive(Default)]
pub struct Process {
    /// For reports.
    pub name: String,
    /// Files open before the clock starts: slots 0, 1, … of every task, one descriptor for all.
    /// Slots from there on are a task's own.
    pub open: Vec<u32>,
    /// Who runs.
    pub groups: Vec<ThreadGroup>,
}

impl Process {
    /// A process of one task.
    #[must_use]
    pub fn new(name: impl Into<String>, open: Vec<u32>, program: impl Program + 'static) -> Self {
        Self {
            name: name.into(),
            open,
            groups: vec![ThreadGroup {
                program: Box::new(program),
                tasks: 1,
            }],
        }
    }

    /// Adds a task with the same descriptors.
    #[must_use]
    pub fn with_thread(mut self, program: impl Program + 'static) -> Self {
        self.groups.push(ThreadGroup {
            program: Box::new(program),
            tasks: 1,
        });
        self
    }

    /// Adds `tasks` tasks that share one program.
    #[must_use]
    pub fn with_workers(mut self, tasks: u32, program: impl Program + 'static) -> Self {
        self.groups.push(ThreadGroup {
            program: Box::new(program),
            tasks,
        });
        self
    }
}

/// Files and processes: everything of a run that is not the machine and not the policy.
#[derive(Default)]
pub struct Job {
    /// Files, in the order in which they lie on the disk.
    pub files: Vec<FileSpec>,
    /// Pages that are in memory when the clock starts: file, first page, pages.
    pub cached: Vec<(u32, u64, u64)>,
    /// Processes.
    pub processes: Vec<Process>,
}

impl Job {
    /// A copy whose programs stand where these stand.
    #[must_use]
    pub fn fork(&self) -> Self {
        let group = |group: &ThreadGroup| ThreadGroup {
            program: group.program.fork(),
            tasks: group.tasks,
        };
        let process = |process: &Process| Process {
            name: process.name.clone(),
            open: process.open.clone(),
            groups: process.groups.iter().map(group).collect(),
        };
        Self {
            files: self.files.clone(),
            cached: self.cached.clone(),
            processes: self.processes.iter().map(process).collect(),
        }
    }
}

/// A program from a list of steps, shared and not copied by [`Program::fork`].
#[derive(Clone, Debug)]
pub struct Listed {
    steps: Arc<[Step]>,
    next: usize,
}

impl Listed {
    /// The steps in order.
    #[must_use]
    pub fn new(steps: impl Into<Arc<[Step]>>) -> Self {
        Self {
            steps: steps.into(),
            next: 0,
        }
    }
}

impl Iterator for Listed {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let step = self.steps.get(self.next).copied();
        self.next += usize::from(step.is_some());
        step
    }
}
