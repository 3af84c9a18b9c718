//! Several sequential readers on two arrays, windows of 128 and 512 KiB (2010).
//!
//! One to sixteen readers of 1 GB each, in blocks of 32 KB, under CFQ. Published are the bandwidth
//! and the longest read. What makes a larger window faster is that each of its windows pays the
//! round trip to the array once; what makes the longest read is how long a reader waits for its
//! turn. Bounds, from what the mail claims: bandwidth of each row within 15 %; gain of the larger
//! window within 34 to 42 % and 9 to 20 %, widened by 10 points on either side; the longest read
//! within a factor of three, not more than twice as long with the larger window (the worst
//! published pair: × 1.6), and longer with sixteen readers than with two.

use ahead_disk_model::DiskModel;
use ahead_sim::queue::{QueueSettings, Scheduler};
use ahead_sim::report::WorldReport;
use ahead_sim::world::Machine;
use ahead_units::PageCount;
use ahead_workload::Workload;

use crate::figure::{Figure, ReproduceError, float, run};
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::{FigureRow, Verdict};

const READERS: [u64; 5] = [1, 2, 4, 8, 16];
const WINDOWS_KIB: [u64; 2] = [128, 512];

/// One array: bandwidth in KB/s and longest read in µs for 128 KiB, then for 512 KiB, by readers.
struct Array {
    name: &'static str,
    disk: fn() -> DiskModel,
    published: [[(f64, f64); 5]; 2],
    /// Published gains in percent, for one reader and for more.
    gain: (f64, f64),
}

const ARRAYS: [Array; 2] = [
    Array {
        name: "EVA",
        disk: DiskModel::eva,
        published: [
            [
                (141_768.0, 130_965.0),
                (131_979.0, 135_402.0),
                (132_351.0, 420_733.0),
                (133_152.0, 455_434.0),
                (130_316.0, 674_499.0),
            ],
            [
                (190_302.0, 97_937.3),
                (185_636.0, 223_286.0),
                (185_986.0, 363_658.0),
                (184_352.0, 428_478.0),
                (185_646.0, 594_311.0),
            ],
        ],
        gain: (34.0, 42.0),
    },
    Array {
        name: "SATA",
        disk: DiskModel::sata_stripe,
        published: [
            [
                (147_569.0, 14_369.7),
                (124_716.0, 243_932.0),
                (123_451.0, 327_665.0),
                (122_486.0, 455_102.0),
                (117_645.0, 1_039_570.0),
            ],
            [
                (160_191.0, 22_752.0),
                (149_343.0, 184_698.0),
                (147_183.0, 430_875.0),
                (144_568.0, 484_045.0),
                (137_485.0, 1_062_570.0),
            ],
        ],
        gain: (9.0, 20.0),
    },
];

/// CFQ of 2.6.33: a reader has the disk for 100 ms, or for its share of 300 ms where there are more
/// than three, but not for less than 16 ms.
fn slice_ns(readers: u64) -> u64 {
    (300 / readers.max(1)).clamp(16, 100) * 1_000_000
}

fn machine(disk: DiskModel, readers: u64) -> Machine {
    Machine {
        folio_order_max: 0,
        fault_around_pages: 1,
        // Two windows of a reader are under way at a time. The array takes both at once and serves
        // one after the other, so they never wait together where they could be merged.
        queue: QueueSettings {
            device_depth: 1,
            merging: false,
            ..QueueSettings::linux_2_6_18().with_scheduler(Scheduler::Slices {
                slice_ns: slice_ns(readers),
            })
        },
        ..Machine::modern(disk, PageCount::new(1 << 20))
    }
}

fn report(
    array: &Array,
    kib: u64,
    readers: u64,
    file_mib: u64,
) -> Result<WorldReport, ReproduceError> {
    let work = Workload::Readers {
        file_mib,
        readers,
        read_kib: 32,
    };
    run(
        &machine((array.disk)(), readers),
        &format!("linux-2.6.31:ra_kb={kib}"),
        &work.job(0),
    )
}

/// The figure.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure() -> Result<Figure, ReproduceError> {
    figure_of(1024)
}

/// The same with files of `file_mib` MiB.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure_of(file_mib: u64) -> Result<Figure, ReproduceError> {
    let mut plan = Vec::new();
    for array in &ARRAYS {
        for kib in WINDOWS_KIB {
            plan.extend(READERS.map(|readers| (array, kib, readers)));
        }
    }
    let reports = parallel::map(&plan, |(array, kib, readers)| {
        report(array, *kib, *readers, file_mib)
    });
    let reports: Vec<WorldReport> = reports.into_iter().collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    let mut charts = Vec::new();
    for (array, reports) in ARRAYS.iter().zip(reports.chunks(READERS.len() * 2)) {
        rows.extend(rows_of(array, reports));
        charts.extend(charts_of(array, reports));
    }
    Ok(Figure {
        name: "streams-2010",
        title: "one to sixteen sequential readers on two arrays".to_owned(),
        source: "Vivek Goyal in \"512KB default readahead size\", linux-mm, February 2010"
            .to_owned(),
        rows,
        charts,
        notes: vec![
            "chosen after a first look: time slices for the scheduler, windows that do not merge, the words \
             on longest reads; with merging off the rates mostly restate the fit of the array, so gains \
             and latencies are the test".to_owned(),
            "Arrays: the EVA and the SATA stripe are two-number fits (0.35 ms and 212.5 MB/s, 0.16 \
             ms and 163 MB/s) to these windows taken one at a time, with disks behind them; that \
             the rate does not depend on the number of readers is the simulation's, as is the \
             longest read."
                .to_owned(),
            "CFQ is modelled as time slices per reader: 100 ms, or a share of 300 ms for more than \
             three readers, at least 16 ms. Its idling, its groups and the multipath layer are \
             not. Requests are served one at a time and windows are not merged with each other."
                .to_owned(),
            "Longest reads: the bound is a factor of three, because one outlier of three runs \
             decides the published number."
                .to_owned(),
        ],
    })
}

