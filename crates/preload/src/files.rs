//! The table of files that this process reads: fixed places, found by device and inode. A file that was made when its
//! inode was free again is another one, and takes the place of the first.
//!
//! Eight places belong to each hash value; when all are taken, the one that was entered longest ago
//! gives way. A place is entered by one thread at a time, and no thread waits for it: who finds it busy
//! defers what it has to say, and the thread inside takes it in before it leaves. That also serves a
//! signal handler that reads the file which its own thread was reading.
//!
//! A thread may leave the library without coming back, by `siglongjmp` out of a handler that
//! interrupted it. Its place stays busy; once that has lasted for [`STUCK_NS`], the place is given up
//! for good and the file gets another.

use std::cell::UnsafeCell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};

use ahead_engine::estimates::{Estimates, to_word};
use ahead_engine::file::FileState;
use ahead_engine::guard::STUCK_NS;
use ahead_engine::host::{Deferred, Delivered, EnterError, EnteredFile, FileTable};
use ahead_engine::members::Members;
use ahead_policy::adaptive::{STREAMS_MANY, Stream};
use ahead_policy::device::DeviceEstimate;
use ahead_sys::block_queue::{BlockStat, DeviceNumber};
use ahead_units::{ByteLength, Timestamp};

use crate::deferred_word::{pack, unpack};
use crate::fd_table::FileRef;
use crate::identity::InodeId;
use crate::memory::zeroed_array;
use crate::own_run::OwnRun;
use crate::shared::{RecordPlace, Shared};
use crate::ticks;

/// Places in the table: 8192 files at once. Programs with more open at a time lose the history of
/// those that they used longest ago.
const PLACES: usize = 8192;
const WAYS: usize = 8;
const _: () = assert!(64 % WAYS == 0, "bits of one bucket lie in one word");

/// Large stream tables that are lent to files with many streams. Each has 3.5 KiB.
const MANY_TABLES: usize = 1024;

/// Facts that can wait for a busy place. The last one is kept for answers: a request that was
/// refused and is believed to be on its way costs more than an access that was not seen.
const MAILBOX: usize = 8;

/// One file's place.
pub(crate) struct Place {
    busy: AtomicBool,
    /// Entered since the places of its hash value were looked through last.
    entered: AtomicBool,
    /// Its file was opened through an overlay.
    is_of_overlay: AtomicBool,
    /// No thread comes in any more.
    abandoned: AtomicBool,
    /// Grows with each file that lives here, so that an old descriptor entry is recognised.
    generation: AtomicU32,
    device: AtomicU64,
    inode: AtomicU64,
    birth_ns: AtomicU64,
    last_used: AtomicU64,
    /// The age of the process in which it was entered last, as [`Files::age`].
    age: AtomicU32,
    /// When a thread found it busy, and none has come in since; 0 otherwise.
    stuck_since_ns: AtomicU64,
    /// Its record in the account, as [`RecordPlace::to_word`].
    record: AtomicU32,
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
    /// Grows with every fork, in the child. Places of an older age are as the parent left them: they are not gone
    /// through then, which would make memory of each.
    age: AtomicU32,
    /// The budget left nothing for a request since that was asked last.
    budget_used: AtomicBool,
    /// Where what happens to files is added up, if anyone reads it.
    pub(crate) account: Option<Shared>,
    /// What is shared with the other processes of the run.
    pub(crate) own_run: OwnRun,
}

/// The right to change one file's state, until dropped.
pub(crate) struct Inside<'a> {
    place: &'a Place,
    files: &'a Files,
}

impl Files {
    /// A table without places: nothing is found in it before [`Self::prepare`].
    pub(crate) const fn unprepared() -> Self {
        Self {
            places: &[],
            used: [const { AtomicU64::new(0) }; PLACES / 64],
            many: &[],
            many_used: AtomicU32::new(0),
            clock: AtomicU64::new(0),
            age: AtomicU32::new(0),
            budget_used: AtomicBool::new(false),
            account: None,
            own_run: OwnRun::alone(),
        }
    }

    /// Whether the budget left nothing for a request since this was asked last.
    pub(crate) fn was_budget_used(&self) -> bool {
        self.budget_used.load(Relaxed) && self.budget_used.swap(false, Relaxed)
    }

