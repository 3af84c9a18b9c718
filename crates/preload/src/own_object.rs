//! `_dl_find_object` for the unwinder that is linked in: the one function of glibc 2.35 that this library needed. On a system
//! with an older C library the loader ends every program that this library is preloaded into.
//!
//! The unwinder is ours alone, and begins and ends in our own frames: from a broken invariant to [`guard`](crate::guard). So the only
//! object that it is to find is this library, whose head the linker tells us. The symbol is hidden: programs have the C library's.

use std::ffi::{c_int, c_void};

/// The head of glibc's `struct dl_find_object`.
#[repr(C)]
struct FoundObject {
    flags: u64,
    map_start: *const c_void,
    map_end: *const c_void,
    link_map: *const c_void,
    eh_frame: *const c_void,
}

unsafe extern "C" {
    /// By the linker: where this object begins, with its ELF header.
    #[link_name = "__ehdr_start"]
    static HEAD: libc::Elf64_Ehdr;
}

#[cfg(not(test))]
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl _dl_find_object",
    ".hidden _dl_find_object",
    ".type _dl_find_object, @function",
    "_dl_find_object:",
    "jmp {find}",
    find = sym find,
);

#[cfg(not(test))]
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".globl _dl_find_object",
    ".hidden _dl_find_object",
    ".type _dl_find_object, @function",
    "_dl_find_object:",
    "b {find}",
    find = sym find,
);

/// 0: the code at `address` is part of this library, which `found` describes. The map of the loader is none, which only debuggers ask for.
///
/// # Safety
/// `found` can be written to.
unsafe extern "C" fn find(address: *const c_void, found: *mut FoundObject) -> c_int {
    let head = &raw const HEAD;
    // SAFETY: the head of a loaded object, and of its parts, which lie in the same mapping.
    let (parts, count) = unsafe {
        let offset = usize::try_from((*head).e_phoff).unwrap_or(0);
        let parts = head.byte_add(offset).cast::<libc::Elf64_Phdr>();
        (parts, usize::from((*head).e_phnum))
    };
    let (mut end, mut eh_frame) = (0, 0);
    for number in 0..count {
        // SAFETY: there are so many.
        let part = unsafe { &*parts.add(number) };
        let start = usize::try_from(part.p_vaddr).unwrap_or(0);
        match part.p_type {
            libc::PT_LOAD => end = end.max(start + usize::try_from(part.p_memsz).unwrap_or(0)),
            libc::PT_GNU_EH_FRAME => eh_frame = start,
            _ => {}
        }
    }
    let base = head.addr();
    if eh_frame == 0 || !(base..base + end).contains(&address.addr()) {
        return -1;
    }
    // SAFETY: inside this object, or its end; `found` by this function's own condition.
    unsafe {
        *found = FoundObject {
            flags: 0,
            map_start: head.cast(),
            map_end: head.byte_add(end).cast(),
            link_map: std::ptr::null(),
            eh_frame: head.byte_add(eh_frame).cast(),
        };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the unwinder looks for its tables decides whether a broken invariant ends here or ends the program.
    #[test]
    fn this_object_is_found_and_no_other() {
        let mut found = std::mem::MaybeUninit::<FoundObject>::uninit();
        let inside: *const c_void = find as *const c_void;
        // SAFETY: the buffer is ours.
        assert_eq!(unsafe { find(inside, found.as_mut_ptr()) }, 0);
        // SAFETY: filled.
        let found = unsafe { found.assume_init() };
        assert!((found.map_start.addr()..found.map_end.addr()).contains(&inside.addr()));
        assert!((found.map_start.addr()..found.map_end.addr()).contains(&found.eh_frame.addr()));
        // SAFETY: a C string.
        let theirs = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
        assert!(!theirs.is_null());
        let mut words = [0_usize; 16];
        // SAFETY: glibc's function of this signature; its structure has twelve words.
        let result = unsafe {
            std::mem::transmute::<*mut c_void, extern "C" fn(*const c_void, *mut usize) -> c_int>(
                theirs,
            )(inside, words.as_mut_ptr())
        };
        assert_eq!((result, words[4]), (0, found.eh_frame.addr()));
        let mut unused = std::mem::MaybeUninit::<FoundObject>::uninit();
        // SAFETY: the buffer is ours.
        assert_eq!(unsafe { find(theirs, unused.as_mut_ptr()) }, -1);
    }
}
