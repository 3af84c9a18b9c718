//! What larger windows of read-around cost in memory: hit ratios of a desktop (2010).
//!
//! After booting a desktop, 62, 55 and 51 % of the pages that were read ahead had been used, with
//! windows of 128, 512 and 1024 KiB; the mail says that the misses come from mapped files, read
//! around each fault. The desktop itself is gone. In its place stands a program start as it is
//! commonly described: libraries and fonts of 16 KiB to 4 MiB, many small and few large, touched in
//! clusters of neighbouring pages at a few places each, and beside them plain files read from start
//! to end. The mix is assumed and was chosen once, so what is judged is how the ratio falls: by how
//! much from one window to the next (within a factor of two), and that a window eight times as large
//! costs at most a quarter more memory.

use ahead_disks::DiskModel;
use ahead_policy::kernel::Advice;
use ahead_policy::units::{PAGE_BYTES, PageCount};
use ahead_sim::queue::QueueSettings;
use ahead_sim::report::Report;
use ahead_sim::workload::random::{below, mix};
use ahead_sim::world::{FileSpec, Job, Machine, Process, Step};

use super::{Figure, ReproduceError, float, run};
use crate::chart::{BarChart, Chart};
use crate::parallel;
use crate::verdict::Row;

/// Window in KiB; MB used and MB read under X.
const PUBLISHED: [(u64, f64, f64); 3] = [
    (128, 143.0, 230.0),
    (512, 138.0, 248.0),
    (1024, 130.0, 253.0),
];

/// Console: 30 of 56 MB with 128 KiB, 30 of 59 MB with 1 MiB.
const CONSOLE_GROWTH: f64 = 59.0 / 56.0;

/// Mapped files of a desktop session, and how many of them have this size in KiB.
const MAPPED: [(u64, u64); 5] = [(16, 120), (64, 200), (256, 160), (1024, 60), (4096, 12)];

/// Places of a mapped file that are touched: one, and one more for so many pages.
const PAGES_PER_PLACE: u64 = 48;

/// Neighbouring pages touched at a place, at most.
const CLUSTER_PAGES: u64 = 16;

/// Plain files, read whole in 32 KiB: how many, and KiB.
const PLAIN: (u64, u64) = (1500, 24);

const SEED: u64 = 2010;

fn number(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The steps that use one mapped file, which is in slot and area `file`.
fn touches(file: u64, pages: u64) -> Vec<Step> {
    let places = 1 + pages / PAGES_PER_PLACE;
    let mut steps = vec![
        Step::Open {
            slot: number(file),
            file: number(file),
        },
        Step::Map {
            area: number(file),
            slot: number(file),
            start: 0,
            pages,
            advice: Advice::Normal,
            executable: false,
        },
    ];
    steps.extend((0..places).map(|place| {
        let seed = SEED ^ mix(file);
        let length = 1 + below(seed, place, CLUSTER_PAGES.min(pages));
        // The first place is the file's head, where the loader looks.
        let first = if place == 0 {
            0
        } else {
            below(mix(seed), place, pages - length + 1)
        };
        Step::Touch {
            area: number(file),
            page: first,
            pages: length.min(pages - first),
        }
    }));
    steps
}

fn job() -> Job {
    let mut files = Vec::new();
    let mut steps = Vec::new();
    for (kib, count) in MAPPED {
        for _ in 0..count {
            let pages = kib * 1024 / PAGE_BYTES;
            let number = files.len() as u64;
            files.push(FileSpec::contiguous(kib * 1024));
            steps.push(touches(number, pages));
        }
    }
    let (plain, kib) = PLAIN;
    for _ in 0..plain {
        let slot = number(files.len() as u64);
        files.push(FileSpec::contiguous(kib * 1024));
        steps.push(vec![
            Step::Open { slot, file: slot },
            Step::Read {
                slot,
                offset: 0,
                length: 32 * 1024,
            },
            Step::Close { slot },
        ]);
    }
    // A session opens large and small, mapped and plain files in no order of size.
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|place| mix(SEED ^ *place as u64));
    let program: Vec<Step> = order
        .into_iter()
        .flat_map(|place| std::mem::take(&mut steps[place]))
        .collect();
    let program = ahead_sim::world::Listed::new(program);
    Job {
        files,
        processes: vec![Process::new("session", Vec::new(), program)],
        ..Job::default()
    }
}

