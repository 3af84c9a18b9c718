//! What those need to know of a file who ask for pages of it beside its streams.

use ahead_policy::knobs::Knobs;
use ahead_units::PageCount;

use crate::waiting::Waiting;

/// What of a file limits what is asked for beside its streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) file_pages: PageCount,
    pub(super) knobs: Knobs,
    /// The kernel's window of its open file; `None`: that of the device.
    pub(super) kernel_window: Option<PageCount>,
    /// It is copied inside the kernel.
    pub(super) is_copied: bool,
    /// How many of its reads wait at the same time.
    pub(super) waiting: Waiting,
}
