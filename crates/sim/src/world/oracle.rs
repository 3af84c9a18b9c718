//! The ceiling: a reader's helper that knows what will be read, under the same memory.
//!
//! It has its own copy of every program and runs ahead in it. With that future it does three
//! things, and never lets the kernel read ahead on its own:
//!
//! * **Fetch in the order of need, in the order of the disk.** When less than half of a program's
//!   window is in memory or on its way, it takes what the program reads next, up to the window
//!   (or the program's share of memory), and starts it sorted by place. A hole is read through where that costs the disk less than a
//!   second request.
//! * **Keep what is needed soonest.** A page that will not be read again leaves when its reader is
//!   done with it. When memory is full the page that is needed last makes room (Belady), and
//!   never for one that is needed later still: then fetching stops.
//! * **Fetch nothing twice**, as long as the future is known: it looks two memories ahead, and
//!   takes what comes after that for never.
//!
//! Of several programs each is believed to go on as fast as the others. It costs no processor
//! time. It is not a proof of optimality: a disk may like another order better. It is a ceiling
//! in the sense that nobody without its knowledge should come out above it.

use std::collections::{BTreeSet, HashMap, VecDeque};

use ahead_disks::{Completion, Disk, DiskModel, Request, TimeScale};
use ahead_policy::kernel::{Class, PageState, Window};
use ahead_policy::units::{ByteLength, ByteOffset, PAGE_BYTES, Timestamp};

use super::kernel::Kernel;
use super::machine::Machine;
use super::observer::{Moment, Observer, Started};
use super::program::{Job, Process, Program, Step};
use super::task::at;
use crate::cache::FileId;
use crate::queue::PageRun;

/// What the oracle may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OracleSettings {
    /// Pages that it has in memory or on their way for one program, before they are read.
    pub window_pages: u64,
    /// How it goes about it.
    pub style: OracleStyle,
}

impl Default for OracleSettings {
    /// 128 MiB, the horizon of the bench's reader that knows its future; the best style.
    fn default() -> Self {
        Self {
            window_pages: 32_768,
            style: OracleStyle::Best,
        }
    }
}

/// How the oracle asks. Knowing the future is not knowing which order a disk likes best, so there
/// is more than one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OracleStyle {
    /// A run with each of the others; the fastest counts. A single world takes the first.
    #[default]
    Best,
    /// Programs share memory; windows are asked for whole.
    Shared,
    /// Programs share memory; windows begin with 128 KiB and double, so that the first pages need
    /// not wait for the last.
    SharedSlowly,
    /// The first program in need may take all memory; windows are asked for whole.
    Greedy,
    /// The first program in need may take all memory; windows begin with 128 KiB and double.
    GreedySlowly,
    /// Never more than 128 KiB at a time: for readers that take their time.
    Steady,
}

impl OracleStyle {
    /// All but [`Best`](Self::Best).
    pub const ALL: [Self; 5] = [
        Self::Shared,
        Self::SharedSlowly,
        Self::Greedy,
        Self::GreedySlowly,
        Self::Steady,
    ];

    const fn is_greedy(self) -> bool {
        matches!(self, Self::Greedy | Self::GreedySlowly)
    }

    const fn first_pages(self) -> u64 {
        match self {
            Self::SharedSlowly | Self::GreedySlowly | Self::Steady => 32,
            Self::Best | Self::Shared | Self::Greedy => u64::MAX,
        }
    }
}

/// Whether a step belongs to the future that the oracle follows.
pub(super) fn is_of_interest(step: &Step) -> bool {
    matches!(
        step,
        Step::Read { .. } | Step::Touch { .. } | Step::DontNeed { .. } | Step::DropCaches
    )
}

/// Something of a program's future.
#[derive(Clone, Copy, Debug)]
struct Item {
    file: u32,
    start: u64,
    /// 0: nothing is read, and pages fetched before this would be lost in it.
    pages: u64,
    /// Pages read before this, in the program.
    position: u64,
}

