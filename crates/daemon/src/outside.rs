//! From a decision to the kernel, from outside of the process that reads: the daemon's [`Adviser`].
//!
//! What is asked for arrives in the page cache, which all processes share. The file is reached for one call and let go
//! of after it, so that no file system stays busy because of us: a decision may be several calls, each of which allocates
//! pages and waits for its place in the queue. Calls that are small, as those for the elements of a stride, are as one.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use ahead_engine::adviser::{Act, Adviser, Answer, CallsMade, Residency};
use ahead_engine::counted_reads::CountedReads;
use ahead_observer::observation::{FileKey, Observation};
use ahead_policy::decision::Decision;
use ahead_sys::block_queue::{DeviceNumber, is_fuse_over};
use ahead_sys::cachestat::{CacheStat, cachestat_range};
use ahead_sys::own_usage::own_thread_usage;
use ahead_sys::process_maps::FileMapping;
use ahead_sys::readahead;
use ahead_units::{ByteRange, PageCount, PageRange, Timestamp};

use crate::machine_facts::now;
use crate::pipeline::Pipeline;
use crate::reach::{OpenFile, Reach, Reached, Reacher};

/// Pages that are asked for of a file before it is let go of: 1 MiB, what most disks take as one request. To reach it is five of
/// the seven system calls that bring in one element of a stride.
const PAGES_OF_ONE_REACH: u64 = 256;

/// A call for less takes as long as one for so many.
const PAGES_OF_A_CALL: u64 = 16;

/// An open file that was reached, and the pages that may still be asked for through it.
#[derive(Debug)]
struct Duplicate {
    open: OpenFile,
    left: u64,
}

impl Duplicate {
    const fn new(open: OpenFile) -> Self {
        Self {
            open,
            left: PAGES_OF_ONE_REACH,
        }
    }
}

/// Carries out decisions about one file that a process reads.
#[derive(Debug)]
pub struct Outside<'a> {
    reacher: &'a Reacher,
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
    /// Whether sectors of its device are counted; `None`: that is not kept.
    pub counted_reads: Option<&'a CountedReads>,
    /// Its path is to be found out.
    pub wants_path: bool,
    /// It, as far as it can be seen.
    pub path: Option<PathBuf>,
    /// As which open file it is acted on, for a moment.
    duplicate: Option<Duplicate>,
    /// Where its process has mapped it, which keeps no file system busy.
    mapped: Option<(OwnedFd, Vec<FileMapping>)>,
    /// Pages of the newest range that calls were made for.
    requested: PageCount,
    /// Calls that were made.
    pub calls: u64,
    /// Decisions that were carried out.
    pub carried: u64,
    /// The newest one, and what came of it.
    pub asked: Option<(Decision, CallsMade)>,
}

impl<'a> Outside<'a> {
    /// About the file that `fact` tells of, because of an access at `read`: `None` where how late that is says nothing.
    #[must_use]
    pub const fn new(
        reacher: &'a Reacher,
        fact: &Observation,
        read: Option<Timestamp>,
        reach: Reach,
        may_act: bool,
    ) -> Self {
        Self {
            reacher,
            file: fact.file,
            process: fact.process,
            file_pages: fact.file_pages,
            read,
            late_ns: None,
            reach,
            may_act,
            counted_reads: None,
            wants_path: false,
            path: None,
            duplicate: None,
            mapped: None,
            requested: PageCount::new(0),
            calls: 0,
            carried: 0,
            asked: None,
        }
    }

    /// Asks for what ends the kernel's `pipeline` of the scan that `fact` tells of, if that is not over.
    pub(crate) fn end_pipeline(&mut self, pipeline: &mut Pipeline, fact: &Observation) {
        let seen = ResidentOutside {
            reacher: self.reacher,
            file: self.file,
            process: self.process,
            reach: self.reach,
        };
        let newest = fact.accesses().last();
        let range = newest.and_then(|newest| {
            let at = newest.pages().end.get();
            pipeline.next(at, self.file_pages, |range| seen.cached(range))
        });
        if let Some(range) = range {
            self.bring(range);
        }
    }

    fn bring(&mut self, range: PageRange) -> Answer {
        self.requested = PageCount::new(0);
        if let Some((process, mappings)) = self.mapped.take() {
            let answer = self.request_mapped(&process, &mappings, range);
            self.mapped = Some((process, mappings));
            return answer;
        }
        let mut duplicate = match self.duplicate.take() {
            Some(duplicate) => duplicate,
            None => match self.reacher.reach(self.file, self.process, self.reach) {
                Some((Reached::File(open), _)) => Duplicate::new(open),
                Some((Reached::Mapped(process, mappings), _)) => {
                    return self.request_mapped(&process, &mappings, range);
                }
                // Its process has closed it, or ended, since it was reached.
                None => return Answer::NotHere,
            },
        };
        let (answer, calls) = self.request_of(&duplicate.open, range);
        self.calls += calls;
        if answer != Answer::WasCached {
            self.requested = range.len();
        }
        let pages = range.len().get().max(PAGES_OF_A_CALL);
        duplicate.left = duplicate.left.saturating_sub(pages);
        self.duplicate = Some(duplicate).filter(|duplicate| duplicate.left > 0);
        answer
    }

