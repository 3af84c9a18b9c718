//! What the daemon may do, once it works: of all that root may, what it needs.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// * BPF, PERFMON: to attach programs, which is done anew whenever a file is watched after a rest
/// * SYS_PTRACE: to duplicate a descriptor of another process, and to look at its `/proc` files
/// * DAC_READ_SEARCH: those belong to its user
/// * CHECKPOINT_RESTORE: to see which file a mapping is of
/// * FOWNER: `cachestat` tells who owns a file, or could
/// * SYS_NICE: to be served before others, and for `process_madvise`
const NEEDED: CapabilitySet = CapabilitySet::BPF
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::CHECKPOINT_RESTORE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::SYS_NICE);

/// Gives up the others. Threads that exist keep them, so it has to be called before there are any.
///
/// # Errors
/// The kernel's. All is as before then.
pub(super) fn keep_needed() -> rustix::io::Result<()> {
    let now = capabilities(None)?;
    let kept = CapabilitySets {
        effective: now.effective & NEEDED,
        permitted: now.permitted & NEEDED,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = include_str!("../../../../packaging/systemd/ahead.service");

    /// What the unit leaves to the daemon is what the daemon keeps.
    #[test]
    fn the_unit_names_the_same_capabilities() {
        let line = |line: &'static str| line.strip_prefix("CapabilityBoundingSet=");
        let listed = UNIT.lines().find_map(line).unwrap();
        let mut named: Vec<_> = listed
            .split(' ')
            .filter_map(|name| name.strip_prefix("CAP_"))
            .collect();
        named.sort_unstable();
        let mut needed: Vec<_> = NEEDED.iter_names().map(|(name, _)| name).collect();
        needed.sort_unstable();
        assert_eq!(named, needed);
    }
}
