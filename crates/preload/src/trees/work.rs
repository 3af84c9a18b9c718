//! What the helper does: takes in what the program has said, and requests what comes next.

use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

use ahead_engine::budget::Published;
use ahead_engine::report::header;
use ahead_engine::tree_report::word;
use ahead_policy::file_order::limits::{FILE_BYTES_MAX, OUTSTANDING_BYTES_MAX};
use ahead_policy::file_order::order::Needed;
use ahead_sys::own_usage::own_thread_usage;
use ahead_units::{ByteLength, PAGE_BYTES, PageCount};

use super::events::{self, Note, VisitKind};
use super::folders::FOLDERS;
use super::state::{State, on_look, sleep, state};
use super::walk::{Tally, Walk};
use super::{ahead, disk, readers};
use crate::fd_table::line;
use crate::host::Host;
use crate::{identity, ticks};

/// Descriptors that stay open from the first pass of a batch to the second; further files are opened again.
const KEPT_OPEN: usize = 56;
/// Folders that are taken in before it is looked at what comes next. More, and a program that goes from folder to folder
/// is only followed, as each is waited for with it; fewer, and it is looked at for nothing.
const NOTES_AT_ONCE: u32 = 4;
/// Inodes that a file system reads at once, at least: 16 KiB of xfs, 4 KiB and what is read ahead of ext4.
const INODES_READ_AT_ONCE: u64 = 32;
/// A key that is known to mean a folder that is not to be looked at.
const IGNORED: usize = FOLDERS;

/// The helper, in its thread.
pub(super) struct Helper {
    walk: &'static mut Walk,
    host: &'static Host,
    published: Published,
    /// What the account has.
    told: Tally,
}

/// The beginning of a batch.
struct Began {
    /// By the helper, until then.
    sectors_read: u64,
    at_ns: u64,
}

impl Began {
    /// Whether the helper has read from a disk since.
    fn has_read(&self) -> bool {
        own_thread_usage().sectors_read > self.sectors_read
    }
}

impl Helper {
    pub(super) fn new(walk: &'static mut Walk, host: &'static Host) -> Self {
        Self {
            walk,
            host,
            published: Published::default(),
            told: Tally::default(),
        }
    }

    /// Works until nothing comes any more, or it is to end. Whether that was of use to the program.
    pub(super) fn work(mut self) -> bool {
        let budget = &self.host.session.group.budget;
        let bytes = budget.available().bytes().get() / 2;
        self.walk.begin(bytes.min(OUTSTANDING_BYTES_MAX.get()));
        events::forget_keys();
        on_look(true);
        while state() == State::Running {
            let used = self.walk.tally.used;
            let heard = self.take_in();
            let acted = self.act();
            if heard {
                on_look(acted || self.walk.tally.used > used);
            }
            self.tell();
            if !heard && !acted && !sleep() {
                break;
            }
        }
        self.walk.forget_folders();
        self.tell();
        self.walk.tally.was_of_use()
    }

    /// Takes in what the program has said, up to some folders. Whether it has said anything.
    fn take_in(&mut self) -> bool {
        let mut heard = false;
        let mut notes_left = NOTES_AT_ONCE;
        while notes_left > 0
            && let Some(visit) = events::next_visit()
        {
            heard = true;
            // Notes come before the visits that need them.
            let folder = loop {
                let folder = self.walk.folders.find_key(visit.key);
                if folder.is_some() || !self.take_next_note() {
                    break folder;
                }
                notes_left = notes_left.saturating_sub(1);
            };
            match folder {
                None => events::ask_for_note(visit.key),
                Some(IGNORED) => {}
                Some(folder) => {
                    if visit.kind == VisitKind::Open && !self.walk.folders.folder(folder).is_listed
                    {
                        self.on_open_by_name(folder);
                    }
                    self.walk.on_visit(folder, visit.hash, visit.kind);
                }
            }
        }
        while notes_left > 0 && self.take_next_note() {
            heard = true;
            notes_left -= 1;
        }
        heard
    }

    /// Takes in where one folder is, and lists it if the program does. Whether there was any.
    fn take_next_note(&mut self) -> bool {
        let Some(note) = events::next_note() else {
            return false;
        };
        let is_known = self.walk.folders.find_key(note.key).is_some();
        if !is_known && self.walk.folders.is_nearly_full() {
            self.forget();
        }
        let names = self.walk.folders.name_count();
        let mut taken = self.take_note(&note);
        if names > 0 && self.walk.folders.name_count() > names && self.walk.folders.is_full() {
            self.forget();
            taken = self.take_note(&note);
        }
        if taken.is_none() {
            self.walk.folders.set_key(note.key, IGNORED);
        }
        true
    }

    /// Makes space for what the program goes on with.
    fn forget(&mut self) {
        self.walk.forget_folders();
        events::forget_keys();
    }

