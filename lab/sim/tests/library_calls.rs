//! What the library of `ahead run` does in the simulator, where that was found to differ from the
//! library in a guest.

use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::Policy;
use ahead_sim::queue::{Done, QueueSettings};
use ahead_sim::world::{Costs, Machine, World, WorldObserver};
use ahead_units::PageCount;
use ahead_workload::Workload;

/// The longest run of pages that arrived together.
#[derive(Default)]
struct Longest(u64);

impl WorldObserver for Longest {
    fn on_arrived(&mut self, _now_ns: u64, done: &Done) {
        self.0 = self.0.max(done.pages);
    }
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