/// One program, known up to a horizon.
struct Crew {
    program: Box<dyn Program>,
    slots: Vec<u32>,
    areas: Vec<u32>,
    /// What comes; the front is next.
    items: VecDeque<Item>,
    /// How many of them have been fetched.
    fetched: usize,
    /// Pages in `items`, and in the fetched part of it.
    known_pages: u64,
    fetched_pages: u64,
    /// How much it fetches now; grows to the window.
    batch_pages: u64,
    position: u64,
    is_at_end: bool,
}

type PageName = (u32, u64);

/// The oracle of a world.
pub(crate) struct Oracle {
    window_pages: u64,
    memory_pages: u64,
    pricing: Pricing,
    file_pages: Vec<u64>,
    crews: Vec<Crew>,
    /// When each page is read, soonest first.
    uses: HashMap<PageName, Vec<u64>>,
    /// Pages in memory that will be read, by when.
    kept: BTreeSet<(u64, PageName)>,
    /// Pages that a task is reading: they cannot leave.
    delivered: Vec<Vec<PageName>>,
    /// Pages of holes, to be dropped when they have come.
    rubbish: VecDeque<PageName>,
    unsubmitted: VecDeque<PageRun>,
    /// In memory from the beginning.
    cached: Vec<(u32, u64, u64)>,
}

impl Oracle {
    pub(super) fn new(settings: &OracleSettings, machine: &Machine, job: &Job) -> Self {
        let mut crews: Vec<_> = job.processes.iter().flat_map(crews_of).collect();
        let sharers = if settings.style.is_greedy() {
            1
        } else {
            u64::try_from(crews.len().max(1)).unwrap_or(1)
        };
        let share = machine.memory_pages / sharers;
        let mut window_pages = settings.window_pages.min(share).max(1);
        if settings.style == OracleStyle::Steady {
            window_pages = window_pages.min(settings.style.first_pages());
        }
        let pages = |spec: &super::FileSpec| spec.bytes.div_ceil(PAGE_BYTES);
        for crew in &mut crews {
            crew.batch_pages = settings.style.first_pages().min(window_pages);
        }
        Self {
            window_pages,
            memory_pages: machine.memory_pages,
            pricing: Pricing::of(&machine.disk, machine.capacity),
            file_pages: job.files.iter().map(pages).collect(),
            crews,
            uses: HashMap::new(),
            kept: BTreeSet::new(),
            delivered: Vec::new(),
            rubbish: VecDeque::new(),
            unsubmitted: VecDeque::new(),
            cached: job.cached.clone(),
        }
    }

    /// A task of `crew` takes its next step of interest.
    pub(super) fn on_step<O: Observer>(
        &mut self,
        task: u32,
        crew: u32,
        kernel: &mut Kernel<O>,
        now_ns: u64,
    ) {
        if self.delivered.len() <= at(task) {
            self.delivered.resize(at(task) + 1, Vec::new());
        }
        self.learn(at(crew));
        for page in std::mem::take(&mut self.delivered[at(task)]) {
            match self.uses.get(&page).and_then(|uses| uses.first()) {
                Some(first) => {
                    self.kept.insert((*first, page));
                }
                None => kernel.forget(now_ns, FileId(page.0), page.1, 1),
            }
        }
        if !self.cached.is_empty() {
            self.take_over_cached(kernel, now_ns);
        }
        if self.crews[at(crew)].fetched == 0 {
            self.fetch(at(crew), kernel, now_ns);
        }
        let known = &mut self.crews[at(crew)];
        let Some(item) = known.items.pop_front() else {
            return;
        };
        known.known_pages -= item.pages;
        if known.fetched > 0 {
            known.fetched -= 1;
            known.fetched_pages -= item.pages;
        }
        for step in 0..item.pages {
            let page = (item.file, item.start + step);
            self.note_use(task, page, item.position + step);
        }
        self.pump(kernel, now_ns);
    }

