//! What the program tells the helper: which files it visits, and where folders are. Fixed memory, no lock, no
//! allocation, no system call: a hook may run in a signal handler, or in the child of a `vfork`.
//!
//! A visit is two words: the key of its folder and a hash of its name. A folder is made known once, by a note
//! with its path, and then meant by its key. What is lost (the ring was full, a note was written over) is
//! a visit that was not seen: the helper asks for a note again when it does not know a key.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};

/// Visits that can wait for the helper: while it asks for 2048 files the program visits as many, each up to four
/// times.
const VISITS: usize = 8192;
/// Folders that can wait for the helper.
const NOTES: usize = 256;
/// Bytes of a path in a note. Folders with longer ones are not known.
pub(super) const PATH_BYTES: usize = 448;
/// Keys that are known to have been noted.
const KEYS: usize = 256;

/// What the program did with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitKind {
    /// It asked for its metadata.
    Stat,
    /// It opened it.
    Open,
    /// It closed it, and has read so many bytes from its beginning on; `None`: some, and it is not known how many.
    Close(Option<u64>),
}

/// One visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Visit {
    /// Of the folder.
    pub(super) key: u64,
    /// Of the name.
    pub(super) hash: u64,
    pub(super) kind: VisitKind,
}

/// Where a folder is: which one is above, and its name there; zeroes where that is not known.
#[derive(Clone, Copy, Default)]
pub(super) struct Origin {
    /// Key of the folder above.
    pub(super) above: u64,
    /// Hash of the name.
    pub(super) name: u64,
}

/// How the program reached a folder.
#[derive(Clone, Copy)]
pub(super) struct Note {
    /// The key by which visits mean it.
    pub(super) key: u64,
    /// The descriptor that the path begins at.
    pub(super) folder: i32,
    /// Which opening of that number, or which working folder, was meant.
    pub(super) generation: u32,
    pub(super) origin: Origin,
    /// The program lists it; else it visits something there.
    pub(super) lists: bool,
    pub(super) length: usize,
    pub(super) path: [u8; PATH_BYTES],
}

/// Stands for a number of bytes that is not known.
const BYTES_UNKNOWN: u64 = u64::MAX;

struct VisitSlot {
    key: AtomicU64,
    bytes: AtomicU64,
    /// The hash, its lowest two bits replaced by the kind; 0 while the slot is empty.
    what: AtomicU64,
}

struct NoteSlot {
    /// Number of the note, from 1; 0 while it is being written.
    sequence: AtomicU64,
    key: AtomicU64,
    /// Descriptor in the low half, its generation in the high half.
    descriptor: AtomicU64,
    origin: [AtomicU64; 2],
    /// Its lowest bit: whether the program lists the folder.
    length: AtomicU32,
    path: [AtomicU64; PATH_BYTES / 8],
}

static VISIT_SLOTS: [VisitSlot; VISITS] = [const {
    VisitSlot {
        key: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        what: AtomicU64::new(0),
    }
}; VISITS];
static VISITS_WRITTEN: AtomicU64 = AtomicU64::new(0);
static VISITS_READ: AtomicU64 = AtomicU64::new(0);

static NOTE_SLOTS: [NoteSlot; NOTES] = [const {
    NoteSlot {
        sequence: AtomicU64::new(0),
        key: AtomicU64::new(0),
        descriptor: AtomicU64::new(0),
        origin: [const { AtomicU64::new(0) }; 2],
        length: AtomicU32::new(0),
        path: [const { AtomicU64::new(0) }; PATH_BYTES / 8],
    }
}; NOTES];
static NOTES_WRITTEN: AtomicU64 = AtomicU64::new(0);
static NOTES_READ: AtomicU64 = AtomicU64::new(0);

static NOTED: [AtomicU64; KEYS] = [const { AtomicU64::new(0) }; KEYS];

/// Visits that are told after the helper has fetched something: all that it may have outstanding, each visited up to
/// four times.
const VISITS_TOLD: u32 = 8192;

static TOLD_LEFT: AtomicU32 = AtomicU32::new(0);
/// Grows when the working folder changes.
static WORKING_FOLDERS: AtomicU32 = AtomicU32::new(0);