    /// Makes the places, all empty; `None` without address space.
    pub(crate) fn prepare(&mut self, account: Option<Shared>, own_run: OwnRun) -> Option<()> {
        // SAFETY: all-zero bytes are valid atomics and a valid (never used) file state, whose
        // types are plain numbers and enums with a variant 0.
        self.places = unsafe { zeroed_array::<Place>(PLACES)? };
        // SAFETY: all-zero bytes are vacant streams.
        self.many = unsafe { zeroed_array::<ManyTable>(MANY_TABLES)? };
        (self.account, self.own_run) = (account, own_run);
        Some(())
    }

    /// The place of a file, made for it if it had none: `settle` ends what the file before it was
    /// doing. `None` if all suitable places are busy. The second value is true when the file is new
    /// here.
    pub(crate) fn find(
        &self,
        id: InodeId,
        settle: impl FnOnce(&mut Inside<'_>),
    ) -> Option<(FileRef, bool)> {
        let bucket = id.hash() % (PLACES / WAYS) * WAYS;
        let ways = &self.places[bucket..bucket + WAYS];
        // What never held a file is no memory yet, and does not become any by being looked at.
        let used = self.used[bucket / 64].load(Relaxed) >> (bucket % 64);
        let is_used = |way: usize| used & 1 << way != 0;
        let now = self.clock.fetch_add(1, Relaxed) + 1;
        let reference = |way: usize, place: &Place| {
            Some(FileRef {
                slot: u32::try_from(bucket + way).ok()?,
                generation: place.generation(),
            })
        };
        let mut deleted = None;
        for (way, place) in ways.iter().enumerate().filter(|(way, _)| is_used(*way)) {
            if place.is(id) {
                place.last_used.store(now, Relaxed);
                return Some((reference(way, place)?, false));
            }
            if place.file() == (id.device, id.inode) {
                deleted = Some(way);
            }
        }
        let unused = || (0..WAYS).find(|way| !is_used(*way));
        let way = deleted.or_else(unused).or_else(|| victim(ways))?;
        // A file that is read all the time is looked up only once: what was entered since the last time was used until now.
        for (_, place) in ways.iter().enumerate().filter(|(way, _)| is_used(*way)) {
            if place.entered.load(Relaxed) {
                place.entered.store(false, Relaxed);
                place.last_used.store(now, Relaxed);
            }
        }
        let place = ways.get(way)?;
        let mut inside = self.enter_any(place)?;
        settle(&mut inside);
        inside.clear();
        place.generation.fetch_add(1, Relaxed);
        place.device.store(id.device, Relaxed);
        place.inode.store(id.inode, Relaxed);
        place.birth_ns.store(id.birth_ns, Relaxed);
        place.record.store(0, Relaxed);
        place.last_used.store(now, Relaxed);
        let number = bucket + way;
        self.used[number / 64].fetch_or(1 << (number % 64), Relaxed);
        Some((reference(way, place)?, true))
    }

    /// The place with this number.
    #[inline]
    pub(crate) fn place(&self, file: FileRef) -> Option<&Place> {
        self.places.get(usize::try_from(file.slot).ok()?)
    }

    #[inline]
    fn enter_any<'a>(&'a self, place: &'a Place) -> Option<Inside<'a>> {
        if place
            .busy
            .compare_exchange(false, true, Ordering::Acquire, Relaxed)
            .is_err()
        {
            return None;
        }
        // Only write what changes.
        if !place.entered.load(Relaxed) {
            place.entered.store(true, Relaxed);
        }
        if place.stuck_since_ns.load(Relaxed) != 0 {
            place.stuck_since_ns.store(0, Relaxed);
        }
        let mut inside = Inside { place, files: self };
        if !self.is_of_this_process(place) {
            inside.begin_in_child();
        }
        Some(inside)
    }

    /// Whether the place is not as a parent left it.
    #[inline]
    fn is_of_this_process(&self, place: &Place) -> bool {
        place.age.load(Relaxed) == self.age.load(Relaxed)
    }

    /// All places that ever held a file.
    fn used(&self) -> impl Iterator<Item = &Place> {
        self.used.iter().enumerate().flat_map(move |(word, bits)| {
            let bits = bits.load(Relaxed);
            let set = (0..64).filter(move |bit| bits >> bit & 1 == 1);
            set.filter_map(move |bit| self.places.get(word * 64 + bit))
        })
    }

    /// This is the child of a fork. Opens all places: the threads that were inside do not exist.
    pub(crate) fn on_fork_in_child(&self) {
        self.age.fetch_add(1, Relaxed);
        for place in self.used() {
            // Only write what changes: most pages stay shared with the parent.
            if place.busy.load(Relaxed) {
                place.busy.store(false, Relaxed);
            }
        }
    }

    /// A thread found `place` busy at `now_ns`. A place that has been busy for too long is given up.
    fn note_busy(place: &Place, now_ns: u64) {
        let since = place.stuck_since_ns.load(Relaxed);
        if since == 0 {
            place.stuck_since_ns.store(now_ns.max(1), Relaxed);
        } else if now_ns.saturating_sub(since) >= STUCK_NS && !place.abandoned.swap(true, Relaxed) {
            place.generation.fetch_add(1, Relaxed);
            place.device.store(0, Relaxed);
            place.inode.store(0, Relaxed);
        }
    }
}

/// The way that gives way to a new file: the one used longest ago among those that were not entered
/// since the last time, or of all if all were.
fn victim(ways: &[Place]) -> Option<usize> {
    let oldest = |quiet: bool| {
        let ways = ways.iter().enumerate();
        ways.filter(|(_, place)| !place.abandoned.load(Relaxed))
            .filter(|(_, place)| !quiet || !place.entered.load(Relaxed))
            .min_by_key(|(_, place)| place.last_used.load(Relaxed))
            .map(|(way, _)| way)
    };
    oldest(true).or_else(|| oldest(false))
}

impl FileTable for Files {
    type File = FileRef;
    type Entered<'a> = Inside<'a>;

