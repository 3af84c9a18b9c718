//! What programs do in a tree, one operation after another: what `strace` shows of GNU tar 1.34, grep 3.8 and
//! diffutils 3.8.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ahead_units::PAGE_BYTES;
use ahead_workload::random::shuffle;
use ahead_workload::{Program, Step};

use super::metadata::{DEVICE, FolderId, Forest, OPEN_FILE, Shared, Steps, TreeFileId, TreeNote};

/// A program that reads whole trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeProgram {
    /// `tar -cf -`: as listed, through records of 10 KiB.
    Tar,
    /// `grep -r`: as listed, 96 KiB at a time.
    Grep,
    /// `diff -r -q`: two equal trees, sorted by name, a page of each in turn.
    Diff,
    /// `grep -r` that ends after forty files.
    First,
    /// Every third file of a tree, as listed.
    Third,
    /// All folders are listed, and their files read in no order.
    Shuffled,
    /// Three files of each folder, as listed.
    FewEach,
}

impl TreeProgram {
    /// Those that are held against programs in guests.
    pub const ALL: [Self; 3] = [Self::Tar, Self::Grep, Self::Diff];

    /// Those that take other parts of a tree, for what the helper's numbers are chosen between.
    pub const PARTS: [Self; 4] = [Self::First, Self::Third, Self::Shuffled, Self::FewEach];

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tar => "tar",
            Self::Grep => "grep -r",
            Self::Diff => "diff -r",
            Self::First => "forty files",
            Self::Third => "every third file",
            Self::Shuffled => "no order",
            Self::FewEach => "three of each folder",
        }
    }

    /// How many trees it reads.
    #[must_use]
    pub const fn trees(self) -> usize {
        match self {
            Self::Diff => 2,
            _ => 1,
        }
    }
}

const RECORD_BYTES: u64 = 10_240;
const HEADER_BYTES: u64 = 512;
const GREP_BYTES: u64 = 96 << 10;
const DIFF_BYTES: u64 = 4096;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    List(FolderId),
    /// Asks for the metadata of a file.
    Stat(TreeFileId),
    /// Opens it in the slot that has this distance to [`OPEN_FILE`].
    Open(TreeFileId, u32),
    Read {
        file: TreeFileId,
        slot: u32,
        offset: u64,
        length: u64,
        /// It comes to the first page of a window of the kernel, and waits for it.
        is_wait: bool,
    },
    Close(u32),
}

/// The reads of a file, each as its offset, its length, and whether it waits: the kernel's first window is made of
/// the first read, each further one is twice as long, up to 128 KiB, and is requested when the one before is begun.
fn waiting(reads: impl Iterator<Item = (u64, u64)>) -> impl Iterator<Item = (u64, u64, bool)> {
    const WINDOW_PAGES_MAX: u64 = 32;
    let (mut window, mut pages) = (0, 0);
    reads.map(move |(offset, length)| {
        let end = (offset + length).div_ceil(PAGE_BYTES);
        let is_wait = end > window;
        while window < end {
            let first = length.div_ceil(PAGE_BYTES).next_power_of_two();
            pages = match (pages, first) {
                (0, 1) => 4,
                (0, 2..=8) => first * 2,
                (0, _) => WINDOW_PAGES_MAX,
                _ => (pages * 2).min(WINDOW_PAGES_MAX),
            };
            window += pages;
        }
        (offset, length, is_wait)
    })
}

/// A program in the middle of its operations.
pub(super) struct Walker {
    forest: Arc<Forest>,
    shared: Arc<Mutex<Shared>>,
    operations: Arc<[Operation]>,
    next: usize,
    steps: Steps,
}

impl Walker {
    pub(super) fn new(
        forest: Arc<Forest>,
        shared: Arc<Mutex<Shared>>,
        program: TreeProgram,
    ) -> Self {
        let operations = match program {
            TreeProgram::Tar => tar(&forest),
            TreeProgram::Grep => grep(&forest, &mut |_, _| true),
            TreeProgram::Diff => diff(&forest),
            TreeProgram::First => first_files(&forest, 40),
            TreeProgram::Third => grep(&forest, &mut |number, _| number % 3 == 0),
            TreeProgram::Shuffled => shuffled(&forest),
            TreeProgram::FewEach => grep(&forest, &mut |_, place| place < 3),
        };
        Self {
            forest,
            shared,
            operations: operations.into(),
            next: 0,
            steps: open_device(),
        }
    }

