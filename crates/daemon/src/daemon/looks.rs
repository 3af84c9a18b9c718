//! What is looked at once in a while: whose windows others have set, files and processes that are gone, memory.

use std::path::Path;

use ahead_units::{ByteLength, PageCount, Timestamp};

use super::{Daemon, LOOK_NS, QUIET_NS};
use crate::machine_facts::{now, window_kib};
use crate::memory::MemoryFacts;
use crate::narrowed::SmallWindow;

impl Daemon {
    /// Looks, if that is due.
    pub(super) fn look_around(&mut self, now: Timestamp) {
        if self.memory.is_due(now) {
            self.learn_memory();
        }
        if now.since(self.looked) < LOOK_NS {
            return;
        }
        self.looked = now;
        self.respect_owners();
        self.narrowed.forget_ended();
        self.let_go_on(now);
        while let Some((&file, &told)) = self.watched.peek_lru()
            && now.since(told) > QUIET_NS
        {
            self.forget(file);
        }
        // To attach takes milliseconds, in which the first reader is not seen.
        if self.watched.is_empty() && now.since(self.missed) > QUIET_NS {
            self.observer.rest();
        }
    }

    /// Ends what is done on devices whose window another program has set.
    pub(super) fn respect_owners(&mut self) {
        for change in self.owned.look(window_kib) {
            self.narrowed.widen_device(change.device);
            let watched = self.watched.iter().map(|(&file, _)| file);
            let there = watched.filter(|file| file.device == change.device);
            for file in there.collect::<Vec<_>>() {
                self.forget(file);
            }
            self.owner_news.push(change);
        }
    }

    /// How much memory there is for pages that were not read yet.
    pub(super) fn learn_memory(&mut self) {
        let facts = MemoryFacts::read(Path::new("/proc"), Path::new("/sys/fs/cgroup"));
        let pages = self
            .memory
            .pages(now(), facts, self.settings.readahead_ratio);
        self.session.group.set_memory(pages, &self.settings);
        // The rest is for other files.
        self.file_memory = PageCount::holding(ByteLength::new(facts.bytes / 2));
    }

    /// Scans have the device's window again where page faults do not starve any more.
    fn let_go_on(&mut self, now: Timestamp) {
        let held: Vec<_> = self.narrowed.files_with(SmallWindow::FewPages).collect();
        for file in held {
            if !self.starving.is_on(file.device, now) {
                self.narrowed.widen(file, SmallWindow::FewPages);
            }
        }
    }
}
