//! How many pages reclaim leaves to readers: the tightest of the machine and its cgroups.

use std::fs;

use ahead_units::{ByteLength, PageCount};

/// Pages that windows may count on. Half of what is allowed is left to the program itself and to
/// pages that were read already.
pub(crate) fn pages_for_readers() -> PageCount {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| available_bytes(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = groups.lines().filter_map(limit_of_line).min();
    let bytes = machine.into_iter().chain(limit).min().unwrap_or(1 << 30);
    PageCount::holding(ByteLength::new(bytes))
}

/// `MemAvailable` of /proc/meminfo, in bytes.
fn available_bytes(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib << 10)
}

/// The memory limit behind one line of /proc/self/cgroup, in bytes: of the group itself or of the
/// nearest group above that has one.
fn limit_of_line(line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let (root, file) = if controllers.is_empty() {
        ("/sys/fs/cgroup", "memory.max")
    } else if controllers.split(',').any(|name| name == "memory") {
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
    } else {
        return None;
    };
    let mut path = path.trim_end_matches('/');
    let mut least = None;
    loop {
        // In a container the path may not exist below its own root: then its root has the limit.
        let text = fs::read_to_string(format!("{root}{path}/{file}")).unwrap_or_default();
        if let Ok(bytes) = text.trim().parse::<u64>() {
            least = Some(least.map_or(bytes, |held: u64| held.min(bytes)));
        }
        match path.rfind('/') {
            Some(cut) => path = &path[..cut],
            None => return least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_kibibytes() {
        let text = "MemTotal: 100 kB\nMemAvailable:   24000 kB\n";
        assert_eq!(available_bytes(text), Some(24000 << 10));
        assert_eq!(available_bytes("MemTotal: 1 kB"), None);
    }

    #[test]
    fn a_line_of_another_controller_has_no_memory_limit() {
        assert_eq!(limit_of_line("4:cpu,cpuacct:/a"), None);
        assert_eq!(limit_of_line("nonsense"), None);
    }
}
