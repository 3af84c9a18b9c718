//! `ahead explain`: why the daemon does with a file what it does, and what it decided before.
//!
//! A line with the reason of now, and then the decisions as `ahead run --explain` prints them.

use ahead_daemon::status::{DaemonStatus, FileStatus};

use crate::arguments;
use crate::asking::{About, AskingError, name_of, pages, pattern_of, reader_of};
use crate::explained::{self, Headings, Subject};
use crate::figures::seconds;
use crate::output::to_json;
use crate::prose;

/// What was decided, as text.
///
/// # Errors
/// [`AskingError`].
pub fn explain(arguments: &arguments::Explain) -> Result<String, AskingError> {
    let status = About::find(&arguments.target)?.ask(true)?;
    Ok(if arguments.json {
        to_json(&status.files)
    } else {
        prose::for_terminal(explained(&status))
    })
}

fn explained(status: &DaemonStatus) -> String {
    if status.files.is_empty() {
        return "no file of this is known: none of it had to be fetched from a device, or that is long ago\n"
            .to_owned();
    }
    status
        .files
        .iter()
        .map(|file| about_file(file, status.now_ns))
        .collect()
}

/// A file: the reason of now, and what was decided before.
pub(crate) fn about_file(file: &FileStatus, now_ns: u64) -> String {
    let account = &file.account;
    let mut text = format!(
        "{}, read by {}, {}: {}\n",
        name_of(file),
        reader_of(file),
        pattern_of(file),
        file.reason
    );
    text += &format!(
        "{} read, the last {} ago; {} requested, {} of it read, {} of this waited for, {} wasted, {} evicted unread\n",
        pages(account.pages),
        seconds(now_ns.saturating_sub(file.read_ns)),
        pages(account.requested),
        pages(account.useful),
        pages(account.late),
        pages(account.wasted),
        pages(account.thrashed),
    );
    if file.history_forgotten > 0 {
        let forgotten = file.history_forgotten;
        text += &format!("{forgotten} decisions before these are not kept\n");
    }
    let first_ns = file.history.first().map_or(0, |entry| entry.at_ns);
    let mut headings = Headings::default();
    for entry in &file.history {
        text += &headings.before((entry.process, Subject::Unnamed), &name_of(file));
        let since_first_ns = entry.at_ns.saturating_sub(first_ns);
        text += &explained::line(since_first_ns, format_args!("{}", entry.what));
    }
    text
}

#[cfg(test)]
mod tests {
    use ahead_daemon::status::{HistoryEntry, PageAccount};

    use super::*;

    fn entry(at_ms: u64, process: u32, what: &str) -> HistoryEntry {
        HistoryEntry {
            at_ns: at_ms * 1_000_000,
            process,
            pages: 4,
            what: what.to_owned(),
        }
    }

    #[test]
    fn the_reason_of_now_stands_above_the_decisions_of_each_process() {
        let file = FileStatus {
            device: 1,
            inode: 2,
            path: Some("/data/log".to_owned()),
            process: 8,
            name: Some("tac".to_owned()),
            cgroup: None,
            is_mapped: true,
            pattern: "backward".to_owned(),
            reason: "why".to_owned(),
            window_pages: 4,
            read_ns: 3_000_000_000,
            account: PageAccount {
                pages: 256,
                ..PageAccount::default()
            },
            history: vec![
                entry(1000, 7, "a"),
                entry(1500, 8, "b"),
                entry(2500, 8, "c"),
            ],
            history_forgotten: 3,
        };
        let lines = about_file(&file, 4_000_000_000);
        let lines: Vec<_> = lines.lines().collect();
        assert_eq!(lines[0], "/data/log, read by 8 tac, backward, mapped: why");
        assert!(lines[1].starts_with("1 MiB read, the last 1.000 s ago; "));
        assert_eq!(
            lines[2..],
            [
                "3 decisions before these are not kept",
                "ahead: [7] /data/log",
                "  +0.000000 a",
                "ahead: [8] /data/log",
                "  +0.500000 b",
                "  +1.500000 c",
            ]
        );
    }
}