/// The helper has fetched something from a device: visits go on being told.
pub(super) fn stay_told() {
    TOLD_LEFT.store(VISITS_TOLD, Relaxed);
}

/// Whether the helper has fetched something lately.
#[inline]
pub(super) fn are_visits_told() -> bool {
    TOLD_LEFT.load(Relaxed) > 0
}

/// Which working folder paths begin at.
pub(super) fn working_folder() -> u32 {
    WORKING_FOLDERS.load(Relaxed)
}

/// The working folder has changed.
pub(super) fn on_new_working_folder() {
    WORKING_FOLDERS.fetch_add(1, Relaxed);
}

/// Folder and name of a path; `None` where the last part is no name.
pub(super) fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(0) => (&path[..1], &path[1..]),
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&path[..0], path),
    };
    (!name.is_empty() && name != b"." && name != b"..").then_some((folder, name))
}

fn slot<T>(slots: &[T], number: u64) -> &T {
    let place = usize::try_from(number).unwrap_or(0) % slots.len();
    &slots[place]
}

/// A hash of bytes: spread over all bits, the same in all processes.
pub(super) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mix = |state: u64, word: u64| {
        let mixed = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    };
    let mut words = bytes.chunks_exact(8);
    let mut state = mix(seed, bytes.len() as u64);
    for word in words.by_ref() {
        state = mix(state, u64::from_le_bytes(word.try_into().unwrap_or([0; 8])));
    }
    let mut last = [0; 8];
    let rest = words.remainder();
    last[..rest.len()].copy_from_slice(rest);
    mix(mix(state, u64::from_le_bytes(last)), seed)
}

/// The hash of a name, as visits carry it.
pub(super) fn name_hash(name: &[u8]) -> u64 {
    hash(7, name) & !3 | 4
}

/// The key that paths from the root on begin with.
const ROOT: u64 = 0x5bd1_e995_9e37_79b9;

/// The key of what descriptors and working folders stand for by themselves: `number` is one of either, `generation`
/// which opening or change of it.
pub(super) fn base_key(number: i32, generation: u32) -> u64 {
    let both = u64::from(number.cast_unsigned()) | u64::from(generation) << 32;
    hash(11, &both.to_ne_bytes()) | 1
}

/// The key of the folder that has a name, by its hash, in the folder with the key `above`.
pub(super) fn key_below(above: u64, name: u64) -> u64 {
    hash(above, &name.to_ne_bytes()) | 1
}

/// The key of the folder that `path` leads to, from the folder with the key `from` on. However a program comes to a
/// folder, part by part or by one path, its key is the same, as long as it begins at the same place.
pub(super) fn path_key(from: u64, path: &[u8]) -> u64 {
    let from = if path.first() == Some(&b'/') {
        ROOT
    } else {
        from
    };
    let parts = path.split(|byte| *byte == b'/');
    parts
        .filter(|part| !part.is_empty() && *part != b".")
        .fold(from, |above, part| key_below(above, name_hash(part)))
}

/// Puts a visit where the helper finds it. False: it was lost.
pub(super) fn push_visit(visit: Visit) -> bool {
    let left = TOLD_LEFT.load(Relaxed);
    TOLD_LEFT.store(left.saturating_sub(1), Relaxed);
    let written = VISITS_WRITTEN.load(Relaxed);
    if written.saturating_sub(VISITS_READ.load(Relaxed)) >= VISITS as u64 {
        return false;
    }
    let number = VISITS_WRITTEN.fetch_add(1, Relaxed);
    let slot = slot(&VISIT_SLOTS, number);
    let kind = match visit.kind {
        VisitKind::Stat => 1,
        VisitKind::Open => 2,
        VisitKind::Close(bytes) => {
            slot.bytes.store(bytes.unwrap_or(BYTES_UNKNOWN), Relaxed);
            3
        }
    };
    slot.key.store(visit.key, Relaxed);
    slot.what.store(visit.hash & !3 | kind, Ordering::Release);
    true
}

