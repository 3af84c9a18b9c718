//! `ahead doctor`: the findings of windows as text, and how the program ends.
//!
//! Nothing that asks for an action is the good case: it takes one line for each target, and the exit status is 0.

use std::fmt::Write as _;
use std::sync::atomic::AtomicU64;

use ahead_device::display::harmless;
use ahead_device::doctor::{self, Diagnosis};
use ahead_device::finding::{DeviceTiming, Finding, Severity};
use ahead_device::machine::MachineTree;
use ahead_device::mapped::MappedAdvice;
use ahead_device::origin::in_both_units;
use ahead_device::stack::Stack;
use ahead_engine::estimates::{Estimates, SharedEstimate};
use ahead_policy::device::DeviceEstimate;
use ahead_sys::block_queue::DeviceNumber;
use ahead_sys::device_identity;
use ahead_units::Timestamp;

use crate::arguments::Doctor;
use crate::device::{DeviceCommandError, machine_of};
use crate::exit::Exit;
use crate::output::to_json;
use crate::run::devices;

/// Examines what was asked for; the text to print, and the exit status: 1 for a warning or worse.
///
/// # Errors
/// [`DeviceCommandError`]: a target stands for nothing.
pub fn doctor(arguments: &Doctor) -> Result<(String, Exit), DeviceCommandError> {
    let machine = machine_of(&arguments.options)?;
    let kept = KeptEstimates::read();
    let timing = |stack: &Stack| kept.timing(&machine, stack);
    let mapped = if arguments.mappings {
        MappedAdvice::read(&machine)
    } else {
        MappedAdvice::default()
    };
    let all = doctor::examine(&machine, &arguments.targets, &timing, &mapped)
        .map_err(DeviceCommandError::NotExamined)?;
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

/// What earlier runs and measurements have kept of devices.
struct KeptEstimates {
    words: Vec<AtomicU64>,
    now_s: u64,
}

impl KeptEstimates {
    /// Nothing is known where the file is not there, is damaged, or cannot be read.
    fn read() -> Self {
        Self {
            words: devices::kept().unwrap_or_default(),
            now_s: devices::seconds_now(),
        }
    }

    /// How long the device takes whose window counts: as was measured or learned from readers, and else as its kind does. `None` where
    /// that is not known.
    fn timing(&self, machine: &MachineTree, stack: &Stack) -> Option<DeviceTiming> {
        let layer = stack.counting()?;
        let number = DeviceNumber::parse(layer.bdi.as_deref()?)?;
        let (sys, proc) = (machine.sys(), machine.proc());
        let identity = device_identity::of_block_device(&sys, &proc, number)?;
        let device = SharedEstimate::without_guess(identity);
        let kept = Estimates::new(&self.words, self.now_s);
        let heard = device.hear(kept, Timestamp::new(0));
        let is_measured = heard.is_some();
        let estimate = match heard {
            Some(heard) => heard.estimate,
            // What a hypervisor says of an arm is not known to be so, and nothing else is known of its disk.
            None if layer.limits.rotational? && stack.is_virtual() => return None,
            None if layer.limits.rotational? => DeviceEstimate::ARM,
            None => DeviceEstimate::FLASH,
        };
        Some(DeviceTiming {
            access_ns: estimate.access_ns,
            bytes_per_second: estimate.bytes_per_second,
            is_measured,
        })
    }
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
        let line = format!("cannot use {}: {}", note.path, note.why);
        let _ = writeln!(text, "{}", harmless(&line));
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
    harmless(&format!("{}: {window}{answer}", one.target)) + "\n"
}

fn block(finding: &Finding) -> String {
    let severity = finding.severity.word();
    let mut lines = vec![format!("  {severity} {}: {}", finding.id, finding.sentence)];
    for evidence in &finding.evidence {
        lines.push(format!("    {}: {}", evidence.file, evidence.says));
    }
    for consequence in &finding.consequence {
        lines.push(format!("    {consequence}"));
    }
    if let Some(repair) = &finding.repair {
        lines.push(format!("    repair: {}", repair.command));
    }
    lines.iter().map(|line| harmless(line) + "\n").collect()
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
        doctor(&Doctor {
            targets,
            mappings: false,
            options,
        })
        .expect("examined")
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

    /// By its kind where nothing is kept of the device, and as kept where something is.
    #[test]
    fn how_long_a_device_takes_is_what_was_measured_or_said_to_be_of_its_kind() {
        let root = tempfile::tempdir().expect("a folder");
        let disk = root.path().join("sys/class/block/sda");
        std::fs::create_dir_all(disk.join("queue")).expect("a folder");
        std::fs::create_dir_all(disk.join("device")).expect("a folder");
        std::fs::create_dir_all(root.path().join("sys/dev/block")).expect("a folder");
        let link = root.path().join("sys/dev/block/8:0");
        std::os::unix::fs::symlink(&disk, link).expect("a link");
        for (file, text) in [
            ("dev", "8:0\n"),
            ("size", "9\n"),
            ("queue/rotational", "1\n"),
            ("queue/read_ahead_kb", "32768\n"),
            ("device/wwid", "naa.5\n"),
        ] {
            std::fs::write(disk.join(file), text).expect("written");
        }
        let machine = MachineTree::at(root.path());
        let stack = || {
            let found = ahead_device::target::find(&machine, "sda").expect("a disk");
            ahead_device::stack::of(&machine, &found)
        };
        std::fs::write(disk.join("device/vendor"), "Msft    \n").expect("written");
        let of_hypervisor = stack();
        std::fs::remove_file(disk.join("device/vendor")).expect("removed");
        let stack = stack();
        let mut kept = KeptEstimates {
            words: ahead_engine::estimates::words_of(&[]),
            now_s: 1_000_000,
        };
        let arm = DeviceEstimate::ARM;
        let timing = |access_ns, is_measured| DeviceTiming {
            access_ns,
            bytes_per_second: arm.bytes_per_second,
            is_measured,
        };
        assert_eq!(
            kept.timing(&machine, &stack),
            Some(timing(arm.access_ns, false))
        );
        assert_eq!(kept.timing(&machine, &of_hypervisor), None, "no arm");
        let number = DeviceNumber { major: 8, minor: 0 };
        let (sys, proc) = (machine.sys(), machine.proc());
        let identity = device_identity::of_block_device(&sys, &proc, number).expect("a disk");
        let device = SharedEstimate::new();
        device.set_identity(identity, arm);
        let measured = DeviceEstimate {
            access_ns: 777_000,
            ..arm
        };
        let _ = device.tell(
            Estimates::new(&kept.words, kept.now_s),
            measured,
            None,
            Timestamp::new(0),
        );
        assert_eq!(kept.timing(&machine, &stack), Some(timing(777_000, true)));
        kept.now_s += 60 * 24 * 3600;
        assert_eq!(
            kept.timing(&machine, &stack),
            Some(timing(arm.access_ns, false)),
            "aged"
        );
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

    /// A folder can be called so by whoever may mount one; a terminal obeyed it.
    #[test]
    fn a_mount_point_with_signs_of_control_is_escaped_and_commands_name_its_device() {
        let root = tempfile::tempdir().expect("a folder");
        let bdi = root.path().join("sys/class/bdi/0:63");
        std::fs::create_dir_all(&bdi).expect("a folder");
        std::fs::create_dir_all(root.path().join("proc/self")).expect("a folder");
        std::fs::write(bdi.join("read_ahead_kb"), "0\n").expect("written");
        let line = "30 1 0:63 / /a\u{1b}[2J\\012b rw - nfs4 server:/ rw\n";
        std::fs::write(root.path().join("proc/self/mountinfo"), line).expect("written");
        let options = DeviceOptions {
            json: false,
            root: root.path().into(),
        };
        let (text, _) = doctor(&Doctor {
            targets: Vec::new(),
            mappings: false,
            options,
        })
        .expect("examined");
        assert!(text.starts_with("/a\\u{1b}[2J\\nb: 0 KiB"), "{text}");
        assert!(
            text.contains("repair: sudo ahead device set 0:63 128K\n"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
