//! `ahead daemon` on older kernels: Debian's 6.12 and 6.1 in an emulated machine, whose kernels have no tracepoints of
//! read-ahead, and 6.1 none of page faults and of reads either: their functions are watched.
//!
//! In the machine a static program reads a file of ext4 on virtio, alone and beside the daemon. What is asserted are
//! requests and bytes that reached the disk.
//!
//! In another machine the kernel is locked down, as it is where it was started securely.

mod support;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use support::machine::{LINUX_6_1, LINUX_6_12, Machine, said};

/// What the scripts begin with.
const COMMON: &str = r#"mkdir -p /disk/ahead /var/lib/ahead
mount --bind /disk/ahead /var/lib/ahead
say() { echo "TEST $*"; }
await() {
  for try in $(seq 600); do "$@" && return; sleep 0.1; done
  say gave up: $*
}
"#;

/// The file has 768 windows of 128 KiB, so that faults at random places are seldom near one another.
const INIT: &str = r#"dd if=/dev/urandom of=/disk/file bs=1M count=96 2>/dev/null
sync
cold() { echo 3 > /proc/sys/vm/drop_caches; }
begin() { set -- $(cat /sys/block/vda/stat); requests=$1 sectors=$3; }
end() {
  what="$*"
  set -- $(cat /sys/block/vda/stat)
  say $what $(($1 - requests)) $((($3 - sectors) / 2))
}
one() {
  cold; begin
  sum=$(reader $2 /disk/$3)
  end $1 $2 ${sum#sum }
}
all() {
  for pattern in forward backward mapped-forward mapped-backward; do
    one $1 $pattern file
  done
}
daemon() {
  ahead daemon 2> /run/log &
  daemon=$!
  await grep -q 'ahead daemon: ' /run/log
  sed 's/^ahead daemon: /TEST log /' /run/log
}
# A random reader that waits in the middle, until its open file has no window.
half() {
  cold
  mkfifo /run/$1
  reader mapped-random /disk/large hold half < /run/$1 > /run/$1.out &
  reader=$!
  exec 3> /run/$1
  echo go >&3
  await grep -q half /run/$1.out
  await grep -q "\"pid\": $reader" /run/ahead/daemon/narrowed.json
  begin
}
say uname $(uname -r)
# What is smaller keeps its window on a disk with an arm.
dd if=/dev/zero of=/disk/large bs=1M count=640 2> /dev/null
sync
all alone
daemon
all helped
half narrowed
echo go >&3
wait $reader
end helped mapped-random 0
half killed
kill -9 $daemon
wait $daemon 2>/dev/null
say window $(cat /sys/block/vda/queue/read_ahead_kb)
ahead daemon --undo 2>&1 | sed 's/^ahead daemon: /TEST undo /'
begin
echo go >&3
wait $reader
end undone mapped-random 0
# Where a window seems to cost hardly more than a page, a file keeps it until enough of the file was touched. Of a large one
# that would take too long, so it is not tried. What a window costs the daemon has learned from the passes before.
for copy in 1 2 3 4 5 6 7; do cat /disk/file; done > /disk/long
sync
one alone mapped-strided long
daemon
all again
one helped mapped-strided long
kill $daemon
wait $daemon
say ended $?
poweroff -f
"#;

/// Locks can be made tighter while the kernel runs.
const LOCKED: &str = r#"mount -t securityfs none /sys/kernel/security
for lock in integrity confidentiality; do
  echo $lock > /sys/kernel/security/lockdown
  ahead daemon 2> /run/log &
  daemon=$!
  await grep -q ahead /run/log
  [ $lock = integrity ] || await grep -q 'not seen are' /run/log
  say $lock said $(cat /run/log)
  kill $daemon
  wait $daemon
  say $lock ended $?
done
say journal $(cat /run/ahead/daemon/narrowed.json)
poweroff -f
"#;

/// Runs `machine` while no other one of these tests does: what a window costs is measured in it, and another one beside it would be
/// in every wait.
fn run_alone(machine: &Machine) -> String {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    machine.start()
}

/// What one reader cost the disk.
#[derive(Debug)]
struct Cost {
    sum: u64,
    requests: u64,
    kib: u64,
}

fn costs<'a>(lines: &[&'a str]) -> BTreeMap<(&'a str, &'a str), Cost> {
    let cost = |line: &&'a str| {
        let mut words = line.split(' ');
        let key = (words.next()?, words.next()?);
        let mut number = || words.next()?.parse().ok();
        let (sum, requests, kib) = (number()?, number()?, number()?);
        Some((key, Cost { sum, requests, kib }))
    };
    lines.iter().filter_map(cost).collect()
}

