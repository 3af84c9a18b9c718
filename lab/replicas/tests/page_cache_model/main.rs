//! The page cache does, page for page, what a naive one does, whatever happens to it.

mod naive;

use ahead_replicas::kernel::{Class, PageState, Window};
use ahead_replicas::page_cache::{
    Aging, CacheObserver, CacheSettings, Evicted, FileId, Limit, PageCache, Replacement,
};
use naive::{Naive, View};
use proptest::prelude::*;

/// Pages of each file that operations touch. Not a multiple of a chunk.
const FILE_PAGES: u64 = 700;

const FILES: [FileId; 2] = [FileId(0), FileId(1)];

fn all_pages() -> impl Iterator<Item = (FileId, u64)> {
    FILES
        .into_iter()
        .flat_map(|file| (0..FILE_PAGES).map(move |page| (file, page)))
}

/// What happens to a cache.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Insert {
        start: u64,
        pages: u64,
        mark: Option<u64>,
        class: Class,
        is_instant: bool,
    },
    InsertFolio {
        number: u64,
        order: u8,
        class: Class,
        is_instant: bool,
    },
    Access {
        page: u64,
        previous: Option<u64>,
    },
    /// Two accesses to each cached page of a run.
    AccessTwice {
        start: u64,
        pages: u64,
    },
    Complete {
        start: u64,
        pages: u64,
    },
    GiveUp {
        start: u64,
        pages: u64,
    },
    Repeat {
        start: u64,
        pages: u64,
    },
    Forget {
        start: u64,
        pages: u64,
    },
    Rescue {
        page: u64,
    },
    SetMark {
        page: u64,
        is_marked: bool,
    },
}

fn any_run() -> impl Strategy<Value = (u64, u64)> {
    prop_oneof![
        4 => (0..FILE_PAGES, 0..40_u64),
        1 => (0..FILE_PAGES, 0..400_u64),
    ]
    .prop_map(|(start, pages)| (start, pages.min(FILE_PAGES - start)))
}

fn any_class() -> impl Strategy<Value = Class> {
    prop_oneof![
        Just(Class::Initial),
        Just(Class::Subsequent),
        Just(Class::Around),
        Just(Class::Single),
    ]
}

fn any_operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let page = 0..FILE_PAGES;
    prop_oneof![
        4 => (any_run(), any_class(), proptest::option::of(0..40_u64), any::<bool>()).prop_map(
            |((start, pages), class, mark, is_instant)| Insert {
                start, pages, mark: mark.map(|mark| start + mark), class, is_instant,
            }),
        3 => (0..700_u64, 1..=8_u8, any_class(), any::<bool>()).prop_map(
            |(page, order, class, is_instant)| InsertFolio {
                number: (page >> order).min((FILE_PAGES >> order) - 1), order, class, is_instant,
            }),
        3 => (page.clone(), proptest::option::of(0..4_u64)).prop_map(|(page, back)| Access {
            page, previous: back.map(|back| page.saturating_sub(back)),
        }),
        3 => any_run().prop_map(|(start, pages)| AccessTwice { start, pages }),
        4 => any_run().prop_map(|(start, pages)| Complete { start, pages }),
        1 => any_run().prop_map(|(start, pages)| GiveUp { start, pages }),
        1 => any_run().prop_map(|(start, pages)| Repeat { start, pages }),
        1 => any_run().prop_map(|(start, pages)| Forget { start, pages }),
        1 => page.clone().prop_map(|page| Rescue { page }),
        1 => (page, any::<bool>()).prop_map(|(page, is_marked)| SetMark { page, is_marked }),
    ]
}

fn any_settings() -> impl Strategy<Value = CacheSettings> {
    (
        prop_oneof![1..64_u64, 64..600_u64],
        prop_oneof![Just(Replacement::TwoList), Just(Replacement::Generational)],
        prop_oneof![Just(Aging::FirstReferences), Just(Aging::Scanned)],
    )
        .prop_map(|(memory_pages, replacement, aging)| CacheSettings {
            memory_pages,
            replacement,
            aging,
            limit: Limit::Machine,
        })
}