    /// Fetches for whoever has less than half a window.
    pub(super) fn pump<O: Observer>(&mut self, kernel: &mut Kernel<O>, now_ns: u64) {
        while let Some(&(file, page)) = self.rubbish.front() {
            if kernel.cache.state(FileId(file), page) == PageState::InFlight {
                break;
            }
            self.rubbish.pop_front();
            if !self.uses.contains_key(&(file, page)) {
                kernel.forget(now_ns, FileId(file), page, 1);
            }
        }
        if !kernel.resubmit(now_ns, &mut self.unsubmitted) {
            return;
        }
        for crew in 0..self.crews.len() {
            if self.crews[crew].fetched_pages <= self.crews[crew].batch_pages / 2 {
                self.learn(crew);
                self.fetch(crew, kernel, now_ns);
            }
        }
    }

    /// The page is being read at `position`.
    fn note_use(&mut self, task: u32, page: PageName, position: u64) {
        if let Some(uses) = self.uses.get_mut(&page) {
            if let Some(first) = uses.first() {
                self.kept.remove(&(*first, page));
            }
            if let Ok(place) = uses.binary_search(&position) {
                uses.remove(place);
            }
            if uses.is_empty() {
                self.uses.remove(&page);
            }
        }
        self.delivered[at(task)].push(page);
    }

    /// Runs ahead in a program until two memories are known.
    fn learn(&mut self, crew: usize) {
        let known = &mut self.crews[crew];
        let enough = self.memory_pages.saturating_mul(2).max(self.window_pages);
        while known.known_pages < enough && !known.is_at_end {
            let Some(item) = known.next_item(&self.file_pages) else {
                known.is_at_end = true;
                break;
            };
            known.items.push_back(item);
            known.known_pages += item.pages;
            for step in 0..item.pages {
                let page = (item.file, item.start + step);
                let position = item.position + step;
                let uses = self.uses.entry(page).or_default();
                let first = uses.first().copied();
                let place = uses.partition_point(|known| *known <= position);
                uses.insert(place, position);
                if place == 0
                    && let Some(first) = first
                    && self.kept.remove(&(first, page))
                {
                    self.kept.insert((position, page));
                }
            }
        }
    }

    /// Pages that were in memory when the clock started are kept for their use, or leave.
    fn take_over_cached<O: Observer>(&mut self, kernel: &mut Kernel<O>, now_ns: u64) {
        for crew in 0..self.crews.len() {
            self.learn(crew);
        }
        for (file, start, pages) in std::mem::take(&mut self.cached) {
            for page in start..start + pages {
                let name = (file, page);
                if kernel.cache.state(FileId(file), page) != PageState::Valid {
                    continue;
                }
                match self.uses.get(&name).and_then(|uses| uses.first()) {
                    Some(first) => {
                        self.kept.insert((*first, name));
                    }
                    None => kernel.forget(now_ns, FileId(file), page, 1),
                }
            }
        }
    }

    /// Starts what a program reads next, up to its window, sorted by place.
    fn fetch<O: Observer>(&mut self, crew: usize, kernel: &mut Kernel<O>, now_ns: u64) {
        let mut wanted: Vec<(u64, PageName)> = Vec::new();
        let batch_pages = self.crews[crew].batch_pages;
        self.crews[crew].batch_pages = batch_pages.saturating_mul(2).min(self.window_pages);
        let mut room = self.memory_pages.saturating_sub(kernel.cache.resident_pages());
        while let Some(item) = self.crews[crew].items.get(self.crews[crew].fetched).copied() {
            if self.crews[crew].fetched_pages >= batch_pages {
                break;
            }
            if item.pages == 0 && self.crews[crew].fetched > 0 {
                break;
            }
            let mut is_full = false;
            for step in 0..item.pages {
                let page = (item.file, item.start + step);
                let (file, number) = (FileId(page.0), page.1);
                if kernel.cache.state(file, number) != PageState::Absent {
                    continue;
                }
                let position = item.position + step;
                if room == 0 && !self.make_room(position, kernel, now_ns) {
                    is_full = true;
                    break;
                }
                room = room.saturating_sub(1);
                wanted.push((kernel.files.disk_offset(file, number), page));
                if let Some(first) = self.uses.get(&page).and_then(|uses| uses.first()) {
                    self.kept.insert((*first, page));
                }
                // In the cache at once, so that a second use in the same batch finds it.
                kernel.put_in_flight(now_ns, file, &page_window(number));
            }
            if is_full {
                break;
            }
            let known = &mut self.crews[crew];
            known.fetched += 1;
            known.fetched_pages += item.pages;
        }
        self.start(wanted, room, kernel, now_ns);
    }