    #[inline]
    fn number(&self, file: FileRef) -> u64 {
        u64::from(file.slot)
    }

    #[inline]
    fn enter(&self, file: FileRef) -> Result<Inside<'_>, EnterError> {
        let place = self.place(file).ok_or(EnterError::Gone)?;
        if place.generation() != file.generation {
            return Err(EnterError::Gone);
        }
        let inside = self.enter_any(place).ok_or(EnterError::Busy)?;
        // Another file may have come in between the two.
        if place.generation() != file.generation {
            return Err(EnterError::Gone);
        }
        Ok(inside)
    }

    fn on_budget_used(&self) {
        self.budget_used.store(true, Relaxed);
    }

    fn members(&self) -> Members<'_> {
        self.own_run.members()
    }

    fn estimates(&self) -> Estimates<'_> {
        self.own_run.estimates()
    }

    fn keep_estimates(&self) {
        self.own_run.keep();
    }

    fn delivered(&self, number: u64, now: Timestamp) -> Option<Delivered> {
        let stat = BlockStat::read(Path::new("/sys"), DeviceNumber::from_dev(number))?;
        let bytes = ByteLength::new(stat.read_bytes);
        Some(Delivered { bytes, at: now })
    }

    fn note_device(&self, number: u64, estimate: DeviceEstimate) {
        if let Some(account) = &self.account {
            account.note_device(number, to_word(estimate));
        }
    }

    fn defer(&self, file: FileRef, deferred: Deferred) {
        let Some(place) = self.place(file) else {
            return;
        };
        Self::note_busy(place, ticks::monotonic_ns());
        let word = pack(deferred);
        let boxes = match deferred {
            Deferred::Access(_) => &place.mailbox[..MAILBOX - 1],
            Deferred::Answer(..) => &place.mailbox[..],
        };
        for slot in boxes {
            if slot
                .compare_exchange(0, word, Ordering::Release, Relaxed)
                .is_ok()
            {
                return;
            }
        }
    }

    fn visit(&self, mut visit: impl FnMut(&mut Inside<'_>)) {
        let own = self.used().filter(|place| self.is_of_this_process(place));
        for place in own {
            if let Some(mut inside) = self.enter_any(place) {
                visit(&mut inside);
            }
        }
    }

    fn account(&self, inside: &mut Inside<'_>, accesses_min: u64) {
        let (state, _) = inside.state();
        if state.untold_accesses() < accesses_min {
            return;
        }
        let window = state.window.get();
        let (pattern, reason) = (state.pattern.code(), state.reason.code());
        let (tally, wasted) = state.take_tally();
        if let (Some(account), Some(record)) = (&self.account, inside.place.record()) {
            account.add(record, &tally, wasted, window);
            account.set_pattern(record, pattern, reason);
        }
    }
}

