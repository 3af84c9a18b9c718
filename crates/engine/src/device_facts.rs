//! What a host finds out about a device when it meets it.

use ahead_units::PAGE_BYTES;

use crate::settings::Settings;

/// What the host found out about a device when it met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// What identifies it, also to other processes and after a restart; 0 when that is not known.
    pub identity: u64,
    /// Has an arm that seeks; `None` when it is not known.
    pub rotational: Option<bool>,
    /// Pages that one call may ask for: the kernel cuts the rest silently. At least 1.
    pub call_pages_max: u32,
    /// Most pages that the kernel asks for at once by itself for a scan; 0: it is not known.
    pub kernel_window: u32,
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
            call_pages_max: 32,
            kernel_window: 0,
            access_ns: u64::from(settings.access_us) * 1000,
            bytes_per_second: u64::from(settings.bandwidth_mb) * 1_000_000,
            depth: settings.depth,
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
