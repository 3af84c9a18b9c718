//! The C library's own functions: what every hook calls in the end.
//!
//! Each function of [the table](crate::hooks::table) has a slot for the address of the next
//! function of its name. A slot is filled on the first call, by [`symbols::next`], which may run
//! anywhere; from then on a call is one load and a jump. A C library that lacks a newer call is
//! made up for by the plain system call, where the kernel's answer is as good.
//!
//! All functions here have the contract of the C function with the same name, `errno` included,
//! and that contract is their safety condition. The ABI is "C-unwind" since cancelling a thread
//! unwinds through a blocked `read`, and that has to pass through us as well.

#![cfg_attr(
    test,
    allow(dead_code, reason = "the tests' own program is not interposed")
)]

use crate::hooks::table::table;
use crate::symbols;
use libc::{
    DIR, FILE, c_char, c_int, c_long, c_uint, c_void, iovec, mode_t, off_t, size_t, ssize_t,
};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What a slot holds when no library has the function. No function begins on an odd address below
/// the first page.
const ABSENT: usize = 1;

/// What a slot that was never used has to hold, which it does from now on. Two threads may do so at once: they find the same.
#[cold]
#[inline(never)]
fn fill(slot: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    if slot.load(Ordering::Relaxed).addr() == ABSENT {
        return std::ptr::without_provenance_mut(ABSENT);
    }
    let kept = Errno::keep();
    let found = symbols::next(name);
    let found = if found.is_null() {
        std::ptr::without_provenance_mut(ABSENT)
    } else {
        found
    };
    slot.store(found, Ordering::Release);
    if let Some(kept) = kept {
        kept.put_back();
    }
    found
}

/// This thread's `errno` as it was.
pub(crate) struct Errno {
    location: *mut c_int,
    value: c_int,
}

impl Errno {
    /// Takes note of it. `None` in a thread that the C library knows nothing of: one that was made by a raw `clone`
    /// with a thread pointer to zeros, as a browser does to leave the root folder. It may call what makes a
    /// system call and nothing else.
    #[inline]
    pub(crate) fn keep() -> Option<Self> {
        // SAFETY: returns an address; it is looked at before anything is read there.
        let location = unsafe { libc::__errno_location() };
        if is_near_zero(location.addr()) {
            return None;
        }
        // SAFETY: the location is this thread's own, and only this thread writes it.
        let value = unsafe { location.read() };
        Some(Self { location, value })
    }

    /// Sets it, where there is one.
    pub(crate) fn set(value: c_int) {
        if let Some(errno) = Self::keep() {
            Self { value, ..errno }.put_back();
        }
    }

    /// Which error it was.
    #[inline]
    pub(crate) fn value(&self) -> c_int {
        self.value
    }

    /// Makes it so again.
    #[inline]
    pub(crate) fn put_back(self) {
        // SAFETY: still this thread's own: the value holds a pointer, so it cannot be sent.
        unsafe { self.location.write(self.value) };
    }
}

/// Whether a variable of a thread lies where it would with a thread pointer to zeros: a little below zero, as on x86, or
/// above it, as on Arm. No program has memory at either end.
const fn is_near_zero(address: usize) -> bool {
    const NEAR: usize = 1 << 16;
    address.wrapping_add(NEAR) < 2 * NEAR
}

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

/// Defines, for each line of the table, the slot and the function that calls what is in it.
macro_rules! define_real {
    ($(
        $name:ident($($argument:ident: $type:ty),* $(; $($last:ident: $last_type:ty),+)?) -> $result:ty
        {$($alias:ident)*}
        $([$served:expr])? $module:ident :: $kind:ident ($($fact:expr),*) $(with |$chosen:ident|)?, or $how:ident($($fallback:expr),*);
    )*) => {
        #[expect(non_upper_case_globals, reason = "each slot is named like its function")]
        mod slots {
            use super::{AtomicPtr, c_void, null_mut};
            $(pub(super) static $name: AtomicPtr<c_void> = AtomicPtr::new(null_mut());)*
        }

        /// The first call of each function: kept apart, so that the others stay short.
        mod first {
            use super::*;
            $(
                #[cold]
                #[inline(never)]
                pub(super) unsafe extern "C-unwind" fn $name(
                    $($argument: $type,)* $($($last: $last_type,)+)?
                ) -> $result {
                    let address = fill(&slots::$name, define_real!(@name $name));
                    // SAFETY: the caller keeps the contract of the C function, and the slot holds
                    // the address of a function with this signature unless there is none.
                    unsafe {
                        if address.addr() == ABSENT {
                            define_real!(@$how [$result] ($($fallback),*))
                        } else {
                            define_real!(@call address
                                [$($argument: $type,)*] [$($($last: $last_type),+)?] $result)
                        }
                    }
                }
            )*
        }

        $(
            #[inline(always)]
            pub(crate) unsafe fn $name(
                $($argument: $type,)* $($($last: $last_type,)+)?
            ) -> $result {
                let address = slots::$name.load(Ordering::Relaxed);
                // SAFETY: the slot holds the address of the C function of this name, whose
                // signature this is, and the caller keeps its contract.
                unsafe {
                    if address.addr() <= ABSENT {
                        first::$name($($argument,)* $($($last,)+)?)
                    } else {
                        define_real!(@call address
                            [$($argument: $type,)*] [$($($last: $last_type),+)?] $result)
                    }
                }
            }
        )*
    };
    (@name $name:ident) => {
        const {
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has no zero inside"),
            }
        }
    };
    (@call $address:ident [$($argument:ident: $type:ty,)*] [] $result:ty) => {
        (std::mem::transmute::<
            *mut c_void,
            unsafe extern "C-unwind" fn($($type),*) -> $result,
        >($address))($($argument),*)
    };
    (@call $address:ident [$($argument:ident: $type:ty,)*] [$($last:ident: $last_type:ty),+] $result:ty) => {
        (std::mem::transmute::<
            *mut c_void,
            unsafe extern "C-unwind" fn($($type,)* ...) -> $result,
        >($address))($($argument,)* $($last),+)
    };
    (@system_call [$result:ty] ($($fallback:expr),*)) => {
        <$result>::from_raw(libc::syscall($($fallback),*))
    };
    (@absent [$result:ty] ($value:expr)) => {{
        Errno::set(libc::ENOSYS);
        $value
    }};
}

table!(define_real);

#[cfg(test)]
mod tests {
    use super::is_near_zero;

    #[test]
    fn variables_of_threads_lie_between_the_ends() {
        let below = 0_usize.wrapping_sub(0x88);
        assert!(is_near_zero(below) && is_near_zero(0) && is_near_zero(0x50));
        for usual in [0x7f48_c7d7_2050, 0xf7ff_0010, 1 << 16] {
            assert!(!is_near_zero(usual));
        }
    }
}
