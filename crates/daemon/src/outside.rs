//! From a decision to the kernel, from outside of the process that reads: the daemon's [`Adviser`].
//!
//! What is asked for arrives in the page cache, which all processes share. The file is reached for one call and let go
//! of after it, so that no file system stays busy because of us: a decision may be several calls, each of which allocates
//! pages and waits for its place in the queue.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use ahead_engine::adviser::{Act, Adviser, Answer, Residency};
use ahead_observer::observation::{FileKey, Observation};
use ahead_policy::decision::Decision;
use ahead_sys::cachestat::{CacheStat, cachestat_range};
use ahead_sys::process_maps::FileMapping;
use ahead_sys::{process_madvise, readahead};
use ahead_units::{ByteRange, PageCount, PageRange, Timestamp};

use crate::machine_facts::now;
use crate::reach::{Reach, Reached, reach};

/// Carries out decisions about one file that a process reads.
#[derive(Debug)]
pub struct Outside {
    file: FileKey,
    process: u32,
    file_pages: PageCount,
    /// When the access was that decisions are about; `None` where it was told late because nothing was expected of it.
    read: Option<Timestamp>,
    /// How much later the newest request was made.
    late_ns: Option<u64>,
    /// How it is reached, as far as is known.
    pub reach: Reach,
    /// It may be acted on; otherwise every decision ends as "not here".
    may_act: bool,
    /// Its path is to be found out.
    pub wants_path: bool,
    /// It, as far as it can be seen.
    pub path: Option<PathBuf>,
    /// It can be acted on now.
    is_reached: bool,
    /// Where its process has mapped it, which keeps no file system busy.
    mapped: Option<(OwnedFd, Vec<FileMapping>)>,
    /// Calls that were made.
    pub calls: u64,
    /// Decisions that were carried out.
    pub carried: u64,
    /// The newest one, and what came of it.
    pub asked: Option<(Decision, Answer)>,
}

impl Outside {
    /// About the file that `fact` tells of, because of an access at `read`: `None` where how late that is says nothing.
    #[must_use]
    pub const fn new(
        fact: &Observation,
        read: Option<Timestamp>,
        reach: Reach,
        may_act: bool,
    ) -> Self {
        Self {
            file: fact.file,
            process: fact.process,
            file_pages: fact.file_pages,
            read,
            late_ns: None,
            reach,
            may_act,
            wants_path: false,
            path: None,
            is_reached: false,
            mapped: None,
            calls: 0,
            carried: 0,
            asked: None,
        }
    }

    fn request(&self, range: PageRange) -> Answer {
        let bytes = ByteRange::from(range);
        if let Some((process, mappings)) = &self.mapped {
            return request_mapped(process, mappings, bytes);
        }
        let reached = self
            .is_reached
            .then(|| reach(self.file, self.process, self.reach))
            .flatten();
        match reached {
            // Its process has closed it, or ended, since the last call.
            None => Answer::NotHere,
            Some((Reached::File(opened, _), _)) => request_of(&opened, range, bytes),
            Some((Reached::Mapped(process, mappings), _)) => {
                request_mapped(&process, &mappings, bytes)
            }
        }
    }
}

fn request_of(opened: &OwnedFd, range: PageRange, bytes: ByteRange) -> Answer {
    let (offset, length) = (bytes.start.get(), bytes.len().get());
    match count(opened, range) {
        Some(pages) if pages.cached >= range.len().get() => Answer::WasCached,
        known => match readahead::readahead(opened, offset, length) {
            Ok(()) if known.is_some() => Answer::OnItsWay,
            Ok(()) => Answer::Unknown,
            Err(_) => Answer::Refused,
        },
    }
}

/// Asks for the parts of `bytes` that are mapped. What is in memory already is not known from outside.
fn request_mapped(process: &OwnedFd, mappings: &[FileMapping], bytes: ByteRange) -> Answer {
    let mut answer = Answer::NotHere;
    for mapping in mappings {
        let from = bytes.start.get().max(mapping.offset);
        let mapped_end = mapping.offset.saturating_add(mapping.length);
        let to = bytes.end.get().min(mapped_end);
        if from >= to {
            continue;
        }
        let address = mapping.address + (from - mapping.offset);
        answer = match process_madvise::will_need(process, address, to - from) {
            Ok(_) => Answer::Unknown,
            Err(_) => return Answer::Refused,
        };
    }
    answer
}

fn count(opened: impl AsFd, range: PageRange) -> Option<CacheStat> {
    let bytes = ByteRange::from(range);
    cachestat_range(opened, bytes.start.get(), bytes.len().get()).ok()
}

impl Adviser for Outside {
    fn prepare(&mut self, _decision: &Decision) -> Option<PageCount> {
        if !self.may_act && !self.wants_path {
            return None;
        }
        let (reached, reach) = reach(self.file, self.process, self.reach)?;
        self.reach = reach;
        if std::mem::take(&mut self.wants_path) {
            self.path = reached.path(self.process);
        }
        if !self.may_act {
            return None;
        }
        let pages = match &reached {
            Reached::File(_, pages) => *pages,
            Reached::Mapped(..) => self.file_pages,
        };
        self.is_reached = true;
        if let Reached::Mapped(process, mappings) = reached {
            self.mapped = Some((process, mappings));
        }
        Some(pages)
    }

    fn act(&mut self, act: Act) -> Answer {
        match act {
            Act::Prefetch(range) => {
                self.calls += 1;
                self.request(range)
            }
            // Advice changes how a process reads what it has opened: that is the process's business.
            _ => Answer::Refused,
        }
    }

    fn late_ns(&self) -> Option<u64> {
        self.late_ns
    }

    fn finish(&mut self, decision: &Decision, answer: Answer) {
        (self.is_reached, self.mapped) = (false, None);
        self.asked = Some((*decision, answer));
        if !matches!(answer, Answer::NotHere | Answer::Refused) {
            self.carried += 1;
        }
        if matches!(answer, Answer::OnItsWay | Answer::Unknown) {
            self.late_ns = self.read.map(|read| now().since(read));
        }
    }
}

/// What became of pages of a file that a process reads; not known where only its mapping can be reached.
#[derive(Clone, Copy, Debug)]
pub struct ResidentOutside {
    /// The file.
    pub file: FileKey,
    /// The process.
    pub process: u32,
    /// How it is reached.
    pub reach: Reach,
}

impl Residency for ResidentOutside {
    fn evicted(&self, range: PageRange) -> Option<PageCount> {
        let (reached, _) = reach(self.file, self.process, self.reach)?;
        match reached {
            Reached::File(opened, _) => Some(PageCount::new(count(opened, range)?.evicted)),
            Reached::Mapped(..) => None,
        }
    }
}
