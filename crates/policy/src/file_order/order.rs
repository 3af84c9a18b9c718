//! The words of file orders: in which order the files of a listing are visited, what of them is needed.

use core::cmp::Ordering;

/// How many orders there are.
pub const ORDERS: usize = 2 * FORWARD_ORDERS;

/// How many of them are no opposite of another one.
pub const FORWARD_ORDERS: usize = 4;

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
    /// The opposite of [`Self::Listed`].
    ListedBackward,
    /// The opposite of [`Self::Named`]: `ls -r`, the newest of dated names first.
    NamedBackward,
    /// The opposite of [`Self::Inode`].
    InodeBackward,
    /// The opposite of [`Self::Numbered`].
    NumberedBackward,
}

impl ListingOrder {
    /// All orders; where several fit equally well from the start, the first one is taken. The opposites come last, in
    /// the order of what they are the opposites of.
    pub const ALL: [Self; ORDERS] = [
        Self::Listed,
        Self::Named,
        Self::Inode,
        Self::Numbered,
        Self::ListedBackward,
        Self::NamedBackward,
        Self::InodeBackward,
        Self::NumberedBackward,
    ];

    /// The orders that are no opposites: whoever sorts needs these alone.
    pub const FORWARD: [Self; FORWARD_ORDERS] =
        [Self::Listed, Self::Named, Self::Inode, Self::Numbered];

    /// The place of this order in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The order itself, or what it is the opposite of.
    #[must_use]
    pub const fn forward(self) -> Self {
        Self::FORWARD[self.index() % FORWARD_ORDERS]
    }

    /// Of the file that has `rank` among `files` in this order: its rank in [`Self::forward`]. And the other way round.
    #[must_use]
    pub const fn forward_rank(self, rank: u32, files: u32) -> u32 {
        if self.index() < FORWARD_ORDERS {
            rank
        } else {
            files.saturating_sub(1).saturating_sub(rank)
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
    /// Those of a file among `files`, by its ranks in [`ListingOrder::FORWARD`].
    #[must_use]
    pub fn of_forward(ranks: [u32; FORWARD_ORDERS], files: u32) -> Self {
        Self(ListingOrder::ALL.map(|order| {
            let rank = ranks[order.forward().index()];
            order.forward_rank(rank, files)
        }))
    }

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

/// Files to request: of the ranks `start` to `end` (exclusive) in `order` every `step`th, the first one among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileBatch {
    /// The order that the ranks count in.
    pub order: ListingOrder,
    /// First rank.
    pub start: u32,
    /// Rank after the last one.
    pub end: u32,
    /// 1: all of them.
    pub step: u32,
    /// What of each file.
    pub needed: Needed,
}

impl FileBatch {
    /// The ranks.
    pub fn ranks(self) -> impl Iterator<Item = u32> + Clone {
        (self.start..self.end).step_by(usize::try_from(self.step).unwrap_or(usize::MAX))
    }

    /// How many files it has.
    #[must_use]
    pub const fn files(self) -> u32 {
        self.end.saturating_sub(self.start).div_ceil(self.step)
    }

    /// The end of a batch of its first `files` files.
    #[must_use]
    pub const fn end_of(self, files: u32) -> u32 {
        let behind = self.start.saturating_add(files.saturating_mul(self.step));
        // Behind the last of them, so that the next one is a step away.
        (behind + 1).saturating_sub(self.step)
    }
}
