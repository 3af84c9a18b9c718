//! Rules of udev: the windows that they set themselves, and those that the programs set which they start.
//!
//! udev starts the programs of an event when all its rules were read, so that a program has the last word over every rule.
//!
//! What a rule asks for is looked at where the answer is known: the events in which a device comes, whole disks, and
//! whether they rotate. A rule that is surely for something else sets nothing, and any other condition makes it unsure.

use ahead_sys::device_identity::{MADE, OWN};

use super::shell::commands;
use super::text::{lines, setting, unsure};
use crate::boot_setting::{BootSetting, WindowUnit, is_like};
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

/// A program whose windows stand in `nfs.conf`, which is read by itself.
const NFS_HELPER: &str = "nfsrahead";

/// A rule that may set a window.
struct Rule<'a> {
    /// From 0.
    line: usize,
    /// The devices that it is for.
    pattern: String,
    /// Of these, those alone that say so of themselves.
    rotational: Option<bool>,
    /// Whether it holds for all of them.
    is_sure: bool,
    comment_kib: Option<u64>,
    /// What it writes into the window.
    value: Option<&'a str>,
    programs: Vec<&'a str>,
}

/// Rules such as `KERNEL=="sd*", ATTR{queue/read_ahead_kb}="128"`.
pub(super) fn attributes(text: &str) -> Vec<BootSetting> {
    let mut found = Vec::new();
    for rule in rules(text) {
        if let Some(value) = rule.value {
            let mut one = match value.trim().parse() {
                Ok(kib) => setting(rule.line, &rule.pattern, kib, WindowUnit::Kib),
                Err(_) => unsure(rule.line, &rule.pattern),
            };
            one.is_sure &= rule.is_sure;
            one.rotational = rule.rotational;
            one.comment_kib = rule.comment_kib;
            found.push(one);
        }
    }
    found
}

/// The programs that rules start, one below the other, for those who look at these. One without a path lies in a folder of
/// udev.
pub(super) fn started_text(text: &str) -> String {
    let programs = rules(text).into_iter().flat_map(|rule| rule.programs);
    let whole = programs.map(|program| match program.starts_with('/') {
        true => format!("{program}\n"),
        false => format!("/usr/lib/udev/{program}\n/lib/udev/{program}\n"),
    });
    whole.collect()
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
                    one.rotational = rule.rotational;
                } else {
                    // Another device than that of the event: when it comes is another affair.
                    one.is_sure = false;
                    if one.pattern.contains('%') {
                        // What udev puts there is not looked at.
                        one.pattern = "$".to_owned();
                    }
                }
                found.push(one);
            }
        }
    }
    found
}

fn rules(text: &str) -> Vec<Rule<'_>> {
    // A jump is a condition that stands elsewhere, and a line can go on in the next one.
    let is_plain = !text.contains("GOTO") && !text.contains("\\\n");
    let rules = lines(text).into_iter();
    let rules =
        rules.filter_map(|(line, rule, comment_kib)| rule_of(line, rule, comment_kib, is_plain));
    rules.collect()
}

