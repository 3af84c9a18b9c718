//! The files that the daemon knows: a plain table of a fixed size, the least recently read one first to go.
//!
//! One thread is in here, so a file is never busy and nothing is deferred.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use ahead_engine::adviser::CallsMade;
use ahead_engine::devices::Devices;
use ahead_engine::file::FileState;
use ahead_engine::group::Group;
use ahead_engine::host::{Deferred, Delivered, EnterError, EnteredFile, FileTable};
use ahead_engine::mapped_window::{MappedNeed, MappedWindow, WindowPrice};
use ahead_observer::observation::{FileKey, Observation};
use ahead_observer::quiet::{Quiet, SETTLED_MAX};
use ahead_policy::adaptive::{STREAMS_MANY, Stream, StreamId};
use ahead_policy::decision::Decision;
use ahead_units::{ByteRange, PageCount, Timestamp};
use lru::LruCache;

use crate::history::{Deed, History};
use crate::machine_facts::delivered;
use crate::pause::{Pause, Told};
use crate::pipeline::Pipeline;
use crate::reach::Reach;
use crate::readers::Readers;
use crate::status::{DeviceStatus, FileStatus, PageAccount};
use crate::untold::untold;

/// Files that are known at once. Fewer, and a machine that reads many forgets the streams of those that come back;
/// more is memory.
pub const FILES_MAX: usize = 4096;

/// Devices whose accounts are kept apart. More share one, so that network mounts that come and go do not fill memory.
const DEVICES_MAX: usize = 64;

/// How often the path of a file is looked for.
const PATH_LOOKS_MAX: u8 = 8;

/// What is known of one file.
#[derive(Debug, Default)]
pub struct Slot {
    key: Option<FileKey>,
    /// Which of the files that had its inode one after another.
    generation: Option<u32>,
    state: FileState,
    many: Option<Box<[Stream]>>,
    /// What happened to it since it is known.
    pub account: PageAccount,
    /// What was decided about it.
    pub history: History,
    /// When its newest fact was told.
    pub told: Timestamp,
    /// The newest access that was told.
    newest: ByteRange,
    /// Process that read it last.
    pub reader: u32,
    /// The user of that process.
    pub owner: Option<u32>,
    /// Its name.
    pub name: Option<String>,
    /// Its control group, of the unified hierarchy where there is one.
    pub cgroup: Option<String>,
    /// The file's path when it was reached first.
    pub path: Option<PathBuf>,
    /// How often it was looked for.
    path_looks: u8,
    /// It is read through a mapping.
    pub is_mapped: bool,
    /// Whether the kernel's window pays there.
    pub mapped_window: MappedWindow,
    /// The window of the open file that a process has mapped, as it was seen last.
    open_window: Option<(u32, PageCount)>,
    /// How late its accesses may be told.
    pause: Pause,
    /// What is settled in it, said to the programs: for one stream each.
    settled: [ByteRange; SETTLED_MAX],
    /// For which process it was tried last to take it away, and when.
    pub narrowing_tried: Option<(u32, Timestamp)>,
    /// The kernel's pipeline of the scan that was held back last.
    pub(crate) pipeline: Option<Pipeline>,
    /// Which process's reads of it were judged last, when, and whether the owner of the machine means them.
    pub meant: Option<(u32, Timestamp, bool)>,
}

impl Slot {
    /// Which file.
    #[must_use]
    pub const fn key(&self) -> Option<FileKey> {
        self.key
    }

    /// Which of its accesses wake nobody.
    fn quiet(&self) -> Quiet {
        Quiet {
            pause: self.pause.length(),
            settled: self.settled,
        }
    }

    /// Whether the kernel's window pays at this price, after these faults.
    pub fn mapped_need(&mut self, faults: &Observation, price: &WindowPrice) -> MappedNeed {
        let window = &mut self.mapped_window;
        let needs = faults
            .accesses()
            .map(|touched| window.on_fault(touched.pages(), faults.file_pages, price));
        needs.last().unwrap_or(MappedNeed::AsItIs)
    }

    /// Whether it was not tried for the process of `fact` within the last `pause_ns` to take the window away. It is
    /// tried now.
    pub fn may_narrow(&mut self, fact: &Observation, pause_ns: u64) -> bool {
        let is_recent = self.narrowing_tried.is_some_and(|(process, time)| {
            process == fact.process && fact.time.since(time) < pause_ns
        });
        if !is_recent {
            self.narrowing_tried = Some((fact.process, fact.time));
        }
        !is_recent
    }

