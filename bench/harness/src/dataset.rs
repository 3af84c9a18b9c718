//! The files that are read: prepared once per disk, laid out in one piece each.
//!
//! ```text
//! FOLDER/ahead-bench/manifest.json   which sizes are there; written last
//!                    main            everything on one file
//!                    stream-00 …63   one file per stream: two long, six middle, 56 short
//!                    small/0 …1999   100 KiB each
//!                    files-HASH/0 …  those of a plan's workload, as long as it says
//! ```
//!
//! Presets share the first three kinds, which shrink on a small disk. A workload of a plan has files
//! of its own, so that they end where they end in the simulator.
//!
//! The small files are written in the order in which their folder lists them, so that reading them
//! in that order goes forward over the disk. A listing in another order than the layout would
//! measure the arm of the disk, in every arm of the bench alike.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use ahead_workload::presets::MAIN_MIB;
use ahead_workload::random::mix;
use ahead_workload::{Preset, Workload};
use rustix::fs::{Advice, FallocateFlags};
use serde::{Deserialize, Serialize};

use crate::assignment::{Source, Sources, read_json, write_json};
use crate::content;

const MIB: u64 = 1 << 20;
const VERSION: u32 = 2;
const STREAMS: u32 = 64;
const SMALL_FILES: u32 = 2000;
const SMALL_BYTES: u64 = 100 * 1024;
const MAIN_ID: u32 = 0;
const STREAM_ID: u32 = 1;
const SMALL_ID: u32 = 1000;
const PLANNED_ID: u32 = 10_000;
/// What a pattern that runs from memory goes through. Small enough to stay there on a machine with
/// 2 GiB, large enough not to fit into a processor's cache.
const CACHED_BYTES: u64 = 512 * MIB;
const MAIN_BYTES_MAX: u64 = MAIN_MIB * MIB;
const MAIN_BYTES_MIN: u64 = 64 * MIB;

/// Sizes of the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    version: u32,
    main_bytes: u64,
    stream_bytes: Vec<u64>,
    small_files: u32,
    small_bytes: u64,
}

impl Manifest {
    /// The largest set that fits into `usable` bytes; `None` when not even the smallest does.
    fn fitting(usable: u64) -> Option<Self> {
        // On a small disk all files shrink together.
        for shrink in [1, 2, 4, 8, 16] {
            let stream_bytes: Vec<u64> = (0..STREAMS)
                .map(|stream| match stream {
                    0..=1 => 512 * MIB / shrink,
                    2..=7 => 128 * MIB / shrink,
                    _ => 16 * MIB / shrink,
                })
                .collect();
            let small = u64::from(SMALL_FILES) * 104 * 1024;
            let others = stream_bytes.iter().sum::<u64>() + small;
            let main = usable.saturating_sub(others) / (64 * MIB) * (64 * MIB);
            if main >= (MAIN_BYTES_MAX / 4 / shrink).max(MAIN_BYTES_MIN) {
                return Some(Self {
                    version: VERSION,
                    main_bytes: main.min(MAIN_BYTES_MAX),
                    stream_bytes,
                    small_files: SMALL_FILES,
                    small_bytes: SMALL_BYTES,
                });
            }
        }
        None
    }
}

/// Files could not be prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The disk is too small.
    #[error(
        "{} has {free_mib} MiB free, of which the test files may take {percent_max} %; they need \
         {needed_mib} MiB at least",
        folder.display()
    )]
    TooSmall {
        /// Where they should go.
        folder: PathBuf,
        /// What is free there.
        free_mib: u64,
        /// How much of that may be used.
        percent_max: u64,
        /// What is needed.
        needed_mib: u64,
    },
    /// A file could not be written.
    #[error("cannot prepare the test file {}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The prepared files of one disk.
#[derive(Clone, Debug)]
pub struct Dataset {
    folder: PathBuf,
    /// The files of the presets, if they were wanted.
    manifest: Option<Manifest>,
}

