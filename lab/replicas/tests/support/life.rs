//! One life of a file under any algorithm of `kernel` and `literature`, with the promises checked
//! after every step.
//!
//! What holds for all of them:
//!
//! * A folio is whole: aligned, inside the file, none of its pages was in the cache.
//! * A mark lies in the window that carries it.
//! * A window is no larger than request, limit and device account for: sizes never wrap.
//! * A hint reads only what it names.
//! * After a read or fault its pages are in the cache. ([`PageCache`] stops the test otherwise.)
//! * With a limit of 0 nothing but the pages asked for is read.
#![allow(dead_code, unreachable_pub, reason = "each test uses another part")]

use std::ops::Range;

use ahead_policy::device::DeviceEstimate;
use ahead_replicas::kernel::advise::Advised;
use ahead_replicas::kernel::ara::{self, Ara};
use ahead_replicas::kernel::ara_v1::AraV1;
use ahead_replicas::kernel::folio::{self, Folio};
use ahead_replicas::kernel::linux_2_2::{Linux2_2, OldSettings};
use ahead_replicas::kernel::linux_2_4::Linux2_4;
use ahead_replicas::kernel::linux_2_6_9::Linux2_6_9;
use ahead_replicas::kernel::linux_2_6_11::{self, Stock};
use ahead_replicas::kernel::on_demand::{self, OnDemand};
use ahead_replicas::kernel::{Advice, Fault, Host, PageState, Read, ReadAhead};
use ahead_replicas::literature::amp::Amp;
use ahead_replicas::literature::competitive::Competitive;
use ahead_replicas::literature::degree;
use ahead_replicas::literature::majority_trend::MajorityTrend;
use ahead_replicas::literature::mountpoint::Mountpoint;
use ahead_replicas::literature::one_block::{OneBlock, When};
use ahead_replicas::literature::rocksdb::RocksDb;
use ahead_replicas::literature::sarc::Sarc;
use ahead_units::PAGE_BYTES;

use super::page_cache::{PageCache, Started};

/// Two huge pages: the largest window that no limit bounds.
const HUGE_AREA_PAGES: u64 = 1024;

/// What happens to a file.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A `read()` of so many bytes.
    Read { start: u64, bytes: u64 },
    /// A fault; its page and area are cut to the file.
    Fault(Fault),
    /// Fault-around mapped so many pages.
    NeighboursMapped(u64),
    /// `fadvise`.
    Advise(Advice),
    /// `readahead(2)`.
    WillNeed { start: u64, pages: u64 },
    /// Reclaim takes the folios that lie in this range and are not under way.
    Evict { start: u64, pages: u64 },
    /// Another program read this range.
    Cached { start: u64, pages: u64 },
    /// The queue becomes congested, or free.
    Congested(bool),
    /// So many pages are inactive or free now.
    Reclaimable(u64),
    /// Others used so many pages.
    OthersRead(u64),
    /// Close, and open again.
    Reopen,
}

/// Where it happens.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Bytes in the file.
    pub file_bytes: u64,
    /// The file's limit in pages, for algorithms that have one.
    pub limit: u64,
    /// Largest request of the device, in pages.
    pub io_pages: u64,
    /// Largest folio.
    pub folio_order_max: u8,
    /// Pages that the queue holds; `None` answers at once.
    pub slots: Option<usize>,
}

/// The same life under every algorithm.
///
/// # Panics
/// When a promise is broken.
pub fn every_algorithm(place: &Place, steps: &[Step]) {
    every_old_kernel(place, steps);
    every_adaptive(place, steps);
    every_kernel(place, steps);
    every_controller(place, steps);
}

fn every_kernel(place: &Place, steps: &[Step]) {
    let limit = place.limit;
    for release in [
        on_demand::OnDemandRelease::Linux2_6_24,
        on_demand::OnDemandRelease::Linux2_6_31,
        on_demand::OnDemandRelease::ThrashSafe2010,
        on_demand::OnDemandRelease::Linux3_12,
        on_demand::OnDemandRelease::Linux4_19,
    ] {
        let whose = Whose::limited(format!("on_demand {release:?}"));
        live(&whose, place, steps, || OnDemand::new(release, limit));
    }
    for release in [
        folio::FolioRelease::Linux6_12,
        folio::FolioRelease::Linux6_18,
    ] {
        let whose = Whose::limited(format!("folio {release:?}"));
        live(&whose, place, steps, || Folio::new(release, limit));
    }
}

