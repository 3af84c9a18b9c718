//! Measuring a device by reading from it: which steps, how each is run, what the figures say.
//!
//! ```text
//! bounds ──plan──► steps ──step──► latencies ──statistics──► StepResult ──fit──► access, bandwidth, depth
//!                    │ session: looks for others' traffic in between, waits, repeats, stops
//!                    └ RequestReader: O_DIRECT on a device, or a disk model in virtual time
//! ```
//!
//! A step is a rule for requests: where, how large, how many at once, for how long. Whoever answers them and
//! says what time it is is a [`RequestReader`](step::RequestReader), so the arithmetic is tested against
//! disks that are known exactly. Nothing is ever written to the device. The ladder of windows through the page
//! cache is in [`ladder`]; it changes `read_ahead_kb` for a moment, so it is the only part that needs root
//! for more than reading.

pub mod direct;
pub mod fio;
pub mod fit;
pub mod ladder;
pub mod plan;
pub mod report;
pub mod session;
pub mod statistics;
pub mod step;
pub mod traffic;
