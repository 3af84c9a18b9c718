//! No two files of a crate use each other, directly or by way of others: such files want a third
//! that both use, or are one idea. What counts as a use stands in `xtask/src/sources/circles.rs`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use xtask::cargo::packages;
use xtask::sources::{Circle, Crate, circles};

/// A circle that may be: files that call each other because what they describe does.
struct Recursion {
    package: &'static str,
    files: &'static [&'static str],
    reason: &'static str,
}

/// Honest recursions, each with its reason.
const RECURSIONS: &[Recursion] = &[Recursion {
    package: "ahead-disk-model",
    files: &["src/array.rs", "src/disk.rs", "src/model.rs"],
    reason: "an array is a disk made of disks, and its model holds the model of its members",
}];

/// Circles that are still to be cut: a package, and the files from its folder. One that is gone is
/// taken from this list, and none is added.
const KNOWN: &[(&str, &[&str])] = &[
    (
        "ahead-papers",
        &[
            "src/ara_2006/database.rs",
            "src/ara_2006/dd.rs",
            "src/ara_2006/iozone/mod.rs",
            "src/ara_2006/iozone/tables.rs",
            "src/ara_2006/mod.rs",
            "src/ara_2006/nfs.rs",
            "src/ara_2006/streams.rs",
            "src/dead_ahead_2017.rs",
            "src/disk_table_2010.rs",
            "src/ext2_2000/cells.rs",
            "src/ext2_2000/charts.rs",
            "src/ext2_2000/figures.rs",
            "src/ext2_2000/mod.rs",
            "src/ext2_2000/open_questions.rs",
            "src/hit_ratio_2010.rs",
            "src/lib.rs",
            "src/oci_2017.rs",
            "src/streams_2010.rs",
            "src/thrash_2010.rs",
            "src/x25m_2010.rs",
        ],
    ),
    (
        "ahead-replicas",
        &[
            "src/kernel/ara/backward.rs",
            "src/kernel/ara/closing.rs",
            "src/kernel/ara/context.rs",
            "src/kernel/ara/initial.rs",
            "src/kernel/ara/mod.rs",
            "src/kernel/ara/seek.rs",
            "src/kernel/ara/state.rs",
            "src/kernel/ara/submit.rs",
            "src/kernel/ara/thrash.rs",
        ],
    ),
    (
        "ahead-replicas",
        &["src/kernel/folio.rs", "src/kernel/folio_fault.rs"],
    ),
    (
        "ahead-replicas",
        &[
            "src/kernel/on_demand.rs",
            "src/kernel/on_demand_fault.rs",
            "src/kernel/thrash_safe.rs",
        ],
    ),
    (
        "ahead-replicas",
        &[
            "src/page_cache/mod.rs",
            "src/page_cache/pages.rs",
            "src/page_cache/reclaim.rs",
        ],
    ),
];

static FOUND: LazyLock<Vec<Circle>> = LazyLock::new(|| {
    let crates = Crate::read_all(&packages().expect("cargo answers")).expect("sources");
    crates.iter().flat_map(circles).collect()
});

fn is(circle: &Circle, package: &str, files: &[&str]) -> bool {
    let found: BTreeSet<&Path> = circle.files.iter().map(|file| file.as_path()).collect();
    let listed: BTreeSet<&Path> = files.iter().map(Path::new).collect();
    circle.package == package && found == listed
}

fn is_listed(circle: &Circle) -> bool {
    let mut recursions = RECURSIONS.iter();
    let mut known = KNOWN.iter();
    recursions.any(|it| is(circle, it.package, it.files))
        || known.any(|(package, files)| is(circle, package, files))
}

fn uses_of(circle: &Circle) -> String {
    let mut text = format!("{}:", circle.package);
    for (user, used, names) in &circle.uses {
        let (user, used) = (user.display(), used.display());
        text += &format!("\n  {user} uses {used}: {}", names.join(", "));
    }
    text
}

#[test]
fn no_two_files_of_a_crate_use_each_other() {
    let new: Vec<String> = FOUND
        .iter()
        .filter(|one| !is_listed(one))
        .map(uses_of)
        .collect();
    assert!(
        new.is_empty(),
        "\nfiles that use each other want a third, or are one idea:\n{}\n",
        new.join("\n")
    );
}

/// Prints each with what ties it: `cargo test -p xtask --test circles -- --nocapture`.
#[test]
fn every_circle_on_the_lists_is_still_one() {
    for circle in FOUND.iter() {
        println!("{}", uses_of(circle));
    }
    let recursions = RECURSIONS.iter().map(|it| (it.package, it.files));
    for (package, files) in recursions.chain(KNOWN.iter().copied()) {
        assert!(
            FOUND.iter().any(|circle| is(circle, package, files)),
            "{package}: these files are no circle any more, take them from the list: {files:?}"
        );
    }
}

#[test]
fn every_recursion_has_its_reason() {
    assert!(RECURSIONS.iter().all(|it| it.reason.contains(' ')));
}
