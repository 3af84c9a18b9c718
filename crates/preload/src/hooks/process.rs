//! Being loaded into a process, being forked with it, noticing its sandbox, and staying out of its
//! children where that is wanted. When it comes to life is in [`crate::wake`].

use crate::guard::guarded;
use crate::{environment, ticks, trees, wake, watch};
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::mem::MaybeUninit;

/// All that is done when the library is loaded. Every process that is started under `ahead run`
/// comes here, and most are over before they could gain anything: no system call, no memory.
///
/// # Safety
/// For the library's constructor, which the loader calls with the program's own environment.
pub(crate) unsafe fn install(variables: *const *const c_char) {
    // SAFETY: by this function's own condition, before the process has threads.
    unsafe { environment::keep(variables) };
    // SAFETY: the handler is async-signal-safe and stays loaded as long as the process.
    // Without memory for the registration a child keeps its parent's state: hints only.
    let _ = unsafe { libc::pthread_atfork(None, Some(on_fork_in_parent), Some(on_fork_in_child)) };
    let is_given = |name| environment::value(name).is_some();
    let settings = environment::value(c"AHEAD_SETTINGS").map_or(&b""[..], CStr::to_bytes);
    let mut turns_off = false;
    // Only where the policy decides: an arm of a comparison must not get help from here.
    let (mut follows_trees, mut decides) = (false, true);
    for pair in settings.split(|byte| *byte == b',') {
        turns_off |= pair == b"policy=off";
        follows_trees |= pair == b"trees=on";
        decides &= !matches!(
            pair,
            b"policy=off" | b"policy=kernel" | b"readahead_ratio=0" | b"readahead_ratio=1"
        );
        if let Some(us) = pair.strip_prefix(b"wait_us=") {
            watch::set_wait_us(us);
        }
    }
    if follows_trees && decides {
        trees::allow();
    }
    if is_given(c"AHEAD_SHARED") || is_given(c"AHEAD_RECORD") || turns_off {
        wake::see_all();
    }
    if environment::value(c"AHEAD_CLOCK") == Some(c"monotonic") {
        ticks::use_monotonic();
    }
    wake::fall_asleep();
    if environment::value(c"AHEAD_CHILDREN") == Some(c"no") {
        guarded(stay_out_of_children);
    }
}

extern "C" fn on_fork_in_parent() {
    crate::descriptors::after_fork_in_parent();
}

extern "C" fn on_fork_in_child() {
    guarded(crate::descriptors::after_fork_in_child);
}

/// `prctl`. A sandbox may answer any system call that its program does not make itself with the end
/// of the process. So when one is announced, our own calls stop; and so they do where the processor's
/// counter is forbidden, which is our clock. What is entered by the instruction itself, without the C
/// library's `prctl` or `syscall`, cannot be seen. The child of a `vfork` that announces one silences
/// its parent too: that costs speed, the other way a process.
#[inline]
pub(super) fn control(option: c_int, value: usize, call: impl FnOnce() -> c_int) -> c_int {
    on_control(option, value);
    call()
}

/// A `prctl` with these arguments is about to be made.
#[inline]
pub(super) fn on_control(option: c_int, value: usize) {
    // A program that is started with the counter forbidden is ended by the loader of the C library: nothing is inherited.
    let forbids_counter = option == libc::PR_SET_TSC && value == libc::PR_TSC_SIGSEGV as usize;
    if option == libc::PR_SET_SECCOMP || option == libc::PR_SET_NO_NEW_PRIVS || forbids_counter {
        guarded(crate::descriptors::on_sandbox);
    }
}

/// `pthread_exit`. The C library ends the process in the last of its threads, which must not be the helper: its
/// descriptors are others. So where the first thread ends, there is no helper any more.
#[inline]
pub(super) fn end_thread(call: impl FnOnce()) {
    if trees::is_on() && crate::identity::thread() == crate::identity::process() {
        trees::stop();
    }
    call();
}

/// With `AHEAD_CHILDREN=no`: takes this library out of `LD_PRELOAD`, so that programs started from
/// here run without it. Other entries stay. The text is changed in place: nothing is allocated,
/// and a program that kept a copy of the pointer sees the same.
fn stay_out_of_children() {
    let Some(own_name) = own_name() else {
        return;
    };
    // SAFETY: constructors run before the program's threads, so the environment does not change.
    let list = unsafe { libc::getenv(c"LD_PRELOAD".as_ptr()) };
    if list.is_null() {
        return;
    }
    // SAFETY: a C string that nothing else uses now; it lies in writable memory of this process.
    let length = unsafe { CStr::from_ptr(list) }.count_bytes();
    // SAFETY: as above, without the final zero.
    let text = unsafe { std::slice::from_raw_parts_mut(list.cast::<u8>(), length) };
    let kept = remove_entry(text, own_name.to_bytes());
    if kept == 0 {
        // SAFETY: as above; removing allocates nothing.
        unsafe { libc::unsetenv(c"LD_PRELOAD".as_ptr()) };
    } else if kept < length {
        // SAFETY: inside the old text.
        unsafe { list.add(kept).write(0) };
    }
}

/// The file name of this very library, as the loader knows it.
fn own_name() -> Option<&'static CStr> {
    let mut facts = MaybeUninit::<libc::Dl_info>::uninit();
    let address: *const c_void = install as *const c_void;
    // SAFETY: the address lies in this library; the buffer is ours.
    let found = unsafe { libc::dladdr(address, facts.as_mut_ptr()) };
    if found == 0 {
        return None;
    }
    // SAFETY: filled by the call that succeeded.
    let path = unsafe { facts.assume_init() }.dli_fname;
    // SAFETY: the loader keeps the name as long as the library is loaded.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })
}

/// The part of a path after the last slash.
fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Takes the entries with the file name of `own` out of a list separated by colons or spaces, in
/// place. Returns the length of what is left.
fn remove_entry(list: &mut [u8], own: &[u8]) -> usize {
    let is_separator = |byte: u8| byte == b':' || byte == b' ';
    let mut kept = 0;
    let mut start = 0;
    while start < list.len() {
        let rest = list.get(start..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|byte| is_separator(*byte))
            .unwrap_or(rest.len());
        let entry = rest.get(..length).unwrap_or_default();
        if !entry.is_empty() && file_name(entry) != file_name(own) {
            if kept > 0 {
                if let Some(slot) = list.get_mut(kept) {
                    *slot = b':';
                }
                kept += 1;
            }
            list.copy_within(start..start + length, kept);
            kept += length;
        }
        start += length + 1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::remove_entry;

    fn without_us(list: &str) -> String {
        let mut text = list.as_bytes().to_vec();
        let kept = remove_entry(&mut text, b"/usr/lib/libahead_preload.so");
        String::from_utf8_lossy(&text[..kept]).into_owned()
    }

    #[test]
    fn other_libraries_stay_in_the_list() {
        let us = "/opt/x/libahead_preload.so";
        assert_eq!(without_us(us), "");
        assert_eq!(without_us(&format!("{us}:/a.so")), "/a.so");
        assert_eq!(without_us(&format!("/a.so {us}")), "/a.so");
        assert_eq!(
            without_us(&format!("/a.so:{us}:/b.so c.so")),
            "/a.so:/b.so:c.so"
        );
        assert_eq!(without_us("a:b"), "a:b");
        assert_eq!(without_us(&format!("a::{us}: :b")), "a:b");
    }
}
