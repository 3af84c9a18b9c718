//! The folders and files of trees in each order that the policy knows.

use ahead_policy::file_order::order::{FileRanks, ListingOrder, ORDERS, by_numbers};

use super::ext4::{Ext4Folder, Ext4Tree};

/// Of one tree. Everything is found by folder, then by the place of the order in [`ListingOrder::ALL`].
pub(super) struct TreeOrders {
    files: Vec<[Vec<usize>; ORDERS]>,
    folders: Vec<[Vec<usize>; ORDERS]>,
    file_ranks: Vec<FileRanks>,
    folder_ranks: Vec<FileRanks>,
}

impl TreeOrders {
    pub(super) fn of(tree: &Ext4Tree) -> Self {
        let file = |number: &usize| {
            let file = &tree.files[*number];
            (file.name.as_str(), file.inode)
        };
        let folder = |number: &usize| {
            let folder = &tree.folders[*number];
            (folder.name.as_str(), folder.inode)
        };
        let of_folder = |known: &Ext4Folder| in_orders(&known.files, file);
        let files: Vec<_> = tree.folders.iter().map(of_folder).collect();
        let of_folder = |known: &Ext4Folder| in_orders(&known.folders, folder);
        let folders: Vec<_> = tree.folders.iter().map(of_folder).collect();
        Self {
            file_ranks: ranks(&files, tree.files.len()),
            folder_ranks: ranks(&folders, tree.folders.len()),
            files,
            folders,
        }
    }

    /// The files of a folder.
    pub(super) fn files(&self, folder: usize, order: ListingOrder) -> &[usize] {
        &self.files[folder][order.index()]
    }

    /// The folders in a folder.
    pub(super) fn folders(&self, folder: usize, order: ListingOrder) -> &[usize] {
        &self.folders[folder][order.index()]
    }

    pub(super) fn file_ranks(&self, file: usize) -> FileRanks {
        self.file_ranks[file]
    }

    pub(super) fn folder_ranks(&self, folder: usize) -> FileRanks {
        self.folder_ranks[folder]
    }
}

/// `listed` in each order.
fn in_orders<'a>(
    listed: &[usize],
    facts: impl Fn(&usize) -> (&'a str, u64),
) -> [Vec<usize>; ORDERS] {
    ListingOrder::ALL.map(|order| {
        let mut sorted = listed.to_vec();
        match order.forward() {
            ListingOrder::Named => sorted.sort_by_key(|number| facts(number).0),
            ListingOrder::Inode => sorted.sort_by_key(|number| facts(number).1),
            ListingOrder::Numbered => sorted.sort_by(|one, other| {
                let [one, other] = [one, other].map(|number| facts(number).0.as_bytes());
                by_numbers(one, other)
            }),
            _ => {}
        }
        if order != order.forward() {
            sorted.reverse();
        }
        sorted
    })
}

fn ranks(folders: &[[Vec<usize>; ORDERS]], count: usize) -> Vec<FileRanks> {
    let mut all = vec![FileRanks([0; ORDERS]); count];
    for orders in folders {
        for (at, order) in orders.iter().enumerate() {
            for (rank, number) in (0..).zip(order) {
                all[*number].0[at] = rank;
            }
        }
    }
    all
}
