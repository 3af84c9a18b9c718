//! Both sides beside each other: where they part, in words that name the pattern.

use std::io;

use ahead_replicas::kernel::folio::FolioRelease;

use super::event::{Event, line};
use super::kernel_side;
use super::machine::{Folios, Scratch};
use super::pattern::Pattern;
use super::recorder::Recorder;
use super::release::Running;
use super::replica_side::{self, Facts};

/// A disk, a recorder for it, and the kernel that does the work.
#[derive(Debug)]
pub struct Court {
    running: Running,
    folios: Folios,
    scratch: Scratch,
    recorder: Recorder,
}

impl Court {
    /// Makes disk and recorder. Needs root.
    pub fn new(running: &Running, folios: Folios) -> io::Result<Self> {
        let scratch = Scratch::new(folios)?;
        let recorder = Recorder::new(scratch.device())?;
        if running.release == FolioRelease::Linux6_18 && !recorder.has_calls() {
            return Err(io::Error::other(
                "this 6.18 shows no events readahead:*: it is built without tracepoints",
            ));
        }
        Ok(Self {
            running: running.clone(),
            folios,
            scratch,
            recorder,
        })
    }

    /// Where the kernel and its replica part in `pattern`; `None` if they do not.
    pub fn difference(&self, pattern: &Pattern) -> io::Result<Option<String>> {
        self.difference_to(self.running.release, pattern)
    }

    /// The same for the rules of any release.
    pub fn difference_to(
        &self,
        release: FolioRelease,
        pattern: &Pattern,
    ) -> io::Result<Option<String>> {
        let account = kernel_side::run(&self.scratch, &self.recorder, pattern)?;
        let facts = Facts {
            release,
            folio_order_max: self.folios.order_max(self.running.release),
        };
        let mut replica = replica_side::run(&facts, pattern, &account.area_address_pages);
        if !self.recorder.has_calls() {
            for events in &mut replica {
                events.retain(|event| !matches!(event, Event::Call(_)));
            }
        }
        let both = account.operations.iter().zip(&replica);
        let parted = both.enumerate().find(|(_, (kernel, own))| kernel != own);
        Ok(parted.map(|(number, (kernel, own))| {
            format!(
                "{:?} folios, \"{}\", operation {number}, {:?}\n    kernel:  {}\n    replica: {}",
                self.folios,
                pattern.name,
                pattern.operations[number],
                line(kernel),
                line(own)
            )
        }))
    }
}
