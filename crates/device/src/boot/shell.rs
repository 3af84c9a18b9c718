//! Commands that set windows, in scripts, units and rules: `blockdev`, `hdparm`, and `echo` into sysfs.
//!
//! Code lines alone are looked at, so that no word of a comment makes a script unsure. A line that speaks of windows and
//! is not understood makes one unsure setting of its text.

use super::text::{device_of, joined, lines, setting, unsure};
use crate::boot_setting::{BootSetting, WindowUnit};

/// What makes a command depend on something that is not looked at.
const CONDITIONS: [&str; 9] = [
    "if ",
    "case ",
    "while ",
    "until ",
    "&&",
    "||",
    "() {",
    "(){",
    "function ",
];

/// Most programs of one text that are looked at.
const PROGRAMS_MAX: usize = 64;

/// Settings of scripts, line by line; `is_sure` says whether it is known that they run.
pub(super) fn commands(text: &str, is_sure: bool) -> Vec<BootSetting> {
    let mut found: Vec<BootSetting> = Vec::new();
    let mut not_understood = None;
    let text = joined(text);
    let lines = lines(&text);
    let has_condition = |line: &str| CONDITIONS.iter().any(|word| line.contains(word));
    let has_conditions = lines.iter().any(|(_, line, _)| has_condition(line));
    for (at, line, comment_kib) in lines {
        if !has_conditions && is_exit(line) {
            break;
        }
        let before = found.len();
        for command in line.split([';', '&']) {
            of_command(at, command, &mut found);
        }
        for one in &mut found[before..] {
            one.is_sure &= is_sure && !has_conditions;
            one.comment_kib = comment_kib;
        }
        if found.len() == before && speaks_of_windows(line) {
            not_understood = not_understood.or(Some(at));
        }
    }
    found.extend(not_understood.map(|at| unsure(at, "*")));
    found
}

fn of_command(at: usize, command: &str, found: &mut Vec<BootSetting>) {
    let words = words(command);
    let is_device = |word: &&&str| word.starts_with(['/', '$']);
    let of_sectors = |place: usize, value: &str| {
        let value = value.parse().ok();
        let devices = words.iter().skip(place).filter(is_device);
        let of_device = move |device: &&str| match value {
            Some(value) => setting(at, plain(device), value, WindowUnit::Sectors),
            None => unsure(at, plain(device)),
        };
        devices.map(of_device).collect::<Vec<_>>()
    };
    let is_program = |word: &str, program: &str| word.rsplit('/').next() == Some(program);
    let is_hdparm = words.iter().any(|word| is_program(word, "hdparm"));
    for (place, word) in words.iter().enumerate() {
        let behind = words.get(place + 1).copied().unwrap_or_default();
        if matches!(*word, "--setra" | "--setfra") {
            found.extend(of_sectors(place + 2, behind));
        } else if is_hdparm && let Some(value) = word.strip_prefix("-a") {
            // Without a number it only shows the window.
            let (value, skip) = if value.is_empty() {
                (behind, 2)
            } else {
                (value, 1)
            };
            if value.parse::<u64>().is_ok() || value.starts_with('$') {
                found.extend(of_sectors(place + skip, value));
            }
        } else if is_program(word, "echo") || is_program(word, "printf") {
            let said = &words[place + 1..];
            let is_place = |word: &&&str| word.ends_with("/read_ahead_kb");
            let written = said.iter().take_while(|word| !is_place(word));
            // Options of echo, and the form of printf.
            let value = written.clone().find(|word| !word.starts_with(['-', '%']));
            let value = value.and_then(|word| word.trim_end_matches("\\n").parse().ok());
            let mut devices: Vec<_> = said.iter().filter_map(|word| device_of(word)).collect();
            devices.extend(mount_of(&words));
            for device in devices {
                found.push(match value {
                    Some(value) => setting(at, plain(device), value, WindowUnit::Kib),
                    None => unsure(at, plain(device)),
                });
            }
        }
    }
}

/// A device as a pattern; what a shell would make several or other words of is not looked at.
fn plain(device: &str) -> &str {
    if device.contains(['{', '`']) && !device.contains('$') {
        return "$";
    }
    device
}

fn words(command: &str) -> Vec<&str> {
    let words = command.split(|c: char| c.is_whitespace() || "'\"|>".contains(c));
    words.filter(|word| !word.is_empty()).collect()
}

/// Whether nothing behind this line is run.
fn is_exit(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    words.next() == Some("exit") && words.next().is_none_or(is_number) && words.next().is_none()
}

fn speaks_of_windows(line: &str) -> bool {
    // What a configuration of hdparm calls it stands in the program that reads it, too.
    let line = line.replace("read_ahead_sect", "");
    let is_said = ["setra", "setfra", "read_ahead"]
        .iter()
        .any(|word| line.contains(word));
    is_said || (line.contains("hdparm") && sets_by_hdparm(&words(&line)))
}

/// Whether words of hdparm set a window, as `-a256` and `-a $N` do; `-a /dev/sda` shows it.
fn sets_by_hdparm(words: &[&str]) -> bool {
    let is_set = |(at, word): (usize, &&str)| match word.strip_prefix("-a") {
        Some("") => words.get(at + 1).is_some_and(|next| !next.starts_with('/')),
        Some(number) => number.bytes().all(|byte| byte.is_ascii_digit()),
        None => false,
    };
    words.iter().enumerate().any(is_set)
}

/// The unsure setting of a script that something else runs, with arguments that are not looked at; `None` where it does
/// not speak of windows, and for a program that is no text.
pub(super) fn of_script(text: &str) -> Option<BootSetting> {
    if text.contains('\0') {
        return None;
    }
    let mut code = lines(text).into_iter();
    let (at, ..) = code.find(|(_, line, _)| speaks_of_windows(line))?;
    Some(unsure(at, "*"))
}

