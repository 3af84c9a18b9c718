//! "Read Ahead, Dead Ahead" (2017): a window of 32 MiB as a blessing and as a curse.
//!
//! The article quotes a report of 2010. Eight threads each read a file of 80 GB and load it into a
//! database, on four processors, RHEL 5 (Linux 2.6.18), `/dev/md0`. With read-ahead of 128 KiB the
//! disks deliver 39.3 MiB/s, processors are 37 % user, 49 % waiting, 13 % idle. With 32 MiB it is
//! 90.0 MiB/s, 97 % user, nothing waiting. The author warns that under random load every window
//! that is not needed costs 32 MiB.
//!
//! From the report follows what the program does with each MiB: 4 processors × 97 % at 90 MiB/s are
//! 43 ms, 4 × 37 % at 39.3 MiB/s are 38; 40 here. The array is not described. Disks of 2010, striped
//! by md in chunks of 64 KiB, are assumed, and five of them, because five deliver 39.3 MiB/s at 128
//! KiB; nothing else was fitted. The writes to the database (6 and 20 MiB/s) are left out. Files
//! are 80 GB apart; of each 384 MiB are read, because the rate no longer changes after that.
//!
//! So rates and user times restate what the model was given. What is judged is what the processors do
//! meanwhile, as `sar` printed it in whole percents, and the warning. The null model is the same window on
//! both sides.
//!
//! The warning, taken literally, is that every random read of 128 KiB becomes a read-ahead of 32 MiB, and
//! that latency goes through the roof. The author gives no figures, so what is read is our reading: at
//! least half of 32 MiB for each read, and twice the time at the median and at 99 of 100. Eight programs
//! read 128 KiB in one call each. The other loads are ours: single pages at random places; 128 KiB at a random
//! place, fetched in steps of 16 KiB as stdio and databases do, which looks sequential for eight calls;
//! touches of a mapping, where the kernel of 2.6.18 reads a whole window around every fault.

use ahead_disk_model::{DiskModel, array::ArrayModel};
use ahead_sim::queue::QueueSettings;
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Costs, Machine};
use ahead_units::{ByteLength, PageCount};
use ahead_workload::Workload;
use ahead_workload::{FileSpec, Job, Layout, Process, Step};

use crate::figure::{
    Figure, ModelKnobs, Parameter, ParameterOrigin, Publication, ReproduceError, float, run,
};
use ahead_study::chart::{BarChart, Chart};
use ahead_study::parallel;
use ahead_study::verdict::{AllowedRange, FigureRow, Shown};

const SMALL: &str = "linux-2.6.18:ra_kb=128";
const LARGE: &str = "linux-2.6.18:ra_kb=32768";
const POLICIES: [(&str, &str); 3] = [
    ("128 KiB", SMALL),
    ("32 MiB", LARGE),
    ("adaptive", "adaptive"),
];

const READERS: u32 = 8;
const FILE_BYTES: u64 = 80_000_000_000;
const READ_BYTES: u64 = 384 << 20;
/// One read of the loader.
const BLOCK: u64 = 64 << 10;
/// 40 ms for each MiB.
const USER_PAGE_NS: u64 = 40_000_000 / 256;

/// Bytes read for each byte wanted that the warning speaks of, 32 MiB for 128 KiB, and half of it.
const EVERY_READ: f64 = 256.0;
const HALF_OF_IT: f64 = EVERY_READ / 2.0;

/// What the command line knows of it.
pub const PUBLICATION: Publication = Publication {
    name: "dead-ahead-2017",
    about: "eight loaders on an array at 128 KiB and 32 MiB, and the warning about random reads, literally",
    parameters: PARAMETERS,
    compute: figure,
};

const DISKS: &str = "disks of the array";
const USER: &str = "processor time for each MiB";
const CHUNK: &str = "chunk of the array";

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: DISKS,
        value: "5",
        origin: ParameterOrigin::Fitted,
        source: "five give 39.3 MiB/s at 128 KiB; with four it was less",
        turns: true,
    },
    Parameter {
        name: USER,
        value: "40 ms",
        origin: ParameterOrigin::Fitted,
        source: "the published user times, 43 and 38 ms",
        turns: true,
    },
    Parameter {
        name: CHUNK,
        value: "64 KiB",
        origin: ParameterOrigin::Assumed,
        source: "the usual one of md in RHEL 5",
        turns: true,
    },
    Parameter {
        name: "a disk",
        value: "Barracuda 7200.11",
        origin: ParameterOrigin::Assumed,
        source: "a disk of those years",
        turns: false,
    },
    Parameter {
        name: "one read of the loader",
        value: "64 KiB",
        origin: ParameterOrigin::Assumed,
        source: "not described",
        turns: false,
    },
];

