//! Whom the experiments compare, and what a row about them says.

use ahead_sim::report::WorldReport;
use ahead_study::verdict::{FigureRow, Verdict};

use crate::figure::float;

/// The stock logic as the article describes it.
pub(super) const STOCK: &str = "linux-2.6.18:ra_kb=128";
/// The stock logic with the window that the article's devices were set to.
pub(super) const STOCK_LARGE: &str = "linux-2.6.18:ra_kb=1024";
/// Adaptive read-ahead of the article.
pub(super) const ARA: &str = "ara-june:ra_kb=1024";
/// Ours.
pub(super) const OURS: &str = "adaptive";

/// The same row; if it does not hold, with the reason that was found.
pub(super) fn explained(mut row: FigureRow, why: &str) -> FigureRow {
    if row.verdict == Verdict::DoesNotHold {
        if !row.reason.is_empty() {
            row.reason += "; ";
        }
        row.reason += why;
    }
    row
}

pub(super) fn seconds(report: &WorldReport) -> f64 {
    float(report.elapsed_ns) / 1e9
}

/// Time of `report` over the time of `other`.
pub(super) fn time_ratio(report: &WorldReport, other: &WorldReport) -> f64 {
    float(report.elapsed_ns) / float(other.elapsed_ns.max(1))
}
