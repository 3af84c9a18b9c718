//! The windows of open files: taken, made small, and given back.

use ahead_engine::host::{EnteredFile, FileTable};
use ahead_engine::mapped_window::{MappedNeed, WindowPrice};
use ahead_observer::observation::Observation;
use ahead_policy::reason::Pattern;
use ahead_units::Timestamp;

use super::{Daemon, LOOK_NS};
use crate::history::Deed;
use crate::machine_facts::window_kib;
use crate::narrowed::SmallWindow;
use crate::reach::Reach;

impl Daemon {
    /// A mapping that is read at random gets no window; one that is read in order again gets the device's.
    pub(super) fn fit_window(&mut self, place: u32, fact: &Observation) {
        let Ok(mut inside) = self.session.files.enter(place) else {
            return;
        };
        let device = self.session.devices.get(inside.state().0.device());
        let price = WindowPrice::new(&device.estimate(), self.file_memory);
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
                self.narrowed.widen(fact.file, SmallWindow::Nothing);
                self.changes
                    .on_deed(&self.session.files, place, fact, Deed::WindowGivenBack);
            }
            _ => {}
        }
    }

    /// A scan behind which page faults starve takes what it reads and no more, in turn with them, where a device serves small
    /// requests as fast as large ones: nothing is requested for it, and the kernel's window becomes small.
    pub(super) fn hold_back(&mut self, place: u32, fact: &Observation) {
        let number = fact.file.device;
        let Ok(mut inside) = self.session.files.enter(place) else {
            return;
        };
        if inside.state().0.pattern != Pattern::Sequential {
            return;
        }
        drop(inside);
        self.starving.on_scan(number, fact.time);
        let is_wanted = self.starving.is_on(number, fact.time);
        let is_held = || {
            let (file, process) = (fact.file, fact.process);
            self.narrowed.holds(file, process, SmallWindow::FewPages)
        };
        if is_wanted && fact.window.is_some() && !is_held() {
            // What a program said of its open file shows in its window, and stays.
            let _ = self.narrow(place, fact, SmallWindow::FewPages);
        }
    }

    /// Scans have the device's window again where page faults do not starve any more.
    pub(super) fn let_go_on(&mut self, now: Timestamp) {
        let held: Vec<_> = self.narrowed.files_with(SmallWindow::FewPages).collect();
        for file in held {
            if !self.starving.is_on(file.device, now) {
                self.narrowed.widen(file, SmallWindow::FewPages);
            }
        }
    }

    fn narrow(&mut self, place: u32, fact: &Observation, window: SmallWindow) -> Option<()> {
        let mut inside = self.session.files.enter(place).ok()?;
        inside.slot().may_narrow(fact, LOOK_NS).then_some(())?;
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
        let (_, reach) = crate::reach::reach(fact.file, fact.process, hint)?;
        self.session.files.set_reach(place, reach);
        let Reach::Descriptor { process, number } = reach else {
            return None;
        };
        let (known, deed) = match window {
            SmallWindow::Nothing => (None, Deed::WindowTaken),
            SmallWindow::FewPages => (fact.window, Deed::HeldBack),
        };
        self.narrowed
            .narrow(fact.file, (process, number), window, known)
            .ok()?;
        self.changes.on_deed(&self.session.files, place, fact, deed);
        Some(())
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
}
