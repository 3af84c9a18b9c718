//! What a host finds out about a device when it meets it.

use ahead_units::PAGE_BYTES;

use crate::settings::Settings;

/// A chunk is no smaller: sectors and pages are what single disks call the smallest request.
const CHUNK_BYTES_MIN: u64 = 16 << 10;

/// More disks in a row are a figure of something else: a USB bridge says 65 535 sectors.
const STRIPES_MAX: u64 = 64;

/// What the host found out about a device when it met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// What identifies it, also to other processes and after a restart; 0 when that is not known.
    pub identity: u64,
    /// Has an arm that seeks; `None` when it is not known.
    pub rotational: Option<bool>,
    /// Disks that it deals its data out to, where it says so; else 1, never 0.
    pub stripes: u32,
    /// Pages that one call may ask for: the kernel cuts the rest silently. At least 1.
    pub call_pages_max: u32,
    /// Most pages that the kernel asks for at once by itself for a scan; 0: it is not known.
    pub kernel_window: u32,
    /// Its file system keeps files in folios of many pages, and the host can tell what it [delivers](crate::host::FileTable::delivered).
    pub has_large_folios: bool,
    /// The configured access time, 0 if none.
    pub access_ns: u64,
    /// The configured bandwidth, 0 if none.
    pub bytes_per_second: u64,
    /// The configured depth, 0 if none.
    pub depth: u32,
}

impl DeviceFacts {
    /// Nothing was found out: what the settings say, and a call that every kernel takes.
    #[must_use]
    pub fn configured(settings: &Settings) -> Self {
        Self {
            identity: 0,
            rotational: None,
            stripes: 1,
            call_pages_max: 32,
            kernel_window: 0,
            has_large_folios: false,
            access_ns: u64::from(settings.access_us) * 1000,
            bytes_per_second: u64::from(settings.bandwidth_mb) * 1_000_000,
            depth: settings.depth,
        }
    }

    /// Arms that it says it has.
    #[must_use]
    pub fn arms(&self) -> u32 {
        if self.rotational == Some(true) {
            self.stripes
        } else {
            0
        }
    }

    /// With what sysfs says of stripes, in bytes: md, dm and the controllers of arrays call a chunk the smallest request, and a
    /// row of them, one on each disk with data, the best one (`raid0_set_limits`, `raid5_set_limits`, `stripe_io_hints`).
    /// Single disks say all kinds of things, which are no such pair.
    #[must_use]
    pub fn with_stripes(self, minimum_io: Option<u64>, optimal_io: Option<u64>) -> Self {
        let (chunk, row) = (minimum_io.unwrap_or(0), optimal_io.unwrap_or(0));
        let disks = row.checked_div(chunk).unwrap_or(0);
        let is_row =
            chunk >= CHUNK_BYTES_MIN && row == chunk * disks && (1..=STRIPES_MAX).contains(&disks);
        let stripes = u32::try_from(disks).ok().filter(|_| is_row);
        Self {
            stripes: stripes.unwrap_or(1),
            ..self
        }
    }

    /// The same in KiB, as sysfs says them; `None` for what it does not say.
    #[must_use]
    pub fn with_queue(self, max_sectors_kb: Option<u64>, read_ahead_kb: Option<u64>) -> Self {
        let pages = |kib: Option<u64>| kib.unwrap_or(0) * 1024 / PAGE_BYTES;
        self.with_call_limits(pages(max_sectors_kb), pages(read_ahead_kb))
    }

    /// With the limits of the queue and of the kernel's read-ahead, in pages: a call is cut at the
    /// larger one. A call for more than 4 MiB would hold the reader for too long.
    #[must_use]
    pub fn with_call_limits(self, request_pages_max: u64, ra_pages: u64) -> Self {
        let pages = request_pages_max.max(ra_pages);
        let pages = if pages == 0 { 32 } else { pages.min(1024) };
        Self {
            call_pages_max: u32::try_from(pages).unwrap_or(1024),
            kernel_window: u32::try_from(ra_pages).unwrap_or(u32::MAX),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_says_how_many_disks_a_row_has_and_nothing_else_does() {
        let facts = DeviceFacts {
            rotational: Some(true),
            ..DeviceFacts::configured(&Settings::default())
        };
        let arms =
            |minimum: u64, optimal: u64| facts.with_stripes(Some(minimum), Some(optimal)).arms();
        assert_eq!(arms(512 << 10, 2 << 20), 4, "md, RAID 5 of five disks");
        assert_eq!(arms(64 << 10, 320 << 10), 5, "a volume of five stripes");
        assert_eq!(arms(4096, 0), 1, "a disk");
        assert_eq!(arms(512, 33_553_920), 1, "a USB bridge");
        assert_eq!(arms(4096, 16_773_120), 1, "a SAS disk");
        assert_eq!(arms(65_536, 100_000), 1, "no whole row");
        assert_eq!(arms(16_384, 1 << 30), 1);
        assert_eq!(arms(16_384, u64::MAX), 1);
        assert_eq!(arms(0, 0), 1);
        assert_eq!(facts.with_stripes(None, None).arms(), 1);
        let flash = DeviceFacts {
            rotational: Some(false),
            ..facts.with_stripes(Some(65_536), Some(262_144))
        };
        assert_eq!(flash.arms(), 0);
    }
}
