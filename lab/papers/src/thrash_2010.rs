//! Three hundred slow streams in little memory: the counters of the "thrashing safe" patches
//! (2010).
//!
//! 300 streams of 200 KB/s each read from a machine booted with `mem=128M`. With the patches one
//! window in thirty was evicted before its reader came; the mail prints the counters by class. How
//! much of the 128 MB was page cache is not said, and the windows follow from nothing else, so the
//! cache is inferred from one published number, the mean size of context windows (14 pages), and
//! everything else is a prediction. The mail has one run; its means are printed as whole numbers, which
//! is what they may differ by, and a count of n windows may differ by twice its root. The null model is
//! the kernel without the patches, or a window like any other.

use ahead_disk_model::DiskModel;
use ahead_replicas::kernel::Class;
use ahead_sim::queue::{QueueSettings, Scheduler};
use ahead_sim::report::{ClassReport, WorldReport};
use ahead_sim::world::Machine;
use ahead_units::PageCount;
use ahead_workload::Workload;

use crate::figure::{
    Figure, ModelKnobs, Parameter, ParameterOrigin, Publication, ReproduceError, float, run,
};
use ahead_study::chart::{BarChart, Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::{AllowedRange, FigureRow, Shown};

const STREAMS: u64 = 300;
const BYTES_PER_S: u64 = 200_000;

/// 61 325 windows of 13 pages read are 54 seconds at 60 MB/s.
const SECONDS: u64 = 54;

/// Page caches that are tried, in MiB.
const CACHES_MIB: [u64; 9] = [8, 12, 16, 24, 32, 48, 64, 80, 96];

/// Mean pages of a context window, from which the cache is inferred.
const CONTEXT_PAGES: u64 = 14;

const PATCHED: &str = "thrash-safe-2010:ra_kb=512";
const MERGED: &str = "linux-2.6.31:ra_kb=512";

fn machine(cache_mib: u64) -> Machine {
    Machine {
        cpus: 2,
        folio_order_max: 0,
        fault_around_pages: 1,
        // The series was measured on a SATA disk with 32 commands.
        queue: QueueSettings {
            device_depth: 32,
            ..QueueSettings::linux_2_6_18().with_scheduler(Scheduler::Noop)
        },
        ..Machine::modern(DiskModel::x25m(), PageCount::new(cache_mib << 8))
    }
}

/// One policy in one size of cache.
struct Cell {
    cache_mib: u64,
    policy: &'static str,
    report: WorldReport,
}

impl Cell {
    fn class(&self, class: Class) -> ClassReport {
        self.report.class(class).cloned().unwrap_or_default()
    }

    /// Windows after a thrashed one, of all windows.
    fn thrashed_windows(&self) -> f64 {
        float(self.class(Class::Thrash).windows) / float(self.report.all_classes().windows.max(1))
    }

    /// Pages evicted before use and then read again, of all pages read ahead.
    fn thrashed_pages(&self) -> f64 {
        float(self.report.prefetch.thrashed) / float(self.report.prefetch.pages.max(1))
    }
}

/// `pages` of a window on average.
fn mean(pages: u64, windows: u64) -> f64 {
    float(pages) / float(windows.max(1))
}

/// What the command line knows of it.
pub const PUBLICATION: Publication = Publication {
    name: "thrash-2010",
    about: "300 slow streams in 128 MB: counters of the thrashing-safe patches, by class of window",
    parameters: PARAMETERS,
    compute: figure,
};

const MEMORY: &str = "memory left to the page cache";
const LENGTH: &str = "seconds of the run";

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: MEMORY,
        value: "32 MiB",
        origin: ParameterOrigin::Fitted,
        source: "of nine sizes, where context windows have the published mean of 14 pages",
        turns: true,
    },
    Parameter {
        name: LENGTH,
        value: "54",
        origin: ParameterOrigin::Fitted,
        source: "61 325 windows of 13 pages at 60 MB/s",
        turns: true,
    },
    Parameter {
        name: "the disk",
        value: "X25-M",
        origin: ParameterOrigin::Assumed,
        source: "the one of the same series; 1200 requests a second are no single arm",
        turns: false,
    },
];

