//! Whether the kernel's window pays where a mapping is read: for hosts that see page faults and can take it away.
//!
//! A fault that misses brings the kernel's window around it. Where later faults lie in such windows, that is what
//! makes a mapping fast; where they lie anywhere, each costs a window for a page. Which it is can be told from the
//! places of the faults alone, with the window and without, by two counts.
//!
//! *Near* are faults less than a window away from one of the last sixteen: text of programs, an index, a scan. Far steps
//! that are even are far: what is requested of a stride needs no window around it.
//!
//! *Again* are faults in a part of the file, a window long, in which there was one at another page before, however long ago:
//! with the window, and only with it, their page would be in memory. A file that is small beside what is touched of it is read whole by the kernel's
//! windows, and that can be cheaper than to fetch its pages one by one: much cheaper for an arm, which takes hardly
//! longer for a window than for a page. So many of a hundred have to lie so: [`WindowPrice`]. Whether they will is not
//! known before so much of the file was touched; a small file keeps its window until then, as what was fetched page by
//! page costs a second time when windows are read around it.
//!
//! What a window costs is what its faults wait longer than those of a page. That is taken from the estimate of the device
//! until enough faults of each kind have waited: then from their waits, which have in them what the estimate does not know,
//! as how large the window is and what the machine adds to each request.
//!
//! All of a file is followed up to 128 MiB; of larger ones so many parts, chosen evenly, that memory stays the same. When
//! more was touched than memory holds, what was touched first is not there any more, and counting begins anew.

use ahead_policy::device::DeviceEstimate;
use ahead_units::{PAGE_BYTES, PageCount, PageRange};

/// Faults that are remembered by their places, and that the judgement by them is over. Fewer, and a few faults decide;
/// more, and a reader that turns to another pattern pays for it longer.
const RECENT: usize = 16;

/// A window around a fault, 128 KiB: what the kernel has where nothing was set.
const WINDOW_PAGES: u64 = 32;

/// Near faults of [`RECENT`] with which the window is worth its price, and with which it is not. A window costs a disk
/// with an arm about a seventh more than a page does, and flash two to four times as much; in between nothing is
/// changed, so that chance does not turn it on and off.
const NEAR_MIN: u32 = 4;
const NEAR_FEW: u32 = 1;

/// Parts of a file that are followed: 2 to the power of this.
const PARTS_BITS: u32 = 10;
const PARTS: usize = 1 << PARTS_BITS;

/// Followed faults after which older ones count half.
const FOLLOWED_MAX: u32 = 512;

/// So many of them have to be hits before windows are said to pay: fewer can be chance.
const AGAIN_MIN: u32 = 8;

/// Part of the hits that pay for windows below which windows are not worth it. Where there are windows, half of the hits
/// are no faults: the kernel has mapped sixteen pages around each. The other half is for chance.
const HITS_FEW: u32 = 4;

/// What a trial may cost at most, in the time of so many faults of a page. An arm then tries files up to 450 MB, where the
/// alternative can take several times as long; flash and network volumes hardly any, as a window takes them long and
/// a page does not. More, and a reader of pages anywhere pays for too many windows.
const TRIAL_COST_MAX: u64 = 100;

/// Waits with windows and waits without from which their means say what a window costs. Places of an arm differ, so that the
/// mean of so few is off by a tenth; more, and a wrong estimate is followed for longer.
const WAITS_MIN: u32 = 12;

/// Waits after which older ones count half.
const WAITS_MAX: u32 = 256;

/// A wait counts as so many of the mean at most: a reader that lost its processor, or another's write-back.
const WAIT_LONG: u64 = 4;

/// Odd, without a pattern in its bits: the golden ratio. Parts that follow each other evenly are chosen like any other.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// What the window of a mapping should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappedNeed {
    /// Too few faults to say, or in between: as it is.
    AsItIs,
    /// The device's window.
    Window,
    /// None: a page for each fault.
    NoWindow,
}

/// What a window costs, and how much of what it brings memory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPrice {
    /// Faults of a hundred that have to find their page in an earlier window, so that windows are no slower than pages.
    pub hits_percent: u32,
    /// Pages of one file that stay in memory.
    pub memory: PageCount,
}

impl WindowPrice {
    /// On a device like this. With a window a miss takes a window's time, but hits take none.
    #[must_use]
    pub fn new(device: &DeviceEstimate, memory: PageCount) -> Self {
        Self::of(FaultTimes::on(device), memory)
    }

