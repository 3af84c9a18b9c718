//! Guests: the real kernel as a program, in virtual time, over a modelled disk.
//!
//! Linux can be compiled as an ordinary program (User-Mode Linux). In virtual time a processor costs
//! nothing and sleeping is skipped, so that only the disk takes time, and that is modelled to the
//! nanosecond by the crate that the simulator uses. The page cache, the file systems, the request
//! queue and all of `mm/readahead.c` are the real ones; programs are the machine's own, unmodified.
//!
//! * [`kernel`] builds the kernel from Debian's source, our patches and driver, and keeps it;
//!   [`source`] finds that source
//! * [`guest`] boots one, waits for its end, and ends it when it hangs
//! * [`task`]: what a guest is told and what it answers, two small JSON files
//! * [`init`]: the first process in the guest: mounts, prepares, measures, powers off
//! * `nfs`: a folder of the guest, served by its own kernel and mounted over the loopback
//! * [`requests`]: the log of every request that reached the disk; [`sweep`]: what the disk would have
//!   needed for the same bytes at the least
#![forbid(unsafe_code)]

pub mod guest;
pub mod init;
pub mod kernel;
mod nfs;
pub mod requests;
pub mod source;
pub mod sweep;
pub mod task;

pub use guest::{Console, Guest, GuestDisk, GuestError, GuestRun, Steps};
pub use kernel::{Kernel, KernelError};
pub use requests::LoggedRequest;
pub use source::{KernelSeries, SourceError};
pub use task::{FileSystem, GuestAnswer, Task};