    /// The window of the open file that `process` has mapped, where it was seen: another one than the device's is its program's.
    pub(crate) fn window_seen(&self, process: u32) -> Option<PageCount> {
        let (of, window) = self.open_window?;
        (of == process).then_some(window)
    }

    /// What is said of it, without its history.
    #[must_use]
    pub fn status(&self) -> Option<FileStatus> {
        let FileKey { device, inode } = self.key?;
        Some(FileStatus {
            device,
            inode,
            path: self.path.as_ref().map(|path| path.display().to_string()),
            process: self.reader,
            name: self.name.clone(),
            cgroup: self.cgroup.clone(),
            is_mapped: self.is_mapped,
            pattern: self.state.pattern.text().to_owned(),
            reason: self.state.reason.text().to_owned(),
            window_pages: self.state.window.get(),
            read_ns: self.told.get(),
            account: self.account,
            history: Vec::new(),
            history_forgotten: 0,
        })
    }

    /// It was read, and `asked` is what was requested because of that. Returns what is new, if that is a change of mind.
    pub fn on_read(
        &mut self,
        at: Timestamp,
        process: u32,
        asked: Option<(Decision, CallsMade)>,
    ) -> Option<Deed> {
        let mind = (self.state.pattern, self.state.reason);
        self.history.on_read(at, process, mind, asked)
    }
}

/// The table.
#[derive(Debug)]
pub struct Files {
    slots: Vec<RefCell<Slot>>,
    reaches: Vec<Cell<Reach>>,
    places: RefCell<LruCache<FileKey, u32>>,
    /// By the number of the device.
    devices: RefCell<BTreeMap<u64, PageAccount>>,
}

/// A file that was entered.
#[derive(Debug)]
pub struct InsideSlot<'a>(RefMut<'a, Slot>);

impl InsideSlot<'_> {
    /// All that is known of it.
    pub fn slot(&mut self) -> &mut Slot {
        &mut self.0
    }

    /// It has its place no longer: what it had on the way is no part of the budget of `group`.
    pub fn leave(&mut self, group: &Group) {
        let (state, many) = self.state();
        state.on_idle(many, group);
    }
}

/// Whether `rest` is what is left of `span` when its reader has gone on, in whichever direction.
fn ends_as(rest: ByteRange, span: ByteRange) -> bool {
    let is_inside = span.start <= rest.start && rest.end <= span.end;
    rest.start < rest.end && is_inside && (rest.start == span.start || rest.end == span.end)
}

