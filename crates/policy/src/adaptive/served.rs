//! What came of the requests of a stream, in one byte: found in memory, waited for, evicted.

/// Requests in a row that count as found in memory. More change nothing.
const CACHED_MAX: u8 = 8;

const CACHED: u8 = 0x0f;
const BOOSTED: u8 = 0x10;
const WAITED: u8 = 0x20;
const THRASHED: u8 = 0x40;
const PROBING: u8 = 0x80;
/// Before the first request, when nothing is probed: the reader did not wait for its newest step.
const PASSED: u8 = PROBING;

/// All zero: nothing was asked for yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Served(u8);

impl Served {
    /// Requests in a row whose pages were all in memory already.
    #[inline]
    pub(super) fn cached(self) -> u8 {
        self.0 & CACHED
    }

    /// Whether the newest request was a probe: one look at the far end of what would have been
    /// asked for.
    pub(super) fn is_probing(self) -> bool {
        self.0 & PROBING != 0
    }

    /// Whether a wait inside the window has earned larger requests.
    pub(super) fn is_boosted(self) -> bool {
        self.0 & BOOSTED != 0
    }

    /// Whether the reader waited since the newest request.
    pub(super) fn has_waited(self) -> bool {
        self.0 & WAITED != 0
    }

    /// Whether the reader waited for one of the two newest steps of a run that asks for nothing, as long as each step asks. What is in one page with
    /// others is found in memory now and then.
    pub(super) fn waits_for_steps(&mut self) -> bool {
        let (waits, has_passed) = (self.has_waited(), self.0 & PASSED != 0);
        self.0 &= !(WAITED | PASSED);
        if !waits {
            self.0 |= PASSED;
        }
        waits || !has_passed
    }

    /// Whether pages were evicted before use and no request has followed.
    pub(super) fn has_thrashed(self) -> bool {
        self.0 & THRASHED != 0
    }

    /// Something is asked for, as a probe or in full.
    pub(super) fn on_request(&mut self, probe: bool) {
        self.0 &= !(WAITED | THRASHED | PROBING);
        if probe {
            self.0 |= PROBING;
        }
    }

    /// All of it was in memory.
    pub(super) fn on_cached(&mut self) {
        let cached = (self.cached() + 1).min(CACHED_MAX);
        self.0 = self.0 & !CACHED | cached;
    }

    /// Not all of it was in memory.
    pub(super) fn on_not_cached(&mut self) {
        self.0 &= !(CACHED | PROBING);
    }

    /// The reader waited.
    pub(super) fn on_wait(&mut self) {
        self.0 |= WAITED;
    }

    /// The reader waited inside its window.
    pub(super) fn boost(&mut self) {
        self.0 |= BOOSTED;
    }

    /// Pages were evicted before use.
    pub(super) fn on_thrashed(&mut self) {
        self.0 = self.0 & !BOOSTED | THRASHED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_in_memory_is_forgiven_and_two_are_not() {
        let mut served = Served::default();
        let steps = [true, false, true, false, false, false, true];
        let waits = steps.map(|waits| {
            if waits {
                served.on_wait();
            }
            served.waits_for_steps()
        });
        assert_eq!(waits, [true, true, true, true, false, false, true]);
        served.on_request(false);
        assert_eq!(served, Served::default());
    }

    #[test]
    fn each_answer_is_remembered_beside_the_others() {
        let mut served = Served::default();
        served.boost();
        for _ in 0..100 {
            served.on_cached();
        }
        assert_eq!((served.cached(), served.is_boosted()), (CACHED_MAX, true));
        served.on_thrashed();
        served.on_wait();
        assert!(served.has_thrashed() && served.has_waited() && !served.is_boosted());
        served.on_request(true);
        assert!(!served.has_thrashed() && !served.has_waited() && served.is_probing());
        served.on_not_cached();
        assert_eq!(served, Served::default());
    }
}
