//! "Improving Sequential Read on Oracle Cloud Infrastructure-Classic" (2017): queue depth is the
//! whole gain.
//!
//! fio reads 10 GiB of `/dev/xvdb` in order, 8 MiB each time, on Ubuntu 16.04. At 128 KiB of
//! read-ahead 449 MB/s and 18.69 ms for each read; at 4 MiB 1117 MB/s and 7.51 ms. From its disk
//! statistics follows (81 796 requests and 65 004 ms in 23.93 s; 80 248 and 239 780 ms in 9.61 s):
//! requests are 128 KiB in both runs, 2.7 and 25 of them are under way on average, and each takes
//! 0.79 and 2.99 ms.
//!
//! The volume takes 0.8 ms for a request alone and delivers 1.07 GiB/s at most; its requests end at
//! 128 KiB, and its ring holds 32. The kernel is taken to be 4.4, the one of Ubuntu 16.04,
//! whose rules are those of 3.12. fio tells it that a sequential job is sequential, unless
//! `fadvise_hint=0` says otherwise, and the kernel then doubles the window. Without that the figures
//! cannot be: two windows of 128 KiB are two requests, and 2.7 were under way. A row shows it.
//! What the kernel takes for a page follows from the faster run, 46.2 % of 9.61 s for 2 621 440
//! pages: 1.69 µs, spread over copy and insertion. 2 GiB are read, because the rate is steady after
//! the first megabytes.
//!
//! Bounds: rates, latencies and service times within 0.7 and 1.3, requests within 5 %, depth within
//! 0.6 and 1.5 (a mean that the counters of one second blur), the ratio of the rates within 0.75 and
//! 1.25.

use ahead_disk_model::DiskModel;
use ahead_replicas::kernel::Advice;
use ahead_sim::queue::QueueSettings;
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Costs, Machine};
use ahead_units::PageCount;
use ahead_workload::{FileSpec, Job, Process, Step};

use crate::figure::{Figure, ReproduceError, float, run};
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::FigureRow;

const FILE_BYTES: u64 = 2 << 30;

/// One read of fio.
const BLOCK: u64 = 8 << 20;

/// Windows in KiB; the first and the last are published.
const WINDOWS_KIB: [u64; 6] = [128, 256, 512, 1024, 2048, 4096];

/// What one run printed, and what follows from it.
struct Published {
    window_kib: u64,
    megabytes_per_s: f64,
    latency_ms: f64,
    request_kib: f64,
    depth: f64,
    service_ms: f64,
}

const PUBLISHED: [Published; 2] = [
    Published {
        window_kib: 128,
        megabytes_per_s: 449.0,
        latency_ms: 18.69,
        request_kib: 128.2,
        depth: 2.72,
        service_ms: 0.795,
    },
    Published {
        window_kib: 4096,
        megabytes_per_s: 1117.0,
        latency_ms: 7.51,
        request_kib: 130.7,
        depth: 24.9,
        service_ms: 2.988,
    },
];

const RATE: (f64, f64) = (0.7, 1.3);
const REQUEST: (f64, f64) = (0.95, 1.05);
const DEPTH: (f64, f64) = (0.6, 1.5);
const RATIO: (f64, f64) = (0.75, 1.25);

fn machine() -> Machine {
    let disk = DiskModel::oci();
    Machine {
        cpus: 2,
        folio_order_max: 0,
        costs: Costs {
            page_copy_ns: 1_200,
            page_insert_ns: 450,
            page_lookup_ns: 40,
            ..Costs::modern()
        },
        // A virtual disk without a scheduler: a ring of 32 requests, each up to 128 KiB.
        queue: QueueSettings {
            device_depth: 32,
            slots: Some(32),
            ..QueueSettings::linux_6_18_nvme()
        },
        ..Machine::modern(disk, PageCount::new(7 << 18))
    }
}

/// fio, with or without its hint.
fn fio(advice: Advice) -> Job {
    let reads = (0..FILE_BYTES / BLOCK).map(|index| Step::Read {
        slot: 0,
        offset: index * BLOCK,
        length: BLOCK,
    });
    let program = [Step::Advise { slot: 0, advice }].into_iter().chain(reads);
    Job {
        files: vec![FileSpec::contiguous(FILE_BYTES)],
        processes: vec![Process::new("fio", vec![0], program)],
        ..Job::default()
    }
}

fn depth(report: &WorldReport) -> f64 {
    float(report.depth_permille()) / 1000.0
}

fn service_ms(report: &WorldReport) -> f64 {
    float(report.device.waited_ns) / float(report.device.requests.max(1)) / 1e6
}

fn megabytes(report: &WorldReport) -> f64 {
    float(report.bytes_per_second()) / 1e6
}

