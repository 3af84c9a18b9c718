//! Files that are met, watched, left alone, and found to be others.

use ahead_engine::host::EnteredFile as _;
use ahead_observer::observation::{FileKey, Observation};
use ahead_units::Timestamp;

use super::{Daemon, device_facts, window_kib};
use crate::files::InsideSlot;

/// So long nothing is told of a reader that is left alone. Less, and its misses wake the daemon more often; more, and it waits for its
/// first request when it is meant after all.
const IGNORED_NS: u64 = 50_000_000;

impl Daemon {
    /// What reads the file now is left alone: to be told of each miss would cost it time for nothing.
    pub(super) fn ignore(&self, fact: &Observation) {
        let until = Timestamp::new(fact.time.get().saturating_add(IGNORED_NS));
        self.observer.ignore(fact.file, fact.process, until);
    }

    pub(super) fn watch(&mut self, file: FileKey, now: Timestamp) {
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

    pub(super) fn forget(&mut self, file: FileKey) {
        self.watched.pop(&file);
        self.observer.forget(file);
    }

    /// A file that was not known, and has a place now.
    pub(super) fn meet(&mut self, fact: &Observation) -> u32 {
        let group = &self.session.group;
        let leave = |left: &mut InsideSlot<'_>| {
            let (state, many) = left.state();
            state.on_idle(many, group);
        };
        let place = self.session.files.take_place(fact.file, leave);
        self.open(place, fact);
        place
    }

    /// A file was removed, and another one has its inode: what was known of it says nothing of this one.
    pub(super) fn notice_replaced(&mut self, fact: &Observation) {
        let Some(place) = self.session.files.peek(fact.file) else {
            return;
        };
        if !self.session.files.is_replaced(place, fact.generation) {
            return;
        }
        let group = &self.session.group;
        self.session.files.renew(place, |left| {
            let (state, many) = left.state();
            state.on_idle(many, group);
        });
        self.narrowed.forget(fact.file);
        self.open(place, fact);
        // From its next miss on, as any other.
        self.forget(fact.file);
    }

    fn open(&mut self, place: u32, fact: &Observation) {
        let settings = self.settings;
        let file = fact.file;
        self.owned.meet(file.device, window_kib);
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
}
