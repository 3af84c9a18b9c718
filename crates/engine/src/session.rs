//! The loop, once: what happens around a read, in every host.
//!
//! ```text
//!  before a read   on_quick_access ── Step, Left, Calm ───────────────────────┐
//!                    └─ No: on_access ─► Pending ─► carry_out ─► on_carried_out ┤
//!  the read                                                                     │
//!  after it        longer than wait_limit_ns? ─► on_wait ◄───────────────────────────────┘
//!  at the end      on_close, on_exit
//! ```
//!
//! A [`Pending`] decision is carried out by the host with its [`Adviser`], outside of the file: other
//! threads go on reading it meanwhile, and a host with a virtual clock lets the time of the calls
//! pass. [`Session::read`] is all of it in one call, for hosts whose calls return at once.
//!
//! Windows of files that are not read any more are given back to the budget here, whenever a file
//! asks, or would ask and finds the budget used up.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ahead_policy::adaptive::{Outcome, Quick, StreamId};
use ahead_policy::reason::Reason;
use ahead_policy::steering::steering;
use ahead_units::{Advice, ByteRange, PageCount, PageRange, Timestamp};

use crate::adviser::{Act, Adviser, Answer, Calls, Residency};
use crate::device::LongRead;
use crate::device_facts::DeviceFacts;
use crate::devices::{DevicePlace, Devices};
use crate::file::{Around, FileFacts, Wait};
use crate::filling::FilledRead;
use crate::group::Group;
use crate::host::{Deferred, EnterError, EnteredFile, FileTable};
use crate::pending::first_piece;
use crate::settings::{PolicyChoice, Settings};
use crate::widening::widened;

pub use crate::pending::{Carried, Pending};

steering! {
    /// A reader that has neither asked nor waited for so long is believed to be gone. Shorter, and a
    /// slow one asks again for what it has: cached pages, a few microseconds. Longer, and windows
    /// that are left keep the budget from those that are read.
    /// Evidence: docs/results/evidence/IDLE_NS.csv
    IDLE_NS: u64 = 5_000_000_000;

    /// As [`IDLE_NS`], for a file that was closed: half a second. Readers that close and open again
    /// do so at once; a program that goes through many files must not be silenced by those behind it.
    /// Evidence: docs/results/evidence/CLOSED_NS.csv
    CLOSED_NS: u64 = 500_000_000;
}

/// Looking through the table of files costs some ten microseconds: not more often than this.
const SWEEP_EVERY_NS: u64 = 100_000_000;

/// Reads between two additions to a host's account.
const ACCOUNT_EVERY: u64 = 4096;

/// Deferred facts that are taken in at once. Other threads may keep leaving more.
const DEFERRED_MAX: usize = 8;

/// The loop and what it knows, over a host's table of files.
#[derive(Debug, Default)]
pub struct Session<F> {
    /// The files.
    pub files: F,
    /// What they share.
    pub group: Group,
    /// The devices they lie on.
    pub devices: Devices,
    /// When idle windows were looked for last, in nanoseconds.
    swept_ns: AtomicU64,
}

/// When a read is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenTold {
    /// Before it begins.
    Before,
    /// When it is over, and what it waited too.
    After,
    /// Later. What it waited is not told of.
    Late,
}

/// What is known about a read while it goes on.
#[derive(Clone, Copy, Debug)]
pub struct Token<F> {
    /// The file.
    pub file: F,
    /// The pages read.
    pub access: PageRange,
    /// The stream it belongs to, if one explains it.
    pub stream: Option<StreamId>,
    /// It lies inside what was asked for earlier.
    pub covered: bool,
    /// How many of its pages are due to calls, where any are: [`FileState::served`](crate::file::FileState::served).
    pub served: Option<PageCount>,
    /// What it is to a file that is filled in: [`FileState::filled_read`](crate::file::FileState::filled_read).
    pub filled_read: Option<FilledRead>,
    /// What it is to what the kernel asks for at once: [`FileState::long_read`](crate::file::FileState::long_read).
    pub long_read: LongRead,
    /// The window that the kernel is better to have of the open file, if that is another one.
    pub widened: Option<PageCount>,
}

impl<F> Token<F> {
    /// A read of which nothing is known.
    pub const fn new(file: F, access: PageRange) -> Self {
        Self {
            file,
            access,
            stream: None,
            covered: false,
            served: None,
            filled_read: None,
            long_read: LongRead::No,
            widened: None,
        }
    }
}

impl<F: FileTable> Session<F> {
    /// A session over `files` that knows nothing yet.
    pub const fn new(files: F) -> Self {
        Self {
            files,
            group: Group::new(),
            devices: Devices::new(),
            swept_ns: AtomicU64::new(0),
        }
    }

