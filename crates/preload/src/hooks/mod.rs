//! The C functions that we stand in front of, by topic.
//!
//! Every hook has the same shape: tell the decisions ([`crate::ops`]) what is about to happen,
//! call the real function with the arguments as they came, tell what came of it, return exactly
//! that. A hook never looks through a pointer that the kernel has not looked through before:
//! where the C library answers a bad pointer with `EFAULT`, so do we. What is told goes
//! through [`tell`], which keeps `errno` and catches what must not happen.
//!
//! Hooks may run in a signal handler, in the child of a `vfork` (which lives in its parent's
//! memory), before any constructor, and may be left by `longjmp` or by the cancelling of the
//! thread: nothing is held between the first word and the last.
//!
//! Left out on purpose: `write` and its family (a descriptor open for both has to be asked for its
//! position), `readdir`, `mremap`/`munmap` (notes about mappings are hints), `pipe`, `socket` and
//! others that make descriptors which are no files, raw `syscall` and `io_uring`, `preadv` on
//! 32-bit machines.

#![cfg_attr(
    test,
    allow(dead_code, reason = "the tests' own program is not interposed")
)]

mod advice;
mod copies;
mod descriptors;
mod process;
mod reads;
mod streams;
mod tell;

pub(crate) use process::install;

/// Runs `work` where neither `errno` nor a broken invariant can reach the program.
pub(crate) fn guarded(work: impl FnOnce()) {
    tell::tell(work);
}
