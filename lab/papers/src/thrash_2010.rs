//! Three hundred slow streams in little memory: the counters of the "thrashing safe" patches
//! (2010).
//!
//! 300 streams of 200 KB/s each read from a machine booted with `mem=128M`. With the patches one
//! window in thirty was evicted before its reader came; the mail prints the counters by class. How
//! much of the 128 MB was page cache is not said, and the windows follow from nothing else, so the
//! cache is inferred from one published number, the mean size of context windows (14 pages), and
//! everything else is a prediction. Bounds, set before the first run: the share of thrashed windows
//! within a factor of three, their mean size and the mark's place within a factor of two, and far
//! more waste without the patches.

use ahead_disk_model::DiskModel;
use ahead_replicas::kernel::Class;
use ahead_sim::queue::{QueueSettings, Scheduler};
use ahead_sim::report::{ClassReport, WorldReport};
use ahead_sim::world::Machine;
use ahead_units::PageCount;
use ahead_workload::Workload;

use crate::figure::{Figure, ReproduceError, float, run};
use ahead_study::chart::{BarChart, Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::FigureRow;

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

/// The figure.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure() -> Result<Figure, ReproduceError> {
    figure_of(SECONDS)
}

/// The same for so many simulated seconds.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure_of(seconds: u64) -> Result<Figure, ReproduceError> {
    let cells = cells(seconds)?;
    let (patched, merged) = cells.split_at(CACHES_MIB.len());
    let distance = |cell: &&Cell| {
        let context = cell.class(Class::Context);
        let scaled = context.pages * 100 / context.windows.max(1);
        scaled.abs_diff(CONTEXT_PAGES * 100)
    };
    let place = patched.iter().min_by_key(distance).map_or(0, |best| {
        patched
            .iter()
            .position(|cell| cell.cache_mib == best.cache_mib)
            .unwrap_or(0)
    });
    let (ours, other) = (&patched[place], &merged[place]);
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

fn rows(ours: &Cell, other: &Cell, seconds: u64) -> Vec<FigureRow> {
    let class = |class| ours.class(class);
    let (context, thrash) = (class(Class::Context), class(Class::Thrash));
    let all = ours.report.all_classes();
    let per_run = float(SECONDS) / float(seconds.max(1));
    let count = |what: &str, published: f64, windows: u64| {
        FigureRow::context(what, published, float(windows) * per_run, 0)
    };
    let context_pages = mean(context.pages, context.windows);
    let factor_two = (0.5, 2.0);
    let factor_three = (1.0 / 3.0, 3.0);
    let mut rows = vec![
        FigureRow::context("context windows, mean pages", 14.0, context_pages, 1)
            .because("the cache is inferred from it"),
        FigureRow::within(
            "windows after thrashing, % of all",
            2031.0 / 61_325.0 * 100.0,
            ours.thrashed_windows() * 100.0,
            factor_three,
            2,
        ),
        FigureRow::within(
            "all windows",
            63_837.0,
            float(all.windows) * per_run,
            factor_two,
            0,
        ),
        FigureRow::within(
            "context windows, mean pages behind the mark",
            2.0,
            mean(context.async_pages, context.windows),
            factor_two,
            1,
        ),
        FigureRow::within(
            "context windows, mean pages read",
            13.0,
            mean(context.io_pages, context.windows),
            factor_two,
            1,
        ),
        FigureRow::within(
            "windows after thrashing, mean pages",
            9.0,
            mean(thrash.pages, thrash.windows),
            factor_two,
            1,
        ),
        FigureRow::within(
            "windows after thrashing, mean pages read",
            6.0,
            mean(thrash.io_pages, thrash.windows),
            factor_two,
            1,
        ),
        FigureRow::same(
            "windows after thrashing, pages behind the mark",
            "0",
            thrash.async_pages.to_string(),
        ),
    ];
    rows.push(count("windows: context", 61_325.0, context.windows));
    rows.push(count("windows: thrash", 2_031.0, thrash.windows));
    rows.push(
        count("windows: initial", 20.0, class(Class::Initial).windows)
            .because("each stream begins once: the published counters began after most had"),
    );
    rows.push(count(
        "windows: subsequent",
        3.0,
        class(Class::Subsequent).windows,
    ));
    rows.push(FigureRow::statement(
        "pages evicted before use and read again: 2.6.31 beside the patches",
        "at least three times as many",
        format!(
            "{:.2} % beside {:.2} % of pages read ahead",
            other.thrashed_pages() * 100.0,
            ours.thrashed_pages() * 100.0
        ),
        other.thrashed_pages() >= 3.0 * ours.thrashed_pages() && other.thrashed_pages() > 0.0,
    ));
    rows
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
