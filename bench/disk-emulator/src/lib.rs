//! An emulated disk under the real page cache: FUSE file, loop device on it, ext4 on top.
//!
//! ```text
//!   program ──read()──> page cache, read-ahead ──> ext4 ──> /dev/loopN (direct I/O)
//!                                                              │
//!   server process: modelled time  <── /dev/fuse <── STATE/NAME/fuse/image
//! ```
//!
//! The kernel above the loop device is the one that runs on every machine; below it a process answers
//! each read with bytes from memory, at the moment that a model from `ahead_disk_model` says. Writes are
//! answered at once, so that preparing files does not take the time of the disk.
//!
//! [`create()`], [`list()`], [`stats()`], [`reset_stats`] and [`destroy()`] are the whole interface, next to
//! [`serve`], which the program given as `server_exe` must call when its first argument is
//! [`SERVER_ARGUMENT`]. What is left behind by a process that was killed is cleaned up by the next
//! [`create()`] or [`list()`].
#![forbid(unsafe_code)]

mod create;
mod destroy;
mod info;
mod layers;
mod list;
mod record;
mod server;
mod state;
mod stats;

pub use create::{CreateError, CreateOptions, create};
pub use destroy::{DestroyError, destroy};
pub use info::{DiskInfo, StateError};
pub use list::{ListError, list};
pub use server::{SERVER_ARGUMENT, ServeError, serve};
pub use stats::{DiskStats, Lateness, SizeClass, StatsError, reset_stats, stats};
