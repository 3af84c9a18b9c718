//! What the kernel series costs reads and faults that find everything in memory, in instructions of the whole machine: an
//! emulated one, whose clock counts them. Stock, and with the series: switched off, and switched on for a file that it
//! knows. The same figures in every run.
//!
//! Not a test: its kernels take some minutes to build. `make kernel-test` does.

#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::path::Path;

use ahead_cli::lab::recipe_beside;
use ahead_guest::source::KernelSeries;
use support::compile_static;
use support::machine::{Machine, said};

/// More than stock that a cached read of 4 KiB in turn costs, switched off and switched on: what was reached. Asked for
/// are 5 and 40 (docs/results/kernel).
const OFF_MOST: i64 = 3;
const ON_MOST: i64 = 35;

/// The first process of the machine, behind [`support::machine::BEGIN`].
const INIT: &str = r#"dd if=/dev/zero of=/disk/file bs=1M count=64 2> /dev/null
sync
measure() {
  echo 3 > /proc/sys/vm/drop_caches
  echo "TEST policy $1"
  /cost /disk/file
}
measure 0
if [ -e /proc/sys/vm/readahead_policy ]; then
  echo 1 > /proc/sys/vm/readahead_policy
  measure 1
fi
umount /disk
poweroff -f
"#;

/// What each operation costs, by policy and name.
type Costs = BTreeMap<(String, String), i64>;

fn costs(series: KernelSeries) -> Costs {
    let program = Path::new(env!("CARGO_BIN_EXE_ahead"));
    let recipe = recipe_beside(program, series).unwrap_or_else(|error| panic!("{error}"));
    let kernel = recipe
        .find()
        .unwrap_or_else(|error| panic!("{error} --kernel {series}"));
    let mut machine = Machine::bare(kernel.program, INIT);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/cost/cost.c");
    compile_static(&source, &machine.root().join("cost"), &["-Wextra"]);
    machine.add_disk(&["mkfs.ext4", "-q"], 128);
    let options = ["-m", "512", "-no-reboot", "-icount", "shift=0,sleep=off"];
    machine.options = options.map(str::to_owned).to_vec();
    machine.seconds_max = 1200;
    let console = machine.start();
    let mut policy = String::new();
    let mut costs = Costs::new();
    for line in said(&console) {
        match line.split_once(' ') {
            Some(("policy", number)) => policy = number.to_owned(),
            Some((name, count)) => {
                let count = count.parse().expect("a count");
                costs.insert((policy.clone(), name.to_owned()), count);
            }
            None => {}
        }
    }
    assert!(!costs.is_empty(), "the machine said: {console}");
    costs
}

fn main() {
    let stock = costs(KernelSeries::Linux6_12X86);
    let patched = costs(KernelSeries::Linux6_12PatchedX86);
    println!(
        "{:<16} {:>8} {:>14} {:>13}",
        "cached", "stock", "switched off", "switched on"
    );
    let mut more = BTreeMap::new();
    for ((_, name), &count) in &stock {
        let of = |policy: &str| patched[&(policy.to_owned(), name.clone())] - count;
        println!("{name:<16} {count:>8} {:>+14} {:>+13}", of("0"), of("1"));
        more.insert(name.as_str(), (of("0"), of("1")));
    }
    let (off, on) = more["in-turn"];
    assert!(off <= OFF_MOST, "a cached read, switched off: {off}");
    assert!(on <= ON_MOST, "a cached read in turn, switched on: {on}");
}