    /// Asks for the parts of `range` that are mapped. What is in memory already is not known from outside.
    fn request_mapped(
        &mut self,
        process: &OwnedFd,
        mappings: &[FileMapping],
        range: PageRange,
    ) -> Answer {
        let bytes = ByteRange::from(range);
        let mut answer = Answer::NotHere;
        for mapping in mappings {
            let from = bytes.start.get().max(mapping.offset);
            let mapped_end = mapping.offset.saturating_add(mapping.length);
            let to = bytes.end.get().min(mapped_end);
            if from >= to {
                continue;
            }
            let address = mapping.address + (from - mapping.offset);
            let of = (self.process, process);
            self.calls += 1;
            answer = match self.reacher.will_need(of, address, to - from) {
                Ok(_) => Answer::Unknown,
                Err(_) => return Answer::Refused,
            };
            let part = ByteRange::new(from, to).pages();
            self.requested = self.requested + part.len();
        }
        answer
    }

    /// Asks for a range, unless it is in memory; and how many calls that took. Where the kernel does not say what is in memory, the
    /// sectors that this thread had read by the call tell, if they are counted.
    fn request_of(&self, open: &OpenFile, range: PageRange) -> (Answer, u64) {
        let bytes = ByteRange::from(range);
        let (offset, length) = (bytes.start.get(), bytes.len().get());
        let request = |done| match readahead::readahead(&open.opened, offset, length) {
            Ok(()) => done,
            Err(_) => Answer::Refused,
        };
        let device = DeviceNumber::from_dev(self.file.device);
        let counted_reads = self.counted_reads.filter(|_| device.major != 0);
        let answer = match (count(open, range), counted_reads) {
            (Some(pages), _) if pages.cached >= range.len().get() => {
                return (Answer::WasCached, 0);
            }
            (Some(_), _) => request(Answer::OnItsWay),
            (None, Some(counted_reads)) => counted_reads.ask(
                || own_thread_usage().sectors_read,
                || is_fuse_over(Path::new("/sys"), device),
                || request(Answer::Unknown),
            ),
            (None, None) => request(Answer::Unknown),
        };
        (answer, 1)
    }
}

fn count(open: &OpenFile, range: PageRange) -> Option<CacheStat> {
    if open.is_of_overlay {
        return None;
    }
    let bytes = ByteRange::from(range);
    cachestat_range(&open.opened, bytes.start.get(), bytes.len().get()).ok()
}

impl Adviser for Outside<'_> {
    fn prepare(&mut self, _decision: &Decision) -> Option<PageCount> {
        if !self.may_act && !self.wants_path {
            return None;
        }
        let wants_path = std::mem::take(&mut self.wants_path);
        let Some((reached, reach)) = (self.reacher).reach(self.file, self.process, self.reach)
        else {
            if wants_path {
                self.path = self.reacher.path(self.file, self.process, self.reach);
            }
            return None;
        };
        self.reach = reach;
        if wants_path {
            self.path = self.reacher.path_of(&reached, self.process);
        }
        if !self.may_act {
            return None;
        }
        match reached {
            Reached::File(open) => {
                let pages = open.pages;
                self.duplicate = Some(Duplicate::new(open));
                Some(pages)
            }
            Reached::Mapped(process, mappings) => {
                self.mapped = Some((process, mappings));
                Some(self.file_pages)
            }
        }
    }

    fn act(&mut self, act: Act) -> Answer {
        match act {
            Act::Prefetch(range) => self.bring(range),
            // Advice changes how a process reads what it has opened: that is the process's business.
            _ => Answer::Refused,
        }
    }

    fn asked_of(&self, range: PageRange) -> PageCount {
        // Several mappings may show the same pages, and what is mapped may end behind the file.
        self.requested.min(range.len())
    }

    fn late_ns(&self) -> Option<u64> {
        self.late_ns
    }

    fn finish(&mut self, decision: &Decision, made: &CallsMade) {
        let answer = made.answer;
        (self.duplicate, self.mapped) = (None, None);
        self.asked = Some((*decision, *made));
        if !matches!(answer, Answer::NotHere | Answer::Refused) {
            self.carried += 1;
        }
        if matches!(answer, Answer::OnItsWay | Answer::Unknown) {
            self.late_ns = self.read.map(|read| now().since(read));
        }
    }
}

/// What became of pages of a file that a process reads; not known where only its mapping can be reached, nor through an overlay.
#[derive(Clone, Copy, Debug)]
pub struct ResidentOutside<'a> {
    /// What reaches it.
    pub reacher: &'a Reacher,
    /// The file.
    pub file: FileKey,
    /// The process.
    pub process: u32,
    /// How it is reached.
    pub reach: Reach,
}

impl ResidentOutside<'_> {
    fn count(&self, range: PageRange) -> Option<CacheStat> {
        let (reached, _) = (self.reacher).reach(self.file, self.process, self.reach)?;
        match reached {
            Reached::File(open) => count(&open, range),
            Reached::Mapped(..) => None,
        }
    }

    /// Pages of it that are in memory, or on their way.
    #[must_use]
    pub fn cached(&self, range: PageRange) -> Option<PageCount> {
        self.count(range).map(|pages| PageCount::new(pages.cached))
    }
}

impl Residency for ResidentOutside<'_> {
    fn evicted(&self, range: PageRange) -> Option<PageCount> {
        self.count(range).map(|pages| PageCount::new(pages.evicted))
    }
}
