//! The text that each mechanism gets, for one device and one window.
//!
//! Values of devices come from their makers and can hold anything. What cannot be written so that it means itself and
//! nothing else is matched by a sign that stands for any, or refused; nothing is ever left to be interpreted.

use crate::display::harmless;
use crate::identity::StableIdentity;

/// Why a name cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{mechanism} cannot name it: {identity} {why}")]
pub struct UnwritableName {
    /// What cannot.
    pub mechanism: &'static str,
    /// What the device is called.
    pub identity: String,
    /// What is in the way.
    pub why: &'static str,
}

fn unwritable(
    mechanism: &'static str,
    identity: &StableIdentity,
    why: &'static str,
) -> UnwritableName {
    // A name with line ends in it must not make two lines of a message.
    let identity = harmless(&identity.words());
    UnwritableName {
        mechanism,
        identity,
        why,
    }
}

/// The first line of every file of ours. It names no window, as comments beside windows are compared with them.
pub(super) const HEAD: &str =
    "# Written by `ahead device persist`; `ahead device revert` takes it back.\n";

/// A rule of udev, which is read for each event of a block device.
pub(super) fn udev(identity: &StableIdentity, kib: u64) -> Result<String, UnwritableName> {
    let condition = match identity {
        StableIdentity::Attribute { file, value } => {
            format!("ATTR{{{file}}}==\"{}\"", udev_pattern(value))
        }
        StableIdentity::Property { key, value } => {
            format!("ENV{{{key}}}==\"{}\"", udev_pattern(value))
        }
        StableIdentity::KernelName(name) => {
            format!("KERNEL==\"{}\"", udev_pattern(&name.replace('/', "!")))
        }
        StableIdentity::Mount { .. } => return Err(unwritable("udev", identity, "is a mount")),
    };
    Ok(format!(
        "{HEAD}ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"disk\", {condition}, ATTR{{queue/read_ahead_kb}}=\"{kib}\"\n"
    ))
}

/// A pattern of udev for `value`: signs of patterns stand in brackets for themselves. What udev splits at, ends a
/// text with or may read in another way is matched by `?`, and a sign of several bytes by `*`, as udev compares
/// bytes. White space at the end is not compared.
fn udev_pattern(value: &str) -> String {
    let mut pattern = String::new();
    for sign in value.trim_end().chars() {
        match sign {
            '*' | '?' | '[' => {
                pattern.push('[');
                pattern.push(sign);
                pattern.push(']');
            }
            '"' | '\\' | '|' | ']' => pattern.push('?'),
            sign if sign.is_ascii_control() => pattern.push('?'),
            sign if sign.is_ascii() => pattern.push(sign),
            _ => pattern.push('*'),
        }
    }
    pattern
}

/// A script of `OpenWrt`, which is called with the name of each device that comes.
pub(super) fn hotplug(identity: &StableIdentity, kib: u64) -> Result<String, UnwritableName> {
    let quoted = |value: &str| match value.chars().any(char::is_control) {
        true => Err(unwritable(
            "a script",
            identity,
            "has signs of control in it",
        )),
        false => Ok(format!("'{}'", value.replace('\'', "'\\''"))),
    };
    let (says, value) = match identity {
        StableIdentity::Attribute { file, value } => (
            format!("$(cat \"/sys/block/$DEVNAME/{file}\" 2>/dev/null)"),
            quoted(value)?,
        ),
        StableIdentity::KernelName(name) => ("$DEVNAME".to_owned(), quoted(name)?),
        _ => return Err(unwritable("a script", identity, "is known to udev only")),
    };
    Ok(format!(
        "#!/bin/sh\n{HEAD}[ \"$ACTION\" = add ] || exit 0\n[ \"{says}\" = {value} ] || exit 0\necho {kib} > \"/sys/block/$DEVNAME/queue/read_ahead_kb\"\n"
    ))
}

/// A line for systemd-tmpfiles. It knows the kernel's name.
pub(super) fn tmpfiles(
    identity: &StableIdentity,
    name: &str,
    kib: u64,
) -> Result<String, UnwritableName> {
    let name = plain("tmpfiles", identity, &name.replace('/', "!"))?;
    Ok(format!(
        "{HEAD}w /sys/block/{name}/queue/read_ahead_kb - - - - {kib}\n"
    ))
}

/// A name of the kernel or of udev, which has none but these signs in it; any other would be one of the file.
fn plain(
    mechanism: &'static str,
    identity: &StableIdentity,
    name: &str,
) -> Result<String, UnwritableName> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "#+-.:=@_/!\\".contains(sign);
    if name.chars().all(is_plain) && !name.is_empty() {
        return Ok(name.to_owned());
    }
    let why = "is not as the kernel and udev name devices";
    Err(unwritable(mechanism, identity, why))
}