    /// Where faults take `times`. It is never lower than that of an arm: where something else takes so long that a window
    /// seems to cost nothing, it still takes memory, and bandwidth of others.
    fn of(times: FaultTimes, memory: PageCount) -> Self {
        let lowest = FaultTimes::on(&DeviceEstimate::ARM);
        Self {
            hits_percent: times.hits_percent().max(lowest.hits_percent()),
            memory,
        }
    }
}

/// How long a fault takes.
#[derive(Clone, Copy, Debug)]
struct FaultTimes {
    window_ns: u64,
    page_ns: u64,
}

impl FaultTimes {
    /// By the estimate of a device.
    fn on(device: &DeviceEstimate) -> Self {
        let per_page = PAGE_BYTES * 1_000_000_000 / device.bytes_per_second.max(1);
        let window = per_page.saturating_mul(WINDOW_PAGES);
        Self {
            window_ns: device.access_ns.saturating_add(window),
            page_ns: device.access_ns.saturating_add(per_page),
        }
    }

    /// Of a hundred faults that take a window those that have to be none, so that it takes as long as pages.
    fn hits_percent(self) -> u32 {
        let saved = self.window_ns.saturating_sub(self.page_ns);
        let percent = saved.saturating_mul(100) / self.window_ns.max(1);
        u32::try_from(percent).unwrap_or(100)
    }
}

/// How long faults of one kind waited in the mean. All zero: none did.
#[derive(Clone, Copy, Debug, Default)]
struct FaultWaits {
    total_ns: u64,
    count: u32,
}

impl FaultWaits {
    fn add(&mut self, waited_ns: u64) {
        if self.count >= WAITS_MAX {
            (self.total_ns, self.count) = (self.total_ns / 2, self.count / 2);
        }
        let most = self
            .mean_ns()
            .map(|mean_ns| mean_ns.saturating_mul(WAIT_LONG));
        let counted_ns = waited_ns.min(most.unwrap_or(u64::MAX));
        self.total_ns = self.total_ns.saturating_add(counted_ns);
        self.count += 1;
    }

    /// `None` while they are too few.
    fn mean_ns(&self) -> Option<u64> {
        (self.count >= WAITS_MIN).then(|| self.total_ns / u64::from(self.count))
    }
}

/// The newest faults of one file.
#[derive(Clone, Debug, Default)]
pub struct MappedWindow {
    pages: [u64; RECENT],
    /// Waits for what nothing of ours had asked for: with the window, and without.
    with_window: FaultWaits,
    with_page: FaultWaits,
    /// Faults so far.
    faults: u64,
    /// One bit for each of the last faults: whether it was near.
    near: u16,
    /// For each part that is followed where it was touched last: 1 is its first page; 0: nowhere. Empty before the
    /// first fault.
    touched: Box<[u8]>,
    /// How many of them were touched.
    touched_parts: u32,
    /// Windows that the file is long.
    parts: u64,
    /// The file has no more than 2 to the power of this parts.
    file_bits: u32,
    /// Followed faults, and those of them in a part that had been touched.
    followed: u32,
    again: u32,
}

impl MappedWindow {
    /// A fault at `touched`, in a file of `file_pages` pages.
    pub fn on_fault(
        &mut self,
        touched: PageRange,
        file_pages: PageCount,
        price: &WindowPrice,
    ) -> MappedNeed {
        let believed = price;
        let price = &self.measured(price);
        // Where windows are not tried, low waits alone are no reason to leave them.
        let taken = match self.trial(price) {
            Some(_) => price.hits_percent,
            None => price.hits_percent.max(believed.hits_percent),
        };
        self.note_near(touched);
        self.note_again(touched, file_pages, price.memory);
        if self.faults < RECENT as u64 {
            return MappedNeed::AsItIs;
        }
        let hits = self.again * 100 / self.followed.max(1);
        match self.near.count_ones() {
            NEAR_MIN.. => MappedNeed::Window,
            _ if hits > price.hits_percent && self.again >= AGAIN_MIN => MappedNeed::Window,
            0..=NEAR_FEW if hits * HITS_FEW <= taken && !self.is_on_trial(price) => {
                MappedNeed::NoWindow
            }
            // It may have been taken away by an estimate that turned out wrong.
            0..=NEAR_FEW if self.means().is_some() && self.is_on_trial(price) => MappedNeed::Window,
            _ => MappedNeed::AsItIs,
        }
    }

