//! Profiles of tuned: windows of its plugin for disks, of that for sysfs, and the scripts that a profile runs.
//!
//! Sections are read as tuned's `Matcher` and `_parse_ra` have them; what stands in variables is unsure.

use super::text::{device_of, lines, setting, unsure};
use crate::boot_setting::{BootSetting, WindowUnit};
use crate::identity::PROPERTIES;

/// The disks that a profile means which names none: those of these buses, and what has no bus, as volumes and arrays.
const DISKS_OF_TUNED: &str = "sd*|vd*|xvd*|nvme*|mmcblk*|dm-*|md*|loop*|zram*";

/// What one section says.
#[derive(Default)]
struct Section {
    found: Vec<BootSetting>,
    devices: Option<String>,
    is_off: bool,
}

impl Section {
    /// The settings of it for its devices.
    fn settings(self) -> Vec<BootSetting> {
        if self.is_off {
            return Vec::new();
        }
        let mut found = self.found;
        for one in &mut found {
            if one.pattern.is_empty() {
                let devices = self.devices.as_deref();
                devices
                    .unwrap_or(DISKS_OF_TUNED)
                    .clone_into(&mut one.pattern);
            }
        }
        found
    }
}

/// `readahead=4096` of a profile, and `8192 s` in sectors; `8192s` is none. With `>` before it, it only raises. And
/// lines such as `/sys/block/sda/queue/read_ahead_kb=512`.
pub(super) fn tuned(text: &str) -> Vec<BootSetting> {
    let mut found: Vec<BootSetting> = Vec::new();
    let mut section = Section::default();
    for (at, line, comment_kib) in lines(text) {
        if line.starts_with('[') {
            found.extend(std::mem::take(&mut section).settings());
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "devices" => section.devices = Some(devices(value)),
            "devices_udev_regex" => {
                let known = value
                    .strip_prefix('^')
                    .and_then(|value| value.strip_suffix('$'));
                let known = known.and_then(|known| known.split_once('='));
                let known = known.filter(|(key, _)| PROPERTIES.contains(key));
                section.devices = Some(match known {
                    Some((key, value)) => format!("ENV{{{key}}}={value}"),
                    // Some device, by a pattern that is not looked at.
                    None => "$".to_owned(),
                });
            }
            "enabled" => section.is_off = !matches!(value, "true" | "True" | "1"),
            "readahead" => {
                let one = read_ahead(at, value);
                section
                    .found
                    .extend(one.map(|one| BootSetting { comment_kib, ..one }));
            }
            path if path.ends_with("/read_ahead_kb") => {
                let device = device_of(path);
                section.found.push(match (device, value.parse()) {
                    (Some(device), Ok(value)) => BootSetting {
                        comment_kib,
                        ..setting(at, device, value, WindowUnit::Kib)
                    },
                    (device, _) => unsure(at, device.unwrap_or("*")),
                });
            }
            _ => {}
        }
    }
    found.extend(section.settings());
    found
}

/// The pattern of a list of devices: those with `!` are exceptions, and without any other one all are meant.
fn devices(value: &str) -> String {
    if value.contains('$') {
        return "$".to_owned();
    }
    let words = value.split([',', ' ', '\t']).map(str::trim);
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let has_other = words.iter().any(|word| !word.starts_with('!'));
    let all = (!has_other).then_some(DISKS_OF_TUNED);
    let all: Vec<_> = all.into_iter().chain(words).collect();
    all.join("|")
}

/// A window for the devices of its section, which are not known yet. With a sign before it, it depends on the window that is
/// there.
fn read_ahead(at: usize, value: &str) -> Option<BootSetting> {
    if value.contains('$') {
        return Some(unsure(at, ""));
    }
    let number = value.trim_start_matches(['>', '<']);
    let mut words = number.split_whitespace();
    let written = words.next()?.parse().ok()?;
    let unit = match words.next() {
        Some(unit) if unit.starts_with('s') => WindowUnit::Sectors,
        _ => WindowUnit::Kib,
    };
    let mut one = setting(at, "", written, unit);
    one.only_raises = value.starts_with('>');
    one.is_sure = number == value;
    Some(one)
}

