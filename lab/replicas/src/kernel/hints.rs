//! What a program says about a file, since 2.6.
//!
//! Advice turns the limit of the file: SEQUENTIAL doubles that of the device, NORMAL goes back to
//! it, RANDOM used to make it 0 (later it is a mode, and the limit stays). A hint that names pages
//! (WILLNEED, `readahead(2)`) reads them as they are, without a mark and without a trace in the
//! windows: *forced* read-ahead, in pieces of 2 MiB so that not too much memory is pinned at once.
//! At first it is cut at half of the inactive and free pages; in 4.19 and later at the device's
//! largest request or the file's limit, whichever is more.

use super::window_sizes::forced_pieces;
use super::{Advice, Class, Host, Window};

/// A file's limit after advice, on a device whose limit is `device_pages`, where RANDOM is no mode.
pub(super) const fn advised_limit(advice: Advice, device_pages: u64) -> u64 {
    match advice {
        Advice::Normal => device_pages,
        Advice::Sequential => device_pages.saturating_mul(2),
        Advice::Random => 0,
    }
}

/// Reads `pages` pages in pieces, congested or not.
pub(super) fn read_forced<H: Host>(host: &mut H, start: u64, pages: u64, class: Class) {
    for (start, pages) in forced_pieces(start, pages) {
        host.start(&Window {
            start,
            pages,
            class,
            ..Window::default()
        });
    }
}

/// A hint of the time when memory bounds it.
pub(super) fn read_within_memory<H: Host>(host: &mut H, start: u64, pages: u64) {
    let pages = pages.min(host.reclaimable_pages() / 2);
    read_forced(host, start, pages, Class::Advice);
}
