//! A period `P` that follows the queue: what "could in principle be determined adaptively".
//!
//! The modified mechanism tries to fill the queue every `P` touches. How much it finds to do
//! depends on how many places the disk has freed meanwhile. The rule here has no number to choose:
//! an attempt is due when half of what the last attempts got into the queue has been used since, so
//! that the queue runs half empty at most and the tries are as few as that allows. An attempt that
//! got nothing in leaves the period as it is; it is tried again one period later.
//!
//! Missing and dropped pages cause an attempt as before. What an attempt does is not decided here.

use ahead_replicas::kernel::advise::Advised;
use ahead_replicas::kernel::{Fault, Host, PageState, Read, ReadAhead};

/// The state of one mapped file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FollowingPeriod {
    /// Tries at every touch that it is shown.
    inner: Advised,
    period: u64,
    since: u64,
}

impl FollowingPeriod {
    /// Groups of `pages` pages.
    pub(super) const fn new(pages: u64) -> Self {
        Self {
            inner: Advised::true_with_period(pages, 1),
            period: 1,
            since: 0,
        }
    }

    fn mark(&self) -> u64 {
        self.inner.mark().map_or(0, |mark| mark + 1)
    }
}

impl ReadAhead for FollowingPeriod {
    fn on_read<H: Host>(&mut self, host: &mut H, read: &Read) {
        self.inner.on_read(host, read);
    }

    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        self.inner.on_page(host, read, page);
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        self.since += 1;
        let is_here = matches!(
            host.state(fault.page),
            PageState::Valid | PageState::InFlight
        );
        if is_here && self.since < self.period {
            return;
        }
        let before = self.mark();
        self.inner.on_fault(host, fault);
        let started = self.mark().saturating_sub(before);
        if started > 0 {
            self.period = (started / 2).max(1);
        }
        self.since = 0;
    }

    fn on_will_need<H: Host>(&mut self, host: &mut H, start: u64, pages: u64) {
        self.inner.on_will_need(host, start, pages);
    }
}
