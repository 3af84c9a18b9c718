//! The page cache and an algorithm, without a clock: all I/O is complete as soon as it starts.
//!
//! Files, descriptors with an algorithm each, one cache. A call does what the kernel's read path
//! does, in its order (the walk is described in [`crate::kernel`]); what it brings in is reported to
//! an observer. So an algorithm can be compared with a kernel that was given time to finish each
//! read, and its decisions can be counted at full speed.
//!
//! What needs time is not here: locked pages, full queues, who waits for whom. Neither are page
//! tables: [`fault`](Instant::fault) is called for faults, not for accesses that hit a mapped page,
//! and what fault-around maps is for the caller to know.

use crate::kernel::{
    Advice, Call, Class, Fault, Host, Learned, PageState, Read, ReadAhead, Window,
};
use ahead_units::PAGE_BYTES;

use crate::page_cache::{CacheObserver, CacheSettings, FileId, PageCache};

/// What surrounds the algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstantSettings {
    /// The page cache.
    pub cache: CacheSettings,
    /// Largest request of the device, in pages.
    pub io_pages: u64,
    /// log2 of the pages of the largest folio; 0 where the file system has only single pages.
    pub folio_order_max: u8,
}

/// Hears what happens.
pub trait InstantObserver: CacheObserver {
    /// An algorithm asked for `window` of `file`, of which at least one page was absent, or the
    /// walk reads a page alone ([`Class::Single`]). The window may reach beyond the end of file.
    fn on_window(&mut self, file: FileId, window: &Window) {
        let _ = (file, window);
    }

    /// Pages `[start, start + pages)` came in, as part of the window reported last: a run of absent
    /// pages inside the file. A run larger than half of memory is reported in pieces.
    fn on_run(&mut self, file: FileId, start: u64, pages: u64) {
        let _ = (file, start, pages);
    }

    /// A call that tracepoints show.
    fn on_call(&mut self, file: FileId, call: &Call) {
        let _ = (file, call);
    }
}

/// Hears nothing.
impl InstantObserver for () {}

/// An open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(usize);

#[derive(Clone, Copy, Debug)]
struct File {
    id: FileId,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct Open<A> {
    file: File,
    algorithm: A,
    /// The page that the newest byte delivered came from.
    previous: Option<u64>,
}

/// Files, descriptors and a cache. See the [module](self).
#[derive(Clone, Debug)]
pub struct Instant<A, O = ()> {
    settings: InstantSettings,
    cache: PageCache,
    files: Vec<File>,
    open: Vec<Open<A>>,
    learned: Learned,
    observer: O,
}

impl<A: ReadAhead, O: InstantObserver> Instant<A, O> {
    /// An empty cache, and no file.
    #[must_use]
    pub fn new(settings: &InstantSettings, observer: O) -> Self {
        Self {
            settings: *settings,
            cache: PageCache::new(&settings.cache),
            files: Vec::new(),
            open: Vec::new(),
            learned: Learned::default(),
            observer,
        }
    }

    /// A file of `bytes` bytes, nothing of it cached.
    pub fn add_file(&mut self, bytes: u64) -> FileId {
        let id = self.cache.add_file();
        self.files.push(File { id, bytes });
        id
    }

    /// Opens `file` with an algorithm in its initial state.
    ///
    /// # Panics
    ///
    /// If [`add_file`](Self::add_file) did not give `file`.
    pub fn open(&mut self, file: FileId, algorithm: A) -> Handle {
        self.open.push(Open {
            file: self.files[file.0 as usize],
            algorithm,
            previous: None,
        });
        Handle(self.open.len() - 1)
    }

    /// Reads, and returns the first byte behind what was delivered.
    pub fn read(&mut self, handle: Handle, read: &Read) -> u64 {
        let (open, mut view) = self.enter(handle);
        let file = open.file;
        let end = read.end.min(file.bytes).max(read.start);
        open.algorithm.on_read(&mut view, read);
        if end > read.start {
            for page in read.first_page()..end.div_ceil(PAGE_BYTES) {
                open.algorithm.on_page(&mut view, read, page);
                let previous = open.previous.replace(page);
                let access = view.cache.access_if_cached(file.id, page, previous);
                if access.is_none() {
                    open.algorithm.on_missing(&mut view, page);
                    view.read_alone(page);
                    view.cache.access_after(file.id, page, previous);
                }
            }
        }
        open.algorithm.on_read_done(&mut view, read, end);
        end
    }

    /// Takes a fault, which counts as an access to the page. A fault beyond the end of file does
    /// nothing.
    pub fn fault(&mut self, handle: Handle, fault: &Fault) {
        let (open, mut view) = self.enter(handle);
        let file = open.file;
        if fault.page >= file.bytes.div_ceil(PAGE_BYTES) {
            return;
        }
        open.algorithm.on_fault(&mut view, fault);
        if view.cache.state(file.id, fault.page) == PageState::Absent {
            open.algorithm.on_missing(&mut view, fault.page);
            view.read_alone(fault.page);
        }
        view.cache.access(file.id, fault.page);
    }

    /// A fault mapped `pages` cached neighbours as well.
    pub fn map_neighbours(&mut self, handle: Handle, pages: u64) {
        self.open[handle.0].algorithm.on_neighbours_mapped(pages);
    }

