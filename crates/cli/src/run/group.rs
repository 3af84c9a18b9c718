//! The words in which the processes of a run say what they have asked for, and share what they learn of
//! devices: one small file of each user, in memory, which stays. A run is a number in it.
//!
//! Without it every process has a budget of its own, and learns alone. So whatever is in the way is
//! passed over.

use std::env;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ahead_engine::{estimates, members};
use rustix::fs::FallocateFlags;

use super::own_file::{self, own_id};

/// Number of the run, a colon, and where the file is.
pub const GROUP_VARIABLE: &str = "AHEAD_GROUP";
/// Where it is without a folder of the user's own.
const SHARED_MEMORY: &str = "/dev/shm";
/// Permissions of which the file may have none: who reads it knows what other processes do.
const OF_OTHERS: u32 = 0o077;
/// Members, then what is learned of devices and kept, then what single runs learn of them.
const BYTES: u64 = (members::WORDS + 2 * estimates::WORDS) as u64 * 8;
/// Where the part begins that is kept.
pub const KEPT_AT: u64 = members::WORDS as u64 * 8;

/// The variable for a new run. `None` if it cannot be had, and inside another run, to which everything
/// that is started belongs.
#[must_use]
pub fn of_this_run() -> Option<(String, String)> {
    if env::var_os(GROUP_VARIABLE).is_some() {
        return None;
    }
    let path = path(env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from));
    prepare(&path).ok()?;
    // Any number that no other run has now.
    let run = RandomState::new().hash_one(std::process::id());
    let run = u32::try_from(run >> 32).unwrap_or(0).max(1);
    Some((
        GROUP_VARIABLE.to_owned(),
        format!("{run}:{}", path.to_str()?),
    ))
}

fn path(runtime_folder: Option<PathBuf>) -> PathBuf {
    let is_own = |folder: &PathBuf| {
        let found = fs::symlink_metadata(folder);
        folder.is_absolute()
            && found.is_ok_and(|it| it.is_dir() && it.uid() == own_id() && it.mode() & 0o022 == 0)
    };
    match runtime_folder.filter(is_own) {
        Some(folder) => folder.join(name()),
        None => Path::new(SHARED_MEMORY).join(format!("{}-{}", name(), own_id())),
    }
}

/// Its name. It stays until the machine starts again: what an older version of `ahead` has written there would be read wrongly.
fn name() -> String {
    format!("ahead-members.{}", estimates::VERSION)
}

/// The file of the run that `variable` names, or of the one that this process belongs to.
#[must_use]
pub fn file_of(variable: Option<&str>) -> Option<File> {
    let own = env::var(GROUP_VARIABLE).ok();
    let (_, path) = variable.or(own.as_deref())?.split_once(':')?;
    prepare(Path::new(path)).ok()
}

/// The file of this user's runs, made if there was none.
pub(super) fn file() -> io::Result<File> {
    prepare(&path(env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from)))
}

/// Makes the file, or sees that it is one of ours.
fn prepare(path: &Path) -> io::Result<File> {
    let file = own_file::open(path, OF_OTHERS)?;
    // A page that is missing in a full memory file system would end whoever writes to it.
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, BYTES)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn the_file_is_made_once_and_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("members");
        for _ in 0..2 {
            let length = prepare(&path).unwrap().metadata().unwrap().len();
            assert_eq!(length, BYTES);
        }
    }

    #[test]
    fn what_others_could_have_put_there_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        prepare(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(prepare(&open).is_err());
        let link = folder.path().join("link");
        symlink(folder.path().join("elsewhere"), &link).unwrap();
        assert!(prepare(&link).is_err() && !folder.path().join("elsewhere").exists());
        assert!(prepare(folder.path()).is_err(), "a folder");
        let twice = folder.path().join("twice");
        prepare(&twice).unwrap();
        fs::hard_link(&twice, folder.path().join("again")).unwrap();
        assert!(prepare(&twice).is_err());
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().to_owned();
        assert_eq!(path(Some(own.clone())), own.join(name()));
        fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
        let fallback = path(None);
        assert_eq!(path(Some(own)), fallback);
        assert!(fallback.starts_with(SHARED_MEMORY), "{fallback:?}");
    }
}
