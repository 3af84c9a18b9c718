//! The kernel series on several processors: an emulated machine whose kernel finds mistakes in locking and memory (KASAN,
//! lockdep, `DEBUG_VM`, `DEBUG_ATOMIC_SLEEP`), under 64 threads that read, cut, remove and map the files of ext4 and XFS,
//! while the policy is switched, caches are dropped and file systems are mounted; then with failing allocations, then
//! with failing reads of the disk; then the series' own kselftest. The kernel's log has to be clean, and lockdep awake.
//!
//! Last of all the kernel is told to make a mistake: the log is read by a check that can fail. Not a test: its kernel takes
//! some minutes to build and the machine some to run. `make kernel-test` does both.

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;

use ahead_cli::lab::recipe_beside;
use ahead_guest::kernel::Recipe;
use ahead_guest::source::KernelSeries;
use support::compile_static;
use support::machine::{Machine, said};

/// What a kernel says of a mistake. Errors of disks and of memory are injected, and no mistakes.
const MISTAKES: [&str; 12] = [
    "BUG:",
    "WARNING:",
    "KASAN",
    "Oops",
    "possible circular locking",
    "possible recursive locking",
    "inconsistent lock state",
    "suspicious RCU usage",
    "rcu: INFO",
    "blocked for more than",
    "general protection fault",
    "Kernel panic",
];

/// The first process of the machine, behind [`support::machine::BEGIN`]. Half of the threads are in a group with little
/// memory.
const INIT: &str = r#"say() { echo "TEST $*"; }
mount -t debugfs none /sys/kernel/debug
mkdir -p /group /xfs /other
mount -t cgroup2 none /group
echo +memory > /group/cgroup.subtree_control
mkdir /group/small
echo 24M > /group/small/memory.max
mount -t xfs /dev/vdb /xfs
say processors $(grep -c ^processor /proc/cpuinfo) of $(uname -r)
stats() { say stats $(tail -n +2 /sys/kernel/debug/readahead/stats); }

# Everything that may be turned while files are read.
turn() {
  while [ -e /run/turning ]; do
    for policy in 1 1 0 1; do
      echo $policy > /proc/sys/vm/readahead_policy
      echo $((1 + RANDOM % 8)) > /proc/sys/vm/readahead_hit_rate
      echo $((RANDOM % 120)) > /proc/sys/vm/readahead_ratio
      mount -o remount,relatime /disk
      mount /dev/vdc /other && dd if=/other/file of=/dev/null bs=64k skip=$((RANDOM % 8)) 2>/dev/null
      umount /other
      echo 3 > /proc/sys/vm/drop_caches
      mount -o remount,noatime /disk
      cat /sys/kernel/debug/readahead/stats > /dev/null
    done
  done
  echo 1 > /proc/sys/vm/readahead_policy
  echo 50 > /proc/sys/vm/readahead_ratio
  echo 2 > /proc/sys/vm/readahead_hit_rate
}
both() { # ACCESSES [OPTION...]: 32 threads in each file system
  touch /run/turning
  turn &
  (echo 0 > /group/small/cgroup.procs; exec /races /disk 32 "$@") &
  first=$!
  /races /xfs 32 "$@" || say failed in /xfs
  wait $first || say failed in /disk
  rm /run/turning
  wait
}
mount /dev/vdc /other; dd if=/dev/zero of=/other/file bs=64k count=64 2>/dev/null; umount /other

both @ACCESSES@
stats
say phase failslab
cd /sys/kernel/debug/failslab
echo Y > task-filter; echo N > ignore-gfp-wait; echo 10 > probability; echo 7 > interval; echo -1 > times; echo 0 > verbose
both @ACCESSES@ read-only failing
echo 0 > probability
cd /
say phase fail_make_request
mount -o remount,ro /disk; mount -o remount,ro /xfs
cd /sys/kernel/debug/fail_make_request
echo 100 > probability; echo 3 > interval; echo -1 > times; echo 0 > verbose
echo 1 > /sys/block/vda/make-it-fail; echo 1 > /sys/block/vdb/make-it-fail
both @ACCESSES@ read-only failing
echo 0 > probability
cd /
stats
say phase kselftest
mount -o remount,rw /disk; mount -o remount,rw /xfs
for folder in /disk /xfs; do
  (cd $folder && /kselftest) | while read line; do say kselftest $folder "$line"; done
