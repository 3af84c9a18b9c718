//! Where the program is on its walk through trees, and which files it comes to next. No system call is made
//! here.
//!
//! The walk is seen as one sequence of visits: of opens, or of questions for metadata when the program does
//! nothing else. The order within a folder is the policy's business ([`FileOrder`]); from folder to folder the
//! walk is taken to go into the depth, folders in the same order as files until they are seen to come in another
//! one. A program that goes through a tree a
//! second time begins a new *round*, in which nothing was visited yet.

use ahead_engine::tree_report::FilesAhead;
use ahead_policy::file_order::limits::{
    FOLDERS_PASSED_MAX, IN_STEP_VISITS, LISTED_AT_ONCE, MISSED_MAX, PARTS, SWEEP_VISITS,
};
use ahead_policy::file_order::listing::{OUTSTANDING_FILES_MAX, OpenListing};
use ahead_policy::file_order::order::{FileBatch, ListingOrder, Needed};
use ahead_policy::file_order::scores::{Fit, OrderScores};
use ahead_policy::file_order::{BatchFill, FileOrder};

use super::events::VisitKind;
use super::folders::Folders;
use super::folders::following::Following;

/// Files of one batch.
pub(super) const ITEMS: usize = OUTSTANDING_FILES_MAX as usize;
/// Questions for metadata after which they are what the program does, if it has not opened any file it listed.
const STATS_AT_FIRST: u32 = 8;
/// The same once it has. Fewer, and one that looks at whole folders before it opens their files is mistaken.
const STATS_IN_A_ROW: u32 = 1024;
/// Files of one folder visited after another one that make its second visit a new round.
const AGAIN_AFTER: usize = 64;
/// The least that is requested of files of which only the beginning is read: what the kernel reads ahead of a first read
/// of one page.
const HEAD_BYTES_MIN: u64 = 16 << 10;
/// The most. Who reads more of each file is taken to read it whole.
const HEAD_BYTES_MAX: u64 = 64 << 10;
/// Files of a folder that the program opens without listing it, after which it is listed for the sake of their order.
/// Fewer, and the folders of libraries and settings are listed; more, and small folders are over.
const OPENS_BEFORE_LISTING: u8 = 3;
/// Names that may be listed without one of their files being visited as expected. Fewer, and lists that go through
/// large folders are not followed; more, and who opens files at random pays for names that lead to nothing.
const NAMES_IN_VAIN_MAX: u32 = 16_384;
/// A file that is to be requested.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) folder: usize,
    pub(super) entry: usize,
    pub(super) needed: Needed,
    pub(super) inode: u64,
    /// Where it lies on its device; where that is not known, its inode.
    pub(super) place: u64,
    /// To be requested; 0: not, or not any more.
    pub(super) bytes: u64,
    /// Where it stays open until the end of the batch.
    pub(super) descriptor: Option<i32>,
}

/// What a batch has of one folder.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) folder: usize,
    pub(super) batch: FileBatch,
    pub(super) first_item: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    Opens,
    Stats,
}

/// Where a visit was.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Number of the folder, plus one; 0: there was none.
    folder: usize,
    /// Number of the visit.
    visit: u64,
}

/// What happened, in numbers.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) folders: u64,
    pub(super) requested: u64,
    pub(super) bytes: u64,
    pub(super) used: u64,
    pub(super) wasted: u64,
    /// Until it had names and inodes.
    pub(super) waited_ns: u64,
}

impl Tally {
    /// Whether the program came to a quarter of what was requested. Less is what chance brings.
    pub(super) const fn was_of_use(&self) -> bool {
        self.used > 0 && self.used >= self.requested / 4
    }
}