fn at(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

impl Files {
    /// Places for `files_max` files.
    #[must_use]
    pub fn new(files_max: NonZeroUsize) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(files_max.get(), RefCell::default);
        let mut reaches = Vec::new();
        reaches.resize_with(files_max.get(), Cell::default);
        Self {
            slots,
            reaches,
            places: RefCell::new(LruCache::new(files_max)),
            devices: RefCell::default(),
        }
    }

    /// What happened on each device, and what is believed of it by those that were `met`.
    #[must_use]
    pub fn devices(&self, met: &Devices) -> Vec<DeviceStatus> {
        let devices = self.devices.borrow();
        let status = |(&device, &account): (&u64, &PageAccount)| DeviceStatus {
            device,
            believed: met.find(device).map(|one| one.estimate().into()),
            account,
        };
        devices.iter().map(status).collect()
    }

    /// The device of `key` has so much more.
    fn add_to_device(&self, key: FileKey, more: &PageAccount) {
        let mut devices = self.devices.borrow_mut();
        let is_full = devices.len() >= DEVICES_MAX && !devices.contains_key(&key.device);
        let device = if is_full { 0 } else { key.device };
        devices.entry(device).or_default().add(more);
    }

    /// Where `file` is, if it is known. It was used now.
    #[must_use]
    pub fn find(&self, file: FileKey) -> Option<u32> {
        self.places.borrow_mut().get(&file).copied()
    }

    /// The same; it is not used by that.
    #[must_use]
    pub fn peek(&self, file: FileKey) -> Option<u32> {
        self.places.borrow().peek(&file).copied()
    }

    /// Which file is at a place.
    #[must_use]
    pub fn key(&self, place: u32) -> Option<FileKey> {
        self.slots.get(at(place))?.borrow().key
    }

    /// A place for `file`, which is not known. `leave` is called with what had it before.
    pub fn take_place(&self, file: FileKey, leave: impl FnOnce(&mut InsideSlot<'_>)) -> u32 {
        let mut places = self.places.borrow_mut();
        let used = places.len();
        let place = if used < places.cap().get() {
            u32::try_from(used).unwrap_or(u32::MAX)
        } else {
            places.pop_lru().map_or(0, |(_, place)| place)
        };
        places.put(file, place);
        self.begin(place, file, leave);
        place
    }

    /// The place is that of `file` now, of which nothing is known.
    fn begin(&self, place: u32, file: FileKey, leave: impl FnOnce(&mut InsideSlot<'_>)) {
        let mut inside = InsideSlot(self.slots[at(place)].borrow_mut());
        if inside.0.key.is_some() {
            leave(&mut inside);
            self.account(&mut inside, 0);
        }
        *inside.0 = Slot {
            key: Some(file),
            ..Slot::default()
        };
        self.reaches[at(place)].set(Reach::default());
    }

    /// Whether what is told of the file at a place is of another one, which has its inode after it. Where that is not known, it is
    /// the same.
    #[must_use]
    pub fn is_replaced(&self, place: u32, generation: Option<u32>) -> bool {
        let Some(slot) = self.slots.get(at(place)) else {
            return false;
        };
        let known = &mut slot.borrow_mut().generation;
        let both = known.zip(generation);
        *known = generation.or(*known);
        both.is_some_and(|(before, now)| before != now)
    }

    /// The file at a place was replaced: nothing is known of the one that has its inode now. `leave` is called with what had it before.
    pub fn renew(&self, place: u32, leave: impl FnOnce(&mut InsideSlot<'_>)) {
        if let Some(file) = self.key(place) {
            self.begin(place, file, leave);
        }
    }

    /// Whether the path of the file at a place is to be looked for: it is not known, and was not looked for in vain
    /// often. Who reads it may be out of reach for good.
    #[must_use]
    pub fn wants_path(&self, place: u32) -> bool {
        let Some(slot) = self.slots.get(at(place)) else {
            return false;
        };
        let slot = &mut *slot.borrow_mut();
        let is_wanted = slot.path.is_none() && slot.path_looks < PATH_LOOKS_MAX;
        slot.path_looks += u8::from(is_wanted);
        is_wanted
    }

    /// `file` is watched from now on: as long as it is not known better, its accesses are expected to lead to something.
    pub fn expect_again(&self, file: FileKey) {
        if let Some(place) = self.peek(file) {
            let slot = &mut *self.slots[at(place)].borrow_mut();
            (slot.pause, slot.settled) = Default::default();
        }
    }

    /// Notes by which descriptor the file at a place is read, and with which window where that is mapped.
    pub(crate) fn note_reach(&self, place: u32, fact: &Observation) {
        if let Some(number) = fact.descriptor {
            let process = fact.process;
            self.set_reach(place, Reach::Descriptor { process, number });
        }
        if fact.is_mapped
            && let Some(window) = fact.window
            && let Ok(mut inside) = self.enter(place)
        {
            inside.slot().open_window = Some((fact.process, window));
        }
    }

    /// Notes who reads the file at a place, how, and that `fact` was told. Returns when the one before was.
    pub(crate) fn note(&self, place: u32, fact: &Observation, readers: &mut Readers) -> Timestamp {
        self.note_reach(place, fact);
        let Ok(mut inside) = self.enter(place) else {
            return fact.time;
        };
        let slot = inside.slot();
        if std::mem::replace(&mut slot.reader, fact.process) != fact.process {
            let reader = readers.get(fact);
            slot.owner = reader.owner;
            slot.name.clone_from(&reader.name);
            slot.cgroup = reader.cgroups.last().cloned();
        }
        slot.is_mapped = fact.is_mapped;
        slot.newest = fact.accesses().last().unwrap_or(slot.newest);
        if let Some(window) = fact.window {
            slot.state.set_kernel_window(window);
        }
        let before = std::mem::replace(&mut slot.told, fact.time);
        if before == Timestamp::default() {
            fact.time
        } else {
            before.min(fact.time)
        }
    }

    /// What was read between the newest access to the file at a place that was told, and `miss`.
    #[must_use]
    pub fn untold(&self, place: u32, miss: &Observation) -> Option<Observation> {
        let slot = self.slots.get(at(place))?.borrow();
        untold(slot.reader, slot.newest, miss)
    }

    /// Accesses to the file at a place were told, the newest one of `stream`. Returns which of the next ones need to wake nobody,
    /// where that is new.
    pub fn on_told(&self, place: u32, told: &Told, stream: Option<StreamId>) -> Option<Quiet> {
        let slot = &mut *self.slots.get(at(place))?.borrow_mut();
        let before = slot.quiet();
        slot.pause.on_told(told);
        if let Some(stream) = stream {
            let settled = slot.state.settled(slot.many.as_deref_mut(), stream.place);
            let settled = settled.map_or_else(ByteRange::default, Into::into);
            let span = &mut slot.settled[usize::from(stream.place) % SETTLED_MAX];
            if !ends_as(settled, *span) {
                *span = settled;
            }
        }
        let quiet = slot.quiet();
        (quiet != before).then_some(quiet)
    }

    /// Whether accesses to the file at a place are told at once.
    #[must_use]
    pub fn is_told_at_once(&self, place: u32) -> bool {
        let slot = self.slots.get(at(place));
        slot.is_some_and(|slot| slot.borrow().pause.length().is_zero())
    }

    /// How the file at a place was reached last.
    #[must_use]
    pub fn reach(&self, place: u32) -> Reach {
        self.reaches[at(place)].get()
    }

    /// It is reached like this now.
    pub fn set_reach(&self, place: u32, reach: Reach) {
        self.reaches[at(place)].set(reach);
    }
}

impl FileTable for Files {
    type File = u32;
    type Entered<'a> = InsideSlot<'a>;
    const SEES_ALL_READS: bool = false;

    fn number(&self, file: u32) -> u64 {
        u64::from(file)
    }

    fn enter(&self, file: u32) -> Result<InsideSlot<'_>, EnterError> {
        let slot = self.slots.get(at(file)).ok_or(EnterError::Gone)?;
        let slot = slot.try_borrow_mut().map_err(|_| EnterError::Busy)?;
        slot.key.is_some().then_some(()).ok_or(EnterError::Gone)?;
        Ok(InsideSlot(slot))
    }

    fn delivered(&self, number: u64, _now: Timestamp) -> Option<Delivered> {
        delivered(number)
    }

    fn defer(&self, _file: u32, _deferred: Deferred) {}

    fn visit(&self, mut visit: impl FnMut(&mut InsideSlot<'_>)) {
        let used = self.places.borrow().len();
        for slot in &self.slots[..used] {
            if let Ok(slot) = slot.try_borrow_mut()
                && slot.key.is_some()
            {
                visit(&mut InsideSlot(slot));
            }
        }
    }

    fn account(&self, entered: &mut InsideSlot<'_>, _accesses_min: u64) {
        let slot = &mut *entered.0;
        let (tally, wasted) = slot.state.take_tally();
        let more = PageAccount {
            accesses: tally.accesses,
            pages: tally.pages,
            requested: tally.prefetched,
            useful: tally.useful,
            late: tally.late,
            wasted,
            thrashed: tally.thrashed,
        };
        slot.account.add(&more);
        if let Some(key) = slot.key
            && more != PageAccount::default()
        {
            self.add_to_device(key, &more);
        }
    }
}

impl EnteredFile for InsideSlot<'_> {
    fn state(&mut self) -> (&mut FileState, Option<&mut [Stream]>) {
        let slot = &mut *self.0;
        (&mut slot.state, slot.many.as_deref_mut())
    }

    fn has_deferred(&self) -> bool {
        false
    }

    fn next_deferred(&mut self) -> Option<Deferred> {
        None
    }

    fn grow(&mut self) {
        let slot = &mut *self.0;
        if slot.many.is_none() {
            let mut many = vec![Stream::default(); STREAMS_MANY].into_boxed_slice();
            slot.state.move_to_many(&mut many);
            slot.many = Some(many);
        }
    }
}

#[cfg(test)]
mod tests {
    use ahead_units::PageRange;

    use super::*;

    fn file(inode: u64) -> FileKey {
        FileKey { device: 1, inode }
    }

    #[test]
    fn the_file_that_was_not_read_for_longest_leaves_its_place() {
        let files = Files::new(NonZeroUsize::new(2).unwrap());
        let first = files.take_place(file(1), |_| panic!("free"));
        let second = files.take_place(file(2), |_| panic!("free"));
        assert_eq!(files.find(file(1)), Some(first));
        let mut left = None;
        let third = files.take_place(file(3), |inside| left = inside.slot().key());
        assert_eq!((left, third), (Some(file(2)), second));
        assert_eq!(files.find(file(2)), None);
        assert_eq!(files.key(second), Some(file(3)));
    }

    #[test]
    fn a_file_that_has_the_inode_of_a_removed_one_is_another() {
        let files = Files::new(NonZeroUsize::MIN);
        let place = files.take_place(file(1), |_| panic!("free"));
        assert!(!files.is_replaced(place, None));
        assert!(!files.is_replaced(place, Some(7)));
        assert!(!files.is_replaced(place, Some(7)));
        assert!(!files.is_replaced(place, None), "not known is no other");
        files.enter(place).unwrap().slot().path = Some("/a".into());
        assert!(files.is_replaced(place, Some(8)));
        let mut left = None;
        files.renew(place, |inside| left = inside.slot().path.take());
        assert_eq!(left, Some("/a".into()));
        assert_eq!(files.find(file(1)), Some(place));
        assert_eq!(files.enter(place).unwrap().slot().path, None);
        assert!(!files.is_replaced(place, Some(8)));
    }

    #[test]
    fn a_path_that_cannot_be_found_is_not_looked_for_without_end() {
        let files = Files::new(NonZeroUsize::MIN);
        let place = files.take_place(file(1), |_| panic!("free"));
        let looks = (0..100).filter(|_| files.wants_path(place)).count();
        assert_eq!(looks, usize::from(PATH_LOOKS_MAX));
        files.take_place(file(2), |_| ());
        assert!(files.wants_path(place), "another file");
        files.enter(place).unwrap().slot().path = Some("/a".into());
        assert!(!files.wants_path(place));
    }

    /// Names of network mounts can be made without end.
    #[test]
    fn devices_beyond_those_that_are_told_apart_share_an_account() {
        let files = Files::new(NonZeroUsize::MIN);
        let one = PageAccount {
            pages: 1,
            ..PageAccount::default()
        };
        for device in 1..=DEVICES_MAX as u64 + 9 {
            files.add_to_device(FileKey { device, inode: 1 }, &one);
        }
        let devices = files.devices(&Devices::new());
        assert_eq!(devices.len(), DEVICES_MAX + 1);
        assert_eq!((devices[0].device, devices[0].account.pages), (0, 9));
    }

    #[test]
    fn a_pause_ends_when_the_file_is_watched_again_and_is_that_of_the_file() {
        let files = Files::new(NonZeroUsize::new(2).unwrap());
        let place = files.take_place(file(1), |_| ());
        let other = files.take_place(file(2), |_| ());
        let told = Told {
            in_vain: 1000,
            is_broken: true,
            ..Told::default()
        };
        let told_of = |place, told| files.on_told(place, told, None);
        assert!(told_of(place, &told).is_some());
        assert!(!files.is_told_at_once(place) && files.is_told_at_once(other));
        files.expect_again(file(1));
        assert!(files.is_told_at_once(place));
        let one = Told { in_vain: 1, ..told };
        assert_eq!(told_of(place, &one), None, "watched anew");
        assert_eq!(told_of(7, &told), None);
    }

    /// Each change is a call.
    #[test]
    fn what_is_settled_is_said_again_only_when_its_far_end_moves() {
        let bytes = |start, end| ByteRange::from(PageRange::new(start, end));
        let said = bytes(100, 200);
        for (now, is_the_same) in [
            (bytes(100, 200), true),
            (bytes(150, 200), true),
            (bytes(100, 150), true),
            (bytes(150, 250), false),
            (bytes(50, 150), false),
            (bytes(120, 180), false),
            (ByteRange::default(), false),
            (bytes(300, 400), false),
        ] {
            assert_eq!(ends_as(now, said), is_the_same, "{now:?}");
        }
    }

    #[test]
    fn a_place_that_no_file_has_cannot_be_entered() {
        let files = Files::new(NonZeroUsize::new(2).unwrap());
        assert_eq!(files.enter(0).unwrap_err(), EnterError::Gone);
        assert_eq!(files.enter(7).unwrap_err(), EnterError::Gone);
    }
}
