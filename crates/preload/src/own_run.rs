//! The run that this process belongs to: what it shares with the other processes, and what of that is
//! kept for later runs.
//!
//! One file in memory holds the words of all runs of a user, with a number for each. What is learned of
//! devices lies there too, and goes into a file of the user's cache when it has changed by enough:
//! written, never mapped, as memory behind which a disk is full or a file was cut off would end the
//! program. Without any of that a process is on its own.

use std::ffi::CStr;
use std::os::fd::{AsFd, IntoRawFd};
use std::sync::atomic::AtomicU64;

use ahead_engine::estimates::{self, Estimates};
use ahead_engine::members::{self, Members};
use ahead_sys::counter::realtime_s;
use ahead_sys::scratch::Scratch;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::process::Resource;

use crate::shared::map_words;
use crate::{environment, ticks};

/// The value of `AHEAD_DEVICES` with which the processes of a run share what they learn, and nothing is
/// kept.
const ONLY_THIS_RUN: &[u8] = b"run";
/// What the path of the file in which it is kept begins with. Any other value: a process learns alone.
const KEPT: &[u8] = b"/";

/// What is shared.
#[derive(Clone, Copy)]
pub(crate) struct OwnRun {
    /// Its number; 0 for a process on its own.
    pub(crate) number: u32,
    members: &'static [AtomicU64],
    estimates: Estimates<'static>,
    /// Where what is learned is kept.
    kept: Option<&'static CStr>,
}

impl OwnRun {
    /// A process on its own: nothing is shared.
    pub(crate) const fn alone() -> Self {
        Self {
            number: 0,
            members: &[],
            estimates: Estimates::new(&[], 0),
            kept: None,
        }
    }

    /// Joins the run that was handed over, if there is one.
    pub(crate) fn join() -> Self {
        let group = environment::value(c"AHEAD_GROUP");
        group.and_then(Self::of_group).unwrap_or(Self::alone())
    }

    /// From `NUMBER:PATH`.
    fn of_group(text: &'static CStr) -> Option<Self> {
        let bytes = text.to_bytes_with_nul();
        let colon = bytes.iter().position(|byte| *byte == b':')?;
        let (number, path) = (bytes.get(..colon)?, bytes.get(colon + 1..)?);
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        let path = CStr::from_bytes_with_nul(path).ok()?;
        // As `ahead run` has made it: members, estimates that are kept, those of single runs.
        let words = map_words(path, (members::WORDS + 2 * estimates::WORDS) * 8)?;
        let (members, devices) = words.split_at(members::WORDS);
        let (kept, of_runs) = devices.split_at(estimates::WORDS);
        let (kept_in, words) = match environment::value(c"AHEAD_DEVICES") {
            Some(only) if only.to_bytes() == ONLY_THIS_RUN => (None, of_runs),
            Some(path) if path.to_bytes().starts_with(KEPT) => (Some(path), kept),
            _ => (None, &[][..]),
        };
        Some(Self {
            number,
            members,
            estimates: Estimates::new(words, clock_s()),
            kept: kept_in,
        })
    }

    /// The words in which the processes say what they have asked for.
    pub(crate) fn members(&self) -> Members<'static> {
        Members::new(self.members)
    }

    /// What is known of devices.
    pub(crate) fn estimates(&self) -> Estimates<'static> {
        self.estimates
    }

    /// The identity under which a device is known here, where anything is shared: in another run it is
    /// another one, unless it is kept. `find` looks at the device; 0 is no identity.
    pub(crate) fn identity(&self, find: impl FnOnce() -> Option<u64>) -> u64 {
        if self.estimates.is_none() {
            return 0;
        }
        let run = if self.kept.is_some() { 0 } else { self.number };
        let number = u64::from(run).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        find().map_or(0, |device| (device ^ number).max(1))
    }

    /// Writes what is known of devices into the file that was handed over. What is in the way is passed
    /// over.
    pub(crate) fn keep(&self) {
        let _ = self.kept.and_then(|path| write(path, self.estimates));
    }
}

fn write(path: &CStr, estimates: Estimates<'_>) -> Option<()> {
    let mut memory = Scratch::new().ok()?;
    let bytes = memory.first_chunk_mut()?;
    estimates.put_file(bytes);
    // A write beyond the limit would end the program.
    let limit = rustix::process::getrlimit(Resource::Fsize).current;
    if limit.is_some_and(|limit| limit < bytes.len() as u64) {
        return None;
    }
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let written = write_into(&file, bytes);
    // Dropping the descriptor would call our own hook.
    // SAFETY: the descriptor was opened above and belongs to nothing else.
    unsafe { rustix::io::close(file.into_raw_fd()) };
    written
}

/// Only over a file of the same kind: the path may have another meaning where this process lives.
fn write_into(file: impl AsFd, bytes: &[u8; estimates::FILE_BYTES]) -> Option<()> {
    let facts = rustix::fs::fstat(&file).ok()?;
    let is_file = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
    let has_length = usize::try_from(facts.st_size) == Ok(bytes.len());
    let mut magic = [0; 8];
    let length = rustix::io::read(&file, &mut magic).ok()?;
    if !is_file || !has_length || length != 8 || u64::from_ne_bytes(magic) != estimates::MAGIC {
        return None;
    }
    rustix::io::pwrite(&file, bytes, 0).ok().map(|_| ())
}

/// Seconds from 1970 to the zero of the clock by which everything here happens.
fn clock_s() -> u64 {
    realtime_s().saturating_sub(ticks::monotonic_ns() / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use ahead_engine::estimates::{FILE_BYTES, words_of, words_of_file};

    use super::*;

    fn write_to(path: &Path) -> Option<()> {
        let words = words_of(&7_u64.to_ne_bytes());
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        write(&path, Estimates::new(&words, 0))
    }

    #[test]
    fn only_a_file_of_estimates_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let empty = Estimates::new(&words_of(&[]), 0).file();
        fs::write(at("devices"), empty).unwrap();
        assert_eq!(write_to(&at("devices")), Some(()));
        let written = fs::read(at("devices")).unwrap();
        let words = words_of_file(&written).expect("the same kind of file");
        assert_eq!(Estimates::new(&words, 0).devices(), 1);

        fs::write(at("other"), [9; FILE_BYTES]).unwrap();
        fs::write(at("short"), &empty[..FILE_BYTES - 8]).unwrap();
        symlink(at("devices"), at("link")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        for name in ["other", "short", "link", "folder", "nothing"] {
            assert_eq!(write_to(&at(name)), None, "{name}");
        }
        assert_eq!(fs::read(at("other")).unwrap(), [9; FILE_BYTES]);
        assert!(!at("nothing").exists());
    }

    #[test]
    fn what_is_not_kept_is_known_to_one_run_only() {
        static NO_DEVICE: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
        let run = |number, kept| OwnRun {
            number,
            kept,
            estimates: Estimates::new(&NO_DEVICE, 0),
            ..OwnRun::alone()
        };
        assert_eq!(OwnRun::alone().identity(|| panic!("is not looked at")), 0);
        let (one, two) = (run(1, None), run(2, None));
        assert_ne!(one.identity(|| Some(5)), two.identity(|| Some(5)));
        let (one, two) = (run(1, Some(c"/x")), run(2, Some(c"/x")));
        assert_eq!(one.identity(|| Some(5)), two.identity(|| Some(5)));
        assert_eq!((one.identity(|| None), one.identity(|| Some(0))), (0, 1));
    }
}
