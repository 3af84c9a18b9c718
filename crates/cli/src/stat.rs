//! `ahead stat`: what a trace is like, for people or as JSON.
//!
//! A damaged trace is counted up to the damage, and the command fails with its place.

use ahead_trace::{AnyReader, Reader, Spread, Statistics};
use serde_json::{Value, json};

use crate::arguments::Stat;
use crate::figures::{self, per_cent, seconds, size};
use crate::output;
use crate::traces::{self, ReadingProgress, TraceCommandError};

/// Sizes that are listed.
const SIZES_SHOWN: usize = 5;
/// Files that are listed.
const FILES_SHOWN: usize = 10;

/// Counts and prints.
///
/// # Errors
/// The trace cannot be read to its end, or the command line is wrong.
pub fn stat(arguments: &Stat) -> Result<(), TraceCommandError> {
    let mut reader = traces::reader(&arguments.trace_file, &arguments.trace)?;
    let mut statistics = Statistics::new();
    let mut damage = None;
    let mut progress = ReadingProgress::new(&arguments.trace_file);
    while let Some(access) = reader.next() {
        match access {
            Ok(access) => statistics.add(&access),
            Err(error) => damage = Some(error),
        }
        progress.on_record(&*reader);
    }
    drop(progress);
    statistics.finish();
    // A trace that is damaged from its first record on has nothing to say.
    if let Some(error) = damage.take_if(|_| statistics.operations.is_empty()) {
        return Err(error.into());
    }
    output::to_stdout(&if arguments.json {
        as_json(&statistics, &reader)
    } else {
        as_text(&statistics, &reader)
    })?;
    damage.map_or(Ok(()), |error| Err(error.into()))
}

fn as_text(statistics: &Statistics, reader: &AnyReader) -> String {
    let mut text = String::new();
    let mut row = |title: &str, value: String| {
        text += &format!("{title:28}{value}\n");
    };
    for (name, count) in &statistics.operations {
        row(&format!("records: {name}"), count.to_string());
    }
    row("passed over", reader.skipped().to_string());
    row("duration", seconds(statistics.duration_ns));
    row("threads", statistics.threads.to_string());
    row("files mentioned", reader.files().len().to_string());
    row("files read", statistics.files_read.to_string());
    row("bytes read", size(statistics.read_bytes));
    row("bytes written", size(statistics.written_bytes));
    let at_least = if statistics.distinct_is_exact {
        ""
    } else {
        "at least "
    };
    row("pages read", statistics.touched_pages.to_string());
    row(
        "distinct pages",
        format!("{at_least}{}", statistics.distinct_pages),
    );
    row(
        "pages read again",
        per_cent(again(statistics), statistics.touched_pages),
    );
    row(
        "sequential reads",
        per_cent(statistics.sequential_reads, statistics.reads),
    );
    row(
        "reads that go back",
        per_cent(statistics.backward_reads, statistics.reads),
    );
    for (place, (bytes, count)) in statistics.frequent_sizes(SIZES_SHOWN).iter().enumerate() {
        let title = if place == 0 {
            "frequent read sizes"
        } else {
            ""
        };
        row(
            title,
            format!("{} {}", size(*bytes), per_cent(*count, statistics.reads)),
        );
    }
    row("read size", spread(&statistics.read_sizes, size));
    row("run length", spread(&statistics.runs, size));
    if statistics.durations.count > 0 {
        row("time of a read", spread(&statistics.durations, seconds));
    }
    let (largest, rest) = largest_files(statistics, reader);
    for (name, end) in largest {
        text += &format!("{:>12}  {}\n", size(end), name.escape_debug());
    }
    if rest > 0 {
        text += &format!("{:>12}  {rest} more files\n", "");
    }
    text + &format!("\n{}\n", conclusion(statistics))
}

/// Of a thousand reads, how many have to be of a kind for all of them to be called so.
const MOSTLY_PERMILLE: u64 = 800;
/// And how many for that kind to be mentioned.
const SOME_PERMILLE: u64 = 200;

/// What the figures mean for read-ahead, in a sentence: in which order is read, by whom, and whether reading
/// ahead can help. It follows from counts alone; how much it helps depends on the disk (`ahead compare`).
fn conclusion(statistics: &Statistics) -> String {
    if statistics.reads == 0 {
        return "Nothing is read.".to_owned();
    }
    let permille = |count: u64| count.saturating_mul(1000) / statistics.reads;
    let (forward, backward) = (
        permille(statistics.sequential_reads),
        permille(statistics.backward_reads),
    );
    let plural = |count: u64, what: &str| match count {
        1 => format!("one {what}"),
        _ => figures::count(count, what),
    };
    let readers = format!(
        "{} in {}",
        plural(statistics.threads.max(1), "thread"),
        plural(statistics.files_read.max(1), "file")
    );
    let run = size(statistics.runs.mean());
    let is_again = again(statistics).saturating_mul(2) > statistics.touched_pages;
    let said = if forward >= MOSTLY_PERMILLE {
        format!(
            "Sequential, by {readers}, in runs of {run} in the mean: reading ahead can hide the disk's time."
        )
    } else if backward >= MOSTLY_PERMILLE {
        format!(
            "Mostly backward, by {readers}: a kernel reads nothing ahead of that, `ahead run` can."
        )
    } else if forward >= SOME_PERMILLE {
        format!(
            "Sequential in part ({} of the reads), by {readers}, in runs of {run} in the mean: reading ahead can \
             help these, and must not be paid for by the others.",
            per_cent(statistics.sequential_reads, statistics.reads)
        )
    } else {
        format!(
            "In no order that counts here, by {readers}: random, strided, or interleaved in one file. Of random \
             reads nothing can be read ahead; `ahead compare` shows what the order is worth."
        )
    };
    if is_again {
        return said
            + " More than half of the pages are read again: memory helps more than reading ahead.";
    }
    said
}

