//! A measurement as text and as a picture.

use std::fmt::Write as _;

use ahead_device::measurement::ladder::{LadderWork, by_work};
use ahead_device::measurement::plan::StepPurpose;
use ahead_device::measurement::report::Measurement;
use ahead_device::measurement::statistics::{Spanned, StepResult};
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::table;

use crate::figures::{megabytes, per_cent_of_permille, seconds, size};

/// Everything, for people.
pub(super) fn text(measurement: &Measurement) -> String {
    let target = &measurement.target;
    let kind = if target.is_device { "device" } else { "file" };
    let mut text = format!(
        "{}: a {kind} of {}, read past the cache by {}\n\n",
        target.name,
        size(target.size_bytes),
        measurement.requests_by
    );
    text += &figures(measurement);
    text += &format!("\n{}\n", curve(measurement));
    text += &format!("\n{}\n", depths(measurement));
    if !measurement.ladder.is_empty() {
        text += &format!("\n{}", ladder(measurement));
    }
    if !measurement.notes.is_empty() {
        text += "\n";
    }
    for note in &measurement.notes {
        let _ = writeln!(text, "Note: {note}.");
    }
    text
}

fn steps(
    measurement: &Measurement,
    purpose: StepPurpose,
) -> impl Iterator<Item = &StepResult> + '_ {
    let is_it = move |one: &&StepResult| one.step.purpose == purpose && one.requests > 0;
    measurement.steps.iter().filter(is_it)
}

fn figures(measurement: &Measurement) -> String {
    let figures = &measurement.figures;
    let mut text = String::new();
    let mut row = |title: &str, value: String| {
        let _ = writeln!(text, "{title:18}{value}");
    };
    let spread = |of: &Spanned| per_cent_of_permille(Some(of.spread_permille()));
    let access = &figures.access_ns;
    row(
        "access time",
        format!(
            "{} (eight parts of the step: {} to {}, spread {})",
            seconds(access.value),
            seconds(access.low),
            seconds(access.high),
            spread(access)
        ),
    );
    if let Some(step) = steps(measurement, StepPurpose::Access).next() {
        let latency = &step.latency;
        row(
            "  percentiles",
            format!(
                "90 % {}, 99 % {}, 99.9 % {}, longest {}; {} reads of 4 KiB",
                seconds(latency.p90_ns),
                seconds(latency.p99_ns),
                seconds(latency.p999_ns),
                seconds(latency.max_ns),
                step.requests
            ),
        );
        row("  drift", drift(step));
    }
    let rate = |of: &Spanned| {
        format!(
            "{} MB/s (parts: {} to {}, spread {})",
            megabytes(of.value),
            megabytes(of.low),
            megabytes(of.high),
            spread(of)
        )
    };
    row("bandwidth", rate(&figures.bytes_per_second));
    if let Some(inner) = steps(measurement, StepPurpose::Inner).next() {
        row("  inner zone", rate(&inner.bytes_per_second));
    }
    row(
        "served at once",
        format!(
            "{} (at most {} random reads of 4 KiB per second, near to that from depth {} on)",
            figures.depth, figures.requests_per_second_max, figures.useful_depth
        ),
    );
    row(
        "line",
        figures.line.map_or_else(
            || "none: more bytes did not take longer".to_owned(),
            |line| {
                format!(
                    "{} + bytes / {} MB/s, from {} on within {}",
                    seconds(line.access_ns),
                    megabytes(line.bytes_per_second),
                    size(line.from_bytes),
                    per_cent_of_permille(Some(line.deviation_permille))
                )
            },
        ),
    );
    text
}

fn drift(step: &StepResult) -> String {
    let sign = if step.drift_permille < 0 { "-" } else { "+" };
    format!(
        "{sign}{}, the last quarter of the step beside its first",
        per_cent_of_permille(Some(step.drift_permille.unsigned_abs()))
    )
}

fn curve(measurement: &Measurement) -> table::Table {
    let titles = [
        "random reads of",
        "median",
        "spread",
        "99 %",
        "MB/s",
        "utilisation",
    ];
    let mut rows = table::with_titles(&titles, 1..6);
    for step in steps(measurement, StepPurpose::Size) {
        let median = step.median_ns;
        let utilisation = measurement
            .figures
            .utilisation_permille(step.step.request_bytes, median.value);
        rows.add_row([
            size(step.step.request_bytes),
            seconds(median.value),
            per_cent_of_permille(Some(median.spread_permille())),
            seconds(step.latency.p99_ns),
            megabytes(step.bytes_per_second.value),
            per_cent_of_permille(Some(utilisation)),
        ]);
    }
    rows
}

