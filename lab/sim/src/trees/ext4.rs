//! Where ext4 puts a tree: inodes, blocks of folders, blocks of files, as Linux 6.12 places them on a disk that
//! `mkfs.ext4` has just made, when the tree is written at once and its files have been closed before their data goes
//! out.
//!
//! * Groups of 32768 blocks have 8192 inodes. Sixteen are one flexible group: its inode tables lie together at its
//!   beginning, behind its bitmaps.
//! * A folder in the top one goes to the flexible group that has more than the average of free inodes, so two of
//!   them to one each; all that is below it stays there. Inodes are given out one after another
//!   (`find_group_orlov`, `find_group_other`).
//! * Data begins in the second group of a flexible group, folders in the first (`ext4_inode_to_goal_block`).
//! * A file of up to 16 blocks takes them from a reserve of 512 that all such files share; the first reserve with
//!   enough of them counts (`ext4_mb_use_preallocated`).
//! * Any other request of a power of two, up to 32 MiB, takes an aligned block of the smallest order that is there (also each
//!   reserve does), and the rest take the smallest gap among the first eleven that are long enough.
//! * Some groups begin with a backup of the superblock and its descriptors, so that the first of their gaps begins at an odd place:
//!   six of sixteen files of 64 MiB lie so. A file that is longer than a group, and asked for whole, takes multiples of 2048
//!   blocks that are aligned to as many, but for its part of the first group.
//!
//! What is simple here: folders have one block each (some 100 names), and the blocks of a second tree follow those of
//! the first one, whose groups have the shorter gaps, also where its inodes lie elsewhere.

use ahead_units::PAGE_BYTES;
use ahead_workload::tree::Tree;

use super::name_hash::name_hash;

/// The seed of the guests' file systems, whose identity is a constant.
pub(super) const GUEST_SEED: [u32; 4] = [0x5A5A_5A5A, 0x5A4A_5A5A, 0x5A5A_5A8A, 0x5A5A_5A5A];

const GROUP_BLOCKS: u64 = 32_768;
const GROUP_INODES: u64 = 8192;
const FLEX_GROUPS: u64 = 16;
const INODES_PER_BLOCK: u64 = 16;
/// The first inode that a new file system gives out, behind `lost+found`.
const FIRST_INODE: u64 = 12;
/// Descriptors of groups in a block, and how many times as large the file system may become: so many blocks are kept free
/// for them behind the superblock, and behind each of its backups.
const DESCRIPTORS_PER_BLOCK: u64 = 64;
const GROWTH: u64 = 1024;
/// The top folder, `lost+found`, and a folder for the files.
const FOLDER_BLOCKS: u64 = 6;
/// Pieces of files that are longer than a group.
const PIECE_BLOCKS: u64 = 2048;
/// Files of more blocks are not taken from the common reserve (`s_mb_stream_request`).
const RESERVED_BLOCKS_MAX: u64 = 16;
/// Blocks of a reserve (`s_mb_group_prealloc`).
const RESERVE_BLOCKS: u64 = 512;
/// The largest order of free blocks that is kept.
const ORDER_MAX: u32 = 13;
/// Gaps that are looked at before the best of them is taken (`s_mb_min_to_scan`).
const GAPS_LOOKED_AT: usize = 11;
/// Blocks of inodes that are read with one that is wanted (`s_inode_readahead_blks`), in an aligned window.
const INODE_WINDOW: u64 = 32;

/// A folder on the disk.
#[derive(Clone, Debug)]
pub struct Ext4Folder {
    /// The folder that it lies in, among [`Ext4Tree::folders`]; the top folder lies in none.
    pub parent: Option<usize>,
    /// Its name.
    pub name: String,
    /// Its inode.
    pub inode: u64,
    /// The block of its names.
    pub block: u64,
    /// Folders in it, as it lists them.
    pub folders: Vec<usize>,
    /// Files in it, as it lists them.
    pub files: Vec<usize>,
}

