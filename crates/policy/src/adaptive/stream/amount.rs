//! How much a stream may ask for: as far as it is expected to go on, as it has earned, and as its device needs.

use super::Stream;
use crate::adaptive::access::Access;
use crate::adaptive::direction::Direction;
use crate::adaptive::moment::Moment;
use crate::adaptive::pace::Rate;
use crate::adaptive::request::{self, Need};
use crate::adaptive::runs::{Rest, RunLengths};
use crate::adaptive::shape::{Shape, regular, run};
use crate::device::DeviceEstimate;
use ahead_units::PageCount;

/// Where it may not pay a run asks for one part in so many of what it has read. Two requests are on their way when
/// it ends: a sixteenth, and as much in vain is no reason to doubt.
const LEFT_ALONE_PARTS: u64 = 32;

/// Accesses of the device that a read of a run is spared by being asked for: its own. With two, long reads that are
/// left soon cost more than they save.
const ACCESSES_SPARED: u64 = 1;

/// A run that has the device to itself, and of which is not known how far it goes on, has at least one part in so many of what it has read in
/// front of it, and a piece: fewer calls, and a device that can do more than it seems shows it. It is in vain when the run ends.
const ENOUGH_PARTS: u64 = 16;

/// A run out of order asks for so many times what it has read: some of its reads are still to come, and what it has not shown it makes up for
/// in a few requests. A walk, which goes back and forth for some dozens of pages and leaves, was worth the largest request after 24 of them:
/// `a_short_walk_asks_for_no_more_than_it_is_worth`.
const SHUFFLED_TIMES: u64 = 5;

impl Stream {
    /// How far the run is expected to go on behind its window.
    pub(super) fn rest(&self, moment: &Moment, runs: &RunLengths) -> Rest {
        if !self.shape.is_run() {
            return Rest::Unknown;
        }
        let (next, frontier) = (self.window.next, self.window.frontier);
        if self.direction == Direction::Forward
            && let Some(pages) = moment.listed.rest(next, frontier)
        {
            return Rest::Pages(pages);
        }
        let asked = frontier.saturating_sub(next);
        // An arm that a reader has to itself, and that goes on the way it turns, is there already: more at once saves it nothing.
        let is_there = moment.has_only_arm() && self.direction == Direction::Forward;
        let access_pages = if is_there {
            0
        } else {
            moment.device.pages_per_access().get()
        };
        match runs.rest(self.run_pages(), access_pages) {
            Rest::Unknown => Rest::Unknown,
            Rest::AsFarAgain(pages) => Rest::AsFarAgain(pages.saturating_sub(asked)),
            Rest::Pages(pages) => Rest::Pages(pages.saturating_sub(asked)),
            Rest::Likely(pages) => Rest::Likely(pages.saturating_sub(asked)),
        }
    }

    /// Whether a forward run may go on to the end of the file, so that nothing is read in vain beyond its own.
    pub(super) fn may_reach_end(&self, rest: Rest, file_pages: PageCount) -> bool {
        match rest {
            Rest::Unknown => true,
            Rest::AsFarAgain(_) => false,
            Rest::Pages(pages) | Rest::Likely(pages) => {
                let asked = self.window.next.max(self.window.frontier);
                asked.saturating_add(pages) >= file_pages.get()
            }
        }
    }

    /// Pages that may be asked for where it may not pay: for a run a part of what it has read, however it goes
    /// on. `None` before that is worth a request.
    pub(super) fn cannot_lose(&self) -> Option<u64> {
        let earned = u64::from(self.run_pages()) / LEFT_ALONE_PARTS;
        let is_enough = self.shape.is_run() && earned >= request::FIRST_REQUEST_PAGES.get();
        is_enough.then_some(earned)
    }

    /// Pages that it costs to read what all accesses cost that the run could have been spared up to here. More is not
    /// asked for while nothing else is known: what a long read costs is its transfer, which nothing saves. A scan from
    /// the front of the file is believed to go on, and what the kernel asks for by itself costs nothing.
    pub(super) fn earned(&self, access: &Access, device: &DeviceEstimate) -> u64 {
        if !self.shape.is_run() || self.run_begin() == 0 {
            return u64::MAX;
        }
        let spared = device
            .pages_per_access()
            .get()
            .saturating_mul(ACCESSES_SPARED);
        // The last one of a run is often shorter than those before it.
        let length = access
            .len()
            .get()
            .max(u64::from(regular::pages_of(self.window.step)));
        let reads = u64::from(self.run_pages()).div_ceil(length.max(1));
        reads
            .saturating_mul(spared)
            .max(request::FIRST_REQUEST_PAGES.get())
    }

    /// Most that a run asks for at once of which is not known how far it goes on: as much as it has read, or the first
    /// request. More is believed of it where the program said so, and where files like this one are read whole; requests out of order hide
    /// how far it has come; and where an arm has to be sent for each request, that counts for more.
    pub(super) fn as_far_as_it_came(
        &self,
        access: &Access,
        is_positioned: bool,
        moment: &Moment,
    ) -> u64 {
        let is_positioned = (is_positioned || moment.contested || moment.streams > 1)
            && moment.device.is_positioned_for();
        if moment.is_sequential || self.is_newborn() {
            return u64::MAX;
        }
        let times = match self.shape {
            Shape::Run if !is_positioned => 1,
            Shape::Shuffled => SHUFFLED_TIMES,
            _ => return u64::MAX,
        };
        (u64::from(self.run_pages()) * times)
            .max(request::FIRST_REQUEST_PAGES.get())
            .max(access.len().get() * 2)
    }

    /// Pages that a run asks for which has the device to itself, so that it has as many in front of its reader as he consumes in an access: the
    /// next request is under way while this one is transferred. More brings him nothing where it is the bandwidth that he waits for, and lies in vain behind
    /// the end of the run, wherever that is. An arm that is alone, and reads on where it is, takes no time to get there, as long as it shows that
    /// it is one: `is_bound`, or nothing waits.
    pub(super) fn enough(
        &self,
        access: &Access,
        rate: Option<Rate>,
        need: &Need,
        is_bound: bool,
        moment: &Moment,
    ) -> u64 {
        let device = &moment.device;
        let is_there = moment.has_only_arm() && (is_bound || !self.served.has_waited());
        let under_way = match rate {
            _ if is_there => 0,
            None => device.pages_per_access().get(),
            // What had come before it looked makes a reader seem faster once, and a pause slower. Where it is late, and the bandwidth is not
            // what it waits for, an access takes longer than is believed.
            Some(rate) => {
                let newest = u64::from(self.window.tail).max(request::FIRST_REQUEST_PAGES.get());
                let access_ns = device.access_ns.saturating_add(device.access_ns / 4);
                let factor = if need.is_boosted {
                    request::WAIT_FACTOR.get()
                } else {
                    1
                };
                let wanted = rate.pages_in(access_ns).saturating_mul(factor);
                wanted.clamp(newest / 2, newest.saturating_mul(2))
            }
        };
        // All of the next read is ahead, also where the request ends on a multiple of less.
        let length = access.len().get();
        let align = run::ALIGN_PAGES.get();
        let piece = request::FIRST_REQUEST_PAGES.get();
        let cut = if (length + align / 8).next_multiple_of(piece) < align * 2 {
            align / 8
        } else {
            align
        };
        let lead = under_way
            .max(length + cut)
            .max(u64::from(self.run_pages()) / ENOUGH_PARTS)
            .max(moment.kernel_window.get());
        let ahead = self.window.frontier.saturating_sub(access.end.get());
        lead.saturating_sub(ahead).max(1).next_multiple_of(piece)
    }
}
