//! Repeatable chance: a hash of a seed and a position.
//!
//! A hash instead of a generator with state, so that operation number *i* is known without the
//! ones before it.

/// Mixes `value` so that close values give unrelated results (the finisher of SplitMix64).
#[must_use]
pub const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A value for `position` under `seed`, below `limit`; 0 when `limit` is 0.
#[must_use]
pub fn below(seed: u64, position: u64, limit: u64) -> u64 {
    let wide = u128::from(mix(mix(seed) ^ position)) * u128::from(limit);
    u64::try_from(wide >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_below_the_limit_and_spread_over_it() {
        let mut hits = [0u32; 10];
        for position in 0..10_000 {
            let value = below(7, position, 10);
            hits[usize::try_from(value).unwrap()] += 1;
        }
        assert!(
            hits.iter().all(|count| (800..1200).contains(count)),
            "{hits:?}"
        );
        assert_eq!(below(7, 1, 0), 0);
    }
}