/// A file on the disk, in one piece.
#[derive(Clone, Debug)]
pub struct Ext4File {
    /// The folder that it lies in.
    pub folder: usize,
    /// Its name.
    pub name: String,
    /// Its inode.
    pub inode: u64,
    /// Its length.
    pub bytes: u64,
    /// Its first block.
    pub block: u64,
}

/// A tree on the disk. The first folder is the top one.
#[derive(Clone, Debug, Default)]
pub struct Ext4Tree {
    /// Its folders.
    pub folders: Vec<Ext4Folder>,
    /// Its files.
    pub files: Vec<Ext4File>,
}

/// A file system with trees.
#[derive(Clone, Debug)]
pub struct Ext4 {
    groups: u64,
    /// Superblock, descriptors and what is kept free for more of them.
    head_blocks: u64,
    /// Free blocks of each group that has been used: start and length, ascending.
    free: Vec<Vec<(u64, u64)>>,
    /// What small files take their blocks from: the next free block, and the end.
    reserves: Vec<(u64, u64)>,
    /// The next inode of each flexible group.
    next_inode: [u64; 2],
    trees: usize,
}

impl Ext4 {
    /// An empty one on a disk of 4 GiB, as `mkfs.ext4` makes it: two flexible groups.
    #[must_use]
    pub fn of_guest() -> Self {
        Self::made(4 << 30)
    }

    /// An empty one on a disk of so many bytes; a last group that is not whole is left out.
    #[must_use]
    pub fn made(bytes: u64) -> Self {
        let groups = (bytes / PAGE_BYTES / GROUP_BLOCKS).max(1);
        let mut made = Self {
            groups,
            head_blocks: 1 + groups * GROWTH / DESCRIPTORS_PER_BLOCK,
            free: Vec::new(),
            reserves: Vec::new(),
            next_inode: [FIRST_INODE, FLEX_GROUPS * GROUP_INODES + 1],
            trees: 0,
        };
        let free = (0..groups).map(|group| {
            let tables = FLEX_GROUPS * GROUP_INODES / INODES_PER_BLOCK;
            let start = match group % FLEX_GROUPS {
                0 if group == 0 => made.table_start(group) + tables + FOLDER_BLOCKS,
                0 => made.table_start(group) + tables,
                _ if has_backup(group) => group * GROUP_BLOCKS + made.head_blocks,
                _ => group * GROUP_BLOCKS,
            };
            vec![(start, (group + 1) * GROUP_BLOCKS - start)]
        });
        made.free = free.collect();
        made
    }

    /// Pieces of a file of so many bytes that is asked for whole before it is written (`fallocate`): the first block of each, and
    /// how many. `None`: there is no place for it.
    pub fn place_whole(&mut self, bytes: u64) -> Option<Vec<(u64, u64)>> {
        let blocks = bytes.div_ceil(PAGE_BYTES);
        if blocks < GROUP_BLOCKS {
            return Some(vec![(self.take(0, blocks)?, blocks)]);
        }
        let mut pieces = Vec::new();
        let mut left = blocks;
        for (group, free) in (0_u64..).zip(&mut self.free) {
            let Some((gap, length)) = free.last().copied() else {
                continue;
            };
            let start = if group == 0 {
                gap
            } else {
                gap.next_multiple_of(PIECE_BLOCKS)
            };
            let whole = (gap + length).saturating_sub(start) / PIECE_BLOCKS * PIECE_BLOCKS;
            let taken = whole.min(left);
            if taken > 0 {
                remove(free, start, taken);
                pieces.push((start, taken));
                left -= taken;
            }
            if left == 0 {
                return Some(pieces);
            }
        }
        None
    }

