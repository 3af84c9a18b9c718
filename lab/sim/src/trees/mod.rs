//! Programs that go through trees of files, in the simulator.
//!
//! A tree lies on the disk as [`ext4`](Ext4) places it. What a program does there is a fixed list of operations
//! (`walk`): it lists a folder, opens a file, reads it. Metadata is a file of the job, too, the device itself: its
//! blocks are read once and stay, inodes in windows as ext4 reads them (`metadata`). With trees on a second task goes
//! ahead (`helper`): the library's helper, under the same [`FileOrder`](ahead_policy::file_order::FileOrder).
//!
//! ```text
//! walk ── operations ──► Walker ── steps ──► world
//!                          │ visits               ▲
//!                          └──────► Helper ─ steps ┘
//! ```

mod ext4;
mod helper;
mod metadata;
mod name_hash;
mod order;
mod walk;

use std::sync::{Arc, Mutex};

use ahead_units::PAGE_BYTES;
use ahead_workload::{FileSpec, Job, Layout, Process};

pub use ext4::{Ext4, Ext4File, Ext4Folder, Ext4Tree};
use helper::Helper;
use metadata::{Forest, Shared};
pub use walk::TreeProgram;
use walk::Walker;

/// A job in which `program` goes through `trees`, which lie on `disk`; the first two for one that compares. With
/// `helped`, the library's helper goes ahead of it.
#[must_use]
pub fn job(disk: Ext4, trees: Vec<Ext4Tree>, program: TreeProgram, helped: bool) -> Job {
    let device = FileSpec {
        bytes: disk.bytes(),
        layout: Layout::At { offset: 0 },
    };
    let placed = trees.iter().flat_map(|tree| &tree.files);
    let files = placed.map(|file| FileSpec {
        bytes: file.bytes,
        layout: Layout::At {
            offset: file.block * PAGE_BYTES,
        },
    });
    let files = std::iter::once(device).chain(files).collect();
    let forest = Arc::new(Forest::new(disk, trees));
    let shared = Arc::new(Mutex::new(Shared::default()));
    let walker = Walker::new(Arc::clone(&forest), Arc::clone(&shared), program);
    // A descriptor of the device for each of them: they are about other places.
    let mut processes = vec![Process::new("program", Vec::new(), walker)];
    if helped {
        // The library looks away from what its helper does, which is a thread of the same process.
        let helper = Helper::new(forest, shared);
        processes.push(Process::new("helper", Vec::new(), helper));
    }
    Job {
        files,
        processes,
        ..Job::default()
    }
}
