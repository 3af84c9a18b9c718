//! Which read-ahead the kernel uses while an arm runs: its own, or the adaptive one of our patches.

use std::fs;
use std::io;
use std::path::Path;

use crate::arm::Arm;

/// 0: the stock kernel's, 1: adaptive. Only in kernels with the patches of `kernel/patches`.
const SWITCH: &str = "/proc/sys/vm/readahead_policy";

/// What the switch was before an arm; put back when this is dropped.
pub(crate) struct KernelPolicy {
    before: Option<String>,
}

impl KernelPolicy {
    /// Whether this kernel has the switch.
    pub(crate) fn is_known() -> bool {
        Path::new(SWITCH).exists()
    }

    /// Switches to what `arm` needs. Kernels without the switch have one policy only.
    ///
    /// # Errors
    /// The switch is not there for an arm that needs it, or cannot be written.
    pub(crate) fn of(arm: &Arm) -> io::Result<Self> {
        if *arm != Arm::Patched && !Self::is_known() {
            return Ok(Self { before: None });
        }
        let before = fs::read_to_string(SWITCH)?;
        let wanted = if *arm == Arm::Patched { "1" } else { "0" };
        fs::write(SWITCH, wanted)?;
        Ok(Self {
            before: Some(before),
        })
    }
}

impl Drop for KernelPolicy {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // There is no one left to tell.
            let _ = fs::write(SWITCH, before.trim());
        }
    }
}
