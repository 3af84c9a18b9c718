//! What can be known to be wrong before anything is changed.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ahead_sys::meminfo::MemoryInfo;
use ahead_sys::mounts;

use super::options::{CreateError, CreateOptions, SIZE_BYTES_MIN};
use crate::state;

/// Memory that a disk must leave to the rest of the machine.
const MEMORY_LEFT_BYTES: u64 = 512 << 20;

/// Checks what can be checked without changing anything. The size, in whole pages.
pub(super) fn check(options: &CreateOptions) -> Result<u64, CreateError> {
    state::require_root()?;
    state::check_name(&options.name)?;
    options.model.check()?;
    if let Some(order) = options.order {
        options.model.clone().with_order(order).check()?;
    }
    let size_bytes = options.size_bytes & !4095;
    if size_bytes < SIZE_BYTES_MIN {
        return Err(CreateError::TooSmall {
            size_bytes: options.size_bytes,
        });
    }
    let memory = MemoryInfo::read(Path::new("/proc")).unwrap_or_default();
    // Unlimited when the kernel does not say.
    let free_bytes = memory.available_bytes.unwrap_or(u64::MAX);
    let size_bytes_max = free_bytes.saturating_sub(MEMORY_LEFT_BYTES);
    if size_bytes > size_bytes_max {
        return Err(CreateError::TooLarge {
            size_bytes,
            size_bytes_max,
        });
    }
    if !Path::new("/dev/fuse").exists() {
        let remedy = "load the module with `modprobe fuse`, or use a kernel with FUSE";
        return Err(CreateError::Missing {
            what: "/dev/fuse",
            remedy,
        });
    }
    if !Path::new("/dev/loop-control").exists() {
        let remedy = "load the module with `modprobe loop`, or use a kernel with loop devices";
        return Err(CreateError::Missing {
            what: "/dev/loop-control",
            remedy,
        });
    }
    mkfs()?;
    Ok(size_bytes)
}

/// Finds mkfs.ext4; it is often outside of the search path of programs that were not started by a
/// login shell.
pub(super) fn mkfs() -> Result<PathBuf, CreateError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let mut programs = folders.map(|folder| folder.join("mkfs.ext4"));
    programs
        .find(|program| program.is_file())
        .ok_or(CreateError::Missing {
            what: "mkfs.ext4",
            remedy: "install e2fsprogs (`apt-get install e2fsprogs`)",
        })
}

/// The mount point without links in it, and the folders to make for it, outermost first.
pub(super) fn mount_point(asked: &Path) -> Result<(PathBuf, Vec<PathBuf>), CreateError> {
    let wrong = |reason: String| CreateError::MountPoint {
        path: asked.to_owned(),
        reason,
    };
    let absolute = std::path::absolute(asked).map_err(|error| wrong(error.to_string()))?;
    // Walk up to what exists; the rest will be made below it.
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut existing = absolute.as_path();
    let base = loop {
        match fs::canonicalize(existing) {
            Ok(base) => break base,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (Some(name), Some(parent)) = (existing.file_name(), existing.parent()) else {
                    return Err(wrong(error.to_string()));
                };
                missing.push(name);
                existing = parent;
            }
            Err(error) => return Err(wrong(error.to_string())),
        }
    };
    if !base.is_dir() {
        return Err(wrong(format!("{} is not a folder", base.display())));
    }
    if missing.is_empty() {
        let mounted = mounts::mounts(Path::new("/proc")).unwrap_or_default();
        if mounted.iter().any(|mount| mount.mount_point == base) {
            return Err(wrong("something is mounted there already".into()));
        }
        let mut entries = fs::read_dir(&base).map_err(|error| wrong(error.to_string()))?;
        if entries.next().is_some() {
            return Err(wrong("the folder is not empty".into()));
        }
    }
    let mut path = base;
    let mut made = Vec::new();
    for name in missing.iter().rev() {
        path.push(name);
        made.push(path.clone());
    }
    Ok((path, made))
}
