//! What the library of `ahead run` does in the simulator, where that was found to differ from the
//! library in a guest.

use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::Policy;
use ahead_sim::queue::{Done, QueueSettings};
use ahead_sim::world::{Costs, Machine, World, WorldObserver};
use ahead_units::PageCount;
use ahead_workload::{Draw, Workload};

/// The longest run of pages that arrived together.
#[derive(Default)]
struct Longest(u64);

impl WorldObserver for Longest {
    fn on_arrived(&mut self, _now_ns: u64, done: &Done) {
        self.0 = self.0.max(done.pages);
    }
}

/// The library stopped looking inside windows of 256 requests: 447 requests to the disk, not 117.
#[test]
fn a_server_that_opens_its_file_for_each_request_is_seen_to_its_end() {
    let machine = Machine::modern(DiskModel::hdd(), PageCount::new(1 << 16));
    let policy: Policy = "adaptive".parse().unwrap();
    let workload = Workload::Server {
        file_mib: 256,
        daemons: 8,
        read_kib: 32,
        shuffle: 8,
        draw: Draw::default(),
    };
    let report = ahead_sim::simulate(&machine, &policy, &workload.job(1)).unwrap();
    assert!(report.device.requests <= 160, "{:?}", report.device);
}

#[test]
fn pages_of_several_calls_do_not_wait_for_the_last_call() {
    let machine = Machine {
        costs: Costs::free(),
        folio_order_max: 0,
        queue: QueueSettings::linux_6_18().with_request_pages_max(256),
        ..Machine::modern(DiskModel::hdd(), PageCount::new(1 << 19))
    };
    let policy: Policy = "adaptive:ra_kb=128".parse().unwrap();
    let workload = Workload::Sequential {
        file_mib: 64,
        read_kib: 64,
        passes: 1,
    };
    let job = workload.job(1);
    let observer = Longest::default();
    let mut world = World::new(&machine, policy.prototype, &policy.front, &job, observer).unwrap();
    world.run().unwrap();
    // A window of 4 MiB takes four calls, as one call reads 1 MiB at most.
    assert_eq!(world.observer().0, 256);
}
