//! The newest chunk's mark was reached: its own reader goes on.
//!
//! How long does a page live? Between the submission of the chunk and now the aging clock moved by
//! the *global shift*, out of the *global size* that it moves through memory; meanwhile this reader
//! consumed the *stream shift*. So of the pages that memory can hold, `stream shift x global size /
//! global shift` are its own: its thrashing threshold. The chunk is the ratio's share of that, less
//! what is still ahead of the reader, and not more than growth allows: twice the last chunk, the
//! request, and a sixteenth of the limit. On an idle system only growth limits.
//!
//! If the pages ahead would be evicted before the reader comes to them, they are rescued and
//! nothing is read.

use super::bounds::{adjust, learn_thrash_bytes};
use super::chunks::Method;
use super::events::{AraEvent, AraObserver};
use super::file::Ara;
use super::release::AraRelease;
use super::visit::Visit;
use crate::kernel::Host;

/// What a reader can keep.
struct Threshold {
    /// The ratio's share of it, in pages.
    share: u64,
    /// Pages that it may still read before those now ahead are evicted.
    remain: u64,
}

impl<O: AraObserver> Ara<O> {
    /// Final: nothing else is tried afterwards.
    pub(super) fn state<H: Host>(&mut self, host: &mut H, visit: &Visit) {
        let ahead = self.chunks.end.wrapping_sub(visit.page);
        let last = self.chunks.size();
        if visit.is_marked {
            self.report(AraEvent::LookAheadHit, self.chunks.method, ahead);
        }
        let threshold = self.threshold(host);
        let is_worth = ahead > 1 || self.release == AraRelease::V16;
        if visit.is_marked && threshold.remain <= ahead && is_worth {
            return self.rescue(host, visit.page, ahead);
        }
        let growth = (2 + self.knobs.ratio / 64)
            .saturating_mul(last)
            .saturating_add(visit.request())
            .saturating_add(visit.bounds.max / 16)
            .min(visit.bounds.max);
        let Some(chunk) = adjust(threshold.share, ahead, growth) else {
            return self.report(AraEvent::ReadAheadShrink, self.chunks.method, ahead);
        };
        // A chunk that no longer grows shows the threshold itself.
        if visit.is_marked && last.saturating_add(last / 8) >= chunk.size {
            let learned = host.learned();
            learned.thrash_bytes =
                learn_thrash_bytes(self.release, learned.thrash_bytes, chunk.size);
        }
        let start = self.chunks.end;
        self.chunks.begin(Method::State);
        self.chunks
            .place(visit.page, start, chunk.size, chunk.look_ahead);
        self.submit(host);
    }

    fn threshold<H: Host>(&self, host: &H) -> Threshold {
        let global_size = host.reclaimable_pages();
        // Odd, so that it is never 0.
        let global_shift = host.aging_clock().wrapping_sub(self.age) | 1;
        let stream_shift = self.chunks.interval();
        Threshold {
            // 512/5 for 100: a shift before the division, as the patch has it.
            share: stream_shift
                .saturating_mul(global_size / 512)
                .saturating_mul(self.knobs.ratio)
                .saturating_mul(5)
                / global_shift,
            remain: stream_shift.saturating_mul(global_size.saturating_sub(global_shift))
                / global_shift,
        }
    }
}
