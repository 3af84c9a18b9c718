//! How a request for pages reaches the kernel: `readahead(2)` by the reader itself.
//!
//! The call only allocates pages and queues requests, work that the kernel's own read-ahead would do
//! in the same place, and the process stays as it was, with no thread that it did not start.
//! Measured choice: docs/decisions/submit.md.
//!
//! Whether pages had to be read is asked first: a range that is in memory needs no request. Where
//! the kernel does not say (before 6.5, for files of others, and for those of overlays), the sectors that this thread had
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

/// What is known of the sectors of a device, and its number.
pub(crate) type CountedDevice<'a> = (&'a CountedReads, DeviceNumber);

/// Asks for `range` of what `resident` tells of, which lies on `device`; `None`: where sectors say nothing, or none are kept.
pub(crate) fn request(
    resident: &Resident,
    range: PageRange,
    device: Option<CountedDevice<'_>>,
) -> Answer {
    let fd = resident.fd;
    match (resident.holds(range), device) {
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
    use ahead_engine::adviser::Residency as _;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn pages_just_written_are_in_memory_and_need_no_request_unless_an_overlay_hides_them() {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&[7; 64 << 10]).unwrap();
        let range = PageRange::new(0, 16);
        let of = |is_of_overlay| Resident {
            fd: file.as_file().as_raw_fd(),
            is_of_overlay,
        };
        assert_eq!(request(&of(false), range, None), Answer::WasCached);
        // The kernel's answer is not that for an overlay, and what it had read tells.
        assert_eq!(of(true).holds(range), None);
        assert_eq!(of(true).evicted(range), None);
        assert_eq!(request(&of(true), range, None), Answer::Unknown);
    }

    #[test]
    fn what_is_not_a_descriptor_is_not_asked() {
        let nothing = Resident {
            fd: -1,
            is_of_overlay: false,
        };
        let answer = request(&nothing, PageRange::new(0, 16), None);
        assert_eq!(answer, Answer::NotHere);
    }
}
