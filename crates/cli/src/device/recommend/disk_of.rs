//! A disk model from a measurement: of every kind the one with the measured figures, and of these the one that
//! would have been measured so.
//!
//! Three figures do not say of which kind a device is, but the curve and the depths do: an arm gains little from
//! depth, flash reads up to its channels in the time of one page, a volume has a gate and a way. So each kind is
//! built from the figures, measured in virtual time with the same steps, and the nearest is taken.
//!
//! What is served at once is the most per second times the access time, of which a part is the way to the disk and
//! back. With flash the channels alone decide whether a request fits them, and they come in powers of two: that many are
//! tried, too.

use ahead_device::measurement::fit::FittedFigures;
use ahead_device::measurement::plan::{MeasureBounds, StepPurpose};
use ahead_device::measurement::report::Measurement;
use ahead_device::measurement::statistics::{StepResult, permille};
use ahead_disk_model::{ArmModel, ArrayModel, DiskModel, FlashModel, ServiceOrder, VolumeModel};
use ahead_units::PAGE_BYTES;

use crate::device::virtual_disk;

/// Half a turn of a disk with 7200 per minute.
const HALF_TURN_NS: u64 = 4_166_667;
/// Of the mean seek, the shortest has so many parts of a thousand, as has the `hdd` of the bench.
const SHORTEST_SEEK_PERMILLE: u64 = 374;
/// The mean of sqrt(distance) over two random places is 8/15.
const MEAN_ROOT: (u64, u64) = (8, 15);
/// Of the most per second at a smaller depth: less is no spread of some dozen requests.
const AGED_PER_CENT: u64 = 90;
/// Chunk of an array whose chunk is not known: the usual one of md since 2010 is 512 KiB, of controllers 64.
const CHUNK_BYTES: u64 = 64 << 10;
/// The simulated disk is no smaller: of a small file that was measured all would be in memory after a while. A
/// seek over a part of the disk takes as long on a large one, so the access time stays as measured.
pub(super) const CAPACITY_MIN: u64 = 256 << 30;
/// Virtual time in which a candidate is measured; medians of an arm settle in a few dozen requests.
const TIME_NS: u64 = 10_000_000_000;
const BYTES: u64 = 64 << 30;

/// The figures a model is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Figures {
    access_ns: u64,
    bytes_per_second: u64,
    depth: u32,
    requests_per_second: u64,
    /// In which order an arm serves what waits.
    order: ServiceOrder,
}

/// A device as a model.
#[derive(Clone, Debug)]
pub(super) struct ModelledDevice {
    /// As measured.
    pub(super) model: DiskModel,
    /// As slow, and as fast, as the parts of the steps allow.
    pub(super) slow: DiskModel,
    pub(super) fast: DiskModel,
    /// How far the model's curve lies from the measured one, the mean of most steps, in thousandths.
    pub(super) off_permille: u64,
    /// Size of the simulated disk.
    pub(super) capacity: u64,
}

/// The model of what was measured; `None` where no model can have these figures.
pub(super) fn of(measurement: &Measurement) -> Option<ModelledDevice> {
    let figures = &measurement.figures;
    let order = order_of(&measurement.steps);
    let capacity = measurement.target.size_bytes.max(CAPACITY_MIN);
    let at = |access_ns: u64, bytes_per_second: u64| Figures {
        access_ns,
        bytes_per_second,
        depth: figures.depth,
        requests_per_second: figures.requests_per_second_max,
        order,
    };
    let (access, rate) = (&figures.access_ns, &figures.bytes_per_second);
    let as_measured = at(access.value, rate.value);
    let slow = at(access.high, rate.low);
    let fast = at(access.low, rate.high);
    let nearest = KINDS.into_iter().filter_map(|build| {
        let model = checked(build(&as_measured))?;
        let off = off(&model, measurement)?;
        Some((off, build, model))
    });
    let (off, build, model) = nearest.min_by_key(|(off, ..)| *off)?;
    Some(ModelledDevice {
        slow: checked(build(&slow)).unwrap_or_else(|| model.clone()),
        fast: checked(build(&fast)).unwrap_or_else(|| model.clone()),
        model,
        off_permille: off.of_most,
        capacity,
    })
}

/// An arm answers more per second with more that wait, as the next one lies nearer. Where it answers less again, it serves
/// what has waited for longest, whose wait is the limit.
fn order_of(steps: &[StepResult]) -> ServiceOrder {
    let of_depth = |step: &&StepResult| step.step.purpose == StepPurpose::Depth;
    let mut most = 0;
    for step in steps.iter().filter(of_depth) {
        let rate = step.requests_per_second();
        if rate * 100 < most * AGED_PER_CENT {
            let age_ms_max = (step.median_ns.value / 1_000_000).max(1);
            return ServiceOrder::CLook { age_ms_max };
        }
        most = most.max(rate);
    }
    ServiceOrder::C_LOOK
}

