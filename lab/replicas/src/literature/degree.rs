//! Degree and trigger: the four classes of sequential prefetching.
//!
//! A *synchronous* controller prefetches only together with a miss, an *asynchronous* one also on a
//! hit, when the reader comes within the trigger distance of the end of what was fetched. The
//! degree, pages per prefetch, is *fixed* or *adaptive*: here it starts small and doubles with
//! every prefetch of the run, as common storage systems did.
//!
//! |              | fixed degree | adaptive degree |
//! | ---          | ---          | ---             |
//! | synchronous  | FS           | AS              |
//! | asynchronous | FA           | AA, see [`super::amp`] for the one that also adapts the trigger |
//!
//! Source of the classes: B. S. Gill and L. A. D. Bathen, "AMP: Adaptive multi-stream prefetching
//! in a shared cache", FAST 2007.

use crate::kernel::{Class, Host, Read, ReadAhead};

use super::{Run, ask, faults_are_reads, is_absent, start};
use crate::replica::{Key, Replica, Values};

/// The names of it, one for each class.
pub const REPLICAS: &[Replica<Degree>] = &[
    Replica::new(
        "fixed-sync",
        2007,
        "n pages more with each miss of a run",
        &[Key::number("n", 32)],
        |values| degree(values, false, None),
    ),
    Replica::new(
        "fixed-async",
        2007,
        "n pages more at the trigger",
        &[Key::number("n", 32), Key::computed("trigger", "n/2")],
        |values| degree(values, false, Some(2)),
    ),
    Replica::new(
        "adaptive-sync",
        2007,
        "degree doubles up to n",
        &[Key::number("n", 128)],
        |values| degree(values, true, None),
    ),
    Replica::new(
        "adaptive-async",
        2007,
        "degree doubles up to n, at the trigger",
        &[Key::number("n", 128), Key::computed("trigger", "n/4")],
        |values| degree(values, true, Some(4)),
    ),
];

/// With a trigger at this part of the degree, unless one was written.
fn degree(values: &Values<'_>, adaptive: bool, trigger_part: Option<u64>) -> Degree {
    let degree_pages = values.number("n");
    let trigger_pages = trigger_part.map(|part| {
        values
            .written_number("trigger")
            .unwrap_or_else(|| (degree_pages / part).max(1))
    });
    Degree::new(DegreeSettings {
        adaptive,
        trigger_pages,
        degree_pages,
    })
}

/// Pages of an adaptive run's first prefetch.
const FIRST_PAGES: u64 = 4;

/// Which of the four, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DegreeSettings {
    /// Grows from four pages to `degree_pages`, instead of starting there.
    pub adaptive: bool,
    /// Distance from the end of what was fetched at which the next prefetch is made; `None`:
    /// synchronous.
    pub trigger_pages: Option<u64>,
    /// Pages of one prefetch (the largest, if adaptive).
    pub degree_pages: u64,
}

/// One open file.
#[derive(Clone, Copy, Debug)]
pub struct Degree {
    settings: DegreeSettings,
    run: Run,
    is_sequential: bool,
    degree: u64,
    /// First page behind what was fetched for this run.
    fetched_until: u64,
}

impl Degree {
    /// A file that was not read yet.
    #[must_use]
    pub const fn new(settings: DegreeSettings) -> Self {
        Self {
            settings,
            run: Run { end: 0, steps: 0 },
            is_sequential: false,
            degree: 0,
            fetched_until: 0,
        }
    }

    fn next_degree(&mut self) -> u64 {
        let most = self.settings.degree_pages;
        self.degree = match (self.settings.adaptive, self.degree) {
            (false, _) => most,
            (true, 0) => FIRST_PAGES.min(most),
            (true, degree) => degree.saturating_mul(2).min(most),
        };
        self.degree
    }
}

impl ReadAhead for Degree {
    fn on_read<H: Host>(&mut self, _host: &mut H, read: &Read) {
        self.is_sequential = self.run.goes_on(read);
        if !self.is_sequential {
            self.degree = 0;
            self.fetched_until = 0;
        }
    }

    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        if is_absent(host, page) {
            let more = if self.is_sequential {
                self.next_degree()
            } else {
                0
            };
            ask(host, read, page, more);
            self.fetched_until = read.end_page() + more;
        }
        let Some(trigger) = self.settings.trigger_pages else {
            return;
        };
        let is_near = page + trigger >= self.fetched_until && page < self.fetched_until;
        if self.is_sequential && is_near {
            let pages = self.next_degree();
            start(host, self.fetched_until, pages, Class::Subsequent);
            self.fetched_until += pages;
        }
    }

    faults_are_reads!();
}