/// The figure.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure() -> Result<Figure, ReproduceError> {
    let windows = WINDOWS_KIB.map(|kib| (format!("linux-3.12:ra_kb={kib}"), Advice::Sequential));
    let mut cells = windows.to_vec();
    cells.push((
        format!("linux-3.12:ra_kb={}", WINDOWS_KIB[0]),
        Advice::Normal,
    ));
    cells.push(("adaptive".to_owned(), Advice::Normal));
    let reports: Vec<WorldReport> = parallel::map(&cells, |(policy, advice)| {
        run(&machine(), policy, &fio(*advice))
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    let mut figure = Figure {
        name: "oci-2017",
        title: "Sequential reads of 8 MiB from a cloud volume at 128 KiB and 4 MiB".to_owned(),
        source: "Improving Sequential Read on Oracle Cloud Infrastructure-Classic instances of \
                 Ubuntu Linux (2017)"
            .to_owned(),
        ..Figure::default()
    };
    let at = |kib: u64| WINDOWS_KIB.iter().position(|window| *window == kib);
    for published in &PUBLISHED {
        if let Some(report) = at(published.window_kib).and_then(|place| reports.get(place)) {
            compare(&mut figure, published, report);
        }
    }
    let (small, large) = (&reports[0], &reports[WINDOWS_KIB.len() - 1]);
    figure.rows.push(FigureRow::within(
        "4 MiB over 128 KiB, rate",
        1117.0 / 449.0,
        megabytes(large) / megabytes(small),
        RATIO,
        2,
    ));
    if let [.., silent, ours] = &reports[..] {
        figure.rows.push(
            FigureRow::context(
                "128 KiB of read-ahead without fio's hint, MB/s",
                449.0,
                megabytes(silent),
                0,
            )
            .because(format!("{:.1} requests under way", depth(silent))),
        );
        figure.rows.push(
            FigureRow::statement(
                "adaptive without setting or hint, MB/s",
                "(ours)",
                format!("{:.0}", megabytes(ours)),
                megabytes(ours) >= 0.95 * megabytes(large),
            )
            .because(format!(
                "depth {:.1}; holds from 95 % of the rate with 4 MiB on",
                depth(ours)
            )),
        );
    }
    figure.notes.push(
        "fio's hint and the ring of 32 were added after a first run without them, in which the smaller \
         window gave 311 MB/s with 1.9 requests under way, and the larger 37 requests under way"
            .to_owned(),
    );
    figure.charts.push(picture(&reports));
    Ok(figure)
}

fn compare(figure: &mut Figure, published: &Published, report: &WorldReport) {
    let window = if published.window_kib < 1024 {
        format!("{} KiB", published.window_kib)
    } else {
        format!("{} MiB", published.window_kib >> 10)
    };
    let mut row = |what: &str, published: f64, simulated: f64, bounds: (f64, f64), digits| {
        let what = format!("{window} of read-ahead, {what}");
        figure.rows.push(FigureRow::within(
            what, published, simulated, bounds, digits,
        ));
    };
    row(
        "MB/s",
        published.megabytes_per_s,
        megabytes(report),
        RATE,
        0,
    );
    let latency = float(report.latency.mean_ns) / 1e6;
    row("mean latency in ms", published.latency_ms, latency, RATE, 2);
    let request = float(report.device.bytes) / float(report.device.requests.max(1)) / 1024.0;
    row(
        "mean request in KiB",
        published.request_kib,
        request,
        REQUEST,
        1,
    );
    row(
        "requests under way",
        published.depth,
        depth(report),
        DEPTH,
        1,
    );
    let service = service_ms(report);
    row(
        "time of a request in ms",
        published.service_ms,
        service,
        RATE,
        2,
    );
}

fn picture(reports: &[WorldReport]) -> (String, Chart) {
    let points = |of: fn(&WorldReport) -> f64| -> Vec<(f64, f64)> {
        let windows = WINDOWS_KIB.iter().zip(reports);
        windows
            .map(|(kib, report)| (float(*kib), of(report)))
            .collect()
    };
    let published = |of: fn(&Published) -> f64| -> Vec<(f64, f64)> {
        let runs = PUBLISHED.iter();
        runs.map(|run| (float(run.window_kib), of(run))).collect()
    };
    let line = |name: &str, points, style| Series {
        name: name.to_owned(),
        points,
        style,
    };
    let chart = LineChart {
        title: "A cloud volume: the window makes the depth, and the depth the rate".to_owned(),
        x_label: "read-ahead (KiB)".to_owned(),
        y_label: "rate (MB/s), and requests under way".to_owned(),
        x_scale: Scale::Logarithmic,
        y_scale: Scale::Logarithmic,
        series: vec![
            line("rate, simulated", points(megabytes), Style::Line),
            line(
                "rate, published",
                published(|run| run.megabytes_per_s),
                Style::Points,
            ),
            line("depth, simulated", points(depth), Style::Line),
            line(
                "depth, published",
                published(|run| run.depth),
                Style::Points,
            ),
        ],
        ..LineChart::default()
    };
    ("oci-2017".to_owned(), Chart::Lines(chart))
}
