//! What one access costs the policy, in instructions: the same number in every run, whatever else
//! the machine does.
//!
//! Two runs of different length are compared, so that start-up and learning cancel out.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The example, beside this test in the target folder; cargo builds it if it is not there yet.
fn steady_access() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let profile = test
        .parent()
        .and_then(Path::parent)
        .expect("target/<profile>/deps/<test>");
    let example = profile.join("examples/steady_access");
    if !example.exists() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args([
            "build",
            "--quiet",
            "-p",
            "ahead-policy",
            "--example",
            "steady_access",
        ]);
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        assert!(build.status().expect("cargo runs").success());
    }
    example
}

fn instructions(pattern: &str, count: u64) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(steady_access())
        .args([pattern, &count.to_string()])
        .output()
        .expect("valgrind runs; `make deps` installs it");
    let text = String::from_utf8_lossy(&output.stderr);
    let total = text
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, total) = total.unwrap_or_else(|| panic!("callgrind counts: {text}"));
    total.trim().parse().expect("a number")
}

fn per_access(pattern: &str) -> u64 {
    let (few, many) = (100_000, 300_000);
    (instructions(pattern, many) - instructions(pattern, few)) / (many - few)
}

/// At three instructions per nanosecond 150 are the promised 50 ns. Without optimisation the
/// number means nothing, so the test looks at optimised builds, which is what `make test` makes.
#[test]
#[cfg_attr(debug_assertions, ignore = "counts optimised code: run with --release")]
fn a_steady_access_takes_at_most_a_hundred_and_fifty_instructions() {
    for pattern in ["sequential", "streams64", "random"] {
        let instructions = per_access(pattern);
        println!("{pattern}: {instructions} instructions");
        assert!(instructions <= 150, "{pattern}: {instructions}");
    }
}
