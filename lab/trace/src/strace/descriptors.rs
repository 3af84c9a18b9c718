//! Who has which file open, and where in it they are: the kernel's three tables, in small.
//!
//! A process has a table of descriptors; a descriptor leads to an open file, which has a position;
//! an open file leads to a file. `fork` copies the first table, threads share it, `dup` makes two
//! descriptors of one open file. Everything is counted, so a trace cannot make it grow for ever.

use std::collections::HashMap;

use crate::access::FileRef;
use crate::error::Problem;

/// Descriptors of all processes together.
const DESCRIPTORS_MAX: usize = 1 << 22;

/// An open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenFile {
    /// `None`: a pipe, a socket, or anything else without a page cache.
    pub(super) file: Option<FileRef>,
    /// Where the next `read` begins.
    pub(super) position: u64,
}

/// A descriptor's way to an open file.
pub(super) type OpenRef = usize;

#[derive(Debug, Default)]
struct Table {
    descriptors: HashMap<u32, OpenRef, ahash::RandomState>,
    threads: u32,
}

/// All processes.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    /// By thread: its process and its table.
    threads: HashMap<u32, (u32, usize), ahash::RandomState>,
    tables: Vec<Table>,
    free_tables: Vec<usize>,
    open_files: Vec<(OpenFile, u32)>,
    free_open_files: Vec<OpenRef>,
    count: usize,
}

impl Descriptors {
    /// Whether a thread was seen before.
    pub(super) fn knows(&self, thread: u32) -> bool {
        self.threads.contains_key(&thread)
    }

    /// The process of a thread. One that was never heard of is a process of its own.
    pub(super) fn process(&mut self, thread: u32) -> u32 {
        self.place(thread).0
    }

    fn place(&mut self, thread: u32) -> (u32, usize) {
        if let Some(place) = self.threads.get(&thread) {
            return *place;
        }
        let table = self.new_table();
        self.threads.insert(thread, (thread, table));
        (thread, table)
    }

    fn new_table(&mut self) -> usize {
        let table = Table {
            descriptors: HashMap::default(),
            threads: 1,
        };
        if let Some(place) = self.free_tables.pop() {
            self.tables[place] = table;
            return place;
        }
        self.tables.push(table);
        self.tables.len() - 1
    }

    /// A thread starts another one in its own process.
    pub(super) fn start_thread(&mut self, parent: u32, child: u32) {
        let (process, table) = self.place(parent);
        if self.knows(child) {
            self.end(child);
        }
        self.tables[table].threads += 1;
        self.threads.insert(child, (process, table));
    }

    /// A thread starts a process, with its own table or with a shared one.
    pub(super) fn start_process(
        &mut self,
        parent: u32,
        child: u32,
        shares_files: bool,
    ) -> Result<(), Problem> {
        if shares_files {
            self.start_thread(parent, child);
            if let Some((process, _)) = self.threads.get_mut(&child) {
                *process = child;
            }
            return Ok(());
        }
        if self.knows(child) {
            self.end(child);
        }
        let (_, from) = self.place(parent);
        let descriptors = self.tables[from].descriptors.clone();
        self.count += descriptors.len();
        self.check()?;
        for open in descriptors.values() {
            self.open_files[*open].1 += 1;
        }
        let table = self.new_table();
        self.tables[table].descriptors = descriptors;
        self.threads.insert(child, (child, table));
        Ok(())
    }

    /// A thread has ended; with the last one of a process its descriptors go.
    pub(super) fn end(&mut self, thread: u32) {
        let Some((_, place)) = self.threads.remove(&thread) else {
            return;
        };
        let table = &mut self.tables[place];
        table.threads -= 1;
        if table.threads > 0 {
            return;
        }
        let descriptors = std::mem::take(&mut table.descriptors);
        self.count -= descriptors.len();
        for open in descriptors.into_values() {
            self.release(open);
        }
        self.free_tables.push(place);
    }

    /// The open file behind a descriptor.
    pub(super) fn get(&mut self, thread: u32, descriptor: u32) -> Option<OpenRef> {
        let (_, table) = self.place(thread);
        self.tables[table].descriptors.get(&descriptor).copied()
    }

    /// What an open file is.
    pub(super) fn open_file(&mut self, open: OpenRef) -> &mut OpenFile {
        &mut self.open_files[open].0
    }

    /// A descriptor leads to a newly opened file.
    pub(super) fn open(
        &mut self,
        thread: u32,
        descriptor: u32,
        file: Option<FileRef>,
    ) -> Result<OpenRef, Problem> {
        let opened = OpenFile { file, position: 0 };
        let open = match self.free_open_files.pop() {
            Some(open) => {
                self.open_files[open] = (opened, 0);
                open
            }
            None => {
                self.open_files.push((opened, 0));
                self.open_files.len() - 1
            }
        };
        self.lead(thread, descriptor, open)?;
        Ok(open)
    }

    /// A descriptor leads to a file that is open already.
    pub(super) fn lead(
        &mut self,
        thread: u32,
        descriptor: u32,
        open: OpenRef,
    ) -> Result<(), Problem> {
        let (_, table) = self.place(thread);
        self.open_files[open].1 += 1;
        match self.tables[table].descriptors.insert(descriptor, open) {
            Some(old) => {
                self.release(old);
            }
            None => self.count += 1,
        }
        self.check()
    }

    /// A descriptor is closed. The file, when that was its last one.
    pub(super) fn close(&mut self, thread: u32, descriptor: u32) -> Option<FileRef> {
        let (_, table) = self.place(thread);
        let open = self.tables[table].descriptors.remove(&descriptor)?;
        self.count -= 1;
        self.release(open)
    }

    /// Descriptors `first` to `last`, both inside, are closed.
    pub(super) fn close_range(&mut self, thread: u32, first: u32, last: u32) {
        let (_, table) = self.place(thread);
        let mut closed: Vec<u32> = self.tables[table]
            .descriptors
            .keys()
            .copied()
            .filter(|descriptor| (first..=last).contains(descriptor))
            .collect();
        closed.sort_unstable();
        for descriptor in closed {
            self.close(thread, descriptor);
        }
    }

    fn release(&mut self, open: OpenRef) -> Option<FileRef> {
        let (opened, users) = &mut self.open_files[open];
        *users -= 1;
        if *users > 0 {
            return None;
        }
        let file = opened.file;
        self.free_open_files.push(open);
        file
    }

    fn check(&self) -> Result<(), Problem> {
        if self.count <= DESCRIPTORS_MAX {
            return Ok(());
        }
        Err(Problem::TooMuch(format!(
            "more than {DESCRIPTORS_MAX} descriptors are open at once; no machine allows that"
        )))
    }
}
