//! What Christian Ehrhardt saw on a mainframe, in his answer to "512KB default readahead size" (2010): 1 to
//! 64 processes of iozone, each reading a file in order.
//!
//! Published are sentences: 512 KiB "is by far superior to 128 for sequential reads", "improvements ... up to
//! +35%", sizes "larger than 512 revealed to not be more useful but increasing the chance of thrashing in low
//! mem systems". Machine and disks are not described. The disk here is the EVA of the same thread, a fibre
//! channel array as mainframes have them, which was fitted to another test of it; so that there is a gain
//! and how large it is restate that fit; what can be tested is where it ends, and where memory does. The queue
//! hands requests of up to 512 KiB to the disk, as that kernel did.
//!
//! Little memory is 64 MiB of page cache for 64 readers: 1 MiB for each, which is what two windows of 512 KiB
//! take. The null models are the same window on both sides.

use ahead_disk_model::DiskModel;
use ahead_replicas::page_cache::Limit;
use ahead_sim::queue::{QueueSettings, Scheduler};
use ahead_sim::report::WorldReport;
use ahead_sim::world::Machine;
use ahead_units::PageCount;
use ahead_workload::Workload;

use crate::figure::{
    Figure, ModelKnobs, Parameter, ParameterOrigin, Publication, ReproduceError, float, run,
};
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::{FigureRow, Shown};

const READERS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
const WINDOWS_KIB: [u64; 4] = [128, 512, 1024, 2048];
const FILE_MIB: u64 = 32;

/// What two cells differ by without meaning it. The mail gives no repeats; Vivek Goyal's rows of the same
/// thread, which do not depend on the number of readers, differ by 2 %.
const NOISE: f64 = 1.02;

const SMALL: &str = "little memory";
const REQUEST: &str = "longest request";
const RECORD: &str = "record of iozone";

/// What the command line knows of it.
pub const PUBLICATION: Publication = Publication {
    name: "s390-2010",
    about: "1 to 64 readers on a mainframe: what 512 KiB bring, and what more than that does",
    parameters: PARAMETERS,
    compute: figure,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "the disk",
        value: "the EVA of streams-2010",
        origin: ParameterOrigin::Assumed,
        source: "not described; a fibre channel array of the same thread",
        turns: false,
    },
    Parameter {
        name: SMALL,
        value: "64 MiB of page cache",
        origin: ParameterOrigin::Assumed,
        source: "two windows of 512 KiB for each of 64 readers",
        turns: true,
    },
    Parameter {
        name: REQUEST,
        value: "512 KiB",
        origin: ParameterOrigin::Assumed,
        source: "the block layer of Linux 2.6",
        turns: true,
    },
    Parameter {
        name: RECORD,
        value: "64 KiB",
        origin: ParameterOrigin::Assumed,
        source: "not said",
        turns: true,
    },
];

fn machine(cache_mib: u64, knobs: &ModelKnobs) -> Machine {
    Machine {
        folio_order_max: 0,
        fault_around_pages: 1,
        queue: QueueSettings {
            device_depth: 1,
            merging: false,
            request_pages_max: knobs.whole(REQUEST, 128),
            ..QueueSettings::linux_2_6_18().with_scheduler(Scheduler::Slices {
                slice_ns: 16_000_000,
            })
        },
        ..Machine::modern(DiskModel::eva(), PageCount::new(cache_mib << 8))
    }
}

/// Pages that were evicted before they were read and had to be read again, in percent of those read ahead.
fn thrashed(report: &WorldReport) -> f64 {
    100.0 * float(report.prefetch.thrashed) / float(report.prefetch.pages.max(1))
}

fn mib_per_s(report: &WorldReport) -> f64 {
    float(report.bytes_per_second()) / float(1 << 20)
}

