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
    fn a_geometric_mean_balances_a_double_with_a_half() {
        assert!((geometric_mean([2.0, 0.5]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean([]), None);
        assert_eq!(geometric_mean([1.0, 0.0]), None);
    }
}
