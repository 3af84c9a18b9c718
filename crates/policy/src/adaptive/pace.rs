//! How fast a reader consumes its stream, measured between two requests: in pages. A stride is timed before the first one as well, in
//! elements.
//!
//! Only a pace that is the reader's own counts: one that waited since its last request was as fast
//! as the device, and one whose clock does not advance has no pace. Then requests are as large as
//! the device alone wants them.

use super::window::place32;
use crate::device::DeviceEstimate;
use crate::steering::steering;
use ahead_units::{PageCount, Timestamp};

steering! {
    /// Access times of reading that one request of a slow reader holds: consumption rate × access
    /// time is the least distance to stay ahead, this times more is asked for. Lower, and an arm
    /// spends more than a tenth of its time on positioning for one slow reader, or a slow access
    /// makes it wait; higher, and memory holds pages that the reader reaches much later. The time of
    /// the plans is the same from a quarter to four times the value: it is memory that is saved.
    /// Evidence: docs/results/evidence/ACCESSES_AHEAD.csv
    ACCESSES_AHEAD: u64 = 8;
}

/// Nanoseconds in a unit of [`Pace`], as a power of two. 32 bits of them are 73 minutes; a stream
/// that rests for longer has a wrong pace once, which halves one request.
pub(super) const UNIT_BITS: u32 = 10;

/// Where and when a stream asked last, or a stride is timed from; all of it wraps. All zero: neither.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    place: u32,
    moment: u32,
}

/// Pages consumed in a time that is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    pages: u32,
    time_ns: u64,
}

impl Pace {
    /// Whether nothing is measured yet.
    pub(super) fn is_unknown(self) -> bool {
        self.place == 0 && self.moment == 0
    }

    /// From where it was restarted to `place`, wrapping.
    pub(super) fn places_since(self, place: u64) -> u32 {
        place32(place).wrapping_sub(self.place)
    }

    /// The reader has passed over so many places, wrapping, which he does not read.
    pub(super) fn pass_over(&mut self, places: u32) {
        if !self.is_unknown() {
            self.place = self.place.wrapping_add(places);
        }
    }

    /// The reader is at `place` and `now`.
    pub(super) fn restart(&mut self, place: u64, now: Timestamp) {
        (self.place, self.moment) = (place32(place), units(now));
    }

    /// Time since then; 0 where that is too short to be measured, and where the clock went back.
    pub(super) fn time_since_ns(self, now: Timestamp) -> u64 {
        time_since_ns(self.moment, now)
    }

    /// The rate since then; `None` when nothing was measured, and when the clock stood still or went back.
    pub(super) fn rate(self, place: u64, now: Timestamp) -> Option<Rate> {
        if self.is_unknown() {
            return None;
        }
        let pages = self.places_since(place);
        let time_ns = self.time_since_ns(now);
        let is_forward = pages > 0 && pages < 1 << 31;
        (is_forward && time_ns > 0).then_some(Rate { pages, time_ns })
    }
}

/// A moment in units, wrapping.
#[expect(clippy::cast_possible_truncation, reason = "it wraps")]
pub(super) const fn units(now: Timestamp) -> u32 {
    (now.get() >> UNIT_BITS) as u32
}

/// Time since a moment in [units]; 0 where that is too short to be measured, and where the clock went back.
pub(super) fn time_since_ns(moment: u32, now: Timestamp) -> u64 {
    let time = units(now).wrapping_sub(moment);
    if time < 1 << 31 {
        u64::from(time) << UNIT_BITS
    } else {
        0
    }
}

impl Rate {
    /// Whether this is about as fast as the device delivers: who waits then waits for its bandwidth. Who `has_arm_alone`, and
    /// reads on where that is, seems up to a third slower between one request and the next, which come as wholes, and the
    /// bandwidth of an arm is often a guess; who has to wait until it is positioned gets far less.
    pub(super) fn is_that_of(self, device: &DeviceEstimate, has_arm_alone: bool) -> bool {
        let transfer_ns = device.transfer_ns(PageCount::new(u64::from(self.pages)));
        let (parts, of) = if has_arm_alone { (5, 9) } else { (3, 4) };
        transfer_ns.saturating_mul(of) >= self.time_ns.saturating_mul(parts)
    }

    /// Time for each of so many pages, and how many of them were read.
    pub(super) fn of_each(self, pages: u64) -> (u64, u64) {
        let count = u64::from(self.pages) / pages.max(1);
        (self.time_ns / count.max(1), count)
    }

    /// Pages of one request that this reader can use: what it consumes in some access times.
    pub(super) fn request_pages(self, device: &DeviceEstimate) -> u64 {
        self.pages_in(device.access_ns.saturating_mul(ACCESSES_AHEAD.get()))
    }

    /// Pages that are consumed in `time_ns`.
    pub(super) fn pages_in(self, time_ns: u64) -> u64 {
        let page_ns = (self.time_ns / u64::from(self.pages)).max(1);
        time_ns / page_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Timestamp {
        Timestamp::new(ns)
    }

    #[test]
    fn a_page_a_millisecond_on_an_arm_of_eight_is_a_request_of_sixty_four_pages() {
        let mut pace = Pace::default();
        pace.restart(1000, at(5_000_000_000));
        let rate = pace.rate(1500, at(5_500_000_000)).expect("time passed");
        let wanted = rate.request_pages(&DeviceEstimate::ARM);
        assert!((60..=68).contains(&wanted), "{wanted}");
    }

    #[test]
    fn a_clock_that_stands_still_or_goes_back_gives_no_rate() {
        let mut pace = Pace::default();
        pace.restart(1000, at(5_000_000));
        assert_eq!(pace.rate(1500, at(5_000_000)), None);
        assert_eq!(pace.rate(1500, at(4_000_000)), None);
        assert_eq!(pace.rate(1000, at(6_000_000)), None);
    }

    #[test]
    fn place_and_moment_may_wrap_between_two_requests() {
        let mut pace = Pace::default();
        pace.restart(0xffff_ffff, at(0xffff_ffff << UNIT_BITS));
        let rate = pace.rate(0x1_0000_0009, at(0x1_0000_0004 << UNIT_BITS));
        let expected = Rate {
            pages: 10,
            time_ns: 5 << UNIT_BITS,
        };
        assert_eq!(rate, Some(expected));
    }
}