fn machine() -> Machine {
    Machine {
        folio_order_max: 0,
        fault_around_pages: 1,
        queue: QueueSettings::linux_2_6_18(),
        // Nothing is evicted: the mail counts what was read and never used.
        ..Machine::modern(DiskModel::hdd(), PageCount::new(1 << 18))
    }
}

/// Used and read, in bytes, and the ratio in percent.
fn ratio(report: &Report) -> (f64, f64, f64) {
    let read = float(report.prefetch.pages * PAGE_BYTES);
    let used = float(report.prefetch.useful * PAGE_BYTES);
    (used, read, used / read * 100.0)
}

/// The figure.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure() -> Result<Figure, ReproduceError> {
    let reports = parallel::map(&PUBLISHED, |(kib, ..)| {
        run(&machine(), &format!("linux-2.6.31:ra_kb={kib}"), &job())
    });
    let reports: Vec<Report> = reports.into_iter().collect::<Result<_, _>>()?;
    let ours: Vec<_> = reports.iter().map(ratio).collect();
    let theirs = PUBLISHED.map(|(_, used, read)| used / read * 100.0);
    let mut rows: Vec<Row> = PUBLISHED
        .iter()
        .zip(&ours)
        .zip(theirs)
        .map(|(((kib, ..), ours), theirs)| {
            Row::context(format!("{kib} KiB: used of what was read, %"), theirs, ours.2, 0)
                .because("the mix is assumed")
        })
        .collect();
    let points = |from: usize, to: usize| (theirs[from] - theirs[to], ours[from].2 - ours[to].2);
    for (from, to, what) in [
        (0, 1, "128 to 512 KiB: points lost"),
        (1, 2, "512 to 1024 KiB: points lost"),
        (0, 2, "128 to 1024 KiB: points lost"),
    ] {
        let (theirs, ours) = points(from, to);
        rows.push(Row::within(what, theirs, ours, (0.5, 2.0), 1));
    }
    let growth = ours[2].1 / ours[0].1;
    rows.push(Row::statement(
        "1024 instead of 128 KiB: memory read, times",
        format!(
            "{:.2} under X, {CONSOLE_GROWTH:.2} on a console",
            PUBLISHED[2].2 / PUBLISHED[0].2
        ),
        format!("{growth:.2}"),
        (1.0..=1.25).contains(&growth),
    ));
    let chart = BarChart {
        title: "Used of what was read ahead, over the window".to_owned(),
        y_label: "%".to_owned(),
        groups: PUBLISHED.map(|(kib, ..)| format!("{kib} KiB")).to_vec(),
        bars: vec![
            ("published".to_owned(), theirs.to_vec()),
            (
                "simulated".to_owned(),
                ours.iter().map(|(.., ratio)| *ratio).collect(),
            ),
        ],
    };
    Ok(Figure {
        name: "hit-ratio-2010",
        title: "what larger windows of read-around leave unused".to_owned(),
        source: "Wu Fengguang, \"512KB default readahead size\", linux-mm, February 2010"
            .to_owned(),
        rows,
        charts: vec![("hit-ratio-2010".to_owned(), Chart::Bars(chart))],
        notes: vec![format!(
            "Assumed session: {} mapped files of 16 KiB to 4 MiB touched in clusters of up to {} \
             pages, one place and one more for every {} pages, and {} plain files of {} KiB read \
             whole; read {:.0}, {:.0} and {:.0} MB (published: 230, 248 and 253).",
            MAPPED.iter().map(|(_, count)| count).sum::<u64>(),
            CLUSTER_PAGES,
            PAGES_PER_PLACE,
            PLAIN.0,
            PLAIN.1,
            ours[0].1 / 1e6,
            ours[1].1 / 1e6,
            ours[2].1 / 1e6
        )],
    })
}