impl EnteredFile for Inside<'_> {
    #[inline]
    fn state(&mut self) -> (&mut FileState, Option<&mut [Stream]>) {
        let many = self.place.many.load(Relaxed);
        // SAFETY: `self` is the only `Inside` of this place, borrowed mutably.
        let state = unsafe { &mut *self.place.state.get() };
        let many = many.checked_sub(1).and_then(|table| {
            let table = self.files.many.get(usize::try_from(table).ok()?)?;
            // SAFETY: the table belongs to this place alone.
            Some(unsafe { &mut *table.0.get() }.as_mut_slice())
        });
        (state, many)
    }

    #[inline]
    fn has_deferred(&self) -> bool {
        // Filled from the front, but for the last one.
        let [first, .., last] = &self.place.mailbox;
        first.load(Relaxed) | last.load(Relaxed) != 0
    }

    fn next_deferred(&mut self) -> Option<Deferred> {
        self.place.mailbox.iter().find_map(|slot| {
            // Reading first keeps the line shared while none writes.
            if slot.load(Relaxed) == 0 {
                return None;
            }
            unpack(slot.swap(0, Ordering::Acquire))
        })
    }

    fn grow(&mut self) {
        if self.place.many.load(Relaxed) != 0 {
            return;
        }
        let table = self.files.many_used.fetch_add(1, Relaxed);
        if usize::try_from(table).unwrap_or(usize::MAX) >= MANY_TABLES {
            self.files.many_used.fetch_sub(1, Relaxed);
            return;
        }
        self.place.many.store(table + 1, Relaxed);
        let (state, many) = self.state();
        if let Some(many) = many {
            state.move_to_many(many);
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
    fn generation(&self) -> u16 {
        self.generation.load(Relaxed) as u16
    }

    /// Whether this file lives here.
    pub(crate) fn is(&self, id: InodeId) -> bool {
        self.file() == (id.device, id.inode) && self.birth_ns.load(Relaxed) == id.birth_ns
    }

    /// Whether its file was opened through an overlay, as was seen when it was looked at.
    pub(crate) fn is_of_overlay(&self) -> bool {
        self.is_of_overlay.load(Relaxed)
    }

    /// Keeps that.
    pub(crate) fn set_of_overlay(&self, is_of_overlay: bool) {
        self.is_of_overlay.store(is_of_overlay, Relaxed);
    }

    /// Its record in the account.
    pub(crate) fn record(&self) -> Option<RecordPlace> {
        RecordPlace::from_word(self.record.load(Relaxed))
    }

    /// Sets its record in the account.
    pub(crate) fn set_record(&self, record: Option<RecordPlace>) {
        self.record.store(RecordPlace::to_word(record), Relaxed);
    }

    /// Device and inode of the file that lives here.
    pub(crate) fn file(&self) -> (u64, u64) {
        (self.device.load(Relaxed), self.inode.load(Relaxed))
    }
}

impl Inside<'_> {
    /// The first time in the child of a fork: what other threads left was for the parent.
    #[cold]
    fn begin_in_child(&mut self) {
        let age = self.files.age.load(Relaxed);
        self.place.age.store(age, Relaxed);
        for slot in &self.place.mailbox {
            slot.store(0, Relaxed);
        }
        let (state, many) = self.state();
        state.on_fork_in_child(many);
    }

    /// Another file will live here: the old one's state goes, its large table stays with the place.
    fn clear(&mut self) {
        let (state, many) = self.state();
        *state = FileState::default();
        if let Some(many) = many {
            many.fill(Stream::default());
        }
        for slot in &self.place.mailbox {
            slot.store(0, Relaxed);
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
mod tests;
