//! Many sequential streams at once: two files in turn, thirty segments of one, hundreds of slow
//! readers in little memory. All from the mail that announced V3 (November 2005).
//!
//! * `diff` of two large files: 33.6 → 26.0 s. Both are read in turn, 4 KiB each time. How large
//!   they were is not said; the ratio of the two times is what is compared.
//! * `lftp pget` in 30 segments: 126.9 → 63.9 s. Thirty connections, so thirty processes of a server,
//!   each with its own thirtieth of one file, 32 KiB each time. What the client writes meanwhile is
//!   left out.
//! * 800 streams of 1 KB/s with 64 MB of memory: under ARA 191 of 128 500 windows were lost before
//!   they were read, and 409 948 of 410 126 pages were read; stock handles about 70 streams. Of the
//!   64 MB, 48 are left to the cache by the kernel and 800 processes (assumed). A stream is handled
//!   when less than 1 % of the pages read ahead are lost.
//!
//! Bounds are the two published runs of each test (they differ by 0.2 to 1 %), twice the root of a count, and
//! "about 70", which is 65 to 75. The disk is not described, so that the size of a gain can hardly hold; that
//! there is one is a row of its own.

use ahead_replicas::kernel::Class;
use ahead_sim::report::WorldReport;
use ahead_sim::world::Machine;
use ahead_workload::Workload;
use ahead_workload::{FileSpec, Job, Process, Step};

use super::arms::{ARA, BOTH_STOCK, OURS, STOCK, STOCK_LARGE, faster, seconds, time_ratio};
use super::machines;
use crate::figure::{Figure, ModelKnobs, ReproduceError, float, run};
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::{AllowedRange, FigureRow};

/// Times of stock and ARA, two runs each.
const TWO_FILES_S: [(f64, f64); 2] = [(33.56, 33.68), (25.82, 26.08)];
const SEGMENTS_S: [(f64, f64); 2] = [(126.77, 126.97), (63.73, 64.01)];

const SEGMENTS: u64 = 30;
const SEGMENT_MIB: u64 = 32;

/// Page cache of a machine with 64 MB.
const SMALL_CACHE_MIB: u64 = 48;

/// Streams tried, and how long they run: 410 126 pages are 2050 s of 800 streams.
const STREAMS: [u64; 19] = [
    20, 35, 50, 60, 65, 70, 75, 80, 100, 120, 130, 140, 150, 160, 180, 190, 200, 400, 800,
];
const SECONDS: u64 = 2_050;

/// Lost pages of those read ahead that a handled stream may have.
const LOST: f64 = 0.01;

pub(super) fn add(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    interleaved(figure, knobs)?;
    slow(figure, knobs)
}

/// Thirty processes with one file, each with its own part.
fn segments() -> Job {
    const LENGTH: u64 = 32 << 10;
    let part = SEGMENT_MIB << 20;
    let process = |segment: u64| {
        let program = (0..part / LENGTH).map(move |index| Step::Read {
            slot: 0,
            offset: segment * part + index * LENGTH,
            length: LENGTH,
        });
        Process::new(format!("segment {segment}"), vec![0], program)
    };
    Job {
        files: vec![FileSpec::contiguous(part * SEGMENTS)],
        processes: (0..SEGMENTS).map(process).collect(),
        ..Job::default()
    }
}

fn two_files() -> Job {
    let work = Workload::Separate {
        file_mib: 512,
        streams: 2,
        read_kib: 4,
    };
    work.job(0)
}

