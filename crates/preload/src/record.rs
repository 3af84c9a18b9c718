//! Recording for `ahead run --record`: each read, and what stands around it, into a shared ring.
//!
//! The layout is [`ahead_engine::recording`]. This side runs inside the program's reads: it takes a
//! slot with one compare-and-swap, stores eight words and is done. It never waits, locks or
//! allocates; where the ring is full, or many threads fight for a slot, the record is dropped and
//! counted. Files are named by device and inode; their names go into the ring when a descriptor is
//! looked at for the first time.
//!
//! What the hooks do not see is not recorded: writes, page faults (a mapping is recorded when it is
//! made), files that bypass the cache or live in memory, and reads inside the C library.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicU64, Ordering};

use ahead_engine::recording::{
    FILE_BYTES, Kind, MAGIC, NAME_BYTES_MAX, NAME_SLOT_BYTES, SLOT_WORDS, SLOTS, UNKNOWN, Who,
    header, name_slots, slot, slot_word,
};
use ahead_policy::decision::Decision;
use ahead_sys::scratch::Scratch;
use ahead_units::PAGE_BYTES;

use crate::files::Place;
use crate::identity;
use crate::shared::{map_words, path_of};
use crate::ticks;

/// Attempts to take a slot while other threads take theirs.
const ATTEMPTS_MAX: u32 = 16;
/// Ranges of one decision that are recorded.
const RANGES_MAX: usize = 64;

/// The mapped ring.
pub(crate) struct Recorder {
    words: &'static [AtomicU64],
}

/// A range of bytes and when something happened to it.
#[derive(Clone, Copy)]
pub(crate) struct Happened {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// When it began, on the monotonic clock.
    pub(crate) at_ns: u64,
    /// [`UNKNOWN`] where that was not measured.
    pub(crate) duration_ns: u64,
}

impl Happened {
    /// Now, to this range.
    pub(crate) fn now(offset: u64, length: u64) -> Self {
        Self {
            offset,
            length,
            at_ns: ticks::monotonic_ns(),
            duration_ns: UNKNOWN,
        }
    }
}

impl Recorder {
    /// Maps the ring at `path`; `None` when it cannot be used.
    pub(crate) fn open(path: &CStr) -> Option<Self> {
        let words = map_words(path, FILE_BYTES)?;
        words[header::MAGIC].store(MAGIC, Ordering::Relaxed);
        Some(Self { words })
    }