/// The walk of this process.
pub(super) struct Walk {
    pub(super) folders: Folders,
    pub(super) policy: FileOrder,
    pub(super) tally: Tally,
    follows: Follows,
    /// Of folders in the one above.
    folder_order: OrderScores,
    /// The newest folder was not the next one in the order of the files.
    strays: bool,
    /// The newest order that was followed.
    order: Option<ListingOrder>,
    stats_in_a_row: u32,
    /// It has opened a file that it listed.
    opens: bool,
    round: u32,
    /// What is requested of files of which only the beginning is read: the most that was read of such a one.
    pub(super) head_bytes: u64,
    /// Visits in a row of files that were not requested.
    missed: u32,
    /// Names listed of folders that the program does not list, since a file was visited that was requested.
    names_in_vain: u32,
    /// Where the newest visits were: one place, or two if trees are gone through in step.
    places: [Place; 2],
    visits: u64,
    /// How often all folders were forgotten: places of folders and entries from before mean others.
    pub(super) times_forgotten: u32,
    pub(super) items: [Item; ITEMS],
    pub(super) item_count: usize,
    pub(super) parts: [Part; PARTS],
    pub(super) part_count: usize,
}

impl Walk {
    /// Nothing is known; at most `bytes_max` bytes are to be outstanding.
    pub(super) fn begin(&mut self, bytes_max: u64) {
        self.folders.clear();
        self.policy = FileOrder::new(bytes_max);
        self.tally = Tally::default();
        self.follows = Follows::Opens;
        self.folder_order = OrderScores::new();
        self.strays = false;
        self.order = None;
        self.stats_in_a_row = 0;
        self.opens = false;
        self.round = 1;
        self.places = [Place::default(); 2];
        self.head_bytes = HEAD_BYTES_MIN;
        self.missed = 0;
        self.names_in_vain = 0;
        self.visits = 0;
        self.item_count = 0;
        self.part_count = 0;
    }

    /// Forgets all folders: there was no space for more.
    pub(super) fn forget_folders(&mut self) {
        self.times_forgotten += 1;
        for folder in self.folders.all_mut() {
            self.tally.wasted += u64::from(self.policy.on_end(&mut folder.listing));
        }
        self.folders.clear();
        self.places = [Place::default(); 2];
    }

    /// The program lists this folder. When it visits its files is another matter: rsync is ten folders ahead.
    pub(super) fn on_folder(&mut self, folder: usize) {
        self.folders.folder_mut(folder).may_be_listed = true;
        self.come_to_folder(folder);
    }

    /// The program lists `folder`, or visits a file of it.
    fn come_to_folder(&mut self, folder: usize) {
        let Some(fits) = self.folders.come_to(folder, self.round) else {
            return;
        };
        let order = self.policy.order();
        self.folder_order.on_visit(fits, order);
        self.strays = order.is_some_and(|order| fits[order.index()] != Fit::Next);
    }

    /// The program opens a file of a folder that was not listed. Whether that folder is to be listed now: its files
    /// may come in one of its orders.
    pub(super) fn is_to_be_listed(&mut self, folder: usize) -> bool {
        let known = self.folders.folder_mut(folder);
        known.opens = known.opens.saturating_add(1);
        // Not again if it could not be listed.
        known.opens == OPENS_BEFORE_LISTING && self.may_list_in_vain()
    }

    /// The same of the folder above one that was: what comes next may lie in the one beside.
    pub(super) fn is_parent_to_be_listed(&mut self, parent: usize) -> bool {
        let known = self.folders.folder_mut(parent);
        known.children_by_name = known.children_by_name.saturating_add(1);
        !known.is_listed && known.children_by_name >= 2 && self.may_list_in_vain()
    }

    const fn may_list_in_vain(&self) -> bool {
        self.names_in_vain < NAMES_IN_VAIN_MAX
    }

    /// A folder was listed that the program has not: it reaches it by names.
    pub(super) fn on_listed_by_name(&mut self, folder: usize) {
        self.renew(folder);
        let known = self.folders.folder_mut(folder);
        known.may_be_listed = true;
        if known.opens > 0 {
            known.listing = OpenListing::begun(known.files);
        }
        self.names_in_vain += known.files + known.folders;
    }

