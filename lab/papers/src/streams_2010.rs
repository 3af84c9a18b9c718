//! Several sequential readers on two arrays, windows of 128 and 512 KiB (2010).
//!
//! One to sixteen readers of 1 GB each, in blocks of 32 KB, under CFQ. Published are the bandwidth
//! and the longest read. What makes a larger window faster is that each of its windows pays the
//! round trip to the array once; what makes the longest read is how long a reader waits for its
//! turn. The arrays are two-number fits to the published rates, so rates and gains are fitted; what is
//! judged are the longest reads. A longest read is one outlier of three runs, and the mail says no more of
//! its spread; but what delays a reader under CFQ is how many others there are, so each number of
//! readers was measured four times (two arrays, two windows), and a longest read holds within these four.
//! The null models are a longest read that does not depend on the readers, and a queue without time slices.

use ahead_disk_model::DiskModel;
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
use ahead_study::verdict::{AllowedRange, FigureRow, Shown};

const READERS: [u64; 5] = [1, 2, 4, 8, 16];
const WINDOWS_KIB: [u64; 2] = [128, 512];

/// One array: bandwidth in KB/s and longest read in µs for 128 KiB, then for 512 KiB, by readers.
struct Array {
    name: &'static str,
    disk: fn() -> DiskModel,
    published: [[(f64, f64); 5]; 2],
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
    },
];

const SLICE: &str = "longest slice of CFQ";
const ROUND: &str = "one round of CFQ";

/// What the command line knows of it.
pub const PUBLICATION: Publication = Publication {
    name: "streams-2010",
    about: "one to sixteen sequential readers on two arrays, 128 and 512 KiB: rates fitted, longest reads judged",
    parameters: PARAMETERS,
    compute: figure,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "round trip and rate of each array",
        value: "0.35 ms, 212.5 MB/s; 0.16 ms, 163 MB/s",
        origin: ParameterOrigin::Fitted,
        source: "to the published rates with 128 and 512 KiB",
        turns: false,
    },
    Parameter {
        name: SLICE,
        value: "100 ms",
        origin: ParameterOrigin::Assumed,
        source: "cfq_slice_sync of Linux 2.6.33",
        turns: true,
    },
    Parameter {
        name: ROUND,
        value: "300 ms",
        origin: ParameterOrigin::Assumed,
        source: "cfq_target_latency of Linux 2.6.33",
        turns: true,
    },
    Parameter {
        name: "disks behind the controller",
        value: "8 and 5, with read-ahead of its own",
        origin: ParameterOrigin::Assumed,
        source: "enough not to be the limit; the mail says 5 to 6 SATA disks",
        turns: false,
    },
];

/// CFQ of 2.6.33: a reader has the disk for 100 ms, or for its share of 300 ms where there are more
/// than three, but not for less than 16 ms.
fn slice_ns(readers: u64, knobs: &ModelKnobs) -> u64 {
    let (longest, round) = (knobs.whole(SLICE, 100), knobs.whole(ROUND, 300));
    (round / readers.max(1)).clamp(16, longest.max(16)) * 1_000_000
}

fn machine(disk: DiskModel, scheduler: Scheduler) -> Machine {
    Machine {
        folio_order_max: 0,
        fault_around_pages: 1,
        // Two windows of a reader are under way at a time. The array takes both at once and serves
        // one after the other, so they never wait together where they could be merged.
        queue: QueueSettings {
            device_depth: 1,
            merging: false,
            ..QueueSettings::linux_2_6_18().with_scheduler(scheduler)
        },
        ..Machine::modern(disk, PageCount::new(1 << 20))
    }
}

/// One run.
#[derive(Clone, Copy)]
struct Cell {
    array: &'static Array,
    kib: u64,
    readers: u64,
    file_mib: u64,
    scheduler: Scheduler,
}

fn report(cell: &Cell) -> Result<WorldReport, ReproduceError> {
    let work = Workload::Readers {
        file_mib: cell.file_mib,
        readers: cell.readers,
        read_kib: 32,
    };
    run(
        &machine((cell.array.disk)(), cell.scheduler),
        &format!("linux-2.6.31:ra_kb={}", cell.kib),
        &work.job(0),
    )
}

