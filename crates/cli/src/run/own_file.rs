//! A small file of the user's own, which stays between runs.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens the file for reading and writing, made for its owner alone if there was none. Refuses what others
/// could have put there: links, what is no file, and a file of another user, or with one of the permissions in
/// `forbidden`.
pub(super) fn open(path: &Path, forbidden: u32) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let found = file.metadata()?;
    let is_own = found.is_file() && found.uid() == own_id() && found.nlink() == 1;
    if !is_own || found.mode() & forbidden != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(file)
}

/// The user in whose name this process acts.
pub(super) fn own_id() -> u32 {
    rustix::process::geteuid().as_raw()
}