/// The next visit. For the helper only.
pub(super) fn next_visit() -> Option<Visit> {
    loop {
        let read = VISITS_READ.load(Relaxed);
        if read == VISITS_WRITTEN.load(Relaxed) {
            return None;
        }
        let slot = slot(&VISIT_SLOTS, read);
        let what = slot.what.swap(0, Ordering::Acquire);
        let visit = Visit {
            key: slot.key.load(Relaxed),
            hash: what & !3,
            kind: match what & 3 {
                1 => VisitKind::Stat,
                2 => VisitKind::Open,
                _ => {
                    let bytes = slot.bytes.load(Relaxed);
                    VisitKind::Close((bytes != BYTES_UNKNOWN).then_some(bytes))
                }
            },
        };
        VISITS_READ.store(read + 1, Relaxed);
        // Otherwise its writer is between its two stores, or never comes back: that visit is lost.
        if what != 0 {
            return Some(visit);
        }
    }
}

/// Where it stands that a key was noted. The lowest bit of all keys is the same.
fn noted(key: u64) -> &'static AtomicU64 {
    slot(&NOTED, key >> 1)
}

/// Whether the folder with this key was noted, and is noted from now on.
pub(super) fn is_noted(key: u64) -> bool {
    let slot = noted(key);
    if slot.load(Relaxed) == key {
        return true;
    }
    slot.store(key, Relaxed);
    false
}

/// The helper does not know this key: it is to be noted again.
pub(super) fn ask_for_note(key: u64) {
    let _ = noted(key).compare_exchange(key, 0, Relaxed, Relaxed);
}

/// No key is known any more.
pub(super) fn forget_keys() {
    for slot in &NOTED {
        if slot.load(Relaxed) != 0 {
            slot.store(0, Relaxed);
        }
    }
}

/// A note that is to be written.
pub(super) struct NewNote<'a> {
    pub(super) key: u64,
    pub(super) folder: i32,
    pub(super) generation: u32,
    pub(super) origin: Origin,
    pub(super) lists: bool,
    pub(super) path: &'a [u8],
}

/// Writes down where a folder is. The oldest note gives way.
pub(super) fn push_note(note: &NewNote<'_>) {
    let path = note.path;
    if path.len() > PATH_BYTES {
        return;
    }
    let number = NOTES_WRITTEN.fetch_add(1, Relaxed);
    let slot = slot(&NOTE_SLOTS, number);
    slot.sequence.store(0, Ordering::Release);
    slot.key.store(note.key, Relaxed);
    let descriptor = u64::from(note.folder.cast_unsigned()) | u64::from(note.generation) << 32;
    slot.descriptor.store(descriptor, Relaxed);
    slot.origin[0].store(note.origin.above, Relaxed);
    slot.origin[1].store(note.origin.name, Relaxed);
    let length = u32::try_from(path.len()).unwrap_or(0);
    slot.length
        .store(length << 1 | u32::from(note.lists), Relaxed);
    for (word, bytes) in slot.path.iter().zip(path.chunks(8)) {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(eight), Relaxed);
    }
    slot.sequence.store(number + 1, Ordering::Release);
}

