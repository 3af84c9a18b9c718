//! Results as a table of text.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, Table, presets};

use crate::results::Results;
use crate::statistics::Median;
use crate::summary::{Mean, Row, Summary, summarize};

/// The table with everything, and the distances to the ceiling below it.
#[must_use]
pub fn render_table(results: &Results) -> String {
    let summary = summarize(results);
    let mut text = heading(results);
    let _ = writeln!(text, "{}", patterns(&summary));
    text.push_str(&noise(&summary));
    if !summary.means.is_empty() {
        let _ = writeln!(
            text,
            "\nDistance to the ceiling, geometric mean of predictable patterns"
        );
        let _ = writeln!(text, "{}", means(&summary.means));
    }
    text
}

/// A spread from which on a figure should not be trusted to its second digit.
const NOISY: f64 = 0.15;

/// Names what varied from repeat to repeat, and what helps.
fn noise(summary: &Summary) -> String {
    let noisy: Vec<String> = summary
        .rows
        .iter()
        .filter(|row| row.megabytes_per_second.spread > NOISY)
        .map(|row| format!("{} {}", row.scenario, row.arm))
        .collect();
    if noisy.is_empty() {
        return String::new();
    }
    format!(
        "\nMore than {:.0} % apart from repeat to repeat: {}.\nStop other programs, or take longer \
         runs or more repeats.\n",
        NOISY * 100.0,
        noisy.join(", ")
    )
}

fn heading(results: &Results) -> String {
    format!(
        "{}: {}\n{} UTC, Linux {}, {} CPUs; median (spread) of {} repeats\n",
        results.disk.name,
        results.disk.description,
        results.began,
        results.machine.kernel,
        results.machine.cpus,
        results
            .runs
            .iter()
            .map(|run| run.repeat + 1)
            .max()
            .unwrap_or(0),
    )
}

fn patterns(summary: &Summary) -> Table {
    let mut table = empty();
    table.set_header([
        "pattern",
        "arm",
        "MB/s",
        "of ceiling",
        "of stock",
        "amplif.",
        "p50 µs",
        "p99 µs",
        "p99.9 µs",
        "CPU s",
        "unread MiB",
        "re-read MiB",
    ]);
    let mut previous = None;
    for row in &summary.rows {
        let pattern = if previous == Some(&row.scenario) {
            String::new()
        } else {
            row.scenario.to_string()
        };
        previous = Some(&row.scenario);
        let figures = [
            spread(row.megabytes_per_second, 1),
            row.of_ceiling
                .map(|m| format!("{:.2}", m.value))
                .unwrap_or_default(),
            row.of_stock
                .map(|m| format!("{:.2}", m.value))
                .unwrap_or_default(),
            format!("{:.2}", row.amplification.value),
            format!("{:.0}", row.p50_us.value),
            format!("{:.0}", row.p99_us.value),
            format!("{:.0}", row.p999_us.value),
            spread(row.cpu_seconds, 2),
            format!("{:.1}", row.unread_mib_max.value),
            row.reread_mib
                .map(|m| format!("{:.1}", m.value))
                .unwrap_or_default(),
        ];
        let mut cells = vec![Cell::new(pattern), Cell::new(arm(row))];
        cells.extend(figures.map(|text| Cell::new(text).set_alignment(CellAlignment::Right)));
        table.add_row(cells);
    }
    table
}

fn means(means: &[Mean]) -> Table {
    let mut table = empty();
    table.set_header(["arm", "all", "without mmap", "patterns"]);
    for mean in means {
        let without = mean
            .without_mapped
            .map(|m| format!("{m:.3}"))
            .unwrap_or_default();
        table.add_row([
            mean_name(mean),
            format!("{:.3}", mean.all),
            without,
            mean.patterns.to_string(),
        ]);
    }
    table
}

/// What a mean is called: its arm, or the best single size.
pub(crate) fn mean_name(mean: &Mean) -> String {
    match mean.single_kib {
        Some(kib) => format!("best single size ({kib} KiB)"),
        None if mean.arm == crate::arm::Arm::StaticBest => "static-best per pattern".into(),
        None => mean.arm.to_string(),
    }
}

fn arm(row: &Row) -> String {
    match row.best_kib {
        Some(kib) => format!("static-best ({kib})"),
        None => row.arm.to_string(),
    }
}

fn spread(median: Median, digits: usize) -> String {
    format!("{:.digits$} ({:.0}%)", median.value, median.spread * 100.0)
}

fn empty() -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::{record, results};

    #[test]
    fn a_table_names_patterns_arms_and_means() {
        let runs = vec![
            record("seq4k", "run", 0, 90),
            record("seq4k", "ceiling", 0, 100),
        ];
        let text = render_table(&results(runs, "run,ceiling"));
        for part in ["seq4k", "run", "ceiling", "0.90", "0.900", "geometric mean"] {
            assert!(text.contains(part), "{part} missing in\n{text}");
        }
        assert!(!text.contains("Stop other programs"), "{text}");
    }

    #[test]
    fn what_varies_is_named() {
        let runs = vec![record("seq4k", "run", 0, 90), record("seq4k", "run", 1, 70)];
        let text = render_table(&results(runs, "run"));
        assert!(text.contains("repeat to repeat: seq4k run."), "{text}");
    }
}
