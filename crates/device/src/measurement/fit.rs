//! Access time, bandwidth and depth, out of what the steps found.
//!
//! * **access time**: the median of isolated small reads. On most disks it is also where the line
//!   *t = a + bytes/b* begins; on a volume that lets so many requests per second pass it is longer, and on
//!   flash that reads its pages at once there is no such line.
//! * **bandwidth**: of the long read at the start, or of the largest requests where these bring more: a disk that another
//!   machine lends may serve a request in parts that it reads at once.
//! * **line**: least squares of *t = a + bytes/b* over the medians of all sizes. Errors count relative to the
//!   time, so that 4 KiB weigh as much as 16 MiB. The line through two of the points whose median deviation is
//!   the least says which points count: those within 2.5 standard deviations of it (reweighted least squares
//!   of Rousseeuw and Leroy, 1987). So up to half of the sizes may do what they like and leave the line to the
//!   others. It says from which size on all of them are near it: flash that reads eight pages at once is like a
//!   line from 128 KiB on only.
//! * **useful depth**: the smallest at which small reads come within 10 % of the most per second.
//! * **served at once**: the most per second, times the access time (Little's law). An arm that sorts what waits
//!   answers more per second with 16 waiting than with one, and still serves one at a time.
//!
//! The depth of the estimate is the smaller of the last two: requests that are served at the same time
//! with gain.

use serde::{Deserialize, Serialize};

use super::plan::StepPurpose;
use super::statistics::{Spanned, StepResult, permille};

/// How near to the most requests per second is near enough, of a hundred.
const NEAR_PER_CENT: u64 = 90;
/// Parts of a step that differ by more than half of the figure measured something else: medians of a few dozen
/// requests of an arm differ by a tenth.
const SPREAD_PERMILLE_MAX: u64 = 500;
/// Relative deviations below this are all alike: medians of some dozen requests of an arm are no more certain.
const DEVIATION_MIN: f64 = 0.02;
/// Standard deviations in a median deviation of errors that are normally distributed.
const PER_MEDIAN: f64 = 1.4826;
/// Points further off do not count.
const FAR: f64 = 2.5;

/// *t = a + bytes/b*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineFit {
    /// *a*, in nanoseconds.
    pub access_ns: u64,
    /// *b*.
    pub bytes_per_second: u64,
    /// The smallest size from which on all sizes are near the line.
    pub from_bytes: u64,
    /// How far these lie from it at most, in thousandths of the time.
    pub deviation_permille: u64,
}

/// What is known of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedFigures {
    /// Time of an isolated small read, in nanoseconds, and of the parts of its step.
    pub access_ns: Spanned,
    /// Bytes per second of a long read, or of large requests, and of the parts of its step.
    pub bytes_per_second: Spanned,
    /// Requests that are served at the same time with gain, at least 1.
    pub depth: u32,
    /// The smallest depth that comes near to the most requests per second.
    pub useful_depth: u32,
    /// Most small random requests per second, at any depth.
    pub requests_per_second_max: u64,
    /// The line through the curve; `None` where there is none.
    pub line: Option<LineFit>,
}

