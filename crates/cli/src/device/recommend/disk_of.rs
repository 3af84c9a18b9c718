//! A disk model from a measurement: of every kind the one with the measured figures, and of these the one that
//! would have been measured so.
//!
//! Three figures do not say of which kind a device is, but the curve and the depths do: an arm gains little from
//! depth, flash reads up to its channels in the time of one page, a volume has a gate and a way. So each kind is
//! built from the figures, measured in virtual time with the same steps, and the nearest is taken.

use ahead_device::measurement::fit::FittedFigures;
use ahead_device::measurement::plan::{MeasureBounds, StepPurpose};
use ahead_device::measurement::report::Measurement;
use ahead_device::measurement::statistics::{StepResult, permille};
use ahead_disk_model::{ArmModel, ArrayModel, DiskModel, FlashModel, ServiceOrder, VolumeModel};

use crate::device::virtual_disk;

/// Half a turn of a disk with 7200 per minute.
const HALF_TURN_NS: u64 = 4_166_667;
/// Of the mean seek, the shortest has so many parts of a thousand, as has the `hdd` of the bench.
const SHORTEST_SEEK_PERMILLE: u64 = 374;
/// The mean of sqrt(distance) over two random places is 8/15.
const MEAN_ROOT: (u64, u64) = (8, 15);
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
}

/// A device as a model.
#[derive(Clone, Debug)]
pub(super) struct ModelledDevice {
    /// As measured.
    pub(super) model: DiskModel,
    /// As slow, and as fast, as the parts of the steps allow.
    pub(super) slow: DiskModel,
    pub(super) fast: DiskModel,
    /// How far the model's curve lies from the measured one, the median, in thousandths.
    pub(super) off_permille: u64,
    /// Size of the simulated disk.
    pub(super) capacity: u64,
}

/// The model of what was measured; `None` where no model can have these figures.
pub(super) fn of(measurement: &Measurement) -> Option<ModelledDevice> {
    let figures = &measurement.figures;
    let capacity = measurement.target.size_bytes.max(CAPACITY_MIN);
    let at = |access_ns: u64, bytes_per_second: u64| Figures {
        access_ns,
        bytes_per_second,
        depth: figures.depth,
        requests_per_second: figures.requests_per_second_max,
    };
    let (access, rate) = (&figures.access_ns, &figures.bytes_per_second);
    let as_measured = at(access.value, rate.value);
    let slow = at(access.high, rate.low);
    let fast = at(access.low, rate.high);
    let nearest = KINDS.into_iter().filter_map(|build| {
        let model = checked(build(&as_measured))?;
        let off_permille = off(&model, measurement)?;
        Some((off_permille, build, model))
    });
    let (off_permille, build, model) = nearest.min_by_key(|(off_permille, ..)| *off_permille)?;
    Some(ModelledDevice {
        slow: checked(build(&slow)).unwrap_or_else(|| model.clone()),
        fast: checked(build(&fast)).unwrap_or_else(|| model.clone()),
        model,
        off_permille,
        capacity,
    })
}

type Build = fn(&Figures) -> DiskModel;
const KINDS: [Build; 4] = [arm, flash, volume, array];

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
        order: ServiceOrder::C_LOOK,
    })
}

fn flash(figures: &Figures) -> DiskModel {
    let channels = figures.depth.max(1);
    let bytes = u128::from(figures.bytes_per_second) * u128::from(figures.access_ns);
    let page_bytes = bytes / 1_000_000_000 / u128::from(channels);
    DiskModel::Flash(FlashModel {
        channels,
        page_us: (figures.access_ns + 500) / 1000,
        page_bytes: u64::try_from(page_bytes).unwrap_or(u64::MAX),
    })
}

fn volume(figures: &Figures) -> DiskModel {
    let gate_ns = 1_000_000_000 / figures.requests_per_second.max(1);
    DiskModel::Volume(VolumeModel {
        latency_us: (figures.access_ns.saturating_sub(gate_ns) + 500) / 1000,
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

/// How far the medians and rates of `model` lie from the measured ones: the median over all steps, in
/// thousandths.
fn off(model: &DiskModel, measurement: &Measurement) -> Option<u64> {
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
    // The mean of all but the farthest quarter: a median would not see what only depths show.
    let counting = &offs[..(offs.len() * 3).div_ceil(4)];
    let count = counting.len() as u64;
    let sum = counting.iter().fold(0_u64, |a, b| a.saturating_add(*b));
    sum.checked_div(count)
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
}
