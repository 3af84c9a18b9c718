//! Images of disks with test files, which guests share and none of them changes.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ahead_guest::{Console, FileSystem, Task};

use super::error::LabError;
use super::machine::{cache_folder, guest_of, shared_folder};
use crate::arguments::LabKernel;
use crate::output;

/// The disk on which images are made: any fast one.
pub(super) const MAKING_DISK: &str = "ssd";

/// What an image is.
pub(super) struct Image<'a> {
    /// Its name among images: another one where anything on it is another.
    pub(super) name: String,
    /// Older images whose names begin so are in its way, and go.
    pub(super) replaces: Option<String>,
    /// Its size.
    pub(super) bytes: u64,
    /// For the line that says what takes so long.
    pub(super) about: &'static str,
    /// What writes the files in a guest, on the disk in its working folder.
    pub(super) command: Vec<OsString>,
    /// Variables for it.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Of the guest.
    pub(super) kernel: &'a LabKernel,
    /// What is on it.
    pub(super) file_system: FileSystem,
    /// Of the guest.
    pub(super) memory_bytes: u64,
}

impl Image<'_> {
    /// Its file; made when it is first needed.
    pub(super) fn find(self, stop: &AtomicBool) -> Result<PathBuf, LabError> {
        let folder = cache_folder()?.join("images");
        fs::create_dir_all(&folder)?;
        let lock = File::create(folder.join("lock"))?;
        lock.lock()?;
        let image = folder.join(&self.name);
        if image.is_file() {
            return Ok(image);
        }
        for entry in fs::read_dir(&folder)? {
            let name = entry?.file_name();
            let is_old = |start: &String| name.to_string_lossy().starts_with(start);
            if self.replaces.as_ref().is_some_and(is_old) {
                fs::remove_file(folder.join(name))?;
            }
        }
        output::to_stderr(&format!("writing {} to a disk image, once\n", self.about));
        let partial = image.with_extension("partial");
        File::create(&partial)?.set_len(self.bytes)?;
        let mut guest = guest_of(self.kernel, MAKING_DISK)?;
        guest.task = Task::new(self.command);
        guest.task.environment = self.environment;
        guest.task.file_system = self.file_system;
        guest.task.syncs = true;
        guest.disk.image = Some(partial.clone());
        guest.disk.keeps = true;
        guest.memory_bytes = self.memory_bytes;
        guest.console = Console::Kept;
        let shared = shared_folder()?;
        let run = guest.run(shared.path(), stop)?;
        if run.measured.exit_code != 0 {
            return Err(LabError::Inside(run.said.trim().to_owned()));
        }
        fs::rename(&partial, &image)?;
        Ok(image)
    }
}
