//! `ahead replay`: a recorded trace, done again on a real file system.
//!
//! Each recorded thread becomes a thread here; each file that it opened is opened by it anew, so
//! that the kernel and a preloaded library see what they saw of the program. Reads are issued at
//! their recorded offsets. Nothing is ever written to a file that exists.
//!
//! This file reads the trace and hands its records out; `names` says which file a name is, and
//! `player` is what one thread does.

mod names;
mod player;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

use ahead_trace::{Access, FileNames, Operation, Reader, Relative, Statistics};
use serde_json::json;

use crate::arguments::Replay;
use crate::exit::Exit;
use crate::figures::{count, seconds};
use crate::output;
use crate::traces::{self, ReadingProgress, TraceCommandError};
use names::Names;
use player::{Job, Outcome, Pace, Player};

/// Threads at most; recorded threads beyond share them.
const THREADS_MAX: u32 = 1024;
/// Records that wait for one thread. Threads of a trace run apart by no more than this.
const WAITING_MAX: usize = 1 << 14;

/// Replays, and says how it went. `Failed` when reads failed.
///
/// # Errors
/// The trace cannot be read to its end, or the files not be created.
pub fn replay(arguments: &Replay) -> Result<Exit, TraceCommandError> {
    let names = Names::new(arguments.root.as_deref(), arguments.cold);
    if arguments.create {
        create_files(arguments, &names)?;
    }
    let mut reader = Relative::new(traces::reader(&arguments.trace_file, &arguments.trace)?);
    let pace = if arguments.fast {
        Pace::Fast
    } else {
        Pace::Recorded
    };
    let mut progress = ReadingProgress::new(&arguments.trace_file);
    let started = Instant::now();
    let mut stage = Stage::new(names, pace, started);
    let mut damage = None;
    while let Some(access) = reader.next() {
        match access {
            Ok(access) => stage.hand_out(&access, reader.files())?,
            Err(error) => damage = Some(error),
        }
        progress.on_record(&reader);
    }
    let outcome = stage.finish();
    drop(progress);
    let elapsed_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    output::to_stdout(&if arguments.json {
        as_json(&outcome, elapsed_ns)
    } else {
        as_text(&outcome, elapsed_ns, pace)
    })?;
    if let Some(error) = damage {
        return Err(error.into());
    }
    Ok(if outcome.failures == 0 {
        Exit::Fine
    } else {
        Exit::Failed
    })
}

/// Reads the trace once to see how large its files have to be, and creates those that are missing.
fn create_files(arguments: &Replay, names: &Names) -> Result<(), TraceCommandError> {
    if arguments.trace_file.as_os_str() == "-" {
        return Err(TraceCommandError::Usage(
            "--create reads the trace twice, so it must be a file".to_owned(),
        ));
    }
    let mut reader = traces::reader(&arguments.trace_file, &arguments.trace)?;
    let mut statistics = Statistics::new();
    let mut progress = ReadingProgress::new(&arguments.trace_file);
    // What a damaged trace says before the damage is replayed too; the damage is reported then.
    while let Some(Ok(access)) = reader.next() {
        statistics.add(&access);
        progress.on_record(&*reader);
    }
    for file in reader.files().iter() {
        let size = reader.files().size(file).unwrap_or(0);
        let size = size.max(statistics.end_of(file));
        names
            .create(&reader.files().name(file), size)
            .map_err(|(path, source)| TraceCommandError::File { path, source })?;
    }
    Ok(())
}

/// The threads, and who plays whom.
struct Stage {
    names: Arc<Names>,
    pace: Pace,
    started: Instant,
    /// By recorded thread.
    players: HashMap<u32, usize>,
    troupe: Vec<(SyncSender<Job>, JoinHandle<Outcome>)>,
    outcome: Outcome,
}

impl Stage {
    fn new(names: Names, pace: Pace, started: Instant) -> Self {
        Self {
            names: Arc::new(names),
            pace,
            started,
            players: HashMap::new(),
            troupe: Vec::new(),
            outcome: Outcome::default(),
        }
    }

