//! Public type names are unique across the workspace, unless they mean the same thing: who meets
//! `Plan` should not have to ask which one it is.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use xtask::cargo::packages;
use xtask::sources::{Crate, PublicType, public_types};

/// Names that several types share because they mean the same thing, and what that is.
const SHARED: &[(&str, &str)] = &[];

/// Names that mean two things and wait to be changed. One that is unique again is taken from this
/// list, and none is added.
const KNOWN: &[&str] = &[];

/// Names that more than one type has, with all types of that name.
static DUPLICATES: LazyLock<BTreeMap<String, Vec<PublicType>>> = LazyLock::new(|| {
    let crates = Crate::read_all(&packages().expect("cargo answers")).expect("sources");
    let mut by_name: BTreeMap<String, Vec<PublicType>> = BTreeMap::new();
    for one in crates.iter().flat_map(public_types) {
        by_name.entry(one.name.clone()).or_default().push(one);
    }
    by_name.retain(|_, types| types.len() > 1);
    by_name
});

fn is_shared(name: &str) -> bool {
    SHARED.iter().any(|(shared, _)| *shared == name)
}

fn places(types: &[PublicType]) -> String {
    let place = |one: &PublicType| format!("{} {}:{}", one.package, one.file.display(), one.line);
    let places: Vec<String> = types.iter().map(place).collect();
    places.join(", ")
}

#[test]
fn a_public_type_name_means_one_thing() {
    let is_listed = |name: &str| is_shared(name) || KNOWN.contains(&name);
    let new: Vec<String> = DUPLICATES
        .iter()
        .filter(|(name, _)| !is_listed(name))
        .map(|(name, types)| format!("`{name}`: {}", places(types)))
        .collect();
    assert!(
        new.is_empty(),
        "\nthese names mean more than one thing:\n{}\n",
        new.join("\n")
    );
}

/// Prints where each stands: `cargo test -p xtask --test types -- --nocapture`.
#[test]
fn every_name_on_the_lists_still_has_several_types() {
    for (name, types) in DUPLICATES.iter() {
        println!("{name}: {}", places(types));
    }
    let shared = SHARED.iter().map(|(name, _)| *name);
    for name in shared.chain(KNOWN.iter().copied()) {
        assert!(
            DUPLICATES.contains_key(name),
            "`{name}` is unique: take it from the list"
        );
    }
}

#[test]
fn every_shared_name_says_what_it_means() {
    assert!(SHARED.iter().all(|(_, meaning)| meaning.contains(' ')));
    assert!(KNOWN.iter().all(|name| !is_shared(name)));
}
