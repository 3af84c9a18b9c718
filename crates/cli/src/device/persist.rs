//! `ahead device persist`, `verify` and `revert`: a plan is shown as a diff, then asked about, then carried out. Programs are asked
//! nothing: with `--json` the plan is all that comes of it, unless `--yes` was said.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _};

use ahead_device::display::{harmless, quoted};
use ahead_device::machine::MachineTree;
use ahead_device::mechanism::Mechanism;
use ahead_device::origin::in_both_units;
use ahead_device::persist::{self, PersistPlan, PlannedFile, RevertedWindow, WindowAfterRevert};
use ahead_device::verify::{self, VerifiedWindow};
use ahead_device::window::WindowChange;
use serde::Serialize;
use similar::TextDiff;

use super::error::DeviceCommandError;
use crate::arguments::{DeviceOptions, PersistChoice, PersistOptions};
use crate::exit::Exit;
use crate::output::{to_json, to_stdout};

/// What is to be done, and was, for programs.
#[derive(Serialize)]
struct PersistedWindow<'a> {
    plan: &'a PersistPlan,
    /// Whether it was carried out.
    written: bool,
    /// Nothing where only the plan was asked for: then nothing was written.
    change: Option<&'a WindowChange>,
}

/// Persists `kib` and returns the text to print.
pub(super) fn persist(
    machine: &MachineTree,
    arguments: &PersistOptions,
    kib: u64,
) -> Result<String, DeviceCommandError> {
    let only = arguments.mechanism.map(mechanism);
    let plan = persist::plan(machine, &arguments.target, kib, only)?;
    if arguments.options.json {
        let carry_out = || persist::carry_out(machine, &plan);
        let change = arguments.yes.then(carry_out).transpose()?;
        return Ok(to_json(&PersistedWindow {
            plan: &plan,
            written: change.is_some(),
            change: change.as_ref(),
        }));
    }
    say(&shown(&plan))?;
    if !arguments.yes {
        ask()?;
    }
    let change = persist::carry_out(machine, &plan)?;
    let target = quoted(&plan.target);
    Ok(format!(
        "{}: {} now, {} before, and at every boot by {}.\n`ahead device verify {target}` says whether it holds; `ahead device revert {target}` takes it back.\n",
        change.name,
        in_both_units(change.now_kib),
        in_both_units(change.before_kib),
        plan.files.first().map_or("", |file| &file.path)
    ))
}

/// The plan for whoever is asked: how the device is known, why this mechanism, and a diff of every file.
fn shown(plan: &PersistPlan) -> String {
    let mut text = format!(
        "{} gets {} at every boot, known by {}.\n",
        plan.name,
        in_both_units(plan.kib),
        harmless(&plan.identity.words())
    );
    for note in &plan.notes {
        let _ = writeln!(text, "{note}");
    }
    for file in &plan.files {
        text += &diff(file);
    }
    text
}

fn diff(file: &PlannedFile) -> String {
    let (before, now) = file.texts();
    let from = match file.before {
        Some(_) => format!("a{}", file.path),
        None => "/dev/null".to_owned(),
    };
    let diff = TextDiff::from_lines(&before, &now);
    let mut diff = diff.unified_diff();
    diff.header(&from, &format!("b{}", file.path)).to_string()
}

/// Before the question, so not with the rest of the output.
fn say(text: &str) -> Result<(), DeviceCommandError> {
    to_stdout(text).map_err(DeviceCommandError::Ask)
}

/// Asks at the terminal; nothing else is an answer.
fn ask() -> Result<(), DeviceCommandError> {
    let stdin = io::stdin();
    // Who has not seen the plan is not asked either.
    if !stdin.is_terminal() || !io::stdout().is_terminal() {
        return Err(DeviceCommandError::NotAsked);
    }
    say("Write this? [y/N] ")?;
    let mut answer = String::new();
    stdin
        .lock()
        .read_line(&mut answer)
        .map_err(DeviceCommandError::Ask)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(DeviceCommandError::Declined),
    }
}

/// Verifies; the text to print, and 1 where something does not hold.
pub(super) fn verify(
    machine: &MachineTree,
    target: Option<&str>,
    options: &DeviceOptions,
) -> Result<(String, Exit), DeviceCommandError> {
    let all = verify::verify(machine, target)?;
    if let (Some(target), true) = (target, all.is_empty()) {
        return Err(persist::PersistError::NothingPersisted(target.to_owned()).into());
    }
    let exit = if all.iter().all(|one| one.holds) {
        Exit::Fine
    } else {
        Exit::Failed
    };
    let text = if options.json {
        to_json(&all)
    } else if all.is_empty() {
        "Nothing is persisted here.\n".to_owned()
    } else {
        all.iter().map(block).collect()
    };
    Ok((text, exit))
}

fn block(one: &VerifiedWindow) -> String {
    let persisted = in_both_units(one.persisted_kib);
    if one.holds {
        let since = if one.since_boot {
            "holds"
        } else {
            "holds; the machine was not started again since"
        };
        let target = harmless(&one.target);
        return format!("{target}: {persisted} by {}: {since}\n", one.file);
    }
    let now = match one.now_kib {
        Some(kib) if kib != one.persisted_kib => format!(", and it is {}", in_both_units(kib)),
        _ => String::new(),
    };
    let mut text = format!(
        "{}: {persisted} by {}: does not hold{now}\n",
        harmless(&one.target),
        one.file
    );
    for why in &one.why {
        let _ = writeln!(text, "  {}", harmless(why));
    }
    text
}