    /// The program visits a file.
    pub(super) fn on_visit(&mut self, folder: usize, name_hash: u64, kind: VisitKind) {
        let Some(entry) = self.folders.find_name(folder, name_hash) else {
            return;
        };
        // Folders count when they are listed.
        if self.folders.entry(entry).is_folder {
            return;
        }
        if let VisitKind::Close(bytes) = kind {
            self.on_close(entry, bytes);
            return;
        }
        if !self.is_followed(kind) {
            return;
        }
        let ranks = self.folders.ranks(entry);
        if self.folders.entry(entry).round == self.round {
            let order = self.policy.order().unwrap_or(ListingOrder::Listed);
            let files = self.folders.folder(folder).files;
            let mut behind = (ranks.of(order) + 1..files).take(AGAIN_AFTER);
            let is_far_behind = behind.len() == AGAIN_AFTER
                && behind.all(|rank| {
                    let later = self.folders.file(folder, order, rank);
                    self.folders.entry(later).round == self.round
                });
            let is_here = self.places.iter().any(|place| place.folder == folder + 1);
            let is_again = !is_here || is_far_behind;
            if !is_again {
                return;
            }
            self.begin_round();
        }
        self.renew(folder);
        self.folders.entry_mut(entry).round = self.round;
        let known = self.folders.folder_mut(folder);
        known.round = self.round;
        if self.policy.on_visit(&mut known.listing, ranks) {
            self.tally.used += 1;
            self.missed = 0;
            self.names_in_vain = 0;
        } else if !known.listing.was_requested(ranks) {
            self.missed += 1;
            if self.missed >= MISSED_MAX.get() {
                self.give_up();
            }
        }
        if kind == VisitKind::Stat {
            self.policy.on_needed(Needed::Metadata);
        }
        self.visits += 1;
        self.come_to_folder(folder);
        self.come_to(folder);
        self.note_order();
        if self.visits.is_multiple_of(SWEEP_VISITS.get()) {
            self.sweep();
        }
    }

    /// What was requested in another order than the one that is followed now is not waited for.
    fn note_order(&mut self) {
        let order = self.policy.order();
        if order.is_none() || order == self.order {
            return;
        }
        self.order = order;
        self.give_up();
    }

    /// What was requested is not what the program comes to.
    fn give_up(&mut self) {
        self.missed = 0;
        if self.policy.outstanding_files() == 0 {
            return;
        }
        for folder in self.folders.all_mut() {
            if folder.listing.outstanding() > 0 {
                self.tally.wasted += u64::from(self.policy.on_end(&mut folder.listing));
            }
        }
    }

    fn come_to(&mut self, folder: usize) {
        let known = self.places.iter().position(|at| at.folder == folder + 1);
        let older = usize::from(self.places[1].visit < self.places[0].visit);
        self.places[known.unwrap_or(older)] = Place {
            folder: folder + 1,
            visit: self.visits,
        };
    }

    /// The program is done with a file, of which it has read so much.
    fn on_close(&mut self, entry: usize, bytes: Option<u64>) {
        if bytes == Some(0) {
            self.policy.on_needed(Needed::Metadata);
            return;
        }
        let length = u64::from(self.folders.entry(entry).kib) << 10;
        // Of what is hardly longer than a head it cannot be told.
        let Some(bytes) = bytes.filter(|_| length >= 2 * HEAD_BYTES_MIN) else {
            self.policy.on_read();
            return;
        };
        let is_head = bytes <= length / 2 && bytes <= HEAD_BYTES_MAX;
        if is_head {
            self.head_bytes = self.head_bytes.max(bytes.next_power_of_two());
        }
        self.policy
            .on_needed(if is_head { Needed::Head } else { Needed::Whole });
    }

