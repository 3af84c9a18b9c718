//! Saving pages that wait for their reader from reclaim, instead of reading more.
//!
//! Up to `pages` consecutive pages from one on, as far as they are cached; each that is inactive
//! and unlocked goes to the young end of the inactive list. No I/O. Whether another user holds a
//! page, which would spare it the move, is not seen here.

use super::{Host, PageState};

/// Returns how many pages were moved.
pub(super) fn rescue_pages<H: Host>(host: &mut H, page: u64, pages: u64) -> u64 {
    let mut saved = 0;
    for page in page..page.saturating_add(pages) {
        match host.state(page) {
            PageState::Absent => break,
            PageState::InFlight => {}
            PageState::Stale | PageState::Valid => {
                if !host.is_active(page) {
                    host.rescue(page);
                    saved += 1;
                }
            }
        }
    }
    saved
}
