//! A device estimate as one word, so that it is always one that some process had (see [`estimates`](crate::estimates)).
//!
//! ```text
//! access time in ns (26 bits) | who reads scans ahead (2) | depth (7) | bandwidth in kB/s (29)
//! ```

use ahead_policy::device::DeviceEstimate;

/// Bounds of what is handed out: an access of 1 µs is one of memory, of 50 ms one of a broken device.
const ACCESS_NS: (u64, u64) = (1_000, 50_000_000);
/// From a memory card to a server's memory.
const KB_PER_SECOND: (u64, u64) = (1_000, (1 << KB_BITS) - 1);
const KB_BITS: u32 = 29;
const DEPTH_BITS: u32 = 7;
const DEPTH: (u64, u64) = (1, (1 << DEPTH_BITS) - 1);
/// Set where it was found out that the kernel reads scans ahead better by itself.
const SCANS_LEFT: u64 = 1 << (KB_BITS + DEPTH_BITS);
/// Set where it was found out that our requests do.
const SCANS_OURS: u64 = SCANS_LEFT << 1;
/// Both: of these bits at most one is set.
pub(crate) const SCANS: u64 = SCANS_LEFT | SCANS_OURS;
const ACCESS_FROM: u32 = KB_BITS + DEPTH_BITS + 2;

/// An estimate as one word, never 0. What is out of bounds becomes the bound.
#[must_use]
pub fn to_word(estimate: DeviceEstimate) -> u64 {
    let within = |value: u64, (low, high): (u64, u64)| value.clamp(low, high);
    let access_ns = within(estimate.access_ns, ACCESS_NS);
    let depth = within(u64::from(estimate.depth), DEPTH);
    let kb = within(estimate.bytes_per_second / 1000, KB_PER_SECOND);
    access_ns << ACCESS_FROM | depth << KB_BITS | kb
}

/// The estimate in a word of a slot; `None` for 0, and for what
/// [`SharedEstimate::tell`](crate::estimates::SharedEstimate::tell) does not make.
#[must_use]
pub fn from_word(word: u64) -> Option<DeviceEstimate> {
    let estimate = DeviceEstimate {
        access_ns: word >> ACCESS_FROM,
        depth: u32::try_from(word >> KB_BITS & DEPTH.1).unwrap_or(1),
        bytes_per_second: (word & KB_PER_SECOND.1) * 1000,
    };
    (to_word(estimate) == word & !SCANS && word & SCANS != SCANS).then_some(estimate)
}

/// Whether scans are left to the kernel, as the bits that say so; none where that was not found out.
pub(crate) fn scans_to_bits(are_left: Option<bool>) -> u64 {
    match are_left {
        None => 0,
        Some(true) => SCANS_LEFT,
        Some(false) => SCANS_OURS,
    }
}

/// The other way round.
pub(crate) fn scans_from_bits(word: u64) -> Option<bool> {
    match word & SCANS {
        SCANS_LEFT => Some(true),
        SCANS_OURS => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_goes_through_a_word_and_what_is_out_of_bounds_becomes_the_bound() {
        let medium = DeviceEstimate {
            access_ns: 700_000,
            bytes_per_second: 200_000_000,
            depth: 4,
        };
        for estimate in [DeviceEstimate::ARM, DeviceEstimate::FLASH, medium] {
            assert_eq!(from_word(to_word(estimate)), Some(estimate));
        }
        let wild = DeviceEstimate {
            access_ns: u64::MAX,
            bytes_per_second: 0,
            depth: 100_000,
        };
        let bounded = DeviceEstimate {
            access_ns: 50_000_000,
            bytes_per_second: 1_000_000,
            depth: 127,
        };
        assert_eq!(from_word(to_word(wild)), Some(bounded));
    }
}