/// Writes down what leaves.
#[derive(Debug, Default)]
struct Gone {
    evicted: Vec<Evicted>,
    dropped: Vec<Evicted>,
}

impl CacheObserver for Gone {
    fn on_evicted(&mut self, page: &Evicted) {
        self.evicted.push(*page);
    }

    fn on_dropped(&mut self, page: &Evicted) {
        self.dropped.push(*page);
    }
}

/// Both caches, and what left the real one.
struct Pair {
    settings: CacheSettings,
    cache: PageCache,
    naive: Naive,
    gone: Gone,
}

impl Pair {
    fn new(settings: &CacheSettings) -> Self {
        let mut cache = PageCache::new(settings);
        for file in FILES {
            assert_eq!(cache.add_file(), file);
        }
        Self {
            settings: *settings,
            cache,
            naive: Naive::new(settings),
            gone: Gone::default(),
        }
    }

    fn insert(&mut self, file: FileId, window: &Window, is_instant: bool) {
        let end = window.start + window.pages;
        let was_absent = (self.cache)
            .first_present(file, window.start, window.pages)
            .is_none();
        let (inserted, state) = if is_instant {
            let inserted = (self.cache).insert_valid(file, window, &mut self.gone);
            (inserted, PageState::Valid)
        } else {
            let inserted = self.cache.insert(file, window, &mut self.gone);
            (inserted, PageState::InFlight)
        };
        assert_eq!(inserted, self.naive.insert(file, window, state));
        // A window in one piece makes room once, and then nothing that could leave is left.
        if was_absent && inserted > 0 && self.cache.resident_pages() > self.settings.memory_pages {
            for (other, page) in all_pages() {
                let is_new = other == file && (window.start..end).contains(&page);
                let is_cached = self.cache.state(other, page) != PageState::Absent;
                assert!(
                    is_new || !is_cached || self.is_locked_folio(other, page),
                    "more than memory, although page {page} of {other:?} could have left"
                );
            }
        }
    }

    fn is_locked_folio(&self, file: FileId, page: u64) -> bool {
        let (start, end) = self.cache.folio(file, page);
        (start..end).any(|page| self.cache.state(file, page) == PageState::InFlight)
    }

    fn apply(&mut self, file: FileId, operation: Operation) {
        use PageState::{InFlight, Stale, Valid};
        let (cache, naive) = (&mut self.cache, &mut self.naive);
        match operation {
            Operation::Insert {
                start,
                pages,
                mark,
                class,
                is_instant,
            } => {
                let window = Window {
                    start,
                    pages,
                    mark,
                    class,
                    ..Window::default()
                };
                self.insert(file, &window, is_instant);
            }
            Operation::InsertFolio {
                number,
                order,
                class,
                is_instant,
            } => {
                let window = Window {
                    start: number << order,
                    pages: 1 << order,
                    mark: Some((number << order) + 1),
                    order,
                    class,
                    may_drop: false,
                };
                self.insert(file, &window, is_instant);
            }
            Operation::Access { page, previous } => {
                if cache.state(file, page) != PageState::Absent {
                    assert_eq!(
                        cache.access_after(file, page, previous),
                        naive.access(file, page, previous)
                    );
                }
            }
            Operation::AccessTwice { start, pages } => {
                for page in start..start + pages {
                    if cache.state(file, page) != PageState::Absent {
                        for _ in 0..2 {
                            let expected = naive.access(file, page, None);
                            assert_eq!(cache.access(file, page), expected);
                        }
                    }
                }
            }
            Operation::Complete { start, pages } => {
                cache.set_valid(file, start, pages);
                naive.change(file, start, pages, &[InFlight], Valid);
            }
            Operation::GiveUp { start, pages } => {
                cache.set_stale(file, start, pages);
                naive.change(file, start, pages, &[InFlight], Stale);
            }
            Operation::Repeat { start, pages } => {
                cache.set_in_flight(file, start, pages);
                naive.change(file, start, pages, &[Valid, Stale], InFlight);
            }
            Operation::Forget { start, pages } => {
                cache.forget(file, start, pages, &mut self.gone);
                naive.forget(file, start, pages);
            }
            Operation::Rescue { page } => {
                cache.rescue(file, page);
                naive.rescue(file, page);
            }
            Operation::SetMark { page, is_marked } => {
                if is_marked {
                    cache.set_mark(file, page);
                } else {
                    cache.clear_mark(file, page);
                }
                naive.set_mark(file, page, is_marked);
            }
        }
    }

