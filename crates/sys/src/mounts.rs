//! `/proc/self/mountinfo` - what is mounted where, as this process sees it.
//!
//! Mounting and unmounting are `rustix::mount`. See `man 5 proc_pid_mountinfo`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::block_queue::DeviceNumber;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its number, as `statx` has it.
    pub id: u64,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// Kind of file system, such as `ext4` or `fuse`.
    pub file_system: String,
    /// What is mounted: a device node, or a name that the file system chose.
    pub source: PathBuf,
    /// The device that `stat` shows for its files.
    pub device: DeviceNumber,
    /// Options of the superblock, such as `rw,rsize=1048576`.
    pub options: String,
}

/// All mounts, in the order of mounting. `proc_root` is normally `/proc`.
pub fn mounts(proc_root: &Path) -> io::Result<Vec<Mount>> {
    mounts_at(&proc_root.join("self"))
}

/// The same as a process sees them: `process` is its folder below `/proc`.
pub fn mounts_at(process: &Path) -> io::Result<Vec<Mount>> {
    let text = fs::read(process.join("mountinfo"))?;
    Ok(text
        .split(|&byte| byte == b'\n')
        .filter_map(parse)
        .collect())
}

fn parse(line: &[u8]) -> Option<Mount> {
    let line = MountLine::parse(line)?;
    Some(Mount {
        id: line.id,
        mount_point: unescape(line.mount_point),
        file_system: String::from_utf8_lossy(line.file_system).into_owned(),
        source: unescape(line.source?),
        device: line.device,
        options: unescape(line.options.unwrap_or_default())
            .to_string_lossy()
            .into_owned(),
    })
}

fn unescape(field: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescaped(field).collect()))
}

/// A line as it stands there: `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`; the number of optional fields
/// before the dash varies. What stands behind the kind of file system may be missing, where a line was cut.
pub(crate) struct MountLine<'a> {
    id: u64,
    pub(crate) device: DeviceNumber,
    /// To be [`unescaped`].
    pub(crate) mount_point: &'a [u8],
    pub(crate) file_system: &'a [u8],
    source: Option<&'a [u8]>,
    options: Option<&'a [u8]>,
}

impl<'a> MountLine<'a> {
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let mut fields = line.split(|&byte| byte == b' ');
        let id = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let device = str::from_utf8(fields.nth(1)?).ok()?;
        let mount_point = fields.nth(1)?;
        let mut behind_dash = fields.skip_while(|field| *field != b"-").skip(1);
        Some(Self {
            id,
            device: DeviceNumber::parse(device)?,
            mount_point,
            file_system: behind_dash.next()?,
            source: behind_dash.next(),
            options: behind_dash.next(),
        })
    }
}

/// Blanks, tabs, newlines and backslashes are written as a backslash and three octal digits.
pub(crate) fn unescaped(field: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = field;
    std::iter::from_fn(move || {
        let (first, tail) = rest.split_first()?;
        let octal = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        rest = if octal.is_some() { &rest[4..] } else { tail };
        Some(octal.unwrap_or(*first))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_with_a_blank_and_any_number_of_optional_fields_is_read() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("self")).unwrap();
        let text = "36 35 7:3 / /mnt/a\\040b rw,noatime master:1 shared:2 - ext4 /dev/loop3 rw\n\
                    22 1 0:21 / /proc rw - proc proc rw\nnonsense\n";
        fs::write(root.path().join("self/mountinfo"), text).unwrap();
        let found = mounts(root.path()).unwrap();
        assert_eq!(found.len(), 2);
        let disk = Mount {
            id: 36,
            mount_point: PathBuf::from("/mnt/a b"),
            file_system: "ext4".into(),
            source: PathBuf::from("/dev/loop3"),
            device: DeviceNumber { major: 7, minor: 3 },
            options: "rw".into(),
        };
        assert_eq!(found[0], disk);
        assert_eq!(found[1].file_system, "proc");
    }
}
