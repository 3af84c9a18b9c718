//! For which accesses to a watched file nobody needs to be woken.

use std::time::Duration;

use ahead_units::ByteRange;

/// Spans of a file that are settled, at most; `SETTLED_MAX` of the programs.
pub const SETTLED_MAX: usize = 4;

/// Bytes of `struct quiet` of the programs: a time, and two ends of each span.
const QUIET_BYTES: usize = 8 + 16 * SETTLED_MAX;

/// For which accesses to a file nobody needs to be woken. The default: for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quiet {
    /// An access wakes if nothing has woken for so long; zero: each does.
    pub pause: Duration,
    /// Reads inside one of these do not wake, unless the kernel had to go to the device for them. Page faults do.
    pub settled: [ByteRange; SETTLED_MAX],
}

impl Quiet {
    /// As the programs have it.
    pub(crate) fn to_bytes(self) -> [u8; QUIET_BYTES] {
        let pause_ns = u64::try_from(self.pause.as_nanos()).unwrap_or(u64::MAX);
        let spans = self.settled.iter();
        let ends = spans.flat_map(|span| [span.start.get(), span.end.get()]);
        let mut bytes = [0; QUIET_BYTES];
        for (place, word) in bytes
            .chunks_exact_mut(8)
            .zip([pause_ns].into_iter().chain(ends))
        {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}
