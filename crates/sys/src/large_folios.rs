//! Which file systems keep files in large folios - many pages that are allocated, entered and mapped as one - since when.
//!
//! The kernel's own read-ahead makes them; a call for pages (`readahead`, `POSIX_FADV_WILLNEED`) brings single ones, which take
//! several times the processor time.

use std::fmt::Write as _;
use std::path::Path;

use crate::small_file::SmallPath;

/// The first two numbers of a kernel's release.
pub type Release = (u32, u32);

struct FileSystem {
    name: &'static str,
    magic: i64,
    since: Release,
}

/// ext4 since 6.16 ("ext4: enable large folio for regular file"), XFS since 5.18.
const WITH_LARGE_FOLIOS: [FileSystem; 2] = [
    FileSystem {
        name: "ext4",
        magic: libc::EXT4_SUPER_MAGIC,
        since: (6, 16),
    },
    FileSystem {
        name: "xfs",
        magic: libc::XFS_SUPER_MAGIC,
        since: (5, 18),
    },
];

/// Since when the file system called `name` has them; `None`: it has none.
#[must_use]
pub fn since(name: &str) -> Option<Release> {
    let mut all = WITH_LARGE_FOLIOS.iter();
    all.find(|system| system.name == name)
        .map(|found| found.since)
}

/// Whether the file system with this magic number has them in a kernel of that release.
#[must_use]
pub fn has_them(magic: i64, release: Release) -> bool {
    let is_it = |system: &FileSystem| system.magic == magic && release >= system.since;
    WITH_LARGE_FOLIOS.iter().any(is_it)
}

/// The two numbers of a kernel's release: 6 and 12 of `6.12.48-cloud`.
#[must_use]
pub fn release(text: &str) -> Option<Release> {
    let mut parts = text.trim().split(['.', '-', '+']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The release of the running kernel, whose /proc is at `proc_root`. Allocates nothing.
#[must_use]
pub fn running_release(proc_root: &Path) -> Option<Release> {
    let mut path = SmallPath::below(proc_root);
    write!(path, "/sys/kernel/osrelease").ok()?;
    release(str::from_utf8(path.read().ok()?).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ext4_has_them_since_6_16_and_others_not() {
        assert!(!has_them(libc::EXT4_SUPER_MAGIC, (6, 12)));
        assert!(has_them(libc::EXT4_SUPER_MAGIC, (6, 18)));
        assert!(has_them(libc::XFS_SUPER_MAGIC, (6, 1)));
        assert!(!has_them(libc::BTRFS_SUPER_MAGIC, (7, 0)));
        assert_eq!(since("xfs"), Some((5, 18)));
        assert_eq!(since("ext3"), None);
    }

    #[test]
    fn a_release_begins_with_two_numbers() {
        assert_eq!(release("6.12.48-cloud\n"), Some((6, 12)));
        assert_eq!(release("6.18+"), Some((6, 18)));
        assert_eq!(release("next"), None);
        assert!(running_release(Path::new("/proc")).is_some_and(|release| release > (4, 0)));
        assert_eq!(running_release(Path::new("/nowhere")), None);
    }
}
