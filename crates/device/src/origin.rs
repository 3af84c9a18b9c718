//! Where a window probably comes from: the kernel's rules, computed again and compared with the value.
//!
//! * Every window begins as 128 KiB.
//! * A device that names an optimal request gets twice of it, if that is more.
//! * Since Linux 6.17 a rotational device that names none gets twice its largest request instead.
//! * btrfs: the default times the number of devices, at least 4 MiB. NFS: 128 KiB since 5.4, 15 times `rsize`
//!   before. FUSE: what the server allows, at most 128 KiB. SMB: twice `rsize`. Ceph: 8 MiB.
//! * LVM gives a volume at least the window of what lies below it.
//!
//! A value that no rule gives was set by a program or a person, also 128 KiB where a rule of this kernel gives another
//! one. The opposite is not known: a person can write what a rule gives.

use serde::Serialize;

use crate::block::{LayerKind, QueueLimits};

/// The window that Linux has begun with since 2.2, in KiB.
pub const DEFAULT_KIB: u64 = 128;

/// A page, in KiB: windows are kept in pages.
pub const PAGE_KIB: u64 = 4;

/// First kernel in which a rotational device without an optimal request gets twice its largest one.
pub const ROTATIONAL_RULE_SINCE: (u32, u32) = (6, 17);

/// First kernel in which the block layer itself gives a device twice its optimal request. Before, some drivers did.
const OPTIMAL_RULE_SINCE: (u32, u32) = (5, 10);

/// A window in KiB and in sectors of 512 bytes, as the two are mixed up.
#[must_use]
pub fn in_both_units(kib: u64) -> String {
    format!("{kib} KiB ({} sectors)", kib.saturating_mul(2))
}

/// Where a value probably comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The kernel's default.
    Default,
    /// Twice the optimal request that the device names.
    TwiceOptimal,
    /// Twice the largest request, as the device says that it is rotational.
    TwiceRequest,
    /// The rule of the file system.
    FileSystem,
    /// The window of the layer below.
    Below,
    /// No rule gives this value: it was set.
    Set,
}

impl Origin {
    /// A few words for tables.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Default => "kernel default",
            Self::TwiceOptimal => "twice the optimal request",
            Self::TwiceRequest => "twice the largest request (rotational)",
            Self::FileSystem => "rule of the file system",
            Self::Below => "as the layer below",
            Self::Set => "set by a program or a person",
        }
    }
}

/// Twice `bytes`, in KiB of whole pages, as the kernel rounds.
#[must_use]
pub const fn twice_kib(bytes: u64) -> u64 {
    bytes.saturating_mul(2) / 4096 * PAGE_KIB
}

/// What the kernel gives a device with these limits by itself, and why. `kernel` is its version.
#[must_use]
pub fn of_rule(limits: &QueueLimits, kernel: Option<(u32, u32)>) -> (u64, Origin) {
    let optimal = limits.optimal_io_bytes.unwrap_or(0);
    if twice_kib(optimal) > DEFAULT_KIB {
        return (twice_kib(optimal), Origin::TwiceOptimal);
    }
    let has_rule = kernel.is_none_or(|kernel| kernel >= ROTATIONAL_RULE_SINCE);
    let request = limits.max_sectors_kb.unwrap_or(0).saturating_mul(1024);
    if has_rule
        && optimal == 0
        && limits.rotational == Some(true)
        && twice_kib(request) > DEFAULT_KIB
    {
        return (twice_kib(request), Origin::TwiceRequest);
    }
    (DEFAULT_KIB, Origin::Default)
}

/// The origin of the window of a block device. `below` has the windows of the devices under it.
#[must_use]
pub fn of_block(
    kib: u64,
    kind: LayerKind,
    limits: &QueueLimits,
    kernel: Option<(u32, u32)>,
    below: &[u64],
) -> Origin {
    // Vendors bring rules to older kernels: what a rule gives is by that rule, whatever the version.
    for kernel in [kernel, None] {
        let (rule_kib, origin) = of_rule(limits, kernel);
        if rule_kib == kib {
            return origin;
        }
    }
    let is_stacked = !matches!(kind, LayerKind::Disk | LayerKind::Partition);
    if is_stacked && below.iter().max() == Some(&kib) {
        return Origin::Below;
    }
    if kib == DEFAULT_KIB && !has_other_rule(limits, kernel) {
        return Origin::Default;
    }
    Origin::Set
}

/// Whether this kernel surely gives a device with these limits more than its default.
fn has_other_rule(limits: &QueueLimits, kernel: Option<(u32, u32)>) -> bool {
    let (_, origin) = of_rule(limits, kernel);
    let since = match origin {
        Origin::TwiceOptimal => OPTIMAL_RULE_SINCE,
        // Where the optimal request is not said, there may be one.
        Origin::TwiceRequest if limits.optimal_io_bytes.is_some() => ROTATIONAL_RULE_SINCE,
        _ => return false,
    };
    kernel.is_some_and(|kernel| kernel >= since)
}

