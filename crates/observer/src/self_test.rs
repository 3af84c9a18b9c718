//! Whether the programs tell the truth on this kernel: known reads of a scratch file, compared with what is told.
//!
//! Kernels move their tracepoints, and change what an argument means. A fact that is told wrong would be worse than
//! none: whoever steers by it reads the wrong pages. So nothing is believed before a read that misses, reads from
//! memory, and a page fault of a file that we know were told as what they were.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ahead_sys::mapped_file::MappedFile;
use ahead_units::{ByteRange, PAGE_BYTES, PageRange};

use crate::observation::{FactKind, FileKey, Observation};
use crate::observer::{KernelObserver, ObserverError, WORKS};

/// Length of the scratch file, 4 MiB: it is written at each start. The places that are read lie so far from each other that none is
/// brought in with another: a read of a few pages brings those alone, or what is compressed with them, 128 KiB.
const FILE_PAGES: u64 = 1024;
/// Where a read misses, where one is watched, and where a mapping is touched.
const MISSED: PageRange = PageRange::new(256, 260);
const WATCHED: PageRange = PageRange::new(512, 516);
const TOUCHED: u64 = 900;
/// Far from all reads before, so that it ends a run.
const ELSEWHERE: PageRange = PageRange::new(700, 701);
/// Reads from memory, a page each, that have to arrive whole.
const CACHED_READS: u64 = 64;

/// Why what is told is not believed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelfTestError {
    /// The scratch file cannot be made or read.
    #[error("cannot make known reads in {}: {source}", folder.display())]
    Scratch {
        /// Where.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Pages have another length than everything here is made for.
    #[error(
        "the pages of this machine have {bytes} bytes, and reads are followed in pages of {PAGE_BYTES}: nothing was begun; {WORKS}"
    )]
    Pages {
        /// Their length.
        bytes: u64,
    },
    /// The programs cannot be asked.
    #[error(transparent)]
    Observer(#[from] ObserverError),
    /// Something that was done was told as something else, or not at all.
    #[error("what this kernel tells of {fact} is not what was done ({told}): it is not believed")]
    Untrue {
        /// What was done.
        fact: &'static str,
        /// What was told of it.
        told: String,
    },
    /// The kernel tells numbers of processes that mean others here.
    #[error(
        "the kernel calls this process {told}, and here it is {own}: this is a PID namespace, from which the readers of the machine \
         cannot be reached; start it outside of the container, or in one with the processes of the machine (--pid=host); {WORKS}"
    )]
    OtherNumbers {
        /// As the kernel tells it.
        told: u32,
        /// As the process knows itself.
        own: u32,
    },
}

/// Whether pages have the length that reads are followed in.
const fn check_page_bytes(bytes: u64) -> Result<(), SelfTestError> {
    if bytes == PAGE_BYTES {
        Ok(())
    } else {
        Err(SelfTestError::Pages { bytes })
    }
}

/// Does known reads of a file in `folder`, which has to lie on a file system that reads through the page cache from
/// a device, and compares what is told.
///
/// # Errors
/// [`SelfTestError`]. The programs stay attached; whoever called decides.
pub fn run(observer: &mut KernelObserver, folder: &Path) -> Result<(), SelfTestError> {
    let scratch = |source| SelfTestError::Scratch {
        folder: folder.to_owned(),
        source,
    };
    check_page_bytes(rustix::param::page_size() as u64)?;
    let file = Scratch::make(folder).map_err(scratch)?;
    let mut test = Test {
        observer,
        inode: file.inode().map_err(scratch)?,
        key: None,
        descriptor: file.0.as_raw_fd(),
        told: Vec::new(),
    };
    let done = test.run(&file, &scratch);
    if let Some(key) = test.key {
        test.observer.forget(key);
    }
    test.observer.rest();
    done
}

/// A file of ours without a name.
struct Scratch(File);

impl Scratch {
    fn make(folder: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(rustix::fs::OFlags::TMPFILE.bits().cast_signed())
            .mode(0o600)
            .open(folder)?;
        let bytes = vec![b'a'; usize::try_from(FILE_PAGES * PAGE_BYTES).unwrap_or(0)];
        file.write_all_at(&bytes, 0)?;
        file.sync_data()?;
        Ok(Self(file))
    }

    fn inode(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.ino())
    }

    fn evict(&self) -> io::Result<()> {
        Ok(rustix::fs::fadvise(
            &self.0,
            0,
            None,
            rustix::fs::Advice::DontNeed,
        )?)
    }

    fn read(&self, pages: PageRange) -> io::Result<()> {
        let bytes = ByteRange::from(pages);
        let mut buffer = vec![0; usize::try_from(bytes.len().get()).unwrap_or(0)];
        self.0.read_exact_at(&mut buffer, bytes.start.get())
    }
}

