//! Learning, when a file is closed, how much of a fresh file gets read.
//!
//! Only small files that were read to their end count: the first window met the end, and no more
//! pages are cached than the first window recommended. All were used: the next first window may be
//! larger by an eighth of the file, up to the recommended one. Some were not: it shrinks by half of
//! what was not.

use super::events::AraObserver;
use super::file::Ara;
use super::release::AraRelease;
use crate::kernel::Host;
use ahead_units::PAGE_BYTES;

impl<O: AraObserver> Ara<O> {
    pub(super) fn learn_at_close<H: Host>(&mut self, host: &mut H, position: u64) {
        if self.release == AraRelease::V16 || !self.has_met_end || position == 0 {
            return;
        }
        let first = self.knobs.pages_first;
        let Some(cached) = cached_pages(host, first) else {
            return;
        };
        let used = u64::from(self.chunks.hits).max(1 + position / PAGE_BYTES);
        let learned = host.learned();
        if used >= cached {
            if learned.expect_bytes < first.saturating_mul(PAGE_BYTES) {
                learned.expect_bytes += cached * PAGE_BYTES / 8;
            }
        } else {
            let missed = (cached - used) * PAGE_BYTES;
            if learned.expect_bytes >= missed / 2 {
                learned.expect_bytes -= missed / 2;
            }
        }
    }
}

/// Pages of the file that are cached; `None` if there are more than `most`.
fn cached_pages<H: Host>(host: &H, most: u64) -> Option<u64> {
    let end = host.file_bytes().div_ceil(PAGE_BYTES);
    let mut cached = 0;
    let mut from = 0;
    while let Some(page) = host.first_present(from, end - from) {
        cached += 1;
        from = page + 1;
        if cached > most {
            return None;
        }
    }
    Some(cached)
}