    fn take_note(&mut self, note: &Note) -> Option<()> {
        let path = note.path.get(..note.length)?;
        // Where the folder above is known, no call is needed, and the descriptor may be closed by now.
        if let Some(folder) = self.below(note) {
            self.walk.folders.set_key(note.key, folder);
            if note.lists {
                self.walk.on_folder(folder);
            }
            return Some(());
        }
        if let Some(folder) = self.walk.folders.find_key(note.key)
            && folder != IGNORED
        {
            return self.on_folder(folder, None, note.lists);
        }
        let at = descriptor(note)?;
        let found = disk::find(at, path)?;
        // The number may have been opened anew meanwhile.
        if descriptor(note)? != at {
            return None;
        }
        let folders = &mut self.walk.folders;
        let folder = folders.find_or_make(found.device, found.inode)?;
        folders.set_key(note.key, folder);
        let mut buffer = [0; 1024];
        let path = disk::path_of(&found.descriptor, &mut buffer)?;
        folders.set_path(folder, path);
        folders.set_key(events::path_key(0, path), folder);
        folders.link_by_path(folder);
        self.on_folder(folder, Some(&found.descriptor), note.lists)
    }

    /// The program opens a file of `folder`, which was not listed. If it does so again and again, the folder is listed,
    /// and so are those above from the second of their folders on: what comes next may lie there.
    fn on_open_by_name(&mut self, folder: usize) {
        if !self.walk.is_to_be_listed(folder) {
            return;
        }
        let mut at = folder;
        // As deep as paths go.
        for _ in 0..64 {
            let folders = &mut self.walk.folders;
            if folders.is_nearly_full() || disk::list(folders, at, None).is_none() {
                return;
            }
            folders.link_children(at);
            let is_linked = folders.link_by_path(at);
            self.walk.on_listed_by_name(at);
            if is_linked {
                return;
            }
            match self.parent_by_path(at) {
                Some(parent) if self.walk.is_parent_to_be_listed(parent) => at = parent,
                _ => return,
            }
        }
    }

    /// The folder above one that is known by its path, on the same device.
    fn parent_by_path(&mut self, folder: usize) -> Option<usize> {
        let folders = &mut self.walk.folders;
        let mut buffer = [0; disk::PATH_MAX];
        let path = folders.path(folder);
        let path = path.get(..events::split(path)?.0.len())?;
        let above = buffer.get_mut(..path.len())?;
        above.copy_from_slice(path);
        let found = disk::find(None, above)?;
        if found.device != folders.folder(folder).device {
            return None;
        }
        let parent = folders.find_or_make(found.device, found.inode)?;
        folders.set_path(parent, above);
        folders.set_key(events::path_key(0, above), parent);
        Some(parent)
    }

    /// The program came to `folder`, and `lists` it.
    fn on_folder(
        &mut self,
        folder: usize,
        open: Option<&disk::Descriptor>,
        lists: bool,
    ) -> Option<()> {
        if lists {
            if !self.walk.folders.folder(folder).is_listed {
                disk::list(&mut self.walk.folders, folder, open)?;
            }
            self.walk.on_folder(folder);
        }
        Some(())
    }

    /// The folder that a note means, found from the one above; listed.
    fn below(&mut self, note: &Note) -> Option<usize> {
        let folders = &mut self.walk.folders;
        let parent = folders
            .find_key(note.origin.above)
            .filter(|parent| *parent != IGNORED && note.origin.above != 0)?;
        let entry = folders.find_name(parent, note.origin.name)?;
        if !folders.entry(entry).is_folder {
            return None;
        }
        let child = |folders: &super::folders::Folders| {
            let child = usize::try_from(folders.entry(entry).child)
                .ok()?
                .checked_sub(1)?;
            folders.folder(child).is_listed.then_some(child)
        };
        child(folders).or_else(|| {
            ahead::list_ahead(folders, &[entry]);
            child(folders)
        })
    }

    /// Requests what comes next. Whether there was anything.
    fn act(&mut self) -> bool {
        let began = Began {
            sectors_read: own_thread_usage().sectors_read,
            at_ns: ticks::monotonic_ns(),
        };
        self.walk.plan(&mut ahead::list_ahead);
        if self.walk.item_count > 0 {
            self.carry_out(&began);
        }
        if began.has_read() {
            events::stay_told();
        }
        self.walk.item_count > 0
    }

