//! A published figure beside ours, and what is to be said of the two.
//!
//! A row that is judged has to be able to fail. So each is judged twice by the same test: once as
//! simulated, and once under a *null model*, in which what the row is about is missing (both sides
//! under one algorithm, no read-ahead, a constant). A row that the null model passes is no evidence,
//! however well it fits. What a row may differ by is written with its source, which is the
//! publication's own spread: its repeats, the digits that it printed, its words.
//!
//! Rows that cannot fail are not judged: what was put into the model (`fitted`), what nobody published
//! (`ours`), and what is shown beside (`context`).

use serde::{Deserialize, Serialize};

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Equal as printed, and the null model is not.
    Exact,
    /// Within its bounds, and the null model is not.
    Holds,
    /// Not within its bounds.
    DoesNotHold,
    /// Not within its bounds where the set-up is modelled as described: what was published does not
    /// follow from it. The reason says why.
    Refuted,
    /// Within its bounds, as the null model is.
    NotDiscriminating,
    /// Restates a number that was put into the model.
    Fitted,
    /// Not published.
    Ours,
    /// Shown beside the others.
    Context,
}

impl Verdict {
    /// All of them, in the order of summaries.
    pub const ALL: [Self; 8] = [
        Self::Exact,
        Self::Holds,
        Self::DoesNotHold,
        Self::Refuted,
        Self::NotDiscriminating,
        Self::Fitted,
        Self::Ours,
        Self::Context,
    ];

    /// The words for people.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Refuted => "refuted",
            Self::NotDiscriminating => "not discriminating",
            Self::Fitted => "fitted",
            Self::Ours => "ours",
            Self::Context => "context",
        }
    }

    /// Whether a row with this verdict is evidence: it could have failed, and was not fitted.
    #[must_use]
    pub const fn is_evidence(self) -> bool {
        matches!(
            self,
            Self::Exact | Self::Holds | Self::DoesNotHold | Self::Refuted
        )
    }
}

/// What a side of a row shows, and whether the published claim is true of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// As it is printed.
    pub text: String,
    /// The claim is true of it.
    pub holds: bool,
}

impl Shown {
    /// `text`, of which the claim is true or not.
    #[must_use]
    pub fn new(text: impl Into<String>, holds: bool) -> Self {
        Self {
            text: text.into(),
            holds,
        }
    }
}

/// What a number may be, both ends inclusive, and who says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AllowedRange {
    /// Least.
    pub low: f64,
    /// Most.
    pub high: f64,
    /// Where in the publication the two come from.
    pub source: &'static str,
}

impl AllowedRange {
    /// Between `low` and `high`, which `source` gives.
    #[must_use]
    pub const fn of(low: f64, high: f64, source: &'static str) -> Self {
        Self { low, high, source }
    }

    /// Whether `value` is within.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        value >= self.low && value <= self.high
    }
}

/// The row under its null model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Null {
    /// What the model is.
    pub model: String,
    /// What it shows.
    pub shows: String,
    /// It passes the test of the row.
    pub passes: bool,
}

/// One line of a figure's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureRow {
    /// What is compared, with its unit.
    pub what: String,
    /// As published: a number as printed there, or a statement.
    pub published: String,
    /// What the simulated value may be, and where that comes from. Empty where nothing is judged.
    pub bound: String,
    /// As simulated, printed the same way.
    pub simulated: String,
    /// Simulated over published, where both are numbers.
    pub ratio: Option<f64>,
    /// The null model of a row that is judged.
    pub null: Option<Null>,
    /// What became of it.
    pub verdict: Verdict,
    /// Why, where the verdict alone does not say it. May be empty.
    pub reason: String,
}

impl FigureRow {
    /// A claim that `judge` tests, of `simulated` and of the null model alike. `bound` says how the
    /// words of the claim are read, and why so.
    #[must_use]
    pub fn judged<T: ?Sized>(
        what: impl Into<String>,
        published: impl Into<String>,
        bound: impl Into<String>,
        simulated: &T,
        (model, null): (&str, &T),
        judge: impl Fn(&T) -> Shown,
    ) -> Self {
        let (ours, null) = (judge(simulated), judge(null));
        let verdict = match (ours.holds, null.holds) {
            (false, _) => Verdict::DoesNotHold,
            (true, true) => Verdict::NotDiscriminating,
            (true, false) => Verdict::Holds,
        };
        Self {
            what: what.into(),
            published: published.into(),
            bound: bound.into(),
            simulated: ours.text,
            ratio: None,
            null: Some(Null {
                model: model.to_owned(),
                shows: null.text,
                passes: null.holds,
            }),
            verdict,
            reason: String::new(),
        }
    }

    /// Text that has to be as the source printed it.
    #[must_use]
    pub fn same(
        what: impl Into<String>,
        published: impl Into<String>,
        simulated: impl Into<String>,
        (model, null): (&str, impl Into<String>),
    ) -> Self {
        let published = published.into();
        let (simulated, null) = (simulated.into(), null.into());
        let mut row = Self::judged(
            what,
            published.clone(),
            "every digit",
            simulated.as_str(),
            (model, null.as_str()),
            |text: &str| Shown::new(text, text == published),
        );
        if row.verdict == Verdict::Holds {
            row.verdict = Verdict::Exact;
        }
        row
    }

