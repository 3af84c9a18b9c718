//! How much to ask for at once.
//!
//! Goals that pull against each other:
//!
//! * The reader never waits: ask early, and for enough to cover one access of the device.
//! * The device works, not seeks: where a request has to be positioned for (backward, or several
//!   streams on one arm), ask for a·b·u/(1−u) at once.
//! * Pages wait in memory, not in vain: never more than the stream's share, halved for the two
//!   requests that overlap; a percentage (`readahead_ratio`) of the thrashing threshold; no more
//!   than a slow reader consumes in some access times.
//! * Small files and false starts stay cheap: begin small and double with each marker crossed.
//!
//! A window always consists of two requests: the reader is inside one while the next is on its
//! way. The marker is the first page of the newest request.

use super::moment::Moment;
use super::pace::Rate;
use crate::device::REQUEST_PAGES_MIN;
use crate::steering::steering;
use crate::stock::{self, KERNEL_PAGES};

steering! {
    /// First request of a stream: 128 KiB, what the kernel has begun with for twenty years. Smaller,
    /// and a short file costs several accesses; larger, and a false start costs bandwidth.
    /// Evidence: docs/results/evidence/FIRST_REQUEST_PAGES.csv
    pub(super) FIRST_REQUEST_PAGES: u64 = 32;

    /// The rest of a run is not worth a call of its own when it is shorter than this. Shorter, and calls are
    /// made for single pages; longer, and the last pages of many runs wait.
    /// Evidence: docs/results/evidence/REQUEST_PAGES_WORTH.csv
    pub(super) REQUEST_PAGES_WORTH: u64 = 4;

    /// A stream whose reader waits inside its window asks for so many times more at once. 1, and a
    /// device that is slower than believed makes every request late; 4, and a reader that waits for
    /// the bandwidth alone fills memory.
    /// Evidence: docs/results/evidence/WAIT_FACTOR.csv
    pub(super) WAIT_FACTOR: u64 = 2;

    /// The next request is so many times larger while that leaves it below the limit: each step
    /// costs the device an access.
    /// Evidence: docs/results/evidence/GROWTH_SMALL.csv
    GROWTH_SMALL: u64 = 4;

    /// And so many times larger near the limit: each step risks that many pages.
    /// Evidence: docs/results/evidence/GROWTH_LARGE.csv
    GROWTH_LARGE: u64 = 2;

    /// A scan that gets all that the device gives, or does not wait, asks for one part in so many of what it has read at once.
    /// Fewer parts, and more is read in vain behind the ends of runs; more, and a device that can do more than
    /// is believed is learned later.
    /// Evidence: docs/results/evidence/SATURATED_PARTS.csv
    SATURATED_PARTS: u64 = 8;

    /// The same on an arm, which reads on where it is without being positioned: there is less to learn, and what is read in
    /// vain costs it more. Fewer parts, and short runs read up to a fourth more; more, and calls become small.
    /// Evidence: docs/results/evidence/SATURATED_PARTS_OF_ARM.csv
    SATURATED_PARTS_OF_ARM: u64 = 32;
}

/// First requests are so many times larger where the program said SEQUENTIAL: what the kernel makes of a
/// descriptor's read-ahead then (`generic_fadvise`).
const SEQUENTIAL_FACTOR: u64 = 2;

/// Waits double a request up to here (256 MiB); the limits of the next request hold anyway.
const GROWN_PAGES_MAX: u32 = 65536;

/// What a stream says of itself when its next request is sized.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// Each request has to be positioned for, also where nothing else uses the device.
    pub(super) is_positioned: bool,
    /// Pages of the newest access.
    pub(super) length: u32,
    /// Pages of the request that would follow; 0 before the first.
    pub(super) request: u32,
    /// Waits have earned larger requests.
    pub(super) is_boosted: bool,
    /// How fast the reader is, when that is its own pace.
    pub(super) rate: Option<Rate>,
}

