//! What makes a model unusable, and the limits that its figures must keep to.

use crate::names;

/// A model that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No preset has this name.
    #[error(
        "no disk model is called {0:?}: use the path of a .toml file, one of {presets}, \
         arm, flash or volume with figures, such as volume:latency-us=3000, or by-chance:seed=7",
        presets = names::NAMES.join(", ")
    )]
    UnknownPreset(String),
    /// Not an order of service.
    #[error("no order of service is called {0:?}: use fifo, c-look, or c-look:MS")]
    UnknownOrder(String),
    /// The text is not a model.
    #[error("not a disk model: {0}")]
    Syntax(String),
    /// A figure is outside of what makes sense.
    #[error("disk model: {field} must be {expected}")]
    Figure {
        /// The field at fault.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
    },
}

/// Refuses a `field` that is not from `min` to `max`.
pub(crate) fn within(
    field: &'static str,
    value: u64,
    min: u64,
    max: u64,
    expected: &'static str,
) -> Result<(), ModelError> {
    if (min..=max).contains(&value) {
        Ok(())
    } else {
        Err(ModelError::Figure { field, expected })
    }
}

/// Refuses a rate that no disk has.
pub(crate) fn within_rate(field: &'static str, bytes_per_s: u64) -> Result<(), ModelError> {
    within(
        field,
        bytes_per_s,
        1_000,
        1_000_000_000_000,
        "from 1000 to 10^12 bytes",
    )
}

/// Refuses a time that no request takes.
pub(crate) fn within_us(field: &'static str, us: u64) -> Result<(), ModelError> {
    within(field, us, 0, 60_000_000, "at most a minute")
}
