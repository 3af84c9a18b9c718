//! What runs learn of devices, kept for later ones: a small file in the user's cache, brought into the
//! memory that the processes of a run share.
//!
//! The library writes the file when an estimate has changed; here it is made, and read once. Without it
//! a run begins with what devices say of themselves. So whatever is in the way is passed over, and a file
//! that is damaged, or of another version, is begun anew. What `ahead device measure` found is brought into
//! both, in place of what was learned.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::SystemTime;

use ahead_engine::estimates::{
    Estimates, FILE_BYTES, SharedEstimate, WORDS, words_of, words_of_file,
};
use ahead_policy::device::DeviceEstimate;
use ahead_units::Timestamp;

use super::group;
use super::own_file::{self, own_id};
use crate::cache;

/// Where what is learned of devices is kept, or that nothing is.
pub const DEVICES_VARIABLE: &str = "AHEAD_DEVICES";
/// The processes of a run share what they learn, and nothing of it is kept.
const ONLY_THIS_RUN: &str = "run";
/// Permissions of which the kept file may have none: what is in it is no secret.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The variable with which every process learns alone: for measurements, of which none may depend on
/// another one.
#[must_use]
pub fn learns_alone() -> (String, String) {
    (DEVICES_VARIABLE.to_owned(), "no".to_owned())
}

/// The value of [`DEVICES_VARIABLE`] for a new run whose [`group::GROUP_VARIABLE`] is `group`; without
/// one, this process belongs to a run already, or cannot have one. `keeps` is what the user said.
/// `None`: every process learns alone.
#[must_use]
pub fn of_this_run(keeps: Option<bool>, group: Option<&str>) -> Option<String> {
    let outer = std::env::var(DEVICES_VARIABLE).ok();
    if group.is_none() && keeps.is_none() {
        return outer;
    }
    let shared = group::file_of(group)?;
    let keeps = keeps.unwrap_or(true);
    let kept = keeps.then(|| keep(&cache::folder().ok()?, &shared));
    Some(kept.flatten().unwrap_or_else(|| ONLY_THIS_RUN.to_owned()))
}

/// Brings what is kept in `folder` into the file that processes share. The path of the kept one; `None`
/// if there cannot be one.
fn keep(folder: &Path, shared: &File) -> Option<String> {
    let path = kept_in(folder);
    let text = path.to_str().filter(|_| path.is_absolute())?.to_owned();
    make_folder(folder).ok()?;
    let file = own_file::open(&path, WRITABLE_BY_OTHERS).ok()?;
    bring_in(&file, shared).ok()?;
    Some(text)
}

/// What later runs begin with for the device with this identity; returns where that is kept. It is told as a
/// minute old: kept, and not of a process that waits for the device now.
///
/// # Errors
/// The user's cache cannot be written.
pub(crate) fn believe(identity: u64, estimate: DeviceEstimate) -> io::Result<PathBuf> {
    let folder = cache::folder()?;
    make_folder(&folder)?;
    let path = kept_in(&folder);
    let file = own_file::open(&path, WRITABLE_BY_OTHERS)?;
    let kept = words_in(&file)?.unwrap_or_else(|| words_of(&[]));
    let minute_ago = seconds_now().saturating_sub(60);
    let tell = |words: &[AtomicU64]| {
        let all = Estimates::new(words, minute_ago);
        let device = SharedEstimate::without_guess(identity);
        let _ = device.tell(all, estimate, None, Timestamp::new(0));
        all.file()
    };
    file.set_len(FILE_BYTES as u64)?;
    file.write_all_at(&tell(&kept), 0)?;
    // What is in memory counts for runs before what is kept.
    if let Ok(shared) = group::file() {
        let mut known = [0; WORDS * 8];
        shared.read_exact_at(&mut known, group::KEPT_AT)?;
        // Behind the first word of a file.
        shared.write_all_at(&tell(&words_of(&known))[8..], group::KEPT_AT)?;
    }
    Ok(path)
}

/// What is kept of devices; nothing where there is no such file, or one that is damaged or cannot be read.
pub(crate) fn kept() -> Option<Vec<AtomicU64>> {
    let file = File::open(kept_in(&cache::folder().ok()?)).ok()?;
    words_in(&file).ok()?
}

fn kept_in(folder: &Path) -> PathBuf {
    folder.join("devices")
}

/// The words of a file from its begin on; `None` for what is no such file.
fn words_in(file: &File) -> io::Result<Option<Vec<AtomicU64>>> {
    let mut bytes = Vec::new();
    file.take(FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(words_of_file(&bytes))
}

/// Seconds since 1970; 0 where the clock is before that.
pub(crate) fn seconds_now() -> u64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since_1970.unwrap_or_default().as_secs()
}

