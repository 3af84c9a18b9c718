//! How much a figure's verdicts depend on each free number: every one halved and doubled.

use ahead_study::verdict::Verdict;

use crate::figure::{Figure, ModelKnobs, Publication, ReproduceError};

/// What one changed number changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Turned {
    /// The figure.
    pub figure: &'static str,
    /// The number that was changed.
    pub parameter: &'static str,
    /// What it was multiplied by.
    pub factor: f64,
    /// Rows with another verdict: the row, its verdict before, and after.
    pub changes: Vec<(String, Verdict, Verdict)>,
}

/// Halves and doubles each number of `publication` that turns, beside `as_is`, the figure with none
/// changed.
///
/// # Errors
/// [`ReproduceError`].
pub fn of(publication: &Publication, as_is: &Figure) -> Result<Vec<Turned>, ReproduceError> {
    let turning = publication.parameters.iter().filter(|known| known.turns);
    let cells = turning.flat_map(|parameter| [0.5, 2.0].map(|factor| (parameter.name, factor)));
    cells
        .map(|(parameter, factor)| {
            let figure = (publication.compute)(&ModelKnobs::times(parameter, factor))?;
            Ok(Turned {
                figure: publication.name,
                parameter,
                factor,
                changes: changes(as_is, &figure),
            })
        })
        .collect()
}

fn changes(before: &Figure, after: &Figure) -> Vec<(String, Verdict, Verdict)> {
    let pairs = before.rows.iter().zip(&after.rows);
    let changed = pairs.filter(|(before, after)| before.verdict != after.verdict);
    changed
        .map(|(before, after)| (before.what.clone(), before.verdict, after.verdict))
        .collect()
}
