//! Walks through trees that exist only here: what is planned is what comes next.

use std::mem::MaybeUninit;

use super::*;
use crate::memory::zeroed_array;
use crate::trees::folders::EntryKind;

const FILES: u64 = 30;

/// A walk, and a tree of which only the root is listed: listing a folder of it gives it `FILES` files.
struct Tree {
    walk: &'static mut Walk,
    root: usize,
}

fn list_folder(folders: &mut Folders, inode: u64) -> usize {
    let folder = folders.find_or_make(1, inode).unwrap();
    folders.begin_listing();
    for file in 0..FILES {
        let name = format!("file-{:02}", file * 7 % FILES);
        assert!(folders.list(name.as_bytes(), inode * 100 + file, EntryKind::File));
    }
    folders.end_listing(folder);
    folder
}

fn list_ahead(folders: &mut Folders, entries: &[usize]) {
    for entry in entries {
        let parent = folders.folder_of(*entry);
        let inode = folders.entry(*entry).inode;
        let folder = list_folder(folders, inode);
        folders.link(parent, *entry, folder);
    }
}

impl Tree {
    fn new(first_inode: u64) -> Self {
        // SAFETY: all-zero bytes are a valid walk, and nothing else has this mapping.
        let walk = unsafe {
            let place = zeroed_array::<MaybeUninit<Walk>>(1).unwrap();
            &mut *place.as_ptr().cast_mut().cast::<Walk>()
        };
        walk.begin(1 << 30);
        let root = Self::add_root(walk, first_inode);
        Self { walk, root }
    }

    fn add_root(walk: &mut Walk, first_inode: u64) -> usize {
        let root = walk.folders.find_or_make(1, first_inode).unwrap();
        walk.folders.begin_listing();
        for folder in 0..20 {
            let name = format!("folder-{:02}", folder * 9 % 20);
            let inode = first_inode + 1 + folder;
            assert!(walk.folders.list(name.as_bytes(), inode, EntryKind::Folder));
        }
        walk.folders.end_listing(root);
        walk.on_folder(root);
        root
    }

    fn folder(&mut self, root: usize, rank: u32) -> usize {
        let entry = self
            .walk
            .folders
            .subfolder(root, ListingOrder::Listed, rank);
        let entry = entry.unwrap();
        if self.walk.folders.entry(entry).child == 0 {
            list_ahead(&mut self.walk.folders, &[entry]);
        }
        usize::try_from(self.walk.folders.entry(entry).child).unwrap() - 1
    }

    /// The program does something with a file; the helper acts. Returns how many files that requested.
    fn visit(&mut self, root: usize, folder: u32, file: u32, kind: VisitKind) -> usize {
        let folder = self.folder(root, folder);
        let order = ListingOrder::Listed;
        let entry = self.walk.folders.file(folder, order, file);
        let hash = self.walk.folders.entry(entry).hash;
        self.walk.on_visit(folder, hash, kind);
        self.walk.plan(&mut list_ahead);
        for item in &mut self.walk.items[..self.walk.item_count] {
            item.bytes = 1000;
        }
        self.walk.settle();
        self.walk.item_count
    }

    fn open_all(&mut self, root: usize, folders: std::ops::Range<u32>) {
        for folder in folders {
            for file in 0..30 {
                self.visit(root, folder, file, VisitKind::Open);
            }
        }
    }
}

#[test]
fn a_walk_is_followed_from_folder_to_folder() {
    let mut tree = Tree::new(10);
    tree.open_all(tree.root, 0..20);
    let tally = tree.walk.tally;
    assert!(tally.requested >= 20 * FILES - 10, "{}", tally.requested);
    assert_eq!((tally.used, tally.wasted), (tally.requested, 0));
    assert_eq!(tree.walk.policy.bytes_outstanding(), 0);
    assert!(tally.folders >= 15, "{} listed ahead", tally.folders);
}

