//! What program and helper share: the trees, which of their metadata has been asked for, and what the program says.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use ahead_units::PAGE_BYTES;
use ahead_workload::Step;

use super::ext4::{Ext4, Ext4Tree};

/// The slot of the device in each task, and that of the file that is open.
pub(super) const DEVICE: u32 = 0;
pub(super) const OPEN_FILE: u32 = 1;

/// All trees, with one numbering of folders and one of files.
pub(super) struct Forest {
    disk: Ext4,
    trees: Vec<Ext4Tree>,
}

/// A folder: the tree, and its number there.
pub(super) type FolderId = (usize, usize);
/// A file: the tree, and its number there.
pub(super) type TreeFileId = (usize, usize);

impl Forest {
    pub(super) fn new(disk: Ext4, trees: Vec<Ext4Tree>) -> Self {
        Self { disk, trees }
    }

    pub(super) fn trees(&self) -> &[Ext4Tree] {
        &self.trees
    }

    /// The number of a file in the job, in which the device is the first one.
    pub(super) fn number(&self, (tree, file): TreeFileId) -> u32 {
        let before = self.trees.iter().take(tree);
        let before: usize = before.map(|tree| tree.files.len()).sum();
        u32::try_from(1 + before + file).unwrap_or(u32::MAX)
    }

    pub(super) fn folder_inode(&self, (tree, folder): FolderId) -> u64 {
        self.trees[tree].folders[folder].inode
    }

    pub(super) fn file_inode(&self, (tree, file): TreeFileId) -> u64 {
        self.trees[tree].files[file].inode
    }

    /// The block of an inode, and the window that is read with it where it was not read yet.
    pub(super) fn inode_blocks(&self, inode: u64) -> Blocks {
        let (start, count) = self.disk.inode_window(inode);
        Blocks {
            wanted: self.disk.inode_block(inode),
            window: start..start + count,
        }
    }

    /// The block of the names of a folder.
    pub(super) fn name_blocks(&self, (tree, folder): FolderId) -> Blocks {
        let wanted = self.trees[tree].folders[folder].block;
        Blocks {
            wanted,
            window: wanted..wanted + 1,
        }
    }
}

/// A block of metadata, and what is read with it.
pub(super) struct Blocks {
    pub(super) wanted: u64,
    window: Range<u64>,
}

/// Steps that a task is going to take.
pub(super) type Steps = VecDeque<Step>;

/// What the program says to the helper, in its order.
#[derive(Clone, Copy, Debug)]
pub(super) enum TreeNote {
    /// It lists a folder.
    List(FolderId),
    /// It opens a file.
    Open(TreeFileId),
}

/// What changes while the clock runs.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Blocks of metadata that were asked for.
    asked: BTreeSet<u64>,
    /// Files whose data was requested by the helper.
    pub(super) requested: BTreeSet<TreeFileId>,
    pub(super) notes: VecDeque<TreeNote>,
    /// Files whose first read had to wait for the disk.
    pub(super) waits: u32,
    /// The program has ended.
    pub(super) is_over: bool,
}

impl Shared {
    /// Blocks of metadata that were asked for so far.
    pub(super) fn blocks_asked(&self) -> usize {
        self.asked.len()
    }

    /// Reads these blocks, all at once.
    pub(super) fn read(&mut self, all: &[Blocks], steps: &mut Steps) {
        for Blocks { wanted, window } in all {
            if !self.asked.contains(wanted) {
                self.asked.extend(window.clone());
                // What lies in memory of it already is left out. The block itself is all that is waited for.
                steps.push_back(Step::WillNeed {
                    slot: DEVICE,
                    offset: window.start * PAGE_BYTES,
                    length: (window.end - window.start) * PAGE_BYTES,
                });
            }
        }
        steps.extend(all.iter().map(|blocks| Step::Read {
            slot: DEVICE,
            offset: blocks.wanted * PAGE_BYTES,
            length: PAGE_BYTES,
        }));
    }
}