/// The files that reach furthest, and how many are left.
fn largest_files(statistics: &Statistics, reader: &AnyReader) -> (Vec<(String, u64)>, usize) {
    let files = reader.files();
    let mut ends: Vec<_> = files
        .iter()
        .map(|file| (statistics.end_of(file), file))
        .collect();
    ends.sort_unstable_by_key(|(end, file)| (std::cmp::Reverse(*end), *file));
    let rest = ends.len().saturating_sub(FILES_SHOWN);
    ends.truncate(FILES_SHOWN);
    let named = ends
        .into_iter()
        .map(|(end, file)| (String::from_utf8_lossy(&files.name(file)).into_owned(), end));
    (named.collect(), rest)
}

fn again(statistics: &Statistics) -> u64 {
    statistics
        .touched_pages
        .saturating_sub(statistics.distinct_pages)
}

fn spread(of: &Spread, show: impl Fn(u64) -> String) -> String {
    // Ends of buckets are one below a power of two, which is hard to read.
    let at_most = |per_mille| match of.at_most(per_mille) {
        end if end < of.max => format!("< {}", show(end + 1)),
        end => format!("≤ {}", show(end)),
    };
    format!(
        "mean {}, median {}, 99 % {}, largest {}",
        show(of.mean()),
        at_most(500),
        at_most(990),
        show(of.max)
    )
}

fn as_json(statistics: &Statistics, reader: &AnyReader) -> String {
    let files = reader.files();
    let listed: Vec<Value> = files
        .iter()
        .map(|file| {
            json!({
                "name": String::from_utf8_lossy(&files.name(file)),
                "size": files.size(file),
                "end": statistics.end_of(file),
            })
        })
        .collect();
    let operations: serde_json::Map<String, Value> = statistics
        .operations
        .iter()
        .map(|(name, count)| ((*name).to_owned(), json!(count)))
        .collect();
    let sizes: Vec<Value> = statistics
        .frequent_sizes(SIZES_SHOWN)
        .iter()
        .map(|(bytes, count)| json!({ "bytes": bytes, "reads": count }))
        .collect();
    let value = json!({
        "records": operations,
        "passed_over": reader.skipped(),
        "duration_ns": statistics.duration_ns,
        "threads": statistics.threads,
        "files_read": statistics.files_read,
        "read_bytes": statistics.read_bytes,
        "written_bytes": statistics.written_bytes,
        "reads": statistics.reads,
        "sequential_reads": statistics.sequential_reads,
        "backward_reads": statistics.backward_reads,
        "touched_pages": statistics.touched_pages,
        "distinct_pages": statistics.distinct_pages,
        "distinct_is_exact": statistics.distinct_is_exact,
        "frequent_sizes": sizes,
        "read_size_bytes": spread_json(&statistics.read_sizes),
        "run_bytes": spread_json(&statistics.runs),
        "read_duration_ns": spread_json(&statistics.durations),
        "files": listed,
    });
    format!("{value:#}\n")
}

fn spread_json(of: &Spread) -> Value {
    let buckets: Vec<Value> = of
        .buckets()
        .map(|(from, to, count)| json!([from, to, count]))
        .collect();
    json!({
        "count": of.count,
        "min": of.min,
        "max": of.max,
        "mean": of.mean(),
        "at_most_p50": of.at_most(500),
        "at_most_p99": of.at_most(990),
        "buckets": buckets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(reads: u64, sequential_reads: u64, backward_reads: u64) -> Statistics {
        let mut statistics = Statistics::new();
        statistics.reads = reads;
        statistics.sequential_reads = sequential_reads;
        statistics.backward_reads = backward_reads;
        statistics.threads = 2;
        statistics.files_read = 1;
        statistics.touched_pages = reads;
        statistics.distinct_pages = reads;
        statistics
    }

    #[test]
    fn the_conclusion_says_the_order_and_who_reads() {
        let begins = |statistics: &Statistics, words: &str| {
            let said = conclusion(statistics);
            assert!(said.starts_with(words), "{said}");
        };
        begins(&figures(100, 90, 0), "Sequential, by 2 threads in one file");
        begins(&figures(100, 0, 99), "Mostly backward");
        begins(
            &figures(100, 30, 30),
            "Sequential in part (30.0 % of the reads)",
        );
        begins(&figures(100, 1, 45), "In no order");
        begins(&figures(0, 0, 0), "Nothing is read");
    }

    #[test]
    fn pages_that_are_read_again_want_memory() {
        let mut statistics = figures(100, 90, 0);
        statistics.distinct_pages = 10;
        assert!(conclusion(&statistics).ends_with("memory helps more than reading ahead."));
    }
}
