//! Facts in, decisions carried out: what happens with each thing that the observer tells.
//!
//! A file is *watched* from its first miss until nothing has waited for it for long: then its reads cost nothing again
//! until the next miss. Accesses are told late, after the read, but for those that go to the device; so what is
//! requested helps from the next one on.

mod answers;
mod orders;
mod rounds;
mod service;
mod starting;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::rc::Rc;

use ahead_engine::host::{EnteredFile, FileTable};
use ahead_engine::mapped_window::{MappedNeed, WindowPrice};
use ahead_engine::session::{Session, Token};
use ahead_engine::settings::Settings;
use ahead_observer::observation::{FactKind, FileKey, Observation};
use ahead_observer::quiet::Quiet;
use ahead_policy::adaptive::Quick;
use ahead_policy::device::DeviceEstimate;
use ahead_policy::reason::Pattern;
use ahead_sys::block_queue::DeviceNumber;
use ahead_units::{PageCount, Timestamp};
use lru::LruCache;

use crate::aside::Aside;
use crate::changes::Changes;
use crate::files::Files;
use crate::history::Deed;
use crate::machine_facts::{device_facts, now};
use crate::memory::PressedMemory;
use crate::narrowed::{NarrowedFiles, SmallWindow};
use crate::observing::Observing;
use crate::outside::{Outside, ResidentOutside};
use crate::owned::{OwnedDevices, OwnersWindow};
use crate::pause::Told;
use crate::pipeline::Pipeline;
use crate::reach::{Reach, Reacher};
use crate::readers::{Reader, Readers};
use crate::scope::{ReadFacts, Scope};
use crate::spending::Spending;
use crate::starving::StarvingFaults;
use crate::windows::DeviceWindows;

pub use service::{DaemonCounts, DaemonError, Service};

/// Idle files, ended processes and windows of devices are looked at this often.
const LOOK_NS: u64 = 1_000_000_000;

/// So long nothing is told of a reader that is left alone. Less, and its misses wake the daemon more often; more, and it waits for its
/// first request when it is meant after all.
const IGNORED_NS: u64 = 50_000_000;

/// Threads whose last access is remembered, for its wait.
const THREADS_MAX: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// Accesses that are told together lie within so much time, unless their reader paused: `MILLISECOND` of the programs.
const TOGETHER_NS: u64 = 1_000_000;

/// Shortest wait that counts; below, it was not a device.
const WAIT_NS_MIN: u64 = 20_000;

/// The machine's host of the engine.
#[derive(Debug)]
pub struct Daemon {
    observer: Observing,
    session: Session<Files>,
    reacher: Rc<Reacher>,
    settings: Settings,
    service: Service,
    scope: Scope,
    watched: LruCache<FileKey, Timestamp>,
    last: LruCache<u32, Token<u32>>,
    readers: Readers,
    narrowed: NarrowedFiles,
    owned: OwnedDevices,
    windows: Rc<DeviceWindows>,
    starving: StarvingFaults,
    memory: PressedMemory,
    /// Pages of one file that memory is taken to hold.
    file_memory: PageCount,
    /// Devices that were left to their owner, and that was not said yet.
    owner_news: Vec<OwnersWindow>,
    counts: DaemonCounts,
    changes: Changes,
    began: Timestamp,
    aside: Rc<Aside>,
    spending: Spending,
    facts: VecDeque<Observation>,
    looked: Timestamp,
    /// When a miss was told last.
    missed: Timestamp,
}

impl Daemon {
    fn on_fact(&mut self, fact: &Observation) {
        // Of a scan that is not watched its misses are told, and each is a turn as well.
        if fact.waited_ns > WAIT_NS_MIN || fact.kind == FactKind::Miss {
            self.starving.on_turn(fact.file, fact.time);
        }
        self.notice_replaced(fact);
        match fact.kind {
            FactKind::Miss => self.on_miss(fact),
            FactKind::Accesses => self.on_accesses(fact),
            FactKind::Wait => self.on_wait(fact),
        }
    }