/// Reverts and returns the text to print.
pub(super) fn revert(
    machine: &MachineTree,
    target: Option<&str>,
    options: &DeviceOptions,
) -> Result<String, DeviceCommandError> {
    let all = persist::revert(machine, target)?;
    if options.json {
        return Ok(to_json(&all));
    }
    if all.is_empty() {
        return Ok("Nothing is persisted here.\n".to_owned());
    }
    Ok(all.iter().map(reverted).collect())
}

fn reverted(one: &RevertedWindow) -> String {
    let is_removed = |file: &&String| one.removed.contains(file);
    let (removed, kept): (Vec<_>, Vec<_>) = one.files.iter().partition(is_removed);
    let said = |files: Vec<&String>, what: &str| {
        let files: Vec<_> = files.into_iter().map(String::as_str).collect();
        (!files.is_empty()).then(|| format!("{} {what}", files.join(" and ")))
    };
    let files: Vec<_> = [said(removed, "removed"), said(kept, "as before")]
        .into_iter()
        .flatten()
        .collect();
    let files = files.join("; ");
    let windows: Vec<_> = one.windows.iter().map(after_revert).collect();
    let windows = match windows.is_empty() {
        true => "its device is not here".to_owned(),
        false => windows.join("; "),
    };
    format!("{}: {files}; {windows}\n", harmless(&one.target))
}

fn after_revert(window: &WindowAfterRevert) -> String {
    match window {
        WindowAfterRevert::PutBack(change) => format!(
            "{} now, {} before",
            in_both_units(change.now_kib),
            in_both_units(change.before_kib)
        ),
        WindowAfterRevert::AsBefore { kib } => {
            format!("the window is {}, as before", in_both_units(*kib))
        }
        WindowAfterRevert::SetOtherwise { kib } => format!(
            "the window is {}, which something else has set, and stays",
            in_both_units(*kib)
        ),
    }
}

const fn mechanism(choice: PersistChoice) -> Mechanism {
    match choice {
        PersistChoice::Udev => Mechanism::Udev,
        PersistChoice::Tmpfiles => Mechanism::Tmpfiles,
        PersistChoice::Systemd => Mechanism::Systemd,
        PersistChoice::Tuned => Mechanism::Tuned,
        PersistChoice::SysfsD => Mechanism::SysfsD,
        PersistChoice::Nfs => Mechanism::Nfs,
        PersistChoice::Hotplug => Mechanism::Hotplug,
    }
}

#[cfg(test)]
mod tests {
    use ahead_device::identity::StableIdentity;
    use ahead_device::persist_record::{FileBefore, PersistedText};

    use super::*;

    #[test]
    fn a_plan_is_shown_as_a_diff_and_an_odd_name_on_one_line() {
        let file = |before: Option<&str>, text: &str| PlannedFile {
            path: "/etc/nfs.conf".to_owned(),
            before: before.map(|text| FileBefore {
                text: text.to_owned(),
                mode: 0o644,
                owner: (0, 0),
            }),
            now: PersistedText::File {
                text: text.to_owned(),
                mode: 0o644,
            },
        };
        let text = diff(&file(Some("a\nb\n"), "a\nc\n"));
        assert!(
            text.starts_with("--- a/etc/nfs.conf\n+++ b/etc/nfs.conf\n@@"),
            "{text}"
        );
        assert!(text.contains("\n a\n-b\n+c\n"), "{text}");
        let text = shown(&PersistPlan {
            target: "sda".to_owned(),
            name: "sda".to_owned(),
            identity: StableIdentity::Attribute {
                file: "wwid".to_owned(),
                value: "a\nb\u{1b}[2J".to_owned(),
            },
            mechanism: Mechanism::Udev,
            kib: 512,
            notes: Vec::new(),
            files: vec![file(None, "x\n")],
        });
        assert!(text.starts_with("sda gets 512 KiB (1024 sectors) at every boot, known by wwid a\\nb\\u{1b}[2J.\n--- /dev/null\n"), "{text}");
    }

    /// It said `kernel\'s`.
    #[test]
    fn only_signs_of_control_are_escaped() {
        let text = shown(&PersistPlan {
            target: "sda".to_owned(),
            name: "sda".to_owned(),
            identity: StableIdentity::KernelName("sda".to_owned()),
            mechanism: Mechanism::Udev,
            kib: 512,
            notes: Vec::new(),
            files: Vec::new(),
        });
        assert!(text.contains("known by the kernel's name sda."), "{text}");
    }

    /// It said that a file which is not there is as before.
    #[test]
    fn a_file_that_was_created_is_said_to_be_removed() {
        let of = |removed: &[&str]| {
            reverted(&RevertedWindow {
                target: "sda".to_owned(),
                files: vec!["/etc/a".to_owned(), "/etc/b".to_owned()],
                removed: removed.iter().map(|one| (*one).to_owned()).collect(),
                windows: vec![WindowAfterRevert::AsBefore { kib: 128 }],
            })
        };
        let end = "the window is 128 KiB (256 sectors), as before\n";
        assert_eq!(
            of(&["/etc/a"]),
            format!("sda: /etc/a removed; /etc/b as before; {end}")
        );
        assert_eq!(
            of(&["/etc/a", "/etc/b"]),
            format!("sda: /etc/a and /etc/b removed; {end}")
        );
        assert_eq!(of(&[]), format!("sda: /etc/a and /etc/b as before; {end}"));
    }
}
