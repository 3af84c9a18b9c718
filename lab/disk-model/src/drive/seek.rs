//! How long the arm takes over a distance: three ways to say it, in whole nanoseconds.
//!
//! * **table**: measured points, straight lines between them;
//! * **Lee**: three numbers of a data sheet (shortest, mean, full stroke), which DiskSim turns into
//!   `a·√(x−1) + b·(x−1) + c` so that the mean over random pairs of cylinders is the given mean;
//! * **HPL**: a root for short distances, a line for long ones (Ruemmler and Wilkes).
//!
//! A distance of 0 costs nothing: switching heads is charged by the [drive](super).

use serde::{Deserialize, Serialize};

use crate::limits::{ModelError, within, within_us};

/// Seek time over distance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum SeekCurve {
    /// Measured points.
    Table {
        /// Cylinders and microseconds, ascending in both. Beyond the last point its time holds.
        points: Vec<(u64, u64)>,
    },
    /// Three numbers of a data sheet.
    Lee {
        /// Microseconds over one cylinder.
        us_min: u64,
        /// Microseconds over the mean of random distances.
        us_mean: u64,
        /// Microseconds over all cylinders.
        us_max: u64,
    },
    /// A root, then a line.
    Hpl {
        /// Distances up to this many cylinders follow the root.
        short_cylinders_max: u64,
        /// Microseconds of every short seek.
        short_us: u64,
        /// Microseconds for the root of one cylinder.
        root_us: u64,
        /// Microseconds of every long seek.
        long_us: u64,
        /// Microseconds for each cylinder.
        cylinder_us: u64,
    },
}

impl SeekCurve {
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        match self {
            Self::Table { points } => {
                let ascends = points
                    .windows(2)
                    .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
                if points.is_empty() || !ascends {
                    return Err(ModelError::Figure {
                        field: "seek.points",
                        expected: "pairs of cylinders and microseconds, ascending, at least one",
                    });
                }
                points
                    .iter()
                    .try_for_each(|&(_, us)| within_us("seek.points", us))
            }
            Self::Lee {
                us_min,
                us_mean,
                us_max,
            } => {
                within_us("seek.us_max", *us_max)?;
                let expected = "from us_min to us_max";
                within("seek.us_mean", *us_mean, *us_min, *us_max, expected)
            }
            Self::Hpl {
                short_us,
                root_us,
                long_us,
                cylinder_us,
                ..
            } => [short_us, root_us, long_us, cylinder_us]
                .into_iter()
                .try_for_each(|&us| within_us("seek", us)),
        }
    }

    /// Nanoseconds over `distance` of `cylinders`.
    pub(crate) fn ns(&self, distance: u64, cylinders: u64) -> u64 {
        if distance == 0 {
            return 0;
        }
        match self {
            Self::Table { points } => interpolated_ns(points, distance),
            Self::Lee {
                us_min,
                us_mean,
                us_max,
            } => lee_ns([*us_min, *us_mean, *us_max], distance, cylinders),
            Self::Hpl {
                short_cylinders_max,
                short_us,
                root_us,
                long_us,
                cylinder_us,
            } => {
                if distance <= *short_cylinders_max {
                    let root_ns = u128::from(root_us * 1_000);
                    let root_ns = (root_ns * root_ns * u128::from(distance)).isqrt();
                    short_us * 1_000 + u64::try_from(root_ns).unwrap_or(u64::MAX)
                } else {
                    (long_us + cylinder_us.saturating_mul(distance)).saturating_mul(1_000)
                }
            }
        }
    }
}

fn interpolated_ns(points: &[(u64, u64)], distance: u64) -> u64 {
    let behind = points.partition_point(|&(cylinders, _)| cylinders < distance);
    let us_at = |index: usize| points.get(index).map(|&(_, us)| us);
    match (
        behind.checked_sub(1).map(|before| points[before]),
        points.get(behind),
    ) {
        (Some((from, from_us)), Some(&(to, to_us))) => {
            let rise_ns = (to_us - from_us) * 1_000 * (distance - from) / (to - from);
            from_us * 1_000 + rise_ns
        }
        // Shorter than the shortest, or longer than the longest that was measured.
        _ => us_at(behind.min(points.len().saturating_sub(1))).unwrap_or(0) * 1_000,
    }
}

/// `a = (−10·min + 15·mean − 5·max) / (3·√N)`, `b = (7·min − 15·mean + 8·max) / (3·N)`, `c = min`.
fn lee_ns(us: [u64; 3], distance: u64, cylinders: u64) -> u64 {
    let [min_ns, mean_ns, max_ns] = us.map(|us| i128::from(us) * 1_000);
    let (steps, cylinders) = (u128::from(distance - 1), u128::from(cylinders.max(1)));
    // √(steps / N) as a fraction of 2³².
    let root = i128::try_from(((steps << 64) / cylinders).isqrt()).unwrap_or(0);
    let share = i128::try_from((steps << 32) / cylinders).unwrap_or(0);
    let root_ns = ((-10 * min_ns + 15 * mean_ns - 5 * max_ns) * root) >> 32;
    let line_ns = ((7 * min_ns - 15 * mean_ns + 8 * max_ns) * share) >> 32;
    let ns = (root_ns + line_ns) / 3 + min_ns;
    u64::try_from(ns).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean over all pairs of cylinders, in nanoseconds.
    fn mean_ns(curve: &SeekCurve, cylinders: u64) -> u64 {
        let weighted: u128 = (1..cylinders)
            .map(|distance| {
                u128::from(curve.ns(distance, cylinders)) * u128::from(2 * (cylinders - distance))
            })
            .sum();
        u64::try_from(weighted / u128::from(cylinders * cylinders)).expect("a time")
    }

    #[test]
    fn the_mean_of_lees_curve_is_the_mean_it_was_given() {
        for (us_min, us_mean, us_max) in [(800, 8_500, 18_000), (900, 9_400, 20_000)] {
            let curve = SeekCurve::Lee {
                us_min,
                us_mean,
                us_max,
            };
            let mean_us = mean_ns(&curve, 20_000) / 1_000;
            assert!(mean_us.abs_diff(us_mean) <= 3, "{mean_us} for {us_mean} µs");
            assert_eq!(curve.ns(1, 20_000), us_min * 1_000);
            let full_us = curve.ns(20_000, 20_000) / 1_000;
            assert!(full_us.abs_diff(us_max) <= 1, "{full_us} for {us_max} µs");
        }
    }

    #[test]
    fn the_curve_of_the_hp_97560_is_a_root_and_then_a_line() {
        let curve = SeekCurve::Hpl {
            short_cylinders_max: 383,
            short_us: 3_240,
            root_us: 400,
            long_us: 8_000,
            cylinder_us: 8,
        };
        let of = |distance| curve.ns(distance, 1_962);
        assert_eq!((of(0), of(1), of(100)), (0, 3_640_000, 7_240_000));
        assert_eq!(of(383), 3_240_000 + 7_828_154);
        assert_eq!((of(384), of(1_961)), (11_072_000, 23_688_000));
    }

    #[test]
    fn a_table_is_straight_between_its_points_and_flat_outside() {
        let points = vec![(1, 1_000), (11, 2_000), (111, 3_000)];
        let curve = SeekCurve::Table { points };
        let of = |distance| curve.ns(distance, 1_000);
        assert_eq!(
            (of(1), of(6), of(11), of(61)),
            (1_000_000, 1_500_000, 2_000_000, 2_500_000)
        );
        assert_eq!((of(0), of(500)), (0, 3_000_000));
    }
}
