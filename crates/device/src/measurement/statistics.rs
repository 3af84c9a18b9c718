//! What the samples of a step say: percentiles, rates, how much they vary, whether they drift.
//!
//! Whole numbers throughout. A step is cut into eight parts of equally many requests; how far the
//! medians of the parts lie apart says how well the median of all is known.

use serde::{Deserialize, Serialize};

use super::plan::MeasureStep;
use super::traffic::OtherTraffic;

/// Parts of a step.
const PARTS: usize = 8;

/// One request, in nanoseconds since the step began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was begun.
    pub begun_ns: u64,
    /// When it was answered.
    pub ended_ns: u64,
}

impl Sample {
    const fn latency_ns(self) -> u64 {
        self.ended_ns.saturating_sub(self.begun_ns)
    }
}

/// A figure, and between what its parts lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spanned {
    /// The figure: the median of the parts' or of all.
    pub value: u64,
    /// The smallest of the parts.
    pub low: u64,
    /// The largest of the parts.
    pub high: u64,
}

impl Spanned {
    /// The median of `values`, with their ends; zeroes for none.
    #[must_use]
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        Self {
            value: quantile(&values, 500),
            low: values.first().copied().unwrap_or(0),
            high: values.last().copied().unwrap_or(0),
        }
    }

    /// How far the median is from the nearer of both ends, in thousandths of it: of three parts those two agree.
    #[must_use]
    pub fn nearer_end_permille(&self) -> u64 {
        let nearer = self
            .value
            .abs_diff(self.low)
            .min(self.high.abs_diff(self.value));
        permille(nearer, self.value)
    }

    /// (largest − smallest) / median, in thousandths.
    #[must_use]
    pub fn spread_permille(&self) -> u64 {
        permille(self.high.saturating_sub(self.low), self.value)
    }
}

/// How long requests took, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestLatency {
    /// The shortest.
    pub min_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// 90 of 100 took no longer.
    pub p90_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1000.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// What a step found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepResult {
    /// The step.
    pub step: MeasureStep,
    /// Requests answered.
    pub requests: u64,
    /// Bytes read.
    pub bytes: u64,
    /// From its first request to its last answer.
    pub elapsed_ns: u64,
    /// How long requests took.
    pub latency: RequestLatency,
    /// The median latency, with that of its parts.
    pub median_ns: Spanned,
    /// Bytes per second while requests were begun.
    pub bytes_per_second: Spanned,
    /// How much longer the median request of the last quarter took than that of the first, in thousandths.
    pub drift_permille: i64,
    /// What others did with the device meanwhile; `None` where that is not known.
    pub others: Option<OtherTraffic>,
}

impl StepResult {
    /// Of `samples` in the order of their answers. What was answered after `stopped_ns`, when no request was
    /// begun any more, counts for latencies only: the device had less and less to do.
    #[must_use]
    pub fn of(step: MeasureStep, samples: &[Sample], stopped_ns: u64) -> Self {
        let latencies = || samples.iter().map(|sample| sample.latency_ns());
        let mut sorted: Vec<u64> = latencies().collect();
        sorted.sort_unstable();
        let in_order: Vec<u64> = latencies().collect();
        let part = in_order.len().div_ceil(PARTS).max(1);
        let medians = in_order.chunks(part).map(median).collect();
        let p50_ns = quantile(&sorted, 500);
        Self {
            requests: samples.len() as u64,
            bytes: samples.len() as u64 * step.request_bytes,
            elapsed_ns: samples.last().map_or(0, |sample| sample.ended_ns),
            latency: RequestLatency {
                min_ns: quantile(&sorted, 0),
                p50_ns,
                p90_ns: quantile(&sorted, 900),
                p99_ns: quantile(&sorted, 990),
                p999_ns: quantile(&sorted, 999),
                max_ns: quantile(&sorted, 1000),
            },
            median_ns: Spanned {
                value: p50_ns,
                ..Spanned::of(medians)
            },
            bytes_per_second: Spanned::of(rates(samples, stopped_ns, step.request_bytes)),
            drift_permille: drift(&in_order),
            others: None,
            step,
        }
    }

    /// Requests per second.
    #[must_use]
    pub const fn requests_per_second(&self) -> u64 {
        match self
            .bytes_per_second
            .value
            .checked_div(self.step.request_bytes)
        {
            Some(requests) => requests,
            None => 0,
        }
    }
}

