//! How a decided window becomes folios in the cache.
//!
//! **Small folios**, where the file system knows only single pages, and as the way out below: the
//! window is clipped at the end of the file, and the mark is placed counted from the *clipped* end
//! (no mark if more pages should lie behind it than are left). Pages already cached are skipped; if
//! one sits on the mark's place there is no mark.
//!
//! **Large folios** go from the window's start to its last page inside the file. Each is of the
//! wanted order, unless its place is not aligned to that (then the order is what the place allows)
//! or it would reach beyond the last page (then the order shrinks). The folio that holds the mark's
//! place gets the mark; that place is *not* clipped.
//!
//! ```text
//!  wanted order 2:   | 6 | 7 | 8 9 10 11 | 12 13 14 15 | 16 17 | 18 |
//!                    ^start, aligned to 1 page        last page ^
//! ```
//!
//! A folio that would cover a cached page ends this, and what is left of the window goes to small
//! folios. 6.12 hands over the whole size again, from the page where it stopped: it reads past the
//! window and misplaces the mark.
//!
//! Which window, and of which order, is decided in [`folio`](super::folio).

use super::{Call, Class, Host, Window};
use ahead_units::PAGE_BYTES;

/// A window that is decided, on its way into the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct FolioWindow {
    /// First page.
    pub(super) start: u64,
    /// Pages, not yet clipped at the end of the file.
    pub(super) size: u64,
    /// Pages behind the mark; 0 for no mark.
    pub(super) async_size: u64,
    /// Why.
    pub(super) class: Class,
}

impl FolioWindow {
    /// Reads the window as single pages.
    pub(super) fn start_small<H: Host>(&self, host: &mut H) {
        let Some(last_page) = last_page(host) else {
            return;
        };
        if self.start > last_page {
            return;
        }
        let pages = self.size.min(last_page - self.start + 1);
        host.on_call(Call::Unbounded {
            index: self.start,
            pages,
            look_ahead: self.async_size,
        });
        let has_mark = self.async_size > 0 && self.async_size <= pages;
        host.start(&Window {
            start: self.start,
            pages,
            mark: has_mark.then(|| self.start + pages - self.async_size),
            order: 0,
            class: self.class,
            may_drop: false,
        });
    }

    /// Reads the window as folios of `order` pages (log2); `repeats_size`: the quirk of 6.12.
    pub(super) fn start_large<H: Host>(&self, host: &mut H, order: u8, repeats_size: bool) {
        let stopped_at = match last_page(host) {
            Some(last_page) => self.add_folios(host, order, last_page),
            None => None,
        };
        let Some(page) = stopped_at else {
            return;
        };
        let done = if repeats_size { 0 } else { page - self.start };
        Self {
            start: page,
            size: self.size - done,
            ..*self
        }
        .start_small(host);
    }

    /// Adds folios until the window or the file ends; says where a cached page was in the way.
    fn add_folios<H: Host>(&self, host: &mut H, wanted: u8, last_page: u64) -> Option<u64> {
        let mark = self.start + self.size - self.async_size;
        let end = self.start.saturating_add(self.size).min(last_page + 1);
        let mut page = self.start;
        while page < end {
            let order = order_at(page, wanted, end - page);
            // Single pages go together, up to the first that is cached; a folio goes whole or not.
            let pages = if wanted == 0 { end - page } else { 1 << order };
            let free = match host.first_present(page, pages) {
                Some(present) if order == 0 => present - page,
                Some(_) => 0,
                None => pages,
            };
            let mark = mark & !((1 << order) - 1);
            if free > 0 {
                host.start(&Window {
                    start: page,
                    pages: free,
                    mark: (page..page + free).contains(&mark).then_some(mark),
                    order,
                    class: self.class,
                    may_drop: false,
                });
            }
            if free < pages {
                return Some(page + free);
            }
            page += pages;
        }
        None
    }
}

/// The order of the folio at `page`, where `pages` are left.
fn order_at(page: u64, order: u8, pages: u64) -> u8 {
    let order = u32::from(order)
        .min(page.trailing_zeros())
        .min(pages.ilog2());
    u8::try_from(order).unwrap_or(u8::MAX)
}

/// The last page of the file; `None` for an empty file.
fn last_page<H: Host>(host: &H) -> Option<u64> {
    host.file_bytes().div_ceil(PAGE_BYTES).checked_sub(1)
}
