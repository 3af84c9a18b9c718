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
pub struct Comparison {
    running: Running,
    folios: Folios,
    scratch: Scratch,
    recorder: Recorder,
}

impl Comparison {
    /// Makes disk and recorder. Needs root.
    pub fn new(running: &Running, folios: Folios) -> io::Result<Self> {
        Self::over(Scratch::new(folios)?, running, folios)
    }

    /// Makes the recorder for a disk that is there. Needs root.
    pub fn over(scratch: Scratch, running: &Running, folios: Folios) -> io::Result<Self> {
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

    /// Carries out what can be compared here, and panics with every difference.
    #[track_caller]
    pub fn assert_no_differences(&self, patterns: &[Pattern]) {
        let mut differences = Vec::new();
        let mut compared = 0;
        for pattern in patterns.iter().filter(|pattern| self.running.can(pattern)) {
            let difference = self.difference(pattern);
            let difference = difference.unwrap_or_else(|error| panic!("{}: {error}", pattern.name));
            differences.extend(difference);
            compared += 1;
        }
        let (kernel, folios) = (&self.running.text, self.folios);
        println!(
            "{kernel}: {compared} patterns with {folios:?} folios, {} differ",
            differences.len()
        );
        assert!(
            differences.is_empty(),
            "on {kernel}, {} of {compared} patterns differ:\n{}",
            differences.len(),
            differences.join("\n")
        );
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