/// Bytes per second of each part; of all where there are too few for parts.
fn rates(samples: &[Sample], stopped_ns: u64, request_bytes: u64) -> Vec<u64> {
    let steady = samples.partition_point(|sample| sample.ended_ns <= stopped_ns);
    // Fewer than two for each part: a rate of one request is its latency.
    let samples = if steady >= 2 {
        &samples[..steady]
    } else {
        samples
    };
    let parts = if samples.len() >= 2 * PARTS { PARTS } else { 1 };
    let part = samples.len().div_ceil(parts).max(1);
    let mut from_ns = 0;
    let mut rates = Vec::new();
    for part in samples.chunks(part) {
        let to_ns = part.last().map_or(0, |sample| sample.ended_ns);
        let bytes = u128::from(request_bytes) * part.len() as u128;
        let rate = bytes * 1_000_000_000 / u128::from((to_ns - from_ns).max(1));
        rates.push(u64::try_from(rate).unwrap_or(u64::MAX));
        from_ns = to_ns;
    }
    rates
}

fn drift(latencies: &[u64]) -> i64 {
    let quarter = latencies.len() / 4;
    if quarter == 0 {
        return 0;
    }
    let first = median(&latencies[..quarter]);
    let last = median(&latencies[latencies.len() - quarter..]);
    let more = permille(last, first);
    i64::try_from(more).unwrap_or(i64::MAX) - 1000
}

/// The median of numbers in any order; 0 of none.
#[must_use]
pub fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    quantile(&sorted, 500)
}

/// What so many of a thousand of the sorted `values` do not exceed; 0 of none.
#[must_use]
pub fn quantile(values: &[u64], permille: usize) -> u64 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0;
    };
    values[(last * permille.min(1000)).div_ceil(1000)]
}

/// `part` of `whole` in thousandths; 0 of nothing.
#[must_use]
pub fn permille(part: u64, whole: u64) -> u64 {
    let share = (u128::from(part) * 1000).checked_div(u128::from(whole));
    share.map_or(0, |share| u64::try_from(share).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::plan::{RequestOrder, StepPurpose};

    fn step() -> MeasureStep {
        MeasureStep {
            purpose: StepPurpose::Access,
            order: RequestOrder::Random,
            start: 0,
            end: 1 << 30,
            request_bytes: 1000,
            depth: 1,
            time_ns_max: 0,
            bytes_max: 0,
        }
    }

    /// One request after another, each as long as it is said.
    fn one_by_one(latencies: &[u64]) -> Vec<Sample> {
        let mut now_ns = 0;
        let sample = |latency: &u64| {
            let begun_ns = now_ns;
            now_ns += latency;
            Sample {
                begun_ns,
                ended_ns: now_ns,
            }
        };
        latencies.iter().map(sample).collect()
    }

    #[test]
    fn percentiles_are_of_the_requests_and_rates_of_the_time() {
        let latencies: Vec<u64> = (1..=1000).map(|number| number * 1_000).collect();
        let result = StepResult::of(step(), &one_by_one(&latencies), u64::MAX);
        let latency = result.latency;
        assert_eq!((latency.min_ns, latency.max_ns), (1_000, 1_000_000));
        assert!(latency.p50_ns.abs_diff(500_000) <= 1_000, "{latency:?}");
        assert!(latency.p99_ns.abs_diff(990_000) <= 1_000, "{latency:?}");
        assert_eq!(result.bytes, 1_000_000);
        assert!(result.drift_permille > 5_000, "it got slower and slower");
        assert!(result.median_ns.low < 70_000 && result.median_ns.high > 930_000);
    }

    #[test]
    fn what_does_not_vary_has_no_spread_and_no_drift() {
        let result = StepResult::of(step(), &one_by_one(&[1_000_000; 64]), u64::MAX);
        assert_eq!(result.median_ns.spread_permille(), 0);
        assert_eq!(result.drift_permille, 0);
        assert_eq!(result.bytes_per_second.value, 1_000_000);
        assert_eq!(result.requests_per_second(), 1_000);
    }

    /// 64 requests at once end one after another when no new ones come.
    #[test]
    fn answers_after_the_last_request_do_not_count_for_rates() {
        let mut samples = one_by_one(&[1_000; 100]);
        samples.push(Sample {
            begun_ns: 100_000,
            ended_ns: 100_000_000,
        });
        let result = StepResult::of(step(), &samples, 100_000);
        assert_eq!(result.bytes_per_second.value, 1_000_000_000);
        assert_eq!(result.latency.max_ns, 99_900_000);
    }

    #[test]
    fn no_sample_is_no_figure_and_no_panic() {
        let result = StepResult::of(step(), &[], 0);
        assert_eq!((result.requests, result.median_ns), (0, Spanned::default()));
    }
}