    /// A fault that nothing had asked for waited `waited_ns`, behind nothing that is known of; its open file has a window, or
    /// none.
    pub fn on_wait(&mut self, waited_ns: u64, has_window: bool) {
        if has_window {
            self.with_window.add(waited_ns);
        } else {
            self.with_page.add(waited_ns);
        }
    }

    /// Mean waits with a window and without, where both are known.
    fn means(&self) -> Option<FaultTimes> {
        let (window_ns, page_ns) = self.with_window.mean_ns().zip(self.with_page.mean_ns())?;
        Some(FaultTimes { window_ns, page_ns })
    }

    /// The price by the waits, where both kinds are known; otherwise as it is.
    fn measured(&self, price: &WindowPrice) -> WindowPrice {
        let by_waits = self
            .means()
            .map(|times| WindowPrice::of(times, price.memory));
        by_waits.unwrap_or(*price)
    }

    /// Whether so little was touched of a small file that windows could not be of use yet.
    fn is_on_trial(&self, price: &WindowPrice) -> bool {
        self.trial(price).is_some_and(|faults| self.faults < faults)
    }

    /// Faults of a trial: then windows that were brought are of use to so many, and half of that to all since the beginning.
    /// `None` where it would cost too much.
    fn trial(&self, price: &WindowPrice) -> Option<u64> {
        let percent = u64::from(price.hits_percent);
        let faults = (self.parts * percent * 2).div_ceil(100);
        let cost = faults * percent / 100_u64.saturating_sub(percent).max(1);
        (cost <= TRIAL_COST_MAX).then_some(faults)
    }

    fn note_near(&mut self, touched: PageRange) {
        let at = usize::try_from(self.faults % RECENT as u64).unwrap_or(0);
        let known = if self.faults < RECENT as u64 {
            at
        } else {
            RECENT
        };
        let is_near = |page: &u64| {
            let (start, end) = (touched.start.get(), touched.end.get());
            *page < end.saturating_add(WINDOW_PAGES) && start < page.saturating_add(WINDOW_PAGES)
        };
        let near = self.pages[..known].iter().any(is_near);
        self.near = self.near << 1 | u16::from(near);
        self.pages[at] = touched.start.get();
        self.faults = self.faults.saturating_add(1);
    }