/// Largest single request now; `None` when memory is too short for one. `thrash_pages`: more
/// unread pages than this were evicted, 0 if that never happened.
pub(super) fn limit(need: &Need, moment: &Moment, thrash_pages: u32) -> Option<u64> {
    let device = &moment.device;
    // Waits of streams that share a device with many channels come from sharing its bandwidth.
    let shared = moment.contested && !device.is_slow_to_access();
    // Alone, a stream has to cover the device's latency by itself. In company all do that together, and
    // what each asks for beyond its part the others wait behind; where requests have to be positioned for,
    // it is their cost that counts. A backward stream needs both: each of its requests is positioned for.
    let (efficient, pipeline) = (
        device.efficient_request().get(),
        device.pipeline_request().get(),
    );
    let is_positioned_for = device.is_positioned_for();
    let model = if moment.contested {
        let part = pipeline / u64::from(moment.streams.max(1));
        // A request that is cut in two costs the device two.
        let whole = u64::from(need.length).next_multiple_of(FIRST_REQUEST_PAGES.get());
        if is_positioned_for {
            efficient.max(whole)
        } else {
            part.max(whole)
        }
    } else if need.is_positioned {
        efficient.max(pipeline)
    } else {
        pipeline
    };
    let factor = if need.is_boosted && !shared {
        WAIT_FACTOR.get()
    } else {
        1
    };
    let wanted = model.saturating_mul(factor);
    let wanted = match need.rate {
        // Who shares a device is slow because of the others.
        Some(rate) if !moment.contested => wanted.min(usable(rate, need, moment)),
        _ => wanted,
    };
    // An arm seeks for them anyway. Where they would be answered at once but for our queue, they
    // find no more in front of them than the kernel would put there.
    let wanted = if moment.lone_reads && !device.is_slow_to_access() {
        wanted.min(FIRST_REQUEST_PAGES.get())
    } else {
        wanted
    };
    // Where others starve, as long for transfer as for positioning: in turn with others, what both get, multiplied, is
    // most then (docs/decisions/opposite-jobs.md).
    let wanted = if moment.starved {
        let fair = device.pages_per_access().get().next_power_of_two();
        wanted.min(fair.max(FIRST_REQUEST_PAGES.get()))
    } else {
        wanted
    };
    let wanted = wanted.max(u64::from(need.length));
    let most = (moment.knobs.request_pages_max.get()).min(space(need, moment, thrash_pages));
    let limit = wanted.min(most);
    let limit = if moment.contested && !is_positioned_for {
        in_whole_pieces(limit, most)
    } else {
        limit
    };
    // Where memory is too short for what the kernel brings by itself, it is left to the kernel: each piece
    // that is smaller costs a device with an arm an access. It brings at least what is read, the longest reads in many.
    let read = if is_positioned_for {
        u64::from(need.length).min(moment.knobs.request_pages_max.get())
    } else {
        0
    };
    let kernel_pages = FIRST_REQUEST_PAGES.get().max(read);
    (limit >= wanted.min(kernel_pages)).then_some(limit)
}

/// About as many pages, at most `most`, in whole pieces of what most devices are asked for at once: the rest would be a request
/// of its own, of which a device that is shared has only so many a second.
fn in_whole_pieces(pages: u64, most: u64) -> u64 {
    let piece = FIRST_REQUEST_PAGES.get();
    let below = pages - pages % piece;
    let nearest = (pages + piece / 2) / piece * piece;
    let whole = if nearest <= most { nearest } else { below };
    whole.max(pages.min(piece))
}

/// What memory has space for in one request: while it is read the next one comes.
pub(super) fn space(need: &Need, moment: &Moment, thrash_pages: u32) -> u64 {
    space_in(2, need, moment, thrash_pages)
}

/// The same where a reader is ahead by so many `requests`.
pub(super) fn space_in(requests: u64, need: &Need, moment: &Moment, thrash_pages: u32) -> u64 {
    let mut threshold = moment.threshold.get();
    if thrash_pages > 0 {
        threshold = threshold.min(u64::from(thrash_pages));
    }
    // What the reader wants now may become part of the request.
    let left = moment
        .available
        .get()
        .saturating_sub(u64::from(need.length));
    let lead = threshold.saturating_mul(u64::from(moment.knobs.readahead_ratio)) / 100;
    left.min(lead / requests)
}

/// Whether the kernel asks by itself for more than a scan gets at most, `limit`, or for as much where that is what one alone needs, or
/// was measured to do better with less; and memory has space for that. Two that ask for the same are in each other's way: the
/// kernel's next window begins where a page is missing.
pub(super) fn is_asked_by_kernel(
    need: &Need,
    moment: &Moment,
    thrash_pages: u32,
    limit: u64,
) -> bool {
    let kernel = moment.kernel_window.get();
    let alone = moment.device.pipeline_request().get();
    // Measured with the window that it has nearly everywhere, or a larger one: a smaller one is another matter.
    let was_measured = moment.scans_are_left && kernel >= KERNEL_PAGES;
    let is_enough = kernel > limit || kernel == limit && kernel >= alone || was_measured;
    is_enough && kernel <= space(need, moment, thrash_pages)
}

/// Most that a reader of this rate can use. It shrinks by halves, so that one pause of a fast
/// reader costs little.
fn usable(rate: Rate, need: &Need, moment: &Moment) -> u64 {
    let pages = rate.request_pages(&moment.device).min(1 << 20);
    pages
        .next_power_of_two()
        .max(REQUEST_PAGES_MIN.get())
        .max(u64::from(need.request / 2))
}

