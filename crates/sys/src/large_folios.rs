//! Which file systems keep files in large folios - many pages that are allocated, entered and mapped as one - since when.
//!
//! The kernel's own read-ahead makes them; a call for pages (`readahead`, `POSIX_FADV_WILLNEED`) brings single ones, which take
//! several times the processor time.

use crate::kernel_release::Release;

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
    since_where(|system| system.name == name)
}

/// The same of the file system with this magic number.
#[must_use]
pub fn since_of(magic: i64) -> Option<Release> {
    since_where(|system| system.magic == magic)
}

fn since_where(is_it: impl Fn(&FileSystem) -> bool) -> Option<Release> {
    let found = WITH_LARGE_FOLIOS.iter().find(|system| is_it(system));
    found.map(|system| system.since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ext4_has_them_since_6_16_and_others_not() {
        let has_them = |magic, release| since_of(magic).is_some_and(|since| release >= since);
        assert!(!has_them(libc::EXT4_SUPER_MAGIC, (6, 12)));
        assert!(has_them(libc::EXT4_SUPER_MAGIC, (6, 18)));
        assert!(has_them(libc::XFS_SUPER_MAGIC, (6, 1)));
        assert!(!has_them(libc::BTRFS_SUPER_MAGIC, (7, 0)));
        assert_eq!(since("xfs"), Some((5, 18)));
        assert_eq!(since("ext3"), None);
    }
}