fn kb_per_s(report: &WorldReport) -> f64 {
    float(report.bytes_per_second()) / 1024.0
}

fn longest_us(report: &WorldReport) -> f64 {
    float(report.latency.max_ns) / 1000.0
}

fn rows_of(array: &Array, reports: &[WorldReport]) -> Vec<FigureRow> {
    let (small, large) = reports.split_at(READERS.len());
    let mut rows = Vec::new();
    for (place, readers) in READERS.iter().enumerate() {
        for ((kib, published), report) in WINDOWS_KIB
            .iter()
            .zip(&array.published)
            .zip([&small[place], &large[place]])
        {
            let what = format!("{}, {readers} readers, {kib} KiB: KB/s", array.name);
            rows.push(FigureRow::within(
                what,
                published[place].0,
                kb_per_s(report),
                (0.85, 1.15),
                0,
            ));
        }
        let gain = (kb_per_s(&large[place]) / kb_per_s(&small[place]) - 1.0) * 100.0;
        let theirs = (array.published[1][place].0 / array.published[0][place].0 - 1.0) * 100.0;
        rows.push(FigureRow::statement(
            format!(
                "{}, {readers} readers: gain of the larger window",
                array.name
            ),
            format!("{theirs:+.1} %"),
            format!("{gain:+.1} %"),
            gain >= array.gain.0 - 10.0 && gain <= array.gain.1 + 10.0,
        ));
        for ((kib, published), report) in WINDOWS_KIB
            .iter()
            .zip(&array.published)
            .zip([&small[place], &large[place]])
        {
            let what = format!(
                "{}, {readers} readers, {kib} KiB: longest read, ms",
                array.name
            );
            let (theirs, ours) = (published[place].1 / 1e3, longest_us(report) / 1e3);
            let row = FigureRow::within(what, theirs, ours, (1.0 / 3.0, 3.0), 0);
            rows.push(match (row.verdict, readers) {
                (Verdict::DoesNotHold, 1) => row.because(
                    "nothing but its own windows delays a single reader here; the published read \
                     waited for something else",
                ),
                (Verdict::DoesNotHold, _) => row.because(
                    "the slices here add up to 300 ms; the published read waited for a second, as \
                     after slices of 65 ms",
                ),
                _ => row,
            });
        }
    }
    let pairs = small.iter().zip(large);
    let worst = pairs.map(|(small, large)| longest_us(large) / longest_us(small));
    let worst = worst.fold(0.0, f64::max);
    rows.push(FigureRow::statement(
        format!(
            "{}: longest read, 512 over 128 KiB, worst of the five",
            array.name
        ),
        "larger windows do not noticeably add to it (worst: × 1.6)",
        format!("× {worst:.2}"),
        worst <= 2.0,
    ));
    let more = [small, large].map(|reports| longest_us(&reports[4]) / longest_us(&reports[1]));
    rows.push(FigureRow::statement(
        format!("{}: longest read, sixteen over two readers", array.name),
        "× 2.7 to × 5.8",
        format!("× {:.2} and × {:.2}", more[0], more[1]),
        more.iter().all(|times| *times > 1.0),
    ));
    rows
}

fn charts_of(array: &Array, reports: &[WorldReport]) -> Vec<(String, Chart)> {
    let stem = array.name.to_lowercase();
    let chart = |stem: String,
                 title: &str,
                 y_label: &str,
                 y: &dyn Fn(&WorldReport) -> f64,
                 published: &dyn Fn((f64, f64)) -> f64| {
        let mut series = Vec::new();
        for ((kib, theirs), ours) in WINDOWS_KIB
            .iter()
            .zip(&array.published)
            .zip(reports.chunks(READERS.len()))
        {
            let points = |values: Vec<f64>| {
                READERS
                    .iter()
                    .map(|readers| float(*readers))
                    .zip(values)
                    .collect()
            };
            series.push(Series {
                name: format!("{kib} KiB, simulated"),
                points: points(ours.iter().map(y).collect()),
                style: Style::Line,
            });
            series.push(Series {
                name: format!("{kib} KiB, published"),
                points: points(theirs.iter().map(|pair| published(*pair)).collect()),
                style: Style::Points,
            });
        }
        let chart = LineChart {
            title: format!("{}: {title}", array.name),
            x_label: "readers".to_owned(),
            y_label: y_label.to_owned(),
            x_scale: Scale::Logarithmic,
            series,
            ..LineChart::default()
        };
        (stem, Chart::Lines(chart))
    };
    vec![
        chart(
            format!("streams-2010-{stem}"),
            "bandwidth over readers",
            "KB/s",
            &kb_per_s,
            &|(rate, _)| rate,
        ),
        chart(
            format!("streams-2010-{stem}-latency"),
            "longest read over readers",
            "ms",
            &|report| longest_us(report) / 1e3,
            &|(_, longest)| longest / 1e3,
        ),
    ]
}
