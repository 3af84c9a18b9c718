//! The crate graph against the rule of ARCHITECTURE.md: every crate has a layer, and uses crates of
//! lower layers only. A broken rule is printed as the sentence that was broken.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Crate and layer. A crate that is not here has no layer yet: give it one, here and in
/// ARCHITECTURE.md.
const LAYERS: &[(&str, u32)] = &[
    // crates/: what runs on a user's machine
    ("ahead-units", 0),
    ("ahead-policy", 1),
    ("ahead-sys", 1),
    ("ahead-device", 2),
    ("ahead-engine", 2),
    ("ahead-observer", 2),
    ("ahead-preload", 3),
    ("ahead-daemon", 3),
    ("ahead-cli", 6),
    // lab/: how we know
    ("ahead-disk-model", 1),
    ("ahead-trace", 1),
    ("ahead-guest", 2),
    ("ahead-guest-disk", 2),
    ("ahead-replicas", 2),
    ("ahead-workload", 2),
    ("ahead-sim", 3),
    ("ahead-study", 4),
    ("ahead-papers", 5),
    // bench/: how we prove it
    ("ahead-disk-emulator", 3),
    ("ahead-harness", 5),
];

/// What runs on a user's machine knows nothing of the laboratory; the program does, as it offers it.
const PRODUCT: &[&str] = &[
    "ahead-units",
    "ahead-policy",
    "ahead-sys",
    "ahead-device",
    "ahead-engine",
    "ahead-observer",
    "ahead-preload",
    "ahead-daemon",
];

/// May use everything; nothing uses them.
const OUTSIDE: &[&str] = &["ahead-fuzz", "ahead-kernel-core-test", "xtask"];

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

fn layer_of(name: &str) -> Option<u32> {
    LAYERS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|&(_, layer)| layer)
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
        match (layer_of(user), layer_of(used)) {
            (Some(above), Some(below)) if below < above => {}
            (Some(above), Some(below)) => broken.push(format!(
                "dependencies point to lower layers only, never up, never sideways: \
                 `{user}` (layer {above}) uses `{used}` (layer {below})"
            )),
            _ => {}
        }
    }
    broken
}

#[test]
fn dependencies_point_to_lower_layers_only() {
    let broken = broken_sentences(&uses(&metadata()));
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn every_crate_has_a_layer() {
    for package in metadata()["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        assert!(
            layer_of(name).is_some() || OUTSIDE.contains(&name),
            "`{name}` has no layer: add it to LAYERS here and to ARCHITECTURE.md"
        );
    }
}

#[test]
fn the_policy_uses_units_and_nothing_else() {
    for package in metadata()["packages"].as_array().expect("packages") {
        if package["name"] == "ahead-policy" {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let names: Vec<_> = dependencies
                .iter()
                .filter(|one| one["kind"].is_null())
                .map(|one| one["name"].as_str().unwrap_or_default())
                .collect();
            assert_eq!(names, ["ahead-units"]);
        }
    }
}

#[test]
fn the_product_does_not_use_the_laboratory() {
    let broken: Vec<_> = uses(&metadata())
        .into_iter()
        .filter(|(user, used)| PRODUCT.contains(&&**user) && !PRODUCT.contains(&&**used))
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn a_dependency_that_points_up_or_sideways_is_noticed() {
    let one = |user: &str, used: &str| vec![(user.to_owned(), used.to_owned())];
    assert_eq!(broken_sentences(&one("ahead-cli", "ahead-policy")).len(), 0);
    assert_eq!(broken_sentences(&one("ahead-policy", "ahead-sys")).len(), 1);
    assert_eq!(
        broken_sentences(&one("ahead-engine", "ahead-replicas")).len(),
        1
    );
    assert_eq!(broken_sentences(&one("ahead-cli", "xtask")).len(), 1);
}
