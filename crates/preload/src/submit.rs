//! How a request for pages reaches the kernel: `readahead(2)` by the reader itself.
//!
//! The call only allocates pages and queues requests, work that the kernel's own read-ahead would do
//! in the same place, and the process stays as it was, with no thread that it did not start.
//! Measured choice: docs/decisions/submit.md.
//!
//! Whether pages had to be read is asked first: a range that is in memory needs no request. Where
//! the kernel does not say (before 6.5, and for files of others), the sectors that this thread had
//! read tell, on file systems that count them.

use std::ffi::c_int;

use ahead_engine::adviser::Answer;
use ahead_sys::own_usage::own_thread_usage;
use ahead_sys::readahead::readahead;
use ahead_units::{PageCount, PageRange};

use crate::identity::{self, Resident};

/// Asks for `range` of `fd`. `counts_sectors`: the file lies on a block device, whose reads the
/// kernel counts for the thread that asks.
pub(crate) fn request(fd: c_int, range: PageRange, counts_sectors: bool) -> Answer {
    match (Resident { fd }.holds(range)) {
        Some(true) => Answer::WasCached,
        Some(false) => call(fd, range, Answer::OnItsWay),
        None if counts_sectors => {
            let before = own_thread_usage().sectors_read;
            let answer = call(fd, range, Answer::WasCached);
            if answer == Answer::WasCached && own_thread_usage().sectors_read > before {
                return Answer::OnItsWay;
            }
            answer
        }
        None => call(fd, range, Answer::Unknown),
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
        assert_eq!(request(fd, PageRange::new(0, 16), true), Answer::WasCached);
    }

    #[test]
    fn what_is_not_a_descriptor_is_not_asked() {
        assert_eq!(request(-1, PageRange::new(0, 16), false), Answer::NotHere);
    }
}
