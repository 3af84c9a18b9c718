//! The simulator: any policy, on any workload or trace, on any disk, in virtual time.
//!
//! * `cache` — the page cache with reclaim
//! * `instant` — the page cache and an algorithm, without a clock
//! * `queue` — request queue, schedulers, and the disk behind them
//! * `world` — processes, processors, virtual time
#![forbid(unsafe_code)]
