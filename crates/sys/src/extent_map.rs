//! `FS_IOC_FIEMAP` - where a file lies on its device: its first byte, enough to sort preallocated
//! files by place, or all its extents, which the file system then knows without reading its tables.

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

/// Bytes of a file that lie in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte in the file.
    pub start: u64,
    /// How many.
    pub bytes: u64,
    /// Where the first one lies on the device.
    pub offset: u64,
}

/// `_IOWR('f', 11, struct fiemap)`; the size in it is that of the head without extents, 32.
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B;

/// Byte position on the device of the file's first mapped byte. `None` for a file without blocks.
/// File systems without the call return an error (`Unsupported`).
pub fn first_physical_offset(file: impl AsFd) -> io::Result<Option<u64>> {
    Ok(next_extent(file, 0)?.map(|extent| extent.offset))
}

/// All extents of the file, ascending; neighbours on the device are joined. Errors as of
/// [`first_physical_offset`].
pub fn extents(file: impl AsFd) -> io::Result<Vec<Extent>> {
    let file = file.as_fd();
    let mut extents: Vec<Extent> = Vec::new();
    let mut from = 0;
    while let Some(extent) = next_extent(file, from)? {
        from = extent.start.saturating_add(extent.bytes);
        match extents.last_mut() {
            Some(last)
                if last.start + last.bytes == extent.start
                    && last.offset + last.bytes == extent.offset =>
            {
                last.bytes += extent.bytes;
            }
            _ => extents.push(extent),
        }
    }
    Ok(extents)
}

fn next_extent(file: impl AsFd, from: u64) -> io::Result<Option<Extent>> {
    let mut request = Request {
        start: from,
        length: u64::MAX - from,
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
    let found = request.mapped_extents > 0 && request.extent_length > 0;
    Ok(found.then_some(Extent {
        start: request.extent_logical,
        bytes: request.extent_length,
        offset: request.extent_physical,
    }))
}
