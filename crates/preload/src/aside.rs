//! How often this process stepped aside, and why: plain counters, and the account if
//! there is one.

use ahead_engine::report::Aside;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

static COUNTS: [AtomicU64; Aside::COUNT] = [const { AtomicU64::new(0) }; Aside::COUNT];

/// The words of the account, if there is one.
static ACCOUNT: AtomicPtr<[AtomicU64; Aside::COUNT]> = AtomicPtr::new(null_mut());

/// Counts in these words from now on, and adds what was counted before.
pub(crate) fn keep(words: &'static [AtomicU64]) {
    let Some(words) = words.first_chunk::<{ Aside::COUNT }>() else {
        return;
    };
    for (word, count) in words.iter().zip(&COUNTS) {
        word.fetch_add(count.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    ACCOUNT.store(std::ptr::from_ref(words).cast_mut(), Ordering::Release);
}

/// Once more for this reason. May be called anywhere.
#[inline]
pub(crate) fn count(aside: Aside) {
    let code = usize::from(aside.code());
    // SAFETY: null, or words that stay mapped.
    let account = unsafe { ACCOUNT.load(Ordering::Acquire).as_ref() };
    if let Some(counter) = account.unwrap_or(&COUNTS).get(code) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_before_there_was_an_account_is_in_it() {
        count(Aside::TableFull);
        let words: &'static [AtomicU64; Aside::COUNT] =
            Box::leak(Box::new([const { AtomicU64::new(0) }; Aside::COUNT]));
        keep(words);
        for aside in Aside::ALL {
            count(aside);
        }
        let word = |aside: Aside| words[usize::from(aside.code())].load(Ordering::Relaxed);
        for aside in Aside::ALL {
            assert!(word(aside) >= 1, "{aside}");
        }
        assert!(word(Aside::TableFull) >= 2);
    }
}
