//! What the stock kernel does by itself, as far as the policy has to know it: we ask only for what
//! it will not do.
//!
//! The full algorithms are the replicas' business; a rule that both need stands here.

/// The kernel's own read-ahead as nearly all devices have it: 128 KiB.
pub const KERNEL_PAGES: u64 = 32;

/// The first window of a run: `request` rounded up to a power of two, times four while that is
/// small against `max`, times two in the middle, and `max` otherwise.
#[must_use]
pub fn first_window(request: u64, max: u64) -> u64 {
    let Some(size) = request.checked_next_power_of_two() else {
        return max;
    };
    if size <= max / 32 {
        size * 4
    } else if size <= max / 4 {
        size * 2
    } else {
        max
    }
}

/// What a read of `pages` brings in where nothing is in memory: itself, and the first window.
#[must_use]
pub fn first_read(pages: u64) -> u64 {
    first_window(pages, KERNEL_PAGES).max(pages)
}

/// Most that the kernel asks for at once for a scan in reads of `request` pages, of a device with a window of `max` that takes
/// `call_max` at once: a read that is larger than the window widens it, and the second half of each is asked for ahead
/// (`page_cache_sync_ra` and `page_cache_async_ra` of mm/readahead.c). All in pages. 0: it asks for nothing.
#[must_use]
pub fn scan_window(request: u64, max: u64, call_max: u64) -> u64 {
    if max == 0 {
        return 0;
    }
    max.max(request.min(call_max))
}

/// Pages that the kernel brings in for a read of `length` of which nothing is in memory, where that is more than it asks for at
/// once: it waits for the first window, asks for the second at half of that, and for each further one at the begin of the one in
/// front of it (`page_cache_sync_ra`, `page_cache_async_ra`). `max` and `call_max` as for [`scan_window`].
#[must_use]
pub fn long_read(length: u64, max: u64, call_max: u64) -> u64 {
    let limit = |wanted| scan_window(wanted, max, call_max);
    let first = limit(length);
    if max == 0 || first >= length {
        return length;
    }
    let (mut marker, mut end) = (first / 2, first);
    while marker < length {
        let next = limit(length - marker);
        (marker, end) = (end, end + next);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_read_of_one_page_brings_four_of_thirty_two() {
        assert_eq!(first_window(1, 32), 4);
        assert_eq!(first_window(16, 32), 32);
        assert_eq!(first_window(u64::MAX, 32), 32);
    }

    #[test]
    fn of_a_long_read_comes_a_window_more_than_it_reaches_into() {
        for (length, brought) in [(32, 32), (33, 96), (64, 96), (65, 128), (1024, 1056)] {
            assert_eq!(long_read(length, 32, 32), brought, "{length}");
        }
        // 256, with the mark at 128, where 172 more are wanted, and at 256 the 44 behind that.
        assert_eq!(long_read(300, 32, 256), 256 + 172 + 44);
        assert_eq!(long_read(256, 32, 256), 256);
        assert_eq!(long_read(300, 0, 256), 300, "switched off");
    }

    #[test]
    fn a_read_that_is_larger_than_the_window_widens_it() {
        assert_eq!(scan_window(256, 32, 1024), 256);
        assert_eq!(scan_window(2048, 32, 1024), 1024);
        assert_eq!(scan_window(1, 2048, 1024), 2048);
        assert_eq!(scan_window(256, 0, 1024), 0, "switched off");
    }
}
