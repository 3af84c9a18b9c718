//! `fopen`, `getc`, `fgets`, `fread` - reading through the C library's buffer, as C programs do.
//!
//! For measuring what a call costs that is served from that buffer: each method is one call of the
//! C library, through the dynamic linker, so that an interposed library is met. See `man 3 stdio`.

use std::ffi::{CString, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

unsafe extern "C" {
    /// What the C macro of this name calls; the libc crate has only `fgetc`.
    fn getc(stream: *mut libc::FILE) -> c_int;
}

/// A `FILE` open for reading. Closed when dropped.
#[derive(Debug)]
pub struct ReadStream(NonNull<libc::FILE>);

impl ReadStream {
    /// `fopen(path, "r")`.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: both arguments are C strings that outlive the call.
        let stream = unsafe { libc::fopen(path.as_ptr(), c"r".as_ptr()) };
        NonNull::new(stream)
            .map(Self)
            .ok_or_else(io::Error::last_os_error)
    }

    /// The next byte; `None` at the end of the file and after an error, as in C.
    #[inline]
    pub fn getc(&mut self) -> Option<u8> {
        // SAFETY: the stream is open until it is dropped, and borrowed nowhere else.
        let byte = unsafe { getc(self.0.as_ptr()) };
        u8::try_from(byte).ok()
    }

    /// `fgets` into `line`: false at the end of the file and after an error. A buffer that is
    /// longer than C can say is used in part.
    #[inline]
    pub fn fgets(&mut self, line: &mut [u8]) -> bool {
        let length = c_int::try_from(line.len()).unwrap_or(c_int::MAX);
        // SAFETY: the stream is open and ours; the buffer has at least `length` bytes.
        let answer = unsafe { libc::fgets(line.as_mut_ptr().cast(), length, self.0.as_ptr()) };
        !answer.is_null()
    }

    /// `fread` of single bytes into `bytes`; how many came. Fewer than wanted at the end of the
    /// file and after an error.
    #[inline]
    pub fn fread(&mut self, bytes: &mut [u8]) -> usize {
        // SAFETY: the stream is open and ours; the buffer has as many bytes as are wanted.
        unsafe { libc::fread(bytes.as_mut_ptr().cast(), 1, bytes.len(), self.0.as_ptr()) }
    }

    /// `rewind`: back to the beginning.
    pub fn rewind(&mut self) {
        // SAFETY: the stream is open and ours.
        unsafe { libc::rewind(self.0.as_ptr()) }
    }
}

impl Drop for ReadStream {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and not used after this.
        unsafe { libc::fclose(self.0.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn bytes_lines_and_records_follow_each_other_to_the_end() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"ab\ncdefg").unwrap();
        let mut stream = ReadStream::open(file.path()).unwrap();
        assert_eq!(stream.getc(), Some(b'a'));
        let mut line = [0; 8];
        assert!(stream.fgets(&mut line));
        assert_eq!(&line[..3], b"b\n\0");
        assert_eq!(stream.fread(&mut line), 5);
        assert_eq!((stream.getc(), stream.fgets(&mut line)), (None, false));
        stream.rewind();
        assert_eq!(stream.getc(), Some(b'a'));
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        let error = ReadStream::open(Path::new("/no/such/file")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
