//! The daemon's log: lines on standard error, which the journal of systemd or a terminal takes.
//!
//! A line about a change of mind is `key=value` behind its first words, so that programs can take it apart:
//!
//! ```text
//! ahead daemon: change process=4285 name="tac" file="/data/log" what="192 KiB at 65280 KiB (backward: …)"
//! ```
//!
//! To the journal each line also says how important it is, as `sd-daemon(3)` has it.

use std::os::unix::fs::MetadataExt as _;

use ahead_daemon::changes::Change;
use ahead_daemon::daemon::Daemon;

use crate::output;

/// How important a line is, as syslog has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Notice = 5,
    Information = 6,
}

/// Where lines go, and which.
#[derive(Clone, Copy, Debug)]
pub(super) struct Log {
    /// The journal reads standard error.
    is_journal: bool,
    /// A line for each change of mind.
    pub(super) has_changes: bool,
}

impl Log {
    pub(super) fn new(has_changes: bool) -> Self {
        let stream = std::env::var("JOURNAL_STREAM").ok();
        Self {
            is_journal: stream.is_some_and(|stream| is_standard_error(&stream)),
            has_changes,
        }
    }

    /// One line about the daemon itself.
    pub(super) fn say(self, text: &str) {
        self.line(Level::Notice, text);
    }

    /// The changes of mind since this was called last.
    pub(super) fn changes(self, daemon: &mut Daemon) {
        let (changes, untold) = daemon.changes();
        if !self.has_changes {
            return;
        }
        if untold > 0 {
            let text =
                format!("change untold={untold}: more than are written; `ahead explain` has them");
            self.line(Level::Information, &text);
        }
        for change in &changes {
            self.line(Level::Information, &words(change));
        }
    }

    fn line(self, level: Level, text: &str) {
        output::to_stderr(&self.written(level, text));
    }

    fn written(self, level: Level, text: &str) -> String {
        let begin = if self.is_journal {
            format!("<{}>", level as u8)
        } else {
            String::new()
        };
        format!("{begin}ahead daemon: {text}\n")
    }
}

/// `JOURNAL_STREAM` is device and inode of what the journal reads.
fn is_standard_error(stream: &str) -> bool {
    let facts = std::fs::metadata("/proc/self/fd/2");
    facts.is_ok_and(|facts| stream == format!("{}:{}", facts.dev(), facts.ino()))
}

fn words(change: &Change) -> String {
    let name = change.name.as_deref().unwrap_or_default();
    let file = match &change.path {
        Some(path) => path.display().to_string(),
        None => format!("inode {}", change.file.inode),
    };
    format!(
        "change process={} name={} file={} what={}",
        change.process,
        quoted(name),
        quoted(&file),
        quoted(&change.deed.to_string())
    )
}

/// Names of files and processes may be anything, also a line end and what a terminal obeys.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use ahead_daemon::history::Deed;
    use ahead_observer::observation::FileKey;
    use ahead_units::Timestamp;

    use super::*;

    #[test]
    fn a_change_of_mind_is_one_line_whatever_the_file_is_called() {
        let change = Change {
            at: Timestamp::new(1),
            file: FileKey {
                device: 1,
                inode: 2,
            },
            process: 7,
            deed: Deed::WindowGivenBack,
            path: Some("/a \"b\"\n\u{1b}[2J".into()),
            name: Some("tac".to_owned()),
        };
        assert_eq!(
            words(&change),
            "change process=7 name=\"tac\" file=\"/a \\\"b\\\"\\n\\u{1b}[2J\" what=\"window given back\""
        );
        let unknown = Change {
            path: None,
            ..change
        };
        assert!(words(&unknown).contains(" file=\"inode 2\" "));
    }

    #[test]
    fn the_journal_hears_how_important_a_line_is_and_a_terminal_does_not() {
        let mut log = Log {
            is_journal: true,
            has_changes: true,
        };
        assert_eq!(log.written(Level::Information, "a"), "<6>ahead daemon: a\n");
        log.is_journal = false;
        assert_eq!(log.written(Level::Notice, "a"), "ahead daemon: a\n");
    }

    #[test]
    fn another_stream_is_not_the_journal() {
        assert!(!is_standard_error("1:2"));
        let own = std::fs::metadata("/proc/self/fd/2").unwrap();
        assert!(is_standard_error(&format!("{}:{}", own.dev(), own.ino())));
    }
}
