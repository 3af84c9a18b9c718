//! A pattern carried out by the replica over the simulator's page cache, and what it did, operation
//! by operation.
//!
//! Which touches become faults is decided in [`faults`](super::faults).

use ahead_replicas::instant::{Handle, Instant, InstantObserver, InstantSettings};
use ahead_replicas::kernel::folio::{Folio, FolioRelease};
use ahead_replicas::kernel::{Advice, Call, Fault, PageState, Read, Window};
use ahead_replicas::page_cache::{Aging, CacheObserver, CacheSettings, FileId, Limit, Replacement};

use super::event::Event;
use super::faults::{Area, CachedFolio};
use super::pattern::{Operation, PAGE, Pattern, Protection};

/// What of the machine has a say in it.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Whose rules.
    pub release: FolioRelease,
    /// log2 of the pages of the largest folio of the file system.
    pub folio_order_max: u8,
}

/// Carries `pattern` out; `area_address_pages` as the kernel placed its areas.
pub fn run(facts: &Facts, pattern: &Pattern, area_address_pages: &[u64]) -> Vec<Vec<Event>> {
    let settings = InstantSettings {
        // More than any pattern reads: nothing is evicted that the pattern does not evict.
        cache: CacheSettings {
            memory_pages: 1 << 20,
            replacement: Replacement::default(),
            aging: Aging::default(),
            limit: Limit::Machine,
        },
        io_pages: pattern.max_sectors_kb / 4,
        folio_order_max: facts.folio_order_max,
    };
    let mut simulator = Instant::new(&settings, Log::default());
    let file = simulator.add_file(pattern.file_bytes);
    let mut program = Program {
        release: facts.release,
        simulator,
        file,
        file_bytes: pattern.file_bytes,
        device_pages: pattern.read_ahead_kb / 4,
        handles: Vec::new(),
        areas: Vec::new(),
    };
    let mut addresses = area_address_pages.iter().copied();
    let carried_out = pattern.operations.iter().map(|operation| {
        program.call(operation, &mut addresses);
        std::mem::take(&mut program.simulator.observer_mut().events)
    });
    carried_out.collect()
}

/// Writes down what the replica does.
#[derive(Debug, Default)]
struct Log {
    events: Vec<Event>,
    /// Of the window whose pages come in now.
    order: u8,
}

impl CacheObserver for Log {}

impl InstantObserver for Log {
    fn on_window(&mut self, _file: FileId, window: &Window) {
        self.order = window.order;
    }

    fn on_run(&mut self, _file: FileId, start: u64, pages: u64) {
        let order = self.order;
        let folios = (start..start + pages).step_by(1 << order);
        self.events
            .extend(folios.map(|index| Event::Added { index, order }));
    }

    fn on_call(&mut self, _file: FileId, call: &Call) {
        self.events.push(Event::Call(*call));
    }
}

/// A mapped area with what it was told, and the descriptor it was mapped through.
struct MappedArea {
    area: Area,
    handle: Handle,
    advice: Advice,
    is_executable: bool,
    is_huge: bool,
}

struct Program {
    release: FolioRelease,
    simulator: Instant<Folio, Log>,
    file: FileId,
    file_bytes: u64,
    device_pages: u64,
    handles: Vec<Handle>,
    areas: Vec<MappedArea>,
}

