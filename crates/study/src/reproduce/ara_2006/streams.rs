//! Many sequential streams at once: two files in turn, thirty segments of one, hundreds of slow
//! readers in little memory. All from the mail that announced V3 (November 2005).
//!
//! * `diff` of two large files: 33.6 → 26.0 s. Both are read in turn, 4 KiB each time. How large
//!   they were is not said; the ratio of the two times is what is compared.
//! * `lftp pget` in 30 segments: 126.9 → 63.9 s. Thirty descriptors of one file, each with its own
//!   thirtieth, read in turn, 32 KiB each time; what is written meanwhile is left out.
//! * 800 streams of 1 KB/s with 64 MB of memory: under ARA 191 of 128 500 windows were lost before
//!   they were read, and 409 948 of 410 126 pages were there; stock handles about 70 streams. Of the
//!   64 MB, 48 are left to the cache by the kernel and 800 processes (assumed). A stream is handled
//!   when less than 1 % of the pages read ahead are lost.
//!
//! Ratios of times hold within 0.7 and 1.4: the disk is another one. The number of streams holds
//! within a factor of two, which is what is not known of the memory. The share of lost windows holds
//! up to 1 %, the share of pages found from 99 % on.

use ahead_policy::kernel::Class;
use ahead_sim::report::Report;
use ahead_sim::workload::Workload;
use ahead_sim::world::{FileSpec, Job, Process, Step};

use super::{ARA, Figure, OURS, ReproduceError, STOCK, STOCK_LARGE, float, machines, seconds};
use super::time_ratio;
use crate::chart::{Chart, LineChart, Scale, Series, Style};
use crate::parallel;
use crate::reproduce::run;
use crate::verdict::Row;

const TIME_RATIO: (f64, f64) = (0.7, 1.4);

/// Times of stock and ARA, means of two runs.
const TWO_FILES_S: (f64, f64) = (33.62, 25.95);
const SEGMENTS_S: (f64, f64) = (126.87, 63.87);

const SEGMENTS: u64 = 30;
const SEGMENT_MIB: u64 = 32;

/// Page cache of a machine with 64 MB.
const SMALL_CACHE_MIB: u64 = 48;

/// Streams tried, and how long they run: long enough for the cache to turn over several times.
const STREAMS: [u64; 11] = [10, 20, 30, 40, 50, 70, 100, 150, 200, 400, 800];
const STREAM_BYTES: u64 = 200_000_000;

/// Lost pages of those read ahead that a handled stream may have.
const LOST: f64 = 0.01;

pub(super) fn add(figure: &mut Figure) -> Result<(), ReproduceError> {
    interleaved(figure)?;
    slow(figure)
}

/// Thirty descriptors of one file, each with its own part, read in turn.
fn segments() -> Job {
    const LENGTH: u64 = 32 << 10;
    let part = SEGMENT_MIB << 20;
    let slot = |segment| u32::try_from(segment).unwrap_or(0);
    let program = (0..part / LENGTH * SEGMENTS).map(move |index| {
        let (round, segment) = (index / SEGMENTS, index % SEGMENTS);
        Step::Read {
            slot: slot(segment),
            offset: segment * part + round * LENGTH,
            length: LENGTH,
        }
    });
    Job {
        files: vec![FileSpec::contiguous(part * SEGMENTS)],
        processes: vec![Process::new("pget", vec![0; 30], program)],
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

fn interleaved(figure: &mut Figure) -> Result<(), ReproduceError> {
    let kinds: [(&str, fn() -> Job, (f64, f64)); 2] = [
        ("two large files in turn", two_files, TWO_FILES_S),
        ("30 segments of one file", segments, SEGMENTS_S),
    ];
    let policies = [STOCK, STOCK_LARGE, ARA, OURS];
    let cells: Vec<_> = kinds
        .iter()
        .flat_map(|(_, job, _)| policies.map(|policy| (policy, *job)))
        .collect();
    let reports: Vec<Report> = parallel::map(&cells, |(policy, job)| {
        run(&machines::dual_xeon(), policy, &job())
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    for (reports, (name, _, published)) in reports.chunks(policies.len()).zip(kinds) {
        let [stock, large, ara, ours] = reports else {
            continue;
        };
        figure.rows.push(
            Row::within(
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

fn slow_streams(policy: &str, streams: u64) -> Result<Report, ReproduceError> {
    let work = Workload::Streams {
        streams,
        bytes_per_s: 1024,
        read_kib: 1,
        seconds: STREAM_BYTES / 1024 / streams,
    };
    run(&machines::with_memory(SMALL_CACHE_MIB), policy, &work.job(0))
}

/// Share of the pages read ahead that were evicted and then wanted after all.
fn lost(report: &Report) -> f64 {
    float(report.prefetch.thrashed) / float(report.prefetch.pages.max(1))
}

fn slow(figure: &mut Figure) -> Result<(), ReproduceError> {
    let policies = [STOCK, ARA, OURS];
    let cells: Vec<_> = policies
        .iter()
        .flat_map(|policy| STREAMS.map(|streams| (*policy, streams)))
        .collect();
    let reports: Vec<Report> = parallel::map(&cells, |(policy, streams)| {
        slow_streams(policy, *streams)
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    let of: Vec<&[Report]> = reports.chunks(STREAMS.len()).collect();
    let [stock, ara, ours] = of[..] else {
        return Ok(());
    };
    let handled = |reports: &[Report]| {
        let good = reports.iter().zip(STREAMS);
        let good = good.take_while(|(report, _)| lost(report) < LOST);
        good.last().map_or(0, |(_, streams)| streams)
    };
    figure.rows.push(
        Row::within(
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
    let line = |name: &str, reports: &[Report]| Series {
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

fn all_of_them(figure: &mut Figure, [stock, ara, ours]: [&Report; 3]) {
    let windows = |report: &Report| {
        let lost = report.class(Class::Thrash).map_or(0, |class| class.windows);
        (lost, report.all_classes().windows)
    };
    let (lost_windows, all) = windows(ara);
    figure.rows.push(
        Row::within(
            "800 streams of 1 KB/s in 64 MB, windows of ARA that were lost, %",
            100.0 * 191.0 / 128_500.0,
            100.0 * float(lost_windows) / float(all.max(1)),
            (0.0, 0.01 * 128_500.0 / 191.0),
            2,
        )
        .because(format!("{lost_windows} of {all} windows")),
    );
    // Four reads share a page; the first of them finds it or not.
    let found = |report: &Report| {
        let pages = report.pages;
        let touched = report.bytes / 4096;
        100.0 * (1.0 - float(pages.misses) / float(touched.max(1)))
    };
    let published = 100.0 * 409_948.0 / 410_126.0;
    figure.rows.push(
        Row::within(
            "800 streams of 1 KB/s in 64 MB, pages that were there under ARA, %",
            published,
            found(ara),
            (99.0 / published, 100.0 / published),
            2,
        )
        .because(format!(
            "stock {:.2} %, adaptive {:.2} %",
            found(stock),
            found(ours)
        )),
    );
}
