//! Results as a table of text.

use std::fmt::Write as _;

use ahead_study::table::{self, Table};

use crate::results::Results;
use crate::statistics::Median;
use crate::summary::{Mean, Summary, SummaryRow, summarize};

/// The table with everything, and the distances to the ceiling below it.
#[must_use]
pub fn render_table(results: &Results) -> String {
    let summary = summarize(results);
    let mut text = heading(results);
    let _ = writeln!(text, "{}", throughput(&summary));
    let _ = writeln!(text, "\nTime of a read, memory\n{}", latency(&summary));
    text.push_str(&out_of_memory(results));
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

/// Names the runs for which there was not enough memory; they are in no row.
fn out_of_memory(results: &Results) -> String {
    if results.out_of_memory.is_empty() {
        return String::new();
    }
    let names = results.out_of_memory.iter();
    let names: Vec<String> = names
        .map(|run| format!("{} {}", run.scenario, run.arm))
        .collect();
    format!(
        "\nOut of memory, the kernel ended a reader: {}.\n",
        names.join(", ")
    )
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

/// How fast, and at what price.
fn throughput(summary: &Summary) -> Table {
    let titles = [
        "pattern",
        "arm",
        "MB/s",
        "of\nceiling",
        "of\nstock",
        "ampli-\nfication",
        "CPU s",
    ];
    let mut table = table::with_titles(&titles, 2..7);
    let part = |part: Option<Median>| part.map(|m| format!("{:.2}", m.value)).unwrap_or_default();
    for (pattern, row) in named(summary) {
        table.add_row([
            pattern,
            arm_name(row),
            with_spread(row.megabytes_per_second, 1),
            part(row.of_ceiling),
            part(row.of_stock),
            format!("{:.2}", row.amplification.value),
            with_spread(row.cpu_seconds, 2),
        ]);
    }
    table
}

/// How long single reads took, and what lay in memory for nothing.
fn latency(summary: &Summary) -> Table {
    let titles = [
        "pattern",
        "arm",
        "p50 µs",
        "p99 µs",
        "p99.9 µs",
        "unread MiB",
        "re-read MiB",
    ];
    let mut table = table::with_titles(&titles, 2..7);
    for (pattern, row) in named(summary) {
        let reread = row.reread_mib.map(|m| format!("{:.1}", m.value));
        table.add_row([
            pattern,
            arm_name(row),
            format!("{:.0}", row.p50_us.value),
            format!("{:.0}", row.p99_us.value),
            format!("{:.0}", row.p999_us.value),
            format!("{:.1}", row.unread_mib_max.value),
            reread.unwrap_or_default(),
        ]);
    }
    table
}

/// The rows, each with the name of its pattern where it differs from the one before.
fn named(summary: &Summary) -> impl Iterator<Item = (String, &SummaryRow)> {
    let mut previous = None;
    summary.rows.iter().map(move |row| {
        let is_new = previous.replace(&row.scenario) != Some(&row.scenario);
        let name = if is_new {
            row.scenario.to_string()
        } else {
            String::new()
        };
        (name, row)
    })
}

fn means(means: &[Mean]) -> Table {
    let mut table = table::with_titles(&["arm", "all", "without mmap", "patterns"], 1..4);
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

/// What the arm of a row is called, with the size that was best.
pub(crate) fn arm_name(row: &SummaryRow) -> String {
    match row.best_kib {
        Some(kib) => format!("static-best ({kib})"),
        None => row.arm.to_string(),
    }
}

/// A median with its spread in percent.
pub(crate) fn with_spread(median: Median, digits: usize) -> String {
    format!("{:.digits$} ({:.0}%)", median.value, median.spread * 100.0)
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