/// The size of this request, below `limit`.
pub(super) fn size(need: &Need, moment: &Moment, limit: u64) -> u64 {
    let factor = if moment.is_sequential {
        SEQUENTIAL_FACTOR
    } else {
        1
    };
    u64::from(need.request)
        .max(FIRST_REQUEST_PAGES.get() * factor)
        .max(u64::from(need.length) * 2)
        .min(limit)
}

/// The size of the next request, after one of `pages`.
pub(super) fn next_size(pages: u64, limit: u64) -> u32 {
    let growth = if pages * GROWTH_SMALL.get() <= limit {
        GROWTH_SMALL.get()
    } else {
        GROWTH_LARGE.get()
    };
    u32::try_from((pages * growth).min(limit)).unwrap_or(u32::MAX)
}

/// As [`next_size`], where the reader got all that the device gives while it read `run_pages`, or all that it wanted: it
/// grows with the run alone, in case the device can do more than is believed, and as fewer calls cost less.
pub(super) fn next_size_of_content(
    pages: u64,
    limit: u64,
    run_pages: u32,
    has_arm_alone: bool,
) -> u32 {
    let parts = if has_arm_alone {
        SATURATED_PARTS_OF_ARM.get()
    } else {
        SATURATED_PARTS.get()
    };
    let earned = u64::from(run_pages) / parts;
    next_size(pages, limit).min(u32::try_from(earned.max(pages)).unwrap_or(u32::MAX))
}

/// The size of the next request after a wait inside the window.
pub(super) fn size_after_wait(request: u32) -> u32 {
    request.saturating_mul(2).min(GROWN_PAGES_MAX)
}

