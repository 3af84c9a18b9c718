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
//! Latency and bandwidth of the volume, the size of its requests and the ring are taken from the two runs,
//! so most rows restate them; what is left is the rate with the smaller window, and how the answers are
//! spread. Bounds are fio's own: the least and the most of its samples of bandwidth, and the percentiles
//! beside the one that is compared.

use ahead_disk_model::DiskModel;
use ahead_replicas::kernel::Advice;
use ahead_sim::queue::QueueSettings;
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Costs, Machine};
use ahead_units::PageCount;
use ahead_workload::random::{below, mix};
use ahead_workload::{FileSpec, Job, Process, Step};

use crate::figure::{
    Figure, ModelKnobs, Parameter, ParameterOrigin, Publication, ReproduceError, float, run,
};
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::{AllowedRange, FigureRow, Shown};

const FILE_BYTES: u64 = 2 << 30;

/// Places of random reads.
const SEED: u64 = 2017;

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

/// What the command line knows of it.
pub const PUBLICATION: Publication = Publication {
    name: "oci-2017",
    about: "sequential reads of 8 MiB from a cloud volume, 128 KiB and 4 MiB: one rate predicted, the rest fitted",
    parameters: PARAMETERS,
    compute: figure,
};

const COPY: &str = "processor time to copy a page";
const INSERT: &str = "processor time to insert a page";
const RING: &str = "requests in the ring";

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "latency of the volume",
        value: "0.8 ms",
        origin: ParameterOrigin::Fitted,
        source: "the disk statistics of the run with 128 KiB",
        turns: false,
    },
    Parameter {
        name: "bandwidth of the volume",
        value: "1.07 GiB/s",
        origin: ParameterOrigin::Fitted,
        source: "the rate of the run with 4 MiB",
        turns: false,
    },
    Parameter {
        name: "longest request",
        value: "128 KiB",
        origin: ParameterOrigin::Fitted,
        source: "the disk statistics of both runs",
        turns: false,
    },
    Parameter {
        name: RING,
        value: "32",
        origin: ParameterOrigin::Fitted,
        source: "added after a first run without it had 37 requests under way",
        turns: true,
    },
    Parameter {
        name: COPY,
        value: "1.2 µs",
        origin: ParameterOrigin::Derived,
        source: "46.2 % of 9.61 s for 2 621 440 pages, a part of 1.69 µs",
        turns: true,
    },
    Parameter {
        name: INSERT,
        value: "0.45 µs",
        origin: ParameterOrigin::Derived,
        source: "the rest of the 1.69 µs",
        turns: true,
    },
    Parameter {
        name: "fio's hint that it reads in order",
        value: "given",
        origin: ParameterOrigin::Fitted,
        source: "fio's default; without it 1.9 requests are under way instead of 2.7",
        turns: false,
    },
];

