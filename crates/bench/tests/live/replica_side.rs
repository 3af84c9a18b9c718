//! A pattern carried out by the replica, and what it did, operation by operation.
//!
//! The page cache here is the plainest possible: folios by their first page, I/O over at once.

use std::collections::BTreeMap;

use ahead_policy::kernel::folio::{Folio, Release};
use ahead_policy::kernel::{
    Advice, Call, Fault, Host, Learned, PageState, Read, ReadAhead, Window,
};

use super::event::Event;
use super::faults::{Area, CachedFolio};
use super::pattern::{Operation, PAGE, Pattern};

/// What of the machine has a say in it.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Whose rules.
    pub release: Release,
    /// Largest request of the device, in pages.
    pub io_pages: u64,
    /// log2 of the pages of the largest folio of the file system.
    pub folio_order_max: u8,
}

/// Carries `pattern` out; `area_address_pages` as the kernel placed its areas.
pub fn run(facts: &Facts, pattern: &Pattern, area_address_pages: &[u64]) -> Vec<Vec<Event>> {
    let mut program = Program {
        release: facts.release,
        cache: Cache {
            io_pages: facts.io_pages,
            folio_order_max: facts.folio_order_max,
            file_bytes: pattern.file_bytes,
            folios: BTreeMap::new(),
            learned: Learned::default(),
            events: Vec::new(),
        },
        device_pages: pattern.read_ahead_kb / 4,
        files: Vec::new(),
        areas: Vec::new(),
    };
    let mut addresses = area_address_pages.iter().copied();
    let carried_out = pattern.operations.iter().map(|operation| {
        program.call(operation, &mut addresses);
        std::mem::take(&mut program.cache.events)
    });
    carried_out.collect()
}

#[derive(Debug)]
struct Resident {
    order: u8,
    is_marked: bool,
}

/// The pages of one file.
struct Cache {
    io_pages: u64,
    folio_order_max: u8,
    file_bytes: u64,
    folios: BTreeMap<u64, Resident>,
    learned: Learned,
    events: Vec<Event>,
}

impl Cache {
    fn file_pages(&self) -> u64 {
        self.file_bytes.div_ceil(PAGE)
    }

    fn resident(&self, page: u64) -> Option<CachedFolio> {
        let (&start, folio) = self.folios.range(..=page).next_back()?;
        let end = start + (1 << folio.order);
        (page < end).then_some(CachedFolio {
            start,
            end,
            is_marked: folio.is_marked,
        })
    }

    fn mark(&mut self, page: u64, is_marked: bool) {
        let folio = self.resident(page).expect("only cached folios are marked");
        let resident = self.folios.get_mut(&folio.start).expect("just found");
        resident.is_marked = is_marked;
    }

    fn add(&mut self, index: u64, order: u8, is_marked: bool) {
        self.folios.insert(index, Resident { order, is_marked });
        self.events.push(Event::Added { index, order });
    }

    /// The page that nobody brought, alone.
    fn add_missing(&mut self, page: u64) -> bool {
        let is_missing = self.resident(page).is_none();
        if is_missing {
            self.add(page, 0, false);
        }
        is_missing
    }
}

impl Host for Cache {
    fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    fn state(&self, page: u64) -> PageState {
        self.resident(page)
            .map_or(PageState::Absent, |_| PageState::Valid)
    }

    fn start(&mut self, window: &Window) -> u64 {
        if window.order > 0 {
            let pages = 1 << window.order;
            assert_eq!(window.pages, pages, "one folio at a time");
            assert!(window.start.is_multiple_of(pages), "folios are aligned");
            assert!(self.first_present(window.start, pages).is_none());
            self.add(window.start, window.order, window.mark.is_some());
            return pages;
        }
        let end = (window.start + window.pages).min(self.file_pages());
        let mut started = 0;
        for page in window.start..end {
            if self.resident(page).is_none() {
                self.add(page, 0, window.mark == Some(page));
                started += 1;
            }
        }
        started
    }

    fn folio(&self, page: u64) -> (u64, u64) {
        self.resident(page)
            .map_or((page, page + 1), |folio| (folio.start, folio.end))
    }

    fn is_marked(&self, page: u64) -> bool {
        self.resident(page).is_some_and(|folio| folio.is_marked)
    }

    fn clear_mark(&mut self, page: u64) {
        self.mark(page, false);
    }

    fn set_mark(&mut self, page: u64) {
        self.mark(page, true);
    }

    fn io_pages(&self) -> u64 {
        self.io_pages
    }

    fn folio_order_max(&self) -> u8 {
        self.folio_order_max
    }