/// Files that a text may run: those that it names by their whole path.
pub(super) fn programs(text: &str) -> Vec<String> {
    let text = joined(text);
    let mut found: Vec<String> = Vec::new();
    for (_, line, _) in lines(&text) {
        let words = line.split(|c: char| c.is_whitespace() || "'\"|>;&(){}`=".contains(c));
        for word in words {
            // Signs that systemd takes before a program.
            let word = word.trim_start_matches(['-', '@', ':', '+', '!']);
            let is_elsewhere = ["/dev/", "/sys/", "/proc/"];
            let is_program = word.starts_with('/') && word.len() > 1;
            if is_program
                && !is_elsewhere.iter().any(|start| word.starts_with(start))
                && !found.iter().any(|one| one == word)
                && found.len() < PROGRAMS_MAX
            {
                found.push(word.to_owned());
            }
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

/// The mount of `/sys/class/bdi/$(mountpoint -d /mnt)/read_ahead_kb`.
fn mount_of<'a>(words: &[&'a str]) -> Option<&'a str> {
    let at = words.windows(2).position(|pair| {
        pair[0].ends_with("bdi/$(mountpoint") || pair[0].ends_with("bdi/$$(mountpoint")
    })?;
    let (path, end) = words.get(at + 2)?.split_once(')')?;
    (words[at + 1] == "-d" && end.ends_with("/read_ahead_kb")).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_conditions_elsewhere_is_unsure() {
        let command = "blockdev --setra 256 /dev/sda";
        assert!(!commands(&format!("if true; then\n{command}\nfi"), true)[0].is_sure);
    }

    fn one(script: &str) -> (String, Option<u64>, bool) {
        let found = commands(script, true);
        let [one] = &found[..] else {
            panic!("{script}: {found:?}");
        };
        (one.pattern.clone(), one.kib(), one.is_sure)
    }

    #[test]
    fn every_way_to_write_a_window_is_read() {
        let sda = |kib| ("sda".to_owned(), Some(kib), true);
        let node = |kib| ("/dev/sda".to_owned(), Some(kib), true);
        for script in [
            "echo -n 512 > /sys/block/sda/queue/read_ahead_kb",
            "printf 512 > /sys/block/sda/queue/read_ahead_kb",
            "printf '512\\n' > /sys/block/sda/queue/read_ahead_kb",
            "printf '%s\\n' 512 > /sys/block/sda/queue/read_ahead_kb",
            "echo 512 | tee /sys/block/sda/queue/read_ahead_kb",
        ] {
            assert_eq!(one(script), sda(512), "{script}");
        }
        for script in [
            "hdparm -a 1024 /dev/sda",
            "/sbin/hdparm -a1024 -B 254 /dev/sda",
            "blockdev --setfra 1024 /dev/sda",
            "blockdev \\\n --setra 1024 /dev/sda",
        ] {
            assert_eq!(one(script), node(512), "{script}");
        }
        assert_eq!(commands("hdparm -a /dev/sda", true), []);
        assert_eq!(commands("hdparm -A1 -B 254 /dev/sda", true), []);
    }

    /// The window was said to be lost at boot, beside a script that sets it.
    #[test]
    fn what_speaks_of_windows_and_is_not_understood_is_one_unsure_setting() {
        let all = || ("*".to_owned(), None, false);
        for script in [
            "D=/sys/block/sda\ncat /etc/ra > $D/queue/read_ahead_kb\ncat /etc/ra > /x/read_ahead_kb",
            "tune --setra=512",
            "hdparm -a `cat /etc/window` /dev/sda",
        ] {
            assert_eq!(one(script), all(), "{script}");
        }
        assert_eq!(
            one("blockdev --setra $N /dev/sda"),
            ("/dev/sda".to_owned(), None, false)
        );
        assert_eq!(
            one("blockdev --setra 8 /dev/sd{a,b}"),
            ("$".to_owned(), Some(4), true)
        );
        assert_eq!(one("hdparm -a 8 `cat /etc/disks`").0, "$");
        for script in [
            "case x in read_ahead_sect) ;; esac",
            "# setra",
            "blockdev --getra /dev/sda",
        ] {
            assert_eq!(commands(script, true), [], "{script}");
        }
        assert!(
            of_script("#!/bin/sh\nfor d in a b; do blockdev --setra 512 /dev/$d; done").is_some()
        );
        assert!(of_script("#!/bin/sh\n# setra\n").is_none());
        assert!(of_script("\u{7f}ELF\0setra").is_none());
    }

    /// `if ` in a comment made every command behind it unsure.
    #[test]
    fn words_of_comments_are_no_conditions_and_nothing_counts_behind_an_exit() {
        let script = "#!/bin/sh\n# Say so if it fails: a && b\nblockdev --setra 1024 /dev/sda # if so\nexit 0\nblockdev --setra 8 /dev/sda\n";
        assert_eq!(one(script), ("/dev/sda".to_owned(), Some(512), true));
        let script = "if test -e /x; then\n  exit 0\nfi\nblockdev --setra 1024 /dev/sda\n";
        assert_eq!(one(script), ("/dev/sda".to_owned(), Some(512), false));
    }

    #[test]
    fn programs_are_named_by_their_whole_path() {
        let text =
            "-/opt/tune.sh /dev/sda >/dev/null\n/bin/sh -c '/opt/more.sh 512'\n# /opt/no.sh\n";
        assert_eq!(programs(text), ["/opt/tune.sh", "/bin/sh", "/opt/more.sh"]);
    }
}