fn machine(knobs: &ModelKnobs) -> Machine {
    let disk = DiskModel::oci();
    let ring = u32::try_from(knobs.whole(RING, 32)).unwrap_or(32);
    Machine {
        cpus: 2,
        folio_order_max: 0,
        costs: Costs {
            page_copy_ns: knobs.whole(COPY, 1_200),
            page_insert_ns: knobs.whole(INSERT, 450),
            page_lookup_ns: 40,
            ..Costs::modern()
        },
        // A virtual disk without a scheduler: a ring of 32 requests, each up to 128 KiB.
        queue: QueueSettings {
            device_depth: ring,
            slots: Some(ring),
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

fn figure(knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    let windows = WINDOWS_KIB.map(|kib| (format!("linux-3.12:ra_kb={kib}"), Advice::Sequential));
    let mut cells = windows.to_vec();
    cells.push((
        format!("linux-3.12:ra_kb={}", WINDOWS_KIB[0]),
        Advice::Normal,
    ));
    cells.push(("adaptive".to_owned(), Advice::Normal));
    let reports: Vec<WorldReport> = parallel::map(&cells, |(policy, advice)| {
        run(&machine(knobs), policy, &fio(*advice))
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    let mut figure = Figure {
        name: "oci-2017",
        title: "Sequential reads of 8 MiB from a cloud volume at 128 KiB and 4 MiB".to_owned(),
        source: "Improving Sequential Read on Oracle Cloud Infrastructure-Classic instances of \
                 Ubuntu Linux (2017)"
            .to_owned(),
        parameters: PARAMETERS,
        ..Figure::default()
    };
    let (small, large) = (&reports[0], &reports[WINDOWS_KIB.len() - 1]);
    judged(&mut figure, small, large);
    for (published, report) in PUBLISHED.iter().zip([small, large]) {
        restated(&mut figure, published, report);
    }
    figure.rows.push(FigureRow::fitted(
        "4 MiB over 128 KiB, rate",
        1117.0 / 449.0,
        megabytes(large) / megabytes(small),
        2,
        "of the two rates",
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
            FigureRow::ours(
                "adaptive without setting or hint, MB/s",
                "95 % of the rate with 4 MiB",
                Shown::new(
                    format!("{:.0}", megabytes(ours)),
                    megabytes(ours) >= 0.95 * megabytes(large),
                ),
            )
            .because(format!("depth {:.1}", depth(ours))),
        );
    }
    figure.notes.push(
        "fio's hint and the ring of 32 were added after a first run without them, in which the smaller \
         window gave 311 MB/s with 1.9 requests under way, and the larger 37 requests under way"
            .to_owned(),
    );
    small_reads(&mut figure, knobs)?;
    figure.notes.push(
        "The article says that every read fetches 128 KiB, even one of 1 KiB. The kernel does not: the \
         first window after a small read at the start of a file has 16 KiB."
            .to_owned(),
    );
    figure.charts.push(picture(&reports));
    Ok(figure)
}

/// Files of which a read of 1 KiB is made, and their length.
const MANY_FILES: u64 = 4_000;
const MANY_BYTES: u64 = 16 << 20;

/// One read of 1 KiB from each of very many large files.
fn many_files() -> Job {
    let program = (0..MANY_FILES).flat_map(|file| {
        let file = u32::try_from(file).unwrap_or(0);
        [
            Step::Open { slot: 0, file },
            Step::Read {
                slot: 0,
                offset: 0,
                length: 1 << 10,
            },
            Step::Close { slot: 0 },
        ]
    });
    Job {
        files: (0..MANY_FILES)
            .map(|_| FileSpec::contiguous(MANY_BYTES))
            .collect(),
        processes: vec![Process::new("small reads", Vec::new(), program)],
        ..Job::default()
    }
}

/// A read of 4 KiB anywhere, and then one that falls within the next `window` bytes.
fn near_pairs(window: u64) -> Job {
    const FILE: u64 = 8 << 30;
    const PAGE: u64 = 4 << 10;
    let read = |page: u64| Step::Read {
        slot: 0,
        offset: page * PAGE,
        length: PAGE,
    };
    let program = (0..2_000).flat_map(move |index| {
        let page = below(SEED, index, (FILE - window) / PAGE);
        // Not the page itself, and not the next one, which would be a read in order.
        let near = 2 + below(mix(SEED), index, window / PAGE - 2);
        [read(page), read(page + near)]
    });
    Job {
        files: vec![FileSpec::contiguous(FILE)],
        processes: vec![Process::new("pairs", vec![0], program)],
        ..Job::default()
    }
}

/// What the article says about everybody else: reads of 1 KiB from very many large files, and random reads that
/// fall within a window.
fn small_reads(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    const WINDOW: u64 = 4 << 20;
    let policies = ["linux-3.12:ra_kb=128", "linux-3.12:ra_kb=4096"];
    let cells = [
        (policies[0], false),
        (policies[1], false),
        (policies[0], true),
        (policies[1], true),
    ];
    let reports: Vec<WorldReport> = parallel::map(&cells, |(policy, pairs)| {
        let job = if *pairs {
            near_pairs(WINDOW)
        } else {
            many_files()
        };
        run(&machine(knobs), policy, &job)
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    let [small, large, small_pairs, large_pairs] = &reports[..] else {
        return Ok(());
    };
    let kib = |report: &WorldReport| float(report.device.bytes >> 10) / float(MANY_FILES);
    figure.rows.push(
        FigureRow::judged(
            "one read of 1 KiB from each of 4000 files, cache filled for each, KiB",
            "each would fill 4 MiB",
            "at least half of it (our reading)",
            &kib(large),
            ("128 KiB on both sides", &kib(small)),
            |kib| Shown::new(format!("{kib:.0}"), *kib >= 2048.0),
        )
        .or_refuted(
            "the first window after a small read has four pages, whatever the limit: it grows only when the \
             reader goes on",
        ),
    );
    let latency = |report: &WorldReport| float(report.latency.mean_ns) / 1e3;
    figure.rows.push(
        FigureRow::judged(
            "random reads, each followed by one within the next 4 MiB: mean time of a read, µs",
            "would also benefit from 4 MiB",
            "a tenth faster than with 128 KiB (our reading)",
            &latency(large_pairs),
            ("128 KiB on both sides", &latency(small_pairs)),
            |us| Shown::new(format!("{us:.0}"), *us <= 0.9 * latency(small_pairs)),
        )
        .or_refuted(
            "a read that continues nothing makes no window, so nothing is there to fall into",
        ),
    );
    Ok(())
}

/// What the two runs were not used for.
fn judged(figure: &mut Figure, small: &WorldReport, large: &WorldReport) {
    let samples = AllowedRange::of(
        344_064.0 * 1024.0 / 1e6,
        458_752.0 * 1024.0 / 1e6,
        "fio's samples of the bandwidth, least and most",
    );
    figure.rows.push(
        FigureRow::within(
            "128 KiB of read-ahead, MB/s",
            449.0,
            samples,
            megabytes(small),
            ("4 MiB on both sides", megabytes(large)),
            0,
        )
        .or_because(
            "two windows of 256 KiB are always under way here; there it was 2.7 requests of four",
        ),
    );
    let p99_ms = |report: &WorldReport| float(report.latency.p99_ns) / 1e6;
    for (window, published, low, high, report, other) in [
        ("128 KiB", 27.395, 21.365, 28.443, small, large),
        ("4 MiB", 11.863, 8.979, 13.304, large, small),
    ] {
        let spread = AllowedRange::of(low, high, "95 and 99.5 of 100");
        let null = ("the other window", p99_ms(other));
        let what = format!("{window} of read-ahead, 99 of 100 answers within, ms");
        figure.rows.push(
            FigureRow::within(what, published, spread, p99_ms(report), null, 1).or_because(
                "a modelled volume answers every request alike; a real one has neighbours",
            ),
        );
    }
}

/// What follows from the parameters, or from another row.
fn restated(figure: &mut Figure, published: &Published, report: &WorldReport) {
    let is_small = published.window_kib < 1024;
    let window = if is_small {
        format!("{} KiB", published.window_kib)
    } else {
        format!("{} MiB", published.window_kib >> 10)
    };
    let mut row = |what: &str, published: f64, simulated: f64, digits, parameter: &str| {
        let what = format!("{window} of read-ahead, {what}");
        figure.rows.push(FigureRow::fitted(
            what, published, simulated, digits, parameter,
        ));
    };
    if !is_small {
        let rate = "the bandwidth of the volume";
        row(
            "MB/s",
            published.megabytes_per_s,
            megabytes(report),
            0,
            rate,
        );
    }
    let latency = float(report.latency.mean_ns) / 1e6;
    row(
        "mean latency in ms",
        published.latency_ms,
        latency,
        2,
        "8 MiB over the rate",
    );
    let request = float(report.device.bytes) / float(report.device.requests.max(1)) / 1024.0;
    row(
        "mean request in KiB",
        published.request_kib,
        request,
        1,
        "the longest request",
    );
    let under_way = if is_small {
        "the rate, times the latency of the volume"
    } else {
        "the ring"
    };
    row(
        "requests under way",
        published.depth,
        depth(report),
        1,
        under_way,
    );
    let service = service_ms(report);
    let time = "latency of the volume, or requests under way over the rate";
    row(
        "time of a request in ms",
        published.service_ms,
        service,
        2,
        time,
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