    /// The place of the device numbered `device`. `find` looks at it if that was not done before.
    pub fn meet(
        &self,
        device: u64,
        now: Timestamp,
        find: impl FnOnce() -> DeviceFacts,
    ) -> DevicePlace {
        let device = self.devices.place(device);
        self.devices.learn(device, find);
        self.devices.get(device).hear(self.files.estimates(), now);
        self.note(device);
        device
    }

    /// A file of `file_pages` pages on the device numbered `device` was opened, or met for the
    /// first time. `find` looks at the device if that was not done before. Returns what is to be
    /// done about the file at once.
    pub fn on_open(
        &self,
        file: F::File,
        device: u64,
        file_pages: PageCount,
        settings: &Settings,
        now: Timestamp,
        find: impl FnOnce() -> DeviceFacts,
    ) -> Option<(Act, Reason)> {
        let device = self.meet(device, now, find);
        let facts = FileFacts {
            file_pages,
            device,
            knobs: settings.knobs(),
        };
        if let Ok(mut entered) = self.files.enter(file) {
            let (state, _) = entered.state();
            state.on_open(&facts, now);
        }
        (settings.policy == PolicyChoice::Off)
            .then_some((Act::Advise(Advice::Random), Reason::TurnedOff))
    }

    /// The program gave advice about how it is going to read `file`.
    pub fn on_advice(&self, file: F::File, advice: Advice) {
        if let Ok(mut entered) = self.files.enter(file) {
            entered.state().0.on_advice(advice);
        }
    }

    /// `file` is copied inside the kernel from now on: `sendfile`, `copy_file_range`.
    pub fn on_copied(&self, file: F::File) {
        if let Ok(mut entered) = self.files.enter(file) {
            entered.state().0.on_copied();
        }
    }

    /// Whether a read can be answered by its stream alone. [`Quick::No`] has
    /// changed nothing; [`Self::on_access`] is due.
    #[inline]
    pub fn on_quick_access(
        &self,
        file: F::File,
        access: PageRange,
    ) -> Result<(Quick, Token<F::File>), EnterError> {
        let mut entered = self.files.enter(file)?;
        let mut token = Token::new(file, access);
        if entered.has_deferred() {
            return Ok((Quick::No, token));
        }
        let (state, many) = entered.state();
        let quick = state.on_quick_access(many, access);
        if let Quick::Step(stream) | Quick::Left(stream) = quick {
            token.stream = Some(stream);
            token.covered = matches!(quick, Quick::Step(_));
            token.served = state.served();
        }
        Ok((quick, token))
    }

    /// The program is about to read `access`, or has just read it. A decision that comes back is to be
    /// [carried out](Pending::carry_out) before the read, if that has not begun.
    ///
    /// # Errors
    /// [`EnterError::Gone`]: the host has to look at the file again. A busy file takes the access in
    /// later.
    pub fn on_access(
        &self,
        file: F::File,
        access: impl Into<ByteRange>,
        now: Timestamp,
        told: WhenTold,
    ) -> Result<(Token<F::File>, Option<Pending>), EnterError> {
        let access = access.into();
        let mut token = Token::new(file, access.pages());
        let pending = self.take_in(file, access, now, told, &mut token)?;
        Ok((token, pending))
    }

    /// Writes what is known to `token`. Handed back with the decision, both would be on the stack several times.
    #[inline(never)]
    fn take_in(
        &self,
        file: F::File,
        access: ByteRange,
        now: Timestamp,
        told: WhenTold,
        token: &mut Token<F::File>,
    ) -> Result<Option<Pending>, EnterError> {
        let mut entered = match self.files.enter(file) {
            Ok(entered) => entered,
            Err(EnterError::Busy) => {
                self.files.defer(file, Deferred::Access(access));
                return Ok(None);
            }
            Err(gone) => return Err(gone),
        };
        let (outcome, pending) = self.decide(&mut entered, file, access, now, told);
        let (state, _) = entered.state();
        let device = state.device();
        token.served = state.served();
        token.filled_read = state.filled_read();
        token.long_read = state.long_read();
        let looks_at_memory = state.takes_look_at_memory();
        if state.has_window_of_device() {
            token.widened = widened(&outcome, self.devices.get(device), &self.group.budget);
        }
        drop(entered);
        self.look_at_scans(device, now);
        (token.stream, token.covered) = (outcome.stream, outcome.covered);
        let out_of_memory = outcome.decision.reason == Reason::BudgetUsed;
        if out_of_memory || looks_at_memory {
            self.files.on_budget_used();
        }
        if pending.is_some() || out_of_memory {
            self.give_back_idle_windows(now);
        }
        Ok(pending)
    }

