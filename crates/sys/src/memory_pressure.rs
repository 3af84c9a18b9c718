//! `/proc/pressure/memory` - how long tasks have waited for memory (PSI).
//!
//! Allocates nothing. Not there without CONFIG_PSI, or with `psi=0`. See Documentation/accounting/psi.rst.

use std::path::Path;

use crate::small_file::{SmallPath, number};

/// Time in which at least one task waited for memory, since the machine started, in nanoseconds; `None` where the kernel
/// does not say. `proc_root` is normally `/proc`.
#[must_use]
pub fn stalled_ns(proc_root: &Path) -> Option<u64> {
    let mut path = SmallPath::below(proc_root);
    let text = path.push(b"/pressure/memory").read().ok()?;
    let some = text
        .split(|&byte| byte == b'\n')
        .find_map(|line| line.strip_prefix(b"some "))?;
    let total = some
        .split(|&byte| byte == b' ')
        .find_map(|word| word.strip_prefix(b"total="))?;
    // In microseconds.
    number(total)?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_total_of_some_is_taken_in_nanoseconds() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(stalled_ns(root.path()), None);
        fs::create_dir(root.path().join("pressure")).unwrap();
        let text = "some avg10=1.25 avg60=0.00 avg300=0.00 total=59645\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=32050\n";
        fs::write(root.path().join("pressure/memory"), text).unwrap();
        assert_eq!(stalled_ns(root.path()), Some(59_645_000));
    }
}
