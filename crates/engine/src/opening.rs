//! Who reads scans ahead on a device of which nothing was found out yet, where files are kept in large folios: the kernel, until it
//! is seen to be slow.
//!
//! What our calls cost there is processor time, four times that of the kernel's own requests (pages one by one instead of sixteen
//! at once). Sixty-four scans of a disk of 4 GB/s, each in a program of its own, took twice as long with our requests until a
//! [trial](crate::scans) of the kernel, which comes after some hundred megabytes, had said so. On a device that is slower than our
//! calls are there is nothing to lose by them, and what the kernel lets its readers wait for shows that within two of its windows:
//!
//! ```text
//! the device delivers FAST and more       ──► the kernel reads scans ahead: found out
//! it delivers less, and readers wait      ──► our requests do: found out
//! it delivers less, and readers do not    ──► nothing is found out, and nothing waits; looked at again
//! ```
//!
//! What counts is what the device delivers to everybody. To one of sixty-four programs a fast disk is as slow as a memory card.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_units::{ByteLength, PageRange, Timestamp};

/// Our calls bring 1.7 GB/s for one scan and 2.5 GB/s for several on the processors on which this was measured: what delivers more
/// than 1.5 by the kernel's requests gains little by ours, and what delivers less is not kept from more by them.
const FAST_BYTES_PER_SECOND: u64 = 1_500_000_000;

/// Readers wait where a page of a scan is waited for so long: 2 µs. Less, and what is there to be gained is what a page by a call
/// costs more.
const WAITED_NS_PER_PAGE: u64 = 2_000;

/// It is looked at after 4 ms of waiting: half an access of an arm. Sooner, and eight programs that begin at once seem to be
/// served by a disk of a third of a gigabyte per second.
const WAITED_NS: u64 = 4_000_000;

/// Or after one wait of 1 ms, in which a fast disk delivers a dozen requests to whomever, and a network volume one.
const LONG_WAIT_NS: u64 = 1_000_000;

/// Or after so many pages: 2 MiB, sixteen of the kernel's windows.
const PAGES: u64 = 512;

/// Two looks are at least so far apart: 1 ms, in which a fast disk answers a dozen requests. Many readers at once have waited for long
/// together in less, in which nothing was answered, as have accesses that were told late, all at once.
const APART_NS: u64 = 1_000_000;

/// The first 128 KiB of a file do not count: its windows have not grown yet, and a small file has no others.
const BEGIN_PAGES: u64 = 32;

/// What the kernel has asked for by then is on its way for at most so many times as long as all of it took. Measured with it, 64
/// streams of a volume of 125 MB/s seemed to get less than 100 from it, as of an arm, and were given four times as much each.
const SETTLING_TIMES: u64 = 2;

/// What delivers at least half of what is fast may be fast a moment later: it is looked at again for twice as long, so many times.
const DOUBTS: u32 = 2;

/// What is known so far. All zero: there is nothing to find out.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    is_open: AtomicBool,
    /// When the first scan was left to the kernel, and until when what it has asked for may be on its way, in nanoseconds; 0: none was.
    began_ns: AtomicU64,
    settled_ns: AtomicU64,
    /// When the newest look began, in nanoseconds; 0: with the next page.
    from_ns: AtomicU64,
    /// What the device had delivered then, in bytes.
    delivered: AtomicU64,
    /// Pages that scans have read since.
    pages: AtomicU64,
    /// How long they have waited for them, and whether one of the waits was long.
    waited_ns: AtomicU64,
    has_waited_long: AtomicBool,
    /// How often it was in doubt.
    doubts: AtomicU32,
}

impl Opening {
    /// There is nothing to find out.
    pub(crate) const fn new() -> Self {
        Self {
            is_open: AtomicBool::new(false),
            began_ns: AtomicU64::new(0),
            settled_ns: AtomicU64::new(0),
            from_ns: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
            pages: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
            has_waited_long: AtomicBool::new(false),
            doubts: AtomicU32::new(0),
        }
    }

    /// It is to be found out.
    pub(crate) fn open(&self) {
        self.from_ns.store(0, Relaxed);
        self.began_ns.store(0, Relaxed);
        self.doubts.store(0, Relaxed);
        self.is_open.store(true, Relaxed);
    }

    /// It is known.
    pub(crate) fn close(&self) {
        self.is_open.store(false, Relaxed);
    }