    fn decide(
        &self,
        entered: &mut F::Entered<'_>,
        file: F::File,
        access: ByteRange,
        now: Timestamp,
        told: WhenTold,
    ) -> (Outcome, Option<Pending>) {
        self.group.hear(self.files.members(), now);
        let (state, many) = entered.state();
        let asker = self.files.number(file);
        let mut around = self.around(state.device(), now);
        around.sees_all &= told != WhenTold::Late;
        around.is_over = told != WhenTold::Before;
        let outcome = state.on_access(many, access, &around, asker);
        let asks = outcome.decision.prefetch.count > 0;
        let pending = asks.then(|| Pending {
            decision: outcome.decision,
            stream: outcome.asker(),
            at: now,
            calls: Calls {
                pages_max: around.device.call_pages_max(),
                access: access.pages(),
                first_piece: first_piece(state.knows_runs(), &outcome.decision, &around),
            },
        });
        (outcome, pending)
    }

    /// Looks who reads scans of a device ahead better, if it is time to, and tells others.
    fn look_at_scans(&self, place: DevicePlace, now: Timestamp) {
        let device = self.devices.get(place);
        if !device.scans().is_look_due(now) {
            return;
        }
        let delivered = self.files.delivered(self.devices.number(place), now);
        let at = delivered.map_or(now, |delivered| delivered.at);
        let bytes = delivered.map(|delivered| delivered.bytes);
        device.scans().look(at, bytes);
        if device.tell(self.files.estimates(), now) {
            self.files.keep_estimates();
        }
    }

    /// A decision was carried out.
    pub fn on_carried_out(&self, file: F::File, carried: &Carried) {
        match self.files.enter(file) {
            Ok(mut entered) => {
                let (state, many) = entered.state();
                if let Some(file_pages) = carried.file_pages {
                    state.set_file_pages(file_pages);
                }
                let device = self.devices.get(state.device());
                state.on_answer(many, carried.stream, carried.asked, &self.group, device);
                if carried.stream == Some(StreamId::FILLED_IN) {
                    let around = self.around(state.device(), carried.at);
                    state.on_filled_in(carried.pages, carried.asked, carried.held_ns, &around);
                }
                device.on_held(carried.held_ns, carried.late_ns);
                let is_on_its_way = carried.asked.answer == Answer::OnItsWay;
                if carried.stream == Some(StreamId::OWN_READ) && is_on_its_way {
                    device.long_reads().on_held(carried.read, carried.held_ns);
                }
                self.tell(state.device());
                self.settle(&mut entered, 0);
            }
            Err(EnterError::Busy) => {
                if let Some(stream) = carried.stream {
                    self.files
                        .defer(file, Deferred::Answer(stream, carried.asked));
                }
            }
            Err(EnterError::Gone) => {}
        }
    }

    /// All that is due before a read, for a host whose calls return at once: decides, carries out,
    /// and takes in what other threads left meanwhile.
    ///
    /// # Errors
    /// As [`Self::on_access`].
    pub fn read(
        &self,
        file: F::File,
        access: impl Into<ByteRange>,
        now: Timestamp,
        adviser: &mut impl Adviser,
    ) -> Result<Token<F::File>, EnterError> {
        // What other threads left came before this read.
        self.take_in_deferred(file, now, adviser);
        let access = access.into();
        let mut token = Token::new(file, access.pages());
        let told = if adviser.is_over() {
            WhenTold::After
        } else {
            WhenTold::Before
        };
        let pending = self.take_in(file, access, now, told, &mut token)?;
        if let Some(window) = token.widened {
            self.widen(file, window, adviser);
        }
        if let Some(pending) = &pending {
            self.carry_out(file, pending, adviser);
            self.take_in_deferred(file, now, adviser);
        }
        Ok(token)
    }

    /// The kernel is given `window` of the open file.
    #[inline(never)]
    fn widen(&self, file: F::File, window: PageCount, adviser: &mut impl Adviser) {
        if adviser.act(Act::Widen) != Answer::Refused
            && let Ok(mut entered) = self.files.enter(file)
        {
            entered.state().0.set_kernel_window(window);
        }
    }

    /// Not on the stack of a decision, which readers with little of it wait for.
    #[inline(never)]
    fn carry_out(&self, file: F::File, pending: &Pending, adviser: &mut impl Adviser) {
        let carried = pending.carry_out(adviser);
        self.on_carried_out(file, &carried);
    }

    /// Whether `read`, the first one through its descriptor, found what was asked for before, and there is more of it to be read:
    /// nothing waits because we are there, and the descriptors that follow are worth a look too. A file that is
    /// only read again is not.
    pub fn is_read_ahead(&self, read: &Token<F::File>) -> bool {
        if !read.covered {
            return false;
        }
        let Ok(mut entered) = self.files.enter(read.file) else {
            return false;
        };
        let (state, many) = entered.state();
        state.has_unread(many, &self.group)
    }

