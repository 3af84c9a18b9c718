//! `getrusage` - what this process has used, as far as it shows whether it waited for a device, and what it touched.
//!
//! The raw call, as it is made inside other programs.

/// Totals over all threads since the process was forked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnUsage {
    /// Sectors that this process had read from block devices and network file systems.
    pub sectors_read: u64,
    /// Times that a thread gave up the processor to wait for something.
    pub waits: u64,
    /// Pages that became memory, or were found in it, when they were first touched.
    pub page_faults: u64,
}

/// Usage of this process so far.
#[must_use]
pub fn own_usage() -> OwnUsage {
    usage(libc::RUSAGE_SELF)
}

/// Usage of this thread so far.
#[must_use]
pub fn own_thread_usage() -> OwnUsage {
    usage(libc::RUSAGE_THREAD)
}

fn usage(who: libc::c_int) -> OwnUsage {
    // SAFETY: rusage is a plain struct of integers, for which zeroes are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live local of the right type. It cannot fail for these two.
    unsafe { libc::syscall(libc::SYS_getrusage, who, &raw mut usage) };
    OwnUsage {
        sectors_read: u64::try_from(usage.ru_inblock).unwrap_or(0),
        waits: u64::try_from(usage.ru_nvcsw).unwrap_or(0),
        page_faults: u64::try_from(usage.ru_minflt).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_child_is_counted_as_a_wait() {
        let before = own_usage();
        let mut child = std::process::Command::new("sleep").arg("0.05").spawn();
        child.as_mut().unwrap().wait().unwrap();
        assert!(own_usage().waits > before.waits);
    }
}
