//! `FS_IOC_FIEMAP` - where a file lies on its device.
//!
//! Only the first extent is returned: enough to sort preallocated files by place.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The kernel's `struct fiemap` with space for one `struct fiemap_extent`.
#[repr(C)]
#[derive(Default)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extent_logical: u64,
    extent_physical: u64,
    extent_length: u64,
    extent_reserved: [u64; 2],
    extent_flags: u32,
    extent_reserved_end: [u32; 3],
}

/// `_IOWR('f', 11, struct fiemap)`; the size in it is that of the head without extents, 32.
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B;

/// Byte position on the device of the file's first mapped byte. `None` for a file without blocks.
/// File systems without the call return an error (`Unsupported`).
pub fn first_physical_offset(file: impl AsFd) -> io::Result<Option<u64>> {
    let mut request = Request {
        length: u64::MAX,
        extent_count: 1,
        ..Request::default()
    };
    // SAFETY: the kernel writes at most `extent_count` extents behind the head, and `Request` has
    // space for that one.
    let result = unsafe {
        libc::ioctl(
            file.as_fd().as_raw_fd(),
            FS_IOC_FIEMAP,
            std::ptr::from_mut(&mut request),
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((request.mapped_extents > 0).then_some(request.extent_physical))
}