/// The next note. For the helper only. One that is being written over is left out.
pub(super) fn next_note() -> Option<Note> {
    loop {
        let written = NOTES_WRITTEN.load(Ordering::Acquire);
        let read = NOTES_READ
            .load(Relaxed)
            .max(written.saturating_sub(NOTES as u64));
        if read >= written {
            return None;
        }
        NOTES_READ.store(read + 1, Relaxed);
        let slot = slot(&NOTE_SLOTS, read);
        if slot.sequence.load(Ordering::Acquire) != read + 1 {
            continue;
        }
        let descriptor = slot.descriptor.load(Relaxed);
        let length = slot.length.load(Relaxed);
        let mut note = Note {
            key: slot.key.load(Relaxed),
            folder: u32::try_from(descriptor & 0xffff_ffff)
                .unwrap_or(0)
                .cast_signed(),
            generation: u32::try_from(descriptor >> 32).unwrap_or(0),
            origin: Origin {
                above: slot.origin[0].load(Relaxed),
                name: slot.origin[1].load(Relaxed),
            },
            lists: length & 1 == 1,
            length: usize::try_from(length >> 1).unwrap_or(0),
            path: [0; PATH_BYTES],
        };
        for (bytes, word) in note.path.chunks_exact_mut(8).zip(&slot.path) {
            bytes.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        std::sync::atomic::fence(Ordering::Acquire);
        if slot.sequence.load(Relaxed) == read + 1 && note.length <= PATH_BYTES {
            return Some(note);
        }
    }
}

/// Whether anything waits for the helper.
pub(super) fn is_empty() -> bool {
    VISITS_READ.load(Relaxed) >= VISITS_WRITTEN.load(Ordering::SeqCst)
        && NOTES_READ.load(Relaxed) >= NOTES_WRITTEN.load(Ordering::SeqCst)
}

/// Nothing waits any more: the process is the child of a fork, or begins anew.
pub(super) fn forget_all() {
    VISITS_READ.store(VISITS_WRITTEN.load(Relaxed), Relaxed);
    NOTES_READ.store(NOTES_WRITTEN.load(Relaxed), Relaxed);
    forget_keys();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_key_however_a_program_comes_to_it() {
        let start = base_key(libc::AT_FDCWD, 3);
        let whole = path_key(start, b"one/two//./three");
        let parts = path_key(path_key(path_key(start, b"one"), b"./two/"), b"three");
        assert_eq!(whole, parts);
        assert_eq!(
            key_below(path_key(start, b"one/two"), name_hash(b"three")),
            whole
        );
        assert_eq!(path_key(start, b"/a/b"), path_key(1, b"/a/b"));
        assert_ne!(
            whole,
            path_key(base_key(libc::AT_FDCWD, 4), b"one/two/three")
        );
        assert_ne!(whole, path_key(start, b"one/three/two"));
    }

    /// One test for all: the rings belong to the process.
    #[test]
    fn what_is_put_into_the_rings_comes_out_and_too_much_is_lost() {
        let visit = |number: u64| Visit {
            key: number,
            hash: number << 2,
            kind: match number % 3 {
                0 => VisitKind::Stat,
                1 => VisitKind::Open,
                _ => VisitKind::Close((number > 5).then_some(number)),
            },
        };
        forget_all();
        for number in 1..=VISITS as u64 {
            assert!(push_visit(visit(number)));
        }
        assert!(!push_visit(visit(1)));
        for number in 1..=VISITS as u64 {
            assert_eq!(next_visit(), Some(visit(number)));
        }
        assert_eq!(next_visit(), None);
        let note = |key| NewNote {
            key,
            folder: -100,
            generation: 7,
            origin: Origin { above: 8, name: 9 },
            lists: true,
            path: b"\xffsome/path",
        };
        push_note(&NewNote {
            path: &[b'x'; PATH_BYTES + 1],
            ..note(1)
        });
        for key in 0..NOTES as u64 + 10 {
            push_note(&note(key));
        }
        let first = next_note().unwrap();
        assert_eq!(first.key, 10);
        assert_eq!(
            (first.folder, first.generation, first.lists),
            (-100, 7, true)
        );
        assert_eq!((first.origin.above, first.origin.name), (8, 9));
        assert_eq!(&first.path[..first.length], b"\xffsome/path");
        assert!(!is_empty());
        forget_all();
        assert!(is_empty() && next_note().is_none());
    }

    #[test]
    fn as_many_keys_are_noted_as_there_is_space_for() {
        let places: std::collections::BTreeSet<_> = (0..2 * KEYS as u64)
            .map(|number| std::ptr::from_ref(noted(number | 1)).addr())
            .collect();
        assert_eq!(places.len(), KEYS);
    }

    #[test]
    fn a_key_is_noted_once_until_a_note_is_asked_for() {
        let key = 0x1234_5678_9abc_0003;
        ask_for_note(key);
        assert!(!is_noted(key));
        assert!(is_noted(key));
        ask_for_note(key);
        assert!(!is_noted(key));
    }
}