    #[inline(never)]
    fn take_in_deferred(&self, file: F::File, now: Timestamp, adviser: &mut impl Adviser) {
        for _ in 0..DEFERRED_MAX {
            let Ok(mut entered) = self.files.enter(file) else {
                return;
            };
            match entered.next_deferred() {
                None => return,
                Some(Deferred::Access(access)) => {
                    let (_, pending) = self.decide(&mut entered, file, access, now, WhenTold::Late);
                    drop(entered);
                    if let Some(pending) = &pending {
                        self.carry_out(file, pending, adviser);
                    }
                }
                Some(Deferred::Answer(stream, asked)) => {
                    let (state, many) = entered.state();
                    let device = self.devices.get(state.device());
                    state.on_answer(many, Some(stream), asked, &self.group, device);
                }
            }
        }
    }

    /// The read that `token` stands for [waited](Settings::wait_limit_ns): it took `waited_ns`, until `now`.
    pub fn on_wait(
        &self,
        token: &Token<F::File>,
        waited_ns: u64,
        now: Timestamp,
        residency: &impl Residency,
    ) {
        let Ok(mut entered) = self.files.enter(token.file) else {
            return;
        };
        let (state, many) = entered.state();
        let wait = Wait {
            stream: token.stream,
            covered: token.covered,
            served: token.served,
            filled_read: token.filled_read,
            long_read: token.long_read,
            waited_ns,
        };
        let around = self.around(state.device(), now);
        let estimates = self.files.estimates();
        around.device.hear(estimates, now);
        state.on_wait(many, wait, token.access, &around, residency);
        if wait.stream.is_none() && around.device.has_lone_reads() {
            self.group.hear(self.files.members(), now);
            self.tell(state.device());
        }
        let is_news = around.device.tell(estimates, now);
        self.note(state.device());
        self.settle(&mut entered, ACCOUNT_EVERY);
        drop(entered);
        if is_news {
            self.files.keep_estimates();
        }
    }

    fn note(&self, device: DevicePlace) {
        let estimate = self.devices.get(device).estimate();
        self.files
            .note_device(self.devices.number(device), estimate);
    }

    /// Tells the other processes what this one has, which asked or waited for `device` last.
    fn tell(&self, device: DevicePlace) {
        let lone_reads = self.devices.get(device).has_lone_reads();
        let number = self.devices.number(device);
        self.group.tell(self.files.members(), number, lone_reads);
    }

    fn around(&self, device: DevicePlace, now: Timestamp) -> Around<'_> {
        Around {
            group: &self.group,
            device: self.devices.get(device),
            is_shared: self.group.member.shares(self.devices.number(device)),
            has_lone_reads: self
                .group
                .member
                .has_lone_reads(self.devices.number(device)),
            sees_all: F::SEES_ALL_READS,
            is_over: false,
            now,
        }
    }

    /// A descriptor of `file` was closed.
    pub fn on_close(&self, file: F::File, now: Timestamp) {
        if let Ok(mut entered) = self.files.enter(file) {
            let (state, many) = entered.state();
            state.on_close(many, &self.group, now);
            self.files.account(&mut entered, 1);
        }
    }

    /// The host ends: all windows are given up and all accounts taken.
    pub fn on_exit(&self) {
        self.files.visit(|entered| {
            let (state, many) = entered.state();
            state.on_idle(many, &self.group);
            self.files.account(entered, 0);
        });
        self.group.member.leave(self.files.members());
    }

    /// This is the child of a fork, `process`: it has asked for nothing yet. Each file is told
    /// by the host ([`FileState::on_fork_in_child`](crate::file::FileState::on_fork_in_child)), before it is entered again.
    pub fn on_fork_in_child(&self, process: u32) {
        self.group.budget.forget_all();
        self.group.range_lists.forget_asked();
        self.group.fillings.on_fork_in_child();
        self.group.guard.forget();
        self.group.member.rejoin(process);
    }

    /// A file grows into a larger table when it needs one, and its account is taken.
    fn settle(&self, entered: &mut F::Entered<'_>, accesses_min: u64) {
        if entered.state().0.wants_many() {
            entered.grow();
        }
        self.files.account(entered, accesses_min);
    }

    /// Gives the windows of files that are not read any more back to the budget, when it gets
    /// tight. They outlive the close of a file, as many readers come back to it.
    fn give_back_idle_windows(&self, now: Timestamp) {
        let swept = Timestamp::new(self.swept_ns.load(Relaxed));
        if !self.group.budget.is_tight() || now.since(swept) < SWEEP_EVERY_NS {
            return;
        }
        self.swept_ns.store(now.get(), Relaxed);
        self.files.visit(|entered| {
            let (state, many) = entered.state();
            if state.is_idle(now, CLOSED_NS.get(), IDLE_NS.get()) {
                state.on_idle(many, &self.group);
            }
        });
    }
}
