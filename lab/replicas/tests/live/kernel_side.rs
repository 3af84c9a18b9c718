//! A pattern carried out by the kernel that runs, and what it did, operation by operation.
//!
//! The rules of the facts assume that each I/O is over before the next page is touched. Within one
//! `read` the kernel waits itself, and its calls do not depend on when a page arrives; between
//! operations we wait, until every cached page is up to date.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsFd;

use ahead_replicas::kernel::Advice;
use ahead_sys::cachestat::cachestat;
use ahead_sys::mapped_area::{AreaAdvice, MappedArea};
use rustix::fs::Advice as FileAdvice;

use super::event::Event;
use super::machine::{Content, FreshFile, Scratch};
use super::pattern::{Operation, PAGE, Pattern, Protection};
use super::recorder::Recorder;

/// How often a pattern is tried while somebody else empties the page cache of the machine.
const ATTEMPTS: u32 = 8;

/// What the kernel did, and what of the process has a say in it.
#[derive(Clone, Debug)]
pub struct Account {
    /// Events of each operation.
    pub operations: Vec<Vec<Event>>,
    /// Address of each mapped area, in pages: what a fault maps beside its own page is a matter
    /// of alignment in memory, not in the file.
    pub area_address_pages: Vec<u64>,
}

/// Carries `pattern` out on a fresh file.
pub fn run(scratch: &Scratch, recorder: &Recorder, pattern: &Pattern) -> io::Result<Account> {
    for _ in 0..ATTEMPTS {
        let account = run_once(scratch, recorder, pattern)?;
        if !was_disturbed(pattern, &account) {
            return Ok(account);
        }
    }
    Err(io::Error::other(format!(
        "{}: somebody keeps emptying the page cache: run this test alone",
        pattern.name
    )))
}

/// Whether pages left the cache that we did not evict.
fn was_disturbed(pattern: &Pattern, account: &Account) -> bool {
    let mut both = pattern.operations.iter().zip(&account.operations);
    both.any(|(operation, events)| {
        let evicted = match operation {
            Operation::Evict { pages } => pages.clone(),
            _ => 0..0,
        };
        events
            .iter()
            .any(|event| matches!(event, Event::Removed { index, .. } if !evicted.contains(index)))
    })
}

fn run_once(scratch: &Scratch, recorder: &Recorder, pattern: &Pattern) -> io::Result<Account> {
    // In this order: with the largest request the kernel sets the window anew.
    scratch.set_max_sectors_kb(pattern.max_sectors_kb)?;
    scratch.set_read_ahead_kb(pattern.read_ahead_kb)?;
    // A fault tells the kernel to map what is there around it, once the page itself has come: with
    // a disk, however fast, it is a matter of chance what else has come by then.
    let content = if pattern.has_maps() {
        Content::Holes
    } else {
        Content::Written
    };
    let file = scratch.fresh_file(pattern.file_bytes, content)?;
    let mut program = Program::new(scratch, &file, pattern.file_bytes)?;
    recorder.start()?;
    let done = program.carry_out(recorder, &pattern.operations);
    let mut operations = recorder.stop(file.inode())?;
    done?;
    for events in &mut operations {
        sort_removals(events);
    }
    if operations.len() != pattern.operations.len() {
        return Err(io::Error::other("operations are missing in the record"));
    }
    let address = |area: &MappedArea| area.address() as u64 / PAGE;
    Ok(Account {
        operations,
        area_address_pages: program.areas.iter().map(address).collect(),
    })
}

/// Pages that wait in the list of a processor are taken out of the cache after all others: which
/// these are is a matter of the LRU, not of read-ahead.
fn sort_removals(events: &mut [Event]) {
    if events
        .iter()
        .all(|event| matches!(event, Event::Removed { .. }))
    {
        events.sort_by_key(|event| match event {
            Event::Removed { index, .. } => *index,
            Event::Call(_) | Event::Added { .. } => 0,
        });
    }
}

/// The program that does what the pattern says.
struct Program<'a> {
    scratch: &'a Scratch,
    file: &'a FreshFile,
    file_bytes: u64,
    /// Another descriptor, for questions that must not touch the state of the others.
    watcher: File,
    /// All of the file, never touched; `None` for an empty file.
    watched: Option<MappedArea>,
    files: Vec<File>,
    areas: Vec<MappedArea>,
    buffer: Vec<u8>,
}