    /// Bytes of the disk.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.groups * GROUP_BLOCKS * PAGE_BYTES
    }

    /// Writes a tree: all folders, then all files in their order. `None`: the file system is full.
    pub fn write(&mut self, tree: &Tree, name: &str) -> Option<Ext4Tree> {
        // Of two the one that has nothing yet has more free inodes, and the first has `lost+found`.
        let flex = usize::from(self.trees.is_multiple_of(2));
        self.trees += 1;
        let mut placed = Ext4Tree::default();
        let mut inode = || {
            let inode = self.next_inode[flex];
            self.next_inode[flex] += 1;
            inode
        };
        let top = (None, name.to_owned());
        let below = tree.folders().into_iter().map(|folder| {
            let parent = folder.parent.map_or(0, |parent| parent + 1);
            (Some(parent), folder.name)
        });
        for (parent, name) in std::iter::once(top).chain(below) {
            placed.folders.push(Ext4Folder {
                parent,
                name,
                inode: inode(),
                block: 0,
                folders: Vec::new(),
                files: Vec::new(),
            });
        }
        for file in tree.files() {
            placed.files.push(Ext4File {
                folder: file.folder + 1,
                name: file.name,
                inode: inode(),
                bytes: file.bytes,
                block: 0,
            });
        }
        // The second tree's folders, too, take the gaps that the first one's data has left.
        let goal = FLEX_GROUPS + u64::from(flex == 0);
        for folder in &mut placed.folders {
            folder.block = self.take(goal, 1)?;
        }
        for file in &mut placed.files {
            file.block = self.file_blocks(file.bytes.div_ceil(PAGE_BYTES))?;
        }
        placed.list();
        Some(placed)
    }

    fn file_blocks(&mut self, blocks: u64) -> Option<u64> {
        let goal = FLEX_GROUPS + 1;
        if blocks > RESERVED_BLOCKS_MAX {
            return self.take(goal, blocks);
        }
        let fits = |(next, end): &&mut (u64, u64)| end - *next >= blocks;
        if let Some((next, _)) = self.reserves.iter_mut().find(fits) {
            let start = *next;
            *next += blocks;
            return Some(start);
        }
        let start = self.take(goal, RESERVE_BLOCKS)?;
        self.reserves.push((start + blocks, start + RESERVE_BLOCKS));
        self.reserves.sort_unstable();
        Some(start)
    }

    /// Blocks one after another, in group `goal` or one behind it, and then from the first one on.
    fn take(&mut self, goal: u64, blocks: u64) -> Option<u64> {
        for group in (goal..self.groups).chain(0..goal) {
            let free = self.free.get_mut(usize::try_from(group).ok()?)?;
            let start = if blocks > 1 && blocks.is_power_of_two() && blocks <= 1 << ORDER_MAX {
                aligned(free, blocks)
            } else {
                best_gap(free, blocks)
            };
            if let Some(start) = start {
                remove(free, start, blocks);
                return Some(start);
            }
        }
        None
    }

    /// The block of the inode tables that `inode` lies in.
    #[must_use]
    pub fn inode_block(&self, inode: u64) -> u64 {
        let (group, inside) = ((inode - 1) / GROUP_INODES, (inode - 1) % GROUP_INODES);
        self.table_block(group) + inside / INODES_PER_BLOCK
    }

    /// The blocks that are read where that one is wanted: start and number (`__ext4_get_inode_loc`).
    #[must_use]
    pub fn inode_window(&self, inode: u64) -> (u64, u64) {
        let block = self.inode_block(inode);
        let group = (inode - 1) / GROUP_INODES;
        let table = self.table_block(group);
        let flex = usize::from(group >= FLEX_GROUPS);
        let used = (self.next_inode[flex] - 1).saturating_sub(group * GROUP_INODES);
        let start = (block / INODE_WINDOW * INODE_WINDOW).max(table);
        let used_end = table + used.min(GROUP_INODES) / INODES_PER_BLOCK;
        // The block behind the window is read as well.
        let end = (start + INODE_WINDOW).min(used_end).max(block);
        (start, end + 1 - start)
    }

    /// The inode tables of the flexible group that begins with `group`.
    fn table_start(&self, group: u64) -> u64 {
        let head = if group == 0 { self.head_blocks } else { 0 };
        group * GROUP_BLOCKS + head + 2 * FLEX_GROUPS
    }

    /// The inode table of `group`.
    fn table_block(&self, group: u64) -> u64 {
        let first = group / FLEX_GROUPS * FLEX_GROUPS;
        self.table_start(first) + (group - first) * GROUP_INODES / INODES_PER_BLOCK
    }
}

