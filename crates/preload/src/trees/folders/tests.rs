//! What the tables of folders promise: names are found, orders are right, and the memory has an end.

use super::following::Following;
use super::*;
use crate::memory::zeroed_array;
use ahead_sys::own_usage::own_thread_usage;
use std::mem::MaybeUninit;

fn folders() -> &'static mut Folders {
    // SAFETY: all-zero bytes are no folders, and nothing else has this mapping.
    unsafe {
        let place = zeroed_array::<MaybeUninit<Folders>>(1).unwrap();
        &mut *place.as_ptr().cast_mut().cast::<Folders>()
    }
}

fn listed(folders: &mut Folders, inode: u64, names: &[(&str, u64, EntryKind)]) -> usize {
    let folder = folders.find_or_make(1, inode).unwrap();
    folders.begin_listing();
    for (name, inode, kind) in names {
        assert!(folders.list(name.as_bytes(), *inode, *kind));
    }
    folders.end_listing(folder);
    folder
}

#[test]
fn files_and_folders_have_ranks_of_their_own_in_each_order() {
    let folders = folders();
    let (file, below) = (EntryKind::File, EntryKind::Folder);
    let names = [
        ("c", 10, file),
        ("z", 5, below),
        ("a", 30, file),
        ("b", 20, file),
    ];
    let folder = listed(folders, 2, &names);
    let names_in = |order| {
        [0, 1, 2].map(|rank| {
            let at = folders.file(folder, order, rank);
            assert_eq!(folders.ranks(at).of(order), rank);
            folders.name(at).to_vec()
        })
    };
    assert_eq!(names_in(ListingOrder::Listed), [b"c", b"a", b"b"]);
    assert_eq!(names_in(ListingOrder::Named), [b"a", b"b", b"c"]);
    assert_eq!(names_in(ListingOrder::Inode), [b"c", b"b", b"a"]);
    let only = folders.subfolder(folder, ListingOrder::Named, 0).unwrap();
    assert_eq!(folders.name(only), b"z");
    assert_eq!(folders.subfolder(folder, ListingOrder::Named, 1), None);
    let found = folders.find_name(folder, events::name_hash(b"b")).unwrap();
    assert_eq!(folders.entry(found).inode, 20);
    assert_eq!(folders.find_name(folder, events::name_hash(b"d")), None);
}

#[test]
fn numbered_names_have_the_ranks_of_their_numbers() {
    let folders = folders();
    let names = [
        ("part-10", 1, EntryKind::File),
        ("part-9", 2, EntryKind::File),
        ("part-1", 3, EntryKind::File),
    ];
    let folder = listed(folders, 2, &names);
    let names = [0, 1, 2].map(|rank| {
        let at = folders.file(folder, ListingOrder::Numbered, rank);
        assert_eq!(folders.ranks(at).of(ListingOrder::Numbered), rank);
        folders.name(at).to_vec()
    });
    assert_eq!(names, [&b"part-1"[..], b"part-9", b"part-10"]);
}

#[test]
fn folders_known_by_path_are_linked_when_the_one_above_is_listed() {
    let folders = folders();
    let below = EntryKind::Folder;
    let children = [(3, &b"/top/x"[..]), (4, b"/top/y"), (5, b"/other/x")];
    let children = children.map(|(inode, path)| {
        let child = listed(folders, inode, &[("file", inode * 10, EntryKind::File)]);
        folders.set_path(child, path);
        assert!(!folders.link_by_path(child));
        child
    });
    let top = listed(folders, 2, &[("x", 3, below), ("y", 4, below)]);
    folders.set_path(top, b"/top");
    folders.set_key(events::path_key(0, b"/top"), top);
    folders.link_children(top);
    let order = ListingOrder::Named;
    let following = folders.following(children[0], order, 1);
    assert_eq!(following, Some(Following::Folder(children[1])));
    assert_eq!(folders.following(children[2], order, 1), None);
}

