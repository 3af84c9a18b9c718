//! Medians, spreads and means of few repeated measurements.

use serde::{Deserialize, Serialize};

/// The middle of a few measurements, and how far apart they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Median {
    /// The middle value; of an even number, the mean of the two in the middle.
    pub value: f64,
    /// (largest − smallest) ÷ median; 0 for a single measurement or a median of 0.
    pub spread: f64,
}

/// The median of `values`; `None` when there are none.
#[must_use]
pub fn median(values: &[f64]) -> Option<Median> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (smallest, largest) = (*sorted.first()?, *sorted.last()?);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    let value = if sorted.len() % 2 == 1 {
        upper
    } else {
        f64::midpoint(*sorted.get(middle - 1)?, upper)
    };
    let spread = if value == 0.0 {
        0.0
    } else {
        (largest - smallest) / value
    };
    Some(Median { value, spread })
}

/// Between which values a median lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Samples drawn for one interval. Ten times as many move its ends by less than the measurements
/// themselves do from run to run.
const RESAMPLES: usize = 2000;

/// Where the median of `values` would lie in 95 of 100 repetitions, by the bootstrap: medians of
/// samples drawn from the values with replacement. The same values give the same interval. `None`
/// when there are none.
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let mut chance = fastrand::Rng::with_seed(1);
    let mut sample = Vec::with_capacity(values.len());
    let mut medians = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        sample.clear();
        sample.extend((0..values.len()).filter_map(|_| chance.choice(values)));
        medians.push(median(&sample)?.value);
    }
    medians.sort_by(f64::total_cmp);
    Some(Interval {
        low: *medians.get(RESAMPLES / 40)?,
        high: *medians.get(RESAMPLES - 1 - RESAMPLES / 40)?,
    })
}

/// The geometric mean of positive values; `None` when there are none or one is not positive.
#[must_use]
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut logarithms = 0.0;
    let mut count = 0.0;
    for value in values {
        if value <= 0.0 {
            return None;
        }
        logarithms += value.ln();
        count += 1.0;
    }
    (count > 0.0).then(|| f64::exp(logarithms / count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_one_outlier_and_the_spread_shows_it() {
        let found = median(&[100.0, 10.0, 110.0]).unwrap();
        assert_eq!(
            found,
            Median {
                value: 100.0,
                spread: 1.0
            }
        );
        assert_eq!(median(&[1.0, 3.0]).unwrap().value, 2.0);
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn an_interval_holds_the_median_and_narrows_with_more_values() {
        let few = [10.0, 12.0, 11.0, 14.0, 10.5];
        let many: Vec<f64> = few.iter().copied().cycle().take(100).collect();
        let (wide, narrow) = (
            median_interval(&few).unwrap(),
            median_interval(&many).unwrap(),
        );
        assert!(wide.low <= 11.0 && 11.0 <= wide.high, "{wide:?}");
        assert!(
            narrow.high - narrow.low < wide.high - wide.low,
            "{narrow:?}"
        );
        assert_eq!(median_interval(&few), Some(wide));
        assert_eq!(median_interval(&[]), None);
    }

    #[test]
    fn a_geometric_mean_balances_a_double_with_a_half() {
        assert!((geometric_mean([2.0, 0.5]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean([]), None);
        assert_eq!(geometric_mean([1.0, 0.0]), None);
    }
}
