//! The kernel's window of a scan that is better left to it: twice that of the device, where that is small.
//!
//! An ordinary program may do no more by itself (`POSIX_FADV_SEQUENTIAL`), and it is much: with 256 KiB instead of 128 a disk of
//! 4 GB/s brought one scan 1.27 times as fast, eight 1.16 and sixty-four 1.10 times.

use ahead_policy::adaptive::Outcome;
use ahead_policy::reason::Reason;
use ahead_units::PageCount;

use crate::budget::Budget;
use crate::device::Device;

/// It becomes no larger: 512 KiB, the default that was proposed for all of Linux and shown to cost little (lkml, 2010, "512K
/// readahead size with thrashing safe readahead").
const PAGES_MAX: u64 = 128;

/// Nor than one part in so many of what memory holds for readers: streams that are left to the kernel are not counted.
const PARTS: u64 = 64;

/// The window that the open file is to have of which `outcome` leaves a scan to the kernel; `None`: as it is.
pub(crate) fn widened(outcome: &Outcome, device: &Device, budget: &Budget) -> Option<PageCount> {
    let is_left = outcome.decision.reason == Reason::KernelAsks;
    if !is_left || !device.scans().are_better_left() {
        return None;
    }
    let small_read = PageCount::new(1);
    let pages = device.kernel_window(small_read, None).get() * 2;
    let most = PAGES_MAX.min(budget.threshold().get() / PARTS);
    (pages <= most).then_some(PageCount::new(pages))
}