fn machine(knobs: &ModelKnobs) -> Machine {
    let member = DiskModel::preset("barracuda-7200.11").unwrap_or_else(|_| DiskModel::hdd());
    let disk = DiskModel::Array(ArrayModel {
        disks: u32::try_from(knobs.whole(DISKS, 5)).unwrap_or(5),
        chunk_bytes: knobs.whole(CHUNK, 64 << 10),
        parity: false,
        controller_us: 20,
        link_bytes_per_s: 1_000_000_000,
        // md has no memory of its own.
        read_ahead_bytes: 0,
        streams: 0,
        member: Box::new(member),
    });
    Machine {
        cpus: 4,
        slice_ns: 100_000_000,
        memory_pages: 1 << 20,
        folio_order_max: 0,
        fault_around_pages: 1,
        costs: Costs {
            page_copy_ns: 1_500,
            page_insert_ns: 300,
            ..Costs::modern()
        },
        // md hands everything on at once; its members order what they have.
        queue: QueueSettings {
            device_depth: 128,
            ..QueueSettings::linux_2_6_18()
        },
        capacity: ByteLength::new(1_000_000_000_000),
        ..Machine::modern(disk, PageCount::new(1 << 20))
    }
}

/// The loader: eight sequential readers, each with its own file.
fn loader() -> Job {
    let file = |number: u64| FileSpec {
        bytes: FILE_BYTES,
        layout: Layout::At {
            offset: number * FILE_BYTES,
        },
    };
    let reader = |number| {
        let program = (0..READ_BYTES / BLOCK).map(|index| Step::Read {
            slot: 0,
            offset: index * BLOCK,
            length: BLOCK,
        });
        Process::new(format!("loader {number}"), vec![number], program)
    };
    Job {
        files: (0..u64::from(READERS)).map(file).collect(),
        processes: (0..READERS).map(reader).collect(),
        ..Job::default()
    }
}

/// Loads in which windows of 32 MiB are a mistake.
fn random_loads() -> Vec<(&'static str, Workload)> {
    let many = |work: Workload| Workload::Together {
        works: vec![work; 8],
    };
    vec![
        (
            "single pages",
            many(Workload::Random {
                file_mib: 16 << 10,
                read_kib: 4,
                reads: 500,
            }),
        ),
        (
            "128 KiB in steps of 16",
            many(Workload::Bursts {
                file_mib: 16 << 10,
                read_kib: 16,
                burst: 8,
                bursts: 100,
            }),
        ),
        (
            "mapped, random",
            many(Workload::Libraries {
                files: 1,
                file_mib: 16 << 10,
                clusters: 20,
                cluster_pages: 1,
            }),
        ),
    ]
}

/// What the author describes: reads of 128 KiB at random places, each in one call.
fn literal_load() -> Workload {
    Workload::Together {
        works: vec![
            Workload::Random {
                file_mib: 16 << 10,
                read_kib: 128,
                reads: 200,
            };
            8
        ],
    }
}

fn figure(knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    let mut figure = Figure {
        name: "dead-ahead-2017",
        title: "Eight readers on an array, and random load, at 128 KiB and 32 MiB".to_owned(),
        source: "Read Ahead, Dead Ahead (2017), quoting a report of 2010".to_owned(),
        parameters: PARAMETERS,
        ..Figure::default()
    };
    blessing(&mut figure, knobs)?;
    warning(&mut figure, knobs)?;
    curse(&mut figure, knobs)?;
    figure.notes.push(
        "md0 is assumed: 5 disks of 2010 (with 4 the first rate was lower than published), striped in chunks of 64 KiB; 40 ms of processor time for \
         each MiB follow from the report"
            .to_owned(),
    );
    figure.notes.push(
        "Not simulated: the writes to the database, 6 MiB/s before and 20 after. The simulator has no writes."
            .to_owned(),
    );
    figure.notes.push(
        "adaptive runs over linux-6.18 with 128 KiB on the same machine; mapped files are the \
         kernel's alone there"
            .to_owned(),
    );
    Ok(figure)
}

fn mib_per_second(report: &WorldReport) -> f64 {
    float(report.bytes_per_second()) / float(1 << 20)
}

