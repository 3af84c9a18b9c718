//! `ahead doctor`: the findings of windows as text, and how the program ends.
//!
//! Nothing that asks for an action is the good case: it takes one line for each target, and the exit status is 0.

use std::fmt::Write as _;

use ahead_device::doctor::{self, Diagnosis};
use ahead_device::finding::{Finding, Severity};
use ahead_device::machine::MachineTree;
use ahead_device::origin::in_both_units;

use crate::arguments::Doctor;
use crate::device::DeviceCommandError;
use crate::exit::Exit;
use crate::output::to_json;

/// Examines what was asked for; the text to print, and the exit status: 1 for a warning or worse.
///
/// # Errors
/// [`DeviceCommandError`]: a target stands for nothing.
pub fn doctor(arguments: &Doctor) -> Result<(String, Exit), DeviceCommandError> {
    let machine = MachineTree::at(&arguments.options.root);
    let all =
        doctor::examine(&machine, &arguments.targets).map_err(DeviceCommandError::NotExamined)?;
    let worst = all.iter().filter_map(Diagnosis::worst).max();
    let exit = if worst >= Some(Severity::Warning) {
        Exit::Failed
    } else {
        Exit::Fine
    };
    let text = if arguments.options.json {
        to_json(&all)
    } else {
        text(&all)
    };
    Ok((text, exit))
}

fn text(all: &[Diagnosis]) -> String {
    let mut text = String::new();
    for one in all {
        text += &head(one);
        for finding in &one.findings {
            text += &block(finding);
        }
    }
    let mut unread: Vec<_> = all.iter().flat_map(|one| &one.unread).collect();
    unread.sort();
    unread.dedup();
    for note in unread {
        let _ = writeln!(text, "cannot use {}: {}", note.path, note.why);
    }
    if all.is_empty() {
        text += "Nothing here has a read-ahead window.\n";
    }
    text
}

fn head(one: &Diagnosis) -> String {
    let window = match (&one.layer, one.read_ahead_kb) {
        (Some(layer), Some(kib)) => format!("{} by {layer}", in_both_units(kib)),
        _ => "no window is known".to_owned(),
    };
    let answer = match one.worst() {
        _ if one.read_ahead_kb.is_none() => "",
        Some(Severity::Warning) => "",
        Some(Severity::Note) | None => "; no change recommended",
    };
    format!("{}: {window}{answer}\n", one.target)
}

fn block(finding: &Finding) -> String {
    let mut text = format!(
        "  {} {}: {}\n",
        finding.severity.word(),
        finding.id,
        finding.sentence
    );
    for evidence in &finding.evidence {
        let _ = writeln!(text, "    {}: {}", evidence.file, evidence.says);
    }
    for consequence in &finding.consequence {
        let _ = writeln!(text, "    {consequence}");
    }
    if let Some(repair) = &finding.repair {
        let _ = writeln!(text, "    repair: {repair}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::DeviceOptions;

    fn examined(kib: &str) -> (String, Exit) {
        let root = tempfile::tempdir().expect("a folder");
        let disk = root.path().join("sys/class/block/sda");
        std::fs::create_dir_all(disk.join("queue")).expect("a folder");
        std::fs::write(disk.join("dev"), "8:0\n").expect("written");
        std::fs::write(disk.join("queue/read_ahead_kb"), kib).expect("written");
        let options = DeviceOptions {
            json: false,
            root: root.path().into(),
        };
        let targets = vec!["sda".to_owned()];
        doctor(&Doctor { targets, options }).expect("examined")
    }

    #[test]
    fn nothing_found_is_one_line_and_success() {
        let line = "sda: 128 KiB (256 sectors) by sda; no change recommended\n";
        assert_eq!(examined("128\n"), (line.to_owned(), Exit::Fine));
    }

    #[test]
    fn a_warning_names_its_evidence_and_its_repair_and_ends_with_1() {
        let (text, exit) = examined("0\n");
        assert_eq!(exit, Exit::Failed);
        for part in [
            "warning zero-window: Nothing is read ahead on sda.",
            "/sys/block/sda/queue/read_ahead_kb: 0 (0 sectors)",
            "repair: sudo ahead device set sda 128K",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_said() {
        let (text, exit) = examined("many\n");
        assert_eq!(exit, Exit::Fine);
        assert!(
            text.contains("cannot use ") && text.contains("read_ahead_kb: not a number"),
            "{text}"
        );
    }
}
