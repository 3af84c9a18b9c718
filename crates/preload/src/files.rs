//! The table of files that this process reads: fixed places, found by device and inode.
//!
//! Eight places belong to each hash value; the one used longest ago gives way. A place is entered
//! by one thread at a time, and nobody waits for it: who finds it busy leaves the access in a
//! small mailbox, which the thread inside empties before it leaves. That also serves a signal
//! handler that reads the file which its own thread was reading.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use ahead_engine::file::{Engine, FileState};
use ahead_policy::adaptive::{STREAMS_MANY, Stream};
use ahead_units::PageRange;

use crate::memory::zeroed_array;

/// Places in the table: 8192 files at once. Programs with more open at a time lose the history of
/// those that they used longest ago.
const PLACES: usize = 8192;
const WAYS: usize = 8;

/// Large stream tables that are lent to files with many streams. Each has 3.5 KiB.
const MANY_TABLES: usize = 1024;

/// Accesses that can wait for a busy place.
const MAILBOX: usize = 8;

/// One file's place.
pub(crate) struct Place {
    busy: AtomicBool,
    /// Grows with each file that lives here, so that an old descriptor entry is recognised.
    generation: AtomicU32,
    device: AtomicU64,
    inode: AtomicU64,
    last_used: AtomicU64,
    /// When its reader asked or waited last, in nanoseconds on the monotonic clock.
    pub(crate) active_ns: AtomicU64,
    /// Which device of the host it lies on.
    pub(crate) device_place: AtomicU32,
    /// Its record in the account.
    pub(crate) record: AtomicU32,
    /// Its large table, plus one; 0 is none.
    many: AtomicU32,
    mailbox: [AtomicU64; MAILBOX],
    state: UnsafeCell<FileState>,
}

// SAFETY: `state` is only reached through `Inside`, which one thread at a time can hold.
unsafe impl Sync for Place {}

/// The large stream tables.
struct ManyTable(UnsafeCell<[Stream; STREAMS_MANY]>);

// SAFETY: a table belongs to one place, and is only reached by whoever is inside that place.
unsafe impl Sync for ManyTable {}

/// All files of this process.
pub(crate) struct Files {
    places: &'static [Place],
    /// A bit for each place that ever held a file. Going through these instead of the places keeps
    /// untouched memory untouched, which matters after every fork.
    used: [AtomicU64; PLACES / 64],
    many: &'static [ManyTable],
    many_used: AtomicU32,
    clock: AtomicU64,
}

/// The right to change one file's state, until dropped.
pub(crate) struct Inside<'a> {
    place: &'a Place,
    files: &'a Files,
}

/// An access packed into one word: present, start page (46 bits), length in pages (16 bits).
fn pack(access: PageRange) -> u64 {
    let length = access.len().get().clamp(1, 0xffff);
    1 << 63 | (access.start.get() & ((1 << 46) - 1)) << 16 | length
}

fn unpack(word: u64) -> Option<PageRange> {
    let start = word >> 16 & ((1 << 46) - 1);
    (word >> 63 == 1).then(|| PageRange::new(start, start + (word & 0xffff)))
}

