//! What was done for programs that go through folders: totals of a run and single batches, as words of the account.

use std::fmt;

use ahead_policy::file_order::order::{ListingOrder, Needed, ORDERS};

/// Words in the account.
pub const WORDS: usize = 7;

/// Word numbers among them.
pub mod word {
    /// Folders that were listed ahead of the program.
    pub const FOLDERS: usize = 0;
    /// Files that were requested before the program opened them.
    pub const FILES: usize = 1;
    /// Bytes of these.
    pub const BYTES: usize = 2;
    /// Files of these that it visited later.
    pub const USED: usize = 3;
    /// Files of these that were given up.
    pub const WASTED: usize = 4;
    /// A bit for each order of `ListingOrder::ALL` that was recognised.
    pub const ORDERS: usize = 5;
    /// Nanoseconds in which the helpers waited for the disk until they had names and inodes.
    pub const WAITED_NS: usize = 6;
}

/// Files that were asked for before a program opened them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// Folders that were listed ahead.
    pub folders: u64,
    /// Files that were requested.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Files of these that were visited later.
    pub used: u64,
    /// Files of these that were given up. What is neither was still to come at the end.
    pub wasted: u64,
    /// Orders that were recognised, in the order of `ListingOrder::ALL`.
    pub orders: [bool; ORDERS],
    /// How long helpers waited until they had names and inodes, in nanoseconds: so much at the least programs waited
    /// less, as far as it was used.
    pub waited_ns: u64,
}

impl TreeReport {
    /// Reads [`WORDS`] words; missing ones are 0.
    #[must_use]
    pub fn from_words(words: &[u64]) -> Self {
        let at = |word: usize| words.get(word).copied().unwrap_or(0);
        Self {
            folders: at(word::FOLDERS),
            files: at(word::FILES),
            bytes: at(word::BYTES),
            used: at(word::USED),
            wasted: at(word::WASTED),
            waited_ns: at(word::WAITED_NS),
            orders: ListingOrder::ALL.map(|order| at(word::ORDERS) >> order.index() & 1 == 1),
        }
    }

    /// The orders that were recognised, in words.
    pub fn order_names(&self) -> impl Iterator<Item = &'static str> {
        let orders = ListingOrder::ALL.into_iter().zip(self.orders);
        orders.filter_map(|(order, is_seen)| is_seen.then_some(order_name(order)))
    }
}

const fn order_name(order: ListingOrder) -> &'static str {
    match order {
        ListingOrder::Listed => "as listed",
        ListingOrder::Named => "by name",
        ListingOrder::Inode => "by inode",
        ListingOrder::Numbered => "by number",
        ListingOrder::ListedBackward => "backward as listed",
        ListingOrder::NamedBackward => "backward by name",
        ListingOrder::InodeBackward => "backward by inode",
        ListingOrder::NumberedBackward => "backward by number",
    }
}

/// One batch of files that were requested ahead, for `--explain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesAhead {
    /// The order that is followed.
    pub order: ListingOrder,
    /// What of each file.
    pub needed: Needed,
    /// Files of the batch.
    pub files: u64,
    /// Folders that they lie in.
    pub folders: u64,
    /// Bytes requested; inodes count nothing.
    pub bytes: u64,
}

impl FilesAhead {
    /// As words of a decision's record, from [`event::START`](crate::report::event::START) on: files, folders, bytes,
    /// nothing, order and need.
    #[must_use]
    pub fn words(&self) -> [u64; 5] {
        let what = self.order.index() | (self.needed as usize) << 8;
        [self.files, self.folders, self.bytes, 0, what as u64]
    }

    /// Reads what [`Self::words`] wrote; codes of a later version read as the first of their kind.
    #[must_use]
    pub fn from_words(words: [u64; 5]) -> Self {
        let [files, folders, bytes, _, what] = words;
        let order = usize::try_from(what & 0xff).ok();
        let order = order.and_then(|order| ListingOrder::ALL.get(order).copied());
        let needed = [Needed::Metadata, Needed::Head, Needed::Whole];
        let is_needed = |one: &Needed| *one as u64 == what >> 8 & 0xff;
        Self {
            order: order.unwrap_or(ListingOrder::Listed),
            needed: needed.into_iter().find(is_needed).unwrap_or_default(),
            files,
            folders,
            bytes,
        }
    }
}

impl fmt::Display for FilesAhead {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let needed = match self.needed {
            Needed::Metadata => "the inodes of ",
            Needed::Head => "the beginnings of ",
            Needed::Whole => "",
        };
        let (files, folders, kib) = (self.files, self.folders, self.bytes >> 10);
        write!(
            formatter,
            "{needed}{files} file{} in {folders} folder{}, {kib} KiB ({})",
            plural(files),
            plural(folders),
            order_name(self.order)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_back_and_missing_words_are_nothing() {
        let report = TreeReport::from_words(&[3, 40, 50_000, 39, 1, 0b10_1101, 9]);
        assert_eq!(report.waited_ns, 9);
        assert_eq!((report.folders, report.files, report.used), (3, 40, 39));
        assert_eq!((report.bytes, report.wasted), (50_000, 1));
        let names: Vec<_> = report.order_names().collect();
        let expected = ["as listed", "by inode", "by number", "backward by name"];
        assert_eq!(names, expected);
        assert_eq!(TreeReport::from_words(&[]), TreeReport::default());
    }

    #[test]
    fn a_batch_is_read_back_and_said_in_words() {
        let batch = FilesAhead {
            order: ListingOrder::Inode,
            needed: Needed::Metadata,
            files: 40,
            folders: 1,
            bytes: 0,
        };
        for needed in [Needed::Metadata, Needed::Head, Needed::Whole] {
            let batch = FilesAhead { needed, ..batch };
            assert_eq!(FilesAhead::from_words(batch.words()), batch);
        }
        let said = "the inodes of 40 files in 1 folder, 0 KiB (by inode)";
        assert_eq!(batch.to_string(), said);
        let unknown = FilesAhead::from_words([1, 1, 1, 1, u64::MAX]);
        assert_eq!(unknown.order, ListingOrder::Listed);
        assert_eq!(unknown.needed, Needed::Whole);
    }
}
