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

static FOUND: LazyLock<Vec<Circle>> = LazyLock::new(|| {
    let crates = Crate::read_all(&packages().expect("cargo answers")).expect("sources");
    crates.iter().flat_map(circles).collect()
});

fn is(circle: &Circle, recursion: &Recursion) -> bool {
    let found: BTreeSet<&Path> = circle.files.iter().map(|file| file.as_path()).collect();
    let listed: BTreeSet<&Path> = recursion.files.iter().map(Path::new).collect();
    circle.package == recursion.package && found == listed
}

fn is_listed(circle: &Circle) -> bool {
    let mut recursions = RECURSIONS.iter();
    recursions.any(|it| is(circle, it))
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
fn every_recursion_on_the_list_is_still_one() {
    for circle in FOUND.iter() {
        println!("{}", uses_of(circle));
    }
    for recursion in RECURSIONS {
        let (package, files) = (recursion.package, recursion.files);
        assert!(
            FOUND.iter().any(|circle| is(circle, recursion)),
            "{package}: these files are no circle any more, take them from the list: {files:?}"
        );
    }
}

#[test]
fn every_recursion_has_its_reason() {
    assert!(RECURSIONS.iter().all(|it| it.reason.contains(' ')));
}
