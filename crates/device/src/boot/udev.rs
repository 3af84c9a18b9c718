//! Rules of udev: the windows that they set themselves, and those that the programs set which they start.
//!
//! udev starts the programs of an event when all its rules were read, so that a program has the last word over every rule.

use ahead_sys::device_identity::{MADE, OWN};

use super::text::{commands, lines, setting};
use crate::boot_setting::{BootSetting, WindowUnit};
use crate::identity::PROPERTIES;

/// The device of the event in what a rule writes: its name, and the other ways to it, by what they come to.
const OF_THE_EVENT: [(&str, &str); 15] = [
    ("$kernel", "%k"),
    ("$name", "%k"),
    ("%D", "%k"),
    ("$major:$minor", "%k"),
    ("%M:%m", "%k"),
    ("$devnode", "/dev/%k"),
    ("$tempnode", "/dev/%k"),
    ("$env{DEVNAME}", "/dev/%k"),
    ("%E{DEVNAME}", "/dev/%k"),
    ("%N", "/dev/%k"),
    ("$devpath", "/block/%k"),
    ("%p", "/block/%k"),
    ("$root", "/dev"),
    ("%r", "/dev"),
    ("%S", "/sys"),
];

/// A rule that may set a window.
struct Rule<'a> {
    /// From 0.
    line: usize,
    /// The devices that it is for.
    pattern: String,
    /// Whether it holds for all of them.
    is_sure: bool,
    comment_kib: Option<u64>,
    kib: Option<u64>,
    programs: Vec<&'a str>,
}

/// Rules such as `KERNEL=="sd*", ATTR{queue/read_ahead_kb}="128"`.
pub(super) fn attributes(text: &str) -> Vec<BootSetting> {
    let mut found = Vec::new();
    for rule in rules(text) {
        if let Some(kib) = rule.kib {
            let mut one = setting(rule.line, &rule.pattern, kib, WindowUnit::Kib);
            one.is_sure = rule.is_sure;
            one.comment_kib = rule.comment_kib;
            found.push(one);
        }
    }
    found
}

/// Rules such as `KERNEL=="sd*", RUN+="/sbin/blockdev --setra 256 /dev/%k"`.
pub(super) fn programs(text: &str) -> Vec<BootSetting> {
    let mut found = Vec::new();
    for rule in rules(text) {
        for program in &rule.programs {
            let mut program = (*program).to_owned();
            for (written, device) in OF_THE_EVENT {
                program = program.replace(written, device);
            }
            for mut one in commands(&program, rule.is_sure) {
                one.line = rule.line + 1;
                one.comment_kib = rule.comment_kib;
                if matches!(one.pattern.as_str(), "%k" | "/dev/%k") {
                    one.pattern.clone_from(&rule.pattern);
                } else {
                    // Another device than that of the event: when it comes is another affair.
                    one.is_sure = false;
                }
                found.push(one);
            }
        }
    }
    found
}

fn rules(text: &str) -> Vec<Rule<'_>> {
    let mut found = Vec::new();
    // A jump is a condition that stands elsewhere, and a line can go on in the next one.
    let is_plain = !text.contains("GOTO") && !text.contains("\\\n");
    for (line, rule, comment_kib) in lines(text) {
        let (mut kernel, mut identity) = (None, None);
        let mut is_bdi = false;
        let mut is_sure = is_plain;
        let mut kib = None;
        let mut programs = Vec::new();
        for part in parts(rule) {
            let Some((key, sign, operand)) = assignment(part) else {
                continue;
            };
            match (key, sign) {
                ("KERNEL", "==") => kernel = Some(operand),
                (key, "==") if is_identity(key) && identity.is_none() => {
                    identity = Some(format!("{key}={operand}"));
                }
                (
                    "ATTR{queue/read_ahead_kb}" | "ATTR{bdi/read_ahead_kb}" | "ATTR{read_ahead_kb}",
                    "=",
                ) => {
                    kib = operand.parse().ok();
                    is_bdi |= key == "ATTR{read_ahead_kb}";
                }
                ("RUN" | "RUN{program}", "=" | "+=" | ":=") => programs.push(operand),
                ("SUBSYSTEM", _) => is_bdi |= operand == "bdi",
                // A window belongs to whole devices: these hold for each of them.
                ("ACTION" | "ENV{DEVTYPE}", _) | (_, "=" | "+=" | ":=") => {}
                _ => is_sure = false,
            }
        }
        if kib.is_none() && programs.is_empty() {
            continue;
        }
        // A rule that names none means all of its kind; names of bdis begin with a digit or are like `btrfs-1`.
        let all = if is_bdi { "*" } else { "[a-z]*" };
        // Of a name and an identity both have to fit, which is not looked at here.
        is_sure &= kernel.is_none() || identity.is_none();
        let pattern = kernel.map(str::to_owned).or(identity);
        found.push(Rule {
            line,
            pattern: pattern.unwrap_or_else(|| all.to_owned()),
            is_sure,
            comment_kib,
            kib,
            programs,
        });
    }
    found
}

