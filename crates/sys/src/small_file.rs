//! `openat`, `read`, `close` - the whole of a small file, into memory of the caller's.
//!
//! For files of /proc and /sys, which are made when they are read. Nothing is allocated and no
//! function of the C library is called, so that a library inside another program can read them on
//! its read path, and in front of its own `open` and `read`. What the text means, its own file says.

use std::ffi::CStr;
use std::fmt;
use std::os::fd::{AsFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Longest path, with the zero behind it. It lies on the stack of whatever thread reads, which may
/// be a small one, so it is a quarter of what the kernel takes; paths of /proc and /sys with the
/// long names that container managers give to groups are a fifth of this.
const PATH_BYTES_MAX: usize = 1024;

/// Reads all of the file into `buffer`. `FBIG` when it does not fit; half a file could end in half
/// a number. An empty buffer is too small for anything.
pub fn read_small_file<'a>(path: &CStr, buffer: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let length = read_to_end(&file, buffer);
    // Dropping the descriptor would call the C library's `close`.
    // SAFETY: the descriptor was opened above and belongs to nothing else.
    unsafe { rustix::io::close(file.into_raw_fd()) };
    Ok(&buffer[..length?])
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

/// A path that is put together in place: a root folder, and what is below it.
pub struct SmallPath {
    bytes: [u8; PATH_BYTES_MAX],
    length: usize,
    is_too_long: bool,
}

impl SmallPath {
    /// Begins with `root`.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        let mut path = Self {
            bytes: [0; PATH_BYTES_MAX],
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
        if end < PATH_BYTES_MAX {
            self.bytes[self.length..end].copy_from_slice(more);
            self.length = end;
        } else {
            self.is_too_long = true;
        }
        self
    }

    /// The path for a call. `NAMETOOLONG` when something did not fit, `INVAL` with a zero inside.
    pub fn as_c_str(&self) -> Result<&CStr, Errno> {
        if self.is_too_long {
            return Err(Errno::NAMETOOLONG);
        }
        CStr::from_bytes_with_nul(&self.bytes[..=self.length]).map_err(|_| Errno::INVAL)
    }

    /// [`read_small_file`] of this path.
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], Errno> {
        read_small_file(self.as_c_str()?, buffer)
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
        self.as_c_str().fmt(f)
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

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("value"), "128\n").unwrap();
        let mut path = SmallPath::below(root.path());
        path.push(b"/value");
        assert_eq!(path.read(&mut [0; 5]), Ok(&b"128\n"[..]));
        assert_eq!(path.read(&mut [0; 4]), Err(Errno::FBIG));
        assert_eq!(path.read(&mut []), Err(Errno::FBIG));
        path.push(b"/nothing");
        assert_eq!(path.read(&mut [0; 5]), Err(Errno::NOTDIR));
    }

    #[test]
    fn a_path_that_is_too_long_or_has_a_zero_is_an_error_and_not_another_path() {
        let path = |more: &[u8]| {
            let mut path = SmallPath::below(Path::new("/"));
            path.push(more).as_c_str().map(CStr::to_owned)
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
