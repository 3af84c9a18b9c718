//! The page cache again, as a person would write it down: folios in queues, pages in a map.
//!
//! It follows the prose of `cache` and `cache::reclaim` and shares no code with them.

use std::collections::{BTreeMap, VecDeque};

use ahead_replicas::kernel::{Class, PageState, Window};
use ahead_replicas::page_cache::{Aging, CacheSettings, Evicted, FileId, PageAccess, Replacement};

/// What is known of one page.
#[derive(Clone, Copy, Debug)]
struct Page {
    state: PageState,
    class: Class,
    is_used: bool,
}

/// A page from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) state: PageState,
    pub(crate) folio: (u64, u64),
    pub(crate) is_marked: bool,
    pub(crate) is_referenced: bool,
    pub(crate) is_active: bool,
}

/// What leaves together.
#[derive(Clone, Copy, Debug)]
struct Folio {
    file: FileId,
    start: u64,
    pages: u64,
    is_referenced: bool,
    is_frequent: bool,
    is_marked: bool,
}

impl Folio {
    fn holds(&self, file: FileId, page: u64) -> bool {
        self.file == file && (self.start..self.start + self.pages).contains(&page)
    }
}

/// Queues from old to young: inactive and active, or four generations, the oldest first.
#[derive(Debug)]
pub(crate) struct Naive {
    settings: CacheSettings,
    pages: BTreeMap<(FileId, u64), Page>,
    queues: Vec<VecDeque<Folio>>,
    clock: u64,
    /// What left, in order.
    pub(crate) evicted: Vec<Evicted>,
    pub(crate) dropped: Vec<Evicted>,
}

impl Naive {
    pub(crate) fn new(settings: &CacheSettings) -> Self {
        let queues = match settings.replacement {
            Replacement::TwoList => 2,
            Replacement::Generational => 4,
        };
        Self {
            settings: *settings,
            pages: BTreeMap::new(),
            queues: vec![VecDeque::new(); queues],
            clock: 0,
            evicted: Vec::new(),
            dropped: Vec::new(),
        }
    }

    pub(crate) fn state(&self, file: FileId, page: u64) -> PageState {
        let page = self.pages.get(&(file, page));
        page.map_or(PageState::Absent, |page| page.state)
    }

    fn position(&self, file: FileId, page: u64) -> Option<(usize, usize)> {
        self.queues.iter().enumerate().find_map(|(queue, folios)| {
            let place = folios.iter().position(|folio| folio.holds(file, page))?;
            Some((queue, place))
        })
    }

    fn folio_of(&mut self, file: FileId, page: u64) -> Option<&mut Folio> {
        let (queue, place) = self.position(file, page)?;
        Some(&mut self.queues[queue][place])
    }

    fn is_locked(&self, folio: &Folio) -> bool {
        (folio.start..folio.start + folio.pages)
            .any(|page| self.state(folio.file, page) == PageState::InFlight)
    }

    fn pages_on(&self, queue: usize) -> u64 {
        self.queues[queue].iter().map(|folio| folio.pages).sum()
    }

    pub(crate) fn insert(&mut self, file: FileId, window: &Window, state: PageState) -> u64 {
        let end = window.start + window.pages;
        let mut page = window.start;
        let mut inserted = 0;
        while page < end {
            if self.state(file, page) != PageState::Absent {
                page += 1;
                continue;
            }
            let run = (page..end)
                .take_while(|&page| self.state(file, page) == PageState::Absent)
                .count() as u64;
            self.make_room(run);
            let is_folio = window.order > 0
                && run == window.pages
                && run == 1 << window.order
                && page.is_multiple_of(run);
            let (folios, folio_pages) = if is_folio { (1, run) } else { (run, 1) };
            for start in (0..folios).map(|folio| page + folio * folio_pages) {
                let holds_mark = window
                    .mark
                    .is_some_and(|mark| (start..start + folio_pages).contains(&mark));
                let queue = match self.settings.replacement {
                    Replacement::Generational if window.class == Class::Around => 2,
                    _ => 0,
                };
                self.queues[queue].push_back(Folio {
                    file,
                    start,
                    pages: folio_pages,
                    is_referenced: false,
                    is_frequent: false,
                    is_marked: holds_mark,
                });
            }
            for page in page..page + run {
                let fresh = Page {
                    state,
                    class: window.class,
                    is_used: false,
                };
                self.pages.insert((file, page), fresh);
            }
            inserted += run;
            page += run;
        }
        inserted
    }

    fn make_room(&mut self, pages: u64) {
        let mut unlocked = self.resident() - self.in_flight();
        let mut kept = 0;
        let mut turns = 0;
        while self.resident() + pages > self.settings.memory_pages && unlocked > 0 {
            match self.settings.replacement {
                Replacement::TwoList => {
                    for _ in 0..32 {
                        if self.pages_on(0) >= self.pages_on(1) {
                            break;
                        }
                        let folio = self.queues[1].pop_front().unwrap();
                        self.queues[0].push_back(folio);
                        kept = 0;
                    }
                }
                Replacement::Generational => {
                    while self.queues[0].is_empty() {
                        self.queues.rotate_left(1);
                    }
                }
            }
            if kept >= self.queues[0].len() {
                let is_last = match self.settings.replacement {
                    Replacement::TwoList => self.queues[1].is_empty(),
                    Replacement::Generational => turns == 8,
                };
                if is_last {
                    return;
                }
                let moved = match self.settings.replacement {
                    Replacement::TwoList => std::mem::take(&mut self.queues[1]),
                    Replacement::Generational => {
                        let locked = std::mem::take(&mut self.queues[0]);
                        self.queues.rotate_left(1);
                        locked
                    }
                };
                self.queues[0].extend(moved);
                turns += 1;
                kept = 0;
                continue;
            }
            let mut folio = self.queues[0].pop_front().unwrap();
            if self.settings.aging == Aging::Scanned || !folio.is_referenced {
                self.clock += folio.pages;
            }
            if self.is_locked(&folio) {
                self.queues[0].push_back(folio);
                kept += 1;
            } else if folio.is_frequent {
                folio.is_referenced = false;
                folio.is_frequent = false;
                self.queues[1].push_back(folio);
            } else {
                let gone = self.take_pages(&folio);
                unlocked -= folio.pages;
                self.evicted.extend(gone);
            }
        }
    }

