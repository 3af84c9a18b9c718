//! How often this process stepped aside, and why: plain counters, and the account if
//! there is one.

use ahead_engine::report::{Aside, header};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::host;

static COUNTS: [AtomicU64; Aside::COUNT] = [const { AtomicU64::new(0) }; Aside::COUNT];

/// Once more for this reason. May be called anywhere.
#[inline]
pub(crate) fn count(aside: Aside) {
    let code = usize::from(aside.code());
    if let Some(counter) = COUNTS.get(code) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
    if let Some(host) = host::get()
        && let Some(shared) = &host.shared
    {
        let word = shared.header(header::ASIDES + code);
        word.fetch_add(1, Ordering::Relaxed);
    }
}

/// All counts of this process, in the order of [`Aside::ALL`].
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
