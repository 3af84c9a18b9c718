//! What an open file remembers: its two newest chunks of read-ahead, and who hit them.
//!
//! Pure arithmetic over page numbers; which chunk comes next is decided by the methods.
//!
//! ```text
//!        |<- old chunk ->|<------- newest chunk ------->|
//!        |               |                    |<- la -->|
//!  ------#---------------#====================#=========|-----
//!        ^la_index       ^ra_index            ^mark     ^end
//!        |<----------- interval ------------->|
//! ```
//!
//! `la_index` is where the mark stood that triggered the newest chunk; after a method that starts
//! afresh the old chunk is empty. The counters are 16 bits wide and wrap, as in the kernel.

/// Which method made a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Method {
    /// None: a fresh file.
    #[default]
    None,
    /// Page 0.
    Initial,
    /// The mark of the newest chunk was reached.
    State,
    /// The cache below the page shows a reader.
    Context,
    /// The same, and its pages reach down to the start of the file.
    ContextAll,
    /// The reader goes backwards.
    Backward,
    /// Pages were evicted before they were read.
    Thrash,
    /// Bursts at random places.
    Seek,
}

/// The two newest chunks. All zero at open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chunks {
    /// Where the mark stood that triggered the newest chunk.
    pub(super) la_index: u64,
    /// First page of the newest chunk.
    pub(super) ra_index: u64,
    /// The newest chunk's mark; its end when it has none.
    pub(super) mark: u64,
    /// First page behind the newest chunk.
    pub(super) end: u64,
    /// Who made the newest chunk.
    pub(super) method: Method,
    /// Who made the old chunk.
    pub(super) method_old: Method,
    /// First uses since the newest chunk.
    pub(super) hits: u16,
    /// First uses in this run, before the newest chunk.
    pub(super) hits_run: u16,
    /// The same of the run before.
    pub(super) hits_last: u16,
    /// The same of the run before that.
    pub(super) hits_second_last: u16,
}

impl Chunks {
    /// Pages of the newest chunk.
    pub(super) const fn size(&self) -> u64 {
        self.end.wrapping_sub(self.ra_index)
    }

    /// Pages behind the mark.
    pub(super) const fn look_ahead(&self) -> u64 {
        self.end.wrapping_sub(self.mark)
    }

    /// Pages from trigger to trigger: what the reader consumes per chunk.
    pub(super) const fn interval(&self) -> u64 {
        self.mark.wrapping_sub(self.la_index)
    }

    /// Whether `page` lies in one of the two chunks.
    pub(super) const fn has(&self, page: u64) -> bool {
        self.la_index <= page && page < self.end
    }

    /// Who brought `page`, one of [ours](Self::has).
    pub(super) const fn method_of(&self, page: u64) -> Method {
        if page >= self.ra_index {
            self.method
        } else {
            self.method_old
        }
    }

    /// A page of ours was used for the first time.
    pub(super) const fn on_hit(&mut self) {
        self.hits = self.hits.wrapping_add(1);
    }

    /// `method` takes over. Only [`Method::State`] continues the run that the counters count.
    pub(super) fn begin(&mut self, method: Method) {
        self.method_old = self.method;
        self.method = method;
        self.hits_run = self.hits_run.wrapping_add(self.hits);
        self.hits = 0;
        if method != Method::State {
            self.hits_second_last = self.hits_last;
            self.hits_last = self.hits_run;
            self.hits_run = 0;
        }
    }

    /// The newest chunk is `size` pages from `start`, the last `look_ahead` of them behind the
    /// mark; it was triggered at `trigger`. Wraps where the kernel's unsigned long does.
    pub(super) const fn place(&mut self, trigger: u64, start: u64, size: u64, look_ahead: u64) {
        self.la_index = trigger;
        self.ra_index = start;
        self.end = start.wrapping_add(size);
        self.mark = self.end.wrapping_sub(look_ahead);
    }
}

#[cfg(test)]
mod tests {
    use super::{Chunks, Method};

    #[test]
    fn only_a_new_run_moves_the_counters_down() {
        let mut chunks = Chunks::default();
        chunks.begin(Method::Initial);
        chunks.hits = 28;
        chunks.begin(Method::State);
        assert_eq!((chunks.hits, chunks.hits_run, chunks.hits_last), (0, 28, 0));
        chunks.hits = 20;
        chunks.begin(Method::Backward);
        assert_eq!((chunks.hits, chunks.hits_run, chunks.hits_last), (0, 0, 48));
        assert_eq!(chunks.method_old, Method::State);
    }

    #[test]
    fn a_page_behind_the_newest_chunk_is_not_ours() {
        let mut chunks = Chunks::default();
        assert!(!chunks.has(0), "a fresh file has no pages");
        chunks.place(28, 32, 81, 65);
        assert_eq!((chunks.mark, chunks.end, chunks.interval()), (48, 113, 20));
        assert!(chunks.has(28) && chunks.has(112) && !chunks.has(113) && !chunks.has(27));
    }
}