/// What the kernel asks for by itself when a file of which nothing is in memory begins to be read
/// with `pages`: up to four times as much, and never more than [`FIRST_REQUEST_PAGES`].
pub(super) fn kernel_first_window(pages: u64) -> u64 {
    stock::first_window(pages, FIRST_REQUEST_PAGES.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adaptive::ListedRange;
    use crate::device::DeviceEstimate;
    use crate::knobs::Knobs;
    use ahead_units::PageCount;

    fn need_of(length: u32) -> Need {
        Need {
            is_positioned: false,
            length,
            request: 0,
            is_boosted: false,
            rate: None,
        }
    }

    fn moment_among(streams: u32, device: DeviceEstimate) -> Moment {
        Moment {
            knobs: Knobs::default(),
            device,
            file_pages: PageCount::new(1 << 20),
            expected: PageCount::new(0),
            threshold: PageCount::new(131_072),
            available: PageCount::new(65_536),
            kernel_window: PageCount::new(32),
            scans_are_left: false,
            streams,
            contested: streams > 1,
            lone_reads: false,
            starved: false,
            waiting: 0,
            listed: ListedRange::default(),
            is_sequential: false,
            is_left_alone: false,
            strides_are_left_alone: false,
        }
    }

    /// The largest request of one of `streams` that read `length` pages at a time.
    fn limit_among(streams: u32, length: u32, device: DeviceEstimate) -> Option<u64> {
        limit(&need_of(length), &moment_among(streams, device), 0)
    }

    #[test]
    fn streams_that_share_flash_ask_together_for_what_one_would() {
        let flash = |streams, length| limit_among(streams, length, DeviceEstimate::FLASH);
        assert_eq!(flash(1, 16), Some(128));
        assert_eq!(flash(2, 16), Some(64));
        assert_eq!(
            flash(27, 16),
            Some(32),
            "and never for less than the kernel"
        );
        assert_eq!(flash(27, 34), Some(64), "two whole requests");
    }

    /// Generated 985337 on cloud: three streams asked for 160 KiB at a time, and each second request of the volume, which serves 3000
    /// a second, was for 32 KiB: 1.05 of the kernel's time.
    #[test]
    fn streams_that_share_a_device_ask_for_whole_pieces() {
        let flash = |streams| limit_among(streams, 4, DeviceEstimate::FLASH);
        assert_eq!(flash(3), Some(32), "a third is 42");
        assert_eq!(in_whole_pieces(50, 100), 64);
        assert_eq!(in_whole_pieces(50, 60), 32);
        assert_eq!(
            in_whole_pieces(20, 20),
            20,
            "less than one is no reason to ask for none"
        );
    }

    /// `dd` in 4 KiB from a disk of 3 GB/s with a window of 8 MiB took 1.7 times as long beside windows of 512 KiB as without.
    /// Eight scans of flash beside the kernel's 128 KiB, which is all that each of them may ask for, took 1.25 times as long when
    /// they were left to it. Twelve beside the 256 KiB that it has after SEQUENTIAL took as much longer when they were not.
    #[test]
    fn a_scan_is_left_to_the_kernel_where_its_window_is_as_large_as_one_alone_needs() {
        let is_left = |kernel, streams, available| {
            let moment = Moment {
                kernel_window: PageCount::new(kernel),
                available: PageCount::new(available),
                ..moment_among(streams, DeviceEstimate::FLASH)
            };
            let need = need_of(1);
            limit(&need, &moment, 0).is_some_and(|most| is_asked_by_kernel(&need, &moment, 0, most))
        };
        assert!(is_left(2048, 1, 65_536));
        assert!(is_left(2048, 8, 65_536));
        assert!(!is_left(32, 1, 65_536));
        assert!(!is_left(32, 8, 65_536), "all that it may ask for");
        assert!(is_left(64, 12, 65_536), "more than that");
        assert!(!is_left(2048, 1, 1024), "there is no space for its window");
        assert!(!is_left(0, 1, 65_536), "it asks for nothing");
        let moment = Moment {
            scans_are_left: true,
            ..moment_among(8, DeviceEstimate::FLASH)
        };
        assert!(is_asked_by_kernel(&need_of(1), &moment, 0, 128), "measured");
        let small = Moment {
            kernel_window: PageCount::new(8),
            ..moment
        };
        assert!(!is_asked_by_kernel(&need_of(1), &small, 0, 128));
    }

    /// The plan of a hundred slow streams in 32 MiB on hdd took 1.30 of the kernel's time in pieces of four pages
    /// and more, and takes 1.04 of it when those are left to the kernel.
    #[test]
    fn where_memory_is_short_of_what_the_kernel_brings_nothing_is_asked_for() {
        let limit_in = |available| {
            let moment = Moment {
                available: PageCount::new(available),
                ..moment_among(1, DeviceEstimate::ARM)
            };
            limit(&need_of(1), &moment, 0)
        };
        assert_eq!(limit_in(32), None, "one page is that which is read now");
        assert_eq!(limit_in(33), Some(32));
    }

    /// Fifty-six readers of 512 KiB at a time in 64 MiB: requests of half a read cost each read of an array two accesses, and all
    /// 2.1 of the kernel's time.
    #[test]
    fn where_memory_is_short_of_a_whole_read_an_arm_is_not_asked_for_half_of_one() {
        let limit_in = |threshold, device| {
            let moment = Moment {
                threshold: PageCount::new(threshold),
                ..moment_among(56, device)
            };
            limit(&need_of(128), &moment, 0)
        };
        assert_eq!(limit_in(4 * 127, DeviceEstimate::ARM), None);
        assert_eq!(limit_in(4 * 128, DeviceEstimate::ARM), Some(128));
        let flash = DeviceEstimate::FLASH;
        assert_eq!(limit_in(4 * 127, flash), Some(96), "no arm moves for it");
    }

    #[test]
    fn streams_that_share_an_arm_ask_for_what_positioning_costs() {
        let arm = |streams| limit_among(streams, 16, DeviceEstimate::ARM);
        assert_eq!(arm(2), arm(27));
        assert!(arm(2) > arm(1));
    }

    /// sep64 on an emulated disk that runs four times faster than real: its accesses are no slow ones,
    /// and 64 streams got what the kernel would have asked for.
    #[test]
    fn a_fast_arm_is_an_arm() {
        let fast = DeviceEstimate {
            access_ns: 1_900_000,
            bytes_per_second: 400_000_000,
            depth: 1,
        };
        assert!(limit_among(64, 16, fast) > limit_among(1, 16, fast));
    }

    /// Four scans asked an arm for 8 MiB each, and a reader of pages waited 450 ms for each of them.
    #[test]
    fn where_page_faults_starve_a_stream_asks_for_what_takes_as_long_as_an_access() {
        let starved = |device| {
            let moment = Moment {
                starved: true,
                ..moment_among(4, device)
            };
            limit(&need_of(16), &moment, 0)
        };
        assert_eq!(limit_among(4, 16, DeviceEstimate::ARM), Some(2048));
        assert_eq!(starved(DeviceEstimate::ARM), Some(256));
        assert_eq!(starved(DeviceEstimate::FLASH), Some(32));
    }

    #[test]
    fn the_kernel_begins_with_four_pages_for_one_and_twice_the_read_after_that() {
        let windows: Vec<u64> = [1, 2, 3, 8, 9, 32, 1000]
            .into_iter()
            .map(kernel_first_window)
            .collect();
        assert_eq!(windows, [4, 4, 8, 16, 32, 32, 32]);
    }
}