impl Files {
    /// An empty table; `None` without address space.
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: all-zero bytes are valid atomics and a valid (never used) file state, whose
        // types are plain numbers and enums with a variant 0.
        let places = unsafe { zeroed_array::<Place>(PLACES)? };
        // SAFETY: all-zero bytes are vacant streams.
        let many = unsafe { zeroed_array::<ManyTable>(MANY_TABLES)? };
        Some(Self {
            places,
            used: [const { AtomicU64::new(0) }; PLACES / 64],
            many,
            many_used: AtomicU32::new(0),
            clock: AtomicU64::new(0),
        })
    }

    /// The place of a file, made for it if it had none. `None` if all suitable places are busy.
    /// The second value is true when the file is new here.
    pub(crate) fn find(&self, device: u64, inode: u64, engine: &Engine) -> Option<(u32, bool)> {
        let hash = (device ^ inode.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        let bucket = usize::try_from(hash >> 40).unwrap_or(0) % (PLACES / WAYS) * WAYS;
        let ways = &self.places[bucket..bucket + WAYS];
        let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        let mut oldest = (u64::MAX, 0);
        for (way, place) in ways.iter().enumerate() {
            let used = place.last_used.load(Ordering::Relaxed);
            if used != 0
                && place.inode.load(Ordering::Relaxed) == inode
                && place.device.load(Ordering::Relaxed) == device
            {
                place.last_used.store(now, Ordering::Relaxed);
                return Some((u32::try_from(bucket + way).ok()?, false));
            }
            if used < oldest.0 {
                oldest = (used, way);
            }
        }
        let way = oldest.1;
        let place = ways.get(way)?;
        let mut inside = self.enter_any(place)?;
        inside.settle_for_another_file(engine);
        place.generation.fetch_add(1, Ordering::Relaxed);
        place.device.store(device, Ordering::Relaxed);
        place.inode.store(inode, Ordering::Relaxed);
        place.record.store(0, Ordering::Relaxed);
        place.last_used.store(now, Ordering::Relaxed);
        let number = bucket + way;
        self.used[number / 64].fetch_or(1 << (number % 64), Ordering::Relaxed);
        Some((u32::try_from(number).ok()?, true))
    }

    /// The place with this number.
    #[inline]
    pub(crate) fn place(&self, slot: u32) -> Option<&Place> {
        self.places.get(usize::try_from(slot).ok()?)
    }

    /// Enters `place` if nobody is inside and `generation` still lives there.
    #[inline]
    pub(crate) fn enter<'a>(&'a self, place: &'a Place, generation: u16) -> Option<Inside<'a>> {
        let inside = self.enter_any(place)?;
        (place.generation() == generation).then_some(inside)
    }

    #[inline]
    fn enter_any<'a>(&'a self, place: &'a Place) -> Option<Inside<'a>> {
        place
            .busy
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .ok()
            .map(|_| Inside { place, files: self })
    }

    /// All places that ever held a file.
    pub(crate) fn used(&self) -> impl Iterator<Item = &Place> {
        self.used.iter().enumerate().flat_map(move |(word, bits)| {
            let bits = bits.load(Ordering::Relaxed);
            let set = (0..64).filter(move |bit| bits >> bit & 1 == 1);
            set.filter_map(move |bit| self.places.get(word * 64 + bit))
        })
    }

    /// Opens all places: in a forked child the threads that were inside do not exist.
    pub(crate) fn release_all(&self) {
        for place in self.used() {
            place.busy.store(false, Ordering::Relaxed);
        }
    }
}

impl Place {
    /// The low bits of the generation, as descriptor entries keep them.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low bits are what is wanted"
    )]
    pub(crate) fn generation(&self) -> u16 {
        self.generation.load(Ordering::Relaxed) as u16
    }

    /// Whether the file of this device and inode lives here.
    pub(crate) fn is(&self, device: u64, inode: u64) -> bool {
        self.device.load(Ordering::Relaxed) == device && self.inode.load(Ordering::Relaxed) == inode
    }

    /// Device and inode of the file that lives here.
    pub(crate) fn file(&self) -> (u64, u64) {
        (
            self.device.load(Ordering::Relaxed),
            self.inode.load(Ordering::Relaxed),
        )
    }

    /// Leaves an access for whoever is inside. A full mailbox drops it.
    pub(crate) fn leave(&self, access: PageRange) {
        let word = pack(access);
        for letter in &self.mailbox {
            if letter
                .compare_exchange(0, word, Ordering::Release, Ordering::Relaxed)
                .is_ok()
            {
                return;
            }
        }
    }
}

