//! The reader of real devices: `O_DIRECT`, by io_uring, or by threads where that is refused.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ahead_sys::direct_reader::DirectReader;
use ahead_sys::direct_threads::DirectThreads;

use super::plan::{SMALL_BYTES, TARGET_BYTES_MIN};
use super::step::{ReadAnswer, RequestReader};

/// Less of a file on its disk than nine parts of ten: the rest is holes, which are not read from it.
const ALLOCATED_PARTS: (u64, u64) = (9, 10);
const STAT_BLOCK_BYTES: u64 = 512;

/// It cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum DirectError {
    /// It cannot be opened.
    #[error("cannot open '{path}' for reading past the cache (O_DIRECT): {source}{hint}")]
    Open {
        /// What.
        path: String,
        /// Why.
        source: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// A folder, a socket.
    #[error("'{0}' is neither a block device nor a file: name a device, or a large file on it")]
    Kind(String),
    /// Too small.
    #[error("'{path}' has {bytes} bytes: measuring needs {} MiB or more", TARGET_BYTES_MIN >> 20)]
    Small {
        /// What.
        path: String,
        /// How large it is.
        bytes: u64,
    },
    /// A file with holes.
    #[error(
        "'{0}' is a file with holes, which are not read from its disk: name a file that is full"
    )]
    Holes(String),
}

/// What was opened.
pub struct DirectDevice {
    file: Arc<File>,
    size_bytes: u64,
    is_device: bool,
    device: u64,
    began: Instant,
    requests: Requests,
    uses_threads: bool,
}

enum Requests {
    None,
    Ring(Box<DirectReader>),
    Threads {
        threads: DirectThreads,
        under_way: usize,
    },
}

impl DirectDevice {
    /// Opens a block device or a file. Nothing is read yet.
    ///
    /// # Errors
    /// [`DirectError`].
    pub fn open(path: &Path) -> Result<Self, DirectError> {
        let name = || path.display().to_string();
        let failed = |source: io::Error| DirectError::Open {
            path: name(),
            hint: match source.kind() {
                io::ErrorKind::PermissionDenied => "; devices need root, a file needs its reader",
                io::ErrorKind::InvalidInput => "; its file system cannot read past the cache",
                _ => "",
            },
            source,
        };
        let facts = std::fs::metadata(path).map_err(failed)?;
        let is_device = facts.file_type().is_block_device();
        if !is_device && !facts.is_file() {
            return Err(DirectError::Kind(name()));
        }
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::DIRECT.bits().cast_signed())
            .open(path)
            .map_err(failed)?;
        let size_bytes = if is_device {
            rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0)).map_err(|e| failed(e.into()))?
        } else {
            facts.len()
        };
        if size_bytes < TARGET_BYTES_MIN {
            return Err(DirectError::Small {
                path: name(),
                bytes: size_bytes,
            });
        }
        let size_bytes = size_bytes / SMALL_BYTES * SMALL_BYTES;
        let allocated = facts.blocks().saturating_mul(STAT_BLOCK_BYTES);
        let (parts, of) = ALLOCATED_PARTS;
        if !is_device && allocated / parts < size_bytes / of {
            return Err(DirectError::Holes(name()));
        }
        Ok(Self {
            file: Arc::new(file),
            size_bytes,
            is_device,
            device: if is_device { facts.rdev() } else { facts.dev() },
            began: Instant::now(),
            requests: Requests::None,
            // Asked once, so that it is said beforehand.
            uses_threads: DirectReader::new(1, 4096).is_err(),
        })
    }

    /// Whole pages of it, in bytes.
    #[must_use]
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Whether it is a block device.
    #[must_use]
    pub const fn is_device(&self) -> bool {
        self.is_device
    }

    /// The number of the device, or of that which the file lies on.
    #[must_use]
    pub const fn device(&self) -> u64 {
        self.device
    }

    /// How requests are made.
    #[must_use]
    pub const fn requests_by(&self) -> &'static str {
        if self.uses_threads {
            "threads"
        } else {
            "io_uring"
        }
    }
}

impl RequestReader for DirectDevice {
    fn now_ns(&self) -> u64 {
        since(self.began, Instant::now())
    }

    fn prepare(&mut self, depth: u32, request_bytes: u64) -> io::Result<()> {
        let bytes = usize::try_from(request_bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.requests = Requests::None;
        self.requests = if self.uses_threads {
            Requests::Threads {
                threads: DirectThreads::new(&self.file, depth, bytes)?,
                under_way: 0,
            }
        } else {
            Requests::Ring(Box::new(DirectReader::new(depth, bytes)?))
        };
        Ok(())
    }

    fn submit(&mut self, offset: u64, bytes: u64, tag: u32) -> io::Result<()> {
        let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        match &mut self.requests {
            Requests::Ring(ring) => ring.push(&*self.file, offset, bytes, tag),
            Requests::Threads { threads, under_way } => {
                threads.push(offset, bytes, tag)?;
                *under_way += 1;
                Ok(())
            }
            Requests::None => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn wait(&mut self, answers: &mut Vec<ReadAnswer>) -> io::Result<()> {
        let began = self.began;
        match &mut self.requests {
            Requests::Ring(ring) => ring.wait(|done| {
                answers.push(ReadAnswer {
                    tag: done.tag,
                    at_ns: since(began, Instant::now()),
                    bytes: done.bytes.map(|bytes| bytes.len() as u64),
                });
            }),
            Requests::Threads { threads, under_way } if *under_way > 0 => {
                let done = threads.wait()?;
                *under_way -= 1;
                answers.push(ReadAnswer {
                    tag: done.tag,
                    at_ns: since(began, done.at),
                    bytes: done.bytes.map(|bytes| bytes as u64),
                });
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn since(began: Instant, at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(began).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::measurement::plan::{MeasureBounds, steps};
    use crate::measurement::step;

    /// On the disk of the build: memory file systems have nothing to read past.
    fn file(bytes: u64) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![1; usize::try_from(bytes).unwrap()])
            .unwrap();
        file.as_file().sync_all().unwrap();
        file
    }

    /// The reader must not be the limit: both ways read what is asked for.
    #[test]
    fn a_file_is_read_by_the_ring_and_by_threads() {
        let file = file(TARGET_BYTES_MIN);
        for uses_threads in [false, true] {
            let mut device = DirectDevice::open(file.path()).unwrap();
            device.uses_threads = uses_threads;
            let bounds = MeasureBounds {
                time_ns: 200_000_000,
                bytes: 8 << 20,
                size_bytes: device.size_bytes(),
                is_device: device.is_device(),
            };
            for one in steps(&bounds) {
                let found = step::run(&mut device, &one, 1, &|| false).unwrap();
                assert!(found.requests >= 4, "{found:?}");
                assert_eq!(found.bytes, found.requests * one.request_bytes);
            }
        }
    }

    #[test]
    fn what_cannot_be_measured_is_refused_with_the_reason() {
        let refused = |path: &Path| match DirectDevice::open(path) {
            Ok(_) => panic!("{} was opened", path.display()),
            Err(error) => error.to_string(),
        };
        assert!(refused(Path::new("/dev/null")).contains("neither"));
        assert!(refused(Path::new("/")).contains("neither"));
        assert!(refused(Path::new("/no/such")).contains("/no/such"));
        assert!(refused(file(4096).path()).contains("4096 bytes"));
        let holes = file(4096);
        holes.as_file().set_len(64 << 20).unwrap();
        assert!(refused(holes.path()).contains("holes"));
    }
}
