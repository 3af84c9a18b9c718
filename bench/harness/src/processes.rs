//! A job of several processes: one reader for each, and one that starts them and adds up what they
//! measured.
//!
//! Each says that its files are open, and waits until its input ends: all inputs end at one moment.
//! What it measured is the last line that it prints.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::read_error::{ReadError, io_error};
use crate::tally::{Tally, Timed};

/// What a process prints when it is ready.
const READY: &str = "ready";

/// What one process prints at its end, as JSON.
#[derive(Serialize, Deserialize)]
enum Part {
    Measured {
        useful_bytes: u64,
        reads: u64,
        /// `CLOCK_MONOTONIC`, the same for all of them.
        began_ns: u64,
        ended_ns: u64,
        /// How often a read took how long, in nanoseconds.
        latencies: Vec<(u64, u64)>,
        preloaded: bool,
    },
    Failed(String),
}

/// Says that this process is ready, and waits for the start.
pub(crate) fn wait_for_start() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{READY}")?;
    out.flush()?;
    io::stdin().lock().read_to_end(&mut Vec::new()).map(drop)
}

/// Prints what this process measured.
pub(crate) fn tell(outcome: Result<(Timed, bool), ReadError>) -> io::Result<()> {
    let part = match outcome {
        Ok((timed, preloaded)) => Part::Measured {
            useful_bytes: timed.tally.useful_bytes,
            reads: timed.tally.reads,
            began_ns: timed.began_ns,
            ended_ns: timed.ended_ns(),
            latencies: timed.tally.latencies().collect(),
            preloaded,
        },
        Err(error) => Part::Failed(error.to_string()),
    };
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &part)?;
    writeln!(out)
}

/// Runs `count` processes, each started as this one was, with its number behind the arguments. Also
/// says whether all of them had the library that was to be loaded.
pub(crate) fn read(count: usize) -> Result<(Timed, bool), ReadError> {
    let program = env::current_exe().map_err(io_error("cannot find", Path::new("ourselves")))?;
    let start = |number: usize| {
        let mut command = Command::new(&program);
        command.args(env::args_os().skip(1)).arg(number.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        match command.spawn() {
            Ok(child) => Ok(Started::new(child)),
            Err(error) => Err(io_error("cannot start", &program)(error)),
        }
    };
    let mut all: Vec<Started> = (0..count).map(start).collect::<Result<_, _>>()?;
    for one in &mut all {
        let said = one.line()?;
        if said != READY {
            return Err(why(&said));
        }
    }
    for one in &mut all {
        drop(one.input.take());
    }
    let mut total = Total::new();
    for one in &mut all {
        total.add(&one.line()?)?;
    }
    total.timed()
}

/// A process that has been started; it ends with this value.
struct Started {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Started {
    fn new(mut child: Child) -> Self {
        Self {
            input: child.stdin.take(),
            output: child.stdout.take().map(BufReader::new),
            child,
        }
    }

    /// The next line that it prints, without its end; empty when it has ended.
    fn line(&mut self) -> Result<String, ReadError> {
        let mut line = String::new();
        if let Some(output) = &mut self.output {
            let read = output.read_line(&mut line);
            read.map_err(io_error("cannot listen to", Path::new("a reader")))?;
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It has ended already, unless another one failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Why a process printed `said` where something else was expected.
fn why(said: &str) -> ReadError {
    let reason = match serde_json::from_str(said) {
        Ok(Part::Failed(reason)) => reason,
        _ => "it ended without a word".to_owned(),
    };
    ReadError::Process { reason }
}

/// All processes together.
struct Total {
    tally: Tally,
    began_ns: u64,
    ended_ns: u64,
    preloaded: bool,
}

impl Total {
    fn new() -> Self {
        Self {
            tally: Tally::new(),
            began_ns: u64::MAX,
            ended_ns: 0,
            preloaded: true,
        }
    }

    fn add(&mut self, said: &str) -> Result<(), ReadError> {
        let Ok(Part::Measured {
            useful_bytes,
            reads,
            began_ns,
            ended_ns,
            latencies,
            preloaded,
        }) = serde_json::from_str(said)
        else {
            return Err(why(said));
        };
        self.tally.add_part(useful_bytes, reads, latencies);
        self.began_ns = self.began_ns.min(began_ns);
        self.ended_ns = self.ended_ns.max(ended_ns);
        self.preloaded &= preloaded;
        Ok(())
    }

    fn timed(self) -> Result<(Timed, bool), ReadError> {
        let elapsed_ns = self.ended_ns.checked_sub(self.began_ns);
        let timed = Timed {
            tally: self.tally,
            began_ns: self.began_ns,
            elapsed_ns: elapsed_ns.ok_or(ReadError::Empty)?,
        };
        Ok((timed, self.preloaded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(began_ns: u64, ended_ns: u64, latency_ns: u64, preloaded: bool) -> String {
        let part = Part::Measured {
            useful_bytes: 4096,
            reads: 1,
            began_ns,
            ended_ns,
            latencies: vec![(latency_ns, 1)],
            preloaded,
        };
        serde_json::to_string(&part).unwrap()
    }

    #[test]
    fn processes_together_take_from_the_first_start_to_the_last_end() {
        let mut total = Total::new();
        total.add(&part(100, 600, 30, true)).unwrap();
        total.add(&part(90, 500, 10, false)).unwrap();
        let (timed, preloaded) = total.timed().unwrap();
        let measured = timed.measured();
        assert_eq!((measured.began_ns, measured.elapsed_ns), (90, 510));
        assert_eq!((measured.useful_bytes, measured.reads), (8192, 2));
        assert_eq!((measured.latency.p50_ns, measured.latency.max_ns), (10, 30));
        assert!(!preloaded, "one of them was without the library");
    }

    #[test]
    fn a_process_that_failed_says_why_and_one_that_is_gone_does_not() {
        let failed = serde_json::to_string(&Part::Failed("no such file".to_owned())).unwrap();
        let mut total = Total::new();
        let said = total.add(&failed).unwrap_err().to_string();
        assert!(said.ends_with("no such file"), "{said}");
        assert!(total.add("").is_err() && total.timed().is_err());
    }
}