/// Of a folder that the program has just left, and of one that it has begun, only what it comes to is requested: what it
/// leaves out there was taken for the beginning of the next ones.
#[test]
fn a_walk_that_leaves_out_as_many_files_each_time_is_followed_from_folder_to_folder() {
    for step in [2, 3, 4] {
        let mut tree = Tree::new(10);
        let mut visits = 0;
        for number in (0..600).step_by(step) {
            tree.visit(tree.root, number / 30, number % 30, VisitKind::Open);
            visits += 1;
        }
        let tally = tree.walk.tally;
        // All of them from the second folder on, or the third.
        assert!(tally.used >= visits - 16, "{step}: {} used", tally.used);
        assert!(
            tally.requested <= tally.used + 4,
            "{step}: {}",
            tally.requested
        );
    }
}

#[test]
fn a_second_walk_through_the_same_tree_is_followed_too() {
    let mut tree = Tree::new(10);
    tree.open_all(tree.root, 0..20);
    let first = tree.walk.tally.requested;
    tree.open_all(tree.root, 0..20);
    let tally = tree.walk.tally;
    assert!(tally.requested - first >= 20 * FILES - 10);
    assert_eq!(tally.used, tally.requested);
}

#[test]
fn two_trees_in_step_are_one_walk() {
    let mut tree = Tree::new(10);
    let other = Tree::add_root(tree.walk, 1000);
    for folder in 0..20 {
        for file in 0..30 {
            tree.visit(tree.root, folder, file, VisitKind::Open);
            tree.visit(other, folder, file, VisitKind::Open);
        }
    }
    let tally = tree.walk.tally;
    assert!(tally.used >= 2 * 20 * FILES - 20, "{} used", tally.used);
    assert!(tally.wasted <= 8, "{} wasted", tally.wasted);
}

/// `ls -lR` asks about files as listed and goes through folders by name; Python's `os.walk` with sorted files does the
/// opposite.
#[test]
fn folders_in_another_order_than_files_are_followed() {
    let mut tree = Tree::new(10);
    for rank in 0..20 {
        let folders = &tree.walk.folders;
        let named = folders.subfolder(tree.root, ListingOrder::Named, rank);
        let listed = folders.ranks(named.unwrap()).of(ListingOrder::Listed);
        tree.open_all(tree.root, listed..listed + 1);
    }
    let tally = tree.walk.tally;
    // Until the order is known, batches go over to the folder that is listed next.
    assert!(tally.wasted <= FILES, "{} wasted", tally.wasted);
    assert!(tally.used >= 18 * FILES, "{} used", tally.used);
}

/// rsync: it asks about all files of a folder some folders ahead of those that it opens.
#[test]
fn questions_ahead_of_opens_do_not_lead_astray() {
    let mut tree = Tree::new(10);
    for folder in 0..20_u32 {
        for file in 0..30 {
            tree.visit(tree.root, (folder + 5).min(19), file, VisitKind::Stat);
        }
        for file in 0..30 {
            tree.visit(tree.root, folder, file, VisitKind::Open);
        }
    }
    let tally = tree.walk.tally;
    assert!(tally.used >= 20 * FILES * 9 / 10, "{} used", tally.used);
    assert!(tally.wasted <= 40, "{} wasted", tally.wasted);
}

#[test]
fn a_program_that_only_asks_gets_metadata_and_one_that_reads_heads_gets_heads() {
    let mut tree = Tree::new(10);
    for file in 0..30 {
        tree.visit(tree.root, 0, file, VisitKind::Stat);
    }
    assert_eq!(tree.walk.policy.needed(), Needed::Metadata);
    for file in 0..30 {
        tree.visit(tree.root, 1, file, VisitKind::Open);
        let folder = tree.folder(tree.root, 1);
        let entry = tree.walk.folders.file(folder, ListingOrder::Listed, file);
        tree.walk.folders.entry_mut(entry).kib = 100;
        tree.visit(tree.root, 1, file, VisitKind::Close(Some(4096)));
    }
    assert_eq!(tree.walk.policy.needed(), Needed::Head);
}

