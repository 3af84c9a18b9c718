//! The C library's own functions: what every hook calls in the end.
//!
//! The next symbols are looked up once, by [`resolve`], which the constructor calls; from then on
//! a call is one relaxed load and a jump. Constructors of other libraries may run before ours, and
//! an allocator may map memory before any of them: until the lookup the plain system calls are
//! made directly, as `dlsym` could allocate and so come back to the very same hook. The same way
//! serves a C library that lacks a newer call, where the kernel's answer is as good. Functions that
//! are more than a system call (the streams, the checked variants) are looked up on first use.
//!
//! All functions here have the contract of the C function with the same name, `errno` included,
//! and that contract is their safety condition. The ABI is "C-unwind" since cancelling a thread
//! unwinds through a blocked `read`, and that has to pass through us as well.

#![cfg_attr(
    test,
    allow(dead_code, reason = "the tests' own program is not interposed")
)]

use libc::{FILE, c_char, c_int, c_long, c_uint, c_void, iovec, mode_t, off_t, size_t, ssize_t};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A position inside a stream, opaque to us: `fpos_t`.
pub(crate) type StreamPosition = libc::fpos_t;

/// The result of a raw system call, as the type that the C function returns.
trait FromRaw {
    fn from_raw(raw: c_long) -> Self;
}

impl FromRaw for c_int {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the kernel returned an int"
    )]
    fn from_raw(raw: c_long) -> Self {
        raw as Self
    }
}

impl FromRaw for ssize_t {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "both are as wide as a register"
    )]
    fn from_raw(raw: c_long) -> Self {
        raw as Self
    }
}

impl FromRaw for off_t {
    fn from_raw(raw: c_long) -> Self {
        raw
    }
}

impl FromRaw for *mut c_void {
    fn from_raw(raw: c_long) -> Self {
        // MAP_FAILED is -1 as well, so errors need no case of their own.
        std::ptr::with_exposed_provenance_mut(usize::from_ne_bytes(raw.to_ne_bytes()))
    }
}

/// Looks `name` up in the libraries after this one. Null when none of them has it.
fn look_up(name: &CStr) -> *mut c_void {
    // SAFETY: `name` is a C string, and RTLD_NEXT is valid from any loaded object.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// Defines one function per line and one slot for the address of the function that it stands for.
/// After `=>`: what to do while the slot is empty, either a system call with its arguments, or
/// `look_up` with the value to return (with `ENOSYS`) when there really is no such function.
macro_rules! next_symbols {
    ($(
        $name:ident($($argument:ident: $type:ty),* $(; $($last:ident: $last_type:ty),+)?) $(-> $result:ty)?
            => $how:tt($($fallback:tt)*);
    )*) => {
        #[expect(non_upper_case_globals, reason = "each slot is named like its function")]
        mod slots {
            use super::{AtomicPtr, c_void, null_mut};
            $(pub(super) static $name: AtomicPtr<c_void> = AtomicPtr::new(null_mut());)*
        }

        /// Fills all slots. Called by the constructor; a second call finds the same addresses.
        pub(crate) fn resolve() {
            $(slots::$name.store(
                look_up(next_symbols!(@name $name)),
                Ordering::Release,
            );)*
        }

        $(
            #[inline]
            pub(crate) unsafe fn $name(
                $($argument: $type,)* $($($last: $last_type,)+)?
            ) $(-> $result)? {
                let address = slots::$name.load(Ordering::Acquire);
                if address.is_null() {
                    // SAFETY: the caller keeps the contract of the C function.
                    return unsafe {
                        next_symbols!(@empty $how $name
                            [$($argument: $type,)*] [$($($last: $last_type),+)?] [$($result)?]
                            ($($fallback)*))
                    };
                }
                // SAFETY: the slot holds the address of the C function of this name, whose
                // signature this is, and the caller keeps its contract.
                unsafe {
                    next_symbols!(@call address
                        [$($argument: $type,)*] [$($($last: $last_type),+)?] [$($result)?])
                }
            }
        )*
    };
    (@name $name:ident) => {
        match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => c"",
        }
    };
    (@call $address:ident [$($argument:ident: $type:ty,)*] [] [$($result:ty)?]) => {
        (std::mem::transmute::<
            *mut c_void,
            unsafe extern "C-unwind" fn($($type),*) $(-> $result)?,
        >($address))($($argument),*)
    };
    (@call $address:ident [$($argument:ident: $type:ty,)*] [$($last:ident: $last_type:ty),+] [$($result:ty)?]) => {
        (std::mem::transmute::<
            *mut c_void,
            unsafe extern "C-unwind" fn($($type,)* ...) $(-> $result)?,
        >($address))($($argument,)* $($last),+)
    };
    (@empty system_call $name:ident $arguments:tt $last:tt [$result:ty] ($($fallback:expr),*)) => {
        <$result>::from_raw(libc::syscall($($fallback),*))
    };
    (@empty look_up $name:ident $arguments:tt $last:tt [$($result:ty)?] ($($absent:expr)?)) => {{
        let address = look_up(next_symbols!(@name $name));
        if address.is_null() {
            *libc::__errno_location() = libc::ENOSYS;
            return $($absent)?;
        }
        slots::$name.store(address, Ordering::Release);
        next_symbols!(@call address $arguments $last [$($result)?])
    }};
}

