//! `/proc/self/cgroup` and the limits it leads to - how much memory the groups of this process may
//! have together, in the memory controller of version 1 or 2.
//!
//! Allocates nothing. A group that was made to be limited is [`cgroup`](crate::cgroup)'s. See
//! `man 7 cgroups`.

use std::path::Path;

use crate::small_file::{SmallPath, number};

/// The least limit of the groups that this process is in and of all groups above them; `None` when
/// nothing is limited or nothing can be read. `proc_root` is normally `/proc`, `cgroup_root`
/// `/sys/fs/cgroup`.
#[must_use]
pub fn of_this_process(proc_root: &Path, cgroup_root: &Path) -> Option<u64> {
    let mut path = SmallPath::below(proc_root);
    // One line for each hierarchy, a dozen with version 1, and 250 bytes in a line are a long name.
    let groups = path.push(b"/self/cgroup").read().ok()?;
    groups
        .split(|&byte| byte == b'\n')
        .filter_map(|line| of_line(line, cgroup_root))
        .min()
}

/// The least limit behind one line of /proc/PID/cgroup: `0::/user.slice` with version 2,
/// `4:memory,other:/docker/1` with version 1; other controllers limit no memory.
#[must_use]
pub fn of_line(line: &[u8], cgroup_root: &Path) -> Option<u64> {
    let mut parts = line.splitn(3, |&byte| byte == b':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let (hierarchy, files): (&[u8], &[&[u8]]) = if controllers.is_empty() {
        // Above the first the kernel kills, above the other it reclaims, and whoever allocates waits: `MemoryHigh=` of systemd.
        (b"", &[b"/memory.max", b"/memory.high"])
    } else if controllers
        .split(|&byte| byte == b',')
        .any(|name| name == b"memory")
    {
        (b"/memory", &[b"/memory.limit_in_bytes"])
    } else {
        return None;
    };
    let mut path = path.strip_suffix(b"/").unwrap_or(path);
    let mut least = None;
    loop {
        // In a container the path may not exist below its own root: then its root has the limit.
        for file in files {
            let mut limit = SmallPath::below(cgroup_root);
            limit.push(hierarchy).push(path).push(file);
            let limit = limit.read().ok().and_then(number);
            least = least.into_iter().chain(limit).min();
        }
        match path.iter().rposition(|&byte| byte == b'/') {
            Some(cut) => path = &path[..cut],
            None => return least,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn with_limits(limits: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in limits {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        root
    }

    #[test]
    fn the_tightest_group_on_the_way_up_decides() {
        let root = with_limits(&[
            ("a/memory.max", "4096\n"),
            ("a/b/memory.max", "8192\n"),
            ("a/b/c/memory.max", "max\n"),
        ]);
        assert_eq!(of_line(b"0::/a/b/c", root.path()), Some(4096));
        assert_eq!(of_line(b"0::/elsewhere", root.path()), None);
    }

    /// A service with `MemoryHigh=` is throttled there, long before `memory.max`.
    #[test]
    fn what_a_group_is_throttled_at_limits_as_well() {
        let root = with_limits(&[
            ("a/memory.max", "8192\n"),
            ("a/memory.high", "max\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.high", "4096\n"),
        ]);
        assert_eq!(of_line(b"0::/a/b", root.path()), Some(4096));
        assert_eq!(of_line(b"0::/a", root.path()), Some(8192));
    }

    #[test]
    fn in_a_container_the_path_may_be_missing_and_the_root_has_the_limit() {
        let root = with_limits(&[
            ("memory.max", "65536\n"),
            ("memory/memory.limit_in_bytes", "1024\n"),
        ]);
        assert_eq!(of_line(b"0::/", root.path()), Some(65536));
        assert_eq!(of_line(b"0::/docker/7", root.path()), Some(65536));
        assert_eq!(of_line(b"4:cpu,memory:/docker/7", root.path()), Some(1024));
    }

    #[test]
    fn a_line_of_another_controller_has_no_memory_limit() {
        let root = with_limits(&[("memory/memory.limit_in_bytes", "1024\n")]);
        assert_eq!(of_line(b"4:cpu,cpuacct:/a", root.path()), None);
        assert_eq!(of_line(b"nonsense", root.path()), None);
        assert_eq!(of_line(b"", root.path()), None);
    }

    #[test]
    fn every_line_of_this_process_counts() {
        let cgroups = with_limits(&[
            ("memory/job/memory.limit_in_bytes", "2048\n"),
            ("memory.max", "9000\n"),
        ]);
        let proc = with_limits(&[("self/cgroup", "4:memory:/job\n3:cpu:/job\n0::/\n")]);
        assert_eq!(of_this_process(proc.path(), cgroups.path()), Some(2048));
        assert_eq!(of_this_process(cgroups.path(), cgroups.path()), None);
    }
}