    /// Takes `count` slots in a row. `None`: the ring is full, which is counted.
    fn take(&self, count: u64) -> Option<u64> {
        let taken = &self.words[header::TAKEN];
        for _ in 0..ATTEMPTS_MAX {
            let first = taken.load(Ordering::Relaxed);
            // Acquire: what the reader has read of the slots is behind us.
            let read = self.words[header::READ].load(Ordering::Acquire);
            if first.saturating_sub(read).saturating_add(count) > SLOTS {
                break;
            }
            let exchanged = taken.compare_exchange_weak(
                first,
                first + count,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if exchanged.is_ok() {
                return Some(first);
            }
        }
        self.words[header::DROPPED].fetch_add(1, Ordering::Relaxed);
        None
    }

    fn fill(&self, number: u64, words: [u64; SLOT_WORDS]) {
        let begin = slot_word(number);
        let Some(place) = self.words.get(begin..begin + SLOT_WORDS) else {
            return;
        };
        for (word, value) in place.iter().zip(words).skip(1) {
            word.store(value, Ordering::Relaxed);
        }
        place[slot::SEQUENCE].store(number + 1, Ordering::Release);
    }

    fn put(&self, who: Who, device: u64, inode: u64, happened: &Happened) {
        let Some(number) = self.take(1) else {
            return;
        };
        let words = words(who, device, inode, happened);
        self.fill(number, words);
    }

    /// Something happened to the file that lives at `place`.
    pub(crate) fn on_file(&self, place: &Place, kind: Kind, detail: u8, happened: &Happened) {
        let (device, inode) = place.file();
        self.put(who(kind, detail), device, inode, happened);
    }

    /// A descriptor is looked at for the first time: the name of its file, and its opening.
    pub(crate) fn on_open(&self, fd: c_int, device: u64, inode: u64, size: u64) {
        let Ok(mut path) = Scratch::new() else {
            return;
        };
        let length = path_of(fd, &mut path[..NAME_BYTES_MAX]);
        let path = &path[..length];
        let count = name_slots(length) as u64;
        if let Some(first) = self.take(count + 1) {
            let announced = Happened::now(size, length as u64);
            let name = words(who(Kind::Name, 0), device, inode, &announced);
            self.fill(first, name);
            for (number, bytes) in (first + 1..).zip(path.chunks(NAME_SLOT_BYTES)) {
                let mut part = [0; SLOT_WORDS];
                part[slot::WHO] = who(Kind::NameBytes, 0).to_word();
                for (word, bytes) in part[slot::DEVICE..].iter_mut().zip(bytes.chunks(8)) {
                    let mut eight = [0; 8];
                    eight[..bytes.len()].copy_from_slice(bytes);
                    *word = u64::from_ne_bytes(eight);
                }
                self.fill(number, part);
            }
        }
        let opened = Happened::now(0, 0);
        self.put(who(Kind::Open, 0), device, inode, &opened);
    }

    /// The policy asked for pages of the file at `place`.
    pub(crate) fn on_decision(&self, place: &Place, decision: &Decision) {
        let (device, inode) = place.file();
        let prefetch = &decision.prefetch;
        let who = who(Kind::Prefetch, 0);
        let codes = [
            decision.pattern.code(),
            decision.reason.code(),
            0,
            0,
            0,
            0,
            0,
            0,
        ];
        for range in prefetch.ranges().take(RANGES_MAX) {
            let happened = Happened {
                duration_ns: u64::from_le_bytes(codes),
                ..Happened::now(
                    range.start.get().saturating_mul(PAGE_BYTES),
                    range.len().get().saturating_mul(PAGE_BYTES),
                )
            };
            self.put(who, device, inode, &happened);
        }
    }
}

fn who(kind: Kind, detail: u8) -> Who {
    Who {
        kind,
        detail,
        process: identity::process(),
        thread: identity::thread(),
    }
}

fn words(who: Who, device: u64, inode: u64, happened: &Happened) -> [u64; SLOT_WORDS] {
    let mut words = [0; SLOT_WORDS];
    words[slot::WHO] = who.to_word();
    words[slot::DEVICE] = device;
    words[slot::INODE] = inode;
    words[slot::OFFSET] = happened.offset;
    words[slot::LENGTH] = happened.length;
    words[slot::AT_NS] = happened.at_ns;
    words[slot::DURATION_NS] = happened.duration_ns;
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> (tempfile::TempPath, Recorder) {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(FILE_BYTES as u64).unwrap();
        let path = file.into_temp_path();
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        let recorder = Recorder::open(&name).unwrap();
        (path, recorder)
    }

    #[test]
    fn a_full_ring_drops_and_counts_instead_of_waiting() {
        let (_path, recorder) = ring();
        let happened = Happened::now(1, 2);
        for _ in 0..SLOTS + 5 {
            recorder.put(who(Kind::Read, 0), 1, 2, &happened);
        }
        let word = |place: usize| recorder.words[place].load(Ordering::Relaxed);
        assert_eq!(word(header::TAKEN), SLOTS);
        assert_eq!(word(header::DROPPED), 5);
        recorder.words[header::READ].store(3, Ordering::Release);
        recorder.put(who(Kind::Read, 0), 1, 2, &happened);
        assert_eq!(word(header::TAKEN), SLOTS + 1);
        assert_eq!(word(slot_word(0)), SLOTS + 1);
    }

    #[test]
    fn threads_get_slots_of_their_own() {
        let (_path, recorder) = ring();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let recorder = &recorder;
                scope.spawn(move || {
                    for offset in 0..1000 {
                        let happened = Happened::now(offset, thread);
                        recorder.put(who(Kind::Read, 0), 1, 2, &happened);
                    }
                });
            }
        });
        let word = |place: usize| recorder.words[place].load(Ordering::Relaxed);
        assert_eq!(word(header::TAKEN) + word(header::DROPPED), 4000);
        for number in 0..word(header::TAKEN) {
            assert_eq!(word(slot_word(number)), number + 1);
        }
    }

    #[test]
    fn a_name_is_split_over_slots_in_a_row() {
        use std::os::fd::AsRawFd;
        let (_path, recorder) = ring();
        let file = tempfile::Builder::new()
            .prefix(&"n".repeat(100))
            .tempfile()
            .unwrap();
        recorder.on_open(file.as_raw_fd(), 7, 8, 99);
        let word = |place: usize| recorder.words[place].load(Ordering::Relaxed);
        let length = usize::try_from(word(slot_word(0) + slot::LENGTH)).unwrap();
        assert_eq!(length, file.path().as_os_str().len());
        assert_eq!(word(header::TAKEN), 2 + name_slots(length) as u64);
        let mut name = Vec::new();
        for number in 0..name_slots(length) as u64 {
            for place in slot::DEVICE..SLOT_WORDS {
                name.extend_from_slice(&word(slot_word(1 + number) + place).to_ne_bytes());
            }
        }
        name.truncate(length);
        assert_eq!(name, file.path().as_os_str().as_encoded_bytes());
    }
}
