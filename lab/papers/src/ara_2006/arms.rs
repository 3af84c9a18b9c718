//! Whom the experiments compare, and what all rows about them share.

use ahead_sim::report::WorldReport;
use ahead_study::verdict::{FigureRow, Shown};

use crate::figure::float;

/// The stock logic as the article describes it.
pub(super) const STOCK: &str = "linux-2.6.18:ra_kb=128";
/// The stock logic with the window that the article's devices were set to.
pub(super) const STOCK_LARGE: &str = "linux-2.6.18:ra_kb=1024";
/// Adaptive read-ahead of the article.
pub(super) const ARA: &str = "ara-june:ra_kb=1024";
/// Ours.
pub(super) const OURS: &str = "adaptive";

/// The null model of every comparison of two algorithms.
pub(super) const BOTH_STOCK: &str = "stock on both sides";

pub(super) fn seconds(report: &WorldReport) -> f64 {
    float(report.elapsed_ns) / 1e9
}

/// Time of `report` over the time of `other`.
pub(super) fn time_ratio(report: &WorldReport, other: &WorldReport) -> f64 {
    float(report.elapsed_ns) / float(other.elapsed_ns.max(1))
}

/// "ARA is faster": by more than the published repeats differ by, which is up to `noise`.
pub(super) fn faster(
    what: String,
    noise: f64,
    ara: &WorldReport,
    stock: &WorldReport,
) -> FigureRow {
    FigureRow::judged(
        what,
        "faster",
        format!(
            "by more than {:.1} %, which two published runs differ by",
            100.0 * noise
        ),
        ara,
        (BOTH_STOCK, stock),
        |report| {
            let ratio = time_ratio(report, stock);
            Shown::new(
                format!("{ratio:.3} times the time of stock"),
                ratio < 1.0 - noise,
            )
        },
    )
}