fn a_daemon_on(kernel: &str, release: &str) {
    let machine = Machine::new(kernel, &format!("{COMMON}{INIT}"), 2048);
    support::build_reader(&machine.root().join("bin/reader"), &["-static"]);
    let console = run_alone(&machine);
    let said = said(&console);
    let is_said = |line: &str| {
        let found = said.iter().any(|one| one.starts_with(line));
        assert!(found, "no `{line}`: {said:#?}\n{console}");
    };
    is_said(&format!("uname {release}"));
    // It has made its known reads then.
    is_said("log reading ahead");
    let lost = said.iter().find(|line| line.contains("does not tell"));
    assert_eq!(lost, None, "nothing is lost");
    let costs = costs(&said);
    let cost = |arm: &'static str, pattern: &'static str| {
        let found = costs.get(&(arm, pattern));
        found.unwrap_or_else(|| panic!("no {arm} {pattern}: {console}"))
    };
    let patterns = [
        "forward",
        "backward",
        "mapped-forward",
        "mapped-backward",
        "mapped-strided",
    ];
    for pattern in patterns {
        let (alone, helped) = (cost("alone", pattern), cost("helped", pattern));
        assert_eq!(alone.sum, helped.sum, "{pattern}: the same bytes");
        let more = alone.kib * 21 / 20;
        assert!(helped.kib <= more, "{pattern}: {alone:?} {helped:?}");
        if pattern.ends_with("backward") {
            let fewer = alone.requests / 3;
            assert!(helped.requests < fewer, "{pattern}: {alone:?} {helped:?}");
        } else {
            let as_many = alone.requests * 11 / 10;
            assert!(
                helped.requests <= as_many,
                "{pattern}: {alone:?} {helped:?}"
            );
        }
    }
    // 1344 touches, a window each, became a page each.
    let (alone, helped) = (
        cost("alone", "mapped-strided"),
        cost("helped", "mapped-strided"),
    );
    assert!(helped.kib * 4 < alone.kib, "{alone:?} {helped:?}");
    // 200 touches, a page each, and what the file system reads for itself.
    let narrowed = cost("helped", "mapped-random");
    assert!(narrowed.kib <= 2 * 200 * 4, "{narrowed:?}");
    is_said("window 128");
    is_said("undo put back: the windows of 1 open files");
    let undone = cost("undone", "mapped-random");
    assert!(undone.kib > 50 * 128, "{undone:?}");
    is_said("ended 0");
}

#[test]
fn linux_6_12_is_steered_by_the_functions_of_read_ahead() {
    a_daemon_on(LINUX_6_12, "6.12.");
}

#[test]
fn linux_6_1_is_steered_by_functions_alone() {
    a_daemon_on(LINUX_6_1, "6.1.");
}

/// A kernel that keeps its memory from root takes no programs, and positions are followed; one that only keeps it from being
/// written tells all.
#[test]
fn a_kernel_that_is_locked_down_for_confidentiality_is_left_to_positions_with_one_line() {
    let machine = Machine::new(LINUX_6_12, &format!("{COMMON}{LOCKED}"), 64);
    let console = run_alone(&machine);
    let said = said(&console);
    let after = |begin: &str| {
        let found = said.iter().find_map(|line| line.strip_prefix(begin));
        found.unwrap_or_else(|| panic!("no `{begin}`: {said:#?}\n{console}"))
    };
    assert_eq!(after("integrity said "), "ahead daemon: reading ahead");
    assert_eq!(after("integrity ended "), "0");
    let without = after("confidentiality said ");
    for words in [
        "ahead daemon: reading ahead",
        "cannot watch the page cache",
        "no lockdown for confidentiality",
        "by system calls only",
    ] {
        assert!(without.contains(words), "`{words}`: {without}");
    }
    assert_eq!(after("confidentiality ended "), "0");
    assert_eq!(after("journal"), "", "nothing is left");
}