    fn compare_counts(&self) {
        let (cache, naive) = (&self.cache, &self.naive);
        assert_eq!(self.gone.evicted, naive.evicted);
        assert_eq!(self.gone.dropped, naive.dropped);
        assert_eq!(cache.resident_pages(), naive.resident());
        assert_eq!(cache.in_flight_pages(), naive.in_flight());
        assert_eq!(cache.unread_pages(), naive.unread());
        assert_eq!(cache.active_pages(), naive.active());
        assert_eq!(cache.inactive_pages(), naive.resident() - naive.active());
        assert_eq!(cache.aging_clock(), naive.clock());
    }

    fn compare_pages(&self) {
        let cache = &self.cache;
        let mut chunks = 0;
        for file in FILES {
            let expected = self.naive.view(file, FILE_PAGES);
            let view = |page| View {
                state: cache.state(file, page),
                folio: cache.folio(file, page),
                is_marked: cache.is_marked(file, page),
                is_referenced: cache.is_referenced(file, page),
                is_active: cache.is_active(file, page),
            };
            assert_eq!((0..FILE_PAGES).map(view).collect::<Vec<_>>(), expected);
            let is_present = |page: &u64| {
                usize::try_from(*page)
                    .ok()
                    .and_then(|page| expected.get(page))
                    .is_some_and(|view| view.state != PageState::Absent)
            };
            let is_absent = |page: &u64| !is_present(page);
            for page in 0..FILE_PAGES {
                let pages = page * 7 % 150;
                let ahead = page..page + pages;
                let back = (page + 1).saturating_sub(pages)..page + 1;
                assert_eq!(
                    cache.first_absent(file, page, pages),
                    ahead.clone().find(is_absent)
                );
                assert_eq!(
                    cache.first_present(file, page, pages),
                    ahead.clone().find(is_present)
                );
                assert_eq!(
                    cache.last_absent(file, page, pages),
                    back.rev().find(is_absent)
                );
            }
            for page in [0, 1, 333, 699] {
                assert_eq!(
                    cache.first_present(file, page, u64::MAX),
                    (page..FILE_PAGES).find(is_present)
                );
            }
            chunks += (0..FILE_PAGES.div_ceil(64))
                .filter(|chunk| (chunk * 64..(chunk + 1) * 64).any(|page| is_present(&page)))
                .count();
        }
        assert_eq!(cache.chunks(), chunks);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The whole of the cache against the naive one: what each operation answers, what leaves in
    /// which order, every count, and now and then every page. At the end all is completed and
    /// pushed out, which shows the order of what was left.
    #[test]
    fn the_cache_is_the_naive_cache(
        settings in any_settings(),
        operations in proptest::collection::vec((0..2_usize, any_operation()), 1..120),
    ) {
        let mut pair = Pair::new(&settings);
        for (step, (file, operation)) in operations.into_iter().enumerate() {
            pair.apply(FILES[file], operation);
            pair.compare_counts();
            if step % 40 == 0 {
                pair.compare_pages();
            }
        }
        pair.compare_pages();
        for file in FILES {
            pair.apply(file, Operation::Complete { start: 0, pages: FILE_PAGES });
        }
        for start in (1000..3000).step_by(10) {
            let window = Window { start, pages: 10, ..Window::default() };
            pair.insert(FILES[0], &window, true);
        }
        pair.compare_counts();
    }
}