/// Makes our folder in the user's cache. Not in that of another user, in whose name `sudo` may have left
/// us: what is made there would be in the owner's way.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut above = folder.ancestors();
    let existing = above.find_map(|folder| fs::metadata(folder).ok());
    if existing.is_none_or(|found| found.uid() != own_id()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// What is kept and not known in memory goes there. Whoever deletes the file begins anew, so a file
/// that cannot be used empties the memory too.
fn bring_in(file: &File, shared: &File) -> io::Result<()> {
    let mut known = [0; WORDS * 8];
    let Some(kept) = words_in(file)? else {
        shared.write_all_at(&known, group::KEPT_AT)?;
        file.set_len(FILE_BYTES as u64)?;
        return file.write_all_at(&Estimates::new(&words_of(&[]), 0).file(), 0);
    };
    shared.read_exact_at(&mut known, group::KEPT_AT)?;
    let words = words_of(&known);
    let all = Estimates::new(&words, seconds_now());
    for slot in all.take_over(Estimates::new(&kept, 0), Timestamp::new(0)) {
        let (at, bytes) = all.bytes_of_slot(slot);
        shared.write_all_at(&bytes, group::KEPT_AT + at as u64)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Memory that processes share, and a user's cache.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn shared(&self) -> File {
            let mut options = fs::OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let file = options.open(self.path("shared")).unwrap();
            let bytes = group::KEPT_AT + WORDS as u64 * 16;
            file.set_len(bytes).unwrap();
            file
        }

        fn keep(&self) -> Option<String> {
            keep(&self.path("cache/ahead"), &self.shared())
        }

        fn known(&self) -> usize {
            let mut known = [0; WORDS * 8];
            self.shared()
                .read_exact_at(&mut known, group::KEPT_AT)
                .unwrap();
            Estimates::new(&words_of(&known), 0).devices()
        }

        /// A file with one device, learned now.
        fn learned(&self) -> [u8; FILE_BYTES] {
            let words = words_of(&[]);
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let all = Estimates::new(&words, now.unwrap().as_secs());
            let device = SharedEstimate::new();
            device.set_identity(7, DeviceEstimate::FLASH);
            assert!(device.tell(all, DeviceEstimate::ARM, None, Timestamp::new(0)));
            all.file()
        }
    }

    #[test]
    fn what_was_kept_is_brought_into_memory_and_the_file_stays_as_it_is() {
        let machine = Machine::new();
        let kept = machine.path("cache/ahead/devices");
        assert_eq!(machine.keep().as_deref(), kept.to_str());
        assert_eq!(fs::metadata(&kept).unwrap().mode() & 0o777, 0o600);
        fs::write(&kept, machine.learned()).unwrap();
        for _ in 0..2 {
            assert_eq!(machine.keep().as_deref(), kept.to_str());
            assert_eq!(machine.known(), 1);
        }
        assert_eq!(fs::read(&kept).unwrap(), machine.learned());
        fs::remove_file(&kept).unwrap();
        assert!(machine.keep().is_some());
        assert_eq!(machine.known(), 0, "who deletes the file begins anew");
    }

    #[test]
    fn a_damaged_file_or_one_of_another_version_is_begun_anew() {
        let machine = Machine::new();
        let kept = machine.path("cache/ahead/devices");
        assert!(machine.keep().is_some());
        let empty = fs::read(&kept).unwrap();
        let mut newer = machine.learned();
        newer[0] = newer[0].wrapping_add(1);
        let long = [machine.learned().as_slice(), b"x"].concat();
        for damaged in [&newer[..], &long, &long[..100], b"", b"[devices]\n"] {
            fs::write(&kept, damaged).unwrap();
            assert!(machine.keep().is_some());
            assert_eq!(machine.known(), 0);
            assert_eq!(fs::read(&kept).unwrap(), empty);
        }
    }

    #[test]
    fn what_others_could_have_put_there_is_not_used() {
        let machine = Machine::new();
        let kept = machine.path("cache/ahead/devices");
        assert!(machine.keep().is_some());
        fs::set_permissions(&kept, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(machine.keep(), None);
        fs::remove_file(&kept).unwrap();
        symlink(machine.path("elsewhere"), &kept).unwrap();
        assert_eq!(machine.keep(), None);
        assert!(!machine.path("elsewhere").exists());
        fs::remove_file(&kept).unwrap();
        fs::create_dir(&kept).unwrap();
        assert_eq!(machine.keep(), None);
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_done_without() {
        let machine = Machine::new();
        fs::write(machine.path("cache"), "no folder").unwrap();
        assert_eq!(machine.keep(), None);
        assert_eq!(keep(Path::new("relative"), &machine.shared()), None);
        assert_eq!(keep(Path::new("/proc/ahead"), &machine.shared()), None);
    }
}