    fn hand_out(&mut self, access: &Access, files: &FileNames) -> Result<(), TraceCommandError> {
        match access.operation {
            Operation::Prefetch(_) => return Ok(()),
            Operation::Write | Operation::Sync | Operation::Discard => {
                self.outcome.writes_left_out += 1;
                return Ok(());
            }
            Operation::Fault if access.is_mapping() => {
                self.outcome.mappings_left_out += 1;
                return Ok(());
            }
            _ => {}
        }
        let player = self.player(access.thread)?;
        let job = Job {
            access: *access,
            path: self.names.path(access.file, files),
        };
        // A player that broke has said why; its share is counted as failed.
        if self.troupe[player].0.send(job).is_err() {
            self.outcome.failures += 1;
        }
        Ok(())
    }

    fn player(&mut self, thread: u32) -> Result<usize, TraceCommandError> {
        if let Some(player) = self.players.get(&thread) {
            return Ok(*player);
        }
        let troupe_max = usize::try_from(THREADS_MAX).unwrap_or(usize::MAX);
        let place = if self.troupe.len() == troupe_max {
            self.players.len() % troupe_max
        } else {
            let (sender, jobs) = sync_channel(WAITING_MAX);
            let player = Player::new(self.pace, self.started, self.names.drops_cache());
            let thread = std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn(move || player.play(&jobs))?;
            self.troupe.push((sender, thread));
            self.troupe.len() - 1
        };
        self.players.insert(thread, place);
        Ok(place)
    }

    fn finish(mut self) -> Outcome {
        let recorded = self.players.len() as u64;
        for (sender, thread) in self.troupe.drain(..) {
            drop(sender);
            match thread.join() {
                Ok(outcome) => self.outcome.add(&outcome),
                Err(_) => self.outcome.failures += 1,
            }
        }
        self.outcome.threads = recorded;
        self.outcome
    }
}

fn as_text(outcome: &Outcome, elapsed_ns: u64, pace: Pace) -> String {
    let mut text = format!(
        "{} by {}, {} bytes in {} = {} MB/s\n",
        count(outcome.reads, "read"),
        count(outcome.threads, "thread"),
        outcome.bytes,
        seconds(elapsed_ns),
        megabytes_per_second(outcome.bytes, elapsed_ns),
    );
    let latency = &outcome.latency;
    let at = |quantile| seconds(latency.value_at_quantile(quantile));
    if !latency.is_empty() {
        text += &format!(
            "latency: median {}, 99 % at most {}, largest {}\n",
            at(0.5),
            at(0.99),
            seconds(latency.max())
        );
    }
    if pace == Pace::Recorded {
        text += &format!(
            "the latest read began {} behind its time\n",
            seconds(outcome.latest_ns)
        );
    }
    let mut line = |number: u64, one: &str, what: &str| {
        if number > 0 {
            text += &format!("{} {what}\n", count(number, one));
        }
    };
    line(
        outcome.short_reads,
        "read",
        "got less than was recorded: the file is shorter",
    );
    line(outcome.writes_left_out, "write", "left out");
    line(
        outcome.mappings_left_out,
        "mapping",
        "left out: the trace saw no page faults",
    );
    line(outcome.failures, "record", "failed");
    if let Some(first) = &outcome.first_failure {
        text += &format!("first failure: {first}; try --root DIR, or --root DIR --create\n");
    }
    text
}

fn as_json(outcome: &Outcome, elapsed_ns: u64) -> String {
    let latency = &outcome.latency;
    let value = json!({
        "elapsed_ns": elapsed_ns,
        "threads": outcome.threads,
        "reads": outcome.reads,
        "bytes": outcome.bytes,
        "megabytes_per_second": megabytes_per_second(outcome.bytes, elapsed_ns),
        "latency_ns": {
            "p50": latency.value_at_quantile(0.5),
            "p90": latency.value_at_quantile(0.9),
            "p99": latency.value_at_quantile(0.99),
            "max": latency.max(),
        },
        "latest_ns": outcome.latest_ns,
        "short_reads": outcome.short_reads,
        "writes_left_out": outcome.writes_left_out,
        "mappings_left_out": outcome.mappings_left_out,
        "failures": outcome.failures,
        "first_failure": outcome.first_failure,
    });
    format!("{value:#}\n")
}

fn megabytes_per_second(bytes: u64, elapsed_ns: u64) -> u64 {
    let per_second = u128::from(bytes) * 1_000_000_000 / u128::from(elapsed_ns.max(1));
    u64::try_from(per_second / 1_000_000).unwrap_or(u64::MAX)
}