/// The parts of a rule: commas inside quotes belong to a value.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    line.split(move |sign| {
        is_quoted ^= sign == '"';
        sign == ',' && !is_quoted
    })
}

/// Whether a key of a rule says which device it is, in a way that [`identity`](crate::identity) knows.
fn is_identity(key: &str) -> bool {
    let file = key
        .strip_prefix("ATTR{")
        .and_then(|key| key.strip_suffix('}'));
    let property = key
        .strip_prefix("ENV{")
        .and_then(|key| key.strip_suffix('}'));
    file.is_some_and(|file| OWN.iter().chain(&MADE).any(|known| *known == file))
        || property.is_some_and(|property| PROPERTIES.contains(&property))
}

/// `KEY=="operand"`, with the sign between.
fn assignment(part: &str) -> Option<(&str, &str, &str)> {
    let part = part.trim();
    let start = part.find(['=', '!', '+', ':', '-'])?;
    let quote = start + part[start..].find('"')?;
    let operand = part[quote + 1..].strip_suffix('"')?;
    Some((part[..start].trim(), part[start..quote].trim(), operand))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(found: &[BootSetting]) -> (usize, &str, u64, bool) {
        let [one] = found else {
            panic!("{found:?}");
        };
        (one.line, &one.pattern, one.kib(), one.is_sure)
    }

    #[test]
    fn a_rule_says_its_value_and_whether_it_is_sure() {
        let rule = "# x\nKERNEL==\"sd*\", ATTR{queue/rotational}==\"1\", ATTR{queue/read_ahead_kb}=\"256\"";
        assert_eq!(one(&attributes(rule)), (2, "sd*", 256, false));
        let rule = "ATTR{queue/read_ahead_kb}=\"256\"";
        assert!(attributes(rule)[0].is_sure);
        assert!(!attributes(&format!("KERNEL!=\"sd*\", GOTO=\"end\"\n{rule}"))[0].is_sure);
        assert!(!attributes(&format!("KERNEL==\"sda\", \\\n{rule}"))[0].is_sure);
    }

    /// The idiom of many guides: a program instead of an attribute.
    #[test]
    fn a_program_that_a_rule_starts_sets_the_window_of_its_device() {
        for program in [
            "/sbin/blockdev --setra 1024 /dev/%k",
            "/sbin/blockdev --setra 1024 $devnode",
            "/sbin/blockdev --setra 1024 %N",
            "/sbin/blockdev --setra 1024 $env{DEVNAME}",
            "/bin/sh -c 'echo 512 > /sys/block/%k/queue/read_ahead_kb'",
            "/bin/sh -c 'echo 512 > /sys/block/$kernel/queue/read_ahead_kb'",
            "/bin/sh -c 'echo 512 > /sys/block/$name/bdi/read_ahead_kb'",
            "/bin/sh -c 'echo 512 > /sys%p/queue/read_ahead_kb'",
            "/bin/sh -c 'echo 512 > /sys/class/bdi/%M:%m/read_ahead_kb'",
        ] {
            let rule = format!("ACTION==\"add\", KERNEL==\"sd[a-z]\", RUN+=\"{program}\"");
            assert_eq!(
                one(&programs(&rule)),
                (1, "sd[a-z]", 512, true),
                "{program}"
            );
            assert_eq!(attributes(&rule), [], "{program}");
        }
        let of = |rule: &str| programs(rule);
        let other = "KERNEL==\"sdb\", RUN+=\"/sbin/blockdev --setra 1024 /dev/sda\"";
        assert_eq!(one(&of(other)), (1, "/dev/sda", 512, false));
        let condition =
            "KERNEL==\"sdb\", ATTR{size}==\"7\", RUN+=\"/sbin/blockdev --setra 1024 /dev/%k\"";
        assert_eq!(one(&of(condition)), (1, "sdb", 512, false));
        assert_eq!(
            of("KERNEL==\"sdb\", RUN+=\"/sbin/hdparm -B 254 /dev/%k\""),
            []
        );
    }
}
