//! The library's helper for trees, in virtual time: under the same policy, which decides which files come next and how
//! many, it follows the program, lists folders ahead, and requests files in the order of their places.
//!
//! What it knows of folders is what `ahead-preload`'s `trees::walk` knows. It
//! is simpler in that a tree is read once, by opens, and wholly. It looks for what the program says every ten
//! microseconds, as a program cannot wake another one here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahead_policy::file_order::limits::{
    BATCHES_WAITED_MIN, FILE_BYTES_MAX, FOLDERS_PASSED_MAX, HELPER_WAITS_MIN, IN_STEP_VISITS,
    LISTED_AT_ONCE, MISSED_MAX, OUTSTANDING_BYTES_MAX, PARTS, READ_AT_ONCE, SWEEP_VISITS,
};
use ahead_policy::file_order::listing::{OUTSTANDING_FILES_MAX, OpenListing};
use ahead_policy::file_order::order::{FileBatch, ListingOrder};
use ahead_policy::file_order::{BatchFill, FileOrder};
use ahead_workload::{Program, Step};

use super::metadata::{Blocks, FolderId, Forest, OPEN_FILE, Shared, Steps, TreeFileId, TreeNote};
use super::order::TreeOrders;
use super::walk::open_device;

/// Bytes of one call: the longest request of the disk, at which the kernel cuts it.
const CALL_BYTES: usize = 1 << 20;
/// How often it looks for something to do.
const LOOK_EVERY_NS: u64 = 10_000;

#[derive(Clone)]
struct KnownFolder {
    listing: OpenListing,
    is_visited: bool,
    asked_at: u64,
}

#[derive(Clone, Copy, Default)]
struct Place {
    folder: Option<FolderId>,
    visit: u64,
}

/// What a batch has of one folder: items `first_item` and following.
#[derive(Clone, Copy)]
struct Part {
    folder: FolderId,
    batch: FileBatch,
    first_item: usize,
}

#[derive(Clone, Copy)]
struct Item {
    file: TreeFileId,
    bytes: u64,
}

/// What a walk comes to next.
enum Following {
    Folder(FolderId),
    Unlisted { parent: FolderId, rank: u32 },
}

/// The helper in the middle of its work.
pub(super) struct Helper {
    forest: Arc<Forest>,
    shared: Arc<Mutex<Shared>>,
    orders: Arc<[TreeOrders]>,
    policy: FileOrder,
    /// Folders that were listed.
    known: BTreeMap<FolderId, KnownFolder>,
    visited: std::collections::BTreeSet<TreeFileId>,
    order: Option<ListingOrder>,
    places: [Place; 2],
    visits: u64,
    missed: u32,
    is_started: bool,
    /// Folders that were listed ahead of the program.
    listed_ahead: usize,
    /// Batches that waited for metadata.
    batches_waited: u32,
    steps: Steps,
    items: Vec<Item>,
    parts: Vec<Part>,
    /// The inodes of `items` are read; their data is still to be requested.
    is_batch_open: bool,
}

impl Helper {
    pub(super) fn new(forest: Arc<Forest>, shared: Arc<Mutex<Shared>>) -> Self {
        let orders = forest.trees().iter().map(TreeOrders::of).collect();
        Self {
            forest,
            shared,
            orders,
            policy: FileOrder::new(OUTSTANDING_BYTES_MAX.get()),
            known: BTreeMap::new(),
            visited: std::collections::BTreeSet::new(),
            order: None,
            places: [Place::default(); 2],
            visits: 0,
            missed: 0,
            is_started: false,
            listed_ahead: 0,
            batches_waited: 0,
            steps: open_device(),
            items: Vec::new(),
            parts: Vec::new(),
            is_batch_open: false,
        }
    }

    /// Takes in what the program has said. False: it has ended.
    fn take_in(&mut self) -> bool {
        let shared = Arc::clone(&self.shared);
        let mut shared = lock(&shared);
        while let Some(note) = shared.notes.pop_front() {
            self.is_started |= shared.waits >= HELPER_WAITS_MIN.get();
            match note {
                TreeNote::List(folder) => self.on_listed(folder),
                // Before there is a helper, visits are not told.
                TreeNote::Open(file) if self.is_started => self.on_visit(file),
                TreeNote::Open(_) => {}
            }
        }
        !shared.is_over
    }

    fn on_listed(&mut self, folder: FolderId) {
        let files = self.forest.trees()[folder.0].folders[folder.1].files.len();
        self.known.entry(folder).or_insert_with(|| KnownFolder {
            listing: OpenListing::new(u32::try_from(files).unwrap_or(u32::MAX)),
            is_visited: false,
            asked_at: 0,
        });
    }