    fn on_miss(&mut self, fact: &Observation) {
        self.counts.misses += 1;
        self.missed = fact.time;
        self.narrowed.notice_undone(fact);
        // A program that gives advice of its own is left to it, as is one that has the library.
        let is_left = self.is_advised(fact) || self.readers.get(fact).is_left_alone();
        if is_left || self.owned.is_owned(fact.file.device) {
            return self.ignore(fact);
        }
        let known = self.session.files.find(fact.file);
        let place = known.unwrap_or_else(|| self.meet(fact));
        self.session.files.note_reach(place, fact);
        if !self.is_meant(place, fact) {
            return self.ignore(fact);
        }
        let is_first = !self.watched.contains(&fact.file);
        if is_first {
            self.watch(fact.file, fact.time);
        }
        // Later faults came before the file was watched, and those between them, of pages that the kernel had brought along, were not
        // told: a scan would look like a stride of windows.
        if fact.is_early && (is_first || !fact.is_mapped) {
            self.on_accesses(fact);
        } else if let Some(untold) = self.session.files.untold(place, fact) {
            self.on_accesses(&untold);
        }
    }

    /// Whether the program said of its open file that it reads at random; a scan that is held back is not its word.
    fn is_advised(&self, fact: &Observation) -> bool {
        let (file, process) = (fact.file, fact.process);
        fact.advised_random && !self.narrowed.holds(file, process, SmallWindow::WhatIsRead)
    }

    /// What reads the file now is left alone: to be told of each miss would cost it time for nothing.
    fn ignore(&self, fact: &Observation) {
        let until = Timestamp::new(fact.time.get().saturating_add(IGNORED_NS));
        self.observer.ignore(fact.file, fact.process, until);
    }

    fn watch(&mut self, file: FileKey, now: Timestamp) {
        if self.observer.watch(file).is_err() {
            return;
        }
        self.session.files.expect_again(file);
        if let Some((other, _)) = self.watched.push(file, now)
            && other != file
        {
            self.observer.forget(other);
        }
    }

    fn forget(&mut self, file: FileKey) {
        self.watched.pop(&file);
        self.observer.forget(file);
    }

    /// A file that was not known, and has a place now.
    fn meet(&mut self, fact: &Observation) -> u32 {
        let group = &self.session.group;
        let place = (self.session.files).take_place(fact.file, |left| left.leave(group));
        self.open(place, fact);
        place
    }

    /// A file was removed, and another one has its inode: what was known of it says nothing of this one.
    fn notice_replaced(&mut self, fact: &Observation) {
        let Some(place) = self.session.files.peek(fact.file) else {
            return;
        };
        if !self.session.files.is_replaced(place, fact.generation) {
            return;
        }
        let group = &self.session.group;
        (self.session.files).renew(place, |left| left.leave(group));
        self.narrowed.forget(fact.file);
        self.open(place, fact);
        // From its next miss on, as any other.
        self.forget(fact.file);
    }

    fn open(&mut self, place: u32, fact: &Observation) {
        let settings = self.settings;
        let file = fact.file;
        (self.owned).meet(file.device, |device| self.windows.kib(device));
        // What would be done at once is what `policy = off` asks for, which is not offered here.
        let _ = self.session.on_open(
            place,
            file.device,
            fact.file_pages,
            &self.settings,
            fact.time,
            || device_facts(file.device, fact.window, &settings),
        );
    }