    fn begin(&mut self, operation: Operation) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (forest, steps) = (&self.forest, &mut self.steps);
        match operation {
            Operation::List(folder) => {
                shared.read(&[forest.inode_blocks(forest.folder_inode(folder))], steps);
                shared.read(&[forest.name_blocks(folder)], steps);
                shared.notes.push_back(TreeNote::List(folder));
            }
            Operation::Stat(file) => {
                shared.read(&[forest.inode_blocks(forest.file_inode(file))], steps);
            }
            Operation::Open(file, slot) => {
                shared.read(&[forest.inode_blocks(forest.file_inode(file))], steps);
                steps.push_back(Step::Open {
                    slot: OPEN_FILE + slot,
                    file: forest.number(file),
                });
                shared.notes.push_back(TreeNote::Open(file));
            }
            Operation::Read {
                file,
                slot,
                offset,
                length,
                is_wait,
            } => {
                // Calls for names wait for inodes and folders, but the library times them only behind one that has
                // waited.
                let waits = is_wait && !shared.requested.contains(&file);
                shared.waits += u32::from(waits);
                steps.push_back(Step::Read {
                    slot: OPEN_FILE + slot,
                    offset,
                    length,
                });
            }
            Operation::Close(slot) => steps.push_back(Step::Close {
                slot: OPEN_FILE + slot,
            }),
        }
    }
}

/// The device is a file that no program reads: nothing is read ahead there but what is said.
pub(super) fn open_device() -> Steps {
    VecDeque::from([
        Step::Open {
            slot: DEVICE,
            file: 0,
        },
        Step::Advise {
            slot: DEVICE,
            advice: ahead_units::Advice::Random,
        },
    ])
}

impl Program for Walker {
    fn step(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.steps.pop_front() {
                return Some(step);
            }
            let Some(operation) = self.operations.get(self.next).copied() else {
                let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
                shared.is_over = true;
                return None;
            };
            self.next += 1;
            self.begin(operation);
        }
    }

    fn fork(&self) -> Box<dyn Program> {
        Box::new(Self {
            forest: Arc::clone(&self.forest),
            shared: Arc::clone(&self.shared),
            operations: Arc::clone(&self.operations),
            next: self.next,
            steps: self.steps.clone(),
        })
    }
}

/// What a program does at a folder and at a file, as it goes into the depth in the order of listings: files and
/// folders of one folder are listed together by their hashes, but here a folder has only one kind.
fn into_the_depth(
    forest: &Forest,
    folder: usize,
    at_file: &mut dyn FnMut(usize, &mut Vec<Operation>),
    all: &mut Vec<Operation>,
) {
    all.push(Operation::List((0, folder)));
    let known = &forest.trees()[0].folders[folder];
    for file in &known.files {
        at_file(*file, all);
    }
    for below in &known.folders {
        into_the_depth(forest, *below, at_file, all);
    }
}

fn tar(forest: &Forest) -> Vec<Operation> {
    let mut all = Vec::new();
    // Headers of folders are in the archive too, in front of their files; their number moves the records.
    let mut archived = 0;
    let mut folder = usize::MAX;
    let mut at_file = |number: usize, all: &mut Vec<Operation>| {
        let file = (0, number);
        let known = &forest.trees()[0].files[number];
        if known.folder != folder {
            folder = known.folder;
            archived += HEADER_BYTES;
        }
        archived += HEADER_BYTES;
        all.extend([Operation::Stat(file), Operation::Open(file, 0)]);
        let mut records = Vec::new();
        let mut offset = 0;
        while offset < known.bytes {
            let space = RECORD_BYTES - archived % RECORD_BYTES;
            let length = space.min(known.bytes - offset);
            records.push((offset, length));
            offset += length;
            archived += length.next_multiple_of(HEADER_BYTES);
        }
        all.extend(reads(file, 0, records.into_iter()));
        all.push(Operation::Close(0));
    };
    into_the_depth(forest, 0, &mut at_file, &mut all);
    all
}

/// Of the files that `is_read`, by their number among all files as listed, and among those of their folder.
fn grep(forest: &Forest, is_read: &mut dyn FnMut(usize, usize) -> bool) -> Vec<Operation> {
    let mut all = Vec::new();
    let (mut came_to, mut folder, mut place) = (0, usize::MAX, 0);
    let mut at_file = |number: usize, all: &mut Vec<Operation>| {
        let known = &forest.trees()[0].files[number];
        if known.folder != folder {
            (folder, place) = (known.folder, 0);
        }
        if is_read(came_to, place) {
            all.extend(whole(forest, number));
        }
        (came_to, place) = (came_to + 1, place + 1);
    };
    into_the_depth(forest, 0, &mut at_file, &mut all);
    all
}

fn first_files(forest: &Forest, count: usize) -> Vec<Operation> {
    let mut all = grep(forest, &mut |number, _| number < count);
    let last = all.iter().rposition(|at| matches!(at, Operation::Close(_)));
    all.truncate(last.map_or(0, |last| last + 1));
    all
}

