//! The folders that the helper knows: what is listed in them, in which orders, and where they are in the
//! tree. Fixed memory: when it is full, everything is forgotten and what the program goes on with is noted again.
//!
//! No system call is made here; whoever lists a folder hands over its names.

use ahead_policy::file_order::listing::OpenListing;
use ahead_policy::file_order::order::{FORWARD_ORDERS, FileRanks, ListingOrder, by_numbers};
use ahead_policy::file_order::scores::ReachedRanks;

use super::events;

/// Folders that are known at once.
pub(super) const FOLDERS: usize = 4096;
/// Names that are known at once.
pub(super) const ENTRIES: usize = 65_536;
/// Of one folder: the names behind are not known, so their visits are not seen.
pub(super) const FOLDER_ENTRIES_MAX: usize = 32_768;
/// Bytes of the longest name.
const NAME_LENGTH_MAX: usize = 255;
/// Bytes of all names and paths.
const NAME_BYTES: usize = 2 << 20;
/// Places in the tables that find names and keys. Twice what is in them at most, so that a free place is near.
const NAME_PLACES: usize = ENTRIES * 2;
const KEY_PLACES: usize = FOLDERS * 4;

/// What a name stands for, as far as it is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
}

/// A name of a folder.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) inode: u64,
    pub(super) hash: u64,
    name_at: u32,
    name_length: u8,
    pub(super) is_folder: bool,
    /// The newest round in which the program visited it; 0: none.
    pub(super) round: u32,
    /// Its length in KiB, if it was opened ahead; 0: not known.
    pub(super) kib: u32,
    /// Not to be looked at: it could not be opened, or is something else by now.
    pub(super) is_barred: bool,
    /// Number of its folder.
    folder: u32,
    /// Number of the folder that it is, plus one.
    pub(super) child: u32,
    /// Among the files, or the folders, of its folder, in [`ListingOrder::FORWARD`].
    ranks: [u32; FORWARD_ORDERS],
}

/// One folder.
#[derive(Clone, Copy)]
pub(super) struct Folder {
    pub(super) device: u64,
    pub(super) inode: u64,
    /// The newest keys by which it is found; 0: none.
    keys: [u64; 4],
    /// Number of the folder above, plus one, and of its entry there.
    pub(super) parent: u32,
    pub(super) entry: u32,
    /// First entry: files come before folders.
    start: u32,
    pub(super) files: u32,
    pub(super) folders: u32,
    /// Its path, from the root on; empty where it is only known from the folder above.
    path_at: u32,
    path_length: u16,
    /// Of `listing_round`.
    pub(super) listing: OpenListing,
    listing_round: u32,
    /// The newest round in which the program was here; 0: none.
    pub(super) round: u32,
    /// The newest round in which the program came to it from another one, as far as the order of folders goes.
    came_round: u32,
    /// How far the program went among its folders, in `reached_round`.
    reached: ReachedRanks,
    reached_round: u32,
    /// Visits of the process when files of it were requested last.
    pub(super) asked_at: u64,
    pub(super) is_listed: bool,
    /// Files of it that the program opened before it was listed.
    pub(super) opens: u8,
    /// Folders in it that were listed because the program opened their files by name.
    pub(super) children_by_name: u8,
    /// It, or one that it was found from, was listed by the program.
    pub(super) may_be_listed: bool,
}

#[derive(Clone, Copy)]
struct KeyPlace {
    key: u64,
    folder: u32,
}

/// All of them. All zero: none.
pub(super) struct Folders {
    folders: [Folder; FOLDERS],
    folder_count: usize,
    entries: [Entry; ENTRIES],
    entry_count: usize,
    /// For each folder the numbers of its entries in the orders that are not that of the listing, nor the opposite of one.
    sorted: [[u32; ENTRIES]; FORWARD_ORDERS - 1],
    names: [u8; NAME_BYTES],
    names_used: usize,
    /// Number of the entry, plus one, by folder and hash of the name.
    by_name: [u32; NAME_PLACES],
    by_key: [KeyPlace; KEY_PLACES],
    keys: usize,
    /// The folder whose names are being handed over.
    listed_start: usize,
}

