//! Measuring workloads on a disk, against the alternatives.
//!
//! A [`BenchPlan`] names a disk, workloads and arms. [`run`](run::run) prepares files, starts one
//! reader process per run, arms interleaved, and returns every single run; [`render_table`] and
//! [`render_results`] show them. A figure is only ever compared with others of the same bench run.
//!
//! ```text
//! plan --> run --> execute --> reader process: job -> steps -> reads -> checks -> times
//!                     |             (interpreter, or the ceiling that knows the future;
//!                     |             a job of several processes has a reader for each)
//!                     +--> device counters, progress, CPU time
//! results <-----------+
//!    +--> summary --> table, svg
//! ```

#![forbid(unsafe_code)]

pub mod arm;
pub mod assignment;
mod beside;
pub mod calendar;
pub mod ceiling;
mod ceiling_reader;
pub mod content;
mod daemon_arm;
pub mod dataset;
mod descriptors;
mod error;
mod execute;
mod ground;
mod interpreter;
mod journal;
mod kernel_policy;
pub mod overhead;
mod picture;
pub mod places;
pub mod plan;
pub mod planned;
pub mod predict;
mod processes;
pub mod programs;
mod read_error;
pub mod reader;
pub mod results;
pub mod run;
mod side;
pub mod statistics;
pub mod summary;
mod table;
mod tally;
pub mod target;
pub mod tree_files;

pub use beside::{BesideError, render_beside};
pub use error::BenchError;
pub use picture::render_results;
pub use plan::{BenchPlan, BenchProgress, DaemonCommands, DiskChoice, Preload, ReaderCommand};
pub use reader::reader_main;
pub use results::Results;
pub use run::run;
pub use side::MeasureError;
pub use table::render_table;