    /// Whether visits of this kind are what the program does.
    fn is_followed(&mut self, kind: VisitKind) -> bool {
        match (self.follows, kind) {
            (Follows::Opens, VisitKind::Open) => {
                self.stats_in_a_row = 0;
                self.opens = true;
            }
            (Follows::Stats, VisitKind::Stat) | (_, VisitKind::Close(_)) => {}
            (Follows::Opens, VisitKind::Stat) => {
                self.stats_in_a_row += 1;
                let most = if self.opens {
                    STATS_IN_A_ROW
                } else {
                    STATS_AT_FIRST
                };
                if self.stats_in_a_row < most {
                    return false;
                }
                self.follows = Follows::Stats;
                self.policy.begin_anew();
                self.begin_round();
            }
            (Follows::Stats, VisitKind::Open) => {
                self.follows = Follows::Opens;
                self.stats_in_a_row = 0;
                self.opens = true;
                self.policy.begin_anew();
                self.begin_round();
            }
        }
        true
    }

    fn begin_round(&mut self) {
        self.round += 1;
        self.order = None;
        self.places = [Place::default(); 2];
        if self.policy.outstanding_files() == 0 {
            return;
        }
        for folder in self.folders.all_mut() {
            if folder.listing.outstanding() > 0 {
                self.policy.on_new_round(&mut folder.listing);
            }
        }
    }

    fn renew(&mut self, folder: usize) {
        self.folders.renew_listing(folder, self.round);
    }

    /// Gives up what the program has left behind.
    fn sweep(&mut self) {
        if self.policy.outstanding_files() == 0 {
            return;
        }
        let long_ago = self
            .visits
            .saturating_sub(2 * u64::from(OUTSTANDING_FILES_MAX));
        for folder in self.folders.all_mut() {
            if folder.asked_at < long_ago && folder.listing.outstanding() > 0 {
                self.tally.wasted += u64::from(self.policy.on_end(&mut folder.listing));
            }
        }
    }

    /// Puts the next batch into `items` and `parts`; nothing when there is none. `list` is called with the
    /// entries of folders that have to be listed for it.
    pub(super) fn plan(&mut self, list: &mut dyn FnMut(&mut Folders, &[usize])) {
        (self.item_count, self.part_count) = (0, 0);
        let mut left = self.policy.files_wanted();
        if left == 0 {
            return;
        }
        // The place of the newest visit comes last, and gets what the other one leaves.
        let mut places = self.places;
        places.sort_unstable_by_key(|place| place.visit);
        let is_in_step =
            places[0].visit + IN_STEP_VISITS.get() > self.visits && !self.has_gone_on(places);
        for (share, place) in [2, 1].into_iter().zip(places) {
            if let Some(folder) = place.folder.checked_sub(1)
                && (share == 1 || is_in_step)
            {
                let mut own = left / share;
                left -= own;
                self.plan_from(folder, &mut own, list);
                left += own;
            }
        }
    }

    /// Whether the second of these places is what comes after the first: they are of one walk.
    fn has_gone_on(&mut self, places: [Place; 2]) -> bool {
        let [Some(from), Some(to)] = places.map(|place| place.folder.checked_sub(1)) else {
            return true;
        };
        let Some(order) = self.order_of_folders() else {
            return false;
        };
        // As it was before the program came there.
        let round = std::mem::replace(&mut self.folders.folder_mut(to).round, 0);
        let next = self.folders.following(from, order, self.round);
        self.folders.folder_mut(to).round = round;
        next == Some(Following::Folder(to))
    }

    /// The order in which the program goes through the folders of a folder, if it is known.
    fn order_of_folders(&self) -> Option<ListingOrder> {
        let like_files = self.policy.order().filter(|_| !self.strays);
        self.folder_order.order().or(like_files)
    }