    /// A number that has to lie within `spread`; all are printed with `digits` behind the point.
    #[must_use]
    pub fn within(
        what: impl Into<String>,
        published: f64,
        spread: AllowedRange,
        simulated: f64,
        (model, null): (&str, f64),
        digits: usize,
    ) -> Self {
        // A digit more: half a unit of the last printed one is a usual bound.
        let more = digits + 1;
        let bound = format!(
            "{:.more$} to {:.more$}: {}",
            spread.low, spread.high, spread.source
        );
        Self {
            ratio: ratio(simulated, published),
            ..Self::judged(
                what,
                format!("{published:.digits$}"),
                bound,
                &simulated,
                (model, &null),
                |value| Shown::new(format!("{value:.digits$}"), spread.contains(*value)),
            )
        }
    }

    /// A number that the model was given, as `parameter`, or that follows from such numbers alone.
    #[must_use]
    pub fn fitted(
        what: impl Into<String>,
        published: f64,
        simulated: f64,
        digits: usize,
        parameter: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Fitted,
            reason: parameter.into(),
            ..Self::context(what, published, simulated, digits)
        }
    }

    /// Nothing that was published: what was expected of it, and whether it came.
    #[must_use]
    pub fn ours(what: impl Into<String>, expected: &str, shown: Shown) -> Self {
        Self {
            verdict: Verdict::Ours,
            bound: format!(
                "expected: {expected}; {}",
                if shown.holds {
                    "so it is"
                } else {
                    "it is not so"
                }
            ),
            ..Self::shown(what, "", shown.text)
        }
    }

    /// A number for context.
    #[must_use]
    pub fn context(what: impl Into<String>, published: f64, simulated: f64, digits: usize) -> Self {
        Self {
            ratio: ratio(simulated, published),
            ..Self::shown(
                what,
                format!("{published:.digits$}"),
                format!("{simulated:.digits$}"),
            )
        }
    }

    /// Text for context.
    #[must_use]
    pub fn shown(
        what: impl Into<String>,
        published: impl Into<String>,
        simulated: impl Into<String>,
    ) -> Self {
        Self {
            what: what.into(),
            published: published.into(),
            bound: String::new(),
            simulated: simulated.into(),
            ratio: None,
            null: None,
            verdict: Verdict::Context,
            reason: String::new(),
        }
    }

    /// The same row with a reason, behind what it had.
    #[must_use]
    pub fn because(mut self, reason: impl AsRef<str>) -> Self {
        let reason = reason.as_ref();
        if !self.reason.is_empty() && !reason.is_empty() {
            self.reason += "; ";
        }
        self.reason += reason;
        self
    }

    /// The same row; if it does not hold, with the reason that was found.
    #[must_use]
    pub fn or_because(self, reason: &str) -> Self {
        if self.verdict == Verdict::DoesNotHold {
            return self.because(reason);
        }
        self
    }

    /// The same row; if it does not hold, the claim is what is wrong, for this reason.
    #[must_use]
    pub fn or_refuted(mut self, reason: &str) -> Self {
        if self.verdict == Verdict::DoesNotHold {
            self.verdict = Verdict::Refuted;
            return self.because(reason);
        }
        self
    }

    /// The same row as one that restates `parameter`: it is shown, and not judged.
    #[must_use]
    pub fn as_fitted(mut self, parameter: &str) -> Self {
        self.verdict = Verdict::Fitted;
        self.because(parameter)
    }
}

fn ratio(simulated: f64, published: f64) -> Option<f64> {
    let ratio = simulated / published;
    ratio.is_finite().then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: AllowedRange = AllowedRange::of(0.45, 0.55, "printed as 0.5");

    #[test]
    fn exact_means_every_digit_that_was_printed() {
        let row = |ours: &str| FigureRow::same("a", "497.57", ours, ("none", "1")).verdict;
        assert_eq!(row("497.57"), Verdict::Exact);
        assert_eq!(row("497.58"), Verdict::DoesNotHold);
    }

    #[test]
    fn what_the_null_model_passes_is_no_evidence() {
        let row = |null| FigureRow::within("a", 0.5, HALF, 0.52, ("both stock", null), 2);
        assert_eq!(row(0.5).verdict, Verdict::NotDiscriminating);
        assert_eq!(row(1.0).verdict, Verdict::Holds);
        let equal = FigureRow::same("a", "0", "0", ("none", "0"));
        assert!(!equal.verdict.is_evidence());
    }

    #[test]
    fn a_row_that_fails_is_evidence_whatever_the_null_model_does() {
        let row = FigureRow::within("a", 0.5, HALF, 0.7, ("both stock", 0.5), 2);
        assert_eq!(row.verdict, Verdict::DoesNotHold);
        assert_eq!(row.ratio, Some(1.4));
        assert_eq!(row.bound, "0.450 to 0.550: printed as 0.5");
        assert_eq!(row.or_refuted("why").verdict, Verdict::Refuted);
    }

    #[test]
    fn a_claim_that_holds_is_never_refuted() {
        let row = FigureRow::within("a", 0.5, HALF, 0.5, ("both stock", 1.0), 2);
        assert_eq!(row.clone().or_refuted("why"), row);
    }
}
