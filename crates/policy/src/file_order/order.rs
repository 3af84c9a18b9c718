//! The words of file orders: in which order the files of a listing are visited, what of them is needed.

use core::cmp::Ordering;

/// How many orders there are.
pub const ORDERS: usize = 4;

/// An order in which a program visits the files of one listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingOrder {
    /// As the listing returned them: `tar`, `cp -r`, `grep -r`.
    Listed,
    /// Sorted by name, byte by byte: `diff -r`, a shell's `*`.
    Named,
    /// Sorted by inode.
    Inode,
    /// Sorted by name, numbers in it by their value: `frame_9.png` before `frame_10.png` ([`by_numbers`]).
    Numbered,
}

impl ListingOrder {
    /// All orders; where several fit equally well from the start, the first one is taken.
    pub const ALL: [Self; ORDERS] = [Self::Listed, Self::Named, Self::Inode, Self::Numbered];

    /// The place of this order in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Listed => 0,
            Self::Named => 1,
            Self::Inode => 2,
            Self::Numbered => 3,
        }
    }
}

/// Compares two names in [`ListingOrder::Numbered`]: each run of digits counts as one number, everything else byte
/// by byte. Names of equal numbers (`7`, `007`) are in byte order.
#[must_use]
pub fn by_numbers(one: &[u8], other: &[u8]) -> Ordering {
    let (mut left, mut right) = (one, other);
    while let (Some(first), Some(second)) = (left.first(), right.first()) {
        let order = if first.is_ascii_digit() && second.is_ascii_digit() {
            let (number, second_number);
            (number, left) = split_number(left);
            (second_number, right) = split_number(right);
            let lengths = number.len().cmp(&second_number.len());
            lengths.then_with(|| number.cmp(second_number))
        } else {
            (left, right) = (&left[1..], &right[1..]);
            first.cmp(second)
        };
        if order.is_ne() {
            return order;
        }
    }
    let lengths = left.len().cmp(&right.len());
    lengths.then_with(|| one.cmp(other))
}

/// The digits that a text begins with, without zeros before them, and what comes behind.
fn split_number(text: &[u8]) -> (&[u8], &[u8]) {
    let is_digit = |byte: &&u8| byte.is_ascii_digit();
    let (digits, rest) = text.split_at(text.iter().take_while(is_digit).count());
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    (&digits[zeros..], rest)
}

/// Where one file stands in its listing, in each order of [`ListingOrder::ALL`]. Only files count that
/// could be requested: folders, links and what else is listed have no rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRanks(pub [u32; ORDERS]);

impl FileRanks {
    /// The rank in one order.
    #[must_use]
    pub const fn of(self, order: ListingOrder) -> u32 {
        self.0[order.index()]
    }
}

/// How much of each file a program needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Needed {
    /// Its inode: `find -printf`, `du`.
    Metadata,
    /// Its first pages: `file`, a loader of headers.
    Head,
    /// All of it.
    #[default]
    Whole,
}

/// Files to request: the ranks `start` to `end` (exclusive) in `order`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileBatch {
    /// The order that the ranks count in.
    pub order: ListingOrder,
    /// First rank.
    pub start: u32,
    /// Rank after the last one.
    pub end: u32,
    /// What of each file.
    pub needed: Needed,
}