impl FittedFigures {
    /// From what the steps found. `None` without isolated reads or without a long read: nothing can be said
    /// then.
    #[must_use]
    pub fn of(steps: &[StepResult]) -> Option<Self> {
        let with = |purpose| {
            steps
                .iter()
                .filter(move |one| one.step.purpose == purpose && one.requests > 0)
        };
        let access_ns = with(StepPurpose::Access).next()?.median_ns;
        let long = with(StepPurpose::Sequential).next()?.bytes_per_second;
        let of_sizes = with(StepPurpose::Size).map(|one| one.bytes_per_second);
        let rates = of_sizes.chain([long]);
        let bytes_per_second = rates.max_by_key(|rate| rate.value)?;
        let ladder: Vec<(u32, u64)> = with(StepPurpose::Depth)
            .map(|one| (one.step.depth, one.requests_per_second()))
            .collect();
        let alone = 1_000_000_000_u64.checked_div(access_ns.value).unwrap_or(0);
        let most = ladder.iter().map(|(_, rate)| *rate).max();
        let requests_per_second_max = most.unwrap_or(alone).max(1);
        let is_near = |rate: u64| {
            u128::from(rate) * 100
                >= u128::from(requests_per_second_max) * u128::from(NEAR_PER_CENT)
        };
        let near = ladder.iter().filter(|(_, rate)| is_near(*rate));
        let useful_depth = near.map(|(depth, _)| *depth).min().unwrap_or(1);
        let at_once = u128::from(requests_per_second_max) * u128::from(access_ns.value);
        let at_once = u32::try_from((at_once + 500_000_000) / 1_000_000_000).unwrap_or(u32::MAX);
        let curve: Vec<(u64, u64)> = with(StepPurpose::Size)
            .map(|one| (one.step.request_bytes, one.median_ns.value))
            .collect();
        Some(Self {
            access_ns,
            bytes_per_second,
            depth: useful_depth.min(at_once).max(1),
            useful_depth,
            requests_per_second_max,
            line: line(&curve),
        })
    }

    /// Why the figures are not to be relied on; `None` where nothing speaks against them.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        let parts = [
            ("access time", self.access_ns),
            ("bandwidth", self.bytes_per_second),
        ];
        let wild = parts
            .into_iter()
            .find(|(_, of)| of.spread_permille() > SPREAD_PERMILLE_MAX);
        wild.map(|(what, of)| {
            format!(
                "the parts of one step differ by {} % of the {what}: something was in the way that the \
                 device's counters do not show, as other programs on the processors; measure again",
                of.spread_permille() / 10
            )
        })
    }

    /// Part of a request's time that is its transfer, in thousandths: bytes/b of the time it took.
    #[must_use]
    pub fn utilisation_permille(&self, request_bytes: u64, took_ns: u64) -> u64 {
        let transfer = u128::from(request_bytes) * 1_000_000_000;
        let transfer = transfer.checked_div(u128::from(self.bytes_per_second.value));
        let transfer_ns = transfer.map_or(0, |ns| u64::try_from(ns).unwrap_or(u64::MAX));
        permille(transfer_ns, took_ns).min(1000)
    }
}

/// The line through (bytes, nanoseconds), sizes ascending; `None` for fewer than three points, or where more bytes do not take
/// longer.
#[must_use]
pub fn line(points: &[(u64, u64)]) -> Option<LineFit> {
    if points.len() < 3 || points.iter().any(|(_, ns)| *ns == 0) {
        return None;
    }
    let points: Vec<(f64, f64)> = points
        .iter()
        .map(|(bytes, ns)| (*bytes as f64, *ns as f64))
        .collect();
    let deviations = |(start, slope): (f64, f64)| -> Vec<f64> {
        let of = |(bytes, ns): &(f64, f64)| ((start + slope * bytes - ns) / ns).abs();
        points.iter().map(of).collect()
    };
    let pairs = (0..points.len()).flat_map(|one| (0..one).map(move |other| [one, other]));
    let through = |pair: [usize; 2]| {
        let [(x, y), (other_x, other_y)] = pair.map(|at| points[at]);
        let slope = (other_y - y) / (other_x - x);
        (slope.is_finite() && slope > 0.0).then_some((y - slope * x, slope))
    };
    let lines = pairs.filter_map(through);
    let first = lines
        .min_by(|one, other| middle(&deviations(*one)).total_cmp(&middle(&deviations(*other))))?;
    let off = deviations(first);
    // The second factor is for few points: two of them lie on the line.
    let usual = PER_MEDIAN * (1.0 + 5.0 / (points.len() as f64 - 2.0)) * middle(&off);
    let near = FAR * usual.max(DEVIATION_MIN);
    let counting: Vec<(f64, f64)> = points
        .iter()
        .zip(off)
        .filter_map(|(point, off)| (off <= near).then_some(*point))
        .collect();
    let found = least_squares(&counting)?;
    let (start, slope) = found;
    let off = deviations(found);
    let near_to_end = off.iter().rev().take_while(|off| **off <= near).count();
    let first = points.len() - near_to_end.max(1);
    (slope > 0.0).then(|| LineFit {
        access_ns: whole(start),
        bytes_per_second: whole(1e9 / slope),
        from_bytes: whole(points[first].0),
        deviation_permille: whole(off[first..].iter().fold(0.0, |a, b| b.max(a)) * 1000.0),
    })
}

