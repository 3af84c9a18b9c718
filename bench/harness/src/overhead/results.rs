//! What `ahead bench overhead` found: every single run, and the figure of each row.

use serde::{Serialize, Serializer};

use super::row::{Bound, Effect};
use crate::results::MachineFacts;
use crate::statistics::{Interval, median, median_interval};

/// Version of the JSON form.
pub(super) const VERSION: u32 = 1;

/// Everything about one run of the bench.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverheadResults {
    /// Version of this form.
    pub version: u32,
    /// When it began, in UTC.
    pub began: String,
    /// Where.
    pub machine: MachineFacts,
    /// What the test files were on.
    pub file_system: String,
    /// The library.
    pub library: String,
    /// The library that it is held against.
    pub against: Option<String>,
    /// How often each row was run in each arm.
    pub repeat: u32,
    /// The rows, in the order of the table.
    pub rows: Vec<MeasuredRow>,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredRow {
    /// Its name.
    pub name: String,
    /// What was done.
    pub what: String,
    /// How the figure is made.
    pub effect: Effect,
    /// What it is to reach.
    pub bound: Option<Bound>,
    /// What was found.
    #[serde(flatten)]
    pub outcome: RowOutcome,
}

/// What was found in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOutcome {
    /// Nothing, and why.
    LeftOut(String),
    /// Figures.
    Measured(RowFigures),
}

/// The figures of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowFigures {
    /// Every run of the arm without the library: nanoseconds or calls for one operation.
    pub plain: Vec<f64>,
    /// Every run of the arm with it.
    pub with: Vec<f64>,
    /// Every run of the arm with the other library.
    pub against: Vec<f64>,
    /// The figure of the row; pairs of neighbours were compared, and this is their median.
    pub figure: MedianFigure,
    /// The same of the other library.
    pub figure_against: Option<MedianFigure>,
    /// Something to know about this row.
    pub note: Option<String>,
}

/// A median with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MedianFigure {
    /// The median.
    #[serde(serialize_with = "rounded")]
    pub value: f64,
    /// Where it would lie in 95 of 100 repetitions.
    #[serde(serialize_with = "rounded_ends")]
    pub interval: Interval,
}

/// To thousandths: of nanoseconds, calls, per cent or times, which is finer than any interval.
fn thousandths(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}

fn rounded<S: Serializer>(figure: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(thousandths(*figure))
}

fn rounded_ends<S: Serializer>(interval: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
    let ends = Interval {
        low: thousandths(interval.low),
        high: thousandths(interval.high),
    };
    ends.serialize(serializer)
}

/// Whether a row keeps to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundVerdict {
    /// Yes; `sure` when all of the interval does.
    Kept {
        /// Whether the whole interval lies on this side.
        sure: bool,
    },
    /// No; `sure` when none of the interval does.
    Missed {
        /// Whether the whole interval lies on this side.
        sure: bool,
    },
}

impl MedianFigure {
    /// Compares run by run; `None` without runs.
    #[must_use]
    pub fn new(effect: Effect, plain: &[f64], with: &[f64]) -> Option<Self> {
        let figures: Vec<f64> = if effect == Effect::Count {
            with.to_vec()
        } else {
            let pairs = plain.iter().zip(with);
            pairs
                .map(|(&plain, &with)| effect.of(plain, with))
                .collect()
        };
        Some(Self {
            value: median(&figures)?.value,
            interval: median_interval(&figures)?,
        })
    }

    /// Whether it keeps to `bound`.
    #[must_use]
    pub fn verdict(&self, effect: Effect, bound: &Bound) -> BoundVerdict {
        let keeps = |figure| effect.keeps(figure, bound.limit);
        let is_kept = keeps(self.value);
        let sure = keeps(self.interval.low) == is_kept && keeps(self.interval.high) == is_kept;
        if is_kept {
            BoundVerdict::Kept { sure }
        } else {
            BoundVerdict::Missed { sure }
        }
    }
}

impl MeasuredRow {
    /// Whether it keeps to its bound; `None` without a bound or without figures.
    #[must_use]
    pub fn verdict(&self) -> Option<BoundVerdict> {
        match &self.outcome {
            RowOutcome::LeftOut(_) => None,
            RowOutcome::Measured(measured) => {
                Some(measured.figure.verdict(self.effect, &self.bound?))
            }
        }
    }
}

impl OverheadResults {
    /// Whether a row that was measured misses its bound.
    #[must_use]
    pub fn misses_a_bound(&self) -> bool {
        let missed = |row: &MeasuredRow| matches!(row.verdict(), Some(BoundVerdict::Missed { .. }));
        self.rows.iter().any(missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_to_thousandths() {
        let figure = MedianFigure {
            value: 10.0 / 3.0,
            interval: Interval {
                low: -2.0 / 3.0,
                high: 1e6 / 7.0,
            },
        };
        let text = serde_json::to_string(&figure).expect("numbers");
        let expected = r#"{"value":3.333,"interval":{"low":-0.667,"high":142857.143}}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn neighbours_are_compared_so_that_a_slow_minute_hits_both() {
        let figure = MedianFigure::new(
            Effect::Added,
            &[100.0, 900.0, 110.0],
            &[130.0, 931.0, 139.0],
        );
        let figure = figure.unwrap();
        assert_eq!(figure.value, 30.0);
        let bound = Bound { limit: 30.5 };
        let verdict = figure.verdict(Effect::Added, &bound);
        assert_eq!(verdict, BoundVerdict::Kept { sure: false });
        let tight = Bound { limit: 20.0 };
        let verdict = figure.verdict(Effect::Added, &tight);
        assert_eq!(verdict, BoundVerdict::Missed { sure: true });
    }

    #[test]
    fn a_count_needs_no_plain_arm() {
        let figure = MedianFigure::new(Effect::Count, &[], &[470.0]).unwrap();
        assert_eq!(figure.value, 470.0);
        assert_eq!(MedianFigure::new(Effect::Speed, &[], &[]), None);
    }
}
