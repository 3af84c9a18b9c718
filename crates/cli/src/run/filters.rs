//! What the library is told about the filters of system calls that CMD will run under.
//!
//! A filter may end a process for a call that its author did not think of, and it is inherited. In
//! a container there always is one, and it lets the library's calls pass; this is tried here once,
//! before CMD starts, and the number of filters is handed over. The library trusts that many, and
//! keeps out of processes that have more.

use std::path::Path;

use ahead_sys::filter_probe;

/// The number of filters that the library's system calls are known to survive.
pub const FILTERS_VARIABLE: &str = "AHEAD_FILTERS";

/// The value of [`FILTERS_VARIABLE`] for programs started from here. 0 where nothing is known: then
/// the library works only where there are no filters at all.
#[must_use]
pub fn vouched_for() -> u64 {
    match filter_probe::filters(Path::new("/proc")) {
        Some(filters) if filters > 0 && filter_probe::survives_calls_of_library() => filters,
        _ => 0,
    }
}
