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

    /// Reads an inode, with the window around it where it was not read yet.
    pub(super) fn read_inode(&self, inode: u64, shared: &mut Shared, steps: &mut Steps) {
        let block = self.disk.inode_block(inode);
        let (start, count) = self.disk.inode_window(inode);
        shared.read_block(block, start..start + count, steps);
    }

    /// Reads the names of a folder.
    pub(super) fn read_names(
        &self,
        (tree, folder): FolderId,
        shared: &mut Shared,
        steps: &mut Steps,
    ) {
        let block = self.trees[tree].folders[folder].block;
        shared.read_block(block, block..block + 1, steps);
    }
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
    fn read_block(&mut self, block: u64, window: Range<u64>, steps: &mut Steps) {
        if !self.asked.contains(&block) {
            let length = (window.end - window.start) * PAGE_BYTES;
            self.asked.extend(window.clone());
            // What lies in memory of it already is left out. The block itself is all that is waited for.
            steps.push_back(Step::WillNeed {
                slot: DEVICE,
                offset: window.start * PAGE_BYTES,
                length,
            });
        }
        steps.push_back(Step::Read {
            slot: DEVICE,
            offset: block * PAGE_BYTES,
            length: PAGE_BYTES,
        });
    }
}
