//! `ahead disk`: words of the command line into calls of the disk emulator, its answers into tables.

use std::io;
use std::path::{Path, PathBuf};

use ahead_disk_emulator::{CreateOptions, DiskInfo, DiskStats};
use ahead_disk_model::{DiskModel, ModelError, ServiceOrder, TimeScale};
use ahead_study::table;

use crate::arguments::{DiskCreate, DiskVerb, OrderName};
use crate::exit::Exit;
use crate::output::to_json;
use crate::{figures, size};

/// Longest wait of a request under `--order c-look`, in real milliseconds: the sweep of a desktop
/// disk takes about as long, so shorter would undo the sorting and longer would starve readers.
const AGE_MS_MAX: u64 = 500;

/// Why a disk command failed.
#[derive(Debug, thiserror::Error)]
pub enum DiskCommandError {
    /// `--size` is no size.
    #[error("--size: {0}")]
    Size(#[from] size::SizeError),
    /// `--scale` is no scale.
    #[error("--scale: {0}")]
    Scale(String),
    /// `--model` names no model.
    #[error("--model: {0}")]
    Model(#[from] ModelError),
    /// The model file is not one.
    #[error("{path}: {source}")]
    ModelFile {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        source: ModelError,
    },
    /// The model file cannot be read.
    #[error("cannot read the model '{path}': {source}")]
    ModelRead {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// `--order` for a disk that has no queue to order.
    #[error("--order is for disks with an arm: leave it out for this model")]
    OrderWithoutArm,
    /// Creating failed.
    #[error(transparent)]
    Create(#[from] ahead_disk_emulator::CreateError),
    /// Listing failed.
    #[error(transparent)]
    List(#[from] ahead_disk_emulator::ListError),
    /// The counters cannot be read.
    #[error(transparent)]
    Stats(#[from] ahead_disk_emulator::StatsError),
    /// Destroying failed.
    #[error(transparent)]
    Destroy(#[from] ahead_disk_emulator::DestroyError),
    /// This program cannot be found again, to be the server.
    #[error("cannot find this program's own file, which serves the disk: {0}")]
    Executable(io::Error),
}

impl DiskCommandError {
    /// How the program ends after this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Size(_)
            | Self::Scale(_)
            | Self::Model(_)
            | Self::ModelFile { .. }
            | Self::ModelRead { .. }
            | Self::OrderWithoutArm => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

/// Does what was asked and returns the text to print.
///
/// # Errors
/// [`DiskCommandError`].
pub fn disk(verb: &DiskVerb) -> Result<String, DiskCommandError> {
    match verb {
        DiskVerb::Create(arguments) => create(arguments),
        DiskVerb::List { json } => {
            let disks = ahead_disk_emulator::list()?;
            Ok(if *json {
                to_json(&disks)
            } else {
                list_table(&disks)
            })
        }
        DiskVerb::Stats { name, json, reset } => {
            let stats = ahead_disk_emulator::stats(name)?;
            if *reset {
                ahead_disk_emulator::reset_stats(name)?;
            }
            Ok(if *json {
                to_json(&stats)
            } else {
                stats_table(&stats)
            })
        }
        DiskVerb::Destroy { name } => {
            ahead_disk_emulator::destroy(name)?;
            Ok(format!("{name}: destroyed\n"))
        }
    }
}

fn create(arguments: &DiskCreate) -> Result<String, DiskCommandError> {
    let model = model(&arguments.model)?;
    if arguments.order.is_some() && !model.is_rotational() {
        return Err(DiskCommandError::OrderWithoutArm);
    }
    let order = arguments.order.map(|order| match order {
        OrderName::Fifo => ServiceOrder::Fifo,
        OrderName::CLook => ServiceOrder::CLook {
            age_ms_max: AGE_MS_MAX,
        },
    });
    let options = CreateOptions {
        name: arguments.name.clone(),
        model,
        order,
        time_scale: time_scale(&arguments.scale)?,
        size_bytes: size::parse(&arguments.size)?,
        mount_dir: arguments.mount.clone(),
        server_exe: std::env::current_exe().map_err(DiskCommandError::Executable)?,
    };
    let info = ahead_disk_emulator::create(&options)?;
    if arguments.json {
        return Ok(to_json(&info));
    }
    Ok(format!(
        "{}: {} mounted on {} ({}); remove it with `ahead disk destroy {}`\n",
        info.name,
        describe(&info),
        info.mount_dir.display(),
        info.device.display(),
        info.name
    ))
}

fn time_scale(text: &str) -> Result<TimeScale, DiskCommandError> {
    text.parse::<TimeScale>()
        .map_err(|error| DiskCommandError::Scale(error.to_string()))
}

/// Whether `text` is a model's file, and no name.
#[must_use]
pub fn is_file(text: &str) -> bool {
    Path::new(text)
        .extension()
        .is_some_and(|ending| ending == "toml")
}

/// A model as it is typed, or from a file that ends in `.toml`.
///
/// # Errors
/// No such name; a file that cannot be read or is none.
pub fn model(text: &str) -> Result<DiskModel, DiskCommandError> {
    if !is_file(text) {
        return Ok(DiskModel::typed(text)?);
    }
    let path = Path::new(text);
    let content = std::fs::read_to_string(path).map_err(|source| DiskCommandError::ModelRead {
        path: path.into(),
        source,
    })?;
    DiskModel::from_toml(&content).map_err(|source| DiskCommandError::ModelFile {
        path: path.into(),
        source,
    })
}

fn describe(info: &DiskInfo) -> String {
    let kind = info.model.kind();
    format!(
        "{} {kind}, {} times real speed,",
        figures::size(info.size_bytes),
        info.time_scale
    )
}

fn list_table(disks: &[DiskInfo]) -> String {
    if disks.is_empty() {
        return "no emulated disks\n".to_owned();
    }
    // Names and paths are there to be copied, so none is broken.
    let titles = ["disk", "kind", "device", "mounted on", "server process"];
    let mut table = table::as_wide_as_it_is(&titles, 0..0);
    for disk in disks {
        table.add_row([
            disk.name.clone(),
            describe(disk).trim_end_matches(',').to_owned(),
            disk.device.display().to_string(),
            disk.mount_dir.display().to_string(),
            disk.server_pid.to_string(),
        ]);
    }
    format!("{table}\n")
}

fn stats_table(stats: &DiskStats) -> String {
    let milliseconds = |ns: u64| format!("{}.{:03} ms", ns / 1_000_000, ns / 1_000 % 1_000);
    let bytes = |bytes: u64| format!("{bytes} ({})", figures::size(bytes));
    let mut table = table::with_titles(&["counter", "value"], 1..2);
    let rows = [
        ("read requests", stats.reads.to_string()),
        ("bytes read", bytes(stats.read_bytes)),
        ("bytes read more than once", bytes(stats.reread_bytes)),
        ("write requests", stats.writes.to_string()),
        ("bytes written", bytes(stats.written_bytes)),
        ("seeks", stats.seeks.to_string()),
        ("busy", milliseconds(stats.busy_ns)),
        ("since the last reset", milliseconds(stats.elapsed_ns)),
        ("requests in flight, most", stats.in_flight_max.to_string()),
        (
            "later than the model, mean",
            milliseconds(stats.lateness.mean_ns),
        ),
        (
            "later than the model, 99 of 100",
            milliseconds(stats.lateness.p99_ns),
        ),
    ];
    for (name, value) in rows {
        table.add_row([name.to_owned(), value]);
    }
    for class in &stats.sizes {
        let name = format!("reads of {} and more", figures::size(class.bytes_min));
        table.add_row([name, class.requests.to_string()]);
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_a_preset_or_a_file_and_the_error_says_which() {
        assert_eq!(model("hdd").ok(), Some(DiskModel::hdd()));
        let error = model("floppy").expect_err("no such preset").to_string();
        assert!(
            error.contains("floppy") && error.contains("cloud"),
            "{error}"
        );
        let error = model("/no/such.toml")
            .expect_err("no such file")
            .to_string();
        assert!(error.contains("/no/such.toml"), "{error}");
    }
}