/// Profiles that a profile includes.
pub(super) fn included(text: &str) -> Vec<String> {
    values(text, "include")
}

/// Scripts that a profile runs, with `folder` for its own.
pub(super) fn scripts(text: &str, folder: &str) -> Vec<String> {
    let scripts = values(text, "script").into_iter();
    let scripts = scripts.map(|script| script.replace("${i:PROFILE_DIR}", folder));
    let placed = scripts.map(|script| match script.starts_with('/') {
        true => script,
        false => format!("{folder}/{script}"),
    });
    placed.collect()
}

fn values(text: &str, wanted: &str) -> Vec<String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let values = pairs.filter(|(key, _)| key.trim() == wanted);
    let names = values.flat_map(|(_, value)| value.split([',', ' ']));
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(text: &str, name: &str) -> Option<bool> {
        let found = tuned(text);
        let [one] = &found[..] else {
            panic!("{found:?}");
        };
        one.sets(&[name.to_owned()])
    }

    /// As `_parse_ra` and `_device_is_supported` of tuned's plugin for disks have it.
    #[test]
    fn a_profile_sets_volumes_and_arrays_and_takes_a_unit_behind_a_blank() {
        let of = |value: &str| {
            let found = tuned(&format!("[disk]\nreadahead={value}\n"));
            found.first().and_then(BootSetting::kib)
        };
        assert_eq!(of("8192 s"), Some(4096));
        assert_eq!(of(">8192 sectors"), Some(4096));
        assert_eq!(of("8192"), Some(8192));
        assert_eq!(of("8192s"), None);
        for name in ["sda", "dm-3", "md127", "loop0", "zram0"] {
            assert_eq!(sets("[disk]\nreadahead=4096\n", name), Some(true), "{name}");
        }
        assert_eq!(sets("[disk]\nreadahead=4096\n", "dasda"), Some(false));
    }

    /// Exceptions were read as names, and a section without any other one meant nothing.
    #[test]
    fn devices_with_an_exclamation_mark_are_exceptions() {
        let text = "[disk]\ndevices=!sda\nreadahead=4096\n";
        assert_eq!(sets(text, "sda"), Some(false));
        assert_eq!(sets(text, "sdb"), Some(true));
        let text = "[disk]\ndevices=sd*, !sd[ab]\nreadahead=4096\n";
        assert_eq!(sets(text, "sdb"), Some(false));
        assert_eq!(sets(text, "sdc"), Some(true));
        assert_eq!(sets(text, "vda"), Some(false));
    }

    #[test]
    fn a_section_that_is_off_sets_nothing_and_what_depends_is_unsure() {
        assert_eq!(tuned("[disk]\nenabled=false\nreadahead=4096\n"), []);
        assert_eq!(
            tuned("[a]\nenabled=false\n[disk]\nreadahead=4096\n").len(),
            1
        );
        for text in [
            "[disk]\nreadahead=<4096\n",
            "[disk]\nreadahead=${ra}\n",
            "[disk]\ndevices=${disks}\nreadahead=4096\n",
            "[sysfs]\n/sys/block/sda/queue/read_ahead_kb=${ra}\n",
        ] {
            assert_eq!(sets(text, "sda"), None, "{text}");
        }
    }

    #[test]
    fn the_plugin_for_sysfs_sets_windows() {
        let text = "[sysfs]\n/sys/block/sd*/queue/read_ahead_kb=512\n";
        assert_eq!(sets(text, "sdb"), Some(true));
        assert_eq!(tuned(text)[0].kib(), Some(512));
        assert_eq!(sets(text, "vda"), Some(false));
    }

    #[test]
    fn scripts_lie_beside_their_profile() {
        let text = "[script]\nscript=${i:PROFILE_DIR}/tune.sh, more.sh\n";
        let expected = ["/etc/tuned/mine/tune.sh", "/etc/tuned/mine/more.sh"];
        assert_eq!(scripts(text, "/etc/tuned/mine"), expected);
    }
}
