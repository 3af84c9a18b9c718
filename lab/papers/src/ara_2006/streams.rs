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
//! Ratios of times hold within 0.7 and 1.4: the disk is another one. The number of streams holds
//! within a factor of two, which is what is not known of the memory. The share of lost windows holds
//! up to 1 %, the share of pages read from 99 % on.

use ahead_replicas::kernel::Class;
use ahead_sim::report::WorldReport;
use ahead_workload::Workload;
use ahead_workload::{FileSpec, Job, Process, Step};

use super::arms::{ARA, OURS, STOCK, STOCK_LARGE, explained, seconds, time_ratio};
use super::machines;
use crate::figure::{Figure, ReproduceError, float, run};
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::FigureRow;

const TIME_RATIO: (f64, f64) = (0.7, 1.4);

/// Times of stock and ARA, means of two runs.
const TWO_FILES_S: (f64, f64) = (33.62, 25.95);
const SEGMENTS_S: (f64, f64) = (126.87, 63.87);

const SEGMENTS: u64 = 30;
const SEGMENT_MIB: u64 = 32;

/// Page cache of a machine with 64 MB.
const SMALL_CACHE_MIB: u64 = 48;

/// Streams tried, and how long they run: 410 126 pages are 2050 s of 800 streams.
const STREAMS: [u64; 11] = [20, 35, 50, 70, 85, 100, 120, 140, 200, 400, 800];
const SECONDS: u64 = 2_050;

/// Lost pages of those read ahead that a handled stream may have.
const LOST: f64 = 0.01;

pub(super) fn add(figure: &mut Figure) -> Result<(), ReproduceError> {
    interleaved(figure)?;
    slow(figure)
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
type Kind = (&'static str, fn() -> Job, (f64, f64));

fn interleaved(figure: &mut Figure) -> Result<(), ReproduceError> {
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
        run(&machines::dual_xeon(), policy, &job())
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    for (reports, (name, _, published)) in reports.chunks(policies.len()).zip(kinds) {
        let [stock, large, ara, ours] = reports else {
            continue;
        };
        figure.rows.push(
            FigureRow::within(
                format!("{name}, time of ARA over stock"),
                published.1 / published.0,
                time_ratio(ara, stock),
                TIME_RATIO,
                2,
            )
            .because(format!(
                "{:.1} and {:.1} s; stock with 1 MiB {:.1} s, adaptive {:.1} s",
                seconds(ara),
                seconds(stock),
                seconds(large),
                seconds(ours)
            )),
        );
    }
    Ok(())
}

fn slow_streams(policy: &str, streams: u64) -> Result<WorldReport, ReproduceError> {
    let work = Workload::Streams {
        streams,
        bytes_per_s: 1024,
        read_kib: 1,
        seconds: SECONDS,
    };
    run(
        &machines::with_memory(SMALL_CACHE_MIB),
        policy,
        &work.job(0),
    )
}

/// Share of the pages read ahead that were evicted unread: everything is wanted in the end.
fn lost(report: &WorldReport) -> f64 {
    float(report.prefetch.wasted) / float(report.prefetch.pages.max(1))
}

fn slow(figure: &mut Figure) -> Result<(), ReproduceError> {
    let policies = [STOCK, ARA, OURS];
    let cells: Vec<_> = policies
        .iter()
        .flat_map(|policy| STREAMS.map(|streams| (*policy, streams)))
        .collect();
    let reports: Vec<WorldReport> =
        parallel::map(&cells, |(policy, streams)| slow_streams(policy, *streams))
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
            float(handled(stock)),
            (0.5, 2.0),
            0,
        )
        .because(format!(
            "less than 1 % of the pages lost; of {STREAMS:?}; ARA {}, adaptive {}",
            handled(ara),
            handled(ours)
        )),
    );
    if let (Some(stock), Some(ara), Some(ours)) = (stock.last(), ara.last(), ours.last()) {
        all_of_them(figure, [stock, ara, ours]);
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

fn all_of_them(figure: &mut Figure, [stock, ara, ours]: [&WorldReport; 3]) {
    // A stream begins once: whoever begins again has lost the first window.
    let windows = |report: &WorldReport| {
        let of = |class| report.class(class).map_or(0, |class| class.windows);
        let lost = of(Class::Thrash) + of(Class::Initial).saturating_sub(800);
        (lost, report.all_classes().windows)
    };
    let (lost_windows, all) = windows(ara);
    figure.rows.push(
        FigureRow::within(
            "800 streams of 1 KB/s in 64 MB, windows of ARA that were lost, %",
            100.0 * 191.0 / 128_500.0,
            100.0 * float(lost_windows) / float(all.max(1)),
            (0.0, 0.01 * 128_500.0 / 191.0),
            2,
        )
        .because(format!("{lost_windows} of {all} windows")),
    );
    // The patch counts pages read ahead, and of those the ones that were read.
    let used = |report: &WorldReport| {
        let prefetch = report.prefetch;
        100.0 * float(prefetch.useful) / float(prefetch.pages.max(1))
    };
    let published = 100.0 * 409_948.0 / 410_126.0;
    let row = FigureRow::within(
        "800 streams of 1 KB/s in 64 MB, pages of ARA's windows that were read, %",
        published,
        used(ara),
        (99.0 / published, 100.0 / published),
        2,
    )
    .because(format!(
        "stock {:.2} %, adaptive {:.2} %",
        used(stock),
        used(ours)
    ));
    figure.rows.push(explained(
        row,
        "all streams begin within a second here, with 100 MB of first windows",
    ));
}
