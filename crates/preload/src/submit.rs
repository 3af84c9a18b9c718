//! How a request for pages reaches the kernel: `readahead(2)` by the reader itself.
//!
//! The call only allocates pages and queues requests, work that the kernel's own read-ahead would do
//! in the same place, and the process stays as it was, with no thread that it did not start.
//! Measured choice: docs/decisions/submit.md.
//!
//! Whether pages had to be read is asked first: a range that is in memory needs no request. Where
//! the kernel does not say (before 6.5, and for files of others), the sectors that this thread had
//! read tell, on devices where they are counted.

use std::ffi::c_int;
use std::path::Path;

use ahead_engine::adviser::Answer;
use ahead_engine::counted_reads::CountedReads;
use ahead_sys::block_queue::{DeviceNumber, is_fuse_over};
use ahead_sys::own_usage::own_thread_usage;
use ahead_sys::readahead::readahead;
use ahead_units::{PageCount, PageRange};

use crate::identity::{self, Resident};

/// What is known of the sectors of a block device, and its number.
pub(crate) type CountedDevice<'a> = (&'a CountedReads, DeviceNumber);

/// Asks for `range` of `fd`, which lies on `device`; `None`: on no block device, or on one that nothing is kept of.
pub(crate) fn request(fd: c_int, range: PageRange, device: Option<CountedDevice<'_>>) -> Answer {
    match (Resident { fd }.holds(range), device) {
        (Some(true), _) => Answer::WasCached,
        (Some(false), _) => call(fd, range, Answer::OnItsWay),
        (None, Some((counted_reads, number))) => counted_reads.ask(
            || own_thread_usage().sectors_read,
            || is_fuse_over(Path::new("/sys"), number),
            || call(fd, range, Answer::Unknown),
        ),
        (None, None) => call(fd, range, Answer::Unknown),
    }
}

fn call(fd: c_int, range: PageRange, done: Answer) -> Answer {
    let Some(fd) = identity::borrowed(fd) else {
        return Answer::NotHere;
    };
    let offset = PageCount::new(range.start.get()).bytes().get();
    match readahead(fd, offset, range.len().bytes().get()) {
        Ok(()) => done,
        Err(_) => Answer::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn pages_just_written_are_in_memory_and_need_no_request() {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&[7; 64 << 10]).unwrap();
        let fd = file.as_file().as_raw_fd();
        assert_eq!(request(fd, PageRange::new(0, 16), None), Answer::WasCached);
    }

    #[test]
    fn what_is_not_a_descriptor_is_not_asked() {
        assert_eq!(request(-1, PageRange::new(0, 16), None), Answer::NotHere);
    }
}
