//! `ahead status`: asks the daemon, and shows what it says of the files that it knows.

use std::fmt::Write as _;

use ahead_daemon::status::DaemonStatus;
use ahead_study::table;

use crate::arguments;
use crate::asking::{
    About, AskingError, believed_of, device_of, kernels_name, name_of, pages, pattern_of, reader_of,
};
use crate::output::to_json;
use crate::prose;

/// What the daemon says, as text.
///
/// # Errors
/// [`AskingError`].
pub fn status(arguments: &arguments::Status) -> Result<String, AskingError> {
    let target = arguments.target.as_deref().map(About::find).transpose()?;
    let status = target.unwrap_or(About::All).ask(false)?;
    Ok(if arguments.json {
        to_json(&status)
    } else {
        prose::for_terminal(shown(&status))
    })
}

fn shown(status: &DaemonStatus) -> String {
    let mut text = format!(
        "process {}, mode {}: {} facts ({} lost), {} decisions in {} calls; {} files watched, {} without a window, {} requested and unread\n",
        status.process,
        status.mode,
        status.facts,
        status.facts_lost,
        status.decisions,
        status.calls,
        status.watched,
        status.narrowed,
        pages(status.unread_pages)
    );
    for device in &status.devices {
        let Some(believed) = &device.believed else {
            continue;
        };
        let name = kernels_name(device.device);
        let name = device_of(device.device, name.as_deref());
        let _ = writeln!(text, "device {name}: {}", believed_of(believed));
    }
    if status.files.is_empty() {
        text.push_str("no file of this is known\n");
        return text;
    }
    // Who reads, how, and why is below the file: beside it, all of them would be broken at each word on 80 columns.
    let titles = ["file", "read", "requested", "useful", "wasted"];
    let mut table = table::with_titles(&titles, 1..5);
    for file in &status.files {
        let account = &file.account;
        let (reader, pattern, why) = (reader_of(file), pattern_of(file), &file.reason);
        table.add_row([
            format!("{}\n  {reader}, {pattern}: {why}", name_of(file)),
            pages(account.pages),
            pages(account.requested),
            pages(account.useful),
            pages(account.wasted + account.thrashed),
        ]);
    }
    format!("{text}{table}\n")
}

#[cfg(test)]
mod tests {
    use ahead_daemon::status::{FileStatus, PageAccount};

    use super::*;

    /// Eight columns left four characters for the path on 80 columns.
    #[test]
    fn a_file_and_why_it_is_read_so_are_two_lines_of_words() {
        let account = PageAccount {
            pages: 1 << 18,
            requested: 300_000,
            useful: 250_000,
            ..PageAccount::default()
        };
        let file = FileStatus {
            device: 1,
            inode: 2,
            path: Some("/srv/db/base/16384/2619".to_owned()),
            process: 4021,
            name: Some("postgres".to_owned()),
            cgroup: None,
            is_mapped: false,
            pattern: "backward".to_owned(),
            reason: "marker crossed".to_owned(),
            window_pages: 256,
            read_ns: 1,
            account,
            history: Vec::new(),
            history_forgotten: 0,
        };
        let text = shown(&DaemonStatus {
            files: vec![file],
            ..DaemonStatus::default()
        });
        let words: Vec<_> = text.lines().map(str::trim_end).collect();
        let is_there = |part: &str| words.iter().any(|line| line.contains(part));
        assert!(is_there("/srv/db/base/16384/2619"), "{text}");
        assert!(is_there("4021 postgres, backward: marker"), "{text}");
    }
}
