//! The page cache of the simulator, asked rule by rule.

use ahead_replicas::kernel::Window;
use ahead_replicas::page_cache::{
    Aging, CacheObserver, CacheSettings, Evicted, FileId, Limit, PageCache, Replacement,
};

/// The pages that left, in order.
#[derive(Debug, Default)]
pub(crate) struct Left(pub(crate) Vec<u64>);

impl CacheObserver for Left {
    fn on_evicted(&mut self, page: &Evicted) {
        self.0.push(page.page);
    }
}

/// A cache with one file.
pub(crate) fn cache(
    memory_pages: u64,
    replacement: Replacement,
    limit: Limit,
) -> (PageCache, FileId) {
    let mut cache = PageCache::new(&CacheSettings {
        memory_pages,
        replacement,
        aging: Aging::FirstReferences,
        limit,
    });
    let file = cache.add_file();
    (cache, file)
}

pub(crate) fn window(start: u64, pages: u64) -> Window {
    Window {
        start,
        pages,
        ..Window::default()
    }
}

/// Brings valid pages in, and says who left.
pub(crate) fn bring(cache: &mut PageCache, file: FileId, window: &Window) -> Vec<u64> {
    let mut left = Left::default();
    cache.insert_valid(file, window, &mut left);
    left.0
}
