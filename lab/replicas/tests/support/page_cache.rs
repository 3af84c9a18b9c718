//! The smallest page cache that an algorithm of `kernel` or `literature` can run over.
//!
//! One file, a map of its pages, and a log of everything started. The device answers at once: what
//! was started is valid before the walk goes on to the next page. With [`PageCache::slots`] it
//! answers late instead: requests are single pages, done in order of submission, and only as far as
//! somebody waits for them. Nothing is evicted unless a test says so.
#![allow(dead_code, unreachable_pub, reason = "each test uses another part")]

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use ahead_replicas::kernel::{
    Advice, Call, Class, Fault, Host, Learned, PageState, Read, ReadAhead, Window,
};
use ahead_units::PAGE_BYTES;

/// A page in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Never [`PageState::Absent`].
    pub state: PageState,
    /// First page of the folio it lies in.
    pub folio_start: u64,
    /// First page behind the folio it lies in.
    pub folio_end: u64,
    /// Its folio carries the look-ahead mark; kept at the folio's first page.
    pub marked: bool,
    /// It carries the reference mark.
    pub referenced: bool,
    /// It is on the active list.
    pub active: bool,
}

/// One call of [`Host::start`], or one page read alone by the walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// What was asked for.
    pub window: Window,
    /// The runs of pages that were absent and are now under way: first page and length.
    pub runs: Vec<(u64, u64)>,
}

/// A page cache with one file, and its device.
#[derive(Debug)]
pub struct PageCache {
    /// Bytes in the file.
    pub file_bytes: u64,
    /// Pages in the cache.
    pub pages: BTreeMap<u64, Page>,
    /// Everything started since the log was last taken.
    pub log: Vec<Started>,
    /// Tracepoints hit since the log was last taken.
    pub calls: Vec<Call>,
    /// What [`Host::reclaimable_pages`] says.
    pub reclaimable: u64,
    /// What [`Host::is_congested`] says.
    pub congested: bool,
    /// What [`Host::io_pages`] says.
    pub io_pages: u64,
    /// What [`Host::folio_order_max`] says.
    pub folio_order_max: u8,
    /// The aging clock; every first reference moves it by one.
    pub clock: u64,
    /// Ticks of background aging per page accessed.
    pub clock_per_page: u64,
    /// Pages rescued, in order, since the log was last taken.
    pub rescued: Vec<u64>,
    /// What is learned about the device.
    pub learned: Learned,
    /// Pages that the queue holds; `None`: the device answers at once.
    pub slots: Option<usize>,
    queue: VecDeque<u64>,
}

impl PageCache {
    /// An empty cache over a file of `pages` whole pages, 1 GiB of reclaimable memory.
    pub fn new(pages: u64) -> Self {
        Self {
            file_bytes: pages * PAGE_BYTES,
            pages: BTreeMap::new(),
            log: Vec::new(),
            calls: Vec::new(),
            reclaimable: 262_144,
            congested: false,
            io_pages: 320,
            folio_order_max: 0,
            clock: 0,
            clock_per_page: 0,
            rescued: Vec::new(),
            learned: Learned::default(),
            slots: None,
            queue: VecDeque::new(),
        }
    }

    /// Pages that the file has, the last partial one included.
    pub fn file_pages(&self) -> u64 {
        self.file_bytes.div_ceil(PAGE_BYTES)
    }

    /// Puts pages into the cache as if somebody else had read them.
    pub fn cache(&mut self, pages: Range<u64>) {
        for page in pages {
            self.pages.entry(page).or_insert_with(|| Page {
                state: PageState::Valid,
                ..Page::started(page, page + 1)
            });
        }
    }

    /// Takes pages out of the cache.
    pub fn evict(&mut self, pages: Range<u64>) {
        self.pages.retain(|page, _| !pages.contains(page));
    }

    /// A `read()` of whole pages, with the walk described in `kernel`. Returns the runs started.
    pub fn read<A: ReadAhead>(&mut self, file: &mut A, start: u64, pages: u64) -> Vec<(u64, u64)> {
        self.read_bytes(file, &Read::of_pages(start, pages))
    }