    fn take_pages(&mut self, folio: &Folio) -> Vec<Evicted> {
        let file = folio.file;
        (folio.start..folio.start + folio.pages)
            .map(|page| {
                let gone = self.pages.remove(&(file, page)).unwrap();
                Evicted {
                    file,
                    page,
                    class: gone.class,
                    was_used: gone.is_used,
                }
            })
            .collect()
    }

    pub(crate) fn access(&mut self, file: FileId, page: u64, previous: Option<u64>) -> PageAccess {
        let info = self.pages.get_mut(&(file, page)).unwrap();
        let access = PageAccess {
            first_use: !info.is_used,
            class: info.class,
            was_locked: info.state == PageState::InFlight,
        };
        info.is_used = true;
        let (queue, place) = self.position(file, page).unwrap();
        let folio = &mut self.queues[queue][place];
        if previous.is_some_and(|previous| folio.holds(file, previous)) {
            return access;
        }
        if !folio.is_referenced {
            folio.is_referenced = true;
            if self.settings.aging == Aging::FirstReferences {
                self.clock += 1;
            }
        } else if self.settings.replacement == Replacement::Generational {
            folio.is_frequent = true;
        } else if queue == 0 {
            let mut folio = self.queues[0].remove(place).unwrap();
            folio.is_referenced = false;
            self.queues[1].push_back(folio);
        }
        access
    }

    /// Moves pages of a run from one of the states to another.
    pub(crate) fn change(
        &mut self,
        file: FileId,
        start: u64,
        pages: u64,
        from: &[PageState],
        to: PageState,
    ) {
        for (_, page) in self
            .pages
            .range_mut((file, start)..(file, start + pages))
            .filter(|(_, page)| from.contains(&page.state))
        {
            page.state = to;
        }
    }

    pub(crate) fn forget(&mut self, file: FileId, start: u64, pages: u64) {
        let mut gone = Vec::new();
        let mut page = start;
        while page < start + pages {
            let (folio_start, folio_end) = self.folio(file, page);
            if let Some((queue, place)) = self.position(file, page)
                && folio_start >= start
                && folio_end <= start + pages
                && !self.is_locked(&self.queues[queue][place])
            {
                let folio = self.queues[queue].remove(place).unwrap();
                gone.extend(self.take_pages(&folio));
            }
            page = folio_end;
        }
        self.dropped.extend(gone);
    }

    pub(crate) fn rescue(&mut self, file: FileId, page: u64) {
        if let Some((queue, place)) = self.position(file, page)
            && !self.is_active(file, page)
            && !self.is_locked(&self.queues[queue][place])
        {
            let folio = self.queues[queue].remove(place).unwrap();
            self.queues[queue].push_back(folio);
        }
    }

    pub(crate) fn set_mark(&mut self, file: FileId, page: u64, is_marked: bool) {
        if let Some(folio) = self.folio_of(file, page) {
            folio.is_marked = is_marked;
        }
    }

    fn folio(&self, file: FileId, page: u64) -> (u64, u64) {
        self.position(file, page)
            .map_or((page, page + 1), |(queue, place)| {
                let folio = &self.queues[queue][place];
                (folio.start, folio.start + folio.pages)
            })
    }

    fn is_active(&self, file: FileId, page: u64) -> bool {
        self.position(file, page)
            .is_some_and(|(queue, _)| queue >= self.queues.len() / 2)
    }

    /// All there is to ask about the pages `[0, pages)` of a file.
    pub(crate) fn view(&self, file: FileId, pages: u64) -> Vec<View> {
        let mut view: Vec<View> = (0..pages)
            .map(|page| View {
                state: self.state(file, page),
                folio: (page, page + 1),
                is_marked: false,
                is_referenced: false,
                is_active: false,
            })
            .collect();
        for (queue, folios) in self.queues.iter().enumerate() {
            for folio in folios.iter().filter(|folio| folio.file == file) {
                for page in folio.start..(folio.start + folio.pages).min(pages) {
                    let view = &mut view[usize::try_from(page).unwrap()];
                    view.folio = (folio.start, folio.start + folio.pages);
                    view.is_marked = folio.is_marked;
                    view.is_referenced = folio.is_referenced;
                    view.is_active = queue >= self.queues.len() / 2;
                }
            }
        }
        view
    }

    pub(crate) fn resident(&self) -> u64 {
        self.pages.len() as u64
    }

    pub(crate) fn active(&self) -> u64 {
        (self.queues.len() / 2..self.queues.len())
            .map(|queue| self.pages_on(queue))
            .sum()
    }

    pub(crate) fn in_flight(&self) -> u64 {
        let is_locked = |page: &&Page| page.state == PageState::InFlight;
        self.pages.values().filter(is_locked).count() as u64
    }

    pub(crate) fn unread(&self) -> u64 {
        self.pages.values().filter(|page| !page.is_used).count() as u64
    }

    pub(crate) const fn clock(&self) -> u64 {
        self.clock
    }
}
