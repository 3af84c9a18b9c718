//! Names and inodes of what comes next: read before the program asks for them, several at a time where there are readers.

use ahead_policy::file_order::limits::LISTED_AT_ONCE;
use ahead_sys::extent_map::first_physical_offset;

use super::disk::{self, Descriptor};
use super::folders::Folders;
use super::readers;

/// Lists folders ahead of the program, by their entries: their inodes are read in their order, their names by place.
/// What cannot be listed stays as it was.
pub(super) fn list_ahead(folders: &mut Folders, entries: &[usize]) {
    let mut found: [Option<(u64, usize, Descriptor)>; LISTED_AT_ONCE] = [const { None }; _];
    let mut by_inode = [0; LISTED_AT_ONCE];
    let count = entries.len().min(LISTED_AT_ONCE);
    by_inode[..count].copy_from_slice(&entries[..count]);
    by_inode[..count].sort_unstable_by_key(|entry| folders.entry(*entry).inode);
    let were_there = readers::are_there();
    look_at_folders(folders, &by_inode[..count]);
    for (place, entry) in found.iter_mut().zip(&by_inode[..count]) {
        *place = open_listed_folder(folders, *entry);
    }
    found.sort_unstable_by_key(|found| found.as_ref().map(|(place, ..)| *place));
    if !were_there {
        // They may have been made since then, and the names are still to be read.
        look_at_folders(folders, &by_inode[..count]);
    }
    for (_, folder, reader) in found.iter().flatten() {
        if !folders.folder(*folder).is_listed {
            let _ = disk::list_reader(folders, *folder, reader);
        }
    }
}

fn open_listed_folder(folders: &mut Folders, entry: usize) -> Option<(u64, usize, Descriptor)> {
    let parent = folders.folder_of(entry);
    if !folders.folder(parent).may_be_listed {
        return None;
    }
    let path = disk::path_of_entry(folders, parent, entry)?;
    let (device, inode) = (folders.folder(parent).device, folders.entry(entry).inode);
    let reader = disk::open_listed_folder(path.c_text()?, device, inode)?;
    let folder = folders.find_or_make(device, inode)?;
    folders.link(parent, entry, folder);
    folders.folder_mut(folder).may_be_listed = true;
    let place = first_physical_offset(&reader).ok().flatten();
    Some((place.unwrap_or(inode), folder, reader))
}

fn look_at_folders(folders: &Folders, entries: &[usize]) {
    let listed = entries
        .iter()
        .map(|entry| (folders.folder_of(*entry), *entry));
    look_at_all(
        folders,
        listed.filter(|(parent, _)| folders.folder(*parent).may_be_listed),
    );
}

/// Has these entries of folders looked at several at a time, where there are readers.
pub(super) fn look_at_all(folders: &Folders, entries: impl Iterator<Item = (usize, usize)>) {
    let mut entries = entries.fuse();
    readers::look_at_all(&mut |look| {
        let next = entries.next();
        if let Some((folder, entry)) = next {
            look.at(folders, folder, entry);
        }
        next.is_some()
    });
}
