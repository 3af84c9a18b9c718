//! Questions to cargo: which packages the workspace has and where they lie, and where a freshly
//! built program is. Cargo is asked each time: a path that is guessed may lead to a program of
//! yesterday's sources.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The work tree.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// One package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its folder, from the root of the work tree.
    pub folder: PathBuf,
    /// The files that its libraries and programs begin with, from the root of the work tree.
    /// Tests, examples and benches are not among them, nor what is built only with a feature that
    /// is off by default: the fuzz targets, whose `main` is libFuzzer's.
    pub roots: Vec<PathBuf>,
}

/// The packages of the workspace, wherever they lie, sorted by name.
///
/// # Errors
/// Cargo cannot be asked.
pub fn packages() -> io::Result<Vec<Package>> {
    let output = run(Command::new(cargo()).current_dir(root()).args([
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version=1",
    ]))?;
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let mut packages: Vec<Package> = list(&metadata["packages"]).map(package).collect();
    packages.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(packages)
}

fn package(value: &Value) -> Package {
    let products = ["lib", "rlib", "cdylib", "bin"];
    let is_product = |target: &&Value| {
        let mut kinds = list(&target["kind"]).filter_map(Value::as_str);
        let is_kind = kinds.any(|kind| products.contains(&kind));
        is_kind && target["required-features"].is_null()
    };
    let targets = list(&value["targets"]).filter(is_product);
    let manifest = in_tree(&value["manifest_path"]);
    Package {
        name: text(&value["name"]),
        folder: manifest.parent().map(Path::to_owned).unwrap_or_default(),
        roots: targets.map(|target| in_tree(&target["src_path"])).collect(),
    }
}

fn in_tree(path: &Value) -> PathBuf {
    let path = PathBuf::from(text(path));
    let inside = path.strip_prefix(root()).map(Path::to_owned);
    inside.unwrap_or(path)
}

/// What makes a release build that of `make test`, as the Makefile says it too: whatever is counted is
/// counted in that one, also by who did not set it.
pub(crate) const TESTED_BUILD: [(&str, &str); 2] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
];

/// The release builds of `targets` (such as `--bin ahead --example speed`) by name, made again if
/// their sources are newer.
///
/// All packages take part and so do examples: cargo then chooses the same features as for
/// `cargo test --workspace`, and finds everything built when a test asks.
///
/// # Errors
/// It does not compile, or one of them is not there.
pub fn built(targets: &[(&str, &str)]) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut build = Command::new(cargo());
    build.current_dir(root());
    build.args(["build", "--release", "--locked", "--workspace", "--quiet"]);
    build.envs(TESTED_BUILD);
    build.arg("--message-format=json-render-diagnostics");
    for (kind, name) in targets {
        build.args([kind, name]);
    }
    let output = run(&mut build)?;
    let mut found = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(line)?;
        if let Some(path) = message["executable"].as_str() {
            found.insert(text(&message["target"]["name"]), PathBuf::from(path));
        }
    }
    match targets.iter().find(|(_, name)| !found.contains_key(*name)) {
        Some((_, name)) => Err(io::Error::other(format!("cargo built no `{name}`"))),
        None => Ok(found),
    }
}

/// Runs a command to its end.
///
/// # Errors
/// It cannot be started, or fails: with what it said.
pub fn run(command: &mut Command) -> io::Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| io::Error::other(format!("{name}: {error}")))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(io::Error::other(format!(
        "{name} ends with {}: {said}",
        output.status
    )))
}

/// The cargo that runs us, or the one in the path.
#[must_use]
pub fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
