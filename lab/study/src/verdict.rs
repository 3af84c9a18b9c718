//! A published figure beside ours, and what is to be said of the two.
//!
//! Three kinds of figure: those that follow from rules and arithmetic must match to the digit;
//! those that depend on hardware must keep their shape (order, ratio, crossover); the rest is
//! shown for context. A figure that does not hold is shown as such, with the reason.

use serde::{Deserialize, Serialize};

/// What is expected of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// Follows from rules and arithmetic.
    Exact,
    /// Order, ratio or crossover.
    Shape,
    /// Nothing; printed beside the others.
    Context,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Equal as printed.
    Exact,
    /// The shape is there.
    ShapeHolds,
    /// It is not.
    DoesNotHold,
    /// Not judged.
    Context,
}

impl Verdict {
    /// The words for a person.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::ShapeHolds => "shape holds",
            Self::DoesNotHold => "does not hold",
            Self::Context => "context",
        }
    }
}

/// One line of a figure's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What is compared, with its unit.
    pub what: String,
    /// As published: a number as printed there, or a statement.
    pub published: String,
    /// As simulated, printed the same way.
    pub simulated: String,
    /// Simulated over published, where both are numbers.
    pub ratio: Option<f64>,
    /// What became of it.
    pub verdict: Verdict,
    /// Why, where the verdict alone does not say it. May be empty.
    pub reason: String,
}

impl Row {
    /// A number that must be equal in all `digits` behind the point that the source printed.
    #[must_use]
    pub fn exact(what: impl Into<String>, published: f64, simulated: f64, digits: usize) -> Self {
        let (left, right) = (
            format!("{published:.digits$}"),
            format!("{simulated:.digits$}"),
        );
        let verdict = if left == right {
            Verdict::Exact
        } else {
            Verdict::DoesNotHold
        };
        Self::numbers(what, (left, published), (right, simulated), verdict)
    }

    /// Several numbers of one line, that must be printed as the source printed them.
    #[must_use]
    pub fn same(
        what: impl Into<String>,
        published: impl Into<String>,
        simulated: impl Into<String>,
    ) -> Self {
        let (published, simulated) = (published.into(), simulated.into());
        let verdict = if published == simulated {
            Verdict::Exact
        } else {
            Verdict::DoesNotHold
        };
        Self {
            what: what.into(),
            published,
            simulated,
            ratio: None,
            verdict,
            reason: String::new(),
        }
    }

    /// A number that must lie within `[low, high]` times the published one. The bounds are the
    /// caller's statement of what the shape is: choose them before looking.
    #[must_use]
    pub fn within(
        what: impl Into<String>,
        published: f64,
        simulated: f64,
        (low, high): (f64, f64),
        digits: usize,
    ) -> Self {
        let ratio = simulated / published;
        let holds = ratio >= low && ratio <= high;
        let verdict = if holds {
            Verdict::ShapeHolds
        } else {
            Verdict::DoesNotHold
        };
        let texts = (
            format!("{published:.digits$}"),
            format!("{simulated:.digits$}"),
        );
        Self::numbers(what, (texts.0, published), (texts.1, simulated), verdict)
    }

    /// A number for context.
    #[must_use]
    pub fn context(what: impl Into<String>, published: f64, simulated: f64, digits: usize) -> Self {
        let texts = (
            format!("{published:.digits$}"),
            format!("{simulated:.digits$}"),
        );
        Self::numbers(
            what,
            (texts.0, published),
            (texts.1, simulated),
            Verdict::Context,
        )
    }

    /// A statement, and whether the simulation shows it.
    #[must_use]
    pub fn statement(
        what: impl Into<String>,
        published: impl Into<String>,
        simulated: impl Into<String>,
        holds: bool,
    ) -> Self {
        Self {
            what: what.into(),
            published: published.into(),
            simulated: simulated.into(),
            ratio: None,
            verdict: if holds {
                Verdict::ShapeHolds
            } else {
                Verdict::DoesNotHold
            },
            reason: String::new(),
        }
    }

    /// The same row with a reason.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    fn numbers(
        what: impl Into<String>,
        published: (String, f64),
        simulated: (String, f64),
        verdict: Verdict,
    ) -> Self {
        let ratio = simulated.1 / published.1;
        Self {
            what: what.into(),
            published: published.0,
            simulated: simulated.0,
            ratio: ratio.is_finite().then_some(ratio),
            verdict,
            reason: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_means_every_digit_that_was_printed() {
        assert_eq!(Row::exact("a", 497.57, 497.5739, 2).verdict, Verdict::Exact);
        assert_eq!(
            Row::exact("a", 497.57, 497.58, 2).verdict,
            Verdict::DoesNotHold
        );
    }

    #[test]
    fn a_shape_that_is_out_of_bounds_is_said_not_to_hold() {
        let row = Row::within("a", 100.0, 131.0, (0.7, 1.3), 0);
        assert_eq!(row.verdict, Verdict::DoesNotHold);
        assert_eq!(row.ratio, Some(1.31));
    }
}
