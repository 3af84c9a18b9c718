//! Words that the project used for a while and that the field has others for. What is free of them
//! stays so; a package joins the list when its last one is gone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use xtask::cargo::{packages, root};
use xtask::sources::{Rule, Spoken, spoken};

const fn rule(forms: &'static [&'static str]) -> Rule {
    Rule { forms, except: &[] }
}

/// What is not said. The field says crate, thread group, strided range, deferred access, fast path,
/// comparison, discarded.
const RETIRED: &[Rule] = &[
    rule(&["room", "rooms"]),
    rule(&["crew", "crews"]),
    rule(&["comb", "combs"]),
    rule(&["letter", "letters"]),
    rule(&["glance", "glances"]),
    rule(&["court", "courts"]),
    rule(&["rubbish"]),
    rule(&["unnoted"]),
    Rule {
        forms: &["house", "houses"],
        except: &["in-house"],
    },
];

/// Packages in which none of these words stands, wherever they lie.
const CLEAN_PACKAGES: &[&str] = &[
    "ahead-disk-model",
    "ahead-harness",
    "ahead-policy",
    "ahead-sim",
    "ahead-units",
    "ahead-workload",
];

/// Files and folders of which the same is true.
const CLEAN_PATHS: &[&str] = &[
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "demo",
    "docs/results/approved",
    "packaging",
    "plans",
];

/// Every use in a package. This file is left out: it has to name them.
fn in_package(folder: &Path) -> Vec<Spoken> {
    let mut found = spoken(&root().join(folder), RETIRED).expect("sources");
    found.retain(|one| !one.file.ends_with(file!()));
    found
}

fn lines(found: &[Spoken]) -> String {
    let line = |one: &Spoken| format!("{}:{}: {}", one.file.display(), one.line, one.word);
    let lines: Vec<String> = found.iter().map(line).collect();
    lines.join("\n")
}

#[test]
fn no_retired_word_stands_where_none_stood() {
    let folders: BTreeMap<String, PathBuf> = packages()
        .expect("cargo answers")
        .into_iter()
        .map(|package| (package.name, package.folder))
        .collect();
    let folder = |name: &&str| {
        folders
            .get(*name)
            .unwrap_or_else(|| panic!("no package {name}"))
    };
    let mut found: Vec<Spoken> = CLEAN_PACKAGES
        .iter()
        .flat_map(|name| in_package(folder(name)))
        .collect();
    for path in CLEAN_PATHS {
        found.extend(spoken(&root().join(path), RETIRED).expect("files"));
    }
    assert!(
        found.is_empty(),
        "\nthe field has other words (GLOSSARY.md):\n{}\n",
        lines(&found)
    );
}

/// How far the rest is: `cargo test -p xtask --test words -- --nocapture`.
#[test]
fn every_package_is_counted() {
    for package in packages().expect("cargo answers") {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for one in in_package(&package.folder) {
            *counts.entry(one.word).or_default() += 1;
        }
        println!("{}: {counts:?}", package.name);
        let is_listed = CLEAN_PACKAGES.contains(&package.name.as_str());
        assert!(!is_listed || counts.is_empty(), "{}", package.name);
    }
}
