//! Predictions for people: a table of text, and a picture.
//!
//! In the picture each cell is a point, measured to the right and simulated upwards, on scales of
//! equal ratios. A cell that was predicted exactly lies on the diagonal; the lines beside it are
//! 15 % away.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::table::{self, Table};

use super::{Calibration, PredictedCell, Predictions};

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
    let _ = writeln!(
        text,
        "{} cells; absolute error: median {:.1} %, largest {:.1} %",
        predictions.cells.len(),
        predictions.median_error() * 100.0,
        predictions.worst_error() * 100.0
    );
    for disk in &predictions.disks {
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

fn cells_table(cells: &[PredictedCell]) -> Table {
    let titles = [
        "disk",
        "pattern",
        "read-ahead KiB",
        "measured MB/s",
        "spread %",
        "simulated MB/s",
        "error %",
        "KiB a request",
        "simulated",
    ];
    let mut table = table::markdown(&titles, 2..9);
    for cell in cells {
        let measured = cell.measured_mb_s();
        table.add_row([
            cell.disk.clone(),
            cell.scenario.to_string(),
            cell.window_kib.to_string(),
            format!("{:.1}", measured.value),
            format!("{:.1}", measured.spread * 100.0),
            format!("{:.1}", cell.simulated_mb_s()),
            format!("{:+.1}", cell.error() * 100.0),
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
            predictions.cells.len(),
            predictions.median_error() * 100.0,
            predictions.worst_error() * 100.0
        ),
        x_label: "measured on the emulated disk, MB/s".to_owned(),
        y_label: "simulated, MB/s".to_owned(),
        x_scale: Scale::Logarithmic,
        y_scale: Scale::Logarithmic,
        series,
        ..LineChart::default()
    })
}
