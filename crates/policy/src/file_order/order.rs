//! The words of file orders: in which order the files of a listing are visited, what of them is needed.

/// An order in which a program visits the files of one listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingOrder {
    /// As the listing returned them: `tar`, `cp -r`, `grep -r`.
    Listed,
    /// Sorted by name, byte by byte: `diff -r`, a shell's `*`.
    Named,
    /// Sorted by inode.
    Inode,
}

impl ListingOrder {
    /// All orders; where several fit equally well, the first one is taken.
    pub const ALL: [Self; 3] = [Self::Listed, Self::Named, Self::Inode];

    /// The place of this order in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Listed => 0,
            Self::Named => 1,
            Self::Inode => 2,
        }
    }
}

/// Where one file stands in its listing, in each order of [`ListingOrder::ALL`]. Only files count that
/// could be requested: folders, links and what else is listed have no rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRanks(pub [u32; 3]);

impl FileRanks {
    /// The rank in one order.
    #[must_use]
    pub const fn of(self, order: ListingOrder) -> u32 {
        let [listed, named, inode] = self.0;
        match order {
            ListingOrder::Listed => listed,
            ListingOrder::Named => named,
            ListingOrder::Inode => inode,
        }
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