    fn note_again(&mut self, touched: PageRange, file_pages: PageCount, memory: PageCount) {
        self.parts = file_pages.get().div_ceil(WINDOW_PAGES).max(1);
        let file_bits = self
            .parts
            .next_power_of_two()
            .trailing_zeros()
            .max(PARTS_BITS);
        let followed_of = 1_u64 << (file_bits - PARTS_BITS);
        let in_memory = memory.get() / WINDOW_PAGES;
        let touched_parts = u64::from(self.touched_parts).saturating_mul(followed_of);
        if file_bits != self.file_bits || touched_parts > in_memory {
            self.touched = vec![0; PARTS].into_boxed_slice();
            self.touched_parts = 0;
            self.file_bits = file_bits;
        }
        // A permutation of the parts, of which the first ones are followed.
        let part = touched.start.get() / WINDOW_PAGES;
        let place = part.wrapping_mul(SPREAD) & ((1 << file_bits) - 1);
        let Ok(place) = usize::try_from(place) else {
            return;
        };
        let Some(known) = self.touched.get_mut(place) else {
            return;
        };
        let first = touched.start.get() % WINDOW_PAGES;
        let page = u8::try_from(first + 1).unwrap_or(u8::MAX);
        let before = std::mem::replace(known, page);
        // The same page is there, window or not. Where pages were mapped around a fault, it is one of them.
        let pages = first + 1..first + 1 + touched.len().get();
        let is_again = before != 0 && !pages.contains(&u64::from(before));
        self.touched_parts += u32::from(before == 0);
        self.again += u32::from(is_again);
        self.followed += 1;
        if self.followed >= FOLLOWED_MAX {
            self.again /= 2;
            self.followed /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const FILE: PageCount = PageCount::new(1 << 20);

    fn page(at: u64) -> PageRange {
        PageRange::new(at, at + 1)
    }

    fn price(device: &DeviceEstimate) -> WindowPrice {
        WindowPrice::new(device, PageCount::new(1 << 20))
    }

    /// Chosen anew for each number, evenly.
    fn anywhere(number: u64, pages: u64) -> u64 {
        let mut word = number.wrapping_add(1).wrapping_mul(0xD134_2543_DE82_EF95);
        word ^= word >> 32;
        word = word.wrapping_mul(0xAEF1_7502_108E_F2D9);
        (word ^ word >> 29) % pages
    }

    #[test]
    fn faults_anywhere_want_no_window_and_a_scan_has_it_again() {
        let mut window = MappedWindow::default();
        let price = price(&DeviceEstimate::ARM);
        let needs: Vec<_> = (0..100_u64)
            .map(|number| window.on_fault(page(number * 7919 % 9973 * 100), FILE, &price))
            .collect();
        assert!(needs[..15].iter().all(|need| *need == MappedNeed::AsItIs));
        assert!(needs[15..].iter().all(|need| *need == MappedNeed::NoWindow));
        let scan: Vec<_> = (0..5)
            .map(|number| window.on_fault(page(500_050 + number * 16), FILE, &price))
            .collect();
        assert_eq!(scan[4], MappedNeed::Window);
    }

    /// Program text, or an index: anywhere, but several faults at each place.
    #[test]
    fn places_that_are_touched_more_than_once_keep_the_window() {
        let mut window = MappedWindow::default();
        let price = price(&DeviceEstimate::ARM);
        for number in 0..200_u64 {
            let place = number / 4 * 7919 % 9973 * 100;
            let need = window.on_fault(page(place + number % 4 * 5), FILE, &price);
            assert_ne!(need, MappedNeed::NoWindow);
        }
    }

    /// The last need, after `faults` anywhere in a file of so many pages.
    fn after(faults: u64, pages: u64, price: &WindowPrice) -> MappedNeed {
        let mut window = MappedWindow::default();
        let needs = (0..faults).map(|number| {
            let touched = page(anywhere(number, pages));
            window.on_fault(touched, PageCount::new(pages), price)
        });
        needs.last().unwrap()
    }

    /// 3000 records of a data base of 150 MB: an arm reads it whole in 1200 windows, or 2900 pages one by one, which
    /// took twice as long.
    #[test]
    fn a_file_that_is_small_beside_what_is_touched_of_it_keeps_the_window_on_an_arm() {
        let arm = price(&DeviceEstimate::ARM);
        assert_eq!(arm.hits_percent, 11);
        assert_eq!(after(600, 37_000, &arm), MappedNeed::Window);
        // With its window: what is mapped around a fault is no fault any more.
        let mut window = MappedWindow::default();
        let mut mapped = BTreeSet::new();
        let pages = (0..3_000).map(|number| anywhere(number, 37_000));
        let faults = pages.filter(|page| mapped.insert(page / 16));
        let needs = faults.map(|at| window.on_fault(page(at), PageCount::new(37_000), &arm));
        assert!(needs.into_iter().all(|need| need != MappedNeed::NoWindow));
        // A gigabyte is not waited for.
        assert_eq!(after(17, 1 << 18, &arm), MappedNeed::NoWindow);
        // Of 4 GB a thousandth was touched.
        assert_eq!(after(1_000, 1 << 20, &arm), MappedNeed::NoWindow);
    }

    /// An emulated machine with two processors that others use: its requests seemed to take 20 ms each and their bytes
    /// nothing, and a stride over 672 MB took 363 windows before it had none.
    #[test]
    fn a_large_file_loses_its_window_at_once_where_it_seems_to_cost_nothing() {
        let slow = DeviceEstimate {
            access_ns: 20_000_000,
            bytes_per_second: 400_000_000,
            depth: 1,
        };
        let price = price(&slow);
        assert_eq!(price.hits_percent, 11);
        let mut window = MappedWindow::default();
        let stride = (0..16).map(|number| window.on_fault(page(number * 128), FILE, &price));
        assert_eq!(stride.last(), Some(MappedNeed::NoWindow));
    }

    /// A window takes flash almost twice as long as a page: it has to be of use more often.
    #[test]
    fn flash_wants_more_of_the_windows_to_be_of_use_than_an_arm() {
        let flash = price(&DeviceEstimate::FLASH);
        assert_eq!(flash.hits_percent, 40);
        // A fourth of the windows were brought, which pays for them on an arm.
        assert_eq!(after(100, 37_000, &flash), MappedNeed::NoWindow);
        assert_eq!(after(1_500, 1 << 18, &flash), MappedNeed::NoWindow);
        assert_eq!(
            after(4_000, 1 << 18, &price(&DeviceEstimate::ARM)),
            MappedNeed::Window
        );
        assert_eq!(after(3_000, 37_000, &flash), MappedNeed::Window);
    }

    /// Requests of `faults` faults anywhere in a file of 37 000 pages where a fault of a page and of a window really take so
    /// long, and what is decided is done at once, or after a second of some hundred faults.
    fn requests(faults: u64, estimate: &WindowPrice, page_ns: u64, window_ns: u64) -> (u64, u64) {
        const PAGES: u64 = 37_000;
        let (mut window, mut has_window) = (MappedWindow::default(), true);
        let (mut cached, mut mapped) = (BTreeSet::new(), BTreeSet::new());
        let (mut requests, mut took_ns) = (0, 0);
        for number in 0..faults {
            let at = anywhere(number, PAGES);
            if mapped.contains(&at) {
                continue;
            }
            let need = window.on_fault(page(at), PageCount::new(PAGES), estimate);
            if !cached.contains(&at) {
                let waited_ns = if has_window { window_ns } else { page_ns };
                window.on_wait(waited_ns, has_window);
                (requests, took_ns) = (requests + 1, took_ns + waited_ns);
                let around = if has_window {
                    at / 32 * 32..at / 32 * 32 + 32
                } else {
                    at..at + 1
                };
                cached.extend(around);
            }
            mapped.extend((at / 16 * 16..at / 16 * 16 + 16).filter(|one| cached.contains(one)));
            match need {
                MappedNeed::Window => has_window = true,
                MappedNeed::NoWindow => has_window = false,
                MappedNeed::AsItIs => {}
            }
        }
        (requests, took_ns)
    }

    /// A disk that answers four times as soon as an arm and delivers four times as much, of which the first is learned at once
    /// and the second is not: 3000 records of a data base took 2718 requests, and 1224 without the daemon.
    #[test]
    fn a_window_that_is_cheaper_than_the_estimate_says_is_given_back_by_its_waits() {
        let learned = DeviceEstimate {
            access_ns: 2_200_000,
            ..DeviceEstimate::ARM
        };
        let dear = price(&learned);
        assert_eq!(dear.hits_percent, 32);
        let (windows, best_ns) =
            requests(3_000, &price(&DeviceEstimate::ARM), 2_000_000, 2_250_000);
        let (helped, helped_ns) = requests(3_000, &dear, 2_000_000, 2_250_000);
        assert!(helped <= windows + 20, "{helped} {windows}");
        assert!(helped_ns * 98 <= best_ns * 100, "{helped_ns} {best_ns}");
    }

    /// An emulated machine, in which a fault takes so long that a window takes hardly longer: a mapping of 640 MB had its window
    /// back, and 200 touches read 9 MB.
    #[test]
    fn a_window_that_seems_to_cost_nothing_is_taken_away_nevertheless() {
        let arm = price(&DeviceEstimate::ARM);
        let mut window = MappedWindow::default();
        let pages = 640 << 8;
        for number in 0..400 {
            let touched = page(anywhere(number, pages));
            let need = window.on_fault(touched, PageCount::new(pages), &arm);
            let has_window = number < 16;
            window.on_wait(if has_window { 2_050_000 } else { 2_000_000 }, has_window);
            assert!(need != MappedNeed::Window, "{number}");
            assert!(number != 40 || need == MappedNeed::NoWindow);
        }
    }

    /// Waits that say the same as the estimate change nothing.
    #[test]
    fn a_window_that_is_as_dear_as_the_estimate_says_stays_away() {
        let flash = price(&DeviceEstimate::FLASH);
        let mut window = MappedWindow::default();
        for number in 0..400 {
            let touched = page(anywhere(number, 1 << 20));
            let need = window.on_fault(touched, FILE, &flash);
            window.on_wait(if number < 16 { 210_000 } else { 123_000 }, number < 16);
            assert!(number < 15 || need == MappedNeed::NoWindow, "{number}");
        }
    }

    /// What is read again is in memory, with the window and without.
    #[test]
    fn the_same_pages_again_are_no_reason_for_a_window() {
        let mut window = MappedWindow::default();
        let flash = price(&DeviceEstimate::FLASH);
        let needs: Vec<_> = (0..4_000)
            .map(|number| page(anywhere(number % 400, 1 << 18)))
            .map(|touched| window.on_fault(touched, PageCount::new(1 << 18), &flash))
            .collect();
        assert!(needs[15..].iter().all(|need| *need == MappedNeed::NoWindow));
    }

    /// 128 GB, of which memory holds 4: all parts are touched in time, and hardly any page is there.
    #[test]
    fn what_memory_does_not_hold_does_not_count_as_touched() {
        let arm = price(&DeviceEstimate::ARM);
        assert_eq!(after(4_000_000, 1 << 25, &arm), MappedNeed::NoWindow);
    }
}