    fn on_accesses(&mut self, fact: &Observation) {
        let Some(place) = self.session.files.find(fact.file) else {
            return;
        };
        self.narrowed.notice_undone(fact);
        if self.is_advised(fact) {
            // The program has just said so: it is left to it, and its next misses are.
            self.changes
                .on_deed(&self.session.files, place, fact, Deed::LeftToProgram);
            self.forget(fact.file);
            return;
        }
        if let Some(told) = self.watched.get_mut(&fact.file) {
            *told = fact.time;
        }
        let is_held = self.narrowed.holds_back(fact.file, fact.process);
        let began = self.session.files.note(place, fact, &mut self.readers);
        let is_told_at_once = self.session.files.is_told_at_once(place);
        let between = fact.time.since(began) / u64::from(fact.count);
        let (mut is_calm, mut told) = (false, Told::default());
        let mut last = None;
        for (number, access) in (1..).zip(fact.accesses()) {
            // They were told together: between the last telling and this one they lie evenly.
            let now = Timestamp::new(began.get() + between * number);
            let mut has_asked = false;
            let token = match self.session.on_quick_access(place, access.pages()) {
                Ok((quick @ (Quick::Step(_) | Quick::Left(_) | Quick::Calm), token)) => {
                    is_calm = quick == Quick::Calm;
                    told.is_left |= matches!(quick, Quick::Left(_));
                    Some(token)
                }
                _ => {
                    is_calm = false;
                    let may_act =
                        self.service != Service::Observe && !is_held && self.is_meant(place, fact);
                    let reach = self.session.files.reach(place);
                    // Before a pause of the reader nothing was late.
                    let earliest = fact.time.get().saturating_sub(TOGETHER_NS);
                    let read = is_told_at_once.then(|| now.max(Timestamp::new(earliest)));
                    let mut outside = Outside::new(&self.reacher, fact, read, reach, may_act);
                    outside.wants_path = self.session.files.wants_path(place);
                    outside.counted_reads = self.session.devices.counted_reads(fact.file.device);
                    let token = self.session.read(place, access, now, &mut outside).ok();
                    self.session.files.set_reach(place, outside.reach);
                    self.counts.calls += outside.calls;
                    self.counts.decisions += outside.carried;
                    has_asked = outside.carried > 0;
                    let Outside { asked, path, .. } = outside;
                    let files = &self.session.files;
                    // What is left alone is no news: the log would be full of it.
                    let is_news = may_act || self.service == Service::Observe;
                    self.changes.on_read(files, place, fact, |slot| {
                        slot.path = slot.path.take().or(path);
                        let asked = asked.filter(|_| !is_held);
                        let deed = slot.on_read(now, fact.process, asked);
                        deed.filter(|_| is_news)
                    });
                    token
                }
            };
            // Nothing is requested for a scan that is held back, whatever is decided about it.
            let was_served = token.is_some_and(|token| token.covered) && !is_held;
            told.add(was_served, has_asked);
            last = token.or(last);
        }
        if let Some(mut token) = last {
            if fact.waited_ns > WAIT_NS_MIN {
                self.wait(place, &token, fact);
                // Its pages are late once, however often it waits.
                token.served = None;
            }
            self.last.put(fact.thread, token);
        }
        if self.service == Service::Full {
            if fact.is_mapped {
                self.fit_window(place, fact);
            } else {
                self.hold_back(place, fact, is_held);
            }
        }
        if is_calm {
            self.forget(fact.file);
        } else {
            let stream = last.and_then(|token| token.stream);
            if let Some(quiet) = self.session.files.on_told(place, &told, stream) {
                self.observer.set_quiet(fact.file, &quiet);
            }
        }
    }

    fn on_wait(&mut self, fact: &Observation) {
        if fact.waited_ns <= WAIT_NS_MIN {
            return;
        }
        let place = self.session.files.find(fact.file);
        if let Some(last) = self.last.get_mut(&fact.thread)
            && place == Some(last.file)
        {
            let token = *last;
            last.served = None;
            self.wait(token.file, &token, fact);
        }
    }

