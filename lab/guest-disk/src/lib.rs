//! The disk model as an object file that the guest's kernel is linked with.
//!
//! A border and nothing else: five functions with the C calling convention over [`Disk`], and an
//! allocator that asks the kernel. So there is one definition of every disk, and no copy of it in C
//! that could differ. The other side of the border is `lab/guest/kernel/ahead_disk.h`.
//!
//! The kernel calls from one processor and holds a lock meanwhile; nothing here waits.

#[cfg(not(test))]
mod memory;

use std::ffi::{c_char, c_int, c_ulong};
use std::slice;

use ahead_disk_model::{Completion, Disk, DiskModel, Request, TimeScale};
use ahead_units::{ByteLength, ByteOffset, Timestamp};

/// What [`ahead_disk_model_next`] answers when only a request can change anything.
const IDLE: u64 = u64::MAX;

unsafe extern "C" {
    fn ahead_disk_die() -> !;
}

/// `struct ahead_disk_completion`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletionForC {
    id: u64,
    arrived_ns: u64,
    completed_ns: u64,
}

impl From<Completion> for CompletionForC {
    fn from(done: Completion) -> Self {
        Self {
            id: done.id,
            arrived_ns: done.arrived_at.get(),
            completed_ns: done.completed_at.get(),
        }
    }
}

/// A disk, what it is, and what is finished and not yet fetched.
pub struct OpenDisk {
    disk: Disk,
    is_rotational: bool,
    finished: Vec<Completion>,
}

/// Reads a model (`toml_bytes` bytes of TOML) and starts it, idle at moment 0, `faster / slower` times
/// as fast as real. Null if it is not a model, or no such scale.
///
/// # Safety
/// `toml` must point to `toml_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ahead_disk_model_open(
    toml: *const c_char,
    toml_bytes: c_ulong,
    capacity: u64,
    faster: u64,
    slower: u64,
) -> *mut OpenDisk {
    std::panic::set_hook(Box::new(|_| {
        // SAFETY: it ends the guest, from wherever it is called.
        unsafe { ahead_disk_die() }
    }));
    let length = usize::try_from(toml_bytes).unwrap_or(0);
    // SAFETY: the caller promises the bytes.
    let bytes = unsafe { slice::from_raw_parts(toml.cast::<u8>(), length) };
    let model = std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| DiskModel::from_toml(text).ok());
    let (Some(model), Some(scale)) = (model, TimeScale::new(faster, slower)) else {
        return std::ptr::null_mut();
    };
    Box::into_raw(Box::new(OpenDisk {
        disk: Disk::new(&model, ByteLength::new(capacity), scale),
        is_rotational: model.is_rotational(),
        finished: Vec::new(),
    }))
}

/// Takes in a request of `bytes` bytes from `offset` that arrived at `now_ns`.
///
/// # Safety
/// `disk` must come from [`ahead_disk_model_open`], and no other call may be under way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ahead_disk_model_submit(
    disk: *mut OpenDisk,
    now_ns: u64,
    id: u64,
    offset: u64,
    bytes: u64,
) {
    // SAFETY: the caller promises it.
    let open = unsafe { &mut *disk };
    let request = Request {
        id,
        offset: ByteOffset::new(offset),
        length: ByteLength::new(bytes),
    };
    open.disk.submit(Timestamp::new(now_ns), request);
}

/// When something happens next; `u64::MAX`: only a request can change anything.
///
/// # Safety
/// As [`ahead_disk_model_submit`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ahead_disk_model_next(disk: *const OpenDisk) -> u64 {
    // SAFETY: the caller promises it.
    let open = unsafe { &*disk };
    match open.finished.first() {
        Some(first) => first.completed_at.get(),
        None => open.disk.next_event().map_or(IDLE, Timestamp::get),
    }
}

/// Writes what is done by `now_ns` to `into`, at most `completions_max` of it and in order of completion.
/// Returns how many; the rest waits for the next call.
///
/// # Safety
/// As [`ahead_disk_model_submit`]; `into` must have space for `completions_max` completions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ahead_disk_model_advance(
    disk: *mut OpenDisk,
    now_ns: u64,
    into: *mut CompletionForC,
    completions_max: c_ulong,
) -> c_ulong {
    // SAFETY: the caller promises it.
    let open = unsafe { &mut *disk };
    open.disk
        .advance(Timestamp::new(now_ns), &mut open.finished);
    let completions_max = usize::try_from(completions_max).unwrap_or(0);
    let count = open.finished.len().min(completions_max);
    for (at, done) in open.finished.drain(..count).enumerate() {
        // SAFETY: `at` is below `completions_max`.
        unsafe { into.add(at).write(done.into()) };
    }
    count as c_ulong
}

/// Whether the kernel is to know it as rotational: 1 or 0.
///
/// # Safety
/// As [`ahead_disk_model_submit`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ahead_disk_model_is_rotational(disk: *const OpenDisk) -> c_int {
    // SAFETY: the caller promises it.
    c_int::from(unsafe { (*disk).is_rotational })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel ends there.
    #[unsafe(no_mangle)]
    extern "C" fn ahead_disk_die() -> ! {
        std::process::abort()
    }

    fn open(toml: &str) -> *mut OpenDisk {
        // SAFETY: pointer and length are those of a string.
        unsafe { ahead_disk_model_open(toml.as_ptr().cast(), toml.len() as c_ulong, 4 << 30, 1, 1) }
    }

    #[test]
    fn what_is_no_model_is_no_disk() {
        assert!(open("kind = \"drum\"").is_null());
        assert!(open("").is_null());
    }

    #[test]
    fn the_border_says_what_the_model_says_also_in_small_portions() {
        for name in DiskModel::PRESETS {
            let model = DiskModel::preset(name).unwrap();
            let mut direct = Disk::new(&model, ByteLength::new(4 << 30), TimeScale::REAL);
            let disk = open(&model.to_toml().unwrap());
            for number in 0..200_u64 {
                let now_ns = number * 40_000;
                let offset = (number * 7_919 % 1000) * 65_536;
                direct.submit(
                    Timestamp::new(now_ns),
                    Request {
                        id: number,
                        offset: ByteOffset::new(offset),
                        length: ByteLength::new(65_536),
                    },
                );
                // SAFETY: an open disk, one call at a time.
                unsafe { ahead_disk_model_submit(disk, now_ns, number, offset, 65_536) };
            }
            let late = Timestamp::new(u64::MAX / 4);
            let mut expected = Vec::new();
            direct.advance(late, &mut expected);
            let mut got = Vec::new();
            loop {
                let mut portion = [CompletionForC::from(expected[0]); 7];
                // SAFETY: as above, with space for seven.
                let count =
                    unsafe { ahead_disk_model_advance(disk, late.get(), portion.as_mut_ptr(), 7) };
                if count == 0 {
                    break;
                }
                got.extend_from_slice(&portion[..usize::try_from(count).unwrap()]);
            }
            let expected: Vec<CompletionForC> = expected.into_iter().map(Into::into).collect();
            assert_eq!(got, expected, "{name}");
            // SAFETY: as above; then it is given back.
            unsafe {
                assert_eq!(ahead_disk_model_next(disk), IDLE);
                drop(Box::from_raw(disk));
            }
        }
    }
}