type Build = fn(&Figures) -> DiskModel;
const KINDS: [Build; 5] = [arm, flash, flash_of_a_power_of_two, volume, array];

fn checked(model: DiskModel) -> Option<DiskModel> {
    model.check().is_ok().then_some(model)
}

fn arm(figures: &Figures) -> DiskModel {
    let half_turn_ns = HALF_TURN_NS.min(figures.access_ns / 2).max(1);
    let seek_us = (figures.access_ns - half_turn_ns.min(figures.access_ns)) / 1000;
    let seek_us_min = seek_us * SHORTEST_SEEK_PERMILLE / 1000;
    let (part, whole) = MEAN_ROOT;
    DiskModel::Arm(ArmModel {
        media_bytes_per_s: figures.bytes_per_second,
        seek_us_min,
        seek_us_max: seek_us_min + (seek_us - seek_us_min) * whole / part,
        rotation_rpm: 30_000_000_000 / half_turn_ns,
        order: figures.order,
    })
}

fn flash(figures: &Figures) -> DiskModel {
    flash_of_channels(figures.depth.max(1), figures)
}

fn flash_of_a_power_of_two(figures: &Figures) -> DiskModel {
    flash_of_channels(1 << figures.depth.max(1).ilog2(), figures)
}

/// A small read takes a page of a channel, so the bytes per second are so many pages for each one that is answered. They
/// lie on whole pages of memory: a request that fits the channels does not touch one more. What is left of an access is
/// the way.
fn flash_of_channels(channels: u32, figures: &Figures) -> DiskModel {
    let of_memory = figures.bytes_per_second / figures.requests_per_second.max(1);
    let pages = (of_memory + PAGE_BYTES / 2) / PAGE_BYTES;
    let page_bytes = pages.max(1) * PAGE_BYTES;
    let bytes_at_once = u128::from(channels) * u128::from(page_bytes);
    let page_ns = bytes_at_once * 1_000_000_000 / u128::from(figures.bytes_per_second.max(1));
    let page_ns = u64::try_from(page_ns).map_or(figures.access_ns, |ns| ns.min(figures.access_ns));
    let page_us = microseconds(page_ns);
    DiskModel::Flash(FlashModel {
        channels,
        page_us,
        page_bytes,
        latency_us: microseconds(figures.access_ns).saturating_sub(page_us),
    })
}

/// Rounded.
fn microseconds(ns: u64) -> u64 {
    (ns + 500) / 1000
}

fn volume(figures: &Figures) -> DiskModel {
    let gate_ns = 1_000_000_000 / figures.requests_per_second.max(1);
    DiskModel::Volume(VolumeModel {
        latency_us: microseconds(figures.access_ns.saturating_sub(gate_ns)),
        requests_per_s: figures.requests_per_second,
        bytes_per_s: figures.bytes_per_second,
    })
}

fn array(figures: &Figures) -> DiskModel {
    let disks = figures.depth.max(2);
    let member = Figures {
        bytes_per_second: figures.bytes_per_second / u64::from(disks),
        ..*figures
    };
    DiskModel::Array(ArrayModel {
        disks,
        chunk_bytes: CHUNK_BYTES,
        parity: false,
        controller_us: 0,
        link_bytes_per_s: figures.bytes_per_second,
        read_ahead_bytes: 0,
        streams: 0,
        member: Box::new(arm(&member)),
    })
}

/// How far the medians and rates of a model lie from the measured ones, in thousandths. Of models that are as near in most
/// steps, the nearest in all is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Off {
    /// The mean of all steps but the farthest quarter: a median would not see what only depths show.
    of_most: u64,
    /// The mean of all.
    of_all: u64,
}