fn every_old_kernel(place: &Place, steps: &[Step]) {
    let limit = place.limit;
    for settings in [
        OldSettings::LINUX_2_2,
        OldSettings::LINUX_2_2_SMALL,
        OldSettings::LINUX_2_4,
    ] {
        let whose = Whose::unlimited(format!("linux_2_2 {settings:?}"));
        live(&whose, place, steps, || Linux2_2::new(settings));
    }
    let whose = Whose::unlimited("linux_2_4".to_owned());
    live(&whose, place, steps, || {
        Linux2_4::new(OldSettings::LINUX_2_4)
    });
    // Groups of no pages are no groups.
    let group = limit.max(1);
    let whose = Whose::unlimited("advise, original".to_owned());
    live(&whose, place, steps, || Advised::original(group));
    let whose = Whose::unlimited("advise, true".to_owned());
    live(&whose, place, steps, || Advised::true_read_ahead(group));
    let whose = Whose::limited("linux_2_6_9".to_owned());
    live(&whose, place, steps, || Linux2_6_9::new(limit));
    for release in [
        linux_2_6_11::StockRelease::Linux2_6_11,
        linux_2_6_11::StockRelease::Linux2_6_18,
    ] {
        let whose = Whose::limited(format!("stock {release:?}"));
        live(&whose, place, steps, || Stock::new(release, limit));
    }
}

fn every_adaptive(place: &Place, steps: &[Step]) {
    let limit = place.limit;
    for ratio in [0, 9, 50, 100] {
        let whose = Whose::limited(format!("ara_v1 of ratio {ratio}"));
        live(&whose, place, steps, || AraV1::new(ratio, limit));
    }
    for release in [
        ara::AraRelease::V15,
        ara::AraRelease::June,
        ara::AraRelease::V16,
    ] {
        let defaults = ara::AraKnobs {
            pages_max: limit,
            ..ara::AraKnobs::of(release)
        };
        for knobs in [
            defaults,
            ara::AraKnobs {
                ratio: 1,
                ..defaults
            },
            ara::AraKnobs {
                ratio: 0,
                hit_rate: 0,
                ..defaults
            },
            ara::AraKnobs {
                ratio: 200,
                hit_feedback: !defaults.hit_feedback,
                look_ahead: false,
                nfsd: true,
                ..defaults
            },
        ] {
            let whose = Whose::limited(format!("ara {release:?} {knobs:?}"));
            live(&whose, place, steps, || Ara::with_knobs(release, knobs));
        }
    }
}

fn every_controller(place: &Place, steps: &[Step]) {
    let limit = place.limit;
    for when in [When::Always, When::OnMiss, When::Tagged] {
        let whose = Whose::unlimited(format!("one_block {when:?}"));
        live(&whose, place, steps, || OneBlock::new(when));
    }
    for (adaptive, trigger_pages) in [
        (false, None),
        (false, Some(limit / 2)),
        (true, None),
        (true, Some(limit / 2)),
    ] {
        let settings = degree::DegreeSettings {
            adaptive,
            trigger_pages,
            degree_pages: limit,
        };
        let whose = Whose::limited(format!("{settings:?}"));
        live(&whose, place, steps, || degree::Degree::new(settings));
    }
    let whose = Whose::limited("amp".to_owned());
    live(&whose, place, steps, || Amp::new(limit));
    let whose = Whose::unlimited("competitive".to_owned());
    live(&whose, place, steps, || {
        Competitive::new(&DeviceEstimate::ARM)
    });
    let whose = Whose::unlimited("majority_trend".to_owned());
    live(&whose, place, steps, MajorityTrend::default);
    let whose = Whose::unlimited("rocksdb".to_owned());
    live(&whose, place, steps, RocksDb::default);
    let whose = Whose::unlimited("sarc".to_owned());
    live(&whose, place, steps, || Sarc::new(16));
    let whose = Whose::limited("mountpoint".to_owned());
    live(&whose, place, steps, || Mountpoint::new(limit));
}

/// Whose life it is; says so when a promise is broken, wherever that shows.
struct Whose {
    name: String,
    /// With a limit of 0 it reads nothing ahead.
    has_limit: bool,
}

impl Whose {
    fn limited(name: String) -> Self {
        Self {
            name,
            has_limit: true,
        }
    }

    fn unlimited(name: String) -> Self {
        Self {
            name,
            has_limit: false,
        }
    }
}

impl Drop for Whose {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the algorithm was {}", self.name);
        }
    }
}

