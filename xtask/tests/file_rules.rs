//! Rules about files that no compiler checks: how long they are, how they open, where unsafe code
//! may live. Reads the source tree; knows nothing of what the code does.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::cargo::{Package, packages, root};

/// A longer file is usually two ideas.
const LINES_MAX: usize = 600;

/// Packages that talk to the kernel or to C; everywhere else the crate root forbids unsafe code.
const UNSAFE_PACKAGES: &[&str] = &["ahead-sys", "ahead-preload", "ahead-guest-disk"];

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
fn unsafe_code_lives_in_three_crates() {
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

/// A compiler's home in which `core` is the only crate: no `std`, no `alloc`, nothing that an
/// operating system has to be there for. What compiles in it needs none.
fn home_with_core_only(folder: &Path) -> PathBuf {
    let ask = |what: &[&str]| {
        let output = Command::new("rustc")
            .args(what)
            .current_dir(root())
            .output();
        let output = output.expect("rustc runs");
        String::from_utf8(output.stdout).expect("rustc prints text")
    };
    let host = host_target();
    let libraries = Path::new("lib/rustlib").join(&host).join("lib");
    let full = Path::new(ask(&["--print", "sysroot"]).trim()).join(&libraries);
    let home = folder.join("core-only");
    let bare = home.join(&libraries);
    std::fs::create_dir_all(&bare).expect("a folder");
    for entry in std::fs::read_dir(&full).expect("the libraries").flatten() {
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if text.starts_with("libcore-") || text.starts_with("libcompiler_builtins-") {
            // Another run may have left it.
            let _ = std::os::unix::fs::symlink(entry.path(), bare.join(&name));
        }
    }
    home
}

fn host_target() -> String {
    let output = Command::new("rustc")
        .arg("-vV")
        .current_dir(root())
        .output();
    let text = String::from_utf8(output.expect("rustc runs").stdout).expect("text");
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Compiles the library with `core` and whatever crates of ours it uses, which are then compiled
/// the same way. Flags meant for the target leave build scripts alone.
#[test]
fn the_policy_does_without_an_operating_system() {
    let folder = scratch("without-an-operating-system");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let home = home_with_core_only(&folder);
    let output = Command::new(cargo)
        .args(["rustc", "--quiet", "--locked", "--offline", "--lib"])
        .args(["--package", "ahead-policy", "--target", &host_target()])
        .arg("--target-dir")
        .arg(folder.join("target"))
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", format!("--sysroot={}", home.display()))
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "`policy` needs more than `core`:\n{said}"
    );
}

/// The check above fails when it should.
#[test]
fn a_crate_that_uses_std_or_alloc_is_noticed() {
    let folder = scratch("with-an-operating-system");
    let home = home_with_core_only(&folder);
    for (body, compiles) in [
        ("pub fn f() -> Option<u8> { None }", true),
        ("extern crate std;", false),
        ("extern crate alloc;", false),
    ] {
        let source = folder.join("source.rs");
        std::fs::write(&source, format!("#![no_std]\n{body}\n")).expect("a file");
        let output = Command::new("rustc")
            .args([
                "--edition",
                "2024",
                "--crate-type",
                "lib",
                "--emit",
                "metadata",
            ])
            .arg("--sysroot")
            .arg(&home)
            .arg("--out-dir")
            .arg(&folder)
            .arg(&source)
            .current_dir(root())
            .output()
            .expect("rustc runs");
        assert_eq!(output.status.success(), compiles, "{body}");
    }
}

/// Every file with steering constants is in the list that `xtask evidence` shows and sets, and every
/// constant points to its table.
#[test]
fn every_steering_constant_can_be_swept() {
    let mut written = 0;
    for path in rust_files() {
        let text = text(&path);
        if path.ends_with("policy/src/steering.rs") || !text.contains("\nsteering! {") {
            continue;
        }
        let name = path.to_string_lossy().into_owned();
        let (_, list) = text.split_once("\nsteering! {").expect("it is there");
        let (list, _) = list.split_once("\n}").expect("it ends");
        for line in list.lines().filter(|line| !line.trim().starts_with("///")) {
            // VISIBILITY NAME: TYPE = VALUE;
            let typed = line.split_once(" = ").map(|(typed, _)| typed);
            let Some((head, _)) = typed.and_then(|typed| typed.rsplit_once(": ")) else {
                continue;
            };
            let constant = head.split_whitespace().next_back().unwrap_or_default();
            let listed = ahead_engine::evidence::constants().any(|one| one.name == constant);
            assert!(listed, "{constant} of {name} is not in `engine::evidence`");
            let table = format!("/// Evidence: docs/results/evidence/{constant}.csv\n");
            assert!(text.contains(&table), "{name}: `{table}` before {constant}");
            written += 1;
        }
    }
    assert_eq!(written, ahead_engine::evidence::constants().count());
}
