//! `ahead device recommend`: which window serves a mix of reads best on a measured device, what it costs, and
//! how sure that is.
//!
//! The simulator runs the mix at every window under the kernel's own algorithm, on a model of the device. The
//! optimum is not monotone, so every window is run, and nothing is searched for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ahead_device::machine::MachineTree;
use ahead_device::measurement::ladder::LadderPoint;
use ahead_device::measurement::report::{MEASUREMENT_BYTES_MAX, Measurement};
use ahead_device::target::{self, DeviceTargetError};
use ahead_device::window;
use ahead_disk_model::DiskModel;
use ahead_workload::Job;
use ahead_workload::trace::{self, Timing};

use crate::arguments::DeviceRecommend;
use crate::disk;
use crate::duration;
use crate::exit::Exit;
use crate::lab;
use crate::output::to_json;
use crate::progress::{self, Shows};
use crate::size;
use crate::studies;
use crate::traces::{self, TraceCommandError};

use super::stored;
use super::window_value;

mod disk_of;
mod error;
mod mix;
mod proof;
mod prove;
mod show;
mod simulated;
mod sweep;
mod through_cache;

use disk_of::ModelledDevice;
pub use error::RecommendCommandError;
use error::range;
use mix::Mix;
use prove::Proving;
use show::{Recommendation, WhatIf};
use simulated::{SharedMemory, SimulatedMachine};
use sweep::{SweepPlace, SweptDisk};

/// The kernel's own window, where no other is known.
const DEFAULT_KIB: u64 = 128;
const STREAMS_MAX: u64 = 1024;
const REQUEST_BYTES: (u64, u64) = (4096, 64 << 20);
const MEMORY_BYTES: (u64, u64) = (16 << 20, 1 << 44);
const PAGE_BYTES: u64 = 4096;
/// With less the simulator has nowhere to read to.
const CACHE_BYTES_MIN: u64 = 4 << 20;

/// Recommends and returns the text to print, and how to end: what was to be proved and does not hold is a failure.
///
/// # Errors
/// [`RecommendCommandError`].
pub fn recommend(arguments: &DeviceRecommend) -> Result<(String, Exit), RecommendCommandError> {
    let mix = asked_mix(arguments)?;
    let limit_ns = arguments.latency_limit.as_deref();
    let limit_ns = limit_ns.map(duration::parse).transpose()?;
    if let (Some(text), Some(0)) = (&arguments.latency_limit, limit_ns) {
        return Err(range("--latency-limit", text, "more than nothing"));
    }
    let memory_bytes = sized("--memory", &arguments.memory)?;
    let (least, most) = MEMORY_BYTES;
    if !(least..=most).contains(&memory_bytes) {
        return Err(range("--memory", &arguments.memory, "between 16M and 16T"));
    }
    let what_if_kib = arguments.what_if.as_deref().map(window_kib).transpose()?;
    let proving = arguments.prove.as_deref();
    let proving = proving.map(|place| Proving::new(place, &mix, memory_bytes));
    let proving = proving.transpose()?;
    let source = Source::of(arguments)?;
    studies::prepare(&arguments.svg)?;
    let device = source.device()?;
    let mut capacity = device.capacity;
    let machine = source.machine(&device);
    let (job, random_file) = match &arguments.trace {
        None if source.is_model() => {
            let workload = mix.workload(mix::random_bytes(memory_bytes));
            capacity = lab::disk_bytes(&workload);
            let job = mix::job_in_guest(&workload, capacity);
            (job, mix.random_file())
        }
        None => (mix.job(capacity), mix.random_file()),
        Some(path) => {
            let job = job_of_trace(path, arguments)?;
            let files: u64 = job.files.iter().map(|file| file.bytes).sum();
            capacity = capacity.max(files.saturating_mul(2));
            (job, None)
        }
    };
    let streams = match &arguments.trace {
        None => mix.streams,
        Some(_) => (job.processes.iter())
            .map(|one| one.groups.len() as u64)
            .sum(),
    };
    let own_bytes = if arguments.trace.is_none() {
        mix.own_bytes()
    } else {
        0
    };
    if memory_bytes.saturating_sub(own_bytes) < CACHE_BYTES_MIN {
        let expected =
            "so much that the programs leave 4M to the page cache: each has --request and 256K";
        return Err(range("--memory", &arguments.memory, expected));
    }
    let place = SweepPlace {
        job: Mutex::new(job),
        random_file,
        streams,
        memory: SharedMemory {
            bytes: memory_bytes,
            own_bytes,
        },
        capacity,
        machine,
    };
    let now_kib = source.window_kib().unwrap_or(DEFAULT_KIB);
    // What a trace reads, and at which pace, the ladder does not say.
    let ladder = match &arguments.trace {
        None if mix.is_read_in_streams() => source.ladder(),
        _ => &[],
    };
    let swept = |model| sweep::disk_of_ladder(&place, model, ladder);
    let disk = swept(&device.model)?;
    let head = show::Head {
        source: source.described(&device),
        machine: place.machine.described(),
        corrected_permille: disk.correction.rungs().clone(),
        mix: arguments.trace.is_none().then_some(mix),
        trace: arguments.trace.clone(),
        memory_bytes,
        limit_ns,
        now_kib,
        target: source.target(),
        is_model: arguments.model.is_some(),
    };
    if let Some(kib) = what_if_kib {
        let what_if = WhatIf {
            head,
            before: sweep::at_window(&place, &disk, now_kib)?,
            after: sweep::at_window(&place, &disk, kib)?,
            ahead_run: sweep::under_ahead_run(&place, &disk, now_kib)?,
        };
        let text = if arguments.json {
            to_json(&what_if)
        } else {
            what_if.text()
        };
        return Ok((text, Exit::Fine));
    }
    let mut disks = vec![disk];
    for model in [&device.slow, &device.fast] {
        if *model != device.model {
            disks.push(swept(model)?);
        }
    }
    let sureness = (device.off_permille, source.doubt());
    let mut recommendation = recommended(&place, &disks, head, sureness)?;
    if let (Some(proving), Some(kib)) = (proving, recommendation.choice.window_kib) {
        recommendation.proof = Some(prove::prove(
            proving,
            &device.model,
            place.machine.request_kib_max(),
            kib,
        )?);
    }
    if let Some(path) = &arguments.svg {
        studies::draw(&recommendation.chart(), Some(path), None)?;
    }
    let text = if arguments.json {
        to_json(&recommendation)
    } else {
        recommendation.text()
    };
    let holds = recommendation.proof.is_none_or(|proof| proof.holds);
    Ok((text, if holds { Exit::Fine } else { Exit::Failed }))
}