impl Dataset {
    /// Uses the files below `folder`, or writes them into at most `percent_max` of the free space:
    /// those of every list of sizes in `planned`, and those of the presets if `wants_presets`.
    /// `on_progress` hears of bytes done and bytes in all. After an error, what was written stays
    /// and is written again next time.
    ///
    /// # Errors
    /// [`PrepareError`].
    pub fn prepare(
        folder: &Path,
        percent_max: u64,
        planned: &[Vec<u64>],
        wants_presets: bool,
        on_progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, PrepareError> {
        let folder = folder.join("ahead-bench");
        for sizes in planned {
            prepare_planned(&folder, percent_max, sizes, on_progress)?;
        }
        if wants_presets {
            return Self::prepare_presets(folder, percent_max, on_progress);
        }
        Ok(Self {
            folder,
            manifest: None,
        })
    }

    fn prepare_presets(
        folder: PathBuf,
        percent_max: u64,
        on_progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, PrepareError> {
        let manifest_path = folder.join("manifest.json");
        if let Ok(manifest) = read_json::<Manifest>(&manifest_path)
            && manifest.version == VERSION
        {
            return Ok(Self {
                folder,
                manifest: Some(manifest),
            });
        }
        // An unfinished set would only take space.
        remove_presets(&folder).map_err(at(&folder))?;
        fs::create_dir_all(folder.join("small")).map_err(at(&folder))?;
        let (free_bytes, usable) = space(&folder, percent_max)?;
        let manifest = Manifest::fitting(usable).ok_or_else(|| PrepareError::TooSmall {
            folder: folder.clone(),
            free_mib: free_bytes / MIB,
            percent_max,
            needed_mib: SMALLEST_MIB,
        })?;
        let small = small_files(&folder, &manifest).map_err(at(&folder.join("small")))?;
        let mut files = vec![main(&folder, manifest.main_bytes)];
        files.extend(streams(&folder, &manifest));
        files.extend(small);
        write_files(&files, on_progress)?;
        write_json(&manifest_path, &manifest).map_err(at(&manifest_path))?;
        Ok(Self {
            folder,
            manifest: Some(manifest),
        })
    }

    /// Removes the files.
    pub fn remove(self) -> Result<(), PrepareError> {
        fs::remove_dir_all(&self.folder).map_err(|source| PrepareError::Io {
            path: self.folder,
            source,
        })
    }

    /// The files that `workload` reads as `preset`: as many as it asks for, no longer than it says
    /// and than the disk has them; those of a workload `from_memory` fit into memory.
    #[must_use]
    pub fn of_preset(&self, preset: &Preset, from_memory: bool) -> Option<Sources> {
        let manifest = self.manifest.as_ref()?;
        if matches!(preset.workload, Workload::SmallFiles { .. }) {
            return Some(Sources::Folder {
                path: self.folder.join("small"),
                first_id: SMALL_ID,
                bytes: manifest.small_bytes,
            });
        }
        let wanted = preset.workload.files();
        let mut files = if wanted.len() == 1 {
            vec![main(&self.folder, manifest.main_bytes)]
        } else {
            streams(&self.folder, manifest)
        };
        files.truncate(wanted.len());
        let count = u64::try_from(wanted.len()).unwrap_or(1);
        let in_memory = if from_memory {
            CACHED_BYTES / count
        } else {
            u64::MAX
        };
        for (file, wanted) in files.iter_mut().zip(wanted) {
            file.bytes = file.bytes.min(wanted.bytes).min(in_memory);
        }
        Some(Sources::Listed(files))
    }

    /// The files of a workload of a plan, which were among those to prepare.
    #[must_use]
    pub fn of_planned(&self, workload: &Workload) -> Sources {
        let sizes: Vec<u64> = workload.files().iter().map(|file| file.bytes).collect();
        Sources::Listed(planned(&self.folder, &sizes))
    }
}

/// What the smallest set of files for presets takes.
const SMALLEST_MIB: u64 = 450;

fn at(path: &Path) -> impl FnOnce(io::Error) -> PrepareError + use<> {
    let path = path.to_owned();
    move |source| PrepareError::Io { path, source }
}

/// Free bytes, and how many of them may be used.
fn space(folder: &Path, percent_max: u64) -> Result<(u64, u64), PrepareError> {
    let space = rustix::fs::statvfs(folder).map_err(|error| at(folder)(error.into()))?;
    let free_bytes = space.f_bavail * space.f_frsize;
    Ok((free_bytes, free_bytes / 100 * percent_max))
}

fn main(folder: &Path, bytes: u64) -> Source {
    Source {
        path: folder.join("main"),
        id: MAIN_ID,
        bytes,
    }
}

fn streams(folder: &Path, manifest: &Manifest) -> Vec<Source> {
    let stream = |(stream, bytes): (u32, &u64)| Source {
        path: folder.join(format!("stream-{stream:02}")),
        id: STREAM_ID + stream,
        bytes: *bytes,
    };
    (0..STREAMS)
        .zip(&manifest.stream_bytes)
        .map(stream)
        .collect()
}

/// The small files in the order in which their folder will list them. ext4 lists by a hash of
/// the name, so the order is found with empty files, which are gone afterwards.
fn small_files(folder: &Path, manifest: &Manifest) -> io::Result<Vec<Source>> {
    let folder = folder.join("small");
    for number in 0..manifest.small_files {
        File::create(folder.join(number.to_string()))?;
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(number) = name.and_then(|name| name.parse::<u32>().ok()) {
            files.push(Source {
                path,
                id: SMALL_ID + number,
                bytes: manifest.small_bytes,
            });
        }
    }
    for file in &files {
        fs::remove_file(&file.path)?;
    }
    Ok(files)
}

/// Where the files of these sizes are.
fn planned(folder: &Path, sizes: &[u64]) -> Vec<Source> {
    let hash = sizes.iter().fold(0, |hash, bytes| mix(hash ^ bytes));
    let folder = folder.join(format!("files-{hash:016x}"));
    let file = |(number, bytes): (u32, &u64)| Source {
        path: folder.join(number.to_string()),
        id: PLANNED_ID + number,
        bytes: *bytes,
    };
    (0..).zip(sizes).map(file).collect()
}

/// Writes the files of these sizes, unless they are there.
fn prepare_planned(
    folder: &Path,
    percent_max: u64,
    sizes: &[u64],
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<(), PrepareError> {
    let files = planned(folder, sizes);
    let Some(own) = files.first().and_then(|file| file.path.parent()) else {
        return Ok(());
    };
    let manifest = own.join("sizes.json");
    if read_json::<Vec<u64>>(&manifest).is_ok_and(|known| known == sizes) {
        return Ok(());
    }
    remove(fs::remove_dir_all(own)).map_err(at(own))?;
    fs::create_dir_all(own).map_err(at(own))?;
    let (free_bytes, usable) = space(own, percent_max)?;
    let needed: u64 = sizes.iter().sum();
    if needed > usable {
        return Err(PrepareError::TooSmall {
            folder: folder.to_owned(),
            free_mib: free_bytes / MIB,
            percent_max,
            needed_mib: needed / MIB,
        });
    }
    write_files(&files, on_progress)?;
    write_json(&manifest, &sizes).map_err(at(&manifest))
}

fn write_files(
    files: &[Source],
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<(), PrepareError> {
    let total = files.iter().map(|file| file.bytes).sum();
    let mut done = 0;
    let mut buffer = vec![0; 4 << 20];
    for source in files {
        let mut on_bytes = |bytes| {
            done += bytes;
            on_progress(done, total);
        };
        write_file(source, &mut buffer, &mut on_bytes).map_err(at(&source.path))?;
    }
    rustix::fs::sync();
    Ok(())
}

/// Removes what an interrupted preparation left of the presets' files.
fn remove_presets(folder: &Path) -> io::Result<()> {
    remove(fs::remove_dir_all(folder.join("small")))?;
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            remove(fs::remove_file(entry.path()))?;
        }
    }
    Ok(())
}

/// What is not there is removed already.
fn remove(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write_file(source: &Source, buffer: &mut [u8], on_bytes: &mut dyn FnMut(u64)) -> io::Result<()> {
    let mut file = File::create(&source.path)?;
    // Without it a file that is written in pieces may be laid out in pieces. File systems that
    // cannot do it go without.
    let _ = rustix::fs::fallocate(file.as_fd(), FallocateFlags::empty(), 0, source.bytes);
    let mut offset = 0;
    while offset < source.bytes {
        let length = usize::try_from(source.bytes - offset).unwrap_or(usize::MAX);
        let length = length.min(buffer.len());
        let piece = buffer.get_mut(..length).unwrap_or_default();
        content::fill(piece, source.id, offset);
        file.write_all(piece)?;
        let written = u64::try_from(length).unwrap_or(0);
        offset += written;
        on_bytes(written);
    }
    if source.bytes > MIB {
        file.sync_all()?;
        // The set is larger than what the machine should keep of it.
        let _ = rustix::fs::fadvise(file.as_fd(), 0, None, Advice::DontNeed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_disk_gets_the_full_set_and_a_small_one_a_smaller() {
        let full = Manifest::fitting(20 << 30).unwrap();
        assert_eq!(full.main_bytes, MAIN_BYTES_MAX);
        assert_eq!(full.stream_bytes[63], 16 * MIB);
        let six = Manifest::fitting(6 << 30).unwrap();
        assert_eq!(six.stream_bytes[63], 16 * MIB);
        assert!(six.main_bytes >= 2 << 30);
        let small = Manifest::fitting(1 << 30).unwrap();
        let small_files = u64::from(small.small_files) * small.small_bytes;
        let total = small.main_bytes + small.stream_bytes.iter().sum::<u64>() + small_files;
        assert!(total < (1 << 30));
        assert!(Manifest::fitting(256 << 20).is_none());
    }
}
