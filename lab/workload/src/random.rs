//! Repeatable chance: a hash of a seed and a position, so that step number *i* is known without
//! the ones before it.

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

/// Shuffles `order` in place.
pub fn shuffle(seed: u64, order: &mut [u64]) {
    for last in (1..order.len()).rev() {
        let limit = u64::try_from(last).unwrap_or(u64::MAX) + 1;
        let chance = usize::try_from(below(seed, limit, limit)).unwrap_or(0);
        order.swap(last, chance);
    }
}

/// Where place `position` of a shuffled window of `length` places comes from: a permutation.
#[must_use]
pub fn shuffled(seed: u64, length: u64, position: u64) -> u64 {
    let mut order: Vec<u64> = (0..length).collect();
    shuffle(seed, &mut order);
    let place = usize::try_from(position).unwrap_or(usize::MAX);
    order.get(place).copied().unwrap_or(position)
}

/// Numbers one after another.
pub(crate) struct Chance {
    seed: u64,
    drawn: u64,
}

impl Chance {
    /// The first of `seed`.
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// Below `limit`; 0 when that is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.drawn += 1;
        below(self.seed, self.drawn, limit)
    }

    /// One of so many places.
    pub(crate) fn place(&mut self, places: usize) -> usize {
        usize::try_from(self.below(u64::try_from(places).unwrap_or(u64::MAX))).unwrap_or(0)
    }

    /// From `least` to `most`.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// A power of two from 2^`least` to 2^`most`.
    pub(crate) fn power(&mut self, least: u64, most: u64) -> u64 {
        1 << self.between(least, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_a_permutation() {
        let mut seen: Vec<_> = (0..8).map(|position| shuffled(3, 8, position)).collect();
        assert!(!seen.is_sorted());
        seen.sort_unstable();
        assert_eq!(seen, (0..8).collect::<Vec<_>>());
    }
}
