//! Units of systemd: the commands that starting one runs, from its file and its drop-ins.

use super::shell::commands;
use super::text::{joined, lines};
use crate::boot_setting::BootSetting;

/// What is run when a unit starts, in this order. `ExecStop` and `ExecReload` set nothing at boot.
const STARTS: [&str; 3] = ["ExecStartPre", "ExecStart", "ExecStartPost"];

/// One command of a unit.
struct UnitCommand {
    /// The text that it stands in.
    text: usize,
    /// From 0.
    line: usize,
    comment_kib: Option<u64>,
    command: String,
}

/// The settings of a unit: `texts` are its file and its drop-ins in their order. Each comes with the place of its text.
pub(super) fn unit(texts: &[&str], is_sure: bool) -> Vec<(usize, BootSetting)> {
    let (starts, has_condition) = started(texts);
    let mut found = Vec::new();
    for one in starts {
        let is_plain = is_sure && !has_condition;
        for mut setting in commands(&one.command, is_plain) {
            setting.line = one.line + 1;
            setting.comment_kib = one.comment_kib;
            let plain = setting.pattern.replace("\\\\", "").replace("%%", "");
            // A backslash and `%` are written twice; any other one stands for something that is not looked at here.
            setting.is_sure &= !plain.contains(['\\', '%']);
            setting.pattern = match plain.contains('%') {
                // Of a template: any device can be the one that it is started for.
                true => "$".to_owned(),
                false => setting.pattern.replace("\\\\", "\\").replace("%%", "%"),
            };
            found.push((one.text, setting));
        }
    }
    found
}

/// The commands of a unit one below the other, for those who look at their programs.
pub(super) fn started_text(texts: &[&str]) -> String {
    let commands = started(texts).0.into_iter();
    commands.map(|one| one.command + "\n").collect()
}

/// The commands, and whether the unit is only started on a condition.
fn started(texts: &[&str]) -> (Vec<UnitCommand>, bool) {
    let mut starts: [Vec<UnitCommand>; 3] = Default::default();
    let mut has_condition = false;
    for (text, written) in texts.iter().enumerate() {
        for (line, said, comment_kib) in lines(&joined(written)) {
            let Some((key, value)) = said.split_once('=') else {
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            has_condition |= key.starts_with("Condition") || key.starts_with("Assert");
            let Some(kind) = STARTS.iter().position(|one| *one == key) else {
                continue;
            };
            if value.is_empty() {
                // What was said before is taken back.
                starts[kind].clear();
            } else {
                starts[kind].push(UnitCommand {
                    text,
                    line,
                    comment_kib,
                    command: value.to_owned(),
                });
            }
        }
    }
    (starts.into_iter().flatten().collect(), has_condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(usize, String, Option<u64>, bool)> {
        let found = unit(&[text], true).into_iter();
        let found = found.map(|(_, one)| (one.line, one.pattern.clone(), one.kib(), one.is_sure));
        found.collect()
    }

    /// A link with a blank in its name, as udev writes it and as a unit has to.
    #[test]
    fn a_unit_writes_backslashes_twice() {
        let of = |device: &str| {
            let found = of(&format!("ExecStart=/sbin/blockdev --setra 256 {device}"));
            (found[0].1.clone(), found[0].3)
        };
        let link = r"/dev/disk/by-id/a\x20b".to_owned();
        assert_eq!(of(r"/dev/disk/by-id/a\\x20b"), (link.clone(), true));
        assert_eq!(of(&link), (link, false));
        assert_eq!(of("/dev/%i"), ("$".to_owned(), false));
    }

    /// What stopping a unit runs made a false warning.
    #[test]
    fn only_what_starting_a_unit_runs_sets_a_window() {
        let text = "ExecStart=/sbin/blockdev --setra 1024 /dev/sda\n\
                    ExecStop=/sbin/blockdev --setra 256 /dev/sda\n\
                    ExecReload=/sbin/blockdev --setra 64 /dev/sda\n\
                    ExecStartPost=/sbin/blockdev --setra 2048 /dev/sdb\n";
        let expected = [
            (1, "/dev/sda".to_owned(), Some(512), true),
            (4, "/dev/sdb".to_owned(), Some(1024), true),
        ];
        assert_eq!(of(text), expected);
    }

    #[test]
    fn a_command_goes_on_behind_a_backslash() {
        let text = "[Service]\nExecStart=/sbin/blockdev \\\n    --setra 1024 \\\n    /dev/sda\nExecStartPost=/sbin/blockdev --setra 8 /dev/sdb\n";
        let expected = [
            (2, "/dev/sda".to_owned(), Some(512), true),
            (5, "/dev/sdb".to_owned(), Some(4), true),
        ];
        assert_eq!(of(text), expected);
    }

    #[test]
    fn a_drop_in_takes_back_what_the_unit_says() {
        let file = "ExecStart=/sbin/blockdev --setra 1024 /dev/sda\n";
        let more = "ExecStart=/sbin/blockdev --setra 512 /dev/sda\n";
        let places = |texts: &[&str]| {
            let found = unit(texts, true).into_iter();
            found
                .map(|(text, one)| (text, one.kib()))
                .collect::<Vec<_>>()
        };
        assert_eq!(places(&[file, more]), [(0, Some(512)), (1, Some(256))]);
        let instead = format!("[Service]\nExecStart=\n{more}");
        assert_eq!(places(&[file, &instead]), [(1, Some(256))]);
        assert_eq!(places(&[file, "ExecStart=\n"]), []);
    }

    #[test]
    fn a_unit_with_a_condition_is_unsure() {
        let command = "ExecStart=/sbin/blockdev --setra 1024 /dev/sda\n";
        assert!(of(command)[0].3);
        assert!(!of(&format!("ConditionPathExists=/x\n{command}"))[0].3);
    }
}
