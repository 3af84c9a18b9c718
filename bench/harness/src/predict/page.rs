//! Predictions for people: a table of text, and a picture.
//!
//! In the picture each cell is a point, measured to the right and simulated upwards, on scales of
//! equal ratios. A cell that was predicted exactly lies on the diagonal; the lines beside it are
//! 15 % away.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::table::{self, Table};

use super::{Calibration, Errors, PredictedCell, Predictions};
use crate::arm::Arm;

/// The lines beside the diagonal.
const BAND: f64 = 0.15;

/// The table, and below it the errors and the costs that were measured.
#[must_use]
pub fn render_page(predictions: &Predictions) -> String {
    let repeats = predictions
        .cells
        .first()
        .map_or(0, |cell| cell.measured.len());
    let mut text = format!(
        "Predicted and measured, {} UTC, Linux {}, {} CPUs; median of {repeats} runs of {} ms\n",
        predictions.began,
        predictions.machine.kernel,
        predictions.machine.cpus,
        predictions.limits.milliseconds,
    );
    let _ = writeln!(text, "{}", cells_table(&predictions.cells));
    let is_library = |arm: &Arm| matches!(arm, Arm::Run { .. });
    let library = Errors::of(&predictions.cells, is_library);
    if library.cells > 0 {
        let stock = Errors::of(&predictions.cells, |arm| !is_library(arm));
        let _ = writeln!(text, "stock kernel: {}", said(stock));
        let _ = writeln!(text, "`ahead run`: {}", said(library));
    }
    let _ = writeln!(text, "{}", said(predictions.errors()));
    for disk in &predictions.disks {
        if disk.calibrations.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "{} ({}): {}",
            disk.disk.name,
            disk.disk.description,
            costs(&disk.costs)
        );
    }
    text
}

fn said(errors: Errors) -> String {
    format!(
        "{} cells; absolute error: median {}, largest {}",
        errors.cells,
        per_cent(errors.median),
        per_cent(errors.worst)
    )
}

/// With more digits where there is less to see.
pub(super) fn per_cent(error: f64) -> String {
    if error < 0.01 {
        format!("{:.2} %", error * 100.0)
    } else {
        format!("{:.1} %", error * 100.0)
    }
}

fn cells_table(cells: &[PredictedCell]) -> Table {
    let titles = [
        "disk",
        "pattern",
        "arm",
        "measured MB/s",
        "spread %",
        "simulated MB/s",
        "error %",
        "KiB a request",
        "simulated",
    ];
    let mut table = table::markdown(&titles, 3..9);
    for cell in cells {
        let measured = cell.measured_mb_s();
        table.add_row([
            cell.disk.clone(),
            cell.scenario.to_string(),
            cell.arm.to_string(),
            format!("{:.1}", measured.value),
            format!("{:.1}", measured.spread * 100.0),
            format!("{:.1}", cell.simulated_mb_s()),
            format!("{:+.2}", cell.error() * 100.0),
            format!("{:.0}", cell.measured_request_kib()),
            format!("{:.0}", cell.simulated_request_kib()),
        ]);
    }
    table
}

fn costs(costs: &Calibration) -> String {
    format!(
        "ns for a call {}, a page copied {} and checked {}, a fault {}, a page put into the cache \
         {}, a request {}, the way there and back {} and {} a page",
        costs.call_ns,
        costs.page_ns,
        costs.check_ns,
        costs.fault_ns,
        costs.insert_ns,
        costs.request_ns,
        costs.way_ns,
        costs.way_page_ns
    )
}

/// The picture.
#[must_use]
pub fn render_picture(predictions: &Predictions) -> Chart {
    let mut points: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    let mut range: Option<(f64, f64)> = None;
    for cell in &predictions.cells {
        let (x, y) = (cell.measured_mb_s().value, cell.simulated_mb_s());
        points.entry(&cell.disk).or_default().push((x, y));
        let (low, high) = range.unwrap_or((x, x));
        range = Some((low.min(x).min(y), high.max(x).max(y)));
    }
    let (low, high) = range.unwrap_or((1.0, 2.0));
    let line = |name: String, factor: f64| Series {
        name,
        points: vec![(low, low * factor), (high, high * factor)],
        style: Style::Line,
    };
    let errors = predictions.errors();
    let mut series: Vec<Series> = points
        .into_iter()
        .map(|(disk, mut points)| {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series {
                name: disk.to_owned(),
                points,
                style: Style::Points,
            }
        })
        .collect();
    series.push(line("equal".to_owned(), 1.0));
    series.push(line(format!("{:+.0} %", BAND * 100.0), 1.0 + BAND));
    series.push(line(format!("{:+.0} %", -BAND * 100.0), 1.0 - BAND));
    Chart::Lines(LineChart {
        title: format!(
            "Simulated against measured: {} cells, median error {:.1} %, largest {:.1} %",
            errors.cells,
            errors.median * 100.0,
            errors.worst * 100.0
        ),
        x_label: "measured, MB/s".to_owned(),
        y_label: "simulated, MB/s".to_owned(),
        x_scale: Scale::Logarithmic,
        y_scale: Scale::Logarithmic,
        series,
        ..LineChart::default()
    })
}
