//! The reports on generated workloads in docs/results were made with this build, or with one that was not
//! better: their worst places are not worse now.
//!
//! The one over the real kernel needs the guest's kernel (`make lab`).

mod support;

use std::fs;
use std::path::Path;

use support::{Place, stderr, stdout};

/// A place is worse when it takes longer by more than this, of a thousand.
const WORSE_PERMILLE: u64 = 10;

/// A line of "Slowest beside": a workload on a disk with some memory.
#[derive(Debug)]
struct Slow {
    /// Time, of a thousand of the kernel's.
    permille: u64,
    disk: String,
    memory: String,
    workload: String,
}

/// The places that `report` names, the worst first.
fn slowest(report: &str) -> Vec<Slow> {
    let lines = report.lines();
    let lines = lines.skip_while(|line| !line.starts_with("Slowest beside"));
    // A description follows below each.
    let places = lines.skip(1).filter(|line| line.contains(":seed="));
    let slow = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [ratio, disk, mib, "MiB", workload] = words[..] else {
            panic!("not a place: {line}");
        };
        Slow {
            permille: ratio.replace('.', "").parse().expect("a ratio"),
            disk: disk.to_owned(),
            memory: format!("{mib}M"),
            workload: workload.to_owned(),
        }
    };
    places.map(slow).collect()
}

/// Runs the `count` worst places of the report called `name` again, with `options`.
fn assert_not_worse(name: &str, count: usize, options: &[&str]) {
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/generated");
    let report = fs::read_to_string(report.join(name)).expect("the report");
    let reported = slowest(&report);
    assert!(reported.len() >= count, "{name} names {}", reported.len());
    let place = Place::new();
    for slow in &reported[..count] {
        let (kind, seed) = slow.workload.split_once(":seed=").expect("a kind");
        let seed: u64 = seed.parse().expect("a seed");
        let (option, seeds) = (format!("--{kind}"), format!("{seed}..{}", seed + 1));
        let words = ["compare", &option, &seeds, "--disks", &slow.disk];
        let mut ahead = place.ahead(&words);
        ahead.args(["--memory", &slow.memory]).args(options);
        let output = ahead.env_remove("AHEAD_PRELOAD").output();
        let output = output.expect("ahead starts");
        assert!(output.status.success(), "{}", stderr(&output));
        let found = &slowest(&stdout(&output))[0];
        assert!(
            found.permille <= slow.permille + WORSE_PERMILLE,
            "{name}: {slow:?} takes {} of 1000 now",
            found.permille
        );
    }
}

#[test]
fn the_worst_place_over_the_real_kernel_is_as_reported() {
    assert_not_worse("lab.txt", 1, &["--in", "lab", "--policies", "adaptive"]);
}

#[test]
fn the_worst_places_of_odd_reads_are_as_reported() {
    assert_not_worse("odd-reads.txt", 5, &["--policies", "adaptive"]);
}

#[test]
fn the_worst_places_of_odd_reads_on_disks_by_chance_are_as_reported() {
    assert_not_worse("odd-devices.txt", 5, &["--policies", "adaptive"]);
}

#[test]
fn the_worst_places_in_the_simulator_are_as_reported() {
    assert_not_worse("simulator.txt", 5, &["--policies", "adaptive"]);
}
