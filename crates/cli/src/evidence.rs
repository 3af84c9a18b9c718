//! Steering constants from the environment: what `cargo run -p xtask -- evidence` sweeps.
//!
//! Only in builds with the feature `evidence`; the program that is shipped does not look.

use ahead_engine::evidence::constants;

/// `NAME=VALUE` of one steering constant.
const VARIABLE: &str = "AHEAD_EVIDENCE";

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
