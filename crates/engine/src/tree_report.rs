//! What was done for programs that go through folders: totals of a run, as words of the account.

use ahead_policy::file_order::order::ORDERS;

/// Words in the account.
pub const WORDS: usize = 6;

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
            orders: [0, 1, 2, 3].map(|order| at(word::ORDERS) >> order & 1 == 1),
        }
    }

    /// The orders that were recognised, in words.
    pub fn order_names(&self) -> impl Iterator<Item = &'static str> {
        let names = ["as listed", "by name", "by inode", "by number"];
        names
            .into_iter()
            .zip(self.orders)
            .filter_map(|(name, is_seen)| is_seen.then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_back_and_missing_words_are_nothing() {
        let report = TreeReport::from_words(&[3, 40, 50_000, 39, 1, 0b1101]);
        assert_eq!((report.folders, report.files, report.used), (3, 40, 39));
        assert_eq!((report.bytes, report.wasted), (50_000, 1));
        let names: Vec<_> = report.order_names().collect();
        assert_eq!(names, ["as listed", "by inode", "by number"]);
        assert_eq!(TreeReport::from_words(&[]), TreeReport::default());
    }
}