/// A line for sysfsutils. It knows the kernel's name.
pub(super) fn sysfs(
    identity: &StableIdentity,
    name: &str,
    kib: u64,
) -> Result<String, UnwritableName> {
    let name = plain("sysfs.d", identity, &name.replace('/', "!"))?;
    Ok(format!("{HEAD}block/{name}/queue/read_ahead_kb = {kib}\n"))
}

/// A unit of systemd that sets the window of the device behind `node`, and the unit that it starts with.
pub(super) fn unit_of_device(
    identity: &StableIdentity,
    blockdev: &str,
    node: &str,
    kib: u64,
) -> Result<(String, String), UnwritableName> {
    let node = plain("a unit", identity, node)?;
    let device = format!("{}.device", unit_name(&node));
    let text = unit(
        &format!("After={0}\nBindsTo={0}\n", in_dependency(&device)),
        &format!(
            "{blockdev} --setra {} {}",
            kib.saturating_mul(2),
            in_command(&node)
        ),
    );
    Ok((text, device))
}

/// A unit of systemd that sets the window of what is mounted at `path`, and the unit that it starts with.
pub(super) fn unit_of_mount(
    identity: &StableIdentity,
    path: &str,
    window: &str,
    kib: u64,
) -> Result<(String, String), UnwritableName> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-".contains(sign);
    let mut both = path
        .chars()
        .chain(window.chars().filter(|sign| !"$(: )".contains(*sign)));
    if !both.all(is_plain) {
        let why = "has signs in it that a shell or systemd would read in another way";
        return Err(unwritable("a unit", identity, why));
    }
    let mount = format!("{}.mount", unit_name(path));
    let text = unit(
        &format!("After={}\n", in_dependency(&mount)),
        &format!("/bin/sh -c 'echo {kib} > {window}/read_ahead_kb'"),
    );
    Ok((text, mount))
}

fn unit(after: &str, command: &str) -> String {
    format!(
        "{HEAD}[Unit]\nDescription=Read-ahead, as persisted by ahead\n{after}\n[Service]\nType=oneshot\nExecStart={command}\n"
    )
}

/// A word of a command of systemd, which reads `%` and backslashes there.
fn in_command(word: &str) -> String {
    in_dependency(&word.replace('\\', "\\\\"))
}

/// The name of a unit that another one names. Systemd reads `%` there, and takes backslashes as they are: they are a
/// part of the name.
fn in_dependency(unit: &str) -> String {
    unit.replace('%', "%%")
}

/// The name of the unit of a path, as `systemd-escape --path` has it.
fn unit_name(path: &str) -> String {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return "-".to_owned();
    }
    let mut name = String::new();
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            b'/' => name.push('-'),
            b'.' if at == 0 => name.push_str("\\x2e"),
            byte if byte.is_ascii_alphanumeric() || b":_.".contains(&byte) => {
                name.push(char::from(byte));
            }
            byte => name.push_str(&format!("\\x{byte:02x}")),
        }
    }
    name
}

/// A section of a profile of tuned, behind what it says already. Of instances that would take the same device, the
/// one with the lowest priority number has it.
pub(super) fn tuned(
    before: &str,
    section: &str,
    name: &str,
    property: Option<(&str, &str)>,
    identity: &StableIdentity,
    kib: u64,
) -> Result<String, UnwritableName> {
    let device = match property {
        Some((key, value)) => {
            let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._:-".contains(sign);
            if !value.chars().all(is_plain) {
                let why = "has signs in it that a pattern would read in another way";
                return Err(unwritable("tuned", identity, why));
            }
            format!("devices_udev_regex=^{key}={}$", value.replace('.', "[.]"))
        }
        None => format!("devices={}", plain("tuned", identity, name)?),
    };
    let end = if before.is_empty() || before.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    Ok(format!(
        "{before}{end}{HEAD}[{section}]\ntype=disk\npriority=-1\n{device}\nreadahead={kib}\n"
    ))
}

