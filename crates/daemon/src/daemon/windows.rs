//! Windows of single open files: taken from mappings that are read at random, made small for scans behind which page faults starve,
//! and given back.

use ahead_engine::host::{EnteredFile, FileTable};
use ahead_engine::mapped_window::{MappedNeed, WindowPrice};
use ahead_observer::observation::Observation;
use ahead_observer::quiet::Quiet;
use ahead_policy::device::DeviceEstimate;
use ahead_policy::reason::Pattern;
use ahead_units::Timestamp;

use super::{Daemon, LOOK_NS};
use crate::history::Deed;
use crate::narrowed::SmallWindow;
use crate::outside::{Outside, ResidentOutside};
use crate::pipeline::Pipeline;
use crate::reach::Reach;

impl Daemon {
    /// A mapping that is read at random gets no window; one that is read in order again gets the device's.
    pub(super) fn fit_window(&mut self, place: u32, fact: &Observation) {
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
        let small = SmallWindow::of_scan(fact.first.pages().len(), self.starving.turn_ns(number));
        if self.narrowed.holds_back(fact.file, fact.process) {
            return self.end_pipeline(place, fact);
        }
        // What a program said of its open file shows in its window, and stays.
        if is_wanted
            && let Some(window) = fact.window
            && self.narrow(place, fact, small).is_some()
            && let Ok(mut inside) = self.session.files.enter(place)
        {
            inside.slot().pipeline = Some(Pipeline::new(window));
        }
    }

    /// The scan is held back, and what the kernel had begun may go on by itself.
    fn end_pipeline(&mut self, place: u32, fact: &Observation) {
        let Ok(mut inside) = self.session.files.enter(place) else {
            return;
        };
        let Some((pipeline, newest)) = inside.slot().pipeline.as_mut().zip(fact.accesses().last())
        else {
            return;
        };
        let reach = self.session.files.reach(place);
        let seen = ResidentOutside {
            file: fact.file,
            process: fact.process,
            reach,
        };
        let at = newest.pages().end.get();
        let range = pipeline.next(at, fact.file_pages, |range| seen.cached(range));
        drop(inside);
        if let Some(range) = range {
            let mut outside = Outside::new(fact, None, reach, true);
            outside.bring(range);
            self.counts.calls += outside.calls;
        }
    }

    /// Scans have the device's window again where page faults do not starve any more.
    pub(super) fn let_go_on(&mut self, now: Timestamp) {
        let held: Vec<_> = self.narrowed.held_back().collect();
        for file in held {
            if !self.starving.is_on(file.device, now) {
                self.narrowed.let_go(file);
                self.session.files.expect_again(file);
                self.observer.set_quiet(file, &Quiet::default());
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
            SmallWindow::FewPages | SmallWindow::WhatIsRead => (fact.window, Deed::HeldBack),
        };
        self.narrowed
            .narrow(fact.file, (process, number), window, known)
            .ok()?;
        self.changes.on_deed(&self.session.files, place, fact, deed);
        Some(())
    }
}
