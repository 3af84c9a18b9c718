//! `ahead stat`: what a trace is like, for people or as JSON.
//!
//! A damaged trace is counted up to the damage, and the command fails with its place.

use ahead_trace::{AnyReader, Reader, Spread, Statistics};
use serde_json::{Value, json};

use crate::arguments::Stat;
use crate::figures::{per_cent, seconds, size};
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
    text
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
