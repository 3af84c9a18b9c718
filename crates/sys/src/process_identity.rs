//! `/proc/PID/stat` - separates a process from a later one that got the same number.

use std::fs;
use std::io;
use std::path::Path;

/// A process, beyond doubt: numbers are used again, but never with the same starting time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Its number.
    pub pid: i32,
    /// When it started, in clock ticks since the machine did.
    pub start_ticks: u64,
}

impl ProcessIdentity {
    /// Identifies the process that has number `pid` now. `NotFound` when there is none, or when it
    /// has ended and only waits for its parent to notice. `proc_root` is normally `/proc`.
    pub fn of(proc_root: &Path, pid: i32) -> io::Result<Self> {
        Ok(Self::with_parent(proc_root, pid)?.0)
    }

    /// The same, and the number of the process that has started it: of who reaps it now.
    pub fn with_parent(proc_root: &Path, pid: i32) -> io::Result<(Self, i32)> {
        let text = fs::read_to_string(proc_root.join(format!("{pid}/stat")))?;
        // The second field is the name in parentheses, and may itself hold blanks and parentheses.
        let behind_name = text.rsplit_once(')').ok_or(io::ErrorKind::InvalidData)?.1;
        let mut fields = behind_name.split_ascii_whitespace();
        let state = fields.next().ok_or(io::ErrorKind::InvalidData)?;
        if matches!(state, "Z" | "X") {
            return Err(io::ErrorKind::NotFound.into());
        }
        let parent = fields.next().and_then(|field| field.parse().ok());
        // Field 22 of the line; the parent was field 4.
        let start_ticks = fields.nth(17).and_then(|field| field.parse().ok());
        let found = Self {
            pid,
            start_ticks: start_ticks.ok_or(io::ErrorKind::InvalidData)?,
        };
        Ok((found, parent.ok_or(io::ErrorKind::InvalidData)?))
    }

    /// Whether this very process still runs. One that cannot be looked at, as no descriptor is left for that, may.
    #[must_use]
    pub fn is_running(&self, proc_root: &Path) -> bool {
        match Self::of(proc_root, self.pid) {
            Ok(now) => now == *self,
            // It may also end between the two calls that read a file.
            Err(error) => {
                error.kind() != io::ErrorKind::NotFound && error.raw_os_error() != Some(libc::ESRCH)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_stat(text: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("7")).unwrap();
        fs::write(root.path().join("7/stat"), text).unwrap();
        root
    }

    #[test]
    fn a_name_with_parentheses_and_blanks_does_not_shift_the_fields() {
        let root = with_stat("7 (a) R (b) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n");
        let found = ProcessIdentity::of(root.path(), 7).unwrap();
        assert_eq!(
            found,
            ProcessIdentity {
                pid: 7,
                start_ticks: 4711
            }
        );
        let with_parent = ProcessIdentity::with_parent(root.path(), 7).unwrap();
        assert_eq!(with_parent, (found, 1));
        assert!(found.is_running(root.path()));
        assert!(
            !ProcessIdentity {
                pid: 7,
                start_ticks: 1
            }
            .is_running(root.path())
        );
    }

    #[test]
    fn a_process_that_has_ended_is_not_found() {
        let root = with_stat("7 (x) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n");
        assert_eq!(
            ProcessIdentity::of(root.path(), 7).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    /// Without a descriptor for `/proc/PID/stat` all processes seemed to have ended, and what was noted of them was forgotten.
    #[test]
    fn a_process_that_cannot_be_looked_at_may_run() {
        let root = tempfile::tempdir().unwrap();
        let process = ProcessIdentity {
            pid: 7,
            start_ticks: 4711,
        };
        assert!(!process.is_running(root.path()));
        // No file, which is another error than that there is none.
        fs::create_dir_all(root.path().join("7/stat")).unwrap();
        assert!(process.is_running(root.path()));
    }

    #[test]
    fn this_test_runs() {
        let pid = i32::try_from(std::process::id()).unwrap();
        assert!(
            ProcessIdentity::of(Path::new("/proc"), pid)
                .unwrap()
                .is_running(Path::new("/proc"))
        );
    }
}
