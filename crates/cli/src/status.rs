//! `ahead status`: asks the daemon, and shows what it says of the files that it knows.

use std::fmt::Write as _;

use ahead_daemon::status::DaemonStatus;
use ahead_study::table;

use crate::arguments;
use crate::asking::{
    About, AskingError, believed_of, device_of, kernels_name, name_of, pages, pattern_of, reader_of,
};
use crate::output::to_json;

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
        shown(&status)
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
    let titles = [
        "file",
        "process",
        "pattern",
        "read",
        "requested",
        "useful",
        "wasted",
        "why",
    ];
    let mut table = table::with_titles(&titles, 3..7);
    for file in &status.files {
        let account = &file.account;
        table.add_row([
            name_of(file),
            reader_of(file),
            pattern_of(file),
            pages(account.pages),
            pages(account.requested),
            pages(account.useful),
            pages(account.wasted + account.thrashed),
            file.reason.clone(),
        ]);
    }
    format!("{text}{table}\n")
}
