//! Memory that costs nothing until it is touched: how the library keeps large tables inside a
//! process without allocating on a read.

use std::ptr::null_mut;

use rustix::mm::{MapFlags, ProtFlags};

/// An array of `count` zeroed values that lives as long as the process; `None` without address
/// space. Pages appear when they are first written.
///
/// # Safety
///
/// All-zero bytes must be a valid `T`, and `T` must not need dropping.
pub(crate) unsafe fn zeroed_array<T>(count: usize) -> Option<&'static [T]> {
    let bytes = count.checked_mul(size_of::<T>())?;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
    let address = unsafe { rustix::mm::mmap_anonymous(null_mut(), bytes, access, flags) }.ok()?;
    // SAFETY: page-aligned, `bytes` long, zeroed, never unmapped; the caller vouches for `T`.
    Some(unsafe { std::slice::from_raw_parts(address.cast::<T>(), count) })
}
