//! `--explain`: the decisions of every process of the run, a line each below process and file, while
//! they are made.
//!
//! The account's ring of decisions is looked at twenty times a second. When more decisions were
//! made in between than the ring holds, the lines say how many are missing.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ahead_engine::report::{Event, PagesAsked, Report, Requested};
use ahead_policy::decision::{Decision, Prefetch};
use ahead_units::PageRange;

use super::account::AccountFile;
use crate::explained::{self, Headings, Subject};

/// Time between two looks. Shorter costs CPU beside CMD; longer and it is seen to lag.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Where the lines go.
pub enum Destination {
    /// Standard error, shared with CMD.
    StandardError,
    /// A file, opened already, until it cannot be written to.
    File(PathBuf, std::fs::File),
    /// What could not be written to that file is not written anywhere.
    Nowhere,
}

/// Why the lines cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write decisions to '{path}': {source}; name a writable file with --explain-to")]
pub struct OpenError {
    path: PathBuf,
    source: io::Error,
}

impl Destination {
    /// The file to write to, or standard error when there is none.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn open(path: Option<&PathBuf>) -> Result<Self, OpenError> {
        let Some(path) = path else {
            return Ok(Self::StandardError);
        };
        std::fs::File::create(path)
            .map(|file| Self::File(path.clone(), file))
            .map_err(|source| OpenError {
                path: path.clone(),
                source,
            })
    }

    fn write(&mut self, text: &str) {
        // A reader that has gone does not stop the run.
        match self {
            Self::StandardError => crate::output::to_stderr(text),
            Self::File(path, file) => {
                if let Err(source) = file.write_all(text.as_bytes()) {
                    let path = path.clone();
                    crate::output::problem(&OpenError { path, source }.to_string());
                    *self = Self::Nowhere;
                }
            }
            Self::Nowhere => {}
        }
    }
}

/// A thread that prints decisions until asked to stop.
pub struct Explainer {
    stop: Sender<()>,
    thread: JoinHandle<AccountFile>,
}

impl Explainer {
    /// Starts printing what appears in `account`.
    #[must_use]
    pub fn start(account: AccountFile, destination: Destination) -> Self {
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || follow(account, destination, &stopped));
        Self { stop, thread }
    }

    /// Prints what is left and gives the account back; `None` when the thread broke.
    #[must_use]
    pub fn finish(self) -> Option<AccountFile> {
        let _ = self.stop.send(());
        self.thread.join().ok()
    }
}

fn follow(
    account: AccountFile,
    mut destination: Destination,
    stopped: &Receiver<()>,
) -> AccountFile {
    let mut lines = Lines::default();
    loop {
        let last = !matches!(
            stopped.recv_timeout(LOOK_INTERVAL),
            Err(RecvTimeoutError::Timeout)
        );
        if let Ok(report) = account.read() {
            let text = lines.news_of(&report);
            if !text.is_empty() {
                destination.write(&text);
            }
        }
        if last {
            return account;
        }
    }
}

/// Turns successive looks at the account into lines, each decision once.
#[derive(Default)]
struct Lines {
    newest: u64,
    first_ns: Option<u64>,
    headings: Headings,
    /// Numbers that were still being written when the ring was last read.
    missing: VecDeque<u64>,
}

impl Lines {
    fn news_of(&mut self, report: &Report) -> String {
        let mut text = String::new();
        for event in &report.events {
            let is_new = event.sequence > self.newest;
            if !is_new && !self.missing.contains(&event.sequence) {
                continue;
            }
            if is_new {
                let gap = self.newest + 1..event.sequence;
                // A few are writers that have not finished; many were overwritten.
                if gap.end - gap.start > 64 {
                    let lost = gap.end - gap.start;
                    text.push_str(&format!("ahead: {lost} decisions came too fast to print\n"));
                    self.missing.clear();
                } else {
                    self.missing.extend(gap);
                }
                self.newest = event.sequence;
            } else {
                self.missing.retain(|&number| number != event.sequence);
            }
            self.missing.truncate(256);
            let first_ns = *self.first_ns.get_or_insert(event.time_ns);
            let (about, path) = subject(event, report);
            text.push_str(&self.headings.before((event.process, about), path));
            text.push_str(&line(event, event.time_ns.saturating_sub(first_ns)));
        }
        text
    }
}

