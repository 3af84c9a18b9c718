//! One command for a window: of the findings that would each set it otherwise, one has the word.
//!
//! What its owner wrote comes before what the rules of the kernel give, and that before the value that there is. A
//! value that a file surely sets at boot is meant: what is found about it is a note, and no command says otherwise.

use crate::finding::{Finding, Repair, Severity};

/// Findings that object to the window itself, whatever set it.
const OBJECTIONS: [&str; 7] = [
    "zero-window",
    "default-window",
    "bogus-optimal-size",
    "rule-of-6-17",
    "large-window",
    "layers-disagree",
    "stacked-read-ahead",
];

/// Findings about what was written for the window, in the order in which they are believed.
const WRITTEN: [&str; 3] = ["sectors-for-kib", "not-as-persisted", "overwritten-by"];

/// The window is what a file surely sets at boot: objections to it are notes.
pub(crate) fn is_meant(findings: &mut [Finding]) {
    let objections = findings
        .iter_mut()
        .filter(|one| OBJECTIONS.contains(&one.id));
    for one in objections {
        one.severity = Severity::Note;
        one.repair = None;
    }
}

/// Leaves the command of the finding that has the word, and those that say the same value.
pub(crate) fn settle(findings: &mut [Finding]) {
    let order = || WRITTEN.iter().chain(&OBJECTIONS).chain(&["lost-at-boot"]);
    let rank = |one: &Finding| {
        let place = order().position(|id| *id == one.id);
        place.unwrap_or(usize::MAX)
    };
    let with_command = findings.iter().filter(|one| one.repair.is_some());
    let chosen: Option<Repair> = with_command
        .min_by_key(|one| rank(one))
        .and_then(|one| one.repair.clone());
    let Some(chosen) = chosen else {
        return;
    };
    for one in findings.iter_mut() {
        match &mut one.repair {
            Some(repair) if repair.kib != chosen.kib => one.repair = None,
            // Who looks at one finding alone sees the one command.
            Some(repair) if OBJECTIONS.contains(&one.id) => repair.clone_from(&chosen),
            _ => {}
        }
    }
}
