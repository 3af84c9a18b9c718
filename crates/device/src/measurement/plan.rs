//! From bounds to steps: what is read, in which order, and for how long.
//!
//! | step | requests | says |
//! | --- | --- | --- |
//! | access | 4 KiB at shuffled places, one at a time | access time, its percentiles, drift |
//! | sequential | 1 MiB one after another, four at a time, from the start | bandwidth (outer zone of a disk) |
//! | inner | the same in the last sixteenth of a device | bandwidth of the inner zone |
//! | depth | 4 KiB at shuffled places, 1 to 64 at a time | how many requests are served at once |
//! | size | 4 KiB to 16 MiB at shuffled places, one at a time | latency and throughput over size |

use serde::{Deserialize, Serialize};

/// Smallest request, and what places are aligned to.
pub const SMALL_BYTES: u64 = 4096;
/// A request of a sequential step.
const LONG_BYTES: u64 = 1 << 20;
/// Requests of a sequential step at once: a network volume that delays each by a constant time is kept
/// busy by a few of this size, and an arm does not mind.
const LONG_DEPTH: u32 = 4;
/// Largest request of the curve.
const LARGEST_BYTES: u64 = 16 << 20;
/// Largest depth.
pub const DEPTH_MAX: u32 = 64;
/// Zones of a device: its first and its last part of so many.
const ZONES: u64 = 16;
/// A place is used once: of a small file only requests that fit so often are measured.
const FITS_MIN: u64 = 16;
/// A step that found its device slow still has so many requests.
pub const REQUESTS_MIN: u64 = 4;
/// Fewest bytes that all steps can keep to.
pub const BYTES_MIN: u64 = 128 << 20;
/// Smallest target: less lies in the cache of any disk.
pub const TARGET_BYTES_MIN: u64 = 16 << 20;

/// Parts of the time, of a hundred.
const ACCESS_PART: u64 = 15;
const SEQUENTIAL_PART: u64 = 10;
const INNER_PART: u64 = 5;
const DEPTH_PART: u64 = 30;
const SIZE_PART: u64 = 40;

/// What must be kept to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasureBounds {
    /// Time of all steps together, in nanoseconds.
    pub time_ns: u64,
    /// Bytes that all steps together read at most.
    pub bytes: u64,
    /// Size of what is measured, in bytes.
    pub size_bytes: u64,
    /// Whether it is a whole device, which has an inner zone.
    pub is_device: bool,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepPurpose {
    /// Isolated small reads.
    Access,
    /// A long read at the start.
    Sequential,
    /// A long read in the last zone.
    Inner,
    /// Small reads at once.
    Depth,
    /// Reads of a size.
    Size,
}

/// Where the requests of a step lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestOrder {
    /// At shuffled places, aligned to the request's size.
    Random,
    /// One behind another; from the start again at the end.
    Sequential,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureStep {
    /// What it is for.
    pub purpose: StepPurpose,
    /// Where its requests lie.
    pub order: RequestOrder,
    /// First byte that is read.
    pub start: u64,
    /// End of what is read, exclusive.
    pub end: u64,
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Requests at once.
    pub depth: u32,
    /// No request is begun later than this after the first, in nanoseconds.
    pub time_ns_max: u64,
    /// No request is begun when so many bytes have been asked for.
    pub bytes_max: u64,
}

impl MeasureStep {
    /// A name for files and progress: `random-4k-depth-8`.
    #[must_use]
    pub fn name(&self) -> String {
        let order = match (self.order, self.purpose) {
            (RequestOrder::Random, _) => "random",
            (RequestOrder::Sequential, StepPurpose::Inner) => "sequential-inner",
            (RequestOrder::Sequential, _) => "sequential",
        };
        let size = if self.request_bytes >= 1 << 20 {
            format!("{}m", self.request_bytes >> 20)
        } else {
            format!("{}k", self.request_bytes >> 10)
        };
        let what = match self.purpose {
            StepPurpose::Access => "access-",
            _ => "",
        };
        format!("{what}{order}-{size}-depth-{}", self.depth)
    }

    /// Places that a request can have.
    #[must_use]
    pub const fn places(&self) -> u64 {
        let span = self.end.saturating_sub(self.start);
        match span.checked_div(self.request_bytes) {
            Some(places) => places,
            None => 0,
        }
    }
}

