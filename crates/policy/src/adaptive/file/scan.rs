//! Scans that are expected with the first read of a file.

use crate::adaptive::access::Access;
use crate::adaptive::moment::Moment;
use crate::adaptive::request;
use crate::adaptive::window::pages32;
use crate::reason::Reason;
use crate::steering::steering;

steering! {
    /// First request of a repeated scan, at most: 1 MiB. The header of a file is read more often
    /// than the file; smaller, and a scan that is repeated begins slowly each time.
    /// Evidence: docs/results/evidence/SCAN_AGAIN_PAGES_MAX.csv
    SCAN_AGAIN_PAGES_MAX: u32 = 256;
}

/// A scan that is expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    /// Pages of its first request.
    pub(super) request: u32,
    /// Why it is expected.
    pub(super) reason: Reason,
}

/// Whether `access`, at the start of the file, is believed to begin a scan without waiting for
/// the second one; `scan_request` is that of the scan before it, 0 if there was none.
pub(super) fn expected(scan_request: u32, access: &Access, moment: &Moment) -> Option<Begun> {
    if scan_request > 0 {
        return Some(Begun {
            request: scan_request.min(SCAN_AGAIN_PAGES_MAX.get()),
            reason: Reason::Reopened,
        });
    }
    // Where the kernel's first window holds the file, a call of ours brings nothing.
    let first = request::kernel_first_window(access.len().get());
    let is_small = moment.file_pages <= moment.expected && moment.file_pages.get() > first;
    is_small.then(|| Begun {
        request: pages32(moment.file_pages),
        reason: Reason::ExpectedWhole,
    })
}
