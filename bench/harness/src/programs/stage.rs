//! Where programs run: the folder with the data, the folder for what they write, and the check of what came
//! out of it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::list::ProgramData;
use super::results::Digest;

/// The folder for all data, on the disk.
const FOLDER: &str = "ahead-programs";
/// In it, for each data the script that made it.
const MADE: &str = "made";
/// Memory.
const OUTPUT_PARENT: &str = "/dev/shm";

/// Both folders.
pub(super) struct Stage {
    /// On the disk.
    pub(super) folder: PathBuf,
    /// In memory.
    output: TempDir,
    percent: u32,
}

impl Stage {
    /// On the disk below `disk`, with what is there of earlier benches.
    pub(super) fn on(disk: &Path, percent: u32) -> io::Result<Self> {
        let folder = disk.join(FOLDER);
        // Scripts run there as root: nobody else may have put anything into it.
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let found = fs::symlink_metadata(&folder)?;
        let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        if !is_ours || found.mode() & 0o077 != 0 {
            let reason = format!("{} is there and belongs to others", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        fs::create_dir_all(folder.join(MADE))?;
        let output = tempfile::Builder::new()
            .prefix("ahead-programs-")
            .tempdir_in(OUTPUT_PARENT)?;
        Ok(Self {
            folder,
            output,
            percent,
        })
    }

    /// What scripts find in their surroundings.
    pub(super) fn equip(&self, command: &mut Command) {
        command
            .current_dir(&self.folder)
            .env("OUT", self.output.path())
            .env("PERCENT", self.percent.to_string());
    }

    /// Whether `data` is there, made by the script that it has now.
    pub(super) fn has(&self, data: &ProgramData) -> bool {
        fs::read_to_string(self.mark(data)).is_ok_and(|made| made == self.recipe(data))
    }

    /// Notes that `data` is not there, or not as it should be.
    pub(super) fn forget(&self, data: &ProgramData) -> io::Result<()> {
        match fs::remove_file(self.mark(data)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Notes that `data` is there.
    pub(super) fn note(&self, data: &ProgramData) -> io::Result<()> {
        fs::write(self.mark(data), self.recipe(data))
    }

    fn mark(&self, data: &ProgramData) -> PathBuf {
        self.folder.join(MADE).join(&data.name)
    }

    fn recipe(&self, data: &ProgramData) -> String {
        format!("{} %\n{}", self.percent, data.make)
    }

    /// Bytes and check sum of `printed` and of all files in the folder for output, which is empty afterwards.
    pub(super) fn take_output(&self, printed: Digest) -> io::Result<Digest> {
        let mut all = Sum::of(printed);
        all.add_folder(self.output.path())?;
        self.clear_output()?;
        Ok(all.digest())
    }

    /// Empties the folder for output.
    pub(super) fn clear_output(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.output.path())? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Removes the data.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.folder)
    }
}

/// A check sum in the making.
#[derive(Default)]
struct Sum {
    crc: crc32fast::Hasher,
    bytes: u64,
}

impl Sum {
    fn of(before: Digest) -> Self {
        Self {
            crc: crc32fast::Hasher::new_with_initial_len(before.crc, before.bytes),
            bytes: before.bytes,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        self.bytes += u64::try_from(bytes.len()).unwrap_or(0);
    }

    fn add_stream(&mut self, mut stream: impl Read) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 18];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(got) => self.add(buffer.get(..got).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Names and contents, in the order of names.
    fn add_folder(&mut self, folder: &Path) -> io::Result<()> {
        let entries: io::Result<Vec<_>> = fs::read_dir(folder)?.collect();
        let mut entries = entries?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            self.add(entry.file_name().as_bytes());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.add_folder(&entry.path())?;
            } else if kind.is_file() {
                self.add_stream(File::open(entry.path())?)?;
            }
        }
        Ok(())
    }

    fn digest(self) -> Digest {
        Digest {
            bytes: self.bytes,
            crc: self.crc.finalize(),
        }
    }
}

/// Bytes and check sum of a stream, to its end.
pub(super) fn digest(stream: impl Read) -> io::Result<Digest> {
    let mut sum = Sum::default();
    sum.add_stream(stream)?;
    Ok(sum.digest())
}

/// As runs have it.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Why data among `names` is not there.
pub(super) fn lacking(unmade: &[(&str, String)], names: &[String]) -> Option<String> {
    let of = |name: &String| unmade.iter().find(|(unmade, _)| unmade == name);
    let (name, reason) = names.iter().find_map(of)?;
    Some(format!("its data '{name}': {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::list::ProgramList;

    fn stage() -> (TempDir, Stage) {
        let disk = tempfile::tempdir().unwrap();
        let stage = Stage::on(disk.path(), 10).unwrap();
        (disk, stage)
    }

    #[test]
    fn what_is_printed_and_what_is_written_is_in_the_digest() {
        let (_disk, stage) = stage();
        let printed = digest(&b"abc"[..]).unwrap();
        assert_eq!((printed.bytes, printed.crc), (3, 0x3524_41c2));
        let nothing = stage.take_output(printed).unwrap();
        assert_eq!(nothing, printed);
        let write = |name: &str, text: &str| {
            let path = stage.output.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("b/x", "one");
        write("a", "two");
        let some = stage.take_output(printed).unwrap();
        write("a", "two");
        write("b/x", "one");
        assert_eq!(stage.take_output(printed).unwrap(), some);
        write("b/y", "one");
        write("a", "two");
        assert_ne!(stage.take_output(printed).unwrap(), some);
        assert_eq!(fs::read_dir(stage.output.path()).unwrap().count(), 0);
    }

    #[test]
    fn data_of_another_size_or_script_is_made_again() {
        let (disk, stage) = stage();
        let list = ProgramList::ours().unwrap();
        let data = &list.data[0];
        assert!(!stage.has(data));
        stage.note(data).unwrap();
        assert!(stage.has(data));
        let mut changed = data.clone();
        changed.make.push('#');
        assert!(!stage.has(&changed));
        assert!(!Stage::on(disk.path(), 20).unwrap().has(data));
    }
}