    /// What it is to this process is known, if `is_known`: of an arm of which another process may know nothing.
    pub(crate) fn close_if(&self, is_known: bool) {
        if is_known {
            self.close();
        }
    }

    /// Whether it is still to be found out.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Relaxed)
    }

    /// A scan that the kernel reads ahead has waited for `access` for so long.
    pub(crate) fn on_wait(&self, access: PageRange, waited_ns: u64) {
        if self.is_open() && is_in_scan(access) {
            self.waited_ns.fetch_add(waited_ns, Relaxed);
            if waited_ns >= LONG_WAIT_NS {
                self.has_waited_long.store(true, Relaxed);
            }
        }
    }

    /// A scan that the kernel reads ahead has read `pages` more, and `access` is the newest of it.
    pub(crate) fn on_read(&self, access: PageRange, pages: u64, now: Timestamp) {
        if !self.is_open() {
            return;
        }
        if self.began_ns.load(Relaxed) == 0 {
            self.began_ns.store(now.get().max(1), Relaxed);
        }
        if is_in_scan(access) {
            self.pages.fetch_add(pages, Relaxed);
        }
    }

    /// Whether what the kernel had asked for may still be on its way, after our requests were found to be better.
    pub(crate) fn is_settling(&self, now: Timestamp) -> bool {
        now.get() < self.settled_ns.load(Relaxed)
    }

    /// Whether it is time to [look](Self::look).
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        if !self.is_open() {
            return false;
        }
        let pages = self.pages.load(Relaxed);
        let from_ns = self.from_ns.load(Relaxed);
        let is_first = from_ns == 0;
        if !is_first && now.get().saturating_sub(from_ns) < APART_NS {
            return false;
        }
        let doubts = self.doubts.load(Relaxed);
        let waits = self.waited_ns.load(Relaxed) >= WAITED_NS << doubts;
        let has_waited_long = doubts == 0 && self.has_waited_long.load(Relaxed);
        let is_enough = waits || has_waited_long || pages >= PAGES << doubts;
        pages > 0 && (is_first || is_enough)
    }

    /// Whether scans are left to the kernel, once that is found out. The device has `delivered` so much to everybody since it is
    /// there; where that is not seen there is nothing to find out.
    pub(crate) fn look(&self, now: Timestamp, delivered: Option<ByteLength>) -> Option<bool> {
        let Some(delivered) = delivered else {
            self.close();
            return None;
        };
        let pages = self.pages.swap(0, Relaxed);
        let waited_ns = self.waited_ns.swap(0, Relaxed);
        self.has_waited_long.store(false, Relaxed);
        let before = self.delivered.swap(delivered.get(), Relaxed);
        let from_ns = self.from_ns.swap(now.get().max(1), Relaxed);
        if from_ns == 0 {
            return None;
        }
        let bytes = delivered.get().saturating_sub(before);
        let elapsed_ns = now.get().saturating_sub(from_ns).max(1);
        let rate = u128::from(bytes) * 1_000_000_000 / u128::from(elapsed_ns);
        let fast = u128::from(FAST_BYTES_PER_SECOND);
        let is_fast = rate >= fast;
        let waits = waited_ns >= pages * WAITED_NS_PER_PAGE;
        if !is_fast && !waits {
            return None;
        }
        let is_doubtful = !is_fast && rate >= fast / 2;
        if is_doubtful && self.doubts.fetch_add(1, Relaxed) < DOUBTS {
            return None;
        }
        self.close();
        let took_ns = now.get().saturating_sub(self.began_ns.load(Relaxed));
        let settled_ns = now.get() + took_ns * SETTLING_TIMES;
        self.settled_ns.store(settled_ns, Relaxed);
        Some(is_fast)
    }
}

/// Whether it is far enough in its file.
fn is_in_scan(access: PageRange) -> bool {
    access.start.get() >= BEGIN_PAGES
}

#[cfg(test)]
mod tests {
    use ahead_units::PAGE_BYTES;

    use super::*;

    /// One of `readers` that read as this one does, in reads of 128 KiB of which each window of the kernel is one.
    struct Scan {
        readers: u64,
        /// How long the reader waits for 128 KiB, and computes then.
        waits_ns: u64,
        computes_ns: u64,
        /// It is in memory.
        is_cached: bool,
    }

    const WINDOW: u64 = 32;