struct Test<'a> {
    observer: &'a mut KernelObserver,
    inode: u64,
    /// As the page cache knows the file. A file of btrfs or an overlay says another device: its first miss tells.
    key: Option<FileKey>,
    descriptor: i32,
    told: Vec<Observation>,
}

impl Test<'_> {
    fn run(
        &mut self,
        file: &Scratch,
        scratch: &impl Fn(io::Error) -> SelfTestError,
    ) -> Result<(), SelfTestError> {
        file.evict().map_err(scratch)?;
        self.listen()?;
        file.read(MISSED).map_err(scratch)?;
        let descriptor = Some(self.descriptor);
        let is_missed = |fact: &Observation| {
            fact.kind == FactKind::Miss
                && fact.first.pages() == MISSED
                && fact.descriptor == descriptor
                && fact.file_pages.get() == FILE_PAGES
                && fact.window.is_some_and(|window| window.get() <= 1 << 20)
        };
        let key = self.expect("a read that misses", is_missed)?;
        self.key = Some(key);

        self.observer.watch(key)?;
        self.listen()?;
        file.read(WATCHED).map_err(scratch)?;
        let is_watched = |fact: &Observation| {
            fact.kind == FactKind::Accesses
                && fact.first.pages() == WATCHED
                && fact.descriptor == descriptor
        };
        self.expect("a read of a watched file", is_watched)?;

        // In memory now, and read again page by page.
        file.read(PageRange::new(0, CACHED_READS))
            .map_err(scratch)?;
        self.listen()?;
        for page in 0..CACHED_READS {
            file.read(PageRange::new(page, page + 1)).map_err(scratch)?;
        }
        // Reads of one page every page: the last of them ends the run.
        file.read(PageRange::new(0, 1)).map_err(scratch)?;
        file.read(ELSEWHERE).map_err(scratch)?;
        let told = self.hear()?;
        let mut pages = told
            .iter()
            .flat_map(Observation::accesses)
            .map(|access| access.pages().start.get());
        if !(0..CACHED_READS).all(|page| pages.any(|told| told == page)) {
            return Err(self.untrue("reads from memory"));
        }

        file.evict().map_err(scratch)?;
        let mapped = MappedFile::map(&file.0).map_err(scratch)?;
        self.listen()?;
        let _touched = mapped.word_at(TOUCHED * PAGE_BYTES);
        let is_touched = |fact: &Observation| {
            fact.kind == FactKind::Accesses
                && fact.is_mapped
                && fact.first.pages() == PageRange::new(TOUCHED, TOUCHED + 1)
        };
        self.expect("a page fault", is_touched)?;
        Ok(())
    }

    /// What was told before does not count.
    fn listen(&mut self) -> Result<(), SelfTestError> {
        self.told.clear();
        let mut before = Vec::new();
        self.drain(&mut before)
    }

    /// What was told of the file since.
    fn hear(&mut self) -> Result<Vec<Observation>, SelfTestError> {
        let mut told = Vec::new();
        self.drain(&mut told)?;
        told.retain(|fact| match self.key {
            Some(key) => fact.file == key,
            None => fact.file.inode == self.inode && fact.file_pages.get() == FILE_PAGES,
        });
        let own = std::process::id();
        // The file has no name: no other process can read it.
        if let Some(fact) = told.iter().find(|fact| fact.process != own) {
            let told = fact.process;
            return Err(SelfTestError::OtherNumbers { told, own });
        }
        self.told = told.clone();
        Ok(told)
    }

    fn drain(&mut self, told: &mut Vec<Observation>) -> Result<(), SelfTestError> {
        let drained = self.observer.wait(Duration::ZERO, told);
        Ok(drained.map_err(ObserverError::Refused)?)
    }

    /// Of which file it was told.
    fn expect(
        &mut self,
        fact: &'static str,
        mut is_it: impl FnMut(&Observation) -> bool,
    ) -> Result<FileKey, SelfTestError> {
        let told = self.hear()?;
        match told.iter().find(|fact| is_it(fact)) {
            Some(found) => Ok(found.file),
            None => Err(self.untrue(fact)),
        }
    }

    fn untrue(&self, fact: &'static str) -> SelfTestError {
        let told = match self.told.first() {
            Some(first) => format!("{} facts, the first {first:?}", self.told.len()),
            None => "nothing was told".to_owned(),
        };
        SelfTestError::Untrue { fact, told }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// arm64 is built with these as well. The self-test failed there, after 16 MiB were written, with what no user understands.
    #[test]
    fn other_pages_than_those_of_4_kib_are_refused_in_one_clear_line() {
        assert!(check_page_bytes(4096).is_ok());
        let refused = check_page_bytes(65536).unwrap_err().to_string();
        assert!(refused.contains("have 65536 bytes"), "{refused}");
        assert!(refused.contains("`ahead run` works"), "{refused}");
    }
}
