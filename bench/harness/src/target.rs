//! The disk under test: a folder on a real one, or an emulated one made for the occasion.
//!
//! A folder on an emulated disk that is there already is recognised, and its counters are used.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ahead_disk_emulator::{CreateError, CreateOptions, DiskInfo};
use ahead_disk_model::{DiskModel, TimeScale};
use ahead_sys::block_queue::{BlockQueue, BlockStat, DeviceNumber};
use ahead_sys::meminfo::MemoryInfo;

use crate::ceiling::Pricing;
use crate::plan::BenchPlan;
use crate::results::TestedDisk;

/// Size of an emulated disk unless given otherwise, where there is memory for it: enough for the
/// full set of test files.
const DISK_BYTES: u64 = 8 << 30;
const DISK_BYTES_MIN: u64 = 1 << 30;
/// How long to wait for read-ahead that is still on its way when the reader has ended. On a shared
/// disk the queue may never be empty.
const SETTLE_MAX: Duration = Duration::from_millis(500);

/// The disk cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The folder is not there or cannot be looked at.
    #[error("cannot use {} as a test folder: {source}; give a folder, or one of hdd, ssd, cloud",
            path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder is on no block device.
    #[error(
        "{} is not on a block device that can be tuned and counted (tmpfs, overlay and network \
         file systems are not); choose a folder on ext4 or xfs, or one of hdd, ssd, cloud",
        path.display()
    )]
    NoDevice {
        /// Which.
        path: PathBuf,
    },
    /// There is no such model, or a bad time scale.
    #[error("{0}")]
    Model(String),
    /// An emulated disk could not be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// An emulated disk could not be taken away again.
    #[error("cannot destroy the emulated disk: {0}")]
    Destroy(#[from] ahead_disk_emulator::DestroyError),
    /// Notes about the emulated disk could not be kept.
    #[error("cannot note the emulated disk in the state folder: {0}")]
    Note(io::Error),
}

/// A disk that is ready.
#[derive(Debug)]
pub(crate) struct Target {
    /// Where the test files go.
    pub(crate) folder: PathBuf,
    /// Its device.
    pub(crate) queue: BlockQueue,
    /// How the ceiling asks it.
    pub(crate) pricing: Pricing,
    /// For reports.
    pub(crate) disk: TestedDisk,
    /// How much of the free space test files may take: a disk that people use must not be filled
    /// up, an emulated one only needs some space for its file system's own tables.
    pub(crate) percent_max: u64,
    /// Name of the emulated disk, when it is one.
    emulated: Option<String>,
}

impl Target {
    /// The disk below `folder`.
    pub(crate) fn of_folder(folder: &Path) -> Result<Self, TargetError> {
        let bad = |source| TargetError::Folder {
            path: folder.to_owned(),
            source,
        };
        let folder = fs::canonicalize(folder).map_err(bad)?;
        let meta = fs::metadata(&folder).map_err(bad)?;
        if !meta.is_dir() {
            return Err(bad(io::ErrorKind::NotADirectory.into()));
        }
        let device = DeviceNumber::from_dev(meta.dev());
        let queue =
            BlockQueue::open(Path::new("/sys"), device).map_err(|_| TargetError::NoDevice {
                path: folder.clone(),
            })?;
        let emulated = ahead_disk_emulator::list()
            .unwrap_or_default()
            .into_iter()
            .find(|disk| {
                DeviceNumber {
                    major: disk.major,
                    minor: disk.minor,
                } == device
            });
        if let Some(disk) = emulated {
            return Ok(Self::of_emulated(folder, queue, &disk));
        }
        let disk = TestedDisk {
            name: folder.display().to_string(),
            description: format!("a folder on /dev/{}", queue.name()),
        };
        Ok(Self {
            folder,
            queue,
            pricing: Pricing::with_holes(0),
            disk,
            percent_max: 50,
            emulated: None,
        })
    }

    fn of_emulated(folder: PathBuf, queue: BlockQueue, info: &DiskInfo) -> Self {
        let scale = info.time_scale;
        let name = DiskModel::PRESETS
            .iter()
            .find(|name| DiskModel::preset(name).is_ok_and(|model| model == info.model))
            .map_or_else(|| info.name.clone(), |name| (*name).to_owned());
        let mib = info.size_bytes >> 20;
        let speed = if scale == TimeScale::REAL {
            "at real speed".to_owned()
        } else {
            format!("{scale} times faster than real")
        };
        let description = format!("emulated disk, {}, {mib} MiB, {speed}", kind(&info.model));
        Self {
            folder,
            queue,
            pricing: Pricing::with_holes(hole_bytes_max(&info.model)),
            disk: TestedDisk { name, description },
            percent_max: 96,
            emulated: Some(info.name.clone()),
        }
    }

    /// Says what the disk is, for reports and for the ceiling.
    pub(crate) fn is_known_as(&mut self, name: &str, model: &DiskModel) {
        self.pricing = Pricing::with_holes(hole_bytes_max(model));
        self.disk.name = name.to_owned();
        self.disk.description = format!("{}, {}", kind(model), self.disk.description);
    }

