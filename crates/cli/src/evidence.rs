//! Steering constants from the environment: what `cargo run -p xtask -- evidence` sweeps.
//!
//! Only in builds with the feature `evidence`; the program that is shipped does not look.

use std::collections::BTreeMap;

use ahead_engine::evidence::constants;
use ahead_harness::predict::trees::predict_tree;
use ahead_sim::trees::TreeProgram;
use ahead_workload::tree::Tree;

use crate::disk;

/// `NAME=VALUE` of one steering constant.
const VARIABLE: &str = "AHEAD_EVIDENCE";

/// If it is there, programs in trees are simulated, and nothing else is done.
const TREES: &str = "AHEAD_EVIDENCE_TREES";

/// The trees, and the share of each in hundredths: some hundreds of files, in enough folders.
const TREE_SHARES: [(&str, u32); 3] = [("small", 20), ("many", 2), ("large", 20)];

/// A variable that names no steering constant, or no number.
#[derive(Debug, thiserror::Error)]
#[error("{VARIABLE}={text} is not NAME=NUMBER with the name of a steering constant")]
pub struct EvidenceError {
    text: String,
}

/// Sets what the environment asks for; nothing when the variable is absent.
///
/// # Errors
/// [`EvidenceError`].
pub fn apply() -> Result<(), EvidenceError> {
    let Ok(text) = std::env::var(VARIABLE) else {
        return Ok(());
    };
    let pair = text.split_once('=');
    let found = pair.and_then(|(name, value)| {
        let constant = constants().find(|constant| constant.name == name)?;
        Some((constant, value.parse().ok()?))
    });
    let (constant, value) = found.ok_or(EvidenceError { text })?;
    constant.set(value);
    Ok(())
}

/// How long each program takes in each tree on each disk with the helper, in nanoseconds, as a JSON object, where the
/// environment asks for that.
///
/// # Errors
/// One line: a tree cannot be simulated.
pub fn trees() -> Option<Result<String, String>> {
    std::env::var_os(TREES).map(|_| all_trees())
}

fn all_trees() -> Result<String, String> {
    let mut times = BTreeMap::new();
    for name in ["hdd", "ssd", "cloud"] {
        let model = disk::model(name).map_err(|error| error.to_string())?;
        for (data, percent) in TREE_SHARES {
            let tree = Tree::find(data).ok_or(data)?.scaled(percent);
            for program in TreeProgram::ALL.into_iter().chain(TreeProgram::PARTS) {
                let cell = format!("trees {name} {data} {}", program.name());
                let elapsed_ns = predict_tree(&model, 1 << 30, &tree, program, true)?;
                times.insert(cell, elapsed_ns);
            }
        }
    }
    serde_json::to_string(&times).map_err(|error| error.to_string())
}