/// rsync opens and closes the folder of each file: of a folder nothing is read.
#[test]
fn folders_that_are_closed_say_nothing_about_files() {
    let mut tree = Tree::new(10);
    for file in 0..30 {
        tree.visit(tree.root, 0, file, VisitKind::Open);
        tree.visit(tree.root, 0, file, VisitKind::Close(None));
        for folder in 0..2 {
            let folders = &tree.walk.folders;
            let entry = folders.subfolder(tree.root, ListingOrder::Listed, folder);
            let hash = folders.entry(entry.unwrap()).hash;
            tree.walk
                .on_visit(tree.root, hash, VisitKind::Close(Some(0)));
        }
    }
    assert_eq!(tree.walk.policy.needed(), Needed::Whole);
}

#[test]
fn what_the_program_leaves_behind_is_given_up() {
    let mut tree = Tree::new(10);
    tree.open_all(tree.root, 0..3);
    assert!(tree.walk.policy.outstanding_files() > 0);
    // Somewhere else, and without an order.
    for at in 0..60 {
        tree.visit(tree.root, 10 + at % 7, at * 11 % 30, VisitKind::Open);
    }
    let tally = tree.walk.tally;
    let outstanding = u64::from(tree.walk.policy.outstanding_files());
    assert!(
        tally.wasted > 0 && outstanding <= 64,
        "{outstanding} outstanding"
    );
}

/// Who opens files at random, in folders of any size, pays for names up to a limit.
#[test]
fn folders_are_listed_in_vain_only_up_to_a_limit() {
    let tree = Tree::new(10);
    let mut listed = 0;
    for inode in 10_000..20_000 {
        let Some(folder) = tree.walk.folders.find_or_make(1, inode) else {
            break;
        };
        if tree.walk.folders.is_nearly_full() {
            tree.walk.forget_folders();
            continue;
        }
        let answers = [(); 5].map(|()| tree.walk.is_to_be_listed(folder));
        assert!(!answers[0] && !answers[1] && !answers[3] && !answers[4]);
        if answers[2] {
            list_folder(&mut tree.walk.folders, inode);
            tree.walk.on_listed_by_name(folder);
            listed += 1;
        }
    }
    assert_eq!(listed, u64::from(NAMES_IN_VAIN_MAX).div_ceil(FILES));
}

#[test]
fn the_folder_above_is_listed_for_the_second_of_its_folders() {
    let tree = Tree::new(10);
    let parent = tree.walk.folders.find_or_make(1, 5000).unwrap();
    assert!(!tree.walk.is_parent_to_be_listed(parent));
    assert!(tree.walk.is_parent_to_be_listed(parent));
    list_folder(&mut tree.walk.folders, 5000);
    assert!(!tree.walk.is_parent_to_be_listed(parent));
}

#[test]
fn heads_are_as_long_as_the_program_reads_them() {
    let mut tree = Tree::new(10);
    let folder = tree.folder(tree.root, 0);
    let entry = tree.walk.folders.file(folder, ListingOrder::Listed, 0);
    let hash = tree.walk.folders.entry(entry).hash;
    tree.walk.folders.entry_mut(entry).kib = 200;
    let mut close = |bytes| {
        for _ in 0..20 {
            tree.walk.on_visit(folder, hash, VisitKind::Close(bytes));
        }
        (tree.walk.policy.needed(), tree.walk.head_bytes)
    };
    assert_eq!(close(Some(100)), (Needed::Head, 16 << 10));
    assert_eq!(close(Some(40_000)), (Needed::Head, 64 << 10));
    // Read from memory: it was not seen how much.
    assert_eq!(close(None), (Needed::Head, 64 << 10));
    assert_eq!(close(Some(0)), (Needed::Metadata, 64 << 10));
    assert_eq!(close(None), (Needed::Head, 64 << 10));
    assert_eq!(close(Some(66_000)), (Needed::Whole, 64 << 10));
}

#[test]
fn a_file_used_by_chance_is_no_use() {
    let of_use = |requested, used| {
        let tally = Tally {
            requested,
            used,
            ..Tally::default()
        };
        tally.was_of_use()
    };
    assert!(!of_use(0, 0) && !of_use(36, 1) && !of_use(400, 99));
    assert!(of_use(4, 1) && of_use(400, 100) && of_use(1, 1));
}
