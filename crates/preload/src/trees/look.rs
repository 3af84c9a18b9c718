//! One look at a file or a folder that was listed, for the sake of what the kernel reads for it.

use rustix::fs::{AtFlags, CWD};

use super::disk::{self, PathText};
use super::folders::Folders;

/// A look that is to be taken.
pub(super) struct Look {
    path: PathText,
    device: u64,
    inode: u64,
    /// It is a folder whose names are to be read too.
    is_folder: bool,
}

impl Look {
    /// Nothing is looked at.
    pub(super) const NONE: Self = Self {
        path: PathText::new(),
        device: 0,
        inode: 0,
        is_folder: false,
    };

    /// At the entry of a folder, as it was listed.
    pub(super) fn at(&mut self, folders: &Folders, folder: usize, entry: usize) {
        let known = folders.entry(entry);
        let path = disk::path_of_entry(folders, folder, entry);
        self.path = path.unwrap_or(PathText::new());
        self.device = folders.folder(folder).device;
        self.inode = known.inode;
        self.is_folder = known.is_folder;
    }

    /// Takes it. What is there now may be another thing: it is left alone.
    pub(super) fn take(&self) {
        let _ = self.try_take();
    }

    fn try_take(&self) -> Option<()> {
        let path = self.path.c_text()?;
        if self.is_folder {
            let reader = disk::open_listed_folder(path, self.device, self.inode)?;
            if disk::is_local(&reader) {
                disk::for_each_name(&reader, |_, _, _| true);
            }
        } else {
            rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        }
        Some(())
    }
}