impl Program {
    fn call(&mut self, operation: &Operation, addresses: &mut impl Iterator<Item = u64>) {
        match operation {
            Operation::Open => {
                let state = Folio::new(self.release, self.device_pages);
                self.handles.push(self.simulator.open(self.file, state));
            }
            &Operation::Read {
                file,
                offset,
                bytes,
            } => {
                let read = Read {
                    start: offset,
                    end: offset + bytes,
                };
                self.simulator.read(self.handles[file], &read);
            }
            Operation::Map {
                file,
                pages,
                protection,
            } => {
                let address = addresses.next().expect("an address for each area");
                let file_pages = self.file_bytes.div_ceil(PAGE);
                self.areas.push(MappedArea {
                    area: Area::new(pages.clone(), file_pages, address),
                    handle: self.handles[*file],
                    advice: Advice::Normal,
                    is_executable: *protection == Protection::ReadExecute,
                    is_huge: false,
                });
            }
            &Operation::Touch { area, page } => self.touch(area, page),
            &Operation::Write { area, page } => self.write(area, page),
            &Operation::AdviseArea { area, advice } => self.areas[area].advice = advice,
            &Operation::AdviseAreaHuge { area } => self.areas[area].is_huge = true,
            Operation::WillNeedArea { area, pages } => {
                let handle = self.areas[*area].handle;
                let count = pages.end - pages.start;
                self.simulator.will_need(handle, pages.start, count);
            }
            &Operation::Advise { file, advice } => {
                self.simulator.advise(self.handles[file], advice);
            }
            &Operation::WillNeed {
                file,
                offset,
                bytes,
            }
            | &Operation::ReadAhead {
                file,
                offset,
                bytes,
            } => {
                // Length 0 reaches to the end; parts of pages count.
                let last_byte = match bytes {
                    0 => u64::MAX >> 1,
                    _ => offset + bytes - 1,
                };
                let start = offset / PAGE;
                let pages = last_byte / PAGE - start + 1;
                self.simulator.will_need(self.handles[file], start, pages);
            }
            Operation::Evict { pages } => self.evict(pages.start, pages.end),
            &Operation::SetReadAheadKb(kib) => {
                self.device_pages = kib / 4;
                for &handle in &self.handles {
                    let state = self.simulator.algorithm_mut(handle);
                    state.set_device_pages(self.device_pages);
                }
            }
        }
    }

    fn touch(&mut self, number: usize, page: u64) {
        if self.areas[number].area.is_mapped(page) || self.map_around(number, page) {
            return;
        }
        self.fault(number, page);
        if !self.map_around(number, page) {
            let folio = self.cached_folio(page).expect("just read");
            self.areas[number].area.map_folio(page, &folio);
        }
    }

    /// A write needs a page of its own: nothing is mapped around it. Who found a mark begins again, as
    /// if for the first time; who had to wait for the page is known to have been here.
    fn write(&mut self, number: usize, page: u64) {
        if !self.areas[number].area.is_mapped(page) {
            let had_mark = self.has_mark(page);
            self.fault(number, page);
            if had_mark && !self.has_mark(page) {
                self.fault(number, page);
            }
        }
        self.areas[number].area.map_copy(page);
    }

    fn fault(&mut self, number: usize, page: u64) {
        let mapped = &self.areas[number];
        let fault = Fault {
            page,
            area_start: mapped.area.pages.start,
            area_end: mapped.area.pages.end,
            advice: mapped.advice,
            executable: mapped.is_executable,
            huge: mapped.is_huge,
        };
        self.simulator.fault(mapped.handle, &fault);
    }

    /// Maps what is cached around `page`; whether that page now is.
    fn map_around(&mut self, number: usize, page: u64) -> bool {
        let (simulator, file) = (&self.simulator, self.file);
        let mapped = &mut self.areas[number];
        let seen = mapped
            .area
            .map_around(page, |page| cached_folio(simulator, file, page));
        self.simulator.map_neighbours(mapped.handle, seen);
        mapped.area.is_mapped(page)
    }

    fn cached_folio(&self, page: u64) -> Option<CachedFolio> {
        cached_folio(&self.simulator, self.file, page)
    }

    fn has_mark(&self, page: u64) -> bool {
        self.cached_folio(page).is_some_and(|folio| folio.is_marked)
    }

    /// Folios wholly inside go, unless they are mapped.
    fn evict(&mut self, start: u64, end: u64) {
        let mut page = start;
        while page < end {
            let Some(folio) = self.cached_folio(page) else {
                page += 1;
                continue;
            };
            page = folio.end;
            let pages = folio.start..folio.end;
            let is_inside = pages.start >= start && pages.end <= end;
            let mut areas = self.areas.iter();
            if !is_inside || areas.any(|mapped| mapped.area.holds_any(pages.clone())) {
                continue;
            }
            let count = pages.end - pages.start;
            self.simulator.evict(self.file, pages.start, count);
            let removed = Event::Removed {
                index: pages.start,
                order: u8::try_from(count.ilog2()).expect("fits"),
            };
            self.simulator.observer_mut().events.push(removed);
        }
    }
}

fn cached_folio(simulator: &Instant<Folio, Log>, file: FileId, page: u64) -> Option<CachedFolio> {
    let cache = simulator.cache();
    (cache.state(file, page) != PageState::Absent).then(|| {
        let (start, end) = cache.folio(file, page);
        CachedFolio {
            start,
            end,
            is_marked: cache.is_marked(file, page),
        }
    })
}