/// `/etc/nfs.conf` with the window of one kind of mounts: in the line that has it, behind the head of its section, or
/// in a section at the end.
pub(super) fn nfs(before: &str, kind: &str, kib: u64) -> String {
    let line = format!("{kind}={kib}");
    let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
    let is_head = |line: &String| line.trim().eq_ignore_ascii_case("[nfsrahead]");
    let Some(head) = lines.iter().position(is_head) else {
        lines.push("[nfsrahead]".to_owned());
        lines.push(line);
        return lines.join("\n") + "\n";
    };
    let section = lines[head + 1..]
        .iter()
        .position(|line| line.trim().starts_with('['));
    let end = section.map_or(lines.len(), |at| head + 1 + at);
    let says = |text: &String| {
        text.split_once('=')
            .is_some_and(|(key, _)| key.trim() == kind)
    };
    match lines[head + 1..end].iter().rposition(says) {
        Some(at) => lines[head + 1 + at] = line,
        None => lines.insert(head + 1, line),
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serial(value: &str) -> StableIdentity {
        StableIdentity::Attribute {
            file: "serial".to_owned(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn no_value_of_a_device_leaves_its_quotes_in_a_rule() {
        let evil = "a b\"c\\d|e*f[g]h\ni=\"x\", RUN+=\"reboot\"é  ";
        let rule = udev(&serial(evil), 128).unwrap();
        assert_eq!(rule.lines().count(), 2, "{rule}");
        let condition = "ATTR{serial}==\"a b?c?d?e[*]f[[]g?h?i=?x?, RUN+=?reboot?*\", ATTR";
        assert!(rule.contains(condition), "{rule}");
        // Three conditions, the name and the window.
        assert_eq!(rule.matches('"').count(), 10, "{rule}");
    }

    #[test]
    fn a_script_keeps_quotes_in_quotes_and_refuses_line_ends() {
        let script = hotplug(&serial("it's $(reboot)"), 128).unwrap();
        assert!(
            script.contains(r"= 'it'\''s $(reboot)' ] || exit 0"),
            "{script}"
        );
        let error = hotplug(&serial("a\nb"), 128).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
    }

    #[test]
    fn units_are_called_as_systemd_calls_them() {
        let names = [
            "/",
            "/mnt/data",
            "/mnt/a-b c",
            "/.x/y",
            "/dev/disk/by-id/wwn-0x5",
        ]
        .map(unit_name);
        let expected = [
            "-",
            "mnt-data",
            r"mnt-a\x2db\x20c",
            r"\x2ex-y",
            r"dev-disk-by\x2did-wwn\x2d0x5",
        ];
        assert_eq!(names, expected);
        let (text, _) = unit_of_device(
            &serial("x"),
            "/sbin/blockdev",
            r"/dev/disk/by-id/a\x20b",
            64,
        )
        .unwrap();
        assert!(
            text.contains(r"--setra 128 /dev/disk/by-id/a\\x20b"),
            "{text}"
        );
        let link = "/dev/disk/by-id/wwn-0x5000aaaa";
        let (text, device) = unit_of_device(&serial("x"), "/sbin/blockdev", link, 64).unwrap();
        let name = r"dev-disk-by\x2did-wwn\x2d0x5000aaaa.device";
        assert_eq!(device, name);
        assert!(
            text.contains(&format!("\nAfter={name}\nBindsTo={name}\n")),
            "{text}"
        );
        let (text, mount) = unit_of_mount(&serial("x"), "/mnt/a-b", "/sys", 64).unwrap();
        assert_eq!(mount, r"mnt-a\x2db.mount");
        assert!(text.contains(&format!("\nAfter={mount}\n")), "{text}");
        assert!(unit_of_mount(&serial("x"), "/mnt/$(reboot)", "/sys", 64).is_err());
        assert!(unit_of_mount(&serial("x"), "/mnt", "/sys/'; reboot", 64).is_err());
        for name in ["a b", "a\nb", "a;b", "a%n", ""] {
            assert!(
                unit_of_device(&serial("x"), "/b", name, 64).is_err(),
                "{name:?}"
            );
            assert!(tmpfiles(&serial("x"), name, 64).is_err(), "{name:?}");
            assert!(sysfs(&serial("x"), name, 64).is_err(), "{name:?}");
            assert!(
                tuned("", "s", name, None, &serial("x"), 64).is_err(),
                "{name:?}"
            );
        }
    }

    #[test]
    fn nfs_conf_keeps_every_other_line() {
        assert_eq!(nfs("", "nfs4", 1024), "[nfsrahead]\nnfs4=1024\n");
        let before = "# mine\n[nfsrahead]\n nfs = 1\nnfs4=2\n[nfsd]\nnfs4=y\n";
        let after = "# mine\n[nfsrahead]\n nfs = 1\nnfs4=1024\n[nfsd]\nnfs4=y\n";
        assert_eq!(nfs(before, "nfs4", 1024), after);
        let after = "[nfsrahead]\nnfs=64\n[nfsd]\n";
        assert_eq!(nfs("[nfsrahead]\n[nfsd]", "nfs", 64), after);
    }
}
