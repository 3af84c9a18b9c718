//! The C functions that we stand in front of: [`mod@table`] lists them, the other files say what each
//! kind of hook does.
//!
//! A hook reports to the decisions ([`crate::ops`]) what is about to happen, makes the real call
//! with the arguments as they came, reports what came of it, and returns exactly that. A hook
//! never looks through a pointer that the kernel has not looked through before, or lets the kernel copy what is behind it
//! ([`copy_from`](crate::memory::copy_from)): where the C library
//! answers a bad pointer with `EFAULT`, so do we. What could fail inside goes through [`guard`](crate::guard),
//! which keeps `errno` and catches what must not happen.
//!
//! Hooks may run in a signal handler, in the child of a `vfork` (which lives in its parent's
//! memory), before any constructor, and may be left by `longjmp` or by the cancelling of the
//! thread: nothing is held between the beginning and the end of a real call, and no frame that
//! lies below one has anything to clean up.
//!
//! Left out on purpose: `write` and its family (the position of a descriptor that is open for both is
//! checked now and then), `aio_read` and `lio_listio` (threads of the C library read there, and the program
//! does not wait), `scandir`, `fts`, `ftw` and `glob` (they list folders inside libc), `mremap`/`munmap` (notes about mappings are hints), `pipe`, `socket`
//! and others that make descriptors which are no files, what is read by `syscall` and `io_uring`, `preadv` on
//! 32-bit machines.

#![cfg_attr(
    test,
    allow(dead_code, reason = "the tests' own program is not interposed")
)]

mod advice;
mod copies;
mod descriptors;
mod kernel_call;
mod names;
mod process;
mod reads;
mod streams;
pub(crate) mod table;

pub(crate) use process::install;

use crate::{real, stdio};
use libc::{
    DIR, FILE, c_char, c_int, c_long, c_uint, c_void, iovec, mode_t, off_t, size_t, ssize_t,
};
use table::table;

/// Defines the exported functions, each name of each line of the table.
macro_rules! define_hooks {
    ($(
        $name:ident($($argument:ident: $type:ty),* $(; $($last:ident: $last_type:ty),+)?) -> $result:ty
        {$($alias:ident)*}
        $([$served:expr])? $module:ident :: $kind:ident ($($fact:expr),*) $(with |$chosen:ident|)?, or $how:ident($($fallback:expr),*);
    )*) => {
        /// What a hook does where more is to be done than the real call, kept apart from it.
        mod long {
            use super::*;
            $(
                #[inline(never)]
                #[allow(dead_code, reason = "most hooks have no short cut")]
                pub(super) unsafe extern "C-unwind" fn $name(
                    $($argument: $type,)* $($($last: $last_type,)+)?
                ) -> $result {
                    // SAFETY: the caller's arguments, with the contract of the C function.
                    unsafe {
                        $module::$kind($($fact,)* move |$($chosen: size_t)?| real::$name(
                            $($argument,)* $($($last,)+)?
                        ))
                    }
                }
            )*
        }

        $(
            define_hooks!(@one [$name $($alias)*]
                [$($argument: $type,)* $($($last: $last_type,)+)?] $result,
                {
                    // SAFETY: the caller's arguments, with the contract of the C function.
                    unsafe {
                        define_hooks!(@body [$($served)?]
                            [real::$name($($argument,)* $($($last,)+)?)]
                            [long::$name($($argument,)* $($($last,)+)?)]
                            [$module::$kind($($fact,)* move |$($chosen: size_t)?| real::$name(
                                $($argument,)* $($($last,)+)?
                            ))])
                    }
                }
            );
        )*
    };
    (@body [] [$real:expr] [$long:expr] [$kind:expr]) => { $kind };
    (@body [$served:expr] [$real:expr] [$long:expr] [$kind:expr]) => {
        if $served { $real } else { $long }
    };
    (@one [$($name:ident)*] $arguments:tt $result:ty, $body:tt) => {
        $(define_hooks!(@export $name $arguments $result, $body);)*
    };
    (@export $name:ident [$($argument:ident: $type:ty,)*] $result:ty, $body:tt) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(
            non_snake_case,
            clippy::allow_attributes,
            reason = "some names of the C library begin with capitals; the others do not"
        )]
        unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result $body
    };
}

table!(define_hooks);
