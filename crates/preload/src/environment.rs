//! The variables that `ahead run` hands over, as they were when the library was loaded.
//!
//! They are needed later, when something first waits, and then they may be gone: servers write
//! their titles over the place where the environment began, and another thread may be changing it.
//! So their values are copied here, some hundred bytes, and nothing is parsed.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

const PREFIX: &[u8] = b"AHEAD_";

/// What may follow the prefix. One place for each.
const NAMES: [&[u8]; 10] = [
    b"SETTINGS",
    b"SHARED",
    b"RECORD",
    b"CHILDREN",
    b"STRICT",
    b"FILTERS",
    b"TREE_FILTERS",
    b"CLOCK",
    b"GROUP",
    b"DEVICES",
];

/// Bytes of all values together: the settings have 300, the five paths some 30 each. Longer ones
/// stay where they are, in the program's memory.
const BYTES: usize = 1536;

struct Store(UnsafeCell<[u8; BYTES]>);

// SAFETY: written by the constructor before the process has other threads, only read afterwards.
unsafe impl Sync for Store {}

static STORE: Store = Store(UnsafeCell::new([0; BYTES]));
static USED: AtomicUsize = AtomicUsize::new(0);
static VALUES: [AtomicPtr<c_char>; NAMES.len()] =
    [const { AtomicPtr::new(null_mut()) }; NAMES.len()];

/// Copies what is ours out of `environment`, an array that ends with null, as C programs get it.
///
/// # Safety
/// The array and its strings must be valid, and no other thread may call this.
pub(crate) unsafe fn keep(environment: *const *const c_char) {
    if environment.is_null() {
        return;
    }
    let mut at = environment;
    // SAFETY: by this function's own condition; the last entry is null.
    while let Some(entry) = unsafe { at.read().cast::<u8>().as_ref() } {
        if *entry == PREFIX[0] {
            // SAFETY: as above.
            unsafe { keep_one(std::ptr::from_ref(entry).cast()) };
        }
        // SAFETY: not the last entry.
        at = unsafe { at.add(1) };
    }
}

/// # Safety
/// As [`keep`], for one string of the array.
unsafe fn keep_one(entry: *const c_char) {
    // SAFETY: by this function's own condition.
    let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
    let Some(rest) = text.strip_prefix(PREFIX) else {
        return;
    };
    for (name, place) in NAMES.iter().zip(&VALUES) {
        let value = rest
            .strip_prefix(*name)
            .and_then(|rest| rest.strip_prefix(b"="));
        if let Some(value) = value {
            let used = USED.load(Ordering::Relaxed);
            let end = used + value.len() + 1;
            // SAFETY: only the constructor is here, see `Store`.
            let store = unsafe { &mut *STORE.0.get() };
            let copy = match store.get_mut(used..end) {
                Some(copy) => {
                    // The last byte stays zero, as all of the store was.
                    copy[..value.len()].copy_from_slice(value);
                    USED.store(end, Ordering::Relaxed);
                    copy.as_mut_ptr()
                }
                None => value.as_ptr().cast_mut(),
            };
            place.store(copy.cast(), Ordering::Release);
            return;
        }
    }
}

/// The value that `name` had when the library was loaded.
pub(crate) fn value(name: &CStr) -> Option<&'static CStr> {
    let rest = name.to_bytes().strip_prefix(PREFIX)?;
    let place = NAMES.iter().position(|known| *known == rest)?;
    let value = VALUES[place].load(Ordering::Acquire);
    // SAFETY: null, or a C string in the store or in the environment that the process began with.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_although_the_program_writes_over_them() {
        let mut settings = *b"AHEAD_SETTINGS=ratio=1,depth=4\0";
        let environment = [
            c"PATH=/bin".as_ptr(),
            settings.as_ptr().cast(),
            c"AHEAD_UNKNOWN=1".as_ptr(),
            c"AHEAD_FILTERS=".as_ptr(),
            std::ptr::null(),
        ];
        // SAFETY: strings and array are valid; no other test keeps anything.
        unsafe { keep(environment.as_ptr()) };
        settings.fill(b'x');
        assert_eq!(value(c"AHEAD_SETTINGS"), Some(c"ratio=1,depth=4"));
        assert_eq!(value(c"AHEAD_FILTERS"), Some(c""));
        assert_eq!(value(c"AHEAD_SHARED"), None);
        assert_eq!(value(c"PATH"), None);
    }
}