fn figure(knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    let mut plan = Vec::new();
    for kib in WINDOWS_KIB {
        plan.extend(READERS.map(|readers| (kib, readers, 4096, Limit::Machine)));
        for limit in [Limit::Machine, Limit::Group] {
            plan.push((kib, 64, knobs.whole(SMALL, 64), limit));
        }
    }
    let read_kib = knobs.whole(RECORD, 64);
    let reports = parallel::map(&plan, |&(kib, readers, cache_mib, limit)| {
        let work = Workload::Readers {
            file_mib: FILE_MIB,
            readers,
            read_kib,
        };
        run(
            &Machine {
                limit,
                ..machine(cache_mib, knobs)
            },
            &format!("linux-2.6.31:ra_kb={kib}"),
            &work.job(0),
        )
    });
    let reports: Vec<WorldReport> = reports.into_iter().collect::<Result<_, _>>()?;
    let windows: Vec<&[WorldReport]> = reports.chunks(READERS.len() + 2).collect();
    let rates: Vec<Vec<f64>> = windows
        .iter()
        .map(|reports| reports[..READERS.len()].iter().map(mib_per_s).collect())
        .collect();
    // Where memory is exceeded by what is in flight, and where read-ahead ends instead.
    let [lost, lost_in_group] = [0, 1].map(|place| -> Vec<f64> {
        let reports = windows
            .iter()
            .map(|reports| &reports[READERS.len() + place]);
        reports.map(thrashed).collect()
    });
    let series = WINDOWS_KIB.iter().zip(&rates).map(|(kib, rates)| Series {
        name: format!("{kib} KiB"),
        points: READERS
            .iter()
            .map(|readers| float(*readers))
            .zip(rates.iter().copied())
            .collect(),
        style: Style::Line,
    });
    let chart = LineChart {
        title: "Sequential readers over the window".to_owned(),
        x_label: "readers".to_owned(),
        y_label: "MiB/s".to_owned(),
        x_scale: Scale::Logarithmic,
        series: series.collect(),
        ..LineChart::default()
    };
    Ok(Figure {
        name: "s390-2010",
        title: "1 to 64 sequential readers, windows of 128 KiB to 2 MiB".to_owned(),
        source: "Christian Ehrhardt in \"512KB default readahead size\", linux-mm, February 2010"
            .to_owned(),
        rows: rows(&rates, &lost, &lost_in_group),
        charts: vec![("s390-2010".to_owned(), Chart::Lines(chart))],
        notes: vec![
            "Files of 32 MiB: rates do not depend on their length. Rules of Linux 2.6.31; each reader has the \
             disk for 16 ms at a time."
                .to_owned(),
        ],
        parameters: PARAMETERS,
    })
}

/// Gains in percent of one window over another, by readers.
fn gains(over: &[f64], under: &[f64]) -> Vec<f64> {
    let pairs = over.iter().zip(under);
    pairs
        .map(|(over, under)| 100.0 * (over / under - 1.0))
        .collect()
}

fn listed(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|value| format!("{value:+.0}")).collect();
    texts.join(" ")
}

fn rows(rates: &[Vec<f64>], lost: &[f64], lost_in_group: &[f64]) -> Vec<FigureRow> {
    let [small, default, double, four] = rates else {
        return Vec::new();
    };
    let gain = gains(default, small);
    let most = |gains: &[f64]| gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    const FIT: &str = "the array is fitted to the gain of another test of the thread";
    let mut rows = vec![
        FigureRow::shown(
            "512 over 128 KiB by readers (1 to 64), %",
            "by far superior",
            listed(&gain),
        )
        .as_fitted(FIT),
        FigureRow::fitted("the largest of these gains, %", 35.0, most(&gain), 0, FIT),
    ];
    for (kib, rates) in [(1024, double), (2048, four)] {
        let more = gains(rates, default);
        rows.push(
            FigureRow::judged(
                format!("{kib} over 512 KiB by readers, %"),
                "not more useful",
                "no faster than by 2 %, as rows of the same thread differ",
                &more,
                ("128 KiB as the window before", &gain),
                |gains| Shown::new(listed(gains), most(gains) <= 100.0 * (NOISE - 1.0)),
            )
            .because(
                "a request ends at 512 KiB, so that longer windows are more of the same requests",
            ),
        );
    }
    let percentages = |lost: &[f64]| {
        let texts: Vec<String> = lost.iter().map(|lost| format!("{lost:.1}")).collect();
        texts.join(" ")
    };
    let row = FigureRow::judged(
        "64 readers in 64 MiB: pages lost by window (128 to 2048 KiB), %",
        "larger windows increase the chance of thrashing",
        "more with 1024 than with 512 KiB, and more with 2048 (by a point, our reading)",
        lost,
        ("512 KiB on all sides", &vec![lost[1]; lost.len()][..]),
        |lost: &[f64]| {
            Shown::new(
                percentages(lost),
                lost[2] > lost[1] + 1.0 && lost[3] > lost[2] + 1.0,
            )
        },
    );
    let in_group = percentages(lost_in_group);
    rows.push(row.because(format!(
        "a reader takes what comes at once, so that most of what is unread is in flight, which nothing can evict, and \
         memory is exceeded; under the limit of a group, where read-ahead ends there instead: {in_group}"
    )));
    rows
}