/// What a decision is about, and its name.
fn subject<'a>(event: &Event, report: &'a Report) -> (Subject, &'a str) {
    match &event.asked {
        Requested::Files(_) => (Subject::Trees, "trees"),
        Requested::Pages(PagesAsked { file: None, .. }) => {
            (Subject::Unnamed, "(file beyond the table)")
        }
        Requested::Pages(PagesAsked {
            file: Some(index), ..
        }) => (Subject::File(*index), &report.files[*index].path),
    }
}

/// One decision; process and file stand above.
fn line(event: &Event, since_first_ns: u64) -> String {
    let asked = match &event.asked {
        Requested::Files(files) => return explained::line(since_first_ns, format_args!("{files}")),
        Requested::Pages(asked) => asked,
    };
    // What other processes wrote may be any number.
    let end = asked.start.saturating_add(asked.length);
    let decision = Decision {
        prefetch: Prefetch {
            first: PageRange::new(asked.start, end).into(),
            period: asked.period,
            count: u32::try_from(asked.count).unwrap_or(u32::MAX),
        },
        pattern: asked.pattern,
        reason: asked.reason,
    };
    explained::line(since_first_ns, format_args!("{decision}"))
}

#[cfg(test)]
mod tests {
    use ahead_engine::report::FileReport;
    use ahead_engine::tree_report::FilesAhead;
    use ahead_policy::file_order::order::{ListingOrder, Needed};

    use super::*;

    fn event(sequence: u64) -> Event {
        Event {
            sequence,
            process: 7,
            time_ns: sequence * 1_000_000,
            asked: pages_of(None),
        }
    }

    fn pages_of(file: Option<usize>) -> Requested {
        Requested::Pages(PagesAsked {
            file,
            start: 16,
            length: 4,
            period: 0,
            count: 1,
            pattern: ahead_policy::reason::Pattern::Backward,
            reason: ahead_policy::reason::Reason::default(),
        })
    }

    fn report(sequences: &[u64]) -> Report {
        Report {
            events: sequences.iter().copied().map(event).collect(),
            ..Report::default()
        }
    }

    fn decisions(text: &str) -> usize {
        text.lines().filter(|line| line.starts_with("  +")).count()
    }

    #[test]
    fn each_decision_is_printed_once() {
        let mut lines = Lines::default();
        assert_eq!(decisions(&lines.news_of(&report(&[1, 2]))), 2);
        assert_eq!(decisions(&lines.news_of(&report(&[1, 2, 3]))), 1);
    }

    #[test]
    fn process_and_file_are_named_when_they_are_others_than_before() {
        let mut lines = Lines::default();
        let mut report = report(&[1, 2, 3]);
        report.files = vec![FileReport {
            path: "/data/log".to_owned(),
            ..FileReport::default()
        }];
        report.events[1].asked = pages_of(Some(0));
        report.events[2].asked = pages_of(Some(0));
        let text = lines.news_of(&report);
        let named: Vec<_> = text.lines().filter(|line| !line.starts_with(' ')).collect();
        assert_eq!(
            named,
            ["ahead: [7] (file beyond the table)", "ahead: [7] /data/log"]
        );
        assert_eq!(decisions(&text), 3);
    }

    #[test]
    fn a_decision_that_was_still_being_written_is_printed_later() {
        let mut lines = Lines::default();
        assert_eq!(decisions(&lines.news_of(&report(&[1, 3]))), 2);
        assert_eq!(decisions(&lines.news_of(&report(&[1, 2, 3]))), 1);
        assert_eq!(lines.news_of(&report(&[1, 2, 3])), "");
    }

    #[test]
    fn overwritten_decisions_are_counted() {
        let mut lines = Lines::default();
        let _ = lines.news_of(&report(&[1]));
        let text = lines.news_of(&report(&[1002]));
        assert!(text.contains("1000 decisions"), "{text}");
    }

    #[test]
    fn a_batch_of_files_stands_below_trees() {
        let mut lines = Lines::default();
        let mut report = report(&[1, 2]);
        report.events[1].asked = Requested::Files(FilesAhead {
            order: ListingOrder::Named,
            needed: Needed::Whole,
            files: 40,
            folders: 3,
            bytes: 900 << 10,
        });
        let text = lines.news_of(&report);
        let end: Vec<_> = text.lines().rev().take(2).collect();
        let line = "  +0.001000 40 files in 3 folders, 900 KiB (by name)";
        assert_eq!(end, [line, "ahead: [7] trees"]);
    }

    #[test]
    fn a_line_says_what_where_and_why() {
        let text = line(&event(1), 1_500_000_000);
        assert!(text.starts_with("  +1.500000 "), "{text}");
        assert!(text.contains("16 KiB at 64 KiB (backward"), "{text}");
    }
}