/// `None` where nothing was measured.
fn off(model: &DiskModel, measurement: &Measurement) -> Option<Off> {
    let bounds = MeasureBounds {
        time_ns: TIME_NS,
        bytes: BYTES,
        size_bytes: measurement.target.size_bytes,
        is_device: measurement.target.is_device,
    };
    let own = virtual_disk::measure(model, &bounds).ok()?;
    let value = |step: &StepResult| match step.step.purpose {
        StepPurpose::Depth => step.requests_per_second(),
        StepPurpose::Sequential => step.bytes_per_second.value,
        StepPurpose::Size => step.median_ns.value,
        StepPurpose::Access | StepPurpose::Inner => 0,
    };
    let mut offs: Vec<u64> = measurement
        .steps
        .iter()
        .filter(|step| step.requests > 0 && value(step) > 0)
        .filter_map(|step| {
            let same = |one: &&StepResult| {
                (one.step.purpose, one.step.request_bytes, one.step.depth)
                    == (step.step.purpose, step.step.request_bytes, step.step.depth)
            };
            let (own, measured) = (value(own.iter().find(same)?), value(step));
            Some(permille(own.max(measured), own.min(measured).max(1)) - 1000)
        })
        .collect();
    offs.sort_unstable();
    let mean = |of: &[u64]| {
        let sum = of.iter().fold(0_u64, |a, b| a.saturating_add(*b));
        sum.checked_div(of.len() as u64)
    };
    Some(Off {
        of_most: mean(&offs[..(offs.len() * 3).div_ceil(4)])?,
        of_all: mean(&offs)?,
    })
}

/// The figures in words.
pub(super) fn described(figures: &FittedFigures) -> String {
    use crate::figures::{megabytes, seconds};
    format!(
        "{} for an isolated read, {} MB/s, {} at once",
        seconds(figures.access_ns.value),
        megabytes(figures.bytes_per_second.value),
        figures.depth
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a measurement of this disk would be.
    fn measured(model: &DiskModel) -> Measurement {
        let bounds = MeasureBounds {
            time_ns: TIME_NS,
            bytes: BYTES,
            size_bytes: 64 << 30,
            is_device: true,
        };
        let steps = virtual_disk::measure(model, &bounds).expect("a disk that answers");
        Measurement {
            version: 1,
            target: ahead_device::measurement::report::MeasuredTarget {
                size_bytes: bounds.size_bytes,
                is_device: true,
                ..Default::default()
            },
            kernel: String::new(),
            began_s: 0,
            requests_by: "io_uring".to_owned(),
            figures: FittedFigures::of(&steps).expect("figures"),
            steps,
            ladder: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_disk_is_known_again_by_its_measurement() {
        for (name, kind) in [
            ("hdd", "rotating disk"),
            ("ssd", "flash disk"),
            ("cloud", "network volume"),
            ("nvme", "network volume"),
        ] {
            let model = DiskModel::preset(name).expect("a preset");
            let device = of(&measured(&model)).expect("a model");
            assert_eq!(device.model.kind(), kind, "{name}: {device:?}");
            assert!(device.off_permille <= 30, "{name}: {device:?}");
        }
    }

    /// An emulated disk four times as fast as real: with 64 reads at once it answered 489 per second instead of 635, each after
    /// 131 ms. With the limit of one as fast as real, 0.5 s, 64 streams were simulated at three times their rate.
    #[test]
    fn how_long_an_arm_lets_reads_wait_is_seen() {
        let arm = |age_ms_max| {
            DiskModel::Arm(ArmModel {
                media_bytes_per_s: 400_000_000,
                seek_us_min: 375,
                seek_us_max: 1_550,
                rotation_rpm: 28_800,
                order: ServiceOrder::CLook { age_ms_max },
            })
        };
        for (age_ms_max, found) in [(125, 119..=131), (500, 500..=500)] {
            let device = of(&measured(&arm(age_ms_max))).expect("a model");
            let DiskModel::Arm(model) = &device.model else {
                unreachable!("{device:?}")
            };
            let ServiceOrder::CLook { age_ms_max } = model.order else {
                unreachable!("{device:?}")
            };
            assert!(found.contains(&age_ms_max), "{device:?}");
        }
    }

    /// Emulated flash of 8 channels and 640 µs at 98 µs from the program: nine are served at once, and with nine channels reads of
    /// 512 KiB took a tenth longer in the model than they do.
    #[test]
    fn channels_of_flash_at_some_distance_are_counted() {
        let far = FlashModel {
            channels: 8,
            page_us: 640,
            page_bytes: 16_384,
            latency_us: 98,
        };
        let measurement = measured(&DiskModel::Flash(far.clone()));
        assert_eq!(measurement.figures.depth, 9);
        let device = of(&measurement).expect("a model");
        let DiskModel::Flash(found) = &device.model else {
            unreachable!("{device:?}")
        };
        assert_eq!(found.channels, far.channels, "{device:?}");
        assert!(found.page_us.abs_diff(far.page_us) <= 6, "{device:?}");
        assert!(
            found.page_bytes.abs_diff(far.page_bytes) <= 163,
            "{device:?}"
        );
    }
}