    fn wait(&mut self, place: u32, token: &Token<u32>, fact: &Observation) {
        let residency = ResidentOutside {
            reacher: &self.reacher,
            file: fact.file,
            process: fact.process,
            reach: self.session.files.reach(place),
        };
        self.session
            .on_wait(token, fact.waited_ns, fact.time, &residency);
        if fact.is_mapped
            && !token.covered
            && let Ok(mut inside) = self.session.files.enter(place)
        {
            let device = self.session.devices.get(inside.state().0.device());
            if token.stream.is_none() {
                device.on_lone_fault(fact.waited_ns, fact.time);
                self.starving
                    .on_lone_fault(fact.file.device, fact.waited_ns, fact.time);
            }
            // Behind what others want a page waits as long as a window.
            if device.was_idle(fact.waited_ns, fact.time) {
                let has_window =
                    !self
                        .narrowed
                        .holds(fact.file, fact.process, SmallWindow::Nothing);
                let window = &mut inside.slot().mapped_window;
                window.on_wait(fact.waited_ns, has_window);
            }
        }
    }

    /// Whether the owner of the machine means this file and this reader, and the reader has no library of ours.
    fn is_meant(&mut self, place: u32, fact: &Observation) -> bool {
        if self.readers.get(fact).is_left_alone() || self.owned.is_owned(fact.file.device) {
            return false;
        }
        if self.scope.is_everything() {
            return true;
        }
        let known = self.session.files.enter(place);
        let known = known.ok().and_then(|mut inside| inside.slot().meant);
        if let Some((process, judged, is_meant)) = known
            && process == fact.process
            && fact.time.since(judged) < LOOK_NS
        {
            return is_meant;
        }
        let is_meant = self.judge(place, fact);
        if let Ok(mut inside) = self.session.files.enter(place) {
            inside.slot().meant = Some((fact.process, fact.time, is_meant));
        }
        is_meant
    }

    fn judge(&mut self, place: u32, fact: &Observation) -> bool {
        let Reader { name, cgroups, .. } = self.readers.get(fact);
        let hint = self.session.files.reach(place);
        // Looking for it is most of the work.
        let wants_path = self.scope.names_paths();
        let path = wants_path.then(|| self.reacher.path(fact.file, fact.process, hint));
        let path = path.flatten();
        self.scope.holds(&ReadFacts {
            path: path.as_deref(),
            process: name.as_deref(),
            cgroups,
            device: Some(DeviceNumber::from_dev(fact.file.device)),
        })
    }

    /// A mapping that is read at random gets no window; one that is read in order again gets the device's.
    fn fit_window(&mut self, place: u32, fact: &Observation) {
        // What would be given back is the window of a measurement.
        if self.owned.is_owned(fact.file.device) {
            return;
        }
        let Ok(mut inside) = self.session.files.enter(place) else {
            return;
        };
        let device = self.session.devices.get(inside.state().0.device());
        // Where others wait for what a window takes, an arm is not what it looks like.
        let estimate = if self.starving.is_on(fact.file.device, fact.time) {
            DeviceEstimate::FLASH
        } else {
            device.estimate()
        };
        let price = WindowPrice::new(&estimate, self.file_memory);
        let need = inside.slot().mapped_need(fact, &price);
        drop(inside);
        match need {
            MappedNeed::NoWindow
                if !self
                    .narrowed
                    .holds(fact.file, fact.process, SmallWindow::Nothing) =>
            {
                // Where it cannot be taken away, the reader pays for it as it did, and so do we, but seldom.
                let _ = self.narrow(place, fact, SmallWindow::Nothing);
            }
            MappedNeed::Window if self.narrowed.holds_any(fact.file, SmallWindow::Nothing) => {
                self.narrowed.widen(fact.file);
                self.changes
                    .on_deed(&self.session.files, place, fact, Deed::WindowGivenBack);
            }
            _ => {}
        }
    }