    /// Lets the page go that is needed last, if that is after `position`.
    fn make_room<O: Observer>(
        &mut self,
        position: u64,
        kernel: &mut Kernel<O>,
        now_ns: u64,
    ) -> bool {
        while let Some(&(last, page)) = self.kept.last() {
            let (file, number) = (FileId(page.0), page.1);
            match kernel.cache.state(file, number) {
                PageState::Absent => {
                    self.kept.pop_last();
                }
                PageState::Valid if last > position => {
                    self.kept.pop_last();
                    kernel.forget(now_ns, file, number, 1);
                    return true;
                }
                PageState::Valid | PageState::InFlight | PageState::Stale => return false,
            }
        }
        false
    }

    /// Submits pages that are in flight already, sorted by place, through holes where it pays.
    fn start<O: Observer>(
        &mut self,
        mut wanted: Vec<(u64, PageName)>,
        mut room: u64,
        kernel: &mut Kernel<O>,
        now_ns: u64,
    ) {
        wanted.sort_unstable();
        let mut run: Option<PageRun> = None;
        for (offset, (file, page)) in wanted {
            if let Some(last) = &mut run
                && last.file == FileId(file)
                && last.start + last.pages <= page
            {
                let hole = page - last.start - last.pages;
                let end = last.disk_offset + last.pages * PAGE_BYTES;
                if end + hole * PAGE_BYTES == offset
                    && hole <= room
                    && self.pricing.is_worth_it(last.pages, hole)
                    && self.fill(last, hole, kernel, now_ns)
                {
                    room -= hole;
                    last.pages += hole + 1;
                    continue;
                }
            }
            let next = PageRun {
                file: FileId(file),
                start: page,
                pages: 1,
                disk_offset: offset,
            };
            if let Some(last) = run.replace(next) {
                self.submit(last, kernel, now_ns);
            }
        }
        if let Some(last) = run {
            self.submit(last, kernel, now_ns);
        }
    }

    fn submit<O: Observer>(&mut self, run: PageRun, kernel: &mut Kernel<O>, now_ns: u64) {
        kernel.submit(now_ns, run, &mut self.unsubmitted);
        let moment = Moment {
            now_ns,
            task: 0,
            process: 0,
            file: run.file,
        };
        let end = run.start + run.pages;
        let started = Started {
            start: run.start,
            pages: run.pages,
            io_pages: run.pages,
            async_pages: run.pages,
            class: Class::Advice,
            is_asynchronous: true,
            at_end_of_file: end >= kernel.files.pages(run.file),
        };
        kernel.observer.on_started(&moment, &started);
    }

    /// Takes the pages of a hole behind `run` along; not possible when one of them is there.
    fn fill<O: Observer>(
        &mut self,
        run: &PageRun,
        hole: u64,
        kernel: &mut Kernel<O>,
        now_ns: u64,
    ) -> bool {
        let (start, end) = (run.start + run.pages, run.start + run.pages + hole);
        if hole == 0 {
            return true;
        }
        if kernel.cache.first_present(run.file, start, hole).is_some() {
            return false;
        }
        for page in start..end {
            kernel.put_in_flight(now_ns, run.file, &page_window(page));
            let name = (run.file.0, page);
            // Somebody may read it later; then it was no hole.
            match self.uses.get(&name).and_then(|uses| uses.first()) {
                Some(first) => {
                    self.kept.insert((*first, name));
                }
                None => self.rubbish.push_back(name),
            }
        }
        true
    }
}

fn page_window(page: u64) -> Window {
    Window {
        start: page,
        pages: 1,
        class: Class::Advice,
        ..Window::default()
    }
}

