//! A panic of the library that takes pages apart is damage of the file, reported like any other.
//!
//! The library checks what it was made to check, and trusts the rest: an offset, a level, the
//! width of a number. There is no way to ask it first, so its calls go through [`guarded`]. The
//! message that a panic prints by itself is left out on the way: the program says what is wrong in
//! its own words.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::error::Problem;

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls the library. After a panic nothing of it may be used again.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let loud = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                loud(panic);
            }
        }));
    });
    IS_GUARDED.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(false);
    result.unwrap_or_else(|_| {
        Err(Problem::Malformed(
            "not readable as Parquet (the numbers inside contradict each other)".to_owned(),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_problem() {
        let result: Result<(), _> = guarded(|| panic!("deep inside"));
        assert!(matches!(result, Err(Problem::Malformed(_))));
        assert!(guarded(|| Ok(())).is_ok());
    }
}
