//! The allocator of what is linked into the kernel: the kernel's own.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_ulong;

/// The kernel's allocator aligns to this (`ARCH_KMALLOC_MINALIGN`).
const ALIGNMENT_MAX: usize = 8;

unsafe extern "C" {
    fn ahead_disk_allocate(bytes: c_ulong) -> *mut u8;
    fn ahead_disk_free(memory: *mut u8);
}

/// Memory of the kernel.
struct KernelMemory;

/// Where the block lies that the kernel gave for `layout` is kept in front of what we hand out, if
/// the layout wants more than the kernel promises.
const fn extra(layout: Layout) -> usize {
    if layout.align() > ALIGNMENT_MAX {
        layout.align() + size_of::<*mut u8>()
    } else {
        0
    }
}

// SAFETY: blocks come from the kernel's allocator, whole and aligned to 8; for more than that they
// are moved up inside a block that is longer by `extra`, with its start noted in front of them.
unsafe impl GlobalAlloc for KernelMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let extra = extra(layout);
        // SAFETY: any number of bytes may be asked for.
        let block = unsafe { ahead_disk_allocate((layout.size() + extra) as c_ulong) };
        if extra == 0 || block.is_null() {
            return block;
        }
        let first = block.addr() + size_of::<*mut u8>();
        let start = first.next_multiple_of(layout.align());
        // SAFETY: `start` lies inside the block with space for a pointer before it and for
        // `layout.size()` bytes after it.
        unsafe {
            let memory = block.add(start - block.addr());
            memory.cast::<*mut u8>().sub(1).write_unaligned(block);
            memory
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let block = if extra(layout) == 0 {
            memory
        } else {
            // SAFETY: `alloc` noted the start of the block there.
            unsafe { memory.cast::<*mut u8>().sub(1).read_unaligned() }
        };
        // SAFETY: it came from `ahead_disk_allocate`.
        unsafe { ahead_disk_free(block) };
    }
}

#[global_allocator]
static MEMORY: KernelMemory = KernelMemory;
