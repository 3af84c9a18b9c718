//! The texts that set windows: what all have in common, and those in which each line stands for itself.
//!
//! What is not understood is passed over, but for a text that speaks of windows: that is kept as one setting without a
//! number, which is unsure.

use crate::boot_setting::{BootSetting, WindowUnit};

/// The number and unit of a setting, before the file is known.
pub(super) fn setting(line: usize, pattern: &str, written: u64, unit: WindowUnit) -> BootSetting {
    BootSetting {
        file: String::new(),
        line: line + 1,
        pattern: pattern.to_owned(),
        written: Some(written),
        unit,
        comment_kib: None,
        only_raises: false,
        rotational: None,
        is_sure: true,
    }
}

/// A setting of no known number: `pattern` may get another window.
pub(super) fn unsure(line: usize, pattern: &str) -> BootSetting {
    BootSetting {
        written: None,
        is_sure: false,
        ..setting(line, pattern, 0, WindowUnit::Kib)
    }
}

/// Lines such as `nfs4=15360` of the section that nfsrahead reads.
pub(super) fn nfs(text: &str) -> Vec<BootSetting> {
    let mut found = Vec::new();
    let mut is_section = false;
    for (at, line, comment_kib) in lines(text) {
        if line.starts_with('[') {
            is_section = line.eq_ignore_ascii_case("[nfsrahead]");
        } else if is_section
            && let Some((kind, value)) = line.split_once('=')
            && let Ok(value) = value.trim().parse()
        {
            let kind = kind.trim();
            let mut one = setting(at, &format!("fstype={kind}"), value, WindowUnit::Kib);
            // What it is the default of depends on the lines that there are not.
            one.is_sure = kind != "default";
            if kind == "default" {
                one.pattern = "fstype=nfs|fstype=nfs4".to_owned();
            }
            one.comment_kib = comment_kib;
            found.push(one);
        }
    }
    found
}

/// Lines such as `block/sda/queue/read_ahead_kb = 128`.
pub(super) fn sysfs(text: &str) -> Vec<BootSetting> {
    let mut found = Vec::new();
    for (at, line, comment_kib) in lines(text) {
        if let Some((path, value)) = line.split_once('=')
            // `mode` and `owner` before a path set no value.
            && !path.trim().contains(char::is_whitespace)
            && let Some(device) = device_of(path.trim())
            && let Ok(value) = value.trim().parse()
        {
            let mut one = setting(at, device, value, WindowUnit::Kib);
            one.comment_kib = comment_kib;
            found.push(one);
        }
    }
    found
}

/// Lines such as `w /sys/block/sda/queue/read_ahead_kb - - - - 128`; words can stand in quotes.
pub(super) fn tmpfiles(text: &str) -> Vec<BootSetting> {
    let mut found = Vec::new();
    for (at, line, comment_kib) in lines(text) {
        let is_quote = |sign: char| matches!(sign, '"' | '\'');
        let words = line.split_whitespace();
        let words: Vec<_> = words.map(|word| word.trim_matches(is_quote)).collect();
        let [kind, path, .., value] = words[..] else {
            continue;
        };
        if !kind.starts_with('w') || !path.ends_with("/read_ahead_kb") {
            continue;
        }
        let value = value.strip_suffix("\\n").unwrap_or(value).parse();
        found.push(match (device_of(path), value) {
            (Some(device), Ok(value)) => BootSetting {
                comment_kib,
                ..setting(at, device, value, WindowUnit::Kib)
            },
            (device, _) => unsure(at, device.unwrap_or("*")),
        });
    }
    found
}

/// Of `/etc/hdparm.conf`: `read_ahead_sect = 256`, in sectors, behind a line such as `/dev/sda {`. What stands outside
/// means all disks, and need not win over what a disk has of its own.
pub(super) fn hdparm(text: &str) -> Vec<BootSetting> {
    let mut found = Vec::new();
    let mut device = None;
    for (at, line, comment_kib) in lines(text) {
        if let Some(name) = line.strip_suffix('{') {
            device = Some(name.trim());
        } else if line == "}" {
            device = None;
        } else if let Some((key, value)) = line.split_once('=')
            && key.trim() == "read_ahead_sect"
            && let Ok(value) = value.trim().parse()
        {
            let pattern = device.unwrap_or("sd*|hd*");
            let mut one = setting(at, pattern, value, WindowUnit::Sectors);
            one.is_sure = device.is_some();
            one.comment_kib = comment_kib;
            found.push(one);
        }
    }
    found
}

/// The device of `…block/sda/queue/read_ahead_kb`, `…block/sda/bdi/read_ahead_kb` or `…bdi/8:0/read_ahead_kb`, and
/// the UUID of `…fs/btrfs/UUID/bdi/read_ahead_kb`.
pub(super) fn device_of(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("/read_ahead_kb")?;
    let folder = folder
        .strip_suffix("/queue")
        .or_else(|| folder.strip_suffix("/bdi"))
        .unwrap_or(folder);
    let (before, name) = folder.rsplit_once('/')?;
    let known = ["block", "bdi", "fs/btrfs"];
    known
        .iter()
        .any(|end| before.ends_with(end))
        .then_some(name)
}