/// From the device as measured, which is the first of `disks`, and at both ends of what was measured; `sureness` is how far
/// the model lies from the measurement, and why that is not to be relied on.
fn recommended(
    place: &SweepPlace,
    disks: &[SweptDisk<'_>],
    head: show::Head,
    (off_permille, doubt): (u64, Option<String>),
) -> Result<Recommendation, RecommendCommandError> {
    let bar = progress::bar(
        Shows::Parts,
        (disks.len() * sweep::WINDOWS_KIB.len()) as u64,
    );
    let rows = sweep::all(place, disks, &|| bar.inc(1))?;
    bar.finish_and_clear();
    let choice = sweep::choose(&rows[0], head.limit_ns);
    let others = rows[1..].iter();
    let others: Vec<_> = others
        .map(|row| sweep::choose(row, head.limit_ns))
        .collect();
    let now = sweep::at_window(place, &disks[0], head.now_kib)?;
    let ahead_run = sweep::under_ahead_run(place, &disks[0], head.now_kib)?;
    let confidence =
        show::Confidence::of(&choice, &rows, &others, head.limit_ns, off_permille, doubt);
    Ok(Recommendation {
        head,
        choice,
        confidence,
        now,
        ahead_run,
        curve: rows.into_iter().next().unwrap_or_default(),
        proof: None,
    })
}

fn sized(option: &'static str, text: &str) -> Result<u64, RecommendCommandError> {
    size::parse(text).map_err(|source| RecommendCommandError::Size { option, source })
}

fn asked_mix(arguments: &DeviceRecommend) -> Result<Mix, RecommendCommandError> {
    let text = &arguments.sequential_streams;
    let streams = text
        .parse()
        .ok()
        .filter(|it| (1..=STREAMS_MAX).contains(it));
    let streams =
        streams.ok_or_else(|| range("--sequential-streams", text, "a number from 1 to 1024"))?;
    let text = &arguments.random_share;
    let random_permille = permille(text)
        .ok_or_else(|| range("--random-share", text, "a share from 0 to 1, such as 0.3"))?;
    let request_bytes = sized("--request", &arguments.request)?;
    let (least, most) = REQUEST_BYTES;
    if !(least..=most).contains(&request_bytes) || !request_bytes.is_multiple_of(PAGE_BYTES) {
        let expected = "whole pages of 4K, up to 64M";
        return Err(range("--request", &arguments.request, expected));
    }
    let rate = arguments.reader_rate.as_deref();
    let rate = rate.map(|text| sized("--reader-rate", text)).transpose()?;
    if rate == Some(0) {
        return Err(range("--reader-rate", "0", "more than nothing"));
    }
    Ok(Mix {
        streams,
        random_permille,
        request_bytes,
        bytes_per_second_max: rate,
    })
}

/// `0.3` in thousandths. Further digits are refused, not rounded.
fn permille(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 3 {
        return None;
    }
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    let permille = whole.parse::<u64>().ok()?.checked_mul(1000)? + part;
    (permille <= 1000).then_some(permille)
}

/// A window as `32M` or `65536s`.
fn window_kib(text: &str) -> Result<u64, RecommendCommandError> {
    let kib = window_value::kib(text)?;
    window::check(kib)?;
    Ok(kib)
}

fn job_of_trace(path: &Path, arguments: &DeviceRecommend) -> Result<Job, RecommendCommandError> {
    let reader = traces::reader(path, &arguments.reading)?;
    let (job, failure) = trace::job(reader, Timing::Fast);
    if let Some(failure) = failure {
        return Err(TraceCommandError::Read(failure).into());
    }
    if job.processes.is_empty() {
        return Err(RecommendCommandError::NoReads(path.to_owned()));
    }
    Ok(job)
}

/// Why there is no measurement of what was named.
fn not_measured(text: &str) -> RecommendCommandError {
    let machine = MachineTree::at(Path::new("/"));
    let name = text.to_owned();
    if let Err(DeviceTargetError::Nothing(_)) = target::find(&machine, text) {
        RecommendCommandError::Nothing(name)
    } else if Path::new(text).is_file() {
        RecommendCommandError::FileNotMeasured(name)
    } else {
        RecommendCommandError::NotMeasured(name)
    }
}

/// Where the device's figures come from.
enum Source {
    Measured(Box<Measurement>),
    Model(String, DiskModel),
}

impl Source {
    fn of(arguments: &DeviceRecommend) -> Result<Self, RecommendCommandError> {
        if let Some(name) = &arguments.model {
            return Ok(Self::Model(name.clone(), disk::model(name)?));
        }
        let text = &arguments.source;
        // A file that is typed as such is one: what is wrong with it is to be said.
        let is_named_so = Path::new(text)
            .extension()
            .is_some_and(|ending| ending == "json");
        let path = if is_named_so {
            PathBuf::from(text)
        } else {
            stored::measurement_of(text).ok_or_else(|| not_measured(text))?
        };
        let name = || path.display().to_string();
        let read = |path: &Path| -> io::Result<Vec<u8>> {
            if fs::metadata(path)?.len() > MEASUREMENT_BYTES_MAX {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            fs::read(path)
        };
        let bytes = read(&path).map_err(|source| RecommendCommandError::Read {
            path: name(),
            source,
        })?;
        // A file of ours is nothing that its user has typed wrong.
        let measurement = Measurement::from_json(&bytes).map_err(|source| match is_named_so {
            true => RecommendCommandError::Form {
                path: name(),
                source,
            },
            false => RecommendCommandError::Stored {
                name: text.clone(),
                path: name(),
                source,
            },
        })?;
        Ok(Self::Measured(Box::new(measurement)))
    }

    fn device(&self) -> Result<ModelledDevice, RecommendCommandError> {
        match self {
            Self::Model(_, model) => Ok(ModelledDevice {
                model: model.clone(),
                slow: model.clone(),
                fast: model.clone(),
                off_permille: 0,
                capacity: disk_of::CAPACITY_MIN,
            }),
            Self::Measured(measurement) => disk_of::of(measurement)
                .ok_or_else(|| RecommendCommandError::NoModel(measurement.target.name.clone())),
        }
    }

    fn described(&self, device: &ModelledDevice) -> String {
        match self {
            Self::Model(name, model) => format!("the model '{name}', a {}", model.kind()),
            Self::Measured(measurement) => format!(
                "{}: {}; like a {}",
                measurement.target.name,
                disk_of::described(&measurement.figures),
                device.model.kind()
            ),
        }
    }

    /// What `set` would be given.
    fn target(&self) -> Option<String> {
        match self {
            Self::Model(..) => None,
            Self::Measured(measurement) => {
                let machine = MachineTree::at(Path::new("/"));
                Some(target::name_to_change(&machine, &measurement.target.path))
            }
        }
    }

    /// Why the measurement is not to be relied on.
    fn doubt(&self) -> Option<String> {
        match self {
            Self::Model(..) => None,
            Self::Measured(measurement) => measurement.figures.doubt(),
        }
    }

    fn window_kib(&self) -> Option<u64> {
        match self {
            Self::Model(..) => None,
            Self::Measured(measurement) => measurement.target.read_ahead_kb,
        }
    }

    /// What streams through the page cache had, by window.
    fn ladder(&self) -> &[LadderPoint] {
        match self {
            Self::Model(..) => &[],
            Self::Measured(measurement) => &measurement.ladder,
        }
    }

    /// A model stands for the disk of a guest, in which it can be proved.
    const fn is_model(&self) -> bool {
        matches!(self, Self::Model(..))
    }

    fn machine(&self, device: &ModelledDevice) -> SimulatedMachine {
        match self {
            Self::Model(..) => SimulatedMachine::guest(),
            Self::Measured(measurement) => {
                SimulatedMachine::measured(&measurement.kernel, &measurement.target, &device.model)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_part_of_one() {
        for (text, share) in [
            ("0", 0),
            ("1", 1000),
            ("0.3", 300),
            ("0.125", 125),
            ("1.0", 1000),
        ] {
            assert_eq!(permille(text), Some(share), "{text}");
        }
        for text in [
            "1.5", "-0.1", "", ".", ".5", "0,3", "30%", "0.3 ", "nan", "0.1234", "2",
        ] {
            assert_eq!(permille(text), None, "{text}");
        }
    }
}
