//! The one language of access patterns: what is read, of how much, in which portions.
//!
//! A [`Workload`] is data that a plan can hold. [`Workload::job`] makes files and programs of it,
//! which the simulator runs in virtual time, and the bench's reader on real files. Every workload
//! reads each of its files through descriptors that are open when the clock starts, unless it is
//! about opening. The same workload, files and seed make the same steps.
//!
//! * [`kinds`]: the workloads themselves
//! * `steps`: the files and the steps of each kind
//! * [`presets`]: workloads with names, those of the bench; [`scenario`]: a name and circumstances
//! * [`generated()`], [`odd()`]: workloads by seed
//! * [`program`]: jobs, processes, thread groups, steps
//! * [`wanted`]: which bytes a job is going to want, in order
//! * [`trace`]: a job from a recorded trace
//! * [`tree`]: trees of files, for programs that go through folders
#![forbid(unsafe_code)]

mod generated;
pub mod kinds;
pub mod presets;
pub mod program;
pub mod random;
pub mod scenario;
mod steps;
pub mod trace;
pub mod tree;
pub mod wanted;

pub use generated::{generated, odd};
pub use kinds::{Course, Draw, ENDLESS, Form, Hint, KINDS, TouchOrder, Variation, Workload};
pub use presets::Preset;
pub use program::{FileSpec, Job, Layout, Listed, Piece, Process, Program, Step, ThreadGroup};
pub use scenario::Scenario;
pub use wanted::WantedRange;

impl Workload {
    /// The files it asks for, in the order in which they lie on the disk.
    #[must_use]
    pub fn files(&self) -> Vec<FileSpec> {
        steps::files(self)
    }

    /// Files and programs. `seed` decides whatever is random.
    #[must_use]
    pub fn job(&self, seed: u64) -> Job {
        self.job_over(self.files(), seed)
    }

    /// The same over files of other sizes: as many reads as they hold. Files that are missing are
    /// as good as empty, and those beyond its own number are left alone unless it reads as many as
    /// there are.
    #[must_use]
    pub fn job_over(&self, files: Vec<FileSpec>, seed: u64) -> Job {
        Job {
            processes: steps::processes(self, &files, seed),
            files,
            ..Job::default()
        }
    }
}
