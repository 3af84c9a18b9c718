//! The read-ahead of a machine: the layers between a file and its disk, the value of each, and where it
//! probably comes from.
//!
//! ```text
//! path, mount or device ──► Stack: file system → LV, crypt, md, … → partition → disk
//!                             each layer: kind, limits, read_ahead_kb, origin; one of them counts
//! ```
//!
//! Linux keeps one window for each *bdi* (backing device). A file copies it when it is opened, from the
//! bdi of its file system, which is the one of the block device directly below, or the file system's own
//! (btrfs, NFS, FUSE, …). So one value counts for a read, the topmost, and those below are not looked at.
//!
//! All is read from `/proc` and `/sys` below the root folder of a [`MachineTree`](machine::MachineTree), so that a
//! test can build a small one. What cannot be read is said, never guessed. Nothing is printed here.
#![forbid(unsafe_code)]

pub mod block;
pub mod boot;
pub mod boot_setting;
pub mod container;
pub mod display;
pub mod doctor;
pub mod finding;
pub mod identity;
pub mod inventory;
pub mod machine;
pub mod mapped;
pub mod measurement;
pub mod mechanism;
pub mod origin;
pub mod persist;
pub mod persist_record;
mod repairs;
pub mod stack;
pub mod stacked;
pub mod superblock;
pub mod target;
pub mod temporary_window;
pub mod undo;
pub mod verify;
pub mod whole_file;
pub mod window;
pub mod window_journal;