    fn on_visit(&mut self, file: TreeFileId) {
        let folder = (file.0, self.forest.trees()[file.0].files[file.1].folder);
        let ranks = self.orders[file.0].file_ranks(file.1);
        let Some(known) = self.known.get_mut(&folder) else {
            return;
        };
        if !self.visited.insert(file) {
            return;
        }
        known.is_visited = true;
        if self.policy.on_visit(&mut known.listing, ranks) {
            self.missed = 0;
        } else {
            self.missed += 1;
            if self.missed >= MISSED_MAX.get() {
                self.give_up(u64::MAX);
            }
        }
        self.visits += 1;
        self.come_to(folder);
        let order = self.policy.order();
        if order.is_some() && order != self.order {
            self.order = order;
            self.give_up(u64::MAX);
        }
        if self.visits.is_multiple_of(SWEEP_VISITS.get()) {
            let behind = 2 * u64::from(OUTSTANDING_FILES_MAX);
            self.give_up(self.visits.saturating_sub(behind));
        }
    }

    /// What was requested before a visit is not waited for any more.
    fn give_up(&mut self, before: u64) {
        self.missed = 0;
        for known in self.known.values_mut() {
            if known.asked_at < before && known.listing.outstanding() > 0 {
                self.policy.on_end(&mut known.listing);
            }
        }
    }

    fn come_to(&mut self, folder: FolderId) {
        let same = self.places.iter().position(|at| at.folder == Some(folder));
        let older = usize::from(self.places[1].visit < self.places[0].visit);
        self.places[same.unwrap_or(older)] = Place {
            folder: Some(folder),
            visit: self.visits,
        };
    }

    /// Puts together the next batch, with the steps that list folders for it and read its inodes. False: there is
    /// none.
    fn plan(&mut self) -> bool {
        (self.items, self.parts) = (Vec::new(), Vec::new());
        let asked_before = lock(&self.shared).blocks_asked();
        let mut left = self.policy.files_wanted();
        if left == 0 {
            return false;
        }
        let mut places = self.places;
        places.sort_by_key(|place| place.visit);
        let is_in_step =
            places[0].visit + IN_STEP_VISITS.get() > self.visits && !self.has_gone_on(places);
        for (share, place) in [2, 1].into_iter().zip(places) {
            if let Some(folder) = place.folder
                && (share == 1 || is_in_step)
            {
                let mut own = left / share;
                left -= own;
                self.plan_from(folder, &mut own);
                left += own;
            }
        }
        let mut by_inode: Vec<u64> = self.items.iter().map(|item| self.inode(item)).collect();
        by_inode.sort_unstable();
        self.read_inodes(by_inode.into_iter());
        if lock(&self.shared).blocks_asked() > asked_before {
            self.batches_waited += 1;
        }
        self.is_batch_open = !self.items.is_empty();
        self.is_batch_open
    }

    /// Whether the second of these places is what comes after the first: they are of one walk.
    fn has_gone_on(&mut self, places: [Place; 2]) -> bool {
        let [Some(from), Some(to)] = places.map(|place| place.folder) else {
            return true;
        };
        let Some(order) = self.policy.order() else {
            return false;
        };
        let visit = |helper: &mut Self, is_visited| {
            if let Some(known) = helper.known.get_mut(&to) {
                known.is_visited = is_visited;
            }
        };
        // As it was before the program came there.
        visit(self, false);
        let next = self.following_from(from, order, 0);
        visit(self, true);
        matches!(next, Some(Following::Folder(next)) if next == to)
    }

    fn read_inodes(&mut self, inodes: impl Iterator<Item = u64>) {
        let forest = Arc::clone(&self.forest);
        self.read(inodes.map(|inode| forest.inode_blocks(inode)).collect());
    }

    /// Reads metadata: one block after another at first, later several at once.
    fn read(&mut self, mut blocks: Vec<Blocks>) {
        blocks.dedup_by_key(|blocks| blocks.wanted);
        let at_once = if self.batches_waited < BATCHES_WAITED_MIN.get() {
            1
        } else {
            READ_AT_ONCE
        };
        let mut shared = lock(&self.shared);
        for blocks in blocks.chunks(at_once) {
            shared.read(blocks, &mut self.steps);
        }
    }

    fn inode(&self, item: &Item) -> u64 {
        self.forest.file_inode(item.file)
    }

    fn plan_from(&mut self, folder: FolderId, left: &mut u32) {
        let Some(order) = self.policy.order() else {
            return;
        };
        self.take(folder, left);
        let mut at = folder;
        for _ in 0..FOLDERS_PASSED_MAX.get() {
            if *left == 0 || self.parts.len() == PARTS {
                return;
            }
            match self.following_from(at, order, 0) {
                Some(Following::Folder(next)) => {
                    self.take(next, left);
                    at = next;
                }
                Some(Following::Unlisted { .. }) => {
                    let wanted = self.listed_ahead.clamp(1, LISTED_AT_ONCE);
                    self.listed_ahead += self.list_after(at, order, wanted);
                }
                None => return,
            }
        }
    }

    /// The next files of one folder.
    fn take(&mut self, folder: FolderId, left: &mut u32) {
        let Some(known) = self.known.get_mut(&folder) else {
            return;
        };
        if self.parts.len() == PARTS {
            return;
        }
        let Some(batch) = self.policy.next(&mut known.listing, *left) else {
            return;
        };
        known.asked_at = self.visits;
        self.parts.push(Part {
            folder,
            batch,
            first_item: self.items.len(),
        });
        let files = self.orders[folder.0].files(folder.1, batch.order);
        let ranks = batch.ranks().filter_map(|rank| usize::try_from(rank).ok());
        for number in ranks.filter_map(|rank| files.get(rank)) {
            let bytes = self.forest.trees()[folder.0].files[*number].bytes;
            self.items.push(Item {
                file: (folder.0, *number),
                bytes: if bytes > FILE_BYTES_MAX.get() {
                    0
                } else {
                    bytes
                },
            });
        }
        *left -= batch.files();
    }