/// A file is opened, read and closed, by `grep`.
fn whole(forest: &Forest, number: usize) -> impl Iterator<Item = Operation> {
    let file = (0, number);
    let bytes = forest.trees()[0].files[number].bytes;
    let read = reads(file, 0, portions(bytes, GREP_BYTES));
    std::iter::once(Operation::Open(file, 0))
        .chain(read)
        .chain([Operation::Close(0)])
}

fn shuffled(forest: &Forest) -> Vec<Operation> {
    let mut all = Vec::new();
    into_the_depth(forest, 0, &mut |_, _| {}, &mut all);
    let mut files: Vec<u64> = (0..).take(forest.trees()[0].files.len()).collect();
    shuffle(4, &mut files);
    let files = files
        .into_iter()
        .filter_map(|file| usize::try_from(file).ok());
    all.extend(files.flat_map(|number| whole(forest, number)));
    all
}

fn reads(
    file: TreeFileId,
    slot: u32,
    reads: impl Iterator<Item = (u64, u64)>,
) -> impl Iterator<Item = Operation> {
    waiting(reads).map(move |(offset, length, is_wait)| Operation::Read {
        file,
        slot,
        offset,
        length,
        is_wait,
    })
}

/// A file of `bytes` bytes in reads of `length`, of which the last one may end behind it.
fn portions(bytes: u64, length: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..bytes.div_ceil(length)).map(move |number| (number * length, length))
}

/// Both trees have the same folders and files with the same numbers.
fn diff(forest: &Forest) -> Vec<Operation> {
    let mut all = Vec::new();
    diff_folder(forest, 0, &mut all);
    all
}

fn diff_folder(forest: &Forest, folder: usize, all: &mut Vec<Operation>) {
    let tree = &forest.trees()[0];
    let known = &tree.folders[folder];
    all.extend((0..2).map(|side| Operation::List((side, folder))));
    let mut files = known.files.clone();
    files.sort_by_key(|file| &tree.files[*file].name);
    for number in files {
        let sides = [(0, number), (1, number)];
        all.extend(sides.map(Operation::Stat));
        all.extend((0..2).map(|side| Operation::Open((usize::from(side == 1), number), side)));
        let bytes = tree.files[number].bytes;
        let [one, other] = sides;
        let each = |side, slot| reads(side, slot, portions(bytes, DIFF_BYTES));
        for (one, other) in each(one, 0).zip(each(other, 1)) {
            all.extend([one, other]);
        }
        all.extend([Operation::Close(0), Operation::Close(1)]);
    }
    let mut folders = known.folders.clone();
    folders.sort_by_key(|below| &tree.folders[*below].name);
    for below in folders {
        diff_folder(forest, below, all);
    }
}

#[cfg(test)]
mod tests {
    use super::super::ext4::Ext4;
    use super::*;
    use ahead_workload::tree::Tree;

    /// On a cold rotating disk tar's reads wait for windows of 32, 64 and 128 KiB, and grep's for 128 KiB.
    #[test]
    fn a_read_waits_that_comes_to_a_new_window() {
        let waits = |length: u64| -> Vec<u64> {
            let all = waiting(portions(400_000, length));
            all.filter_map(|(offset, _, waits)| waits.then_some(offset / PAGE_BYTES))
                .collect()
        };
        assert_eq!(waits(10_240), [0, 7, 22, 55, 87]);
        assert_eq!(waits(96 << 10), [0, 24, 48, 96]);
        assert_eq!(waits(4096), [0, 4, 12, 28, 60, 92]);
    }

    fn forest(trees: usize) -> Forest {
        let mut disk = Ext4::of_guest();
        let tree = Tree::find("small").unwrap().scaled(3);
        let write = |number: usize| disk.write(&tree, &number.to_string()).unwrap();
        let placed = (0..trees).map(write).collect();
        Forest::new(disk, placed)
    }

    #[test]
    fn every_byte_of_a_tree_is_read_once() {
        let forest = forest(2);
        let tree = &forest.trees()[0];
        let bytes: u64 = tree.files.iter().map(|file| file.bytes).sum();
        for (operations, trees) in [
            (tar(&forest), 1),
            (grep(&forest, &mut |_, _| true), 1),
            (diff(&forest), 2),
        ] {
            let (mut read, mut opened) = (0, Vec::new());
            for operation in operations {
                match operation {
                    Operation::Read {
                        file,
                        offset,
                        length,
                        ..
                    } => read += length.min(tree.files[file.1].bytes - offset),
                    Operation::Open(file, _) => opened.push(file),
                    _ => {}
                }
            }
            assert_eq!(read, trees * bytes);
            assert_eq!(u64::try_from(opened.len()).unwrap(), trees * 100);
            // Files are numbered by name here, and listed by hash.
            let is_by_name = opened.iter().map(|file| file.1).is_sorted();
            assert_eq!(is_by_name, trees == 2);
        }
    }
}