fn cells(seconds: u64) -> Result<Vec<Cell>, ReproduceError> {
    let mut plan = Vec::new();
    for policy in [PATCHED, MERGED] {
        plan.extend(CACHES_MIB.map(|cache_mib| (cache_mib, policy)));
    }
    let work = Workload::Streams {
        streams: STREAMS,
        bytes_per_s: BYTES_PER_S,
        read_kib: 4,
        seconds,
    };
    let done = parallel::map(&plan, |&(cache_mib, policy)| {
        let report = run(&machine(cache_mib), policy, &work.job(1))?;
        Ok(Cell {
            cache_mib,
            policy,
            report,
        })
    });
    done.into_iter().collect()
}

fn figure(knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    figure_of(SECONDS, knobs)
}

/// The same for so many simulated seconds.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure_of(seconds: u64, knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    let run_seconds = knobs.whole(LENGTH, seconds);
    let cells = cells(run_seconds)?;
    let (patched, merged) = cells.split_at(CACHES_MIB.len());
    let distance = |cell: &&Cell| {
        let context = cell.class(Class::Context);
        let scaled = context.pages * 100 / context.windows.max(1);
        scaled.abs_diff(CONTEXT_PAGES * 100)
    };
    let fitted = patched.iter().min_by_key(distance);
    let cache_mib = knobs.whole(MEMORY, fitted.map_or(0, |best| best.cache_mib));
    let place = CACHES_MIB.iter().position(|tried| *tried == cache_mib);
    let (ours, other) = (&patched[place.unwrap_or(0)], &merged[place.unwrap_or(0)]);
    Ok(Figure {
        name: "thrash-2010",
        title: "300 streams of 200 KB/s in 128 MB".to_owned(),
        source: "Wu Fengguang, \"readahead: thrashing safe context readahead\", linux-mm, \
                 February 2010"
            .to_owned(),
        rows: rows(ours, other, seconds),
        charts: vec![
            ("thrash-2010".to_owned(), over_cache(patched, merged)),
            ("thrash-2010-classes".to_owned(), classes(ours, other)),
        ],
        parameters: PARAMETERS,
        notes: vec![
            "the 32 MiB left to the cache are inferred from the published 14 pages of a window".to_owned(),
            format!(
                "The page cache is inferred: {} MiB, where context windows have {:.1} pages on \
                 average (published: 14). The other {} MiB of the 128 are the kernel and 300 \
                 processes.",
                ours.cache_mib,
                mean(
                    ours.class(Class::Context).pages,
                    ours.class(Class::Context).windows
                ),
                128 - ours.cache_mib
            ),
            "Disk: the X25-M of the same series; the mail does not name the disk of this test, but \
             60 MB/s in windows of 50 KB are 1200 requests a second, which no single arm gives. \
             Streams read 4 KiB at a time, evenly spread."
                .to_owned(),
        ],
    })
}

/// A count of the one run: twice its root up and down.
fn counted(count: f64) -> AllowedRange {
    let off = 2.0 * count.sqrt();
    AllowedRange::of(
        (count - off).max(0.0),
        count + off,
        "twice the root of a count",
    )
}

/// A mean that was printed as a whole number.
fn whole(mean: f64) -> AllowedRange {
    AllowedRange::of(mean - 0.5, mean + 0.5, "printed as a whole number")
}

