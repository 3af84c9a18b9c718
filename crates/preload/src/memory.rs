//! Memory that costs nothing until it is touched: how the library keeps large tables inside a
//! process without allocating on a read.

/// An array of `count` zeroed values that lives as long as the process; `None` without address
/// space. Pages appear when they are first written.
///
/// # Safety
///
/// All-zero bytes must be a valid `T`, and `T` must not need dropping.
pub(crate) unsafe fn zeroed_array<T>(count: usize) -> Option<&'static [T]> {
    let bytes = count.checked_mul(size_of::<T>())?;
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
    let address = unsafe {
        libc::syscall(
            libc::SYS_mmap,
            0_usize,
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            // The seventh argument travels on the stack, where only its own width is written.
            0_usize,
        )
    };
    if address == -1 {
        return None;
    }
    let address =
        std::ptr::with_exposed_provenance::<T>(usize::from_ne_bytes(address.to_ne_bytes()));
    // SAFETY: page-aligned, `bytes` long, zeroed, never unmapped; the caller vouches for `T`.
    Some(unsafe { std::slice::from_raw_parts(address, count) })
}
