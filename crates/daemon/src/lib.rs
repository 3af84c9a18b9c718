//! Host: the machine. The engine's loop, fed with what the kernel tells of every process's page cache, and carried out
//! from outside.
//!
//! ```text
//!   observer ──facts──> Daemon ──accesses, waits──> Session (engine) ──decisions──> Outside
//!                                                                                     │
//!            a duplicate of the process's own descriptor, for a moment  <─────────────┘
//! ```
//!
//! A program need not be started anew, nor know of it; page faults of mappings count like reads. Nothing is read from
//! files, and nothing of a process is changed but the window of an open file whose mapping is read at random, or behind
//! which page faults starve; that is written down before ([`narrowed`]).
//!
//! * [`observing`] — where facts come from; [`daemon`] — facts in, decisions carried out
//! * [`files`] — the files that are known; [`pause`] — how late accesses to one may be told
//! * `untold` — what a scan read between two misses, of which nothing is told
//! * [`reach`], [`outside`] — how a file of another process is reached, and decisions about it carried out
//! * `servers`, `closer` — file systems of servers: which files are not reached there, and what is let go of by another thread
//! * `aside` — what a process can keep from being answered, asked by threads of their own
//! * `worker` — such threads
//! * `spending` — who is left alone for a while, as reaching its files took long
//! * [`scope`] — for which files and processes
//! * [`history`], [`changes`] — what was decided about a file, and which of that is news
//! * [`control`], [`protocol`], [`status`] — what it says of itself, and to whom
//! * `deadline` — how long all of one connection may take
//! * [`metrics`] — the same for Prometheus
//! * `windows` — the windows that files take over as they are opened: of devices, and of file systems that have one of their own
//! * [`owned`] — devices whose window another program has set: left to it
//! * [`narrowed`] — windows of open files that were changed, and how they are put back
#![forbid(unsafe_code)]

mod aside;
pub mod changes;
mod closer;
pub mod control;
pub mod daemon;
mod deadline;
pub mod files;
pub mod history;
mod http;
pub mod machine_facts;
mod memory;
pub mod metrics;
pub mod narrowed;
pub mod observing;
pub mod outside;
pub mod owned;
pub mod pause;
mod pipeline;
pub mod protocol;
pub mod reach;
mod readers;
mod recent;
pub mod scope;
mod servers;
mod spending;
mod starving;
pub mod status;
mod untold;
mod windows;
mod worker;
