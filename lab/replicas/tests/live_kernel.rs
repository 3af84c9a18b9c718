//! The replica of 6.18 against the kernel that runs: the same patterns, carried out by both, must
//! give the same events, one by one.
//!
//! Compared are the calls inside the read-ahead code, with every number that their tracepoints show,
//! and the folios that enter and leave the page cache, in their order. There is no tolerance, and no
//! list of known differences: there are none.
//!
//! What is kept out of the way, and how:
//!
//! * Time. Between two operations all I/O ends (see [`live::kernel_side`]). Files that are mapped
//!   are holes, whose reading is over at once, because what a fault maps beside its page depends on
//!   what has come by then. Other files are read from a disk in memory.
//! * Memory pressure. Pages that leave without being told to mean that somebody emptied the page
//!   cache of the machine; the pattern is repeated then.
//! * The LRU. The order in which evicted pages leave depends on the lists of the processors; they
//!   are sorted.
//!
//! Left out are congestion of a block control group, `RWF_DONTCACHE`, and folios of a smallest size
//! above a page.
//!
//! Runs on 6.18. On 6.12, which has no tracepoints for the calls, only the folios are compared;
//! `crates/cli/tests/live_guest.rs` does so in a guest of the lab. On other kernels it fails and says
//! so. Needs root, loop devices, tracefs and `mkfs.ext4`; leaves nothing behind, also when it fails.
//! More generated patterns:
//!
//! ```text
//! AHEAD_SEEDS=5000..6500 cargo test --release -p ahead-replicas --test live_kernel generated -- --nocapture
//! ```
#![forbid(unsafe_code)]

mod live;

use std::collections::BTreeSet;
use std::ops::Range;

use ahead_replicas::kernel::folio::FolioRelease;
use live::comparison::Comparison;
use live::machine::Folios;
use live::pattern::Pattern;
use live::release::Running;
use live::{generated, patterns};

/// Seeds of the generated patterns that always run.
const SEEDS: Range<u64> = 0..60;

fn running() -> Running {
    Running::now().unwrap_or_else(|unknown| panic!("{unknown}"))
}

/// Carries out what can be compared here, and fails with every difference.
fn assert_no_differences(folios: Folios, patterns: &[Pattern]) {
    let comparison =
        Comparison::new(&running(), folios).expect("a disk and a recorder can be made");
    comparison.assert_no_differences(patterns);
}

#[test]
fn named_patterns_go_as_in_the_kernel_with_large_folios() {
    assert_no_differences(Folios::Large, &patterns::all());
}

#[test]
fn named_patterns_go_as_in_the_kernel_with_single_pages() {
    assert_no_differences(Folios::Single, &patterns::all());
}

#[test]
fn generated_patterns_go_as_in_the_kernel_with_large_folios() {
    assert_no_differences(Folios::Large, &generated::patterns(SEEDS));
}

#[test]
fn generated_patterns_go_as_in_the_kernel_with_single_pages() {
    assert_no_differences(Folios::Single, &generated::patterns(SEEDS));
}

/// The comparison must be able to say no: 6.12 and 6.18 part where a reader meets the mark of
/// another and the end of its window is aligned.
#[test]
fn the_rules_of_another_release_are_told_apart() {
    let running = running();
    let other = match running.release {
        FolioRelease::Linux6_18 => FolioRelease::Linux6_12,
        FolioRelease::Linux6_12 => FolioRelease::Linux6_18,
    };
    let comparison =
        Comparison::new(&running, Folios::Large).expect("a disk and a recorder can be made");
    let pattern = Pattern::new("two streams").in_turns(&[(0, 0), (0, 1000)], 1, 1, 8);
    let told = comparison.difference_to(other, &pattern).unwrap();
    let told = told.expect("the releases differ here");
    assert!(
        told.starts_with("Large folios, \"two streams\", operation "),
        "{told}"
    );
}

#[test]
fn every_pattern_has_a_name_of_its_own() {
    let all = patterns::all();
    let names: BTreeSet<_> = all.iter().map(|pattern| &pattern.name).collect();
    assert_eq!(names.len(), all.len());
    assert!(all.len() >= 40, "the issue asks for 40");
}