    /// A `read()` of any bytes. Returns the runs started.
    pub fn read_bytes<A: ReadAhead>(&mut self, file: &mut A, read: &Read) -> Vec<(u64, u64)> {
        let from = self.log.len();
        file.on_read(self, read);
        let end = read.end_page().min(self.file_pages());
        for page in read.first_page()..end {
            file.on_page(self, read, page);
            if self.state(page) == PageState::Absent {
                file.on_missing(self, page);
                self.read_alone(page);
            }
            self.wait_for(page);
            self.mark_accessed(page);
        }
        let copied = read.end.min(self.file_bytes).max(read.start);
        file.on_read_done(self, read, copied);
        self.runs_since(from)
    }

    /// Reads the pages `[start, end)` one `read()` per page; returns what each page that started
    /// something started.
    pub fn read_singly<A: ReadAhead>(
        &mut self,
        file: &mut A,
        pages: Range<u64>,
    ) -> Vec<(u64, Vec<(u64, u64)>)> {
        self.read_in_steps(file, pages, 1)
    }

    /// Reads the pages `[start, end)`, `step` pages per `read()`; returns what each page of the
    /// walk that started something started, the page within the call included.
    pub fn read_in_steps<A: ReadAhead>(
        &mut self,
        file: &mut A,
        pages: Range<u64>,
        step: u64,
    ) -> Vec<(u64, Vec<(u64, u64)>)> {
        let mut started = Vec::new();
        let mut start = pages.start;
        while start < pages.end {
            let runs = self.read(file, start, step);
            if !runs.is_empty() {
                started.push((start, runs));
            }
            start += step;
        }
        started
    }

    /// A fault in an area that maps the whole file without advice. Returns the runs started.
    pub fn fault<A: ReadAhead>(&mut self, file: &mut A, page: u64) -> Vec<(u64, u64)> {
        self.fault_in(file, &self.whole_file(page, Advice::Normal))
    }

    /// A fault on `page` in an area that maps the whole file.
    pub fn whole_file(&self, page: u64, advice: Advice) -> Fault {
        Fault {
            page,
            area_start: 0,
            area_end: self.file_pages(),
            advice,
            ..Fault::default()
        }
    }

    /// Any fault. Returns the runs started.
    pub fn fault_in<A: ReadAhead>(&mut self, file: &mut A, fault: &Fault) -> Vec<(u64, u64)> {
        let from = self.log.len();
        file.on_fault(self, fault);
        if self.state(fault.page) == PageState::Absent {
            file.on_missing(self, fault.page);
            self.read_alone(fault.page);
        }
        self.wait_for(fault.page);
        self.mark_accessed(fault.page);
        self.runs_since(from)
    }

    /// The log, emptied.
    pub fn take_log(&mut self) -> Vec<Started> {
        std::mem::take(&mut self.log)
    }

    /// Pages that carry the mark, ascending; for folios their first page.
    pub fn marks(&self) -> Vec<u64> {
        self.pages
            .iter()
            .filter(|(_, entry)| entry.marked)
            .map(|(&page, _)| page)
            .collect()
    }

    /// Finishes the `count` oldest requests.
    pub fn complete(&mut self, count: usize) {
        for _ in 0..count {
            let Some(page) = self.queue.pop_front() else {
                return;
            };
            if let Some(entry) = self.pages.get_mut(&page) {
                entry.state = PageState::Valid;
            }
        }
    }

    fn runs_since(&self, from: usize) -> Vec<(u64, u64)> {
        self.log[from..]
            .iter()
            .flat_map(|started| started.runs.iter().copied())
            .collect()
    }

    /// The read of one page that nobody brought.
    fn read_alone(&mut self, page: u64) {
        self.start(&Window {
            start: page,
            pages: 1,
            class: Class::Single,
            ..Window::default()
        });
    }

    /// Until `page` is valid; without a bound on the queue, until everything is.
    fn wait_for(&mut self, page: u64) {
        if self.slots.is_none() {
            self.complete(self.queue.len());
        }
        while self.state(page) == PageState::InFlight {
            self.complete(1);
        }
        assert_eq!(
            self.state(page),
            PageState::Valid,
            "page {page} was never read"
        );
    }

    /// What reclaim of 2.6 does when a page is used.
    fn mark_accessed(&mut self, page: u64) {
        self.clock += self.clock_per_page;
        let Some(entry) = self.pages.get_mut(&page) else {
            return;
        };
        if !entry.referenced {
            entry.referenced = true;
            self.clock += 1;
        } else if !entry.active {
            entry.active = true;
            entry.referenced = false;
        }
    }