    /// `began`: before anything was listed for this batch.
    fn carry_out(&mut self, began: &Began) {
        let walk = &mut *self.walk;
        // Inodes lie in tables: in their order these are read once, and forwards.
        let mut order = [0_u16; super::walk::ITEMS];
        let order = &mut order[..walk.item_count];
        for (at, place) in order.iter_mut().zip(0..) {
            *at = place;
        }
        order.sort_unstable_by_key(|at| walk.items[usize::from(*at)].inode);
        look_at_tables(walk, order);
        let mut kept = 0;
        for at in &*order {
            let item = &mut walk.items[usize::from(*at)];
            if item.needed == Needed::Metadata {
                if let Some(length) = disk::look_at_metadata(&walk.folders, item.folder, item.entry)
                {
                    walk.folders.entry_mut(item.entry).kib = kib(length);
                }
            } else if let Some(seen) = disk::look_at(&walk.folders, item.folder, item.entry) {
                item.bytes = match item.needed {
                    Needed::Head => seen.length.min(walk.head_bytes),
                    _ if seen.length > FILE_BYTES_MAX.get() => 0,
                    _ => seen.length,
                };
                walk.folders.entry_mut(item.entry).kib = kib(seen.length);
                item.place = seen.place.unwrap_or(item.inode);
                if kept < KEPT_OPEN {
                    kept += 1;
                    item.descriptor = Some(seen.descriptor.keep());
                }
            }
            if state() != State::Running {
                break;
            }
        }
        if began.has_read() {
            readers::count_wait();
            walk.tally.waited_ns += ticks::monotonic_ns().saturating_sub(began.at_ns);
        }
        if let (Some(asked), Some(account)) = (walk.settle(), self.host.account()) {
            account.note_files(&asked, ticks::monotonic_ns(), identity::process());
        }
        order.sort_unstable_by_key(|at| walk.items[usize::from(*at)].place);
        let forgotten = walk.times_forgotten;
        self.take_in();
        let walk = &mut *self.walk;
        let is_meant = forgotten == walk.times_forgotten;
        let devices = &self.host.session.devices;
        for at in &*order {
            let item = walk.items[usize::from(*at)];
            let is_wanted =
                is_meant && item.bytes > 0 && !walk.is_visited(&item) && state() == State::Running;
            let device = walk.folders.folder(item.folder).device;
            let most = devices.get(devices.place(device)).call_pages_max() * PAGE_BYTES;
            if let Some(fd) = item.descriptor {
                if is_wanted {
                    disk::request(disk::borrowed(fd), item.bytes, most);
                }
                disk::close(fd);
            } else if is_wanted
                && let Some(seen) = disk::look_at(&walk.folders, item.folder, item.entry)
            {
                disk::request(std::os::fd::AsFd::as_fd(&seen.descriptor), item.bytes, most);
            }
        }
    }

    /// Says what happened: to the budget, and to the account.
    fn tell(&mut self) {
        let outstanding = ByteLength::new(self.walk.policy.bytes_outstanding());
        let budget = &self.host.session.group.budget;
        budget.publish(&mut self.published, PageCount::holding(outstanding), 0);
        let (now, before) = (self.walk.tally, self.told);
        if let Some(account) = self.host.account() {
            for (place, now, before) in [
                (word::FOLDERS, now.folders, before.folders),
                (word::FILES, now.requested, before.requested),
                (word::BYTES, now.bytes, before.bytes),
                (word::USED, now.used, before.used),
                (word::WASTED, now.wasted, before.wasted),
                (word::WAITED_NS, now.waited_ns, before.waited_ns),
            ] {
                account
                    .header(header::TREES + place)
                    .fetch_add(now.wrapping_sub(before), Relaxed);
            }
            if let Some(order) = self.walk.policy.order() {
                let bit = 1 << order.index();
                account
                    .header(header::TREES + word::ORDERS)
                    .fetch_or(bit, Relaxed);
            }
        }
        self.told = now;
    }
}

/// Has the tables of inodes read in which the items of a batch lie, several at a time: `order` is that of their inodes.
fn look_at_tables(walk: &Walk, order: &[u16]) {
    let item = |at: &u16| &walk.items[usize::from(*at)];
    let table = |at: &u16| (item(at).folder, item(at).inode / INODES_READ_AT_ONCE);
    let mut newest = None;
    let firsts = order.iter().filter(|at| {
        let table = table(at);
        newest.replace(table) != Some(table)
    });
    ahead::look_at_all(
        &walk.folders,
        firsts.map(|at| (item(at).folder, item(at).entry)),
    );
}

fn kib(bytes: u64) -> u32 {
    u32::try_from(bytes >> 10).unwrap_or(u32::MAX)
}

/// The descriptor that a note means, if it still does: the inner `None` is the working folder, or the root.
fn descriptor(note: &Note) -> Option<Option<c_int>> {
    if note.path[..note.length.min(1)] == *b"/" {
        return Some(None);
    }
    if note.folder == libc::AT_FDCWD {
        return (events::working_folder() == note.generation).then_some(None);
    }
    let openings = line(note.folder).map_or(0, |line| line.openings());
    (openings == note.generation).then_some(Some(note.folder))
}