next_symbols! {
    // Reading through a descriptor.
    read(fd: c_int, buffer: *mut c_void, count: size_t) -> ssize_t
        => system_call(libc::SYS_read, fd, buffer, count);
    pread(fd: c_int, buffer: *mut c_void, count: size_t, offset: off_t) -> ssize_t
        => system_call(libc::SYS_pread64, fd, buffer, count, offset);
    readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t
        => system_call(libc::SYS_readv, fd, parts, count);
    preadv(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t
        => system_call(libc::SYS_preadv, fd, parts, count, offset, 0_usize);
    preadv2(fd: c_int, parts: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
        => system_call(libc::SYS_preadv2, fd, parts, count, offset, 0_usize, flags);
    __read_chk(fd: c_int, buffer: *mut c_void, count: size_t, size: size_t) -> ssize_t
        => look_up(-1);
    __pread_chk(fd: c_int, buffer: *mut c_void, count: size_t, offset: off_t, size: size_t)
        -> ssize_t => look_up(-1);

    // Descriptors and their positions.
    lseek(fd: c_int, offset: off_t, whence: c_int) -> off_t
        => system_call(libc::SYS_lseek, fd, offset, whence);
    open(path: *const c_char, flags: c_int; mode: mode_t) -> c_int
        => system_call(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode);
    openat(folder: c_int, path: *const c_char, flags: c_int; mode: mode_t) -> c_int
        => system_call(libc::SYS_openat, folder, path, flags, mode);
    creat(path: *const c_char, mode: mode_t) -> c_int
        => look_up(-1);
    __open_2(path: *const c_char, flags: c_int) -> c_int => look_up(-1);
    __openat_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int => look_up(-1);
    close(fd: c_int) -> c_int
        => system_call(libc::SYS_close, fd);
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int
        => system_call(libc::SYS_close_range, first, last, flags);
    closefrom(first: c_int) => look_up();
    dup(fd: c_int) -> c_int
        => system_call(libc::SYS_dup, fd);
    dup2(old: c_int, new: c_int) -> c_int => look_up(-1);
    dup3(old: c_int, new: c_int, flags: c_int) -> c_int
        => system_call(libc::SYS_dup3, old, new, flags);
    fcntl(fd: c_int, command: c_int; argument: usize) -> c_int
        => system_call(libc::SYS_fcntl, fd, command, argument);
    fcntl64(fd: c_int, command: c_int; argument: usize) -> c_int
        => system_call(libc::SYS_fcntl, fd, command, argument);

    // Leaving for a sandbox.
    prctl(option: c_int; a: usize, b: usize, c: usize, d: usize) -> c_int
        => system_call(libc::SYS_prctl, option, a, b, c, d);

    // Copies inside the kernel.
    sendfile(target: c_int, source: c_int, offset: *mut off_t, count: size_t) -> ssize_t
        => system_call(libc::SYS_sendfile, target, source, offset, count);
    copy_file_range(
        source: c_int, source_offset: *mut off_t, target: c_int, target_offset: *mut off_t,
        count: size_t, flags: c_uint
    ) -> ssize_t => system_call(
        libc::SYS_copy_file_range, source, source_offset, target, target_offset, count, flags);
    splice(
        source: c_int, source_offset: *mut off_t, target: c_int, target_offset: *mut off_t,
        count: size_t, flags: c_uint
    ) -> ssize_t => system_call(
        libc::SYS_splice, source, source_offset, target, target_offset, count, flags);

    // Advice and mappings.
    posix_fadvise(fd: c_int, offset: off_t, length: off_t, advice: c_int) -> c_int
        => look_up(libc::ENOSYS);
    readahead(fd: c_int, offset: off_t, count: size_t) -> ssize_t
        => system_call(libc::SYS_readahead, fd, offset, count);
    madvise(address: *mut c_void, length: size_t, advice: c_int) -> c_int
        => system_call(libc::SYS_madvise, address, length, advice);
    posix_madvise(address: *mut c_void, length: size_t, advice: c_int) -> c_int
        => look_up(libc::ENOSYS);
    mmap(
        address: *mut c_void, length: size_t, protection: c_int, flags: c_int, fd: c_int,
        offset: off_t
    ) -> *mut c_void
        => system_call(libc::SYS_mmap, address, length, protection, flags, fd, offset);

    // Streams.
    fopen(path: *const c_char, mode: *const c_char) -> *mut FILE => look_up(null_mut());
    freopen(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE
        => look_up(null_mut());
    fclose(stream: *mut FILE) -> c_int => look_up(libc::EOF);
    pclose(stream: *mut FILE) -> c_int => look_up(-1);
    fread(buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        => look_up(0);
    fread_unlocked(buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        => look_up(0);
    __fread_chk(
        buffer: *mut c_void, length: size_t, size: size_t, count: size_t, stream: *mut FILE
    ) -> size_t => look_up(0);
    __fread_unlocked_chk(
        buffer: *mut c_void, length: size_t, size: size_t, count: size_t, stream: *mut FILE
    ) -> size_t => look_up(0);
    fgets(line: *mut c_char, size: c_int, stream: *mut FILE) -> *mut c_char
        => look_up(null_mut());
    fgets_unlocked(line: *mut c_char, size: c_int, stream: *mut FILE) -> *mut c_char
        => look_up(null_mut());
    __fgets_chk(line: *mut c_char, length: size_t, size: c_int, stream: *mut FILE) -> *mut c_char
        => look_up(null_mut());
    __fgets_unlocked_chk(
        line: *mut c_char, length: size_t, size: c_int, stream: *mut FILE
    ) -> *mut c_char => look_up(null_mut());
    getline(line: *mut *mut c_char, size: *mut size_t, stream: *mut FILE) -> ssize_t
        => look_up(-1);
    getdelim(line: *mut *mut c_char, size: *mut size_t, end: c_int, stream: *mut FILE) -> ssize_t
        => look_up(-1);
    fgetc(stream: *mut FILE) -> c_int => look_up(libc::EOF);
    fgetc_unlocked(stream: *mut FILE) -> c_int => look_up(libc::EOF);
    __uflow(stream: *mut FILE) -> c_int => look_up(libc::EOF);
    __underflow(stream: *mut FILE) -> c_int => look_up(libc::EOF);
    fseek(stream: *mut FILE, offset: c_long, whence: c_int) -> c_int => look_up(-1);
    fsetpos(stream: *mut FILE, position: *const StreamPosition) -> c_int => look_up(-1);
    rewind(stream: *mut FILE) => look_up();
}