impl<'a> Program<'a> {
    fn new(scratch: &'a Scratch, file: &'a FreshFile, file_bytes: u64) -> io::Result<Self> {
        let watcher = file.open()?;
        let pages = 0..file_bytes.div_ceil(PAGE);
        let watched = if pages.is_empty() {
            None
        } else {
            Some(MappedArea::map(&watcher, pages, Protection::Read)?)
        };
        Ok(Self {
            scratch,
            file,
            file_bytes,
            watcher,
            watched,
            files: Vec::new(),
            areas: Vec::new(),
            buffer: Vec::new(),
        })
    }

    fn carry_out(&mut self, recorder: &Recorder, operations: &[Operation]) -> io::Result<()> {
        for operation in operations {
            recorder.next_operation()?;
            self.call(operation)?;
            self.wait_for_io()?;
        }
        Ok(())
    }

    fn call(&mut self, operation: &Operation) -> io::Result<()> {
        match operation {
            Operation::Open => self.files.push(self.file.open()?),
            &Operation::Read {
                file,
                offset,
                bytes,
            } => self.read(file, offset, bytes)?,
            Operation::Map {
                file,
                pages,
                protection,
            } => {
                let area = MappedArea::map(&self.files[*file], pages.clone(), *protection)?;
                self.areas.push(area);
            }
            Operation::Touch { area, page } => {
                let byte = self.areas[*area].touch(*page);
                byte.ok_or(io::ErrorKind::InvalidInput)?;
            }
            &Operation::Write { area, page } => {
                let written = self.areas[area].write(page, 1);
                written.ok_or(io::ErrorKind::InvalidInput)?;
            }
            &Operation::AdviseAreaHuge { area } => self.areas[area].advise(AreaAdvice::Huge)?,
            Operation::AdviseArea { area, advice } => self.areas[*area].advise(match advice {
                Advice::Normal => AreaAdvice::Normal,
                Advice::Sequential => AreaAdvice::Sequential,
                Advice::Random => AreaAdvice::Random,
            })?,
            Operation::WillNeedArea { area, pages } => self.areas[*area].will_need(pages)?,
            &Operation::Advise { file, advice } => {
                let advice = match advice {
                    Advice::Normal => FileAdvice::Normal,
                    Advice::Sequential => FileAdvice::Sequential,
                    Advice::Random => FileAdvice::Random,
                };
                rustix::fs::fadvise(&self.files[file], 0, None, advice)?;
            }
            &Operation::WillNeed {
                file,
                offset,
                bytes,
            } => advise_range(&self.files[file], offset, bytes, FileAdvice::WillNeed)?,
            &Operation::ReadAhead {
                file,
                offset,
                bytes,
            } => ahead_sys::readahead::readahead(&self.files[file], offset, bytes)?,
            Operation::Evict { pages } => advise_range(
                &self.watcher,
                pages.start * PAGE,
                (pages.end - pages.start) * PAGE,
                FileAdvice::DontNeed,
            )?,
            &Operation::SetReadAheadKb(kib) => self.scratch.set_read_ahead_kb(kib)?,
        }
        Ok(())
    }

    /// One system call; it must deliver all there is.
    fn read(&mut self, file: usize, offset: u64, bytes: u64) -> io::Result<()> {
        let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        // Written once, so that the copy meets no fresh page.
        self.buffer.resize(self.buffer.len().max(length), 1);
        let got = rustix::io::pread(&self.files[file], &mut self.buffer[..length], offset)?;
        let expected = bytes.min(self.file_bytes.saturating_sub(offset));
        if got as u64 == expected {
            Ok(())
        } else {
            Err(io::Error::other(format!(
                "{got} bytes instead of {expected}"
            )))
        }
    }

    /// Until every cached page is up to date.
    fn wait_for_io(&self) -> io::Result<()> {
        let Some(watched) = &self.watched else {
            return Ok(());
        };
        while watched.pages_in_core()? < cachestat(&self.watcher)?.cached {
            self.scratch.let_time_pass();
        }
        Ok(())
    }
}

fn advise_range(file: impl AsFd, offset: u64, bytes: u64, advice: FileAdvice) -> io::Result<()> {
    Ok(rustix::fs::fadvise(
        file,
        offset,
        NonZeroU64::new(bytes),
        advice,
    )?)
}
