//! How often this process stepped aside, and why: plain counters, read for the report.

use ahead_engine::report::Aside;
use std::sync::atomic::{AtomicU64, Ordering};

static COUNTS: [AtomicU64; Aside::COUNT] = [const { AtomicU64::new(0) }; Aside::COUNT];

/// Once more for this reason. May be called anywhere.
#[inline]
pub(crate) fn count(aside: Aside) {
    if let Some(counter) = COUNTS.get(usize::from(aside.code())) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// All counts, in the order of [`Aside::ALL`].
#[cfg_attr(not(test), expect(dead_code, reason = "the account asks for it"))]
pub(crate) fn counts() -> [u64; Aside::COUNT] {
    std::array::from_fn(|code| COUNTS[code].load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_counter_of_its_own() {
        let before = counts();
        for aside in Aside::ALL {
            count(aside);
        }
        for aside in Aside::ALL {
            let code = usize::from(aside.code());
            assert!(counts()[code] > before[code], "{aside}");
        }
    }
}
