//! What adaptive read-ahead does, for whoever wants to count it.
//!
//! The patch has a debug tree with a file `events`: two tables, requests and pages, by event and by
//! the method that made the chunk. Here the code reports to an [`AraObserver`]; `()` hears nothing and costs
//! nothing, [`Events`] is that table. What the summary lines derive from it are methods.

use super::chunks::Method;

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AraEvent {
    /// A page other than the first was absent; pages: of the request.
    CacheMiss,
    /// A read taken as random; pages: of the request.
    RandomRead,
    /// A mark ignored because the device is congested; pages: of the request.
    IoCongestion,
    /// Pages of a chunk that were cached already.
    IoCacheHit,
    /// A reader met a page whose I/O is still under way.
    IoBlock,
    /// A chunk was submitted; pages: those really read.
    ReadAhead,
    /// A page of a chunk was used for the first time.
    ReadAheadHit,
    /// A chunk with a mark was submitted; pages: those behind the mark.
    LookAhead,
    /// The mark of the newest chunk was reached; pages: those behind it.
    LookAheadHit,
    /// A mark led to nothing; pages: of the request.
    LookAheadIgnore,
    /// A chunk for a mapped file; pages: those really read.
    ReadAheadMmap,
    /// A chunk that ends at the end of the file; pages: those really read.
    ReadAheadEof,
    /// All of the reader's share was still ahead of it, so nothing was read; pages: those ahead.
    ReadAheadShrink,
    /// Pages of a chunk were evicted before use; pages: of what was left of the chunk.
    ReadAheadThrash,
    /// The same where the page before survived: reclaim did not take the oldest first.
    ReadAheadMutilt,
    /// Pages ahead of the reader were saved from reclaim.
    ReadAheadRescue,
}

/// How many events there are.
pub const EVENTS: usize = AraEvent::ReadAheadRescue as usize + 1;

/// How many methods there are, none included.
pub const METHODS: usize = Method::Seek as usize + 1;

/// Hears what happens.
pub trait AraObserver {
    /// Whether anybody listens. Where hits steer nothing, they are looked for only then.
    const LISTENS: bool = true;

    /// `event` happened to a chunk of `method`, and concerns `pages` pages.
    fn on_event(&mut self, event: AraEvent, method: Method, pages: u64);
}

impl AraObserver for () {
    const LISTENS: bool = false;

    fn on_event(&mut self, _event: AraEvent, _method: Method, _pages: u64) {}
}

/// The patch's two tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    requests: [[u64; METHODS]; EVENTS],
    pages: [[u64; METHODS]; EVENTS],
}

impl AraObserver for Events {
    fn on_event(&mut self, event: AraEvent, method: Method, pages: u64) {
        self.requests[event as usize][method as usize] += 1;
        self.pages[event as usize][method as usize] += pages;
    }
}

impl Events {
    /// How often `event` happened to chunks of `method`.
    #[must_use]
    pub const fn requests(&self, event: AraEvent, method: Method) -> u64 {
        self.requests[event as usize][method as usize]
    }

    /// How many pages `event` concerned, in chunks of `method`.
    #[must_use]
    pub const fn pages(&self, event: AraEvent, method: Method) -> u64 {
        self.pages[event as usize][method as usize]
    }

    /// How often `event` happened: the column `total`.
    #[must_use]
    pub fn requests_total(&self, event: AraEvent) -> u64 {
        self.requests[event as usize].iter().sum()
    }

    /// How many pages `event` concerned: the column `total`.
    #[must_use]
    pub fn pages_total(&self, event: AraEvent) -> u64 {
        self.pages[event as usize].iter().sum()
    }

    /// Random reads per hundred of all reads.
    #[must_use]
    pub fn random_rate(&self) -> u64 {
        let random = self.requests_total(AraEvent::RandomRead);
        rate(random, random + self.requests_total(AraEvent::ReadAhead))
    }

    /// Pages used per hundred read ahead.
    #[must_use]
    pub fn read_ahead_hit_rate(&self) -> u64 {
        let hits = self.pages_total(AraEvent::ReadAheadHit);
        rate(hits, self.pages_total(AraEvent::ReadAhead))
    }

    /// Marks reached per hundred set.
    #[must_use]
    pub fn look_ahead_hit_rate(&self) -> u64 {
        let hits = self.requests_total(AraEvent::LookAheadHit);
        rate(hits, self.requests_total(AraEvent::LookAhead))
    }
}

/// `part` per hundred of `whole`, as the patch prints it: a divisor of 0 becomes 1, and so does
/// every even divisor become odd.
fn rate(part: u64, whole: u64) -> u64 {
    let whole = whole | 1;
    (part * 100 + whole / 2) / whole
}
