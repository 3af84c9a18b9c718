//! What a device is seen to deliver when streams ask.

use core::sync::atomic::Ordering::Relaxed;

use ahead_policy::device::DeviceEstimate;
use ahead_units::{PAGE_BYTES, PageCount};

use super::waits::{FIRST_WAIT_FACTOR, SLOW_PAGE_NS, seeks};
use super::{Ask, CONFIGURED, Device, GUESSED, MEASURED, SEEN_SLOW};
use crate::throughput::Measured;
use crate::trial::SLOW_TO_ANSWER;

/// Bytes a second of what is slow: no guess is so low.
const SLOW: u64 = PAGE_BYTES * 1_000_000_000 / SLOW_PAGE_NS;

/// A reader that comes on so many times as fast as was believed refutes it. Less may be a window that came while it paused, and the next one.
const REFUTING: u64 = 4;

impl Device {
    /// A stream asks for pages.
    pub fn on_ask(&self, ask: &Ask) {
        self.contest.on_ask(ask.asker, ask.is_first);
        self.trial.on_ask();
        if self.scans.opening().is_settling(ask.now) {
            self.in_turn.on_other();
        } else {
            self.measure(ask);
            self.measure_in_turn(ask);
        }
        self.expect(ask.pages, ask.now);
    }

    /// Learns the bandwidth. An arm delivers less than it can where it seeks, which larger requests
    /// mend and smaller ones make worse: there less is never believed.
    fn measure(&self, ask: &Ask) {
        let believed = self.estimate();
        // What is requested late leaves the device without work: that is not its transfer.
        let seen = self.lateness.seen(believed);
        let found = self
            .throughput
            .on_ask(ask.pages, ask.unread, ask.now, &seen);
        let Some(found) = found else {
            return;
        };
        let (measured, is_transfer) = (found.measured, found.is_transfer);
        let rate = measured.bytes_per_second;
        // What others leave of it is not all of it either.
        let may_be_less = !seeks(&believed) && !ask.is_shared;
        let is_configured = self.bandwidth_is.load(Relaxed) == CONFIGURED;
        let is_all = may_be_less || rate > believed.bytes_per_second;
        if !is_configured && is_transfer && is_all {
            self.bytes_per_second.store(rate, Relaxed);
            self.bandwidth_is.store(MEASURED, Relaxed);
        }
        match self.fastest_arm(is_transfer) {
            Some(most) if may_be_less && !is_configured => self.try_larger(measured, most),
            _ => self.trial.end(),
        }
    }

    /// Learns that it is slow before a measurement has ended, and that it is not, whoever has found that.
    fn measure_in_turn(&self, ask: &Ask) {
        let Some(pace) = self.in_turn.on_ask(ask, self.busy.until_ns()) else {
            return;
        };
        let known = self.estimate();
        let guess = if seeks(&known) {
            DeviceEstimate::ARM.bytes_per_second
        } else {
            DeviceEstimate::FLASH.bytes_per_second
        };
        // What others told may be a guess.
        let how = match self.bandwidth_is.load(Relaxed) {
            MEASURED if known.bytes_per_second == guess => GUESSED,
            how => how,
        };
        let rate = pace.measured.bytes_per_second;
        let is_refuted = rate >= SLOW && rate / REFUTING >= known.bytes_per_second;
        if is_refuted && matches!(how, SEEN_SLOW | MEASURED) {
            self.bytes_per_second.store(guess, Relaxed);
            self.bandwidth_is.store(GUESSED, Relaxed);
            return;
        }
        let is_news = match how {
            GUESSED => rate < known.bytes_per_second && rate < SLOW,
            how => how == SEEN_SLOW,
        };
        // What is requested late leaves the device without work, and what took longer than was believed may have been an access.
        let access_ns = (self.lateness.seen(known).access_ns).max(self.slower_ns.load(Relaxed));
        let in_front = ask.place.start.get().saturating_sub(ask.at.get());
        let is_transfer = pace.is_long
            && pace
                .measured
                .is_transfer(PageCount::new(in_front), access_ns);
        if is_news && is_transfer {
            self.bytes_per_second.store(rate, Relaxed);
            self.bandwidth_is.store(SEEN_SLOW, Relaxed);
        }
    }

    /// Bytes a second of the fastest arm that it may be; `None` once a read that waited behind nothing has said that it has none. One
    /// that took longer than a first wait is believed says that it is slow, not how slow: it may be a fast arm, unless it is busy
    /// transferring (a volume with 64 readers took 1.03 times as long by trials).
    fn fastest_arm(&self, is_transfer: bool) -> Option<u64> {
        let believed_ns = DeviceEstimate::FLASH.access_ns * FIRST_WAIT_FACTOR;
        let access_is = self.access_is.load(Relaxed);
        let is_slow = access_is == MEASURED && self.access_ns.load(Relaxed) >= believed_ns;
        let may_be = is_slow || access_is == GUESSED || self.has_been_slow.load(Relaxed);
        match is_transfer {
            true if may_be => Some(DeviceEstimate::ARM.bytes_per_second),
            false if is_slow => Some(SLOW_TO_ANSWER),
            _ => None,
        }
    }

    /// Learns that it is an arm, of `fastest` bytes a second at most, whatever it says of itself, from larger requests that pay.
    fn try_larger(&self, measured: Measured, fastest: u64) {
        let found = self.trial.on_measured(measured, fastest);
        let access_ns = self.access_ns.load(Relaxed);
        if let Some(arm) = found.filter(|arm| arm.access_ns >= access_ns - access_ns / 4) {
            self.believe(arm);
            self.access_is.store(MEASURED, Relaxed);
            self.has_seen_arm();
        }
    }
}

#[cfg(test)]
mod tests;
