//! Submitting a chunk: the end of the file, the date, the read.
//!
//! A chunk that begins at or behind the end of the file is dropped. One that ends near the end, a
//! quarter of its length or less away, is stretched to it: the rest would cost a request of its
//! own. The state is that of the chunk asked for, also where it was dropped or partly cached.

use super::chunks::Method;
use super::events::{AraEvent, AraObserver};
use super::file::Ara;
use super::release::AraRelease;
use crate::kernel::{Class, Host, Window};
use ahead_units::PAGE_BYTES;

impl<O: AraObserver> Ara<O> {
    /// Reads the newest chunk.
    pub(super) fn submit<H: Host>(&mut self, host: &mut H) {
        let end_of_file = host.file_bytes().div_ceil(PAGE_BYTES);
        let release = self.release;
        let chunks = &mut self.chunks;
        if chunks.ra_index >= end_of_file {
            return;
        }
        let slack = match release {
            AraRelease::V15 | AraRelease::June => chunks.size() / 4,
            AraRelease::V16 => 4 + chunks.size() / 4,
        };
        let ends_file = chunks.end.saturating_add(slack) > end_of_file;
        if ends_file {
            chunks.end = end_of_file;
            chunks.mark = chunks.mark.min(end_of_file);
            self.has_met_end |= end_of_file > 1;
        }
        if !self.knobs.look_ahead {
            chunks.mark = chunks.end;
        }
        self.age = host.aging_clock();
        let pages = chunks.size();
        if pages == 0 {
            return;
        }
        let look_ahead = chunks.look_ahead();
        let method = chunks.method;
        let started = host.start(&Window {
            start: chunks.ra_index,
            pages,
            mark: (look_ahead > 0).then_some(chunks.mark),
            class: class_of(method),
            ..Window::default()
        });
        self.report(AraEvent::ReadAhead, method, started);
        if started < pages {
            self.report(AraEvent::IoCacheHit, method, pages - started);
        }
        if look_ahead > 0 {
            self.report(AraEvent::LookAhead, method, look_ahead);
        }
        if self.is_mapped {
            self.report(AraEvent::ReadAheadMmap, method, started);
        }
        if ends_file {
            self.report(AraEvent::ReadAheadEof, method, started);
        }
    }
}

/// The statistics' word for a method.
const fn class_of(method: Method) -> Class {
    match method {
        Method::None => Class::Random,
        Method::Initial => Class::Initial,
        Method::State => Class::Subsequent,
        Method::Context | Method::ContextAll => Class::Context,
        Method::Backward => Class::Backward,
        Method::Thrash => Class::Thrash,
        Method::Seek => Class::Seek,
    }
}