    /// What a walk into the depth comes to behind the files of a folder, whose own folders before `from` are passed.
    fn following_from(&self, at: FolderId, order: ListingOrder, from: u32) -> Option<Following> {
        let (mut at, mut from) = (at, from);
        loop {
            if let Some(found) = self.next_unvisited(at, order, from) {
                return Some(found);
            }
            let (tree, folder) = at;
            from = self.orders[tree].folder_ranks(folder).of(order) + 1;
            at = (tree, self.forest.trees()[tree].folders[folder].parent?);
        }
    }

    fn next_unvisited(
        &self,
        parent: FolderId,
        order: ListingOrder,
        from: u32,
    ) -> Option<Following> {
        let below = self.orders[parent.0].folders(parent.1, order);
        let skipped = usize::try_from(from).unwrap_or(usize::MAX);
        for (rank, child) in (from..).zip(below.iter().skip(skipped)) {
            let child = (parent.0, *child);
            match self.known.get(&child) {
                Some(known) if known.is_visited => {}
                Some(_) => return Some(Following::Folder(child)),
                None => return Some(Following::Unlisted { parent, rank }),
            }
        }
        None
    }

    /// Lists the next folders that come after `folder`, of those that are known by name. Returns how many.
    fn list_after(&mut self, folder: FolderId, order: ListingOrder, wanted: usize) -> usize {
        let mut found = Vec::new();
        let mut next = self.following_from(folder, order, 0);
        while found.len() < wanted {
            next = match next {
                Some(Following::Folder(known)) => self.following_from(known, order, 0),
                Some(Following::Unlisted { parent, rank }) => {
                    let below = self.orders[parent.0].folders(parent.1, order);
                    let place = usize::try_from(rank).unwrap_or(usize::MAX);
                    found.extend(below.get(place).map(|child| (parent.0, *child)));
                    self.following_from(parent, order, rank + 1)
                }
                None => break,
            };
        }
        let forest = Arc::clone(&self.forest);
        found.sort_by_key(|folder| forest.folder_inode(*folder));
        self.read_inodes(found.iter().map(|folder| forest.folder_inode(*folder)));
        found.sort_by_key(|(tree, folder)| forest.trees()[*tree].folders[*folder].block);
        let names = found.iter().map(|folder| forest.name_blocks(*folder));
        self.read(names.collect());
        for folder in &found {
            self.on_listed(*folder);
        }
        found.len()
    }

    /// Counts what is within the limit of bytes, and requests it in the order of places.
    fn request(&mut self) {
        self.is_batch_open = false;
        let mut fill = BatchFill::default();
        for part in &self.parts {
            let count = usize::try_from(part.batch.files()).unwrap_or(0);
            let items = self.items[part.first_item..part.first_item + count].iter_mut();
            if let Some(known) = self.known.get_mut(&part.folder) {
                let files = items.map(|item| &mut item.bytes);
                self.policy
                    .settle(&mut known.listing, part.batch, &mut fill, files);
            }
        }
        self.take_in();
        let block = |item: &Item| self.forest.trees()[item.file.0].files[item.file.1].block;
        let mut items = std::mem::take(&mut self.items);
        items.sort_by_key(block);
        let mut shared = lock(&self.shared);
        for Item { file, bytes } in items {
            if bytes == 0 || self.visited.contains(&file) {
                continue;
            }
            shared.requested.insert(file);
            self.steps.push_back(Step::Open {
                slot: OPEN_FILE,
                file: self.forest.number(file),
            });
            for offset in (0..bytes).step_by(CALL_BYTES) {
                self.steps.push_back(Step::WillNeed {
                    slot: OPEN_FILE,
                    offset,
                    length: (bytes - offset).min(CALL_BYTES as u64),
                });
            }
            self.steps.push_back(Step::Close { slot: OPEN_FILE });
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Program for Helper {
    fn step(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.steps.pop_front() {
                return Some(step);
            }
            if self.is_batch_open {
                self.request();
                continue;
            }
            if !self.take_in() {
                return None;
            }
            if !self.is_started || !self.plan() {
                let idle = Step::Think { ns: LOOK_EVERY_NS };
                return Some(self.steps.pop_front().unwrap_or(idle));
            }
        }
    }

    fn fork(&self) -> Box<dyn Program> {
        Box::new(Self {
            forest: Arc::clone(&self.forest),
            shared: Arc::clone(&self.shared),
            orders: Arc::clone(&self.orders),
            known: self.known.clone(),
            visited: self.visited.clone(),
            steps: self.steps.clone(),
            items: self.items.clone(),
            parts: self.parts.clone(),
            ..*self
        })
    }
}