    /// `posix_fadvise` NORMAL, SEQUENTIAL or RANDOM.
    pub fn advise(&mut self, handle: Handle, advice: Advice) {
        self.open[handle.0].algorithm.on_advice(advice);
    }

    /// `posix_fadvise` WILLNEED or `readahead(2)`.
    pub fn will_need(&mut self, handle: Handle, start: u64, pages: u64) {
        let (open, mut view) = self.enter(handle);
        open.algorithm.on_will_need(&mut view, start, pages);
    }

    /// Says to the algorithm that the descriptor is closed at byte `position`. The handle is not to
    /// be used again.
    pub fn close(&mut self, handle: Handle, position: u64) {
        let (open, mut view) = self.enter(handle);
        open.algorithm.on_close(&mut view, position);
    }

    /// Takes pages `[start, start + pages)` out of the cache, in whole folios.
    pub fn evict(&mut self, file: FileId, start: u64, pages: u64) {
        self.cache.forget(file, start, pages, &mut self.observer);
    }

    /// The cache.
    #[must_use]
    pub const fn cache(&self) -> &PageCache {
        &self.cache
    }

    /// The algorithm of an open file.
    #[must_use]
    pub fn algorithm(&self, handle: Handle) -> &A {
        &self.open[handle.0].algorithm
    }

    /// The algorithm of an open file, for what happens to it outside of reads.
    pub fn algorithm_mut(&mut self, handle: Handle) -> &mut A {
        &mut self.open[handle.0].algorithm
    }

    /// Who listens.
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    fn enter(&mut self, handle: Handle) -> (&mut Open<A>, View<'_, O>) {
        let open = &mut self.open[handle.0];
        let view = View {
            settings: &self.settings,
            file: open.file,
            cache: &mut self.cache,
            learned: &mut self.learned,
            observer: &mut self.observer,
        };
        (open, view)
    }
}

/// The cache as the algorithm of one file sees it.
struct View<'a, O> {
    settings: &'a InstantSettings,
    file: File,
    cache: &'a mut PageCache,
    learned: &'a mut Learned,
    observer: &'a mut O,
}

impl<O: InstantObserver> View<'_, O> {
    fn read_alone(&mut self, page: u64) {
        self.start(&Window {
            start: page,
            pages: 1,
            class: Class::Single,
            ..Window::default()
        });
    }
}

impl<O: InstantObserver> Host for View<'_, O> {
    fn file_bytes(&self) -> u64 {
        self.file.bytes
    }

    #[inline]
    fn state(&self, page: u64) -> PageState {
        self.cache.state(self.file.id, page)
    }

    fn start(&mut self, window: &Window) -> u64 {
        let end_of_file = self.file.bytes.div_ceil(PAGE_BYTES);
        let end = window.start.saturating_add(window.pages).min(end_of_file);
        // Complete I/O does not keep a page in memory, so a large run must not enter at once.
        let piece = (self.settings.cache.memory_pages / 2).max(1 << window.order);
        let mut from = window.start;
        let mut started = 0;
        while let Some((start, pages)) = self.cache.next_absent_run(self.file.id, from, end) {
            if started == 0 {
                self.observer.on_window(self.file.id, window);
            }
            let pages = pages.min(piece);
            let run = Window {
                start,
                pages,
                ..*window
            };
            self.cache
                .insert_valid(self.file.id, &run, &mut *self.observer);
            self.observer.on_run(self.file.id, start, pages);
            started += pages;
            from = start + pages;
        }
        started
    }

    fn folio(&self, page: u64) -> (u64, u64) {
        self.cache.folio(self.file.id, page)
    }

    #[inline]
    fn is_marked(&self, page: u64) -> bool {
        self.cache.is_marked(self.file.id, page)
    }

    fn clear_mark(&mut self, page: u64) {
        self.cache.clear_mark(self.file.id, page);
    }

    fn set_mark(&mut self, page: u64) {
        self.cache.set_mark(self.file.id, page);
    }

    fn first_absent(&self, from: u64, pages: u64) -> Option<u64> {
        self.cache.first_absent(self.file.id, from, pages)
    }

    fn first_present(&self, from: u64, pages: u64) -> Option<u64> {
        self.cache.first_present(self.file.id, from, pages)
    }

    fn last_absent(&self, from: u64, pages: u64) -> Option<u64> {
        self.cache.last_absent(self.file.id, from, pages)
    }

    fn io_pages(&self) -> u64 {
        self.settings.io_pages
    }

    fn folio_order_max(&self) -> u8 {
        self.settings.folio_order_max
    }

    fn reclaimable_pages(&self) -> u64 {
        self.cache.reclaimable_pages()
    }

    fn aging_clock(&self) -> u64 {
        self.cache.aging_clock()
    }

    fn is_active(&self, page: u64) -> bool {
        self.cache.is_active(self.file.id, page)
    }

    fn is_referenced(&self, page: u64) -> bool {
        self.cache.is_referenced(self.file.id, page)
    }

    fn rescue(&mut self, page: u64) {
        self.cache.rescue(self.file.id, page);
    }

    fn learned(&mut self) -> &mut Learned {
        self.learned
    }

    fn on_call(&mut self, call: Call) {
        self.observer.on_call(self.file.id, &call);
    }
}
