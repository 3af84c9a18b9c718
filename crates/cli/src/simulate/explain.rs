//! `ahead simulate --explain`: every decision and every read that waited, in order.

use ahead_policy::decision::Decision;
use ahead_sim::world::{Read, WorldMoment, WorldObserver};

use crate::explained::{self, Headings, Subject};
use crate::figures::seconds;

/// A read that took longer has waited for something.
const WAITED_NS: u64 = 20_000;

/// The lines so far.
#[derive(Debug, Default)]
pub(super) struct Explained {
    pub(super) text: String,
    headings: Headings,
    /// The read of each task.
    reads: Vec<Option<Read>>,
}

impl Explained {
    fn add(&mut self, moment: &WorldMoment, what: std::fmt::Arguments<'_>) {
        let file = usize::try_from(moment.file.0).unwrap_or(usize::MAX);
        let name = format!("file {file}");
        let heading = self
            .headings
            .before((moment.process, Subject::File(file)), &name);
        self.text += &heading;
        self.text += &explained::line(moment.now_ns, what);
    }

    fn read_of(&mut self, task: u32) -> &mut Option<Read> {
        let task = usize::try_from(task).unwrap_or(usize::MAX);
        if self.reads.len() <= task {
            self.reads.resize(task + 1, None);
        }
        &mut self.reads[task]
    }
}

impl WorldObserver for Explained {
    fn on_read(&mut self, moment: &WorldMoment, read: &Read) {
        *self.read_of(moment.task) = Some(*read);
    }

    fn on_read_done(&mut self, moment: &WorldMoment, bytes: u64, elapsed_ns: u64) {
        let read = self.read_of(moment.task).take();
        if let Some(read) = read.filter(|_| elapsed_ns >= WAITED_NS) {
            let (at, time) = (read.start, seconds(elapsed_ns));
            self.add(
                moment,
                format_args!("waited {time} for {bytes} bytes at {at}"),
            );
        }
    }

    fn on_decision(&mut self, moment: &WorldMoment, decision: &Decision) {
        self.add(moment, format_args!("{decision}"));
    }
}