/// Percent of all processors' time.
fn percent(report: &WorldReport, ns: u64, cpus: f64) -> f64 {
    100.0 * float(ns) / (float(report.elapsed_ns.max(1)) * cpus)
}

/// What `sar` printed as a whole percent.
fn whole_percent(value: f64) -> AllowedRange {
    let low = f64::max(value - 0.5, 0.0);
    AllowedRange::of(low, value + 0.5, "printed as a whole percent")
}

fn blessing(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    const DISKS_FIT: &str = "the number of disks is fitted to it";
    const USER_FIT: &str = "the processor time for each MiB is fitted to the user times";
    let mut machine = machine(knobs);
    machine.costs.user_page_ns = knobs.whole(USER, USER_PAGE_NS);
    let reports: Vec<WorldReport> =
        parallel::map(&POLICIES, |(_, policy)| run(&machine, policy, &loader()))
            .into_iter()
            .collect::<Result<_, _>>()?;
    let [small, large, ours] = &reports[..] else {
        return Ok(());
    };
    let rates = [small, large, ours].map(mib_per_second);
    let waiting = |report: &WorldReport| percent(report, report.processors.io_wait_ns, 4.0);
    let idle = |report: &WorldReport| {
        let processors = &report.processors;
        percent(
            report,
            processors.idle_ns.saturating_sub(processors.io_wait_ns),
            4.0,
        )
    };
    let user = |report: &WorldReport| percent(report, report.processors.user_ns, 4.0);
    figure.rows.extend([
        FigureRow::fitted("8 readers, 128 KiB, MiB/s", 39.3, rates[0], 1, DISKS_FIT),
        FigureRow::fitted("8 readers, 32 MiB, MiB/s", 90.0, rates[1], 1, USER_FIT)
            .because("nothing else bounds it"),
        FigureRow::fitted(
            "8 readers, 32 MiB over 128 KiB",
            90.0 / 39.3,
            rates[1] / rates[0],
            2,
            "of the two rates above",
        ),
        FigureRow::fitted(
            "8 readers, 128 KiB, user time, %",
            37.0,
            user(small),
            0,
            USER_FIT,
        ),
        FigureRow::fitted(
            "8 readers, 32 MiB, user time, %",
            97.0,
            user(large),
            0,
            USER_FIT,
        ),
    ]);
    let both = "the other window";
    for (what, published, value, null) in [
        (
            "128 KiB, waiting for the disks, %",
            49.0,
            waiting(small),
            waiting(large),
        ),
        (
            "32 MiB, waiting for the disks, %",
            0.0,
            waiting(large),
            waiting(small),
        ),
        ("128 KiB, idle, %", 13.0, idle(small), idle(large)),
        ("32 MiB, idle, %", 0.0, idle(large), idle(small)),
    ] {
        let row = FigureRow::within(
            format!("8 readers, {what}"),
            published,
            whole_percent(published),
            value,
            (both, null),
            0,
        );
        figure.rows.push(row.or_because(
            "writing to the database takes some of the time there, and is not simulated",
        ));
    }
    figure.rows.push(FigureRow::ours(
        "8 readers, adaptive without any setting, MiB/s",
        "95 % of the rate with 32 MiB",
        Shown::new(format!("{:.1}", rates[2]), rates[2] >= 0.95 * rates[1]),
    ));
    figure.charts.push((
        "dead-ahead-2017-readers".to_owned(),
        Chart::Bars(BarChart {
            title: "Eight sequential readers on an array".to_owned(),
            y_label: "MiB/s".to_owned(),
            groups: POLICIES.map(|(name, _)| name.to_owned()).to_vec(),
            bars: vec![
                ("published".to_owned(), vec![39.3, 90.0, f64::NAN]),
                ("simulated".to_owned(), rates.to_vec()),
            ],
        }),
    ));
    Ok(())
}

/// Bytes read for each byte wanted.
fn amplification(report: &WorldReport) -> f64 {
    float(report.amplification_permille()) / 1000.0
}