/// Name, job, and published times of stock and ARA.
type Kind = (&'static str, fn() -> Job, [(f64, f64); 2]);

fn interleaved(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    let kinds: [Kind; 2] = [
        ("two large files in turn", two_files, TWO_FILES_S),
        ("30 segments of one file", segments, SEGMENTS_S),
    ];
    let policies = [STOCK, STOCK_LARGE, ARA, OURS];
    let cells: Vec<_> = kinds
        .iter()
        .flat_map(|(_, job, _)| policies.map(|policy| (policy, *job)))
        .collect();
    let reports: Vec<WorldReport> = parallel::map(&cells, |(policy, job)| {
        run(&machines::dual_xeon(knobs), policy, &job())
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    for (reports, (name, _, published)) in reports.chunks(policies.len()).zip(kinds) {
        let [stock, large, ara, ours] = reports else {
            continue;
        };
        let [before, after] = published;
        figure.rows.push(faster(
            format!("{name}, ARA beside stock"),
            0.01,
            ara,
            stock,
        ));
        figure.rows.push(
            FigureRow::within(
                format!("{name}, time of ARA over stock"),
                (after.0 + after.1) / (before.0 + before.1),
                AllowedRange::of(after.0 / before.1, after.1 / before.0, "two runs of each"),
                time_ratio(ara, stock),
                (BOTH_STOCK, 1.0),
                3,
            )
            .because(format!(
                "{:.1} and {:.1} s; stock with 1 MiB {:.1} s, adaptive {:.1} s",
                seconds(ara),
                seconds(stock),
                seconds(large),
                seconds(ours)
            ))
            .or_because("the disk is another one"),
        );
    }
    Ok(())
}

/// Nanoseconds within which the streams of a staggered start begin.
const START_NS: u64 = 60_000_000_000;

/// The same streams, begun one after the other within a minute: what a shell that starts hundreds of
/// programs may take.
fn staggered(
    policy: &str,
    streams: u64,
    knobs: &ModelKnobs,
) -> Result<WorldReport, ReproduceError> {
    const PERIOD_NS: u64 = 1_000_000_000;
    let file = FileSpec::contiguous(SECONDS << 10);
    let process = |stream: u64| {
        let start_ns = knobs.whole(machines::STARTS, START_NS) * stream / streams;
        let program = (0..SECONDS).flat_map(move |index| {
            let ns = start_ns + index * PERIOD_NS;
            let read = Step::Read {
                slot: 0,
                offset: index << 10,
                length: 1 << 10,
            };
            [Step::At { ns }, read]
        });
        let own = u32::try_from(stream).unwrap_or(0);
        Process::new(format!("stream {stream}"), vec![own], program)
    };
    let job = Job {
        files: (0..streams).map(|_| file.clone()).collect(),
        processes: (0..streams).map(process).collect(),
        ..Job::default()
    };
    run(&small_machine(knobs), policy, &job)
}

fn small_machine(knobs: &ModelKnobs) -> Machine {
    machines::with_memory(knobs.whole(machines::SMALL_CACHE, SMALL_CACHE_MIB), knobs)
}

fn slow_streams(
    policy: &str,
    streams: u64,
    knobs: &ModelKnobs,
) -> Result<WorldReport, ReproduceError> {
    let work = Workload::Streams {
        streams,
        bytes_per_s: 1024,
        read_kib: 1,
        seconds: SECONDS,
    };
    run(&small_machine(knobs), policy, &work.job(0))
}

/// Share of the pages read ahead that were evicted unread: everything is wanted in the end.
fn lost(report: &WorldReport) -> f64 {
    float(report.prefetch.wasted) / float(report.prefetch.pages.max(1))
}

fn slow(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    let policies = [STOCK, ARA, OURS];
    let cells: Vec<_> = policies
        .iter()
        .flat_map(|policy| STREAMS.map(|streams| (*policy, streams)))
        .collect();
    let reports: Vec<WorldReport> = parallel::map(&cells, |(policy, streams)| {
        slow_streams(policy, *streams, knobs)
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    let of: Vec<&[WorldReport]> = reports.chunks(STREAMS.len()).collect();
    let [stock, ara, ours] = of[..] else {
        return Ok(());
    };
    let handled = |reports: &[WorldReport]| {
        let good = reports.iter().zip(STREAMS);
        let good = good.take_while(|(report, _)| lost(report) < LOST);
        good.last().map_or(0, |(_, streams)| streams)
    };
    figure.rows.push(
        FigureRow::within(
            "streams of 1 KB/s in 64 MB that stock handles",
            70.0,
            AllowedRange::of(65.0, 75.0, "\"about 70\""),
            float(handled(stock)),
            ("ARA on both sides", float(handled(ara))),
            0,
        )
        .because(format!(
            "less than 1 % of the pages lost; of {STREAMS:?}; ARA {}, adaptive {}",
            handled(ara),
            handled(ours)
        ))
        .or_because("what is left of 64 MB to the cache is not known"),
    );
    if let (Some(stock), Some(ara), Some(ours)) = (stock.last(), ara.last(), ours.last()) {
        all_of_them(figure, "", [stock, ara, ours]);
    }
    let policies = [STOCK, ARA, OURS];
    let late: Vec<WorldReport> = parallel::map(&policies, |policy| staggered(policy, 800, knobs))
        .into_iter()
        .collect::<Result<_, _>>()?;
    if let [stock, ara, ours] = &late[..] {
        all_of_them(figure, ", begun within a minute", [stock, ara, ours]);
    }
    let line = |name: &str, reports: &[WorldReport]| Series {
        name: name.to_owned(),
        points: STREAMS
            .iter()
            .zip(reports)
            .map(|(streams, report)| (float(*streams), 100.0 * lost(report)))
            .collect(),
        style: Style::Line,
    };
    figure.charts.push((
        "ara-2006-streams".to_owned(),
        Chart::Lines(LineChart {
            title: "Streams of 1 KB/s in 64 MB: pages lost before they were read".to_owned(),
            x_label: "streams".to_owned(),
            y_label: "% of the pages read ahead".to_owned(),
            x_scale: Scale::Logarithmic,
            series: vec![
                line("stock", stock),
                line("ARA", ara),
                line("adaptive", ours),
            ],
            ..LineChart::default()
        }),
    ));
    Ok(())
}

fn all_of_them(figure: &mut Figure, starts: &str, [stock, ara, ours]: [&WorldReport; 3]) {
    // A stream begins once: whoever begins again has lost the first window.
    let windows = |report: &WorldReport| {
        let of = |class| report.class(class).map_or(0, |class| class.windows);
        let lost = of(Class::Thrash) + of(Class::Initial).saturating_sub(800);
        (lost, report.all_classes().windows)
    };
    let percent = |report: &WorldReport| {
        let (lost, all) = windows(report);
        100.0 * float(lost) / float(all.max(1))
    };
    let (lost_windows, all) = windows(ara);
    let of_all = 100.0 / 128_500.0;
    let off = 2.0 * 191.0_f64.sqrt();
    figure.rows.push(
        FigureRow::within(
            format!("800 streams of 1 KB/s in 64 MB{starts}, windows of ARA that were lost, %"),
            191.0 * of_all,
            AllowedRange::of(
                (191.0 - off) * of_all,
                (191.0 + off) * of_all,
                "twice the root of 191",
            ),
            percent(ara),
            (BOTH_STOCK, percent(stock)),
            2,
        )
        .because(format!("{lost_windows} of {all} windows")),
    );
    // The patch counts pages read ahead, and of those the ones that were read.
    let used = |report: &WorldReport| {
        let prefetch = report.prefetch;
        100.0 * float(prefetch.useful) / float(prefetch.pages.max(1))
    };
    let unused = 410_126.0 - 409_948.0;
    let left = |unused: f64| 100.0 - 100.0 * unused / 410_126.0;
    let off = 2.0 * f64::sqrt(unused);
    figure.rows.push(
        FigureRow::within(
            format!(
                "800 streams of 1 KB/s in 64 MB{starts}, pages of ARA's windows that were read, %"
            ),
            left(unused),
            AllowedRange::of(
                left(unused + off),
                left(unused - off),
                "twice the root of the 178 that were not",
            ),
            used(ara),
            (BOTH_STOCK, used(stock)),
            2,
        )
        .because(format!("adaptive {:.2} %", used(ours)))
        .or_because("the first windows of all streams together are larger than memory"),
    );
}