    fn head(&self, page: u64) -> u64 {
        self.pages
            .get(&page)
            .map_or(page, |entry| entry.folio_start)
    }
}

impl Page {
    fn started(folio_start: u64, folio_end: u64) -> Self {
        Self {
            state: PageState::InFlight,
            folio_start,
            folio_end,
            marked: false,
            referenced: false,
            active: false,
        }
    }
}

impl Host for PageCache {
    fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    fn state(&self, page: u64) -> PageState {
        self.pages
            .get(&page)
            .map_or(PageState::Absent, |entry| entry.state)
    }

    /// A window of folios is one folio: it fails as a whole when one of its pages is cached.
    fn start(&mut self, window: &Window) -> u64 {
        let end = window
            .start
            .saturating_add(window.pages)
            .min(self.file_pages().max(window.start));
        let mut runs: Vec<(u64, u64)> = Vec::new();
        let is_folio = window.order > 0;
        let folio_end = window.start + window.pages;
        let is_blocked = is_folio && self.pages.range(window.start..folio_end).next().is_some();
        let range = if is_blocked { 0..0 } else { window.start..end };
        for page in range {
            let is_new = match self.state(page) {
                PageState::Absent => true,
                PageState::Stale => false,
                PageState::InFlight | PageState::Valid => continue,
            };
            let (first, last) = if is_folio {
                (window.start, folio_end)
            } else {
                (page, page + 1)
            };
            if is_new {
                let mut entry = Page::started(first, last);
                entry.marked = page == first
                    && window
                        .mark
                        .is_some_and(|mark| (first..last).contains(&mark));
                self.pages.insert(page, entry);
            }
            let is_full = self.slots.is_some_and(|slots| self.queue.len() >= slots);
            if is_full && window.may_drop {
                self.set_state(page, PageState::Stale);
                break;
            }
            if is_full {
                self.complete(1);
            }
            self.set_state(page, PageState::InFlight);
            self.queue.push_back(page);
            match runs.last_mut() {
                Some((start, length)) if *start + *length == page => *length += 1,
                _ => runs.push((page, 1)),
            }
        }
        if is_folio && !is_blocked {
            // A folio may reach behind the end of the file; its pages there hold no data.
            for page in end..folio_end {
                let mut entry = Page::started(window.start, folio_end);
                entry.state = PageState::Valid;
                self.pages.insert(page, entry);
            }
        }
        let count = runs.iter().map(|&(_, length)| length).sum();
        self.log.push(Started {
            window: *window,
            runs,
        });
        count
    }

    fn folio(&self, page: u64) -> (u64, u64) {
        self.pages.get(&page).map_or((page, page + 1), |entry| {
            (entry.folio_start, entry.folio_end)
        })
    }

    fn is_marked(&self, page: u64) -> bool {
        self.pages
            .get(&self.head(page))
            .is_some_and(|entry| entry.marked)
    }

    fn clear_mark(&mut self, page: u64) {
        let head = self.head(page);
        if let Some(entry) = self.pages.get_mut(&head) {
            entry.marked = false;
        }
    }

    fn set_mark(&mut self, page: u64) {
        let head = self.head(page);
        if let Some(entry) = self.pages.get_mut(&head) {
            entry.marked = true;
        }
    }

    fn is_congested(&self) -> bool {
        self.congested
    }

    fn io_pages(&self) -> u64 {
        self.io_pages
    }

    fn folio_order_max(&self) -> u8 {
        self.folio_order_max
    }

    fn reclaimable_pages(&self) -> u64 {
        self.reclaimable
    }

    fn aging_clock(&self) -> u64 {
        self.clock
    }

    fn is_active(&self, page: u64) -> bool {
        self.pages.get(&page).is_some_and(|entry| entry.active)
    }

    fn is_referenced(&self, page: u64) -> bool {
        self.pages.get(&page).is_some_and(|entry| entry.referenced)
    }

    fn rescue(&mut self, page: u64) {
        self.rescued.push(page);
    }

    fn learned(&mut self) -> &mut Learned {
        &mut self.learned
    }

    fn on_call(&mut self, call: Call) {
        self.calls.push(call);
    }
}

impl PageCache {
    fn set_state(&mut self, page: u64, state: PageState) {
        if let Some(entry) = self.pages.get_mut(&page) {
            entry.state = state;
        }
    }
}