fn rows(ours: &Cell, other: &Cell, seconds: u64) -> Vec<FigureRow> {
    const FIT: &str = "the cache is fitted to 14 pages";
    const UNPATCHED: &str = "2.6.31";
    let class = |class| ours.class(class);
    let (context, thrash) = (class(Class::Context), class(Class::Thrash));
    let per_run = float(SECONDS) / float(seconds.max(1));
    let windows = |cell: &Cell, class| float(cell.class(class).windows) * per_run;
    let after = |pages: u64| mean(pages, thrash.windows);
    let like_any = |pages: u64| ("a window like any other", mean(pages, context.windows));
    let share = counted(2031.0);
    let percent = 100.0 / 61_325.0;
    vec![
        FigureRow::fitted(
            "context windows, mean pages",
            14.0,
            mean(context.pages, context.windows),
            1,
            FIT,
        ),
        FigureRow::fitted(
            "context windows, mean pages read",
            13.0,
            mean(context.io_pages, context.windows),
            1,
            FIT,
        ),
        FigureRow::fitted(
            "all windows",
            63_837.0,
            float(ours.report.all_classes().windows) * per_run,
            0,
            "the length of the run is fitted to it",
        ),
        FigureRow::fitted(
            "windows: context",
            61_325.0,
            windows(ours, Class::Context),
            0,
            "the length of the run is fitted to it",
        ),
        FigureRow::within(
            "windows after thrashing, % of all",
            2031.0 * percent,
            AllowedRange::of(share.low * percent, share.high * percent, share.source),
            ours.thrashed_windows() * 100.0,
            (UNPATCHED, other.thrashed_windows() * 100.0),
            2,
        ),
        FigureRow::within(
            "context windows, mean pages behind the mark",
            2.0,
            whole(2.0),
            mean(context.async_pages, context.windows),
            (UNPATCHED, {
                let context = other.class(Class::Context);
                mean(context.async_pages, context.windows)
            }),
            1,
        ),
        FigureRow::within(
            "windows after thrashing, mean pages",
            9.0,
            whole(9.0),
            after(thrash.pages),
            like_any(context.pages),
            1,
        ),
        FigureRow::within(
            "windows after thrashing, mean pages read",
            6.0,
            whole(6.0),
            after(thrash.io_pages),
            like_any(context.io_pages),
            1,
        ),
        FigureRow::same(
            "windows after thrashing, pages behind the mark",
            "0",
            thrash.async_pages.to_string(),
            ("windows like any other", context.async_pages.to_string()),
        ),
        FigureRow::context("windows: initial", 20.0, windows(ours, Class::Initial), 0)
            .because("each stream begins once: the published counters began after most had"),
        FigureRow::within(
            "windows: subsequent",
            3.0,
            counted(3.0),
            windows(ours, Class::Subsequent),
            (UNPATCHED, windows(other, Class::Subsequent)),
            0,
        )
        .or_because("streams that begin together grow their first windows before memory is full"),
        FigureRow::ours(
            "pages evicted before use and read again: 2.6.31 beside the patches",
            "at least three times as many",
            Shown::new(
                format!(
                    "{:.2} % beside {:.2} % of pages read ahead",
                    other.thrashed_pages() * 100.0,
                    ours.thrashed_pages() * 100.0
                ),
                other.thrashed_pages() >= 3.0 * ours.thrashed_pages()
                    && other.thrashed_pages() > 0.0,
            ),
        ),
    ]
}

fn over_cache(patched: &[Cell], merged: &[Cell]) -> Chart {
    let series = |cells: &[Cell], name: &str| Series {
        name: name.to_owned(),
        points: cells
            .iter()
            .map(|cell| (float(cell.cache_mib), cell.thrashed_pages() * 100.0))
            .collect(),
        style: Style::Line,
    };
    Chart::Lines(LineChart {
        title: "300 streams of 200 KB/s: pages thrashed over the size of the cache".to_owned(),
        x_label: "page cache (MiB)".to_owned(),
        y_label: "% of pages read ahead".to_owned(),
        x_scale: Scale::Logarithmic,
        series: vec![
            series(patched, "thrashing safe, 2010"),
            series(merged, "Linux 2.6.31"),
        ],
        ..LineChart::default()
    })
}

fn classes(ours: &Cell, other: &Cell) -> Chart {
    let known = [
        ("initial", Class::Initial),
        ("subsequent", Class::Subsequent),
        ("context", Class::Context),
        ("thrash", Class::Thrash),
    ];
    let bars = |cell: &Cell| -> Vec<f64> {
        known
            .iter()
            .map(|(_, class)| float(cell.class(*class).windows))
            .collect()
    };
    Chart::Bars(BarChart {
        title: format!("windows by class, page cache of {} MiB", ours.cache_mib),
        y_label: "windows".to_owned(),
        groups: known.map(|(name, _)| name.to_owned()).to_vec(),
        bars: [ours, other]
            .map(|cell| {
                let name = cell.policy.split(':').next().unwrap_or_default();
                (name.to_owned(), bars(cell))
            })
            .to_vec(),
    })
}
