//! What a command in a guest took, and what its disk had to do for it, for people and for programs.

use std::fmt;

use ahead_guest::sweep::{distinct_reads, sweep_ns};
use ahead_guest::{GuestDisk, GuestRun, LoggedRequest};
use ahead_harness::arm::Arm;
use ahead_study::table;
use serde::Serialize;

use crate::figures;
use crate::output::to_json;

/// Reads up to these lengths are shown together, in KiB; the last class is open.
const CLASSES_KIB: [u32; 6] = [4, 16, 64, 128, 512, 1024];

/// The reads of one class of lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Class {
    /// Longest read, in bytes; `None`: any.
    bytes_max: Option<u64>,
    reads: u64,
    bytes: u64,
    /// Of all of them together: from their arrival at the disk to their end.
    wait_ns: u64,
    longest_wait_ns: u64,
}

impl Class {
    fn add(&mut self, request: &LoggedRequest) {
        self.reads += 1;
        self.bytes += u64::from(request.bytes);
        self.wait_ns += request.took_ns();
        self.longest_wait_ns = self.longest_wait_ns.max(request.took_ns());
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Account {
    /// Virtual time from the start of the command to its end.
    elapsed_ns: u64,
    exit_code: i32,
    kernel: String,
    /// Time on the host's clock, boot included.
    wall_ms: u64,
    read_bytes: u64,
    /// Each byte once.
    distinct_bytes: u64,
    write_bytes: u64,
    reads: u64,
    longest_wait_ns: u64,
    by_size: Vec<Class>,
}

impl Account {
    /// Of a guest that has ended.
    pub(super) fn of(run: &GuestRun) -> Self {
        let bounds = CLASSES_KIB.map(|kib| Some(u64::from(kib) << 10));
        let mut by_size: Vec<Class> = bounds
            .into_iter()
            .chain([None])
            .map(|bytes_max| Class {
                bytes_max,
                ..Class::default()
            })
            .collect();
        let mut all = Class::default();
        let mut write_bytes = 0;
        for request in &run.requests {
            let bytes = u64::from(request.bytes);
            if request.is_write {
                write_bytes += bytes;
                continue;
            }
            all.add(request);
            let mut classes = by_size.iter_mut();
            let fits = |class: &&mut Class| class.bytes_max.is_none_or(|max| bytes <= max);
            if let Some(class) = classes.find(fits) {
                class.add(request);
            }
        }
        by_size.retain(|class| class.reads > 0);
        let distinct = distinct_reads(&run.requests);
        Self {
            elapsed_ns: run.measured.elapsed_ns(),
            exit_code: run.measured.exit_code,
            kernel: run.measured.kernel.clone(),
            wall_ms: u64::try_from(run.wall.as_millis()).unwrap_or(u64::MAX),
            read_bytes: all.bytes,
            distinct_bytes: distinct.iter().map(|(start, end)| end - start).sum(),
            write_bytes,
            reads: all.reads,
            longest_wait_ns: all.longest_wait_ns,
            by_size,
        }
    }

    /// The same reads in one sweep of the disk.
    pub(super) fn ceiling(self, run: &GuestRun, disk: &GuestDisk) -> Self {
        Self {
            elapsed_ns: sweep_ns(disk, &distinct_reads(&run.requests)),
            read_bytes: self.distinct_bytes,
            reads: 0,
            longest_wait_ns: 0,
            by_size: Vec::new(),
            ..self
        }
    }

    pub(super) fn to_json(&self) -> String {
        to_json(self)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = figures::seconds(self.elapsed_ns);
        let wall = figures::seconds(self.wall_ms * 1_000_000);
        writeln!(
            f,
            "virtual time {seconds} (Linux {}, {wall} on this machine)",
            self.kernel
        )?;
        writeln!(
            f,
            "disk: {} in {} reads, {} of it distinct; {} written",
            figures::size(self.read_bytes),
            self.reads,
            figures::size(self.distinct_bytes),
            figures::size(self.write_bytes),
        )?;
        if self.reads == 0 {
            return Ok(());
        }
        let mut table = table::with_titles(
            &["reads up to", "reads", "bytes", "mean wait", "longest wait"],
            1..5,
        );
        for class in &self.by_size {
            let bound = class.bytes_max.map(figures::size);
            table.add_row([
                bound.unwrap_or_else(|| "longer".to_owned()),
                class.reads.to_string(),
                figures::size(class.bytes),
                figures::seconds(class.wait_ns / class.reads.max(1)),
                figures::seconds(class.longest_wait_ns),
            ]);
        }
        writeln!(f, "{table}")
    }
}

/// Arms with their runs, in the order in which they were asked for.
pub(super) type Rows = [(Arm, Vec<Account>)];

/// The run in the middle, by time.
fn median(runs: &[Account]) -> Option<&Account> {
    let mut sorted: Vec<&Account> = runs.iter().collect();
    sorted.sort_by_key(|run| run.elapsed_ns);
    sorted.get(sorted.len() / 2).copied()
}

/// Slowest run against fastest, in millionths above 1.
fn spread_ppm(runs: &[Account]) -> Option<u64> {
    let fastest = runs.iter().map(|run| run.elapsed_ns).min()?;
    let slowest = runs.iter().map(|run| run.elapsed_ns).max()?;
    let ppm = u128::from(slowest - fastest) * 1_000_000 / u128::from(fastest.max(1));
    (runs.len() > 1).then(|| u64::try_from(ppm).unwrap_or(u64::MAX))
}

/// A table of arms; the first one is what the others are compared with.
pub(super) fn compared(rows: &Rows) -> String {
    let mut table = table::with_titles(
        &[
            "arm",
            "virtual time",
            "times\nas fast",
            "read",
            "reads",
            "longest wait",
            "spread",
        ],
        1..7,
    );
    let first = rows.first().and_then(|(_, runs)| median(runs));
    for (arm, runs) in rows {
        let Some(run) = median(runs) else {
            continue;
        };
        // Without a read the ceiling takes no time, and what the others take is none of a disk's.
        let permille = first.filter(|_| run.read_bytes > 0).map(|first| {
            let ratio = u128::from(first.elapsed_ns) * 1000 / u128::from(run.elapsed_ns.max(1));
            u64::try_from(ratio).unwrap_or(u64::MAX)
        });
        let spread =
            spread_ppm(runs).map(|ppm| format!("{}.{:03} %", ppm / 10_000, ppm / 10 % 1000));
        let known = |figure: String| {
            if run.reads == 0 {
                "-".to_owned()
            } else {
                figure
            }
        };
        table.add_row([
            arm.to_string(),
            figures::seconds(run.elapsed_ns),
            figures::ratio(permille),
            figures::size(run.read_bytes),
            known(run.reads.to_string()),
            known(figures::seconds(run.longest_wait_ns)),
            spread.unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    let runs = || rows.iter().flat_map(|(_, runs)| runs);
    let note = if runs().all(|run| run.read_bytes == 0) {
        "The command read nothing from its disk, which is its working folder: there is nothing to compare.\n"
    } else {
        ""
    };
    format!("{table}\n{note}")
}

/// The same with every run, for programs.
pub(super) fn compared_to_json(rows: &Rows) -> String {
    #[derive(Serialize)]
    struct Row<'a> {
        arm: String,
        runs: &'a [Account],
    }
    let rows: Vec<Row<'_>> = rows
        .iter()
        .map(|(arm, runs)| Row {
            arm: arm.to_string(),
            runs,
        })
        .collect();
    to_json(&rows)
}