    fn reclaimable_pages(&self) -> u64 {
        u64::MAX
    }

    fn learned(&mut self) -> &mut Learned {
        &mut self.learned
    }

    fn on_call(&mut self, call: Call) {
        self.events.push(Event::Call(call));
    }
}

/// A mapped area with what it was told, and the descriptor it was mapped through.
struct MappedArea {
    area: Area,
    file: usize,
    advice: Advice,
    is_executable: bool,
}

struct Program {
    release: Release,
    cache: Cache,
    device_pages: u64,
    files: Vec<Folio>,
    areas: Vec<MappedArea>,
}

impl Program {
    fn call(&mut self, operation: &Operation, addresses: &mut impl Iterator<Item = u64>) {
        match operation {
            Operation::Open => self.files.push(Folio::new(self.release, self.device_pages)),
            &Operation::Read {
                file,
                offset,
                bytes,
            } => self.read(file, offset, bytes),
            Operation::Map {
                file,
                pages,
                executable,
            } => {
                let address = addresses.next().expect("an address for each area");
                self.areas.push(MappedArea {
                    area: Area::new(pages.clone(), self.cache.file_pages(), address),
                    file: *file,
                    advice: Advice::Normal,
                    is_executable: *executable,
                });
            }
            &Operation::Touch { area, page } => self.touch(area, page),
            &Operation::AdviseArea { area, advice } => self.areas[area].advice = advice,
            Operation::WillNeedArea { area, pages } => {
                let file = &mut self.files[self.areas[*area].file];
                file.on_will_need(&mut self.cache, pages.start, pages.end - pages.start);
            }
            &Operation::Advise { file, advice } => self.files[file].on_advice(advice),
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
                self.files[file].on_will_need(&mut self.cache, start, last_byte / PAGE - start + 1);
            }
            Operation::Evict { pages } => self.evict(pages.start, pages.end),
            &Operation::SetReadAheadKb(kib) => {
                self.device_pages = kib / 4;
                for file in &mut self.files {
                    file.set_device_pages(self.device_pages);
                }
            }
        }
    }

    fn read(&mut self, file: usize, offset: u64, bytes: u64) {
        // The kernel looks at the position before it looks at any page.
        if bytes == 0 || offset >= self.cache.file_bytes {
            return;
        }
        let read = Read {
            start: offset,
            end: offset + bytes,
        };
        let state = &mut self.files[file];
        let end_page = read.end_page().min(self.cache.file_pages());
        state.on_read(&mut self.cache, &read);
        for page in read.first_page()..end_page {
            state.on_page(&mut self.cache, &read, page);
            if self.cache.add_missing(page) {
                state.on_missing(&mut self.cache, page);
            }
        }
        let end = read.end.min(self.cache.file_bytes).max(read.start);
        state.on_read_done(&mut self.cache, &read, end);
    }

    fn touch(&mut self, number: usize, page: u64) {
        if self.areas[number].area.is_mapped(page) || self.map_around(number, page) {
            return;
        }
        let mapped = &self.areas[number];
        let fault = Fault {
            page,
            area_start: mapped.area.pages.start,
            area_end: mapped.area.pages.end,
            advice: mapped.advice,
            executable: mapped.is_executable,
            ..Fault::default()
        };
        let state = &mut self.files[mapped.file];
        state.on_fault(&mut self.cache, &fault);
        if self.cache.add_missing(page) {
            state.on_missing(&mut self.cache, page);
        }
        if !self.map_around(number, page) {
            let folio = self.cache.resident(page).expect("just read");
            self.areas[number].area.map_folio(page, &folio);
        }
    }

    /// Maps what is cached around `page`; whether that page now is.
    fn map_around(&mut self, number: usize, page: u64) -> bool {
        let mapped = &mut self.areas[number];
        let seen = mapped
            .area
            .map_around(page, |page| self.cache.resident(page));
        self.files[mapped.file].on_neighbours_mapped(seen);
        mapped.area.is_mapped(page)
    }

    /// Folios wholly inside go, unless they are mapped.
    fn evict(&mut self, start: u64, end: u64) {
        let inside: Vec<_> = self
            .cache
            .folios
            .range(start..end)
            .map(|(&index, folio)| (index, folio.order))
            .collect();
        for (index, order) in inside {
            let pages = index..index + (1 << order);
            let is_mapped = self
                .areas
                .iter()
                .any(|mapped| mapped.area.maps_any(pages.clone()));
            if pages.end <= end && !is_mapped {
                self.cache.folios.remove(&index);
                self.cache.events.push(Event::Removed { index, order });
            }
        }
    }
}