/// The rule of a line; `None` where it sets no window, or surely none of a device that comes.
fn rule_of(line: usize, text: &str, comment_kib: Option<u64>, is_plain: bool) -> Option<Rule<'_>> {
    let (pairs, is_whole) = pairs(text);
    let mut rule = Rule {
        line,
        pattern: String::new(),
        rotational: None,
        is_sure: is_plain && is_whole,
        comment_kib,
        value: None,
        programs: Vec::new(),
    };
    let (mut kernel, mut identity) = (None, None);
    let mut is_bdi = false;
    for (key, sign, operand) in pairs {
        let is_assignment = matches!(sign, "=" | "+=" | ":=" | "-=");
        let fits = |value: &str| is_one_of(operand, value) == (sign == "==");
        match key {
            "KERNEL" if sign == "==" && kernel.is_none() => kernel = Some(operand),
            "ATTR{queue/read_ahead_kb}" | "ATTR{bdi/read_ahead_kb}" | "ATTR{read_ahead_kb}"
                if is_assignment =>
            {
                rule.value = Some(operand);
                is_bdi |= key == "ATTR{read_ahead_kb}";
            }
            "RUN" | "RUN{program}" if is_assignment => rule.programs.push(operand),
            "ACTION" if !is_assignment => {
                // Those in which a device comes; others of them may be meant as well.
                let comes = ["add", "change"].into_iter().any(fits);
                if !comes && !["move", "online", "bind"].into_iter().any(fits) {
                    return None;
                }
                rule.is_sure &= comes;
            }
            // A window belongs to whole devices.
            "ENV{DEVTYPE}" if !is_assignment => {
                if !fits("disk") {
                    return None;
                }
            }
            "SUBSYSTEM" if !is_assignment => {
                is_bdi |= sign == "==" && fits("bdi");
                if !fits("block") && !is_bdi {
                    return None;
                }
            }
            "ATTR{queue/rotational}" if !is_assignment => {
                let meant = [true, false]
                    .into_iter()
                    .filter(|one| fits(if *one { "1" } else { "0" }));
                match meant.collect::<Vec<_>>()[..] {
                    [one] if rule.rotational.is_none() => rule.rotational = Some(one),
                    _ => rule.is_sure = false,
                }
            }
            key if sign == "==" && is_identity(key) && identity.is_none() => {
                identity = Some(format!("{key}={operand}"));
            }
            "PROGRAM" if operand.contains(NFS_HELPER) => return None,
            // Whether they succeed is a condition, whatever the sign.
            key if key == "PROGRAM" || key.starts_with("IMPORT") => rule.is_sure = false,
            _ => rule.is_sure &= is_assignment,
        }
    }
    if !is_whole && text.contains("read_ahead_kb") {
        // What it sets may stand in the part that could not be read.
        rule.value = rule.value.or(Some(""));
    }
    if rule.value.is_none() && rule.programs.is_empty() {
        return None;
    }
    // A rule that names none means all of its kind; names of bdis begin with a digit or are like `btrfs-1`.
    let all = if is_bdi { "*" } else { "[a-z]*" };
    // Of a name and an identity both have to fit, which is not looked at here.
    rule.is_sure &= kernel.is_none() || identity.is_none();
    let pattern = kernel.map(str::to_owned).or(identity);
    rule.pattern = pattern.unwrap_or_else(|| all.to_owned());
    Some(rule)
}

/// Whether `value` is as one of the patterns of a rule.
fn is_one_of(patterns: &str, value: &str) -> bool {
    patterns.split('|').any(|pattern| is_like(value, pattern))
}

/// The `KEY=="operand"` of a rule, with the sign between, and whether all of it could be read. A comma between two
/// may be missing.
fn pairs(line: &str) -> (Vec<(&str, &str, &str)>, bool) {
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return (found, true);
        }
        let Some((pair, behind)) = pair(rest) else {
            return (found, false);
        };
        found.push(pair);
        rest = behind;
    }
}

