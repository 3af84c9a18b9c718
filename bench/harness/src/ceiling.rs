//! The order of a reader that knows its future: pure arithmetic from wanted reads to requests.
//!
//! Wanted reads are sorted by place, joined where they touch, joined over a hole where passing it
//! costs the device less than a second request, and cut to the largest request. Reading them is
//! left to the ceiling reader.

use ahead_units::PAGE_BYTES;
use ahead_workload::WantedRange;
use serde::{Deserialize, Serialize};

/// How a device likes to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pricing {
    /// Longest hole that is cheaper to read than to jump over, in bytes.
    pub hole_bytes_max: u64,
    /// Longest request, in bytes.
    pub request_bytes_max: u64,
    /// How far ahead the reader looks, in wanted bytes.
    pub horizon_bytes: u64,
    /// How many requests it keeps in flight.
    pub depth: u32,
}

impl Pricing {
    /// The usual reader over a device where holes up to `hole_bytes_max` are worth reading.
    #[must_use]
    pub const fn with_holes(hole_bytes_max: u64) -> Self {
        Self {
            hole_bytes_max,
            request_bytes_max: 1 << 20,
            horizon_bytes: 128 << 20,
            depth: 64,
        }
    }
}

/// One request to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CeilingRequest {
    /// Which file.
    pub file: u32,
    /// Where it starts, in bytes.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// How many bytes of wanted reads it answers; more than `length` when some were wanted twice.
    pub useful: u64,
}