/// Whether a group begins with a backup of the superblock: the second one does, and powers of 3, 5 and 7 (`sparse_super`).
fn has_backup(group: u64) -> bool {
    let is_power = |base: u64| {
        let mut powers = std::iter::successors(Some(base), |power| power.checked_mul(base));
        powers.find(|power| *power >= group) == Some(group)
    };
    group == 1 || [3, 5, 7].into_iter().any(is_power)
}

/// The smallest gap of the first ones that are long enough.
fn best_gap(free: &[(u64, u64)], blocks: u64) -> Option<u64> {
    let enough = free.iter().filter(|(_, length)| *length >= blocks);
    let best = enough
        .take(GAPS_LOOKED_AT)
        .min_by_key(|(_, length)| *length);
    best.map(|(start, _)| *start)
}

/// The first aligned piece of the smallest order that holds `blocks`, a power of two.
fn aligned(free: &[(u64, u64)], blocks: u64) -> Option<u64> {
    let mut best: Option<(u32, u64)> = None;
    for &(start, length) in free {
        let (mut at, end) = (start, start + length);
        while at < end {
            // Groups begin at multiples of the largest order.
            let order = at.trailing_zeros().min((end - at).ilog2()).min(ORDER_MAX);
            if 1 << order >= blocks && best.is_none_or(|(least, _)| order < least) {
                best = Some((order, at));
            }
            at += 1 << order;
        }
    }
    best.map(|(_, start)| start)
}

fn remove(free: &mut Vec<(u64, u64)>, start: u64, blocks: u64) {
    let Some(at) = free.iter().rposition(|(gap, _)| *gap <= start) else {
        return;
    };
    let (gap, length) = free.remove(at);
    let behind = (start + blocks, gap + length - (start + blocks));
    let before = (gap, start - gap);
    for piece in [behind, before] {
        if piece.1 > 0 {
            free.insert(at, piece);
        }
    }
}