done
say lockdep $(grep debug_locks: /proc/lockdep_stats)
umount /disk /xfs
# In the kernel's own log, so that it stands in front of what follows.
echo '<3>TEST phase mistake' > /dev/kmsg
echo READ_AFTER_FREE > /sys/kernel/debug/provoke-crash/DIRECT
say over
reboot -f
"#;

fn machine(recipe: &Recipe) -> Machine {
    let kernel = recipe.find().unwrap_or_else(|error| {
        panic!("{error} (`ahead lab build --kernel 6.12-patched-smp` builds it)")
    });
    let accesses = std::env::var("AHEAD_ACCESSES").unwrap_or_else(|_| "960".to_owned());
    let mut machine = Machine::bare(kernel.program, &INIT.replace("@ACCESSES@", &accesses));
    let root = machine.root();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/races/races.c");
    compile_static(&own, &root.join("races"), &["-Wextra"]);
    let tests = recipe.unpacked().join("tools/testing/selftests/mm");
    let selftest = tests.join("readahead_adaptive.c");
    compile_static(&selftest, &root.join("kselftest"), &[]);
    machine.add_disk(&["mkfs.ext4", "-q"], 256);
    machine.add_disk(&["mkfs.xfs", "-q"], 320);
    machine.add_disk(&["mkfs.ext4", "-q"], 32);
    // With ACPI the routes of interrupts time out, and the disks wait for ever; the older table of processors lists the
    // first one of each socket. The kernel's configuration has two at most.
    let options = ["-smp", "2,sockets=2", "-m", "448", "-no-reboot"];
    machine.options = options.map(str::to_owned).to_vec();
    machine.words = "loglevel=5 acpi=off";
    machine.seconds_max = 3000;
    machine
}

/// Lines that say of a mistake.
fn mistakes(log: &str) -> Vec<&str> {
    let is_mistake = |line: &&str| MISTAKES.iter().any(|mistake| line.contains(mistake));
    log.lines().filter(is_mistake).collect()
}

fn main() {
    let program = Path::new(env!("CARGO_BIN_EXE_ahead"));
    let recipe = recipe_beside(program, KernelSeries::Linux6_12Smp)
        .unwrap_or_else(|error| panic!("{error}"));
    let console = machine(&recipe).start();
    if let Some(path) = std::env::var_os("AHEAD_CONSOLE") {
        std::fs::write(path, &console).expect("a writable folder");
    }
    let lines = said(&console);
    for line in &lines {
        println!("{line}");
    }
    let parts = console.split_once("TEST phase mistake");
    let (log, provoked) =
        parts.expect("the machine came to its end: AHEAD_CONSOLE=FILE keeps its log");
    assert_eq!(mistakes(log), Vec::<&str>::new(), "the kernel's log");
    assert!(
        !mistakes(provoked).is_empty(),
        "a mistake would not be seen"
    );
    let count = |words: &str| lines.iter().filter(|line| line.contains(words)).count();
    assert!(
        lines.iter().any(|line| line.starts_with("processors 2 ")),
        "two processors"
    );
    assert_eq!(
        count("lockdep debug_locks: 1"),
        1,
        "lockdep was awake to the end"
    );
    assert_eq!(count("races in /"), 6, "all threads came to their end");
    assert_eq!(count("failed in"), 0, "a program failed");
    assert_eq!(count("kselftest /disk ok"), 12, "the kselftest on ext4");
    assert_eq!(count("kselftest /xfs ok"), 12, "the kselftest on XFS");
    let injected = lines.iter().filter(|line| line.contains("races in /"));
    let injected = injected.filter(|line| !line.ends_with("errors 0")).count();
    assert!(injected >= 2, "faults were injected, and seen");
}
