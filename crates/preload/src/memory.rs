//! Memory that costs nothing until it is touched: how the library keeps large tables inside a
//! process without allocating on a read. And memory of the program's behind a pointer that may be a bad one.

use libc::iovec;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::mm::{Advice, MapFlags, ProtFlags};

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
    // A machine may make 2 MiB of memory of the first byte that is written: for a table of which a page is used, in each process.
    // A kernel without large pages refuses, and needs none of it.
    // SAFETY: the mapping is ours, and what it holds stays.
    let _ = unsafe { rustix::mm::madvise(address, bytes, Advice::LinuxNoHugepage) };
    // SAFETY: page-aligned, `bytes` long, zeroed, never unmapped; the caller vouches for `T`.
    Some(unsafe { std::slice::from_raw_parts(address.cast::<T>(), count) })
}

/// The kernel does not copy for us: it, or a filter of system calls, has said so once.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);

/// Copies as many values to `to` as it holds from `address`, a pointer of the program's. `None`: it is a bad one, which the
/// kernel finds out, or nothing is copied here.
///
/// # Safety
///
/// All bytes must be a valid `T`.
pub(crate) unsafe fn copy_from<T: Copy>(address: *const T, to: &mut [T]) -> Option<()> {
    if IS_REFUSED.load(Relaxed) {
        return None;
    }
    let bytes = size_of_val(to);
    let part = |base: *mut T| iovec {
        iov_base: base.cast(),
        iov_len: bytes,
    };
    let (from, to) = (part(address.cast_mut()), part(to.as_mut_ptr()));
    // Not by the C library's names, in front of which others may stand. This thread lives, what the first one may not do.
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    // SAFETY: what is written is `to`, all of which the caller has lent us, with bytes that the caller vouches for.
    let copied = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            thread,
            &raw const to,
            1_usize,
            &raw const from,
            1_usize,
            0_usize,
        )
    };
    if copied < 0 {
        let errno = rustix::io::Errno::from_io_error(&std::io::Error::last_os_error());
        let is_for_ever = matches!(
            errno,
            Some(rustix::io::Errno::PERM | rustix::io::Errno::NOSYS)
        );
        IS_REFUSED.fetch_or(is_for_ever, Relaxed);
    }
    (usize::try_from(copied) == Ok(bytes)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_a_good_pointer_is_copied_and_behind_a_bad_one_nothing() {
        let (numbers, mut copied) = ([7_u64, 8, 9], [0; 2]);
        // SAFETY: numbers may have any bytes.
        let mut copy = |address| unsafe { copy_from(address, &mut copied) };
        assert_eq!(copy(std::ptr::without_provenance(8)), None);
        assert_eq!(copy(std::ptr::null()), None);
        assert_eq!(copy(&raw const numbers[1]), Some(()));
        assert_eq!(copied, [8, 9]);
    }

    /// With `always` in /sys/kernel/mm/transparent_hugepage/enabled each process had 8 to 10 MB of tables in memory, for some KiB.
    #[test]
    fn tables_are_not_made_of_large_pages() {
        // SAFETY: a byte may be zero.
        let table = unsafe { zeroed_array::<u8>(8 << 20) }.unwrap();
        let address = table.as_ptr().addr();
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let range = |line: &str| {
            let (start, end) = line.split(' ').next()?.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            Some(number(start)?..number(end)?)
        };
        let ours = maps
            .lines()
            .skip_while(|line| !range(line).is_some_and(|range| range.contains(&address)));
        let flags = ours
            .into_iter()
            .find_map(|line| line.strip_prefix("VmFlags:"))
            .unwrap();
        assert!(flags.split_whitespace().any(|flag| flag == "nh"), "{flags}");
    }
}
