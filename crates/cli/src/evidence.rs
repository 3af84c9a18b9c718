//! Steering constants from the environment: what `cargo run -p xtask -- evidence` sweeps.
//!
//! Only in builds with the feature `evidence`; the program that is shipped does not look.

/// `NAME=VALUE` of one steering constant of the policy.
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
    let number = pair.and_then(|(name, value)| Some((name, value.parse().ok()?)));
    match number {
        Some((name, value)) if ahead_policy::evidence::set(name, value) => Ok(()),
        _ => Err(EvidenceError { text }),
    }
}