fn number(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

fn index(of: u32) -> usize {
    usize::try_from(of).unwrap_or(usize::MAX)
}

/// The key under which a folder is found by device and inode.
fn identity_key(device: u64, inode: u64) -> u64 {
    events::hash(device, &inode.to_ne_bytes()) | 1
}

impl Folders {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        // Three quarters of a mebibyte that were never written are not made memory by it: a program of twenty files ends
        // before that pays.
        if self.entry_count > 0 {
            self.by_name.fill(0);
        }
        if self.keys > 0 {
            self.by_key.fill(KeyPlace { key: 0, folder: 0 });
        }
        self.folder_count = 0;
        self.entry_count = 0;
        self.names_used = 0;
        self.keys = 0;
    }

    /// Whether some more folders may not find space. One with many names finds out by itself: [`Self::is_full`].
    pub(super) fn is_nearly_full(&self) -> bool {
        self.folder_count + 64 > FOLDERS
            || self.entry_count + ENTRIES / 8 > ENTRIES
            || self.names_used + NAME_BYTES / 8 > NAME_BYTES
            || self.keys * 2 > KEY_PLACES
    }

    /// Whether the newest listing may have been cut off for want of space.
    pub(super) fn is_full(&self) -> bool {
        self.entry_count == ENTRIES || self.names_used + NAME_LENGTH_MAX > NAME_BYTES
    }

    /// Names that are known.
    pub(super) const fn name_count(&self) -> usize {
        self.entry_count
    }

    pub(super) fn folder(&self, folder: usize) -> &Folder {
        &self.folders[folder]
    }

    pub(super) fn folder_mut(&mut self, folder: usize) -> &mut Folder {
        &mut self.folders[folder]
    }

    pub(super) fn all_mut(&mut self) -> &mut [Folder] {
        &mut self.folders[..self.folder_count]
    }

    pub(super) fn entry(&self, entry: usize) -> &Entry {
        &self.entries[entry]
    }

    pub(super) fn entry_mut(&mut self, entry: usize) -> &mut Entry {
        &mut self.entries[entry]
    }

    /// The name of an entry, without a final zero.
    pub(super) fn name(&self, entry: usize) -> &[u8] {
        let entry = &self.entries[entry];
        let start = index(entry.name_at);
        &self.names[start..start + usize::from(entry.name_length)]
    }

    /// The path of a folder; empty where it is only known from the folder above.
    pub(super) fn path(&self, folder: usize) -> &[u8] {
        let folder = &self.folders[folder];
        let start = index(folder.path_at);
        &self.names[start..start + usize::from(folder.path_length)]
    }

    /// The folder with this key.
    pub(super) fn find_key(&self, key: u64) -> Option<usize> {
        let mut place = usize::try_from(key >> 8).unwrap_or(0) % KEY_PLACES;
        loop {
            let found = self.by_key[place];
            if found.key == key {
                return Some(index(found.folder));
            }
            if found.key == 0 {
                return None;
            }
            place = (place + 1) % KEY_PLACES;
        }
    }

    /// From now on `key` means `folder`. Nothing when there are too many keys.
    pub(super) fn set_key(&mut self, key: u64, folder: usize) {
        if let Some(known) = self.folders.get_mut(folder)
            && !known.keys.contains(&key)
        {
            // The oldest one gives way.
            known.keys.rotate_right(1);
            known.keys[0] = key;
        }
        self.put_key(key, folder);
    }

    fn put_key(&mut self, key: u64, folder: usize) {
        let mut place = usize::try_from(key >> 8).unwrap_or(0) % KEY_PLACES;
        loop {
            let found = &mut self.by_key[place];
            if found.key == key {
                found.folder = number(folder);
                return;
            }
            if found.key == 0 {
                if self.keys * 4 < KEY_PLACES * 3 {
                    *found = KeyPlace {
                        key,
                        folder: number(folder),
                    };
                    self.keys += 1;
                }
                return;
            }
            place = (place + 1) % KEY_PLACES;
        }
    }

    /// The folder with this device and inode, made if it is new. `None`: no space.
    pub(super) fn find_or_make(&mut self, device: u64, inode: u64) -> Option<usize> {
        let key = identity_key(device, inode);
        if let Some(known) = self.find_key(key) {
            return Some(known);
        }
        let made = self.folder_count;
        let folder = self.folders.get_mut(made)?;
        *folder = Folder {
            device,
            inode,
            keys: [0; 4],
            parent: 0,
            entry: 0,
            start: 0,
            files: 0,
            folders: 0,
            path_at: 0,
            path_length: 0,
            listing: OpenListing::new(0),
            listing_round: 0,
            round: 0,
            came_round: 0,
            reached: ReachedRanks::new(),
            reached_round: 0,
            asked_at: 0,
            is_listed: false,
            opens: 0,
            children_by_name: 0,
            may_be_listed: false,
        };
        self.folder_count += 1;
        self.put_key(key, made);
        Some(made)
    }

    /// Where `folder` is now.
    pub(super) fn set_path(&mut self, folder: usize, path: &[u8]) {
        let Ok(path_length) = u16::try_from(path.len()) else {
            return;
        };
        if self.path(folder) != path
            && let Some(path_at) = self.keep(path)
        {
            let folder = &mut self.folders[folder];
            (folder.path_at, folder.path_length) = (path_at, path_length);
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Option<u32> {
        let start = self.names_used;
        let target = self.names.get_mut(start..start + bytes.len())?;
        target.copy_from_slice(bytes);
        self.names_used += bytes.len();
        Some(number(start))
    }

    /// The names of a folder follow.
    pub(super) fn begin_listing(&mut self) {
        self.listed_start = self.entry_count;
    }

    /// One name of the folder that is being listed. False: there is no space for it, nor for those after it.
    pub(super) fn list(&mut self, name: &[u8], inode: u64, kind: EntryKind) -> bool {
        if self.entry_count - self.listed_start >= FOLDER_ENTRIES_MAX {
            return false;
        }
        let Ok(name_length) = u8::try_from(name.len()) else {
            return true;
        };
        let (at, hash) = (self.entry_count, events::name_hash(name));
        if at >= ENTRIES {
            return false;
        }
        let Some(name_at) = self.keep(name) else {
            return false;
        };
        self.entries[at] = Entry {
            inode,
            hash,
            name_at,
            name_length,
            is_folder: kind == EntryKind::Folder,
            round: 0,
            kib: 0,
            is_barred: false,
            folder: 0,
            child: 0,
            ranks: [0; FORWARD_ORDERS],
        };
        self.entry_count += 1;
        true
    }

    /// All names of `folder` were handed over.
    pub(super) fn end_listing(&mut self, folder: usize) {
        let (start, end) = (self.listed_start, self.entry_count);
        // Files first, both as listed: the names were kept one behind the other, so their places tell.
        self.entries[start..end].sort_unstable_by_key(|entry| (entry.is_folder, entry.name_at));
        let files = self.entries[start..end].partition_point(|entry| !entry.is_folder);
        let middle = start + files;
        for at in start..end {
            self.entries[at].folder = number(folder);
            self.index(at);
        }
        for (from, to) in [(start, middle), (middle, end)] {
            self.sort(from, to);
        }
        let folder = &mut self.folders[folder];
        folder.start = number(start);
        folder.files = number(files);
        folder.folders = number(end - middle);
        folder.listing = OpenListing::new(number(files));
        folder.is_listed = true;
    }

    /// Ranks of the entries `from` to `to`, which are of one kind.
    fn sort(&mut self, from: usize, to: usize) {
        let (entries, names) = (&mut self.entries, &self.names);
        for (order, sorted) in ListingOrder::FORWARD[1..].iter().zip(&mut self.sorted) {
            let part = &mut sorted[from..to];
            for (place, at) in part.iter_mut().zip(from..) {
                *place = number(at);
            }
            let name = |at: u32| {
                let entry = &entries[index(at)];
                let start = index(entry.name_at);
                &names[start..start + usize::from(entry.name_length)]
            };
            match order {
                ListingOrder::Named => {
                    part.sort_unstable_by(|one, other| name(*one).cmp(name(*other)));
                }
                ListingOrder::Inode => part.sort_unstable_by_key(|at| entries[index(*at)].inode),
                ListingOrder::Numbered => {
                    part.sort_unstable_by(|one, other| by_numbers(name(*one), name(*other)));
                }
                _ => {}
            }
            for (rank, at) in part.iter().enumerate() {
                entries[index(*at)].ranks[order.index()] = number(rank);
            }
        }
        for (rank, entry) in entries[from..to].iter_mut().enumerate() {
            entry.ranks[0] = number(rank);
        }
    }

    fn index(&mut self, at: usize) {
        let entry = &self.entries[at];
        let mut place = place_of(entry.folder, entry.hash);
        while self.by_name[place] != 0 {
            place = (place + 1) % NAME_PLACES;
        }
        self.by_name[place] = number(at + 1);
    }

    /// The entry of `folder` whose name has this hash.
    pub(super) fn find_name(&self, folder: usize, hash: u64) -> Option<usize> {
        let folder = number(folder);
        let mut place = place_of(folder, hash);
        loop {
            let at = index(self.by_name[place]).checked_sub(1)?;
            let entry = &self.entries[at];
            if entry.folder == folder && entry.hash == hash {
                return Some(at);
            }
            place = (place + 1) % NAME_PLACES;
        }
    }

    /// The ranks of an entry among those of its kind.
    pub(super) fn ranks(&self, entry: usize) -> FileRanks {
        let entry = &self.entries[entry];
        let folder = &self.folders[index(entry.folder)];
        let count = if entry.is_folder {
            folder.folders
        } else {
            folder.files
        };
        FileRanks::of_forward(entry.ranks, count)
    }

    /// The file of `folder` with this rank.
    pub(super) fn file(&self, folder: usize, order: ListingOrder, rank: u32) -> usize {
        let folder = &self.folders[folder];
        self.in_order(folder.start, folder.files, order, rank)
    }

    /// The folder of `folder` with this rank.
    pub(super) fn subfolder(&self, folder: usize, order: ListingOrder, rank: u32) -> Option<usize> {
        let folder = &self.folders[folder];
        let start = folder.start + folder.files;
        (rank < folder.folders).then(|| self.in_order(start, folder.folders, order, rank))
    }

    /// The entry with `rank` among `count`, which begin at `start`.
    fn in_order(&self, start: u32, count: u32, order: ListingOrder, rank: u32) -> usize {
        let at = index(start + order.forward_rank(rank, count));
        match order.forward().index().checked_sub(1) {
            None => at,
            Some(sorted) => index(self.sorted[sorted][at]),
        }
    }

    /// `folder` is what `entry` of `parent` stands for. It has a key for each that its parent has.
    pub(super) fn link(&mut self, parent: usize, entry: usize, folder: usize) {
        for above in self.folders[parent].keys {
            if above != 0 {
                let own = events::key_below(above, self.entries[entry].hash);
                self.set_key(own, folder);
            }
        }
        self.entries[entry].child = number(folder + 1);
        self.folders[folder].parent = number(parent + 1);
        self.folders[folder].entry = number(entry);
    }

    /// Links `folder` to the one above, if that is known and listed. Whether it is linked.
    pub(super) fn link_by_path(&mut self, folder: usize) -> bool {
        if self.folders[folder].parent != 0 {
            return true;
        }
        let Some((above, name)) = events::split(self.path(folder)) else {
            return false;
        };
        let (above, name) = (events::path_key(0, above), events::name_hash(name));
        let parent = self
            .find_key(above)
            .filter(|parent| *parent < self.folder_count);
        let Some((parent, entry)) = parent.and_then(|at| Some((at, self.find_name(at, name)?)))
        else {
            return false;
        };
        self.link(parent, entry, folder);
        true
    }

    /// Links all folders that lie in `parent`, which was just listed.
    pub(super) fn link_children(&mut self, parent: usize) {
        for folder in 0..self.folder_count {
            let is_child = self.folders[folder].parent == 0
                && events::split(self.path(folder))
                    .is_some_and(|(above, _)| above == self.path(parent));
            if is_child {
                self.link_by_path(folder);
            }
        }
    }

    /// Nothing was requested of `folder` yet in a round that is new to it.
    pub(super) fn renew_listing(&mut self, folder: usize, round: u32) {
        let folder = &mut self.folders[folder];
        if folder.listing_round != round {
            folder.listing_round = round;
            folder.listing = OpenListing::new(folder.files);
        }
    }
}

fn place_of(folder: u32, hash: u64) -> usize {
    let mixed = hash ^ u64::from(folder).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(mixed >> 16).unwrap_or(0) % NAME_PLACES
}

pub(super) mod following;
#[cfg(test)]
mod tests;