/// The steps, in the order in which they are run: the two figures that everything needs come first, so
/// that a measurement that ends early still has them.
#[must_use]
pub fn steps(bounds: &MeasureBounds) -> Vec<MeasureStep> {
    let size = bounds.size_bytes / SMALL_BYTES * SMALL_BYTES;
    let step = |purpose, order, request_bytes, depth, part: u64, of: u64| MeasureStep {
        purpose,
        order,
        start: 0,
        end: size,
        request_bytes,
        depth,
        time_ns_max: bounds.time_ns / 100 * part / of.max(1),
        bytes_max: bounds.bytes / 100 * part / of.max(1),
    };
    let random = |purpose, bytes, depth, part, of| {
        step(purpose, RequestOrder::Random, bytes, depth, part, of)
    };
    let long = |purpose, part| {
        let order = RequestOrder::Sequential;
        step(purpose, order, LONG_BYTES, LONG_DEPTH, part, 1)
    };
    let mut steps = vec![
        random(StepPurpose::Access, SMALL_BYTES, 1, ACCESS_PART, 1),
        long(StepPurpose::Sequential, SEQUENTIAL_PART),
    ];
    if bounds.is_device {
        steps[1].end = zone(size);
        let mut inner = long(StepPurpose::Inner, INNER_PART);
        inner.start = size - zone(size);
        steps.push(inner);
    }
    let depths: Vec<u32> = doubled(1, u64::from(DEPTH_MAX))
        .filter_map(|depth| u32::try_from(depth).ok())
        .collect();
    let depth_count = depths.len() as u64;
    steps.extend(depths.into_iter().map(|depth| {
        random(
            StepPurpose::Depth,
            SMALL_BYTES,
            depth,
            DEPTH_PART,
            depth_count,
        )
    }));
    let largest = LARGEST_BYTES.min(size / FITS_MIN);
    let mut sizes: Vec<u64> = doubled(SMALL_BYTES, largest).collect();
    let fits = |sizes: &[u64]| {
        let part = bounds.bytes / 100 * SIZE_PART / sizes.len() as u64;
        sizes.last().is_none_or(|last| last * REQUESTS_MIN <= part)
    };
    while sizes.len() > 1 && !fits(&sizes) {
        sizes.pop();
    }
    let count = sizes.len() as u64;
    steps.extend(
        sizes
            .into_iter()
            .map(|bytes| random(StepPurpose::Size, bytes, 1, SIZE_PART, count)),
    );
    steps
}

/// The first or the last zone, whole requests of a sequential step.
fn zone(size: u64) -> u64 {
    let zone = (size / ZONES).max(LONG_BYTES * FITS_MIN).min(size);
    zone / LONG_BYTES * LONG_BYTES
}

fn doubled(from: u64, to: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(from), |value| value.checked_mul(2))
        .take_while(move |value| *value <= to)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: MeasureBounds = MeasureBounds {
        time_ns: 60_000_000_000,
        bytes: 10 << 30,
        size_bytes: 1 << 40,
        is_device: true,
    };

    #[test]
    fn the_steps_together_keep_to_the_bounds() {
        for bounds in [
            BOUNDS,
            MeasureBounds {
                size_bytes: TARGET_BYTES_MIN,
                is_device: false,
                time_ns: 1_000_000_000,
                bytes: BYTES_MIN,
            },
        ] {
            let steps = steps(&bounds);
            let time: u64 = steps.iter().map(|step| step.time_ns_max).sum();
            let bytes: u64 = steps.iter().map(|step| step.bytes_max).sum();
            assert!(time <= bounds.time_ns && bytes <= bounds.bytes);
            assert!(steps.iter().all(|step| step.end <= bounds.size_bytes));
            assert!(steps.iter().all(|step| step.places() >= 1));
            let least = |step: &MeasureStep| step.request_bytes * REQUESTS_MIN;
            assert!(steps.iter().all(|step| least(step) <= step.bytes_max));
        }
    }

    #[test]
    fn a_device_has_two_zones_and_a_file_one() {
        let of = |is_device| {
            let steps = steps(&MeasureBounds {
                is_device,
                ..BOUNDS
            });
            let long = |step: &&MeasureStep| step.order == RequestOrder::Sequential;
            let long: Vec<_> = steps.iter().filter(long).cloned().collect();
            long.iter()
                .map(|step| (step.start, step.end))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(false), [(0, 1 << 40)]);
        assert_eq!(of(true), [(0, 1 << 36), ((1 << 40) - (1 << 36), 1 << 40)]);
    }

    #[test]
    fn the_curve_of_a_small_file_ends_where_few_requests_fit() {
        let small = MeasureBounds {
            size_bytes: 64 << 20,
            ..BOUNDS
        };
        let steps = steps(&small);
        let largest = steps
            .iter()
            .filter(|step| step.purpose == StepPurpose::Size);
        assert_eq!(largest.map(|step| step.request_bytes).max(), Some(4 << 20));
    }

    #[test]
    fn no_two_steps_have_one_name() {
        let steps = steps(&BOUNDS);
        let mut names: Vec<_> = steps
            .iter()
            .filter(|step| step.purpose != StepPurpose::Size || step.request_bytes > SMALL_BYTES)
            .map(MeasureStep::name)
            .collect();
        assert_eq!(names[0], "access-random-4k-depth-1");
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
