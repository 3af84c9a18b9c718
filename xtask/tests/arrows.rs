//! The crate graph against the arrow rule of ARCHITECTURE.md: every room stands on a floor, and
//! uses rooms of lower floors only. A broken rule is printed as the sentence that was broken.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Room and floor. A room that is not here has no place in the house yet: give it one, here and
/// in ARCHITECTURE.md.
const FLOORS: &[(&str, u32)] = &[
    ("ahead-policy", 0),
    ("ahead-engine", 1),
    ("ahead-disks", 1),
    ("ahead-trace", 1),
    ("ahead-sim", 2),
    ("ahead-sys", 2),
    ("ahead-disk", 3),
    ("ahead-study", 3),
    ("ahead-preload", 4),
    ("ahead-bench", 4),
    ("ahead-cli", 5),
];

/// May use everything; nothing uses them.
const OUTSIDE: &[&str] = &["ahead-fuzz", "xtask"];

fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

fn floor_of(name: &str) -> Option<u32> {
    FLOORS
        .iter()
        .find(|(room, _)| *room == name)
        .map(|&(_, floor)| floor)
}

/// One entry per use, user first. Uses by tests count too.
fn uses(metadata: &Value) -> Vec<(String, String)> {
    let packages = metadata["packages"].as_array().expect("packages");
    let name_of = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let ours: Vec<String> = packages.iter().map(name_of).collect();
    let mut uses = Vec::new();
    for package in packages {
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let used = name_of(dependency);
            if ours.contains(&used) {
                uses.push((name_of(package), used));
            }
        }
    }
    uses
}

/// The sentences that these uses break.
fn broken_sentences(uses: &[(String, String)]) -> Vec<String> {
    let mut broken = Vec::new();
    for (user, used) in uses {
        if OUTSIDE.contains(&used.as_str()) {
            broken.push(format!("nothing uses `{used}`, but `{user}` does"));
        }
        if OUTSIDE.contains(&user.as_str()) {
            continue;
        }
        match (floor_of(user), floor_of(used)) {
            (Some(above), Some(below)) if below < above => {}
            (Some(above), Some(below)) => broken.push(format!(
                "arrows point to lower floors only, never up, never sideways: \
                 `{user}` (floor {above}) uses `{used}` (floor {below})"
            )),
            _ => {}
        }
    }
    broken
}

#[test]
fn arrows_point_to_lower_floors_only() {
    let broken = broken_sentences(&uses(&metadata()));
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn every_room_has_a_floor() {
    for package in metadata()["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        assert!(
            floor_of(name).is_some() || OUTSIDE.contains(&name),
            "`{name}` has no floor: add it to FLOORS here and to ARCHITECTURE.md"
        );
    }
}

#[test]
fn the_policy_knows_nobody() {
    for package in metadata()["packages"].as_array().expect("packages") {
        if package["name"] == "ahead-policy" {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let normal: Vec<_> = dependencies
                .iter()
                .filter(|one| one["kind"].is_null())
                .collect();
            assert!(normal.is_empty(), "`ahead-policy` uses {normal:?}");
        }
    }
}

#[test]
fn an_arrow_that_points_up_or_sideways_is_noticed() {
    let one = |user: &str, used: &str| vec![(user.to_owned(), used.to_owned())];
    assert_eq!(broken_sentences(&one("ahead-cli", "ahead-policy")).len(), 0);
    assert_eq!(broken_sentences(&one("ahead-policy", "ahead-sys")).len(), 1);
    assert_eq!(
        broken_sentences(&one("ahead-engine", "ahead-disks")).len(),
        1
    );
    assert_eq!(broken_sentences(&one("ahead-cli", "xtask")).len(), 1);
}