fn crews_of(process: &Process) -> impl Iterator<Item = Crew> {
    process.crews.iter().map(|crew| Crew {
        program: crew.program.fork(),
        slots: process.open.clone(),
        areas: Vec::new(),
        items: VecDeque::new(),
        fetched: 0,
        known_pages: 0,
        fetched_pages: 0,
        batch_pages: u64::MAX,
        position: 0,
        is_at_end: false,
    })
}

impl Crew {
    /// The next thing of interest that the program will do.
    fn next_item(&mut self, file_pages: &[u64]) -> Option<Item> {
        loop {
            let (file, start, end) = match self.program.step()? {
                Step::Open { slot, file } => {
                    put(&mut self.slots, slot, file);
                    continue;
                }
                Step::Map { area, slot, .. } => {
                    let file = self.slots.get(at(slot)).copied().unwrap_or(0);
                    put(&mut self.areas, area, file);
                    continue;
                }
                Step::Read {
                    slot,
                    offset,
                    length,
                } => {
                    let file = self.slots.get(at(slot)).copied().unwrap_or(0);
                    let end = offset.saturating_add(length).div_ceil(PAGE_BYTES);
                    (file, offset / PAGE_BYTES, end)
                }
                Step::Touch { area, page, pages } => {
                    let file = self.areas.get(at(area)).copied().unwrap_or(0);
                    (file, page, page.saturating_add(pages))
                }
                step if is_of_interest(&step) => (0, 0, 0),
                _ => continue,
            };
            let end = end.min(file_pages.get(at(file)).copied().unwrap_or(0));
            let item = Item {
                file,
                start,
                pages: end.saturating_sub(start),
                position: self.position,
            };
            self.position += item.pages.max(1);
            return Some(item);
        }
    }
}

fn put(table: &mut Vec<u32>, place: u32, value: u32) {
    if table.len() <= at(place) {
        table.resize(at(place) + 1, 0);
    }
    table[at(place)] = value;
}

/// What requests of different sizes cost this disk, when it has many of them to serve. Found by
/// trying.
struct Pricing {
    /// For 1, 2, 4 … pages.
    ns: Vec<u64>,
}

impl Pricing {
    /// Largest size tried: 1 MiB. Beyond, each further page costs what it costs up to there.
    const DOUBLINGS: u32 = 8;

    fn of(model: &DiskModel, capacity: ByteLength) -> Self {
        let ns = (0..=Self::DOUBLINGS).map(|doubling| price(model, capacity, 1 << doubling));
        Self { ns: ns.collect() }
    }

    /// The price of a request of `pages`, at least 1.
    fn request_ns(&self, pages: u64) -> u64 {
        let below = pages.max(1).ilog2().min(Self::DOUBLINGS - 1);
        let place = usize::try_from(below).unwrap_or(0);
        let (low, high) = (self.ns[place], self.ns[place + 1]);
        let beyond = pages - (1 << below);
        low + high.saturating_sub(low) * beyond / (1 << below)
    }

    /// Whether reading through a hole between a run of `pages` and one more page is no dearer than
    /// leaving it out.
    fn is_worth_it(&self, pages: u64, hole: u64) -> bool {
        self.request_ns(pages + hole + 1) <= self.request_ns(pages) + self.request_ns(1)
    }
}

/// Mean time of a request of `pages`, 16 of which come at once, 64 pages from each other.
fn price(model: &DiskModel, capacity: ByteLength, pages: u64) -> u64 {
    const REQUESTS: u64 = 16;
    const GAP_PAGES: u64 = 64;
    let mut disk = Disk::new(model, capacity, TimeScale::REAL);
    for id in 0..REQUESTS {
        let request = Request {
            id,
            offset: ByteOffset::new(id * (pages + GAP_PAGES) * PAGE_BYTES),
            length: ByteLength::new(pages * PAGE_BYTES),
        };
        disk.submit(Timestamp::new(0), request);
    }
    let mut done: Vec<Completion> = Vec::new();
    while let Some(due) = disk.next_event() {
        disk.advance(due, &mut done);
    }
    let last = done.iter().map(|done| done.completed_at.get()).max();
    last.unwrap_or(0) / REQUESTS
}
