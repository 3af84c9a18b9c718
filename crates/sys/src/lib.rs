//! System calls and readers of /proc and /sys, one file per call or interface, and nothing else.
//!
//! No retry, no policy, no log: `AsFd` in, result out. Readers of /proc and /sys take their root
//! folder, so that a test can build a small fake one. Those that the interposed library needs as
//! well (`small_file`, `meminfo`, `memory_limit`, `device_identity`, `block_queue::QueueFacts`, `btrfs`, `overlay`) allocate nothing and ask
//! the kernel past the C library. That is why they are not the `procfs` crate's.

pub mod any_signal;
pub mod block_queue;
pub mod btrfs;
pub mod cachestat;
pub mod cgroup;
pub mod child_usage;
pub mod counter;
pub mod device_identity;
pub mod direct_reader;
pub mod direct_threads;
pub mod drop_caches;
pub mod extent_map;
pub mod filter_probe;
pub mod fixed_layout;
pub mod group_file;
pub mod inherited;
pub mod kernel_release;
pub mod large_folios;
pub mod loop_device;
pub mod loopback;
pub mod mapped_area;
pub mod mapped_file;
pub mod meminfo;
pub mod memory_limit;
pub mod memory_pressure;
pub mod mounts;
pub mod overlay;
pub mod own_usage;
pub mod peer_groups;
pub mod process_children;
pub mod process_identity;
pub mod process_madvise;
pub mod process_maps;
pub mod process_smaps;
pub mod process_status;
pub mod readahead;
pub mod real_time;
pub mod scratch;
pub mod shared_counter;
pub mod small_file;
pub mod standard_io;
pub mod terminal;
