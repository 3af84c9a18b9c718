//! Trees of files: folders, files and their lengths, in the order in which they were made. The bench writes
//! them to real file systems, and the simulator lays them out as ext4 does.

use crate::random::{below, shuffle};

/// A tree of files in two levels of folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// What it is called.
    pub name: &'static str,
    /// Folders of the upper level.
    pub folders: u32,
    /// Folders in each of them, which hold the files.
    pub folders_each: u32,
    /// Files in each of those.
    pub files_each: u32,
    /// Length of the shortest file, in bytes, and of the longest one; lengths between them are as frequent in each
    /// doubling.
    pub bytes_min: u64,
    /// See `bytes_min`.
    pub bytes_max: u64,
}

/// The trees of the bench.
pub const TREES: [Tree; 3] = [
    Tree {
        name: "small",
        folders: 40,
        folders_each: 5,
        files_each: 20,
        bytes_min: 3_000,
        bytes_max: 200_000,
    },
    Tree {
        name: "many",
        folders: 100,
        folders_each: 10,
        files_each: 100,
        bytes_min: 2_000,
        bytes_max: 2_000,
    },
    Tree {
        name: "large",
        folders: 25,
        folders_each: 4,
        files_each: 5,
        bytes_min: 2_000_000,
        bytes_max: 2_000_000,
    },
];

/// A folder of a tree, by its place in [`Tree::folders()`].
pub type FolderNumber = usize;

/// A folder below the top one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFolder {
    /// The folder that it lies in; `None`: the top one.
    pub parent: Option<FolderNumber>,
    /// Its name there.
    pub name: String,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// The folder that it lies in.
    pub folder: FolderNumber,
    /// Its name there.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

impl Tree {
    /// The tree of the bench that is called so.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        TREES.into_iter().find(|tree| tree.name == name)
    }

    /// `percent` of its upper folders, at least one.
    #[must_use]
    pub fn scaled(self, percent: u32) -> Self {
        Self {
            folders: (self.folders.saturating_mul(percent) / 100).max(1),
            ..self
        }
    }

    /// How many files it has.
    #[must_use]
    pub const fn file_count(&self) -> u32 {
        self.folders * self.folders_each * self.files_each
    }

    /// All folders below the top one, in the order in which they are made: each before what lies in it.
    #[must_use]
    pub fn folders(&self) -> Vec<TreeFolder> {
        let mut all = Vec::new();
        for upper in 0..self.folders {
            let parent = all.len();
            all.push(TreeFolder {
                parent: None,
                name: format!("{upper:02}"),
            });
            all.extend((0..self.folders_each).map(|lower| TreeFolder {
                parent: Some(parent),
                name: format!("part-{lower}"),
            }));
        }
        all
    }

    /// All files, folder by folder: the order in which a tree is made that is copied or unpacked at once.
    #[must_use]
    pub fn files(&self) -> Vec<TreeFile> {
        let folders = self.folders();
        let lower = folders.iter().enumerate();
        let lower = lower.filter(|(_, folder)| folder.parent.is_some());
        let mut all = Vec::new();
        for (folder, _) in lower {
            for _ in 0..self.files_each {
                let number = all.len();
                all.push(TreeFile {
                    folder,
                    name: format!("{:05}.dat", number),
                    bytes: self.file_bytes(u64::try_from(number).unwrap_or(0)),
                });
            }
        }
        all
    }

    /// The numbers of all files in the order of a tree that has grown: at random.
    #[must_use]
    pub fn grown_order(&self) -> Vec<u64> {
        let mut order: Vec<u64> = (0..u64::from(self.file_count())).collect();
        shuffle(1, &mut order);
        order
    }

    /// The length of file `number`: which doubling of the shortest is a matter of chance, and so is the place in
    /// it.
    fn file_bytes(&self, number: u64) -> u64 {
        let mut steps = Vec::new();
        let mut start = self.bytes_min;
        while start < self.bytes_max {
            let end = (start * 2).min(self.bytes_max);
            steps.push((start, end));
            start = end;
        }
        // The last doubling may be cut short, and is as much rarer; in 64ths.
        let weight = |(start, end): &(u64, u64)| (end - start) * 64 / start;
        let mut chance = below(2, number, steps.iter().map(weight).sum());
        for step in &steps {
            if chance < weight(step) {
                return step.0 + below(3, number, step.1 - step.0 + 1);
            }
            chance -= weight(step);
        }
        self.bytes_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trees_of_the_bench_have_the_files_that_they_promise() {
        let counts = TREES.map(|tree| (tree.name, tree.file_count()));
        assert_eq!(counts, [("small", 4000), ("many", 100_000), ("large", 500)]);
        for tree in TREES {
            let files = tree.files();
            assert_eq!(files.len(), usize::try_from(tree.file_count()).unwrap());
            let folders = tree.folders();
            for file in &files {
                assert!((tree.bytes_min..=tree.bytes_max).contains(&file.bytes));
                assert!(folders[file.folder].parent.is_some());
            }
        }
    }

    /// A mean of 47 KB is what lengths have that are as frequent in each doubling: (200 − 3) / ln(200 / 3).
    #[test]
    fn short_files_are_as_frequent_as_long_ones_in_each_doubling() {
        let files = Tree::find("small").unwrap().files();
        let sum: u64 = files.iter().map(|file| file.bytes).sum();
        let mean = sum / 4000;
        assert!((44_000..52_000).contains(&mean), "{mean}");
        let below_6k = files.iter().filter(|file| file.bytes < 6_000).count();
        assert!((590..730).contains(&below_6k), "{below_6k}");
    }

    #[test]
    fn a_tenth_of_a_tree_has_folders_as_full_as_the_whole() {
        let tenth = Tree::find("small").unwrap().scaled(10);
        assert_eq!(tenth.file_count(), 400);
        assert_eq!(tenth.files_each, 20);
        assert_eq!(Tree::find("large").unwrap().scaled(1).folders, 1);
    }
}
