//! `syscall`, by which programs enter a sandbox: the C library has no function of its own for `seccomp`.
//!
//! A call by this name may return twice (`fork`, `clone`) or not at all, so no frame of ours may lie below it. The hook is a jump to the next function of the name, with all registers and the stack as they came. Four numbers are told
//! to us first. What is read by it is not seen. Other architectures have no such hook.

#![cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(dead_code, reason = "no hook there")
)]

use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{c_int, c_long, c_void};

use super::process;
use crate::guard::guarded;
use crate::real::Errno;
use crate::{symbols, trees};

/// The next function of the name; null before the first call.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// `SECCOMP_SET_MODE_FILTER`, whose third argument is the filter. Without one, it is a question whether the kernel knows the call.
const SET_MODE_FILTER: usize = 1;
/// `SECCOMP_SET_MODE_STRICT`.
const SET_MODE_STRICT: usize = 0;

/// `syscall`, with the registers of any call.
#[cfg(target_arch = "x86_64")]
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C-unwind" fn syscall() {
    // The number is in RDI, arguments are in RSI, RDX, RCX, R8, R9 and on the stack; AL is that of a variable number of arguments.
    // Seven words below the return address keep the stack aligned.
    std::arch::naked_asm!(
        "endbr64",
        "cmp rdi, {seccomp}",
        "je 3f",
        "cmp rdi, {prctl}",
        "je 3f",
        "cmp rdi, {unshare}",
        "je 3f",
        "cmp rdi, {setns}",
        "je 3f",
        "2:",
        "mov r11, qword ptr [rip + {next}]",
        "test r11, r11",
        "je 4f",
        "jmp r11",
        "3:",
        "lea r11, [rip + {on_call}]",
        "jmp 5f",
        "4:",
        "lea r11, [rip + {find}]",
        "5:",
        "push rax",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "call r11",
        "mov r11, rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rax",
        "jmp r11",
        seccomp = const libc::SYS_seccomp,
        prctl = const libc::SYS_prctl,
        unshare = const libc::SYS_unshare,
        setns = const libc::SYS_setns,
        next = sym NEXT,
        on_call = sym on_call,
        find = sym find,
    )
}

/// `syscall`, with the registers of any call.
#[cfg(target_arch = "aarch64")]
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C-unwind" fn syscall() {
    // The number is in X0, arguments are in X1 to X6; X16 and X17 are free between functions.
    std::arch::naked_asm!(
        "hint #34", // bti c
        "cmp x0, #{seccomp}",
        "b.eq 3f",
        "cmp x0, #{prctl}",
        "b.eq 3f",
        "cmp x0, #{unshare}",
        "b.eq 3f",
        "cmp x0, #{setns}",
        "b.eq 3f",
        "adrp x16, {next}",
        "ldr x16, [x16, #:lo12:{next}]",
        "cbz x16, 4f",
        "br x16",
        "3:",
        "adrp x16, {on_call}",
        "add x16, x16, #:lo12:{on_call}",
        "b 5f",
        "4:",
        "adrp x16, {find}",
        "add x16, x16, #:lo12:{find}",
        "5:",
        "stp x29, x30, [sp, #-80]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "blr x16",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldp x29, x30, [sp], #80",
        "br x16",
        seccomp = const libc::SYS_seccomp,
        prctl = const libc::SYS_prctl,
        unshare = const libc::SYS_unshare,
        setns = const libc::SYS_setns,
        next = sym NEXT,
        on_call = sym on_call,
        find = sym find,
    )
}

/// One of the four calls is about to be made. Returns the next function of the name.
extern "C" fn on_call(number: c_long, first: usize, second: usize, third: usize) -> *mut c_void {
    match number {
        libc::SYS_prctl => {
            let option = c_int::try_from(first & 0xffff_ffff).unwrap_or(-1);
            process::on_control(option, second);
        }
        libc::SYS_unshare | libc::SYS_setns => trees::stop(),
        libc::SYS_seccomp if is_sandbox(first, third) => {
            guarded(crate::descriptors::on_sandbox);
        }
        _ => {}
    }
    find()
}

/// Whether this is the `seccomp` call that makes a sandbox.
const fn is_sandbox(operation: usize, filter: usize) -> bool {
    operation == SET_MODE_STRICT || operation == SET_MODE_FILTER && filter != 0
}

/// The next function of the name. Two threads that look for it at once find the same.
extern "C" fn find() -> *mut c_void {
    let known = NEXT.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    let kept = Errno::keep();
    let mut found = symbols::next(c"syscall");
    if found.is_null() {
        found = absent as *mut c_void;
    }
    NEXT.store(found, Ordering::Release);
    if let Some(kept) = kept {
        kept.put_back();
    }
    found
}

/// Where no library has the function.
extern "C" fn absent() -> c_long {
    Errno::set(libc::ENOSYS);
    -1
}

#[cfg(test)]
mod tests {
    use super::is_sandbox;

    #[test]
    fn questions_to_seccomp_are_no_sandbox() {
        let (actions, sizes) = (2, 3);
        assert!(is_sandbox(0, 0) && is_sandbox(1, 4096));
        assert!(!is_sandbox(1, 0) && !is_sandbox(actions, 4096) && !is_sandbox(sizes, 4096));
    }
}