/// The origin of the window of a file system that has a bdi of its own. `rsize` and `rasize` are those of the mount, in
/// bytes.
#[must_use]
pub fn of_superblock(
    kib: u64,
    file_system: &str,
    (rsize, rasize): (Option<u64>, Option<u64>),
    devices: u64,
) -> Origin {
    let read = rsize.unwrap_or(0) / 1024;
    // An option of the mount makes it each time.
    let is_option = rasize.is_some_and(|bytes| bytes / 4096 * PAGE_KIB == kib);
    let rule = match file_system {
        "btrfs" => kib == (DEFAULT_KIB.saturating_mul(devices.max(1))).max(4096),
        "nfs" | "nfs4" => kib == DEFAULT_KIB || (read > 0 && kib == 15 * read),
        "cifs" | "smb3" => is_option || (read > 0 && kib == 2 * read),
        "ceph" => is_option || kib == 8192,
        _ => false,
    };
    match kib {
        _ if rule && kib != DEFAULT_KIB => Origin::FileSystem,
        DEFAULT_KIB => Origin::Default,
        _ if file_system.starts_with("fuse") && kib < DEFAULT_KIB => Origin::FileSystem,
        _ => Origin::Set,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(rotational: bool, optimal: u64, request_kib: u64) -> QueueLimits {
        QueueLimits {
            rotational: Some(rotational),
            optimal_io_bytes: Some(optimal),
            max_sectors_kb: Some(request_kib),
            ..QueueLimits::default()
        }
    }

    #[test]
    fn a_rotational_disk_got_more_with_6_17_and_flash_did_not() {
        let arm = disk(true, 0, 4096);
        assert_eq!(of_rule(&arm, Some((6, 12))), (128, Origin::Default));
        assert_eq!(of_rule(&arm, Some((6, 17))), (8192, Origin::TwiceRequest));
        let flash = disk(false, 0, 4096);
        assert_eq!(of_rule(&flash, Some((6, 18))), (128, Origin::Default));
    }

    #[test]
    fn twice_the_optimal_request_counts_when_it_is_more_than_the_default() {
        let bogus = disk(true, 33_553_920, 4096);
        assert_eq!(
            of_rule(&bogus, Some((6, 12))),
            (65_532, Origin::TwiceOptimal)
        );
        let small = disk(true, 4096, 4096);
        assert_eq!(of_rule(&small, Some((6, 18))), (128, Origin::Default));
        assert_eq!(twice_kib(u64::MAX), u64::MAX / 4096 * 4);
    }

    #[test]
    fn what_no_rule_gives_was_set() {
        let flash = disk(false, 0, 1280);
        let of = |kib, kind, below: &[u64]| of_block(kib, kind, &flash, Some((6, 12)), below);
        assert_eq!(of(4096, LayerKind::Disk, &[]), Origin::Set);
        assert_eq!(
            of(4096, LayerKind::LogicalVolume, &[128, 4096]),
            Origin::Below
        );
        assert_eq!(of(0, LayerKind::Disk, &[]), Origin::Set);
    }

    /// What the repair of a window that is too large leaves: the next boot makes the rule's of it.
    #[test]
    fn the_default_was_set_where_the_kernel_gives_another_one() {
        let of = |limits: &QueueLimits, kernel| {
            let kind = LayerKind::Disk;
            of_block(128, kind, limits, kernel, &[])
        };
        let arm = disk(true, 0, 4096);
        assert_eq!(of(&arm, Some((6, 18))), Origin::Set);
        assert_eq!(of(&arm, Some((6, 12))), Origin::Default);
        assert_eq!(of(&arm, None), Origin::Default);
        let unsaid = QueueLimits {
            optimal_io_bytes: None,
            ..arm
        };
        assert_eq!(of(&unsaid, Some((6, 18))), Origin::Default);
        let bogus = disk(false, 33_553_920, 1280);
        assert_eq!(of(&bogus, Some((6, 12))), Origin::Set);
        assert_eq!(of(&bogus, Some((5, 4))), Origin::Default);
    }

    #[test]
    fn file_systems_have_rules_of_their_own() {
        let of = |kib, file_system, rsize, devices| {
            of_superblock(kib, file_system, (rsize, None), devices)
        };
        assert_eq!(of(4096, "btrfs", None, 2), Origin::FileSystem);
        assert_eq!(of(128, "btrfs", None, 2), Origin::Default);
        assert_eq!(of(15360, "nfs4", Some(1 << 20), 0), Origin::FileSystem);
        assert_eq!(of(1024, "nfs4", Some(1 << 20), 0), Origin::Set);
        assert_eq!(of(128, "fuse.s3fs", None, 0), Origin::Default);
        assert_eq!(of(4096, "ceph", None, 0), Origin::Set);
        let by_option = of_superblock(4096, "ceph", (None, Some(4 << 20)), 0);
        assert_eq!(by_option, Origin::FileSystem);
    }
}
