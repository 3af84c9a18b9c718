//! `openat`, `read`, `close` - the whole of a small file, into memory of its own.
//!
//! For files of /proc and /sys, which are made when they are read. Nothing is allocated and no
//! function of the C library is called, so that a library inside another program can read them on
//! its read path, and in front of its own `open` and `read`. What the text means, its own file says.

use std::ffi::CStr;
use std::fmt;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::scratch::Scratch;

/// Longest path, with the zero behind it: a quarter of what the kernel takes. Paths of /proc and
/// /sys with the long names that container managers give to groups are a fifth of this.
const PATH_BYTES_MAX: usize = 1024;

/// Reads all of the file into `buffer`. `FBIG` when it does not fit; half a file could end in half
/// a number. An empty buffer is too small for anything.
fn read_small_file<'a>(path: &CStr, buffer: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let length = read_to_end(&file, buffer);
    close_by_kernel(file);
    Ok(&buffer[..length?])
}

/// Closes `file` past the C library, whose `close` would be called where it is dropped.
pub(crate) fn close_by_kernel(file: OwnedFd) {
    // SAFETY: it is owned, and belongs to nothing else.
    unsafe { rustix::io::close(file.into_raw_fd()) };
}

fn read_to_end(file: impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    let mut length = 0;
    // The last byte is never filled by a file that fits: only a read of nothing says that the file
    // is at its end.
    while length < buffer.len() {
        match rustix::io::read(&file, &mut buffer[length..])? {
            0 => return Ok(length),
            more => length += more,
        }
    }
    Err(Errno::FBIG)
}

/// A path that is put together in place: a root folder, and what is below it; and then the text of
/// that file.
pub struct SmallPath {
    /// The path in front, the text behind it.
    memory: Result<Scratch, Errno>,
    length: usize,
    is_too_long: bool,
}

impl SmallPath {
    /// Begins with `root`.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        let mut path = Self {
            memory: Scratch::new(),
            length: 0,
            is_too_long: false,
        };
        path.push(root.as_os_str().as_bytes());
        path
    }

    /// Adds `more` as it is; slashes are the caller's.
    pub fn push(&mut self, more: &[u8]) -> &mut Self {
        let end = self.length + more.len();
        // One byte is kept for the zero.
        self.is_too_long |= end >= PATH_BYTES_MAX;
        if let Ok(memory) = &mut self.memory
            && !self.is_too_long
        {
            memory[self.length..end].copy_from_slice(more);
            self.length = end;
        }
        self
    }

    /// The path for a call, and space for a text. `NAMETOOLONG` when something did not fit, `INVAL` with a zero inside,
    /// `NOMEM` without memory.
    pub fn parts(&mut self) -> Result<(&CStr, &mut [u8]), Errno> {
        let memory = self.memory.as_mut().map_err(|error| *error)?;
        if self.is_too_long {
            return Err(Errno::NAMETOOLONG);
        }
        let (path, text) = memory.split_at_mut(PATH_BYTES_MAX);
        let path = CStr::from_bytes_with_nul(&path[..=self.length]).map_err(|_| Errno::INVAL)?;
        Ok((path, text))
    }

    /// The text of the file: less than 7 KiB, of which /proc/meminfo takes 1600 bytes on today's kernels.
    pub fn read(&mut self) -> Result<&[u8], Errno> {
        let (path, text) = self.parts()?;
        read_small_file(path, text)
    }
}

impl fmt::Write for SmallPath {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

impl fmt::Debug for SmallPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmallPath")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

/// The number that a file holds alone on its line, as most files of sysfs do. `None` for anything
/// else, also for a number that is too large.
#[must_use]
pub fn number(text: &[u8]) -> Option<u64> {
    let digits = text.trim_ascii();
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &byte| {
        let digit = char::from(byte).to_digit(10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::SCRATCH_BYTES;

    const TEXT_BYTES_MAX: usize = SCRATCH_BYTES - PATH_BYTES_MAX;

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("value");
        std::fs::write(&file, "128\n").unwrap();
        let mut path = SmallPath::below(root.path());
        path.push(b"/value");
        assert_eq!(path.read(), Ok(&b"128\n"[..]));
        for (space, read) in [(5, Ok(4)), (4, Err(Errno::FBIG)), (0, Err(Errno::FBIG))] {
            let text =
                read_small_file(path.parts().unwrap().0, &mut [0; 5][..space]).map(<[u8]>::len);
            assert_eq!(text, read, "{space}");
        }
        std::fs::write(&file, [b'1'; TEXT_BYTES_MAX]).unwrap();
        assert_eq!(path.read(), Err(Errno::FBIG));
        std::fs::write(&file, [b'1'; TEXT_BYTES_MAX - 1]).unwrap();
        assert_eq!(path.read().map(<[u8]>::len), Ok(TEXT_BYTES_MAX - 1));
        path.push(b"/nothing");
        assert_eq!(path.read(), Err(Errno::NOTDIR));
    }

    #[test]
    fn a_path_that_is_too_long_or_has_a_zero_is_an_error_and_not_another_path() {
        let path = |more: &[u8]| {
            let mut path = SmallPath::below(Path::new("/"));
            path.push(more).parts().map(|(path, _)| path.to_owned())
        };
        assert_eq!(path(&[b'a'; PATH_BYTES_MAX]), Err(Errno::NAMETOOLONG));
        assert_eq!(path(b"a\0b"), Err(Errno::INVAL));
        let longest = path(&[b'a'; PATH_BYTES_MAX - 2]).unwrap();
        assert_eq!(longest.to_bytes().len(), PATH_BYTES_MAX - 1);
    }

    #[test]
    fn a_number_stands_alone_on_its_line() {
        assert_eq!(number(b"4096\n"), Some(4096));
        assert_eq!(number(b" 7 "), Some(7));
        assert_eq!(number(b"18446744073709551615\n"), Some(u64::MAX));
        for text in ["", "\n", "max\n", "-1\n", "1 2\n", "18446744073709551616\n"] {
            assert_eq!(number(text.as_bytes()), None, "{text:?}");
        }
    }
}