    fn plan_from(
        &mut self,
        folder: usize,
        left: &mut u32,
        list: &mut dyn FnMut(&mut Folders, &[usize]),
    ) {
        self.take(folder, left);
        let Some(order) = self.order_of_folders() else {
            return;
        };
        let mut at = folder;
        for _ in 0..FOLDERS_PASSED_MAX.get() {
            if *left == 0 || self.part_count == PARTS || self.folders.is_nearly_full() {
                return;
            }
            match self.folders.following(at, order, self.round) {
                Some(Following::Folder(next)) => {
                    self.take(next, left);
                    at = next;
                }
                Some(Following::Unlisted { .. }) => {
                    self.list_after(at, order, list);
                }
                None => return,
            }
        }
    }

    /// Has the next folders listed that come after `folder`: as many as were listed so far, so that no more are listed in
    /// vain than the program went through.
    fn list_after(
        &mut self,
        folder: usize,
        order: ListingOrder,
        list: &mut dyn FnMut(&mut Folders, &[usize]),
    ) {
        let mut entries = [0; LISTED_AT_ONCE];
        let so_far = usize::try_from(self.tally.folders).unwrap_or(LISTED_AT_ONCE);
        let found = &mut entries[..so_far.clamp(1, LISTED_AT_ONCE)];
        let count = self
            .folders
            .unlisted_after(folder, order, self.round, found);
        list(&mut self.folders, &entries[..count]);
        for entry in &entries[..count] {
            let known = self.folders.entry(*entry);
            let is_listed = known.child.checked_sub(1).is_some_and(|child| {
                let child = usize::try_from(child).unwrap_or(0);
                self.folders.folder(child).is_listed
            });
            if is_listed {
                self.tally.folders += 1;
            } else {
                self.folders.entry_mut(*entry).is_barred = true;
            }
        }
    }

    /// The next files of one folder.
    fn take(&mut self, folder: usize, left: &mut u32) {
        if self.part_count == PARTS {
            return;
        }
        self.renew(folder);
        let visits = self.visits;
        let known = self.folders.folder_mut(folder);
        let Some(batch) = self.policy.next(&mut known.listing, *left) else {
            return;
        };
        known.asked_at = visits;
        self.parts[self.part_count] = Part {
            folder,
            batch,
            first_item: self.item_count,
        };
        for rank in batch.ranks() {
            let entry = self.folders.file(folder, batch.order, rank);
            let inode = self.folders.entry(entry).inode;
            self.items[self.item_count] = Item {
                folder,
                entry,
                needed: batch.needed,
                inode,
                place: inode,
                bytes: 0,
                descriptor: None,
            };
            self.item_count += 1;
        }
        *left -= batch.files();
        self.part_count += 1;
    }

    /// Leaves out of the batch what is beyond the bytes that may be outstanding: `items` have to be as planned,
    /// with their bytes. What is left counts as requested; nothing where nothing is left.
    pub(super) fn settle(&mut self) -> Option<FilesAhead> {
        let mut fill = BatchFill::default();
        let mut all = None;
        for Part {
            folder,
            batch,
            first_item,
        } in self.parts[..self.part_count].iter().copied()
        {
            let count = usize::try_from(batch.files()).unwrap_or(0);
            let items = self.items[first_item..first_item + count].iter_mut();
            let listing = &mut self.folders.folder_mut(folder).listing;
            let files = items.map(|item| &mut item.bytes);
            let (requested, bytes) = self.policy.settle(listing, batch, &mut fill, files);
            self.tally.requested += u64::from(requested);
            self.tally.bytes += bytes;
            if requested > 0 {
                let all = all.get_or_insert(FilesAhead {
                    order: batch.order,
                    needed: batch.needed,
                    files: 0,
                    folders: 0,
                    bytes: 0,
                });
                all.files += u64::from(requested);
                all.folders += 1;
                all.bytes += bytes;
            }
        }
        all
    }

    /// Whether the program has visited this file of the batch meanwhile.
    pub(super) fn is_visited(&self, item: &Item) -> bool {
        self.folders.entry(item.entry).round == self.round
    }
}

#[cfg(test)]
mod tests;
