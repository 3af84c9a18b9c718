//! `/proc/meminfo` - how much memory the machine has, and how much of it programs can still take.
//!
//! Allocates nothing. See `man 5 proc_meminfo`.

use std::path::Path;

use rustix::io::Errno;

use crate::small_file::{SmallPath, number};

/// What the kernel says. A line that is not there, as in some sandboxes, is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryInfo {
    /// `MemTotal`: what the kernel has to give out at all.
    pub total_bytes: Option<u64>,
    /// `MemAvailable`: an estimate of what can be given out without swapping.
    pub available_bytes: Option<u64>,
}

impl MemoryInfo {
    /// Reads it. `proc_root` is normally `/proc`.
    pub fn read(proc_root: &Path) -> Result<Self, Errno> {
        let mut path = SmallPath::below(proc_root);
        Ok(Self::parse(path.push(b"/meminfo").read()?))
    }

    /// The text of the file.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        Self {
            total_bytes: bytes_of(text, b"MemTotal:"),
            available_bytes: bytes_of(text, b"MemAvailable:"),
        }
    }
}

/// `MemTotal:       24000000 kB`, where kB has always meant 1024 bytes.
fn bytes_of(text: &[u8], name: &[u8]) -> Option<u64> {
    let line = text
        .split(|&byte| byte == b'\n')
        .find_map(|line| line.strip_prefix(name))?;
    let kib = number(line.trim_ascii().strip_suffix(b"kB")?)?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_of_the_kernel_are_1024_bytes() {
        let root = tempfile::tempdir().unwrap();
        let text = "MemTotal:       65000 kB\nMemFree: 1 kB\nMemAvailable:   24000 kB\n";
        std::fs::write(root.path().join("meminfo"), text).unwrap();
        let found = MemoryInfo::read(root.path()).unwrap();
        assert_eq!(found.total_bytes, Some(65000 << 10));
        assert_eq!(found.available_bytes, Some(24000 << 10));
    }

    #[test]
    fn a_line_that_is_missing_or_nonsense_is_unknown() {
        let unknown = MemoryInfo::default();
        assert_eq!(MemoryInfo::parse(b""), unknown);
        assert_eq!(MemoryInfo::parse(b"MemTotal: many kB\n"), unknown);
        assert_eq!(
            MemoryInfo::parse(b"MemTotal: 99999999999999999999 kB"),
            unknown
        );
        let missing = MemoryInfo::read(Path::new("/does/not/exist"));
        assert_eq!(missing, Err(Errno::NOENT));
    }

    #[test]
    fn this_machine_has_memory() {
        let found = MemoryInfo::read(Path::new("/proc")).unwrap();
        assert!(found.total_bytes > found.available_bytes);
    }
}
