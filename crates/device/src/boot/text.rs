//! The texts that set windows: a parser for each kind of file, line by line. What is not understood is passed over.

use crate::boot_setting::{BootSetting, WindowUnit};
use crate::identity::PROPERTIES;

/// The number and unit of a setting, before the file is known.
pub(super) fn setting(line: usize, pattern: &str, written: u64, unit: WindowUnit) -> BootSetting {
    BootSetting {
        file: String::new(),
        line: line + 1,
        pattern: pattern.to_owned(),
        written,
        unit,
        comment_kib: None,
        only_raises: false,
        is_sure: true,
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

/// Scripts of `OpenWrt`: `echo 512 > /sys/block/$DEVNAME/…` behind one test of the name or of a value of the device.
pub(super) fn hotplug(text: &str) -> Vec<BootSetting> {
    let mut found = Vec::new();
    let mut pattern = None;
    let mut is_sure = true;
    for (at, line, comment_kib) in lines(text) {
        let test = line
            .strip_prefix("[ ")
            .and_then(|line| line.strip_suffix(" ] || exit 0"));
        match test.map(|test| tested(test).ok_or(test)) {
            Some(Ok(tested)) => is_sure &= pattern.replace(tested).is_none(),
            Some(Err(test)) => is_sure &= test == "\"$ACTION\" = add",
            None => {
                let mut one = commands(line, true);
                for one in &mut one {
                    one.line = at + 1;
                    one.is_sure &= is_sure;
                    one.comment_kib = comment_kib;
                    let is_any = matches!(one.pattern.as_str(), "$DEVNAME" | "${DEVNAME}");
                    match &pattern {
                        Some(pattern) if is_any => one.pattern.clone_from(pattern),
                        Some(_) => one.is_sure = false,
                        None => {}
                    }
                }
                is_sure &= !one.is_empty() || line.starts_with('#');
                found.extend(one);
            }
        }
    }
    found
}

/// The device of `"$DEVNAME" = 'sda'` and of `"$(cat "/sys/block/$DEVNAME/wwid" 2>/dev/null)" = 'naa.5'`.
fn tested(test: &str) -> Option<String> {
    let (says, value) = test.split_once(" = '")?;
    let value = value.strip_suffix('\'')?.replace("'\\''", "'");
    if says == "\"$DEVNAME\"" {
        return Some(literal(&value));
    }
    let file = says.strip_prefix("\"$(cat \"/sys/block/$DEVNAME/")?;
    let file = file.strip_suffix("\" 2>/dev/null)\"")?;
    Some(format!("ATTR{{{file}}}={}", literal(value.trim_end())))
}

/// A pattern that means `value` alone.
fn literal(value: &str) -> String {
    let mut pattern = String::new();
    for sign in value.chars() {
        match sign {
            '*' | '?' | '[' => pattern.extend(['[', sign, ']']),
            '|' => pattern.push('?'),
            sign => pattern.push(sign),
        }
    }
    pattern
}

/// Lines such as `block/sda/queue/read_ahead_kb = 128`.
pub(super) fn sysfs(text: &str) -> Vec<BootSetting> {
    let mut found = Vec::new();
    for (at, line, comment_kib) in lines(text) {
        if let Some((path, value)) = line.split_once('=')
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

/// Lines such as `w /sys/block/sda/queue/read_ahead_kb - - - - 128`.
pub(super) fn tmpfiles(text: &str) -> Vec<BootSetting> {
    let mut found = Vec::new();
    for (at, line, comment_kib) in lines(text) {
        let words: Vec<_> = line.split_whitespace().collect();
        if let [kind, path, .., value] = words[..]
            && kind.starts_with('w')
            && let Some(device) = device_of(path)
            && let Ok(value) = value.parse()
        {
            let mut one = setting(at, device, value, WindowUnit::Kib);
            one.comment_kib = comment_kib;
            found.push(one);
        }
    }
    found
}

/// The disks that a profile means which names none: those of these buses, and what has no bus, as volumes and arrays.
const DISKS_OF_TUNED: &str = "sd*|vd*|xvd*|nvme*|mmcblk*|dm-*|md*|loop*|zram*";

/// `readahead=4096` of a profile, and `8192 s` in sectors; `8192s` is none. With `>` before it, it only raises.
pub(super) fn tuned(text: &str) -> Vec<BootSetting> {
    let mut found: Vec<BootSetting> = Vec::new();
    let mut section_start = 0;
    let mut devices = None;
    let name_devices = |found: &mut [BootSetting], devices: Option<String>| {
        for one in found {
            if let Some(devices) = &devices {
                one.pattern.clone_from(devices);
            }
        }
    };
    for (at, line, comment_kib) in lines(text) {
        if line.starts_with('[') {
            name_devices(&mut found[section_start..], devices.take());
            section_start = found.len();
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let value = value.trim();
        match key.trim() {
            "devices" => devices = Some(value.replace([',', ' '], "|")),
            "devices_udev_regex" => {
                let known = value
                    .strip_prefix('^')
                    .and_then(|value| value.strip_suffix('$'));
                let known = known.and_then(|known| known.split_once('='));
                let known = known.filter(|(key, _)| PROPERTIES.contains(key));
                devices = Some(match known {
                    Some((key, value)) => format!("ENV{{{key}}}={value}"),
                    // Some device, by a pattern that is not looked at.
                    None => "$".to_owned(),
                });
            }
            "readahead" => {
                let mut words = value.trim_start_matches('>').split_whitespace();
                let number = words.next().and_then(|number| number.parse().ok());
                let unit = match words.next() {
                    Some(unit) if unit.starts_with('s') => WindowUnit::Sectors,
                    _ => WindowUnit::Kib,
                };
                if let Some(number) = number {
                    let mut one = setting(at, DISKS_OF_TUNED, number, unit);
                    one.only_raises = value.starts_with('>');
                    one.is_sure = !one.only_raises;
                    one.comment_kib = comment_kib;
                    found.push(one);
                }
            }
            _ => {}
        }
    }
    name_devices(&mut found[section_start..], devices);
    found
}

/// Profiles that a profile includes.
pub(super) fn included(text: &str) -> Vec<String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let values = pairs.filter(|(key, _)| key.trim() == "include");
    let names = values.flat_map(|(_, value)| value.split([',', ' ']));
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// `blockdev --setra N DEVICE…` and `echo N > /sys/…/read_ahead_kb` of scripts and units.
pub(super) fn commands(text: &str, is_sure: bool) -> Vec<BootSetting> {
    let mut found = Vec::new();
    let conditions = ["if ", "case ", "while ", "&&", "||", "Condition"];
    let is_sure = is_sure && !conditions.iter().any(|word| text.contains(word));
    for (at, line, comment_kib) in lines(text) {
        for command in line.split([';', '&']) {
            let words: Vec<_> = command
                .split(|c: char| c.is_whitespace() || "'\"|>".contains(c))
                .filter(|word| !word.is_empty())
                .collect();
            let setra = words.iter().position(|word| *word == "--setra");
            if let Some(setra) = setra
                && let Some(Ok(value)) = words.get(setra + 1).map(|word| word.parse())
            {
                for device in words
                    .iter()
                    .skip(setra + 2)
                    .filter(|word| word.starts_with(['/', '$']))
                {
                    found.push(setting(at, device, value, WindowUnit::Sectors));
                }
            }
            let echo = words.iter().position(|word| *word == "echo");
            if let Some(echo) = echo
                && let Some(Ok(value)) = words.get(echo + 1).map(|word| word.parse())
                && let Some(device) = words
                    .iter()
                    .find_map(|word| device_of(word))
                    .or_else(|| mount_of(&words))
            {
                found.push(setting(at, device, value, WindowUnit::Kib));
            }
        }
        for one in found.iter_mut().filter(|one| one.line == at + 1) {
            one.is_sure = is_sure;
            one.comment_kib = comment_kib;
        }
    }
    found
}

/// The [`commands`] of a unit of systemd, which has its own signs in them: a backslash and `%` are written twice.
pub(super) fn unit(text: &str, is_sure: bool) -> Vec<BootSetting> {
    let mut found = commands(text, is_sure);
    for one in &mut found {
        let plain = one.pattern.replace("\\\\", "").replace("%%", "");
        // Any other one stands for something that is not looked at here.
        one.is_sure &= !plain.contains(['\\', '%']);
        one.pattern = one.pattern.replace("\\\\", "\\").replace("%%", "%");
    }
    found
}

/// The device of `…block/sda/queue/read_ahead_kb`, `…block/sda/bdi/read_ahead_kb` or `…bdi/8:0/read_ahead_kb`, and
/// the UUID of `…fs/btrfs/UUID/bdi/read_ahead_kb`.
fn device_of(path: &str) -> Option<&str> {
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

/// The mount of `/sys/class/bdi/$(mountpoint -d /mnt)/read_ahead_kb`.
fn mount_of<'a>(words: &[&'a str]) -> Option<&'a str> {
    let at = words.windows(2).position(|pair| {
        pair[0].ends_with("bdi/$(mountpoint") || pair[0].ends_with("bdi/$$(mountpoint")
    })?;
    let (path, end) = words.get(at + 2)?.split_once(')')?;
    (words[at + 1] == "-d" && end.ends_with("/read_ahead_kb")).then_some(path)
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

/// The window of a comment that says exactly one: `# 4 MiB`, `# 512 KB`, `# 256 sectors`.
fn window_of(comment: &str) -> Option<u64> {
    let words: Vec<String> = comment
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
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
    use super::super::udev;
    use super::*;

    #[test]
    fn every_kind_of_file_says_its_value_with_its_unit() {
        let one = |found: Vec<BootSetting>| {
            assert_eq!(found.len(), 1, "{found:?}");
            let one = &found[0];
            (one.line, one.pattern.clone(), one.kib(), one.is_sure)
        };
        let line = "block/sda/queue/read_ahead_kb = 128";
        assert_eq!(one(sysfs(line)), (1, "sda".into(), 128, true));
        let line = "w /sys/class/bdi/0:47/read_ahead_kb - - - - 64";
        assert_eq!(one(tmpfiles(line)), (1, "0:47".into(), 64, true));
        let profile = "[disk]\nreadahead=8192 s\ndevices=sda,sdb\n";
        assert_eq!(one(tuned(profile)), (2, "sda|sdb".into(), 4096, true));
        let script = "/sbin/blockdev --setra 256 /dev/sda";
        assert_eq!(
            one(commands(script, true)),
            (1, "/dev/sda".into(), 128, true)
        );
        let unit = "ExecStart=/bin/sh -c 'echo 512 > /sys/block/vdb/queue/read_ahead_kb'";
        assert_eq!(one(commands(unit, true)), (1, "vdb".into(), 512, true));
        assert_eq!(commands("blockdev --setra $N /dev/sda", true), []);
    }

    /// As `_parse_ra` and `_device_is_supported` of tuned's plugin for disks have it.
    #[test]
    fn a_profile_sets_volumes_and_arrays_and_takes_a_unit_behind_a_blank() {
        let of = |value: &str| {
            let found = tuned(&format!("[disk]\nreadahead={value}\n"));
            found.first().map(BootSetting::kib)
        };
        assert_eq!(of("8192 s"), Some(4096));
        assert_eq!(of(">8192 sectors"), Some(4096));
        assert_eq!(of("8192"), Some(8192));
        assert_eq!(of("8192s"), None);
        let one = &tuned("[disk]\nreadahead=4096\n")[0];
        for name in ["sda", "dm-3", "md127", "loop0", "zram0"] {
            assert_eq!(one.sets(&[name.to_owned()]), Some(true), "{name}");
        }
        assert_eq!(one.sets(&["dasda".to_owned()]), Some(false));
    }

    #[test]
    fn what_has_conditions_elsewhere_is_unsure() {
        let command = "blockdev --setra 256 /dev/sda";
        assert!(!commands(&format!("if true; then\n{command}\nfi"), true)[0].is_sure);
    }

    /// A link with a blank in its name, as udev writes it and as a unit has to.
    #[test]
    fn a_unit_writes_backslashes_twice() {
        let of = |device: &str| {
            let found = unit(
                &format!("ExecStart=/sbin/blockdev --setra 256 {device}"),
                true,
            );
            (found[0].pattern.clone(), found[0].is_sure)
        };
        let link = r"/dev/disk/by-id/a\x20b".to_owned();
        assert_eq!(of(r"/dev/disk/by-id/a\\x20b"), (link.clone(), true));
        assert_eq!(of(&link), (link, false));
        assert_eq!(of("/dev/%i"), ("/dev/%i".to_owned(), false));
    }

    #[test]
    fn a_comment_that_says_one_window_is_kept() {
        assert_eq!(window_of(" 4 MiB for the array"), Some(4096));
        assert_eq!(window_of("512KB"), Some(512));
        assert_eq!(window_of("256 sectors"), Some(128));
        assert_eq!(window_of("from 128K to 4M"), None);
        assert_eq!(window_of("see bug 4096"), None);
    }

    /// Pieces of all kinds of files in any order, and bytes that are none.
    #[test]
    fn damaged_texts_never_panic() {
        let pieces = [
            "KERNEL==",
            "\"",
            ",",
            "ATTR{queue/read_ahead_kb}=",
            "sd[",
            "]",
            "!",
            "-",
            "*",
            "|",
            "\n",
            "#",
            " ",
            "block/",
            "/read_ahead_kb",
            "/queue",
            "=",
            ">",
            "w ",
            "echo",
            "--setra",
            "18446744073709551615",
            "[disk]",
            "readahead=",
            "devices=",
            "é",
            "\u{0}",
            "s",
            "4 MiB",
            "$",
            "[nfsrahead]",
            "nfs4=",
            "[ \"$DEVNAME\" = '",
            "' ] || exit 0",
            "ATTR{wwid}==",
            "bdi/$(mountpoint -d ",
            ")",
            "devices_udev_regex=^",
            "/dev/",
            "/dev/disk/",
            "RUN+=\"",
            "/dev/%k",
        ];
        let mut random = fastrand::Rng::with_seed(12);
        for _ in 0..20_000 {
            let text: String = (0..random.usize(0..16))
                .map(|_| pieces[random.usize(0..pieces.len())])
                .collect();
            let mut all = udev::attributes(&text);
            for more in [
                udev::programs(&text),
                sysfs(&text),
                tmpfiles(&text),
                tuned(&text),
                commands(&text, true),
                unit(&text, true),
                nfs(&text),
                hotplug(&text),
            ] {
                all.extend(more);
            }
            for one in &all {
                let _ = (one.kib(), one.sets(&["sda".to_owned(), text.clone()]));
            }
            let _ = included(&text);
        }
    }
}
