//! Reclaim for a control group takes pages that somebody is about to read.

use ahead_disk_model::DiskModel;
use ahead_replicas::page_cache::{Limit, PageAccess, Replacement};
use ahead_sim::algorithm::Policy;
use ahead_sim::report::WorldReport;
use ahead_sim::simulate_before;
use ahead_sim::world::{Machine, WorldMoment, WorldObserver};
use ahead_units::{PAGE_BYTES, PageCount};
use ahead_workload::Workload;

const FILE_PAGES: u64 = 256;

/// How many pages were delivered that the cache still had.
#[derive(Default)]
struct Accesses(u64);

impl WorldObserver for Accesses {
    fn on_access(&mut self, _moment: &WorldMoment, _page: u64, _access: &PageAccess) {
        self.0 += 1;
    }
}

/// So many readers, each of a file of 1 MiB, in a group of 64 KiB.
fn run(readers: u64, read_kib: u64, folio_order_max: u8) -> (WorldReport, u64) {
    let machine = Machine {
        limit: Limit::Group,
        replacement: Replacement::TwoList,
        folio_order_max,
        ..Machine::modern(DiskModel::hdd(), PageCount::new(16))
    };
    let workload = Workload::Readers {
        file_mib: 1,
        readers,
        read_kib,
    };
    let policy = Policy::for_disk("linux-6.12:ra_kb=64", &machine.disk).unwrap();
    let job = workload.job(1);
    let (report, seen) = simulate_before(&machine, &policy, &job, Accesses::default()).unwrap();
    (report, seen.0)
}

/// A reader finds its page, which is to start the next window; for that window reclaim runs, takes this very page, and
/// finds no space: nothing starts, and the reader has a page that is not cached. It holds it, so it gets it. This was a
/// panic ("access to an absent page"). Two readers with windows in folios, of which one enters whole or not; and eight
/// with single pages, where a page that a reader had to have has exceeded the memory.
#[test]
fn a_page_that_reclaim_takes_for_its_own_window_is_delivered() {
    for (readers, read_kib, folio_order_max) in [(2, 16, 9), (8, 4, 0)] {
        let (report, accesses) = run(readers, read_kib, folio_order_max);
        let wanted = readers * FILE_PAGES;
        assert_eq!(report.bytes, wanted * PAGE_BYTES, "{readers} readers");
        assert_eq!(
            accesses,
            wanted - 1,
            "{readers} readers: one page was taken"
        );
    }
}
