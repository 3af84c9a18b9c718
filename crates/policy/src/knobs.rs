//! The knobs of read-ahead, with the meaning they were given in 2005.

use ahead_units::PageCount;

/// `readahead_hit_rate` at which nothing may be brought that may not be read.
pub const HIT_RATE_OF_NONE: u32 = 1;

/// `readahead_ratio` up to which nothing is asked for (0), or all is left to the kernel (1).
pub const RATIO_OF_KERNEL: u32 = 1;

/// Limits that come from outside and hold for every file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// 0: nothing is read ahead. 1: the kernel's own logic. 2 and more: a window is this
    /// percentage of the thrashing threshold (the pages a reader can leave unread before reclaim
    /// takes them back).
    pub readahead_ratio: u32,
    /// Prefetched pages allowed per accessed page over a sliding history, at least 1.
    pub readahead_hit_rate: u32,
    /// Largest single request for one stream.
    pub request_pages_max: PageCount,
}

impl Default for Knobs {
    /// Ratio 50 as the adaptive read-ahead of 2006 shipped it, requests of 8 MiB. A hit rate of 2: one
    /// page in vain for each that is read. At 1, as in 2006, a reader that leaves out one page in ten
    /// gets nothing: the kernel reads its holes anyway when it ascends, and pays an access for every
    /// page when it descends. 3 gains nothing more over generated workloads.
    fn default() -> Self {
        Self {
            readahead_ratio: 50,
            readahead_hit_rate: 2,
            request_pages_max: PageCount::new(2048),
        }
    }
}