/// Start and slope of the line with the least squares of relative errors.
fn least_squares(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (mut w, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (bytes, ns) in points {
        let weight = 1.0 / (ns * ns);
        w += weight;
        x += weight * bytes;
        y += weight * ns;
        xx += weight * bytes * bytes;
        xy += weight * bytes * ns;
    }
    let determinant = w * xx - x * x;
    // All of one size.
    (determinant > w * xx * 1e-12).then(|| {
        let slope = (w * xy - x * y) / determinant;
        ((y - slope * x) / w, slope)
    })
}

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is out of range becomes its end, as `as` does"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(time_ns: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
        (12..=24)
            .map(|power| (1 << power, time_ns(1 << power)))
            .collect()
    }

    fn near(value: u64, expected: u64) -> bool {
        value.abs_diff(expected) * 1000 <= expected
    }

    #[test]
    fn a_line_is_found_again() {
        let found = line(&curve(|bytes| 8_000_000 + bytes * 10)).unwrap();
        assert!(near(found.access_ns, 8_000_000), "{found:?}");
        assert!(near(found.bytes_per_second, 100_000_000), "{found:?}");
        assert_eq!((found.from_bytes, found.deviation_permille), (4096, 0));
    }

    /// As a network volume lets 3000 requests per second pass: small ones take longer than their bytes.
    #[test]
    fn sizes_that_do_not_fit_leave_the_line_to_the_others() {
        let found = line(&curve(|bytes| 500_000 + (bytes * 8).max(333_333))).unwrap();
        assert_eq!(found.from_bytes, 64 << 10);
        assert!(near(found.access_ns, 500_000), "{found:?}");
        assert!(near(found.bytes_per_second, 125_000_000), "{found:?}");
    }

    /// One size measured while others used the disk.
    #[test]
    fn one_disturbed_size_does_not_move_the_line() {
        let mut points = curve(|bytes| 120_000 + bytes / 2);
        points[6].1 *= 5;
        let found = line(&points).unwrap();
        assert!(near(found.access_ns, 120_000), "{found:?}");
        assert!(near(found.bytes_per_second, 2_000_000_000), "{found:?}");
    }

    /// Flash with eight channels: 128 KiB take as long as 4 KiB.
    #[test]
    fn steps_are_a_line_from_where_they_are_full() {
        let found = line(&curve(|bytes| 80_000 * bytes.div_ceil(131_072))).unwrap();
        assert_eq!((found.access_ns, found.from_bytes), (0, 128 << 10));
        assert!(near(found.bytes_per_second, 1_638_400_000), "{found:?}");
    }

    #[test]
    fn figures_whose_parts_differ_wildly_are_doubted() {
        let spanned = |low, value, high| Spanned { value, low, high };
        let figures = |access_ns| FittedFigures {
            access_ns,
            bytes_per_second: spanned(95, 100, 101),
            depth: 1,
            useful_depth: 1,
            requests_per_second_max: 1,
            line: None,
        };
        assert_eq!(figures(spanned(80, 100, 120)).doubt(), None);
        let doubt = figures(spanned(80, 100, 131)).doubt().unwrap();
        assert!(doubt.contains("51 % of the access time"), "{doubt}");
    }

    #[test]
    fn what_has_no_line_has_none() {
        assert_eq!(line(&[]), None);
        assert_eq!(line(&[(4096, 1), (8192, 2)]), None);
        assert_eq!(line(&[(4096, 5), (4096, 6), (4096, 7)]), None);
        assert_eq!(line(&[(4096, 0), (8192, 6), (16384, 7)]), None);
        assert_eq!(line(&curve(|bytes| 1_000_000_000 - bytes)), None);
    }
}