    /// Makes an emulated disk, or finds the one that an earlier run kept. `on_name` gets its
    /// name before it is made.
    pub(crate) fn create(
        plan: &BenchPlan,
        model_name: &str,
        on_name: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> Result<Self, TargetError> {
        let model =
            DiskModel::preset(model_name).map_err(|error| TargetError::Model(error.to_string()))?;
        let scale = plan
            .time_scale
            .clone()
            .unwrap_or_else(|| default_scale(&model).to_owned());
        let time_scale: TimeScale = scale
            .parse()
            .map_err(|_| TargetError::Model(format!("`{scale}` is no time scale")))?;
        let size_bytes = plan.disk_bytes.unwrap_or_else(size_for_this_machine);
        let mut name = format!("bench-{model_name}");
        if !plan.keep {
            // A kept disk is shared by name; one for this run only must not meet another's.
            name = format!("{name}-{}", std::process::id());
        }
        let kept = ahead_disk_emulator::list()
            .unwrap_or_default()
            .into_iter()
            .find(|d| d.name == name);
        if let Some(disk) = kept {
            if disk.model == model && disk.time_scale == time_scale && disk.size_bytes == size_bytes
            {
                return Self::of_folder(&disk.mount_dir);
            }
            ahead_disk_emulator::destroy(&name)?;
        }
        if !plan.keep {
            on_name(&name).map_err(TargetError::Note)?;
        }
        let info = ahead_disk_emulator::create(&CreateOptions {
            mount_dir: plan.state_folder.join("disks").join(&name),
            name,
            model,
            order: None,
            time_scale,
            size_bytes,
            server_exe: plan
                .disk_server
                .clone()
                .unwrap_or_else(|| plan.reader.program.clone()),
        })?;
        Self::of_folder(&info.mount_dir)
    }

    /// Takes the emulated disk away.
    pub(crate) fn destroy(&self) -> Result<(), TargetError> {
        if let Some(name) = &self.emulated {
            ahead_disk_emulator::destroy(name)?;
        }
        Ok(())
    }

    /// Size of an emulated disk; `None` when it is not one.
    pub(crate) fn emulated_bytes(&self) -> Option<u64> {
        let name = self.emulated.as_deref()?;
        let disks = ahead_disk_emulator::list().unwrap_or_default();
        let disk = disks.into_iter().find(|disk| disk.name == name)?;
        Some(disk.size_bytes)
    }

    /// The device that files in the folder say they are on.
    pub(crate) fn device(&self) -> io::Result<DeviceNumber> {
        Ok(DeviceNumber::from_dev(fs::metadata(&self.folder)?.dev()))
    }

    /// The counters when nothing is on its way any more.
    pub(crate) fn settled(&self) -> io::Result<BlockStat> {
        let deadline = Instant::now() + SETTLE_MAX;
        loop {
            let stat = self.queue.stat()?;
            if stat.in_flight == 0 || Instant::now() >= deadline {
                return Ok(stat);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Forgets what the disk has counted about bytes read again.
    pub(crate) fn reset_stats(&self) {
        if let Some(name) = &self.emulated {
            // Without its counters a run is still a run.
            let _ = ahead_disk_emulator::reset_stats(name);
        }
    }

    /// Bytes read more than once since the last reset; `None` when they are not counted.
    pub(crate) fn reread_bytes(&self) -> Option<u64> {
        let stats = ahead_disk_emulator::stats(self.emulated.as_deref()?).ok()?;
        Some(stats.reread_bytes)
    }
}

fn kind(model: &DiskModel) -> &'static str {
    match model {
        DiskModel::Arm(_) => "one arm",
        DiskModel::Flash(_) => "flash",
        other => other.kind(),
    }
}

/// A rotating disk four times as fast keeps all its proportions and a bench four times as short.
/// Faster disks are as fast as two processors can serve already.
const fn default_scale(model: &DiskModel) -> &'static str {
    if model.is_rotational() { "4" } else { "1" }
}

/// The longest hole that is cheaper to read than to ask again behind it. Independent of how fast
/// time runs.
fn hole_bytes_max(model: &DiskModel) -> u64 {
    match model {
        DiskModel::Arm(arm) => {
            let half_turn_us = 30_000_000 / arm.rotation_rpm.max(1);
            let access_us = u64::midpoint(arm.seek_us_min, arm.seek_us_max) + half_turn_us;
            access_us * arm.media_bytes_per_s / 1_000_000
        }
        // A part of a flash page costs as much as all of it; another page is another channel's.
        DiskModel::Flash(flash) => flash.page_bytes.saturating_sub(1),
        DiskModel::Volume(volume) => volume.bytes_per_s / volume.requests_per_s.max(1),
        other => {
            let bytes = u128::from(other.access_ns()) * u128::from(other.bytes_per_s());
            u64::try_from(bytes / 1_000_000_000).unwrap_or(u64::MAX)
        }
    }
}

/// A third of what is free, because what is read from the disk is in memory a second time.
fn size_for_this_machine() -> u64 {
    let memory = MemoryInfo::read(Path::new("/proc")).unwrap_or_default();
    let third = memory.available_bytes.unwrap_or(0) / 3;
    (third >> 20 << 20).clamp(DISK_BYTES_MIN, DISK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_priced_by_what_the_disk_is() {
        assert_eq!(hole_bytes_max(&DiskModel::hdd()), 801_600);
        assert_eq!(hole_bytes_max(&DiskModel::ssd()), 16_383);
        assert_eq!(hole_bytes_max(&DiskModel::cloud()), 41_666);
    }

    #[test]
    fn a_folder_without_a_block_device_says_what_to_choose_instead() {
        let error = Target::of_folder(Path::new("/proc"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("/proc") && error.contains("ext4"), "{error}");
    }
}