fn figure(knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    figure_of(1024, knobs)
}

/// The same with files of `file_mib` MiB.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure_of(file_mib: u64, knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    let mut plan = Vec::new();
    for array in &ARRAYS {
        let cell = |kib, readers, file_mib, scheduler| Cell {
            array,
            kib,
            readers,
            file_mib,
            scheduler,
        };
        for kib in WINDOWS_KIB {
            plan.extend(READERS.map(|readers| {
                let slice_ns = slice_ns(readers, knobs);
                cell(kib, readers, file_mib, Scheduler::Slices { slice_ns })
            }));
        }
        // Without slices nothing takes long enough to need whole files.
        for kib in WINDOWS_KIB {
            plan.extend(
                [2, 16].map(|readers| cell(kib, readers, file_mib.min(128), Scheduler::Noop)),
            );
        }
    }
    let reports = parallel::map(&plan, report);
    let reports: Vec<WorldReport> = reports.into_iter().collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    let mut charts = Vec::new();
    for (array, reports) in ARRAYS.iter().zip(reports.chunks(READERS.len() * 2 + 4)) {
        let (sliced, unsliced) = reports.split_at(READERS.len() * 2);
        rows.extend(rates_of(array, sliced));
        rows.extend(longest_of(array, sliced, unsliced));
        charts.extend(charts_of(array, sliced));
    }
    rows.extend(small_device_rule(file_mib.min(128))?);
    Ok(Figure {
        name: "streams-2010",
        title: "one to sixteen sequential readers on two arrays".to_owned(),
        source: "Vivek Goyal in \"512KB default readahead size\", linux-mm, February 2010"
            .to_owned(),
        rows,
        charts,
        parameters: PARAMETERS,
        notes: vec![
            "Chosen after a first look: time slices for the scheduler, and windows that do not merge.".to_owned(),
            "Arrays: the EVA and the SATA stripe are two-number fits (0.35 ms and 212.5 MB/s, 0.16 \
             ms and 163 MB/s) to these windows taken one at a time, with disks behind them. So rates \
             and gains restate the fit."
                .to_owned(),
            "CFQ is modelled as time slices per reader: 100 ms, or a share of 300 ms for more than \
             three readers, at least 16 ms. Its idling, its groups and the multipath layer are \
             not. Requests are served one at a time and windows are not merged with each other."
                .to_owned(),
            "An earlier run of the series showed a loss (84 to 95 MB/s): the device said that its \
             capacity was 0, and the rule for small devices held the window down. The mail does not say to \
             what; two sizes are shown."
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

fn rates_of(array: &Array, reports: &[WorldReport]) -> Vec<FigureRow> {
    const FIT: &str = "two figures of the array are a fit to these rates";
    let (small, large) = reports.split_at(READERS.len());
    let mut rows = Vec::new();
    for (place, readers) in READERS.iter().enumerate() {
        for ((kib, published), report) in WINDOWS_KIB
            .iter()
            .zip(&array.published)
            .zip([&small[place], &large[place]])
        {
            let what = format!("{}, {readers} readers, {kib} KiB: KB/s", array.name);
            rows.push(FigureRow::fitted(
                what,
                published[place].0,
                kb_per_s(report),
                0,
                FIT,
            ));
        }
        let gain = (kb_per_s(&large[place]) / kb_per_s(&small[place]) - 1.0) * 100.0;
        let theirs = (array.published[1][place].0 / array.published[0][place].0 - 1.0) * 100.0;
        let what = format!(
            "{}, {readers} readers: gain of the larger window, %",
            array.name
        );
        rows.push(FigureRow::fitted(what, theirs, gain, 1, FIT));
    }
    rows
}

/// The earlier run, in which a rule for small devices held the window of the EVA down, as the device mapper
/// said that it had no capacity. To what is not said: the two sizes around the published rate are shown.
fn small_device_rule(file_mib: u64) -> Result<Vec<FigureRow>, ReproduceError> {
    const PUBLISHED: f64 = 84_749.0;
    let reports = parallel::map(&[32, 64], |kib| {
        report(&Cell {
            array: &ARRAYS[0],
            kib: *kib,
            readers: 1,
            file_mib,
            scheduler: Scheduler::Noop,
        })
    });
    let reports: Vec<WorldReport> = reports.into_iter().collect::<Result<_, _>>()?;
    let rows = reports.iter().zip([32, 64]).map(|(report, kib)| {
        let what = format!(
            "EVA, 1 reader, window held down by the rule for small devices, {kib} KiB: KB/s"
        );
        FigureRow::context(what, PUBLISHED, kb_per_s(report), 0)
    });
    Ok(rows.collect())
}

/// Longest reads in ms that were published for so many readers, least and most.
fn published_longest(place: usize) -> AllowedRange {
    let all = ARRAYS.iter().flat_map(|array| array.published.iter());
    let ms = all.map(|row| row[place].1 / 1e3);
    let (low, high) = ms.fold((f64::INFINITY, 0.0_f64), |(low, high), ms| {
        (low.min(ms), high.max(ms))
    });
    AllowedRange::of(low, high, "the four runs with as many readers")
}

/// The mean of all published longest reads, in ms: what they would be if nothing had an effect.
fn constant_longest() -> f64 {
    let all = ARRAYS
        .iter()
        .flat_map(|array| array.published.iter().flatten());
    let (sum, many) = all.fold((0.0, 0.0), |(sum, many), (_, us)| {
        (sum + us / 1e3, many + 1.0)
    });
    sum / many
}

fn longest_of(array: &Array, sliced: &[WorldReport], unsliced: &[WorldReport]) -> Vec<FigureRow> {
    let (small, large) = sliced.split_at(READERS.len());
    let mut rows = Vec::new();
    for (place, readers) in READERS.iter().enumerate() {
        for ((kib, published), report) in WINDOWS_KIB
            .iter()
            .zip(&array.published)
            .zip([&small[place], &large[place]])
        {
            let row = FigureRow::within(
                format!(
                    "{}, {readers} readers, {kib} KiB: longest read, ms",
                    array.name
                ),
                published[place].1 / 1e3,
                published_longest(place),
                longest_us(report) / 1e3,
                ("a constant", constant_longest()),
                0,
            );
            rows.push(row.or_because(if *readers == 1 {
                "nothing but its own windows delays a single reader here; the published read \
                 waited for something else"
            } else {
                "the slices of all readers add up to 300 ms here, and a reader waits for one round; \
                 the published reads waited for one and a half to four"
            }));
        }
    }
    let pairs = small.iter().zip(large);
    let worst = pairs.map(|(small, large)| longest_us(large) / longest_us(small));
    let worst = worst.fold(0.0, f64::max);
    rows.push(FigureRow::within(
        format!(
            "{}: longest read, 512 over 128 KiB, worst of the five",
            array.name
        ),
        1.0,
        AllowedRange::of(
            0.0,
            1.65,
            "\"without noticeably increasing latency\"; worst published pair 223/135",
        ),
        worst,
        ("a constant", 1.0),
        2,
    ));
    let growth = |two: &WorldReport, sixteen: &WorldReport| longest_us(sixteen) / longest_us(two);
    for ((kib, published), (ours, null)) in WINDOWS_KIB.iter().zip(&array.published).zip([
        (
            growth(&small[1], &small[4]),
            growth(&unsliced[0], &unsliced[1]),
        ),
        (
            growth(&large[1], &large[4]),
            growth(&unsliced[2], &unsliced[3]),
        ),
    ]) {
        rows.push(FigureRow::judged(
            format!(
                "{}, {kib} KiB: longest read, sixteen over two readers",
                array.name
            ),
            format!("× {:.2}", published[4].1 / published[1].1),
            "× 2.66 to × 5.75: the four published pairs",
            &ours,
            ("a queue without time slices", &null),
            |times| Shown::new(format!("× {times:.2}"), (2.66..=5.75).contains(times)),
        ));
    }
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