impl Ext4Tree {
    /// Fills in what each folder lists.
    fn list(&mut self) {
        let hash = |name: &str| name_hash(name.as_bytes(), GUEST_SEED);
        let mut folders: Vec<usize> = (0..self.folders.len()).collect();
        folders.sort_by_key(|folder| hash(&self.folders[*folder].name));
        for folder in folders {
            if let Some(parent) = self.folders[folder].parent {
                self.folders[parent].folders.push(folder);
            }
        }
        let mut files: Vec<usize> = (0..self.files.len()).collect();
        files.sort_by_key(|file| hash(&self.files[*file].name));
        for file in files {
            self.folders[self.files[file].folder].files.push(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What FIEMAP said in a guest of Linux 6.12 of the first files of the tree `small`: its number and its first
    /// block.
    #[test]
    fn a_tree_lies_where_the_kernel_puts_it() {
        let mut disk = Ext4::of_guest();
        let tree = Tree::find("small").unwrap();
        let placed = disk.write(&tree, "small").unwrap();
        let top = &placed.folders[0];
        assert_eq!((top.inode, top.block), (131_073, 532_512));
        assert_eq!(placed.files[0].inode, 131_314);
        for (number, block) in [
            (0, 557_056),
            (1, 557_568),
            (2, 557_062),
            (59, 557_352),
            (83, 557_488),
            (106, 558_592),
            (254, 560_640),
            (257, 559_102),
            (441, 562_155),
            (521, 563_424),
        ] {
            assert_eq!(placed.files[number].block, block, "{number}");
        }
        // From here on other gaps are taken now and then: all files of the kernel lie within some megabytes of these.
        for (number, block) in [(3707, 603_526), (3742, 603_627), (3751, 604_506)] {
            let block_here = placed.files[number].block;
            assert!(block_here.abs_diff(block) < 1000, "{number}: {block_here}");
        }
        let last: Vec<_> = placed.folders.iter().map(|folder| folder.block).collect();
        assert!(last.is_sorted() && last[240] == 532_752);
    }

    #[test]
    fn a_second_tree_has_its_inodes_in_the_other_half_of_the_disk() {
        let mut disk = Ext4::of_guest();
        let tree = Tree::find("small").unwrap();
        disk.write(&tree, "small").unwrap();
        let copy = disk.write(&tree, "copy").unwrap();
        assert_eq!(copy.folders[0].inode, 12);
        assert_eq!(copy.files[0].inode, 253);
        // The data begins where the first one's ends; in the kernel's, file 3 at 589 752 takes the last gap of group 17.
        assert_eq!(copy.files[0].block / GROUP_BLOCKS, 18);
        assert_eq!(copy.files[6].block.abs_diff(607_653) / 1000, 0);
    }

    /// What FIEMAP said in a guest of Linux 6.12 of files that were made one after another by `fallocate`.
    #[test]
    fn large_files_lie_where_the_kernel_puts_them() {
        let places = |gib: u64, bytes: u64, count: usize| -> Vec<Vec<(u64, u64)>> {
            let mut disk = Ext4::made(gib << 30);
            (0..count)
                .map(|_| disk.place_whole(bytes).unwrap())
                .collect()
        };
        let starts = |gib, bytes, count| -> Vec<u64> {
            places(gib, bytes, count)
                .into_iter()
                .map(|pieces| pieces[0].0)
                .collect()
        };
        assert_eq!(
            starts(3, 44_736_512, 8),
            [8615, 19_537, 33_153, 44_075, 65_536, 76_458, 87_380, 98_689]
        );
        assert_eq!(
            starts(3, 53_690_368, 6),
            [8615, 33_153, 46_261, 65_536, 78_644, 98_689]
        );
        assert_eq!(starts(3, 89_477_120, 4), [8615, 33_153, 65_536, 98_689]);
        assert_eq!(starts(3, 107_372_544, 3), [33_153, 65_536, 98_689]);
        assert_eq!(
            starts(3, 64 << 20, 5),
            [8615, 33_153, 65_536, 81_920, 98_689]
        );
        assert_eq!(
            places(3, 128 << 20, 4),
            [
                vec![(8615, 22_528), (34_816, 10_240)],
                vec![(45_056, 20_480), (65_536, 12_288)],
                vec![(77_824, 20_480), (100_352, 12_288)],
                vec![(112_640, 18_432), (131_072, 14_336)],
            ]
        );
    }

    #[test]
    fn a_disk_that_is_full_to_its_end_goes_on_at_its_beginning_until_nothing_is_left() {
        let mut disk = Ext4::of_guest();
        let tree = Tree::find("large").unwrap();
        let mut write = |name| {
            disk.write(&tree, name)
                .map(|placed| placed.files[499].block)
        };
        let first_three = [write("1"), write("2"), write("3")].map(Option::unwrap);
        assert!(first_three[0] < first_three[1] && first_three[2] < first_three[0]);
        let _ = write("4");
        assert_eq!(write("5"), None);
    }

    #[test]
    fn inodes_are_read_in_aligned_windows_as_far_as_they_are_used() {
        let mut disk = Ext4::of_guest();
        disk.write(&Tree::find("small").unwrap(), "small").unwrap();
        assert_eq!(disk.inode_block(131_073), 524_320);
        assert_eq!(disk.inode_window(131_073), (524_320, 33));
        // 4241 inodes are in 265 blocks and a part of one.
        assert_eq!(disk.inode_window(131_073 + 4240), (524_576, 10));
    }
}
