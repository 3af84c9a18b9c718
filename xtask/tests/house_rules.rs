//! Rules about files that no compiler checks: how long they are, how they open, where unsafe code
//! may live. Reads the source tree; knows nothing of what the code does.

use std::path::{Path, PathBuf};

use xtask::cargo::{Package, packages, root};

/// A longer file is usually two ideas.
const LINES_MAX: usize = 600;

/// Packages that talk to the kernel or to C; everywhere else the crate root forbids unsafe code.
const UNSAFE_PACKAGES: &[&str] = &["ahead-sys", "ahead-preload"];

/// All files below `folder` with this ending, build output left out.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !name.starts_with("target") {
            files(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

fn rust_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for package in packages().expect("cargo answers") {
        files(&root().join(package.folder), ".rs", &mut found);
    }
    assert!(found.len() > 20, "the source tree was not found");
    found.sort();
    found
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn no_file_is_longer_than_six_hundred_lines() {
    let too_long: Vec<String> = rust_files()
        .iter()
        .map(|path| (path, text(path).lines().count()))
        .filter(|&(_, lines)| lines > LINES_MAX)
        .map(|(path, lines)| format!("{} has {lines} lines", path.display()))
        .collect();
    assert!(too_long.is_empty(), "\n{}\n", too_long.join("\n"));
}

#[test]
fn every_file_opens_with_what_it_is_responsible_for() {
    let silent: Vec<String> = rust_files()
        .iter()
        .filter(|path| !text(path).trim_start().starts_with("//!"))
        .map(|path| path.display().to_string())
        .collect();
    assert!(
        silent.is_empty(),
        "these do not open with a //! paragraph:\n{}\n",
        silent.join("\n")
    );
}

/// Every library and every program: each has a root of its own.
#[test]
fn unsafe_code_lives_in_two_crates() {
    let packages = packages().expect("cargo answers");
    for name in UNSAFE_PACKAGES {
        let is_there = packages.iter().any(|package| package.name == *name);
        assert!(is_there, "no package `{name}`");
    }
    let is_safe = |package: &&Package| !UNSAFE_PACKAGES.contains(&package.name.as_str());
    for package in packages.iter().filter(is_safe) {
        for crate_root in &package.roots {
            assert!(
                text(&root().join(crate_root)).contains("#![forbid(unsafe_code)]"),
                "{} does not forbid unsafe code",
                crate_root.display()
            );
        }
    }
}

#[test]
fn the_policy_does_without_an_operating_system() {
    let lib = text(&root().join("crates/policy/src/lib.rs"));
    // Its own unit tests may use the standard library.
    let forms = ["#![no_std]", "#![cfg_attr(not(test), no_std)]"];
    assert!(
        forms.iter().any(|form| lib.contains(form)),
        "`policy` is no_std"
    );
    assert!(
        !lib.contains("extern crate alloc"),
        "`policy` does not allocate"
    );
}