fn pair(text: &str) -> Option<((&str, &str, &str), &str)> {
    let mut is_in_braces = false;
    let start = text.find(|sign| {
        is_in_braces = (is_in_braces || sign == '{') && sign != '}';
        !is_in_braces && "=!+:-".contains(sign)
    })?;
    let (key, rest) = text.split_at(start);
    let quote = rest.find('"')?;
    let (sign, rest) = (rest[..quote].trim(), &rest[quote + 1..]);
    let mut is_escaped = false;
    let end = rest.find(|sign| {
        let is_end = sign == '"' && !is_escaped;
        is_escaped = sign == '\\' && !is_escaped;
        is_end
    })?;
    let is_sign = matches!(sign, "==" | "!=" | "=" | "+=" | ":=" | "-=");
    let key = key.trim();
    let is_key = !key.contains([' ', ',']);
    (is_sign && is_key).then_some(((key, sign, &rest[..end]), &rest[end + 1..]))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn one(found: &[BootSetting]) -> (usize, &str, u64, bool) {
        let [one] = found else {
            panic!("{found:?}");
        };
        let kib = one.kib().expect("a number");
        (one.line, &one.pattern, kib, one.is_sure)
    }

    #[test]
    fn a_rule_says_its_value_and_whether_it_is_sure() {
        let rule = "# x\nKERNEL==\"sd*\", ATTR{queue/rotational}==\"1\", ATTR{queue/read_ahead_kb}=\"256\"";
        assert_eq!(one(&attributes(rule)), (2, "sd*", 256, true));
        let sets = |rotational| attributes(rule)[0].sets(&["sda".to_owned(), rotational]);
        assert_eq!(sets("ATTR{queue/rotational}=1".to_owned()), Some(true));
        assert_eq!(sets("ATTR{queue/rotational}=0".to_owned()), Some(false));
        assert_eq!(sets("8:0".to_owned()), None);
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
        let computed = "KERNEL==\"sdb\", RUN+=\"/sbin/blockdev --setra 1024 /dev/%c\"";
        assert_eq!(one(&of(computed)), (1, "$", 512, false));
        let condition =
            "KERNEL==\"sdb\", ATTR{size}==\"7\", RUN+=\"/sbin/blockdev --setra 1024 /dev/%k\"";
        assert_eq!(one(&of(condition)), (1, "sdb", 512, false));
        assert_eq!(
            of("KERNEL==\"sdb\", RUN+=\"/sbin/hdparm -B 254 /dev/%k\""),
            []
        );
    }

    const WINDOW: &str = "ATTR{queue/read_ahead_kb}=\"256\"";

    /// `Some(false)` for a rule that is unsure, and nothing for one that sets nothing.
    fn sureness(conditions: &str) -> Option<bool> {
        let found = attributes(&format!("KERNEL==\"sd*\", {conditions}, {WINDOW}"));
        found.first().map(|one| one.is_sure)
    }

    /// Whether a program succeeds was taken for something that the rule sets.
    #[test]
    fn a_program_or_an_import_is_a_condition_whatever_its_sign() {
        for condition in [
            "PROGRAM=\"/bin/is_data %k\"",
            "PROGRAM==\"/bin/is_data %k\"",
            "IMPORT{program}=\"/bin/facts %k\"",
            "IMPORT{builtin}=\"blkid\"",
            "IMPORT{program}+=\"/bin/facts %k\"",
            "TEST==\"/x\"",
            "RESULT==\"x\"",
        ] {
            assert_eq!(sureness(condition), Some(false), "{condition}");
        }
        // What Fedora brings for NFS; its windows are in nfs.conf.
        let rule = "SUBSYSTEM==\"bdi\", ACTION==\"add\", PROGRAM=\"/usr/libexec/nfsrahead %k\", ATTR{read_ahead_kb}=\"%c\"";
        assert_eq!(attributes(rule), []);
    }

    /// A rule for partitions or for the end of a device made a false warning.
    #[test]
    fn a_rule_for_something_else_than_a_disk_that_comes_sets_nothing() {
        for condition in [
            "ACTION==\"add|change\"",
            "ACTION==\"change\"",
            "ACTION!=\"remove\"",
            "ENV{DEVTYPE}==\"disk\"",
            "ENV{DEVTYPE}!=\"partition\"",
            "SUBSYSTEM==\"block\"",
            "ENV{MINE}=\"1\"",
        ] {
            assert_eq!(sureness(condition), Some(true), "{condition}");
        }
        for condition in [
            "ACTION==\"remove\"",
            "ENV{DEVTYPE}==\"partition\"",
            "ENV{DEVTYPE}!=\"disk\"",
            "SUBSYSTEM!=\"block\"",
            "SUBSYSTEM==\"net\"",
        ] {
            assert_eq!(sureness(condition), None, "{condition}");
        }
        for condition in [
            "ACTION==\"bind\"",
            "ENV{ID_BUS}==\"ata\"",
            "SUBSYSTEMS==\"usb\"",
        ] {
            assert_eq!(sureness(condition), Some(false), "{condition}");
        }
    }

    #[test]
    fn commas_can_be_missing_and_a_value_can_be_final() {
        let rule = "KERNEL==\"sda\" ACTION==\"add\"  ATTR{queue/read_ahead_kb}:=\"256\"";
        assert_eq!(one(&attributes(rule)), (1, "sda", 256, true));
        let rule = format!("KERNEL==\"sda\", WHAT, {WINDOW}");
        let unread = &attributes(&rule)[0];
        assert_eq!((unread.kib(), unread.is_sure), (None, false));
        let rule = format!("KERNEL==\"sda\", {WINDOW} WHAT");
        assert_eq!(one(&attributes(&rule)), (1, "sda", 256, false));
        let variable = &attributes("KERNEL==\"sda\", ATTR{queue/read_ahead_kb}=\"$env{RA}\"")[0];
        assert_eq!((variable.kib(), variable.is_sure), (None, false));
    }
}
