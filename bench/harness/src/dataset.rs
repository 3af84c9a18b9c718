//! The files that are read: prepared once per disk, laid out in one piece each.
//!
//! ```text
//! FOLDER/ahead-bench/manifest.json   which sizes are there; written last
//!                    main            everything on one file
//!                    stream-00 …63   one file per stream: two long, six middle, 56 short
//!                    small/0 …1999   100 KiB each
//! ```
//!
//! The small files are written in the order in which their folder lists them, so that reading them
//! in that order goes forward over the disk. A listing in another order than the layout would
//! measure the arm of the disk, in every arm of the bench alike.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FallocateFlags};
use serde::{Deserialize, Serialize};

use crate::content;
use crate::job::{Source, Sources, read_json, write_json};
use crate::pattern::{Pattern, Scenario};

const MIB: u64 = 1 << 20;
const VERSION: u32 = 2;
const STREAMS: u32 = 64;
const SMALL_FILES: u32 = 2000;
const SMALL_BYTES: u64 = 100 * 1024;
const MAIN_ID: u32 = 0;
const STREAM_ID: u32 = 1;
const SMALL_ID: u32 = 1000;
/// What the loop goes through twice.
const LOOP_BYTES: u64 = 512 * MIB;
/// What a pattern that runs from memory goes through. Small enough to stay there on a machine with
/// 2 GiB, large enough not to fit into a processor's cache.
const CACHED_BYTES: u64 = 512 * MIB;
/// The main file: a strided reader at 130 MB/s passes 2 GiB in 5 s, one on flash twice that.
const MAIN_BYTES_MAX: u64 = 4096 * MIB;
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

    fn total_bytes(&self) -> u64 {
        let small = u64::from(self.small_files) * self.small_bytes;
        self.main_bytes + self.stream_bytes.iter().sum::<u64>() + small
    }
}

/// Files could not be prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The disk is too small.
    #[error(
        "{} has {free_mib} MiB free, of which the test files may take {percent_max} %; they need \
         450 MiB at least",
        folder.display()
    )]
    TooSmall {
        /// Where they should go.
        folder: PathBuf,
        /// What is free there.
        free_mib: u64,
        /// How much of that may be used.
        percent_max: u64,
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
    manifest: Manifest,
}

impl Dataset {
    /// Uses the files below `folder`, or writes them into at most `percent_max` of the free space.
    /// `on_progress` hears of bytes done and bytes in all. After an error, what was written stays and is written again next time.
    pub fn prepare(
        folder: &Path,
        percent_max: u64,
        on_progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, PrepareError> {
        let folder = folder.join("ahead-bench");
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| PrepareError::Io { path, source }
        };
        let manifest_path = folder.join("manifest.json");
        if let Ok(manifest) = read_json::<Manifest>(&manifest_path)
            && manifest.version == VERSION
        {
            return Ok(Self { folder, manifest });
        }
        // An unfinished set would only take the room.
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(at(&folder)(error));
            }
            _ => {}
        }
        fs::create_dir_all(folder.join("small")).map_err(at(&folder))?;
        let space = rustix::fs::statvfs(&folder).map_err(|e| at(&folder)(e.into()))?;
        let free_bytes = space.f_bavail * space.f_frsize;
        let usable = free_bytes / 100 * percent_max;
        let manifest = Manifest::fitting(usable).ok_or_else(|| PrepareError::TooSmall {
            folder: folder.clone(),
            free_mib: free_bytes / MIB,
            percent_max,
        })?;

        let dataset = Self { folder, manifest };
        let total = dataset.manifest.total_bytes();
        let mut done = 0;
        let mut buffer = vec![0; 4 << 20];
        let mut files = dataset.large_files();
        files.extend(
            dataset
                .small_files()
                .map_err(at(&dataset.folder.join("small")))?,
        );
        for source in files {
            let mut on_bytes = |bytes| {
                done += bytes;
                on_progress(done, total);
            };
            write_file(&source, &mut buffer, &mut on_bytes).map_err(at(&source.path))?;
        }
        rustix::fs::sync();
        write_json(&manifest_path, &dataset.manifest).map_err(at(&manifest_path))?;
        Ok(dataset)
    }

    /// Removes the files.
    pub fn remove(self) -> Result<(), PrepareError> {
        fs::remove_dir_all(&self.folder).map_err(|source| PrepareError::Io {
            path: self.folder,
            source,
        })
    }

    fn main(&self, bytes: u64) -> Source {
        Source {
            path: self.folder.join("main"),
            id: MAIN_ID,
            bytes,
        }
    }

    fn streams(&self) -> Vec<Source> {
        (0..STREAMS)
            .zip(&self.manifest.stream_bytes)
            .map(|(stream, bytes)| Source {
                path: self.folder.join(format!("stream-{stream:02}")),
                id: STREAM_ID + stream,
                bytes: *bytes,
            })
            .collect()
    }

    fn large_files(&self) -> Vec<Source> {
        let mut files = vec![self.main(self.manifest.main_bytes)];
        files.extend(self.streams());
        files
    }

    /// The small files in the order in which their folder will list them. ext4 lists by a hash of
    /// the name, so the order is found with empty files, which are gone afterwards.
    fn small_files(&self) -> io::Result<Vec<Source>> {
        let folder = self.folder.join("small");
        for number in 0..self.manifest.small_files {
            File::create(folder.join(number.to_string()))?;
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if let Some(number) = name.and_then(|name| name.parse::<u32>().ok()) {
                let bytes = self.manifest.small_bytes;
                files.push(Source {
                    path,
                    id: SMALL_ID + number,
                    bytes,
                });
            }
        }
        for file in &files {
            fs::remove_file(&file.path)?;
        }
        Ok(files)
    }

    /// What `scenario` reads.
    #[must_use]
    pub fn sources(&self, scenario: Scenario) -> Sources {
        let in_memory = |bytes: u64| {
            if scenario.cached {
                bytes.min(CACHED_BYTES)
            } else {
                bytes
            }
        };
        match scenario.pattern {
            Pattern::Small => Sources::Folder {
                path: self.folder.join("small"),
                first_id: SMALL_ID,
                bytes: self.manifest.small_bytes,
            },
            Pattern::Separate { streams } => {
                let share = in_memory(u64::MAX) / u64::from(streams.max(1));
                let mut files = self.streams();
                files.truncate(usize::try_from(streams).unwrap_or(files.len()));
                for file in &mut files {
                    file.bytes = file.bytes.min(share);
                }
                Sources::Listed(files)
            }
            Pattern::Loop => Sources::Listed(vec![
                self.main(in_memory(self.manifest.main_bytes.min(LOOP_BYTES))),
            ]),
            _ => Sources::Listed(vec![self.main(in_memory(self.manifest.main_bytes))]),
        }
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
        assert!(small.total_bytes() < (1 << 30));
        assert!(Manifest::fitting(256 << 20).is_none());
    }
}
