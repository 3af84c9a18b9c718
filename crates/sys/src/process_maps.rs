//! `/proc/PID/maps` - where a process has mapped a file.
//!
//! See `man 5 proc_pid_maps`.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use crate::block_queue::DeviceNumber;

/// Mappings of a process that are looked through. It may have 65 530 and more, and all of them take 20 ms.
pub const MAPPINGS_MAX: usize = 16_384;

/// A part of a file in the memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMapping {
    /// Its first byte in the memory of the process.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// Its first byte in the file.
    pub offset: u64,
    /// The device of the file's superblock.
    pub device: DeviceNumber,
}

/// Where process `pid` has mapped files with the number `inode`, in the order of its memory, among the first [`MAPPINGS_MAX`]. `NotFound` when the
/// process has ended, `PermissionDenied` without the right to trace it. `proc_root` is normally `/proc`.
pub fn mappings_of(proc_root: &Path, pid: i32, inode: u64) -> io::Result<Vec<FileMapping>> {
    let maps = BufReader::new(File::open(proc_root.join(format!("{pid}/maps")))?);
    let mut found = Vec::new();
    for line in maps.split(b'\n').take(MAPPINGS_MAX) {
        let line = line?;
        // A name of any bytes may follow.
        let text = String::from_utf8_lossy(&line);
        let line = mapping_line(&text).filter(|line| line.inode == inode);
        found.extend(line.map(|line| line.mapping));
    }
    Ok(found)
}

/// A line of `maps`, and of `smaps` the first one of each mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MappingLine<'a> {
    /// Where and of what.
    pub(crate) mapping: FileMapping,
    /// The file's number; 0 without a file.
    pub(crate) inode: u64,
    /// The file as the process sees it, or what the kernel calls the memory; may be empty.
    pub(crate) name: &'a str,
}

/// `7f00a000-7f00b000 r--s 00001000 08:02 135522   /usr/lib/a b.so`; the device in hexadecimal digits.
pub(crate) fn mapping_line(line: &str) -> Option<MappingLine<'_>> {
    let mut fields = line.splitn(6, ' ');
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let half = |text: &str| u32::from_str_radix(text, 16).ok();
    let (start, end) = fields.next()?.split_once('-')?;
    let (start, end) = (hexadecimal(start)?, hexadecimal(end)?);
    let offset = hexadecimal(fields.nth(1)?)?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let device = DeviceNumber {
        major: half(major)?,
        minor: half(minor)?,
    };
    let mapping = FileMapping {
        address: start,
        length: end.checked_sub(start)?,
        offset,
        device,
    };
    Some(MappingLine {
        mapping,
        inode: fields.next()?.parse().ok()?,
        name: fields.next().unwrap_or_default().trim_start(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn mappings_of_a_file_are_found_among_others() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("7")).unwrap();
        let maps = "\
55d0-55d8 r--p 00000000 fe:0a 12    /a b 12\n\
7f00a000-7f00c000 r--s 00001000 fe:0a 34    /c\n\
7ffc0000-7ffd0000 rw-p 00000000 00:00 0     [stack]\n\
nonsense\n";
        fs::write(folder.path().join("7/maps"), maps).unwrap();
        let found = mappings_of(folder.path(), 7, 34).unwrap();
        let expected = FileMapping {
            address: 0x7f00_a000,
            length: 0x2000,
            offset: 0x1000,
            device: DeviceNumber {
                major: 254,
                minor: 10,
            },
        };
        assert_eq!(found, [expected]);
        // Behind some, and behind all that are looked through.
        let many = |count: usize| {
            let other = "7f0000-7f1000 r--p 00000000 fe:0a 12 /a\n".repeat(count);
            fs::write(folder.path().join("7/maps"), other + maps).unwrap();
            mappings_of(folder.path(), 7, 34).unwrap()
        };
        assert_eq!(many(10_000), [expected]);
        assert_eq!(many(65_530), []);
        let gone = mappings_of(folder.path(), 8, 34).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }
}
