//! What an open file is given instead of the device's window, and how.

use ahead_units::PageCount;
use serde::{Deserialize, Serialize};

/// What an open file is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SmallWindow {
    /// None: its mapping is read at random.
    #[default]
    Nothing,
    /// A few pages: a read brings little more than what it asks for, and page faults wait behind that alone.
    FewPages,
    /// What is read, in one request.
    WhatIsRead,
}

/// Reads of fewer pages are no requests of their own: 32 KiB. A device that serves 3000 requests a second serves as many
/// bytes by smaller ones as a slow disk.
const WHAT_IS_READ_PAGES_MIN: u64 = 8;

/// A turn as long as that of a network volume. Where turns are shorter, as on flash, a reader that asks only when it was answered leaves
/// the device alone for as long as it takes to wake it: four scans lost a third of their speed by it.
const WHAT_IS_READ_TURN_NS: u64 = 500_000;

impl SmallWindow {
    /// That of a scan behind which page faults starve, which reads `pages` at once, where a turn takes `turn_ns`.
    #[must_use]
    pub const fn of_scan(pages: PageCount, turn_ns: u64) -> Self {
        if pages.get() >= WHAT_IS_READ_PAGES_MIN && turn_ns >= WHAT_IS_READ_TURN_NS {
            Self::WhatIsRead
        } else {
            Self::FewPages
        }
    }

    /// Whether a scan has it that is held back.
    #[must_use]
    pub const fn is_of_scan(self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// What the device has for the moment in which the open file takes it over; `None`: that is not how it is given.
    pub(super) const fn kib(self) -> Option<u64> {
        match self {
            Self::Nothing => Some(0),
            Self::FewPages => Some(16),
            Self::WhatIsRead => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_reads_by_its_own_requests_where_these_are_large_and_turns_long() {
        let given = |pages, turn_ns| SmallWindow::of_scan(PageCount::new(pages), turn_ns);
        assert_eq!(given(16, 1_000_000), SmallWindow::WhatIsRead);
        assert_eq!(given(1, 1_000_000), SmallWindow::FewPages, "`dd` in 4 KiB");
        assert_eq!(given(16, 80_000), SmallWindow::FewPages, "flash");
    }
}