fn depths(measurement: &Measurement) -> table::Table {
    let titles = ["4 KiB at once", "per second", "spread", "median", "99 %"];
    let mut rows = table::with_titles(&titles, 1..5);
    for step in steps(measurement, StepPurpose::Depth) {
        rows.add_row([
            step.step.depth.to_string(),
            step.requests_per_second().to_string(),
            per_cent_of_permille(Some(step.bytes_per_second.spread_permille())),
            seconds(step.latency.p50_ns),
            seconds(step.latency.p99_ns),
        ]);
    }
    rows
}

/// MB/s by window; for random reads their latency as well.
fn ladder(measurement: &Measurement) -> String {
    let mut windows: Vec<u64> = measurement
        .ladder
        .iter()
        .map(|one| one.window_kib)
        .collect();
    windows.sort_unstable();
    windows.dedup();
    let names: Vec<String> = windows.iter().map(|kib| size(kib << 10)).collect();
    let mut titles = vec!["through the page cache, read_ahead_kb:"];
    titles.extend(names.iter().map(String::as_str));
    let columns = titles.len();
    let mut rows = table::with_titles(&titles, 1..columns);
    for (work, points) in by_work(&measurement.ladder) {
        let at = |kib: &u64| points.iter().find(|one| one.window_kib == *kib);
        let mut row = |title: String, cell: &dyn Fn(u64) -> Option<String>| {
            let cells = windows
                .iter()
                .map(|kib| cell(*kib).unwrap_or_else(|| "-".to_owned()));
            rows.add_row(std::iter::once(title).chain(cells));
        };
        let title = match work {
            LadderWork::Streams(1) => "1 stream, MB/s".to_owned(),
            LadderWork::Streams(count) => format!("{count} streams, MB/s"),
            LadderWork::Random(bytes) => format!("random {}, MB/s", size(bytes)),
        };
        row(title, &|kib| {
            let rate = at(&kib)?.bytes_per_second;
            let spread = rate.spread_permille() / 10;
            Some(format!(
                "{} ±{} %",
                megabytes(rate.value),
                spread.div_ceil(2)
            ))
        });
        if let LadderWork::Random(_) = work {
            row("  median".to_owned(), &|kib| {
                Some(seconds(at(&kib)?.p50_ns))
            });
        }
        row("  99 %".to_owned(), &|kib| Some(seconds(at(&kib)?.p99_ns)));
    }
    format!("{rows}\n")
}

/// Throughput, latency and utilisation over the size of requests: what was measured as points, what the line
/// says as lines.
pub(super) fn chart(measurement: &Measurement) -> Chart {
    let points = |name: &str, value: &dyn Fn(&StepResult) -> f64| Series {
        name: format!("{name}, measured"),
        points: steps(measurement, StepPurpose::Size)
            .map(|step| (kib(step.step.request_bytes), value(step)))
            .collect(),
        style: Style::Points,
    };
    let figures = &measurement.figures;
    let mut series = vec![
        points("MB/s", &|step| step.bytes_per_second.value as f64 / 1e6),
        points("latency, ms", &|step| step.median_ns.value as f64 / 1e6),
        points("utilisation, %", &|step| {
            let bytes = step.step.request_bytes;
            figures.utilisation_permille(bytes, step.median_ns.value) as f64 / 10.0
        }),
    ];
    if let Some(line) = figures.line {
        let sizes: Vec<u64> = steps(measurement, StepPurpose::Size)
            .map(|step| step.step.request_bytes)
            .collect();
        let mut drawn = |name: &str, value: &dyn Fn(f64, f64) -> f64| {
            let at = |bytes: &u64| {
                let transfer_ms = *bytes as f64 / line.bytes_per_second as f64 * 1e3;
                let took_ms = line.access_ns as f64 / 1e6 + transfer_ms;
                (kib(*bytes), value(transfer_ms, took_ms))
            };
            series.push(Series {
                name: format!("{name}, line"),
                points: sizes.iter().map(at).collect(),
                style: Style::Line,
            });
        };
        let mb_per_s = line.bytes_per_second as f64 / 1e6;
        drawn("MB/s", &|transfer, took| mb_per_s * transfer / took);
        drawn("latency, ms", &|_, took| took);
        drawn("utilisation, %", &|transfer, took| 100.0 * transfer / took);
    }
    Chart::Lines(LineChart {
        title: format!("{}: random reads, one at a time", measurement.target.name),
        x_label: "KiB of a request".to_owned(),
        y_label: "MB/s, ms, %".to_owned(),
        x_scale: Scale::Logarithmic,
        y_scale: Scale::Logarithmic,
        series,
        ..LineChart::default()
    })
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}