/// Turns wanted reads into requests of whole pages, which may end behind their file. `rank` gives each
/// file's place on the device; files without one come last. The wanted reads are left sorted.
#[must_use]
pub fn merge(wanted: &mut [WantedRange], rank: &[u64], pricing: &Pricing) -> Vec<CeilingRequest> {
    let place = |file: u32| {
        usize::try_from(file)
            .ok()
            .and_then(|at| rank.get(at))
            .copied()
            .unwrap_or(u64::MAX)
    };
    wanted.sort_unstable_by_key(|o| (place(o.file), o.file, o.offset, o.length));
    let mut requests: Vec<CeilingRequest> = Vec::new();
    for range in wanted.iter() {
        // Direct reads are of whole blocks. What is wanted counts, and no more.
        let mut offset = range.offset / PAGE_BYTES * PAGE_BYTES;
        let end = range.offset.saturating_add(range.length);
        let mut left = end.next_multiple_of(PAGE_BYTES) - offset;
        let mut uncounted = range.length;
        let mut useful = |part: u64| {
            let counted = part.min(uncounted);
            uncounted -= counted;
            counted
        };
        if let Some(last) = requests.last_mut()
            && last.file == range.file
        {
            // Sorted by offset, so what lies before the end of the last request was asked for.
            let end = last.offset + last.length;
            let asked_for = end.saturating_sub(offset).min(left);
            last.useful += useful(asked_for);
            offset += asked_for;
            left -= asked_for;
            let hole = offset - end.min(offset);
            let space_bytes = pricing.request_bytes_max.saturating_sub(last.length);
            if left > 0 && hole <= pricing.hole_bytes_max && hole < space_bytes {
                let part = left.min(space_bytes - hole);
                last.length += hole + part;
                last.useful += useful(part);
                offset += part;
                left -= part;
            }
        }
        while left > 0 {
            let length = left.min(pricing.request_bytes_max);
            requests.push(CeilingRequest {
                file: range.file,
                offset,
                length,
                useful: useful(length),
            });
            offset += length;
            left -= length;
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: u64 = PAGE_BYTES;

    fn wanted(file: u32, offset: u64, length: u64) -> WantedRange {
        WantedRange {
            file,
            offset,
            length,
        }
    }

    #[test]
    fn backward_reads_become_one_ascending_request() {
        let mut list: Vec<_> = (0..4).rev().map(|i| wanted(0, i * 65536, 65536)).collect();
        let requests = merge(&mut list, &[0], &Pricing::with_holes(0));
        let length = 4 * 65536;
        assert_eq!(
            requests,
            [CeilingRequest {
                file: 0,
                offset: 0,
                length,
                useful: length
            }]
        );
    }

    #[test]
    fn a_hole_is_read_when_it_is_cheaper_and_left_out_when_not() {
        let list = [wanted(0, 0, PAGE), wanted(0, 3 * PAGE, PAGE)];
        let through = merge(&mut list.clone(), &[0], &Pricing::with_holes(2 * PAGE));
        assert_eq!(
            through,
            [CeilingRequest {
                file: 0,
                offset: 0,
                length: 4 * PAGE,
                useful: 2 * PAGE
            }]
        );
        let over = merge(&mut list.clone(), &[0], &Pricing::with_holes(PAGE));
        assert_eq!(over.len(), 2);
    }

    /// 133 KiB less some bytes, again and again: "Invalid argument".
    #[test]
    fn reads_of_any_bytes_become_requests_of_whole_pages() {
        let mut list = [
            wanted(0, 100, 5000),
            wanted(0, 5100, 5000),
            wanted(0, 40_000, 10),
        ];
        let requests = merge(&mut list, &[0], &Pricing::with_holes(0));
        let all: Vec<_> = requests
            .iter()
            .map(|r| (r.offset, r.length, r.useful))
            .collect();
        assert_eq!(all, [(0, 3 * PAGE, 10_000), (9 * PAGE, PAGE, 10)]);
    }

    #[test]
    fn a_long_read_is_cut_to_the_largest_request() {
        let requests = merge(&mut [wanted(0, 0, 5 << 19)], &[0], &Pricing::with_holes(0));
        let lengths: Vec<_> = requests.iter().map(|request| request.length).collect();
        assert_eq!(lengths, [1 << 20, 1 << 20, 1 << 19]);
    }

    #[test]
    fn files_come_in_the_order_of_their_place_on_the_device() {
        let mut list = [wanted(0, 0, PAGE), wanted(1, 0, PAGE), wanted(2, 0, PAGE)];
        let requests = merge(&mut list, &[30, 10, 20], &Pricing::with_holes(1 << 30));
        assert_eq!(
            requests.iter().map(|r| r.file).collect::<Vec<_>>(),
            [1, 2, 0]
        );
    }

    #[test]
    fn what_is_wanted_twice_is_read_once_and_counted_twice() {
        let mut list = [wanted(0, 0, 4 * PAGE), wanted(0, 0, 4 * PAGE)];
        let requests = merge(&mut list, &[0], &Pricing::with_holes(0));
        assert_eq!(
            requests,
            [CeilingRequest {
                file: 0,
                offset: 0,
                length: 4 * PAGE,
                useful: 8 * PAGE
            }]
        );
    }

    proptest! {
        #[test]
        fn every_wanted_byte_is_covered_and_counted(
            list in prop::collection::vec((0u32..3, 0u64..200, 1u64..40), 1..60),
            hole in 0u64..20, request in 1u64..64,
        ) {
            let mut list: Vec<_> =
                list.iter().map(|(f, o, l)| wanted(*f, o * PAGE, l * PAGE)).collect();
            let pricing = Pricing {
                hole_bytes_max: hole * PAGE,
                request_bytes_max: request * PAGE,
                ..Pricing::with_holes(0)
            };
            let requests = merge(&mut list, &[2, 0, 1], &pricing);
            let useful: u64 = requests.iter().map(|r| r.useful).sum();
            prop_assert_eq!(useful, list.iter().map(|o| o.length).sum::<u64>());
            for request in &requests {
                prop_assert!(request.length <= pricing.request_bytes_max);
            }
            for range in &list {
                for page in (range.offset..range.offset + range.length).step_by(4096) {
                    let covering = requests.iter().filter(|r| {
                        r.file == range.file && r.offset <= page && page < r.offset + r.length
                    });
                    prop_assert_eq!(covering.count(), 1);
                }
            }
        }
    }
}
