//! `/proc/sys/kernel/osrelease` - which kernel runs.

use std::fmt::Write as _;
use std::path::Path;

use crate::small_file::SmallPath;

/// The first two numbers of a kernel's release.
pub type Release = (u32, u32);

/// The two numbers of a release: 6 and 12 of `6.12.48-cloud`.
#[must_use]
pub fn parse(text: &str) -> Option<Release> {
    let mut parts = text.trim().split(['.', '-', '+']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The release of the kernel whose /proc is at `proc_root`. Allocates nothing.
#[must_use]
pub fn read(proc_root: &Path) -> Option<Release> {
    let mut path = SmallPath::below(proc_root);
    write!(path, "/sys/kernel/osrelease").ok()?;
    parse(str::from_utf8(path.read().ok()?).ok()?)
}

/// Whether that kernel is `first` or a newer one; where its release cannot be read, it is taken to be older.
#[must_use]
pub fn is_since(proc_root: &Path, first: Release) -> bool {
    read(proc_root) >= Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_begins_with_two_numbers() {
        assert_eq!(parse("6.12.48-cloud\n"), Some((6, 12)));
        assert_eq!(parse("6.18+"), Some((6, 18)));
        assert_eq!(parse("next"), None);
        assert!(read(Path::new("/proc")).is_some_and(|release| release > (4, 0)));
        assert_eq!(read(Path::new("/nowhere")), None);
        assert!(is_since(Path::new("/proc"), (4, 0)));
        assert!(!is_since(Path::new("/proc"), (u32::MAX, 0)));
        assert!(!is_since(Path::new("/nowhere"), (0, 0)));
    }
}
