//! The shared file in which every process of a run keeps its account: made here, read here, removed
//! here. What its words mean belongs to `ahead_engine::report`.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ahead_engine::report::{DecodeError, FILE_BYTES, Report, decode};
use ahead_sys::process_identity::ProcessIdentity;

/// Why there is no account of a run.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// No folder takes a small file.
    #[error(
        "cannot make a file for the report in {tried}: {source}; set TMPDIR to a writable folder"
    )]
    Create {
        /// Folders tried.
        tried: String,
        /// What the last one answered.
        source: io::Error,
    },
    /// The file cannot be read back.
    #[error("cannot read the account of the run: {0}")]
    Read(#[from] io::Error),
    /// The file's content is not ours.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// The file, removed when dropped. Only its owner may open it (mode 0600).
pub struct AccountFile {
    file: tempfile::NamedTempFile,
}

impl AccountFile {
    /// Makes the file in the first of the usual folders that takes it; memory before disk, so that
    /// keeping the account causes no I/O.
    ///
    /// # Errors
    /// No folder takes it.
    pub fn create() -> Result<Self, AccountError> {
        let file = shared_file(FILE_BYTES as u64)?;
        Ok(Self { file })
    }

    /// Where the library finds it.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Reads the account as it is now. Processes may be writing: words are whole, records may be
    /// half way between two states.
    ///
    /// # Errors
    /// The file cannot be read, or a library of another version wrote it.
    pub fn read(&self) -> Result<Report, AccountError> {
        let mut bytes = Vec::with_capacity(FILE_BYTES);
        let mut file = self.file.as_file();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        Ok(decode(&bytes)?)
    }
}

/// Makes a file of `length` bytes that the processes of a run can map, removed when dropped.
///
/// # Errors
/// No folder takes it.
pub(super) fn shared_file(length: u64) -> Result<tempfile::NamedTempFile, AccountError> {
    let mut folders = vec![PathBuf::from("/dev/shm")];
    folders.extend(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from));
    folders.push(std::env::temp_dir());
    let mut refusal = None;
    for folder in &folders {
        match make_in(folder, length) {
            Ok(file) => return Ok(file),
            Err(error) => refusal = Some(error),
        }
    }
    let tried: Vec<String> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    let source = refusal.unwrap_or_else(|| io::ErrorKind::NotFound.into());
    Err(AccountError::Create {
        tried: tried.join(", "),
        source,
    })
}

/// Names of accounts begin with this and the number of the process that removes them.
const PREFIX: &str = "ahead-account-";

/// Removes accounts in `folder` whose process is gone: it was killed before it could do so itself.
/// What belongs to others stays, as removing it is refused.
fn remove_left_behind(folder: &Path) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split('-').next())
            .and_then(|number| number.parse().ok());
        let has_ended = |pid| ProcessIdentity::of(Path::new("/proc"), pid).is_err();
        if number.is_some_and(has_ended) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn make_in(folder: &Path, length: u64) -> io::Result<tempfile::NamedTempFile> {
    remove_left_behind(folder);
    let file = tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        .tempfile_in(folder)?;
    // Reserved, not only sized: a full tmpfs should refuse here and not kill CMD with SIGBUS.
    rustix::fs::fallocate(
        file.as_file(),
        rustix::fs::FallocateFlags::empty(),
        0,
        length,
    )
    .or_else(|_| rustix::fs::ftruncate(file.as_file(), length))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_account_of_a_killed_run_is_removed_by_the_next_one() {
        let folder = tempfile::tempdir().expect("a folder");
        // No process has this number: it is above the kernel's largest.
        let dead = folder.path().join("ahead-account-4194305-abc");
        let alive = folder
            .path()
            .join(format!("ahead-account-{}-abc", std::process::id()));
        let foreign = folder.path().join("ahead-account-of-mine");
        for path in [&dead, &alive, &foreign] {
            std::fs::write(path, "").expect("a file");
        }
        make_in(folder.path(), 4096).expect("an account");
        assert!(!dead.exists() && alive.exists() && foreign.exists());
    }

    #[test]
    fn a_fresh_account_is_private_empty_and_gone_afterwards() {
        let account = AccountFile::create().expect("a writable folder");
        let path = account.path().to_path_buf();
        let metadata = path.metadata().expect("it exists");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert_eq!(metadata.len(), FILE_BYTES as u64);
        assert_eq!(account.read().expect("it decodes").files.len(), 0);
        drop(account);
        assert!(!path.exists());
    }
}
