//! From a decision to the kernel: the library's [`Adviser`].
//!
//! Slow path only: a steady reader comes here once per window. Everything is checked once more
//! before anything is asked for, because a descriptor may stand for something else by now.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use ahead_engine::adviser::{Act, Adviser, Answer, CallsMade};
use ahead_engine::report::{Aside, header};
use ahead_policy::decision::Decision;
use ahead_sys::block_queue::DeviceNumber;
use ahead_units::{Advice, PageCount};

use crate::fd_table::{Entry, FileEntry, FileRef, Line};
use crate::host::{self, Host};
use crate::identity::{self, Identity, Resident};
use crate::submit::CountedDevice;
use crate::{aside, submit, ticks, watch};

/// Refused requests in a row after which the library steps aside.
const REFUSALS_MAX: u32 = 16;

/// Asks through a descriptor of the program, in the calling thread.
pub(crate) struct Direct<'a> {
    pub(crate) host: &'static Host,
    pub(crate) line: &'a Line,
    pub(crate) fd: c_int,
    pub(crate) entry: FileEntry,
    /// Where the descriptor has to stand, if that was counted here.
    pub(crate) position: Option<u64>,
    /// The read that decisions are made with is over.
    pub(crate) is_over: bool,
    device: Option<CountedDevice<'static>>,
    is_of_overlay: bool,
    calls: u64,
    held_ns: u64,
}

impl<'a> Direct<'a> {
    pub(crate) fn new(
        host: &'static Host,
        line: &'a Line,
        fd: c_int,
        entry: FileEntry,
        position: Option<u64>,
    ) -> Self {
        Self {
            host,
            line,
            fd,
            entry,
            position,
            is_over: false,
            device: None,
            is_of_overlay: false,
            calls: 0,
            held_ns: 0,
        }
    }

    fn file(&self) -> FileRef {
        self.entry.file
    }
}

impl Adviser for Direct<'_> {
    fn prepare(&mut self, _decision: &Decision) -> Option<PageCount> {
        // The number may stand for something else by now.
        let files = &self.host.session.files;
        let seen = match identity::look(self.fd) {
            Some(Identity::File(seen))
                if files
                    .place(self.file())
                    .is_some_and(|place| place.is(seen.id())) =>
            {
                seen
            }
            _ => {
                self.line.set(Entry::Unwatched);
                return None;
            }
        };
        if let Some(position) = self.position
            && identity::position(self.fd) != Some(position)
        {
            // Another process moves this position: from now on the kernel is asked for it.
            self.line.set(Entry::File(FileEntry {
                shares_position: true,
                ..self.entry
            }));
            return None;
        }
        self.host.learn_memory();
        ticks::RATE.settle();
        self.is_of_overlay = seen.device.is_overlay();
        let number = seen.device.number;
        let counted_reads = self.host.session.devices.counted_reads(number);
        self.device = counted_reads
            .filter(|_| libc::major(number) != 0 || seen.device.is_overlay())
            .map(|counted_reads| (counted_reads, DeviceNumber::from_dev(number)));
        Some(seen.pages)
    }

    fn act(&mut self, act: Act) -> Answer {
        match act {
            Act::Prefetch(range) => {
                self.calls += 1;
                let began = ticks::now();
                let resident = Resident {
                    fd: self.fd,
                    is_of_overlay: self.is_of_overlay,
                };
                let answer = submit::request(&resident, range, self.device);
                self.held_ns += ticks::RATE.ns(ticks::now().saturating_sub(began));
                answer
            }
            Act::Advise(advice) => advised(identity::advise(self.fd, advice)),
            Act::Widen if self.line.claim_widening() => {
                advised(identity::advise(self.fd, Advice::Sequential))
            }
            // Nothing else is decided for this host.
            _ => Answer::Refused,
        }
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn held_ns(&self) -> u64 {
        self.held_ns
    }

    fn finish(&mut self, decision: &Decision, made: &CallsMade) {
        let answer = made.answer;
        match answer {
            Answer::OnItsWay => watch::stay_alert(),
            Answer::Refused => self.note_refusal(),
            _ => {}
        }
        if answer != Answer::Refused {
            self.host.refusals.store(0, Ordering::Relaxed);
        }
        let Some(place) = self.host.session.files.place(self.file()) else {
            return;
        };
        if let Some(recorder) = &self.host.recorder
            && answer != Answer::NotHere
        {
            recorder.on_decision(place, decision);
        }
        if let Some(account) = self.host.account() {
            let now = ticks::monotonic_ns();
            account.note(place.record(), decision, now, identity::process());
            let unread = self.host.session.group.budget.unread().get();
            account
                .header(header::UNREAD_PAGES_MAX)
                .fetch_max(unread, Ordering::Relaxed);
            account
                .header(header::CALLS)
                .fetch_add(self.calls, Ordering::Relaxed);
        }
    }
}

/// What came of advice that the kernel `took`, or did not.
fn advised(took: bool) -> Answer {
    if took {
        Answer::Unknown
    } else {
        Answer::Refused
    }
}

impl Direct<'_> {
    /// A kernel, or a sandbox around us, that keeps saying no is not asked again.
    fn note_refusal(&self) {
        if self.host.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= REFUSALS_MAX {
            aside::count(Aside::RefusedTooOften);
            host::retire();
        }
    }
}
