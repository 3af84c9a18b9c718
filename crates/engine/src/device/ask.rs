//! What a device is told of a request.

use ahead_units::{PageCount, PageIndex, PageRange, Timestamp};

/// A request of a stream, as its device sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Any number that tells streams apart.
    pub asker: u64,
    /// The stream has not asked before.
    pub is_first: bool,
    /// How much.
    pub pages: PageCount,
    /// The range that is asked for; empty if it is several.
    pub place: PageRange,
    /// Where its reader is.
    pub at: PageIndex,
    /// What all streams have asked for and not read yet.
    pub unread: PageCount,
    /// Other processes use the device too.
    pub is_shared: bool,
    /// When.
    pub now: Timestamp,
}
