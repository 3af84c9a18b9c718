//! Sparse runs: ascending or descending with holes of changing size.
//!
//! A sparse run moves like any [run](super::run); its window includes the holes. Whether that pays
//! is decided here: the hit rate has to allow it, and a hole has to cost less than a request of
//! its own. Otherwise it is left to the kernel, which reads through the holes; but for a run that was asked for up to its reader, or where a stride
//! broke with elements on their way, as the kernel has lost it there, and where that is [faster](crate::adaptive::read_through).

use crate::adaptive::moment::Moment;
use crate::steering::steering;
use crate::stock::KERNEL_PAGES;

steering! {
    /// Halve the density counters beyond this, so that they describe the recent past. Lower, and one
    /// large hole makes a sequential stream sparse; higher, and a stream that became sparse reads
    /// through holes for 32 MiB.
    /// Evidence: docs/results/evidence/DENSITY_HISTORY_PAGES.csv
    DENSITY_HISTORY_PAGES: u16 = 8192;

    /// Pages of eight that a run has to read to count as one without holes. With eight, one page
    /// left out ends a window; with six, the holes of a reader that skips every fourth page are
    /// read and never paid for.
    /// Evidence: docs/results/evidence/DENSE_EIGHTHS.csv
    DENSE_EIGHTHS: u32 = 7;
}

/// Parts of an access that the mean hole may cost, one in so many. 1, and what is read through costs what it saves,
/// while the kernel reads some of it by itself; 4, and records with small gaps are read one after the other.
const HOLE_PARTS: u64 = 2;

/// A run that was asked for up to here, or that is read through as that is faster, reads on through so many times the pages that the hit rate
/// allows, where the kernel would read through all.
/// Once, and it is left in the middle of what the kernel would have read; without end, and a dense run after which one page of each window is
/// read brings in all of them.
const READ_ON_TIMES: u64 = 4;

/// Behind a stride that broke the same of so many times. Once, and steps of nine pages that change are left in the middle; four times, and records
/// of one page that are left out by chance take four times the bytes.
const READ_ON_TIMES_WHERE_LOST: u64 = 2;

/// Holes that the kernel's window reaches over, at least, where it goes on through them for sure: of each of its windows the reader has to hit the
/// mark. Two, and a stripe of eight disks takes half as long again for elements that its arms pass by; four, and steps of nine pages that change
/// take flash 3.6 times the kernel's time.
const HOLES_IN_WINDOW: u64 = 3;

/// Pages read, and pages passed over or read, recently.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::adaptive) struct Density {
    held: u16,
    spanned: u16,
}

impl Density {
    /// An access of `held` pages took the reader `spanned` pages further.
    pub(in crate::adaptive) fn count(&mut self, held: u64, spanned: u64) {
        let add = |to: u16, pages: u64| to.saturating_add(u16::try_from(pages).unwrap_or(u16::MAX));
        self.held = add(self.held, held);
        self.spanned = add(self.spanned, spanned);
        let most = DENSITY_HISTORY_PAGES.get();
        if self.held > most || self.spanned > most {
            self.held /= 2;
            self.spanned /= 2;
        }
    }

    /// Whether less than seven pages of eight are read.
    #[inline]
    pub(in crate::adaptive) fn has_holes(self) -> bool {
        has_holes(self.held.into(), self.spanned.into())
    }

    /// Whether so little is left out that a run may read on through its holes, where the kernel would: [`READ_ON_TIMES`] what the rate allows.
    pub(in crate::adaptive) fn is_read_on(self, moment: &Moment) -> bool {
        self.is_read_one_of(u64::from(moment.knobs.readahead_hit_rate) * READ_ON_TIMES)
    }

    /// The same behind a stride that broke: [`READ_ON_TIMES_WHERE_LOST`] what the rate allows.
    pub(in crate::adaptive) fn is_read_on_where_lost(self, moment: &Moment) -> bool {
        self.is_read_one_of(u64::from(moment.knobs.readahead_hit_rate) * READ_ON_TIMES_WHERE_LOST)
    }

    /// Whether anything is left out that was not read since, as far as is known: pages that two reads share count twice.
    #[inline]
    pub(in crate::adaptive) fn may_have_gaps(self) -> bool {
        u32::from(self.held) < 2 * u32::from(self.spanned)
    }

    /// Whether one page of four is read, at least: one that looks at an index between its elements reads fewer.
    pub(in crate::adaptive) fn is_a_fourth_read(self) -> bool {
        self.is_read_one_of(4)
    }

    /// Whether one page of so many is read, at least.
    fn is_read_one_of(self, pages: u64) -> bool {
        u64::from(self.held).saturating_mul(pages) >= u64::from(self.spanned)
    }

    /// Whether reading through holes of so many pages pays: the limit allows it and one costs less
    /// than half a request of its own.
    pub(in crate::adaptive) fn holes_pay(self, hole: u64, moment: &Moment) -> bool {
        self.is_read_one_of(u64::from(moment.knobs.readahead_hit_rate))
            && is_worth_reading(hole, moment)
    }

    /// Pages that an access of `length` pages leaves out before it, in the mean.
    pub(in crate::adaptive) fn mean_hole(self, length: u32) -> u64 {
        let (held, spanned) = (u64::from(self.held), u64::from(self.spanned));
        let accesses = (held / u64::from(length.max(1))).max(1);
        spanned.saturating_sub(held) / accesses
    }
}

/// Whether `held` pages read of `spanned` are so few that what lies between them counts.
#[inline]
pub(in crate::adaptive) fn has_holes(held: u64, spanned: u64) -> bool {
    held * 8 < spanned * u64::from(DENSE_EIGHTHS.get())
}

/// Whether a hole of so many pages costs less than half a request of its own.
pub(in crate::adaptive) fn is_worth_reading(hole: u64, moment: &Moment) -> bool {
    hole <= worth_reading(moment)
}

/// Pages that cost half a request of their own, at most.
pub(in crate::adaptive) fn worth_reading(moment: &Moment) -> u64 {
    passed_by(moment) / HOLE_PARTS
}

/// Whether the kernel reads through a hole of so many pages by itself, which are not read in vain by being asked for then, and that costs no more
/// than a request of its own. It does where its window is one large folio, all of which is a mark (`page_cache_ra_order`), or none is
/// longer than the read.
pub(in crate::adaptive) fn is_read_by_kernel(hole: u64, moment: &Moment) -> bool {
    let is_allowed = moment.knobs.readahead_hit_rate > 1;
    is_allowed && hole < moment.kernel_window.get() && hole <= passed_by(moment)
}

/// Whether a hole of so many pages is one of several that the kernel's window would reach over, and costs less than half a request of its own.
pub(in crate::adaptive) fn is_short(hole: u64, moment: &Moment) -> bool {
    let holes = hole.saturating_mul(HOLES_IN_WINDOW);
    holes <= moment.kernel_window.get().min(KERNEL_PAGES)
        && is_read_by_kernel(hole, moment)
        && is_worth_reading(hole, moment)
}

/// Pages that pass by while a request of its own is answered.
fn passed_by(moment: &Moment) -> u64 {
    // A reader that is alone waits for one access after the other, whatever the device could serve at once.
    let pages = if moment.contested {
        moment.device.hole_worth_reading()
    } else {
        moment.device.pages_per_access()
    };
    pages.get()
}