    impl Scan {
        /// What is found out, and after how many pages, within a gibibyte.
        fn found(&self) -> Option<(bool, u64)> {
            let opening = Opening::new();
            opening.open();
            let (mut now_ns, mut delivered) = (1, 0);
            (1..=8192).find_map(|read| {
                now_ns += self.waits_ns + self.computes_ns;
                let start = read * WINDOW;
                let access = PageRange::new(start, start + WINDOW);
                opening.on_wait(access, self.waits_ns);
                if !self.is_cached {
                    delivered += self.readers * WINDOW * PAGE_BYTES;
                }
                let now = Timestamp::new(now_ns);
                opening.on_read(access, WINDOW, now);
                let is_due = opening.is_due(now);
                let look = || opening.look(now, Some(ByteLength::new(delivered)));
                let found = is_due.then(look).flatten();
                found.map(|is_left| (is_left, read * WINDOW))
            })
        }
    }

    const ALONE: Scan = Scan {
        readers: 1,
        waits_ns: 0,
        computes_ns: 10_000,
        is_cached: false,
    };

    #[test]
    fn an_arm_is_known_by_its_second_window_and_flash_by_a_dozen() {
        let windows = |waits_ns| {
            let found = Scan { waits_ns, ..ALONE }.found();
            let (is_left, pages) = found.expect("it waits");
            assert!(!is_left, "{waits_ns}");
            pages / WINDOW
        };
        assert_eq!(windows(9_000_000), 2);
        assert_eq!(windows(1_800_000), 2, "a network volume");
        assert_eq!(windows(700_000), 7, "flash of 190 MB/s");
        assert_eq!(windows(330_000), 14, "flash of 500 MB/s");
        assert!(
            windows(110_000) <= 300,
            "flash of 3 GB/s is in doubt, for 28 ms"
        );
    }

    /// A disk of 4.2 GB/s of which 128 KiB take 70 µs.
    #[test]
    fn what_delivers_more_than_calls_bring_is_left_to_the_kernel() {
        let waits_ns = 60_000;
        assert_eq!(Scan { waits_ns, ..ALONE }.found(), Some((true, 544)));
    }

    /// Sixty-four programs side by side: each of them gets 80 MB/s.
    #[test]
    fn to_one_of_many_readers_a_fast_disk_is_not_a_slow_one() {
        let scan = Scan {
            readers: 64,
            waits_ns: 1_600_000,
            ..ALONE
        };
        assert_eq!(scan.found(), Some((true, 64)));
    }

    /// Then nothing waits, whoever reads ahead, and a faster reader may come.
    #[test]
    fn a_reader_that_computes_says_nothing() {
        let computes_ns = 10_000_000;
        assert_eq!(
            Scan {
                computes_ns,
                ..ALONE
            }
            .found(),
            None
        );
    }

    /// Of an arm it would be believed that it is as fast as memory is.
    #[test]
    fn what_is_in_memory_says_nothing() {
        let is_cached = true;
        assert_eq!(Scan { is_cached, ..ALONE }.found(), None);
    }

    #[test]
    fn where_it_cannot_be_looked_at_nothing_is_found_out() {
        let opening = Opening::new();
        let now = Timestamp::new(1);
        assert!(!opening.is_due(now));
        opening.open();
        opening.on_read(PageRange::new(0, 32), 32, now);
        assert!(!opening.is_due(now), "a small file");
        opening.on_read(PageRange::new(64, 96), 32, now);
        assert!(opening.is_due(now) && opening.is_open());
        assert_eq!(opening.look(now, None), None);
        assert!(!opening.is_due(now) && !opening.is_open());
    }

    /// The daemon hears of the reads of eight programs together, every 2 ms: what they have waited by then adds up to four looks, and
    /// nothing was delivered between these.
    #[test]
    fn reads_that_are_told_together_are_one_look() {
        let opening = Opening::new();
        opening.open();
        let (mut told_ns, mut delivered) = (0, 0);
        let found = (0..100).find_map(|_| {
            told_ns += 2_000_000;
            delivered += 4_000_000;
            (0..32).find_map(|read| {
                let access = PageRange::new(64 + read * WINDOW, 64 + (read + 1) * WINDOW);
                let now = Timestamp::new(told_ns - 2_000_000 + read * 62_500);
                opening.on_wait(access, 500_000);
                opening.on_read(access, WINDOW, now);
                let read_at = Timestamp::new(told_ns);
                let look = || opening.look(read_at, Some(ByteLength::new(delivered)));
                opening.is_due(now).then(look).flatten()
            })
        });
        assert_eq!(found, Some(true), "2 GB/s");
    }
}