/// The warning as it is written, at every window between the two.
fn warning(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    const WINDOWS_KIB: [u64; 5] = [128, 512, 2048, 8192, 32_768];
    const WHY: &str = "a read that continues nothing is no run: the kernel reads what is asked for, \
                       whatever the window";
    let machine = machine(knobs);
    let reports: Vec<WorldReport> = parallel::map(&WINDOWS_KIB, |kib| {
        run(
            &machine,
            &format!("linux-2.6.18:ra_kb={kib}"),
            &literal_load().job(2017),
        )
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    let [small, .., large] = &reports[..] else {
        return Ok(());
    };
    let null = "128 KiB on both sides";
    figure.rows.push(
        FigureRow::judged(
            "random reads of 128 KiB, bytes read for each byte wanted",
            "every read becomes 32 MiB",
            "at least half of 32 MiB for each (our reading: no figure is given)",
            &amplification(large),
            (null, &amplification(small)),
            |read| Shown::new(format!("{read:.1}"), *read >= HALF_OF_IT),
        )
        .or_refuted(WHY),
    );
    let latency = |report: &WorldReport| (report.latency.p50_ns, report.latency.p99_ns);
    figure.rows.push(
        FigureRow::judged(
            "random reads of 128 KiB, half and 99 of 100 answered within, ms",
            "latency goes through the roof",
            "twice as long at both (our reading: no figure is given)",
            &latency(large),
            (null, &latency(small)),
            |&(half, most)| {
                let (half_before, most_before) = latency(small);
                Shown::new(
                    format!("{:.0} and {:.0}", float(half) / 1e6, float(most) / 1e6),
                    half >= 2 * half_before && most >= 2 * most_before,
                )
            },
        )
        .or_refuted(WHY),
    );
    figure.rows.push(FigureRow::shown(
        "the same by window: KiB: half/99 of 100/longest, ms",
        "",
        WINDOWS_KIB
            .iter()
            .zip(&reports)
            .map(|(kib, report)| {
                let latency = report.latency;
                let ms = [latency.p50_ns, latency.p99_ns, latency.max_ns].map(|ns| ns / 1_000_000);
                format!("{kib}: {}/{}/{}", ms[0], ms[1], ms[2])
            })
            .collect::<Vec<_>>()
            .join(", "),
    ));
    Ok(())
}

fn curse(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    let machine = machine(knobs);
    let loads = random_loads();
    let cells: Vec<_> = loads
        .iter()
        .flat_map(|(_, work)| POLICIES.map(|(_, policy)| (work.clone(), policy)))
        .collect();
    let reports: Vec<WorldReport> = parallel::map(&cells, |(work, policy)| {
        run(&machine, policy, &work.job(2017))
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    let mut bars: Vec<(String, Vec<f64>)> = POLICIES
        .map(|(name, _)| (name.to_owned(), Vec::new()))
        .to_vec();
    for ((name, _), reports) in loads.iter().zip(reports.chunks(POLICIES.len())) {
        let [small, large, ours] = reports else {
            continue;
        };
        let slower = float(large.elapsed_ns) / float(small.elapsed_ns);
        figure.rows.push(
            FigureRow::judged(
                format!("random load of ours ({name}), bytes read for each byte wanted"),
                "32 MiB costs dearly",
                "at least twice the bytes, and slower (our reading: no figure is given)",
                large,
                ("128 KiB on both sides", small),
                |report| {
                    let (read, before) = (amplification(report), amplification(small));
                    let is_slower = report.elapsed_ns > small.elapsed_ns;
                    Shown::new(format!("{read:.1}"), read >= 2.0 * before && is_slower)
                },
            )
            .because(format!(
                "{slower:.2} times the time; 99 of 100 answers within {:.0} → {:.0} ms",
                float(small.latency.p99_ns) / 1e6,
                float(large.latency.p99_ns) / 1e6,
            ))
            .or_refuted("a read that continues nothing is no run, whatever the window"),
        );
        let against = float(ours.elapsed_ns) / float(small.elapsed_ns);
        figure.rows.push(
            FigureRow::ours(
                format!("random load of ours ({name}), adaptive, bytes read for each byte wanted"),
                "at most 1.02 times the time of 128 KiB",
                Shown::new(format!("{:.1}", amplification(ours)), against <= 1.02),
            )
            .because(format!("{against:.2} times the time of 128 KiB")),
        );
        for ((_, heights), report) in bars.iter_mut().zip(reports) {
            heights.push(mib_per_second(report));
        }
    }
    figure.charts.push((
        "dead-ahead-2017-random".to_owned(),
        Chart::Bars(BarChart {
            title: "Random load: what the program gets".to_owned(),
            y_label: "MiB/s wanted and delivered".to_owned(),
            groups: loads.iter().map(|(name, _)| (*name).to_owned()).collect(),
            bars,
        }),
    ));
    Ok(())
}