impl Inside<'_> {
    /// The file's state, and its large table if it has one.
    #[inline]
    pub(crate) fn state(&mut self) -> (&mut FileState, Option<&mut [Stream]>) {
        let many = self.place.many.load(Ordering::Relaxed);
        // SAFETY: `self` is the only `Inside` of this place, borrowed mutably.
        let state = unsafe { &mut *self.place.state.get() };
        let many = many.checked_sub(1).and_then(|table| {
            let table = self.files.many.get(usize::try_from(table).ok()?)?;
            // SAFETY: the table belongs to this place alone.
            Some(unsafe { &mut *table.0.get() }.as_mut_slice())
        });
        (state, many)
    }

    /// The next access that somebody left here.
    pub(crate) fn letter(&mut self) -> Option<PageRange> {
        self.place.mailbox.iter().find_map(|letter| {
            // Reading first keeps the line shared while nobody writes.
            if letter.load(Ordering::Relaxed) == 0 {
                return None;
            }
            unpack(letter.swap(0, Ordering::Acquire))
        })
    }

    /// Whether somebody left an access here.
    #[inline]
    pub(crate) fn has_letters(&self) -> bool {
        // Boxes are filled from the front.
        self.place.mailbox[0].load(Ordering::Relaxed) != 0
    }

    /// Gives the file a large table if it wants one and there is one left.
    pub(crate) fn grow_if_wanted(&mut self) {
        if self.place.many.load(Ordering::Relaxed) != 0 || !self.state().0.wants_many() {
            return;
        }
        let table = self.files.many_used.fetch_add(1, Ordering::Relaxed);
        if usize::try_from(table).unwrap_or(usize::MAX) >= MANY_TABLES {
            self.files.many_used.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        self.place.many.store(table + 1, Ordering::Relaxed);
        let (state, many) = self.state();
        if let Some(many) = many {
            state.move_to_many(many);
        }
    }

    /// Another file will live here: the old one's state goes, its large table stays with the place.
    fn settle_for_another_file(&mut self, engine: &Engine) {
        let (state, mut many) = self.state();
        state.on_idle(many.as_deref_mut(), engine);
        *state = FileState::default();
        if let Some(many) = many {
            many.fill(Stream::default());
        }
        for letter in &self.place.mailbox {
            letter.store(0, Ordering::Relaxed);
        }
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.place.busy.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_place_and_another_one_gets_another() {
        let files = Files::new().unwrap();
        let (first, new) = files.find(1, 100, &Engine::default()).unwrap();
        assert!(new);
        assert_eq!(files.find(1, 100, &Engine::default()), Some((first, false)));
        assert_ne!(files.find(1, 101, &Engine::default()).unwrap().0, first);
    }

    #[test]
    fn who_finds_a_place_busy_leaves_a_letter_that_the_other_finds() {
        let files = Files::new().unwrap();
        let (slot, _) = files.find(1, 100, &Engine::default()).unwrap();
        let place = files.place(slot).unwrap();
        let mut inside = files.enter(place, place.generation()).unwrap();
        assert!(files.enter(place, place.generation()).is_none());
        place.leave(PageRange::new(7, 9));
        assert_eq!(inside.letter(), Some(PageRange::new(7, 9)));
        assert_eq!(inside.letter(), None);
    }

    #[test]
    fn used_places_are_found_without_looking_at_the_others() {
        let files = Files::new().unwrap();
        for inode in 0..100 {
            files.find(1, inode, &Engine::default()).unwrap();
        }
        assert_eq!(files.used().count(), 100);
    }

    #[test]
    fn a_descriptor_of_a_file_that_gave_way_is_not_let_in() {
        let files = Files::new().unwrap();
        let (slot, _) = files.find(1, 100, &Engine::default()).unwrap();
        let place = files.place(slot).unwrap();
        assert!(
            files
                .enter(place, place.generation().wrapping_add(1))
                .is_none()
        );
        assert!(files.enter(place, place.generation()).is_some());
    }
}