/// `text` with lines that go on behind a `\\` as one line, and empty ones behind it, so that each line keeps its number.
pub(super) fn joined(text: &str) -> String {
    let mut all = String::new();
    let mut behind = 0;
    for line in text.lines() {
        let is_comment = line.trim_start().starts_with(['#', ';']);
        match line.strip_suffix('\\') {
            Some(begin) if !is_comment => {
                all += begin;
                all.push(' ');
                behind += 1;
            }
            // A comment between the parts ends nothing.
            _ if is_comment && behind > 0 => behind += 1,
            _ => {
                all += line;
                all.push('\n');
                all.extend(std::iter::repeat_n('\n', std::mem::take(&mut behind)));
            }
        }
    }
    all
}

/// Lines that say something, by their place from 0, each with the window of the comment on or before it.
pub(super) fn lines(text: &str) -> Vec<(usize, &str, Option<u64>)> {
    let mut found = Vec::new();
    let mut before = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix(['#', ';']) {
            before = window_of(comment);
            continue;
        }
        let (said, comment) = line.split_once(" #").unwrap_or((line, ""));
        if !said.is_empty() {
            found.push((at, said.trim(), window_of(comment).or(before)));
        }
        before = None;
    }
    found
}

/// Words of comments that tell of another value than the one beside them.
const HISTORY: [&str; 8] = [
    "was",
    "were",
    "before",
    "previously",
    "formerly",
    "default",
    "old",
    "instead",
];

/// The window of a comment that says exactly one: `# 4 MiB`, `# 512 KB`, `# 256 sectors`.
///
/// What was, or is elsewhere, is not what the line should say.
fn window_of(comment: &str) -> Option<u64> {
    let words: Vec<String> = comment
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let is_history = |word: &String| HISTORY.contains(&word.as_str());
    if words.iter().any(is_history) {
        return None;
    }
    let mut windows = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = word.split_at(digits);
        let next = words.get(at + 1).map_or("", String::as_str);
        let unit = if unit.is_empty() { next } else { unit };
        let Ok(number) = number.parse::<u64>() else {
            continue;
        };
        windows.extend(match unit {
            "k" | "kb" | "kib" => Some(number),
            "m" | "mb" | "mib" => number.checked_mul(1024),
            "sectors" => Some(number / 2),
            _ => None,
        });
    }
    (windows.len() == 1).then(|| windows[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(found: &[BootSetting]) -> (&str, Option<u64>, bool) {
        let [one] = found else {
            panic!("{found:?}");
        };
        (&one.pattern, one.kib(), one.is_sure)
    }

    #[test]
    fn words_of_tmpfiles_can_stand_in_quotes() {
        let line = "w \"/sys/block/sda/queue/read_ahead_kb\" - - - - \"512\"";
        assert_eq!(one(&tmpfiles(line)), ("sda", Some(512), true));
        let line = "w /sys/block/sda/queue/read_ahead_kb - - - - %X";
        assert_eq!(one(&tmpfiles(line)), ("sda", None, false));
        assert_eq!(
            tmpfiles("w /sys/block/sda/queue/nr_requests - - - - 512"),
            []
        );
    }

    #[test]
    fn rights_of_a_file_are_no_window() {
        let line = "block/sda/queue/read_ahead_kb = 512";
        assert_eq!(one(&sysfs(line)), ("sda", Some(512), true));
        assert_eq!(sysfs("mode block/sda/queue/read_ahead_kb = 644"), []);
    }

    #[test]
    fn the_configuration_of_hdparm_counts_sectors() {
        let text = "quiet\n/dev/sda {\n\tread_ahead_sect = 1024\n}\n";
        assert_eq!(one(&hdparm(text)), ("/dev/sda", Some(512), true));
        assert_eq!(
            one(&hdparm("read_ahead_sect = 1024\n")),
            ("sd*|hd*", Some(512), false)
        );
        assert_eq!(hdparm("#read_ahead_sect = 12\n"), []);
    }

    #[test]
    fn a_comment_that_says_one_window_is_kept() {
        assert_eq!(window_of(" 4 MiB for the array"), Some(4096));
        assert_eq!(window_of("512KB"), Some(512));
        assert_eq!(window_of("256 sectors"), Some(128));
        assert_eq!(window_of("from 128K to 4M"), None);
        assert_eq!(window_of("see bug 4096"), None);
        // Of another value than the one beside it.
        for comment in [
            " was 128 KiB",
            "4 MiB before the upgrade",
            "the default is 128 KiB",
            "old: 512 KiB",
            "512 KiB instead",
        ] {
            assert_eq!(window_of(comment), None, "{comment}");
        }
    }
}