#[test]
fn a_walk_goes_into_the_depth_and_leaves_out_where_it_was() {
    let folders = folders();
    let below = EntryKind::Folder;
    let root = listed(folders, 2, &[("x", 3, below), ("y", 4, below)]);
    let order = ListingOrder::Listed;
    let unlisted = |parent, rank| Some(Following::Unlisted { parent, rank });
    assert_eq!(folders.following(root, order, 1), unlisted(root, 0));
    let first = listed(folders, 3, &[("deep", 5, below)]);
    let entry = folders.subfolder(root, order, 0).unwrap();
    folders.link(root, entry, first);
    assert_eq!(
        folders.following(root, order, 1),
        Some(Following::Folder(first))
    );
    assert_eq!(folders.following(first, order, 1), unlisted(first, 0));
    let deep = listed(folders, 5, &[]);
    let entry = folders.subfolder(first, order, 0).unwrap();
    folders.link(first, entry, deep);
    assert_eq!(folders.following(deep, order, 1), unlisted(root, 1));
    let last = folders.subfolder(root, order, 1).unwrap();
    folders.entry_mut(last).is_barred = true;
    assert_eq!(folders.following(deep, order, 1), None);
    folders.folder_mut(deep).round = 1;
    assert_eq!(folders.following(first, order, 1), None);
    assert_eq!(
        folders.following(first, order, 2),
        Some(Following::Folder(deep))
    );
}

#[test]
fn a_folder_of_a_million_files_is_cut_off_and_leaves_space_for_another() {
    let folders = folders();
    let folder = folders.find_or_make(1, 2).unwrap();
    folders.begin_listing();
    let kept = (0..1_000_000_u64)
        .take_while(|number| {
            folders.list(format!("{number:08}").as_bytes(), *number, EntryKind::File)
        })
        .count();
    folders.end_listing(folder);
    assert_eq!(kept, FOLDER_ENTRIES_MAX);
    assert_eq!(folders.folder(folder).files as usize, FOLDER_ENTRIES_MAX);
    let last = format!("{:08}", kept - 1);
    assert!(
        folders
            .find_name(folder, events::name_hash(last.as_bytes()))
            .is_some()
    );
    folders.find_or_make(1, 3).unwrap();
    folders.begin_listing();
    assert!(folders.list(b"one more", 1, EntryKind::File));
    assert!(!folders.is_nearly_full() && !folders.is_full());
    let more = (0..1_000_000_u64)
        .take_while(|number| {
            folders.list(format!("{number:08}").as_bytes(), *number, EntryKind::File)
        })
        .count();
    assert_eq!(kept + 1 + more, ENTRIES);
    assert!(folders.is_nearly_full() && folders.is_full());
    folders.clear();
    assert!(!folders.is_nearly_full() && !folders.is_full());
    assert_eq!(folders.find_key(identity_key(1, 2)), None);
}

#[test]
fn a_folder_is_found_by_the_keys_of_the_one_above() {
    let folders = folders();
    let root = listed(folders, 2, &[("x", 3, EntryKind::Folder)]);
    for key in 1..=6 {
        folders.set_key(key * 100 + 1, root);
    }
    let child = listed(folders, 3, &[]);
    let entry = folders.subfolder(root, ListingOrder::Listed, 0).unwrap();
    folders.link(root, entry, child);
    let below = |key: u64| events::key_below(key * 100 + 1, events::name_hash(b"x"));
    assert_eq!(folders.find_key(below(6)), Some(child));
    assert_eq!(folders.find_key(below(3)), Some(child));
    // Only the newest ones are handed on.
    assert_eq!(folders.find_key(below(1)), None);
    assert_eq!(folders.find_key(101), Some(root));
}

/// Programs of twenty files, each with a helper: 192 pages were zeroed that had never been written.
#[test]
fn what_was_never_filled_is_not_cleared() {
    let folders = folders();
    let before = own_thread_usage().page_faults;
    folders.clear();
    folders.clear();
    assert!(own_thread_usage().page_faults - before < 8);
}