    /// A scan behind which page faults starve takes what it reads and no more, in turn with them, where a device serves small
    /// requests as fast as large ones: nothing is requested for it, and the kernel's window becomes small.
    fn hold_back(&mut self, place: u32, fact: &Observation, is_held: bool) {
        let number = fact.file.device;
        let Ok(mut inside) = self.session.files.enter(place) else {
            return;
        };
        if inside.state().0.pattern != Pattern::Sequential {
            return;
        }
        drop(inside);
        self.starving.on_scan(number, fact.time);
        if is_held {
            return self.end_pipeline(place, fact);
        }
        if !self.starving.is_on(number, fact.time) {
            return;
        }
        let small = SmallWindow::of_scan(fact.first.pages().len(), self.starving.turn_ns(number));
        // What a program said of its open file shows in its window, and stays.
        if let Some(window) = fact.window
            && self.narrow(place, fact, small).is_some()
            && let Ok(mut inside) = self.session.files.enter(place)
        {
            inside.slot().pipeline = Some(Pipeline::new(window));
        }
    }

    /// The scan is held back, and what the kernel had begun may go on by itself.
    fn end_pipeline(&mut self, place: u32, fact: &Observation) {
        let mut outside = Outside::new(
            &self.reacher,
            fact,
            None,
            self.session.files.reach(place),
            true,
        );
        if let Ok(mut inside) = self.session.files.enter(place)
            && let Some(pipeline) = &mut inside.slot().pipeline
        {
            outside.end_pipeline(pipeline, fact);
        }
        self.counts.calls += outside.calls;
    }

    /// Scans have the device's window again where page faults do not starve any more.
    fn let_go_on(&mut self, now: Timestamp) {
        let held: Vec<_> = self.narrowed.held_back().collect();
        for file in held {
            if !self.starving.is_on(file.device, now) && !self.owned.is_owned(file.device) {
                self.narrowed.let_go(file);
                self.session.files.expect_again(file);
                self.observer.set_quiet(file, &Quiet::default());
            }
        }
    }

    fn narrow(&mut self, place: u32, fact: &Observation, window: SmallWindow) -> Option<()> {
        let mut inside = self.session.files.enter(place).ok()?;
        inside.slot().may_narrow(fact, LOOK_NS).then_some(())?;
        let seen = inside.slot().window_seen(fact.process);
        drop(inside);
        // The window that is found is the one that will be put back.
        self.respect_owners();
        if !self.is_meant(place, fact) {
            return None;
        }
        let hint = match self.session.files.reach(place) {
            // It may be open as well.
            Reach::Mapping { .. } => Reach::Unknown,
            known => known,
        };
        let (_, reach) = self.reacher.reach(fact.file, fact.process, hint)?;
        self.session.files.set_reach(place, reach);
        let Reach::Descriptor { process, number } = reach else {
            return None;
        };
        if window == SmallWindow::Nothing && !self.reacher.is_only_one(fact.file, process, number) {
            return None;
        }
        let (known, deed) = match window {
            SmallWindow::Nothing => (fact.window.or(seen), Deed::WindowTaken),
            SmallWindow::FewPages | SmallWindow::WhatIsRead => (fact.window, Deed::HeldBack),
        };
        self.narrowed
            .narrow(fact.file, (process, number), window, known)
            .ok()?;
        self.changes.on_deed(&self.session.files, place, fact, deed);
        Some(())
    }

    /// Ends what is done on devices whose window another program has set.
    fn respect_owners(&mut self) {
        let is_held = |device| self.narrowed.is_held_by_another(device);
        for change in (self.owned).look(|device| self.windows.kib(device), is_held) {
            self.narrowed.widen_device(change.device);
            let watched = self.watched.iter().map(|(&file, _)| file);
            let there = watched.filter(|file| file.device == change.device);
            for file in there.collect::<Vec<_>>() {
                self.forget(file);
            }
            self.owner_news.push(change);
        }
    }
}

/// What was changed is put back by [`NarrowedFiles`].
impl Drop for Daemon {
    fn drop(&mut self) {
        self.session.on_exit();
    }
}