/// One life under one algorithm.
fn live<A: ReadAhead>(whose: &Whose, place: &Place, steps: &[Step], open: impl Fn() -> A) {
    let mut cache = PageCache::new(0);
    cache.file_bytes = place.file_bytes;
    cache.io_pages = place.io_pages;
    cache.folio_order_max = place.folio_order_max;
    cache.slots = place.slots;
    let mut file = open();
    let mut position = 0;
    for step in steps {
        let asked = match *step {
            Step::Read { start, bytes } => {
                let read = Read {
                    start,
                    end: start.saturating_add(bytes),
                };
                cache.read_bytes(&mut file, &read);
                position = read.end;
                Some(read.first_page()..read.end_page())
            }
            Step::Fault(fault) => take_fault(&mut cache, &mut file, fault),
            Step::WillNeed { start, pages } => {
                file.on_will_need(&mut cache, start, pages);
                Some(start..start.saturating_add(pages))
            }
            _ => {
                happen(&mut cache, &mut file, step);
                None
            }
        };
        if matches!(step, Step::Reopen) {
            file.on_close(&mut cache, position);
            file = open();
            position = 0;
        }
        let is_exact = matches!(step, Step::WillNeed { .. })
            || (whose.has_limit
                && place.limit == 0
                && !matches!(step, Step::Fault(fault) if fault.huge));
        let request = asked.as_ref().map_or(0, |pages| pages.end - pages.start);
        let pages_max = request + 4 * place.limit + place.io_pages.max(HUGE_AREA_PAGES);
        let exact = asked.filter(|_| is_exact);
        for started in cache.take_log() {
            assert!(started.window.pages <= pages_max, "runs away: {started:?}");
            check(&cache, &started, exact.as_ref());
        }
    }
}

/// A fault outside the file never reaches read-ahead.
fn take_fault<A: ReadAhead>(
    cache: &mut PageCache,
    file: &mut A,
    mut fault: Fault,
) -> Option<Range<u64>> {
    let last_page = cache.file_pages().checked_sub(1)?;
    fault.page = fault.page.min(last_page);
    fault.area_start = fault.area_start.min(fault.page);
    fault.area_end = fault.area_end.clamp(fault.page + 1, last_page + 1);
    cache.fault_in(file, &fault);
    Some(fault.page..fault.page + 1)
}

fn happen<A: ReadAhead>(cache: &mut PageCache, file: &mut A, step: &Step) {
    match *step {
        Step::NeighboursMapped(pages) => file.on_neighbours_mapped(pages),
        Step::Advise(advice) => file.on_advice(advice),
        Step::Evict { start, pages } => evict(cache, start..start.saturating_add(pages)),
        Step::Cached { start, pages } => {
            let end = start.saturating_add(pages).min(cache.file_pages());
            cache.cache(start.min(end)..end);
        }
        Step::Congested(congested) => cache.congested = congested,
        Step::Reclaimable(pages) => cache.reclaimable = pages,
        Step::OthersRead(pages) => cache.clock += pages,
        Step::Read { .. } | Step::Fault(_) | Step::WillNeed { .. } | Step::Reopen => {}
    }
}

fn evict(cache: &mut PageCache, pages: Range<u64>) {
    let mut next = pages.start;
    while let Some((&page, _)) = cache.pages.range(next..pages.end.max(next)).next() {
        let (start, end) = cache.folio(page);
        if (start..end).all(|page| cache.state(page) == PageState::Valid) {
            for page in start..end {
                cache.pages.remove(&page);
            }
        }
        next = end;
    }
}

fn check(cache: &PageCache, started: &Started, exact: Option<&Range<u64>>) {
    let window = &started.window;
    if window.order > 0 {
        let pages = 1 << window.order;
        assert_eq!(window.pages, pages, "{started:?}");
        assert_eq!(window.start % pages, 0, "not aligned: {started:?}");
        assert_eq!(
            started.runs,
            [(window.start, pages)],
            "not whole: {started:?}"
        );
        assert!(window.start + pages <= cache.file_pages(), "{started:?}");
        assert!(window.order <= cache.folio_order_max, "{started:?}");
    }
    if let Some(mark) = window.mark {
        let end = window.start.saturating_add(window.pages);
        assert!((window.start..end).contains(&mark), "{started:?}");
    }
    for &(start, pages) in &started.runs {
        assert!(start + pages <= cache.file_pages(), "{started:?}");
        if let Some(exact) = exact {
            assert!(
                exact.start <= start && start + pages <= exact.end,
                "nobody asked for all of {started:?}, only for {exact:?}"
            );
        }
    }
}

/// The bytes of whole pages.
pub const fn bytes(pages: u64) -> u64 {
    pages * PAGE_BYTES
}
