//! The arithmetic that on-demand read-ahead has kept since 2.6.23: how large a window begins, how
//! it grows, what lies in the cache below a page.
//!
//! Which of these is used when is the business of each algorithm.

use super::Host;
pub(super) use ahead_policy::stock::first_window as initial;
use ahead_units::PAGE_BYTES;

/// Position of a file that was never read.
pub(super) const NEVER_READ: i64 = -1;

/// More misses than this on a mapping, and reading around faults stops (`MMAP_LOTSAMISS`).
pub(super) const MISSES_MANY: u64 = 100;

/// Pages per step of forced read-ahead: 2 MiB, so that not too much memory is pinned at once.
pub(super) const FORCED_PAGES: u64 = 512;

/// The window behind one of `size` pages: four times as large below `max / 16`, twice otherwise,
/// never above `max`.
pub(super) fn next(size: u64, max: u64) -> u64 {
    let factor = if size < max / 16 { 4 } else { 2 };
    size.saturating_mul(factor).min(max)
}

/// Pages of a fresh window of `size` that lie behind `request`: its look-ahead part; `otherwise`
/// when the request needs the whole window.
pub(super) const fn behind_request(size: u64, request: u64, otherwise: u64) -> u64 {
    if size > request {
        size - request
    } else {
        otherwise
    }
}

/// The window limit since 4.19: a request above the file's limit may use the device's largest
/// request instead.
pub(super) fn limit(ra_pages: u64, io_pages: u64, request: u64) -> u64 {
    if request > ra_pages && io_pages > ra_pages {
        request.min(io_pages)
    } else {
        ra_pages
    }
}

/// Cached pages directly below `page`, `pages` at most.
pub(super) fn history<H: Host>(host: &H, page: u64, pages: u64) -> u64 {
    if page == 0 || pages == 0 {
        return 0;
    }
    match host.last_absent(page - 1, pages) {
        Some(hole) => page - 1 - hole,
        None => page.min(pages),
    }
}

/// The page of a byte position; that of [`NEVER_READ`] is one that no file reaches.
pub(super) const fn page_of(position: i64) -> u64 {
    position.cast_unsigned() / PAGE_BYTES
}

/// First page of a window of `pages` around a faulting page, which gets the middle of it.
pub(super) const fn around(page: u64, pages: u64) -> u64 {
    page.saturating_sub(pages / 2)
}

/// The pieces of a forced read-ahead, in order: first page and number of pages.
pub(super) fn forced_pieces(start: u64, pages: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..pages.div_ceil(FORCED_PAGES)).map(move |number| {
        let skipped = number * FORCED_PAGES;
        (
            start.saturating_add(skipped),
            (pages - skipped).min(FORCED_PAGES),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{forced_pieces, initial, limit, next};

    #[test]
    fn first_windows_with_a_limit_of_32_pages() {
        let sizes = [1, 2, 3, 4, 5, 8, 9, 32, 1000].map(|request| initial(request, 32));
        assert_eq!(sizes, [4, 4, 8, 8, 16, 16, 32, 32, 32]);
    }

    #[test]
    fn next_windows_with_a_limit_of_32_pages() {
        let sizes = [1, 2, 3, 4, 8, 16, 32].map(|size| next(size, 32));
        assert_eq!(sizes, [4, 4, 6, 8, 16, 32, 32]);
    }

    #[test]
    fn a_request_beyond_all_powers_of_two_gets_the_limit() {
        assert_eq!(initial(u64::MAX, 32), 32);
        assert_eq!(next(u64::MAX, 32), 32);
    }

    #[test]
    fn only_a_request_above_the_limit_may_use_the_largest_request_of_the_device() {
        assert_eq!(limit(32, 320, 32), 32);
        assert_eq!(limit(32, 320, 100), 100);
        assert_eq!(limit(32, 320, 1000), 320);
        assert_eq!(limit(32, 16, 1000), 32);
    }

    #[test]
    fn forced_read_ahead_comes_in_pieces_of_two_megabytes() {
        assert!(forced_pieces(7, 1025).eq([(7, 512), (519, 512), (1031, 1)]));
        assert_eq!(forced_pieces(7, 0).count(), 0);
    }
}
