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
//! Bounds: rates within 0.7 and 1.3, their ratio within 0.75 and 1.25, waiting below 5 % at 32 MiB.
//!
//! The random loads are ours, since the author describes none. Single pages at random places; 128
//! KiB at a random place, fetched in steps of 16 KiB as stdio and databases do, which looks
//! sequential for eight calls; touches of a mapping, where the kernel of 2.6.18 reads a whole window
//! around every fault. The warning holds for a load when 32 MiB read at least twice the bytes of
//! 128 KiB, and it is slower.

use ahead_disk_model::{DiskModel, array::ArrayModel};
use ahead_sim::queue::QueueSettings;
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Costs, Machine};
use ahead_units::{ByteLength, PageCount};
use ahead_workload::Workload;
use ahead_workload::{FileSpec, Job, Layout, Process, Step};

use crate::figure::{Figure, ReproduceError, float, run};
use ahead_study::chart::{BarChart, Chart};
use ahead_study::parallel;
use ahead_study::verdict::FigureRow;

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

const RATE: (f64, f64) = (0.7, 1.3);
const RATIO: (f64, f64) = (0.75, 1.25);
const WAITING_MAX: f64 = 5.0;
const CURSE: f64 = 2.0;

fn machine() -> Machine {
    let member = DiskModel::preset("barracuda-7200.11").unwrap_or_else(|_| DiskModel::hdd());
    let disk = DiskModel::Array(ArrayModel {
        disks: 5,
        chunk_bytes: 64 << 10,
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

/// The figure.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure() -> Result<Figure, ReproduceError> {
    let mut figure = Figure {
        name: "dead-ahead-2017",
        title: "Eight readers on an array, and random load, at 128 KiB and 32 MiB".to_owned(),
        source: "Read Ahead, Dead Ahead (2017), quoting a report of 2010".to_owned(),
        ..Figure::default()
    };
    blessing(&mut figure)?;
    curse(&mut figure)?;
    figure.notes.push(
        "md0 is assumed: 5 disks of 2010 (with 4 the first rate was lower than published), striped in chunks of 64 KiB; 40 ms of processor time for \
         each MiB follow from the report"
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

fn blessing(figure: &mut Figure) -> Result<(), ReproduceError> {
    let mut machine = machine();
    machine.costs.user_page_ns = USER_PAGE_NS;
    let reports: Vec<WorldReport> =
        parallel::map(&POLICIES, |(_, policy)| run(&machine, policy, &loader()))
            .into_iter()
            .collect::<Result<_, _>>()?;
    let [small, large, ours] = &reports[..] else {
        return Ok(());
    };
    let rates = [small, large, ours].map(mib_per_second);
    let waiting = |report: &WorldReport| percent(report, report.processors.io_wait_ns, 4.0);
    let user = |report: &WorldReport| percent(report, report.processors.user_ns, 4.0);
    figure.rows.push(
        FigureRow::within("8 readers, 128 KiB, MiB/s", 39.3, rates[0], RATE, 1)
            .because("fitted by the number of disks"),
    );
    figure.rows.push(FigureRow::within(
        "8 readers, 32 MiB, MiB/s",
        90.0,
        rates[1],
        RATE,
        1,
    ));
    figure.rows.push(FigureRow::within(
        "8 readers, 32 MiB over 128 KiB",
        90.0 / 39.3,
        rates[1] / rates[0],
        RATIO,
        2,
    ));
    figure.rows.push(FigureRow::within(
        "8 readers, 128 KiB, user time, %",
        37.0,
        user(small),
        RATE,
        0,
    ));
    figure.rows.push(FigureRow::within(
        "8 readers, 32 MiB, user time, %",
        97.0,
        user(large),
        RATE,
        0,
    ));
    figure.rows.push(FigureRow::statement(
        "8 readers, waiting for the disks, %",
        "49 → 0",
        format!("{:.0} → {:.0}", waiting(small), waiting(large)),
        waiting(large) < WAITING_MAX && waiting(small) > 4.0 * WAITING_MAX,
    ));
    figure.rows.push(
        FigureRow::statement(
            "8 readers, adaptive without any setting, MiB/s",
            "(ours)",
            format!("{:.1}", rates[2]),
            rates[2] >= 0.95 * rates[1],
        )
        .because("holds from 95 % of the rate with 32 MiB on"),
    );
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

fn curse(figure: &mut Figure) -> Result<(), ReproduceError> {
    let loads = random_loads();
    let cells: Vec<_> = loads
        .iter()
        .flat_map(|(_, work)| POLICIES.map(|(_, policy)| (work.clone(), policy)))
        .collect();
    let reports: Vec<WorldReport> = parallel::map(&cells, |(work, policy)| {
        run(&machine(), policy, &work.job(2017))
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
        let read = |report: &WorldReport| float(report.amplification_permille()) / 1000.0;
        let slower = float(large.elapsed_ns) / float(small.elapsed_ns);
        figure.rows.push(
            FigureRow::statement(
                format!("random load ({name}), bytes read for each byte wanted"),
                "32 MiB costs dearly",
                format!("{:.1} → {:.1}", read(small), read(large)),
                read(large) >= CURSE * read(small) && slower > 1.0,
            )
            .because(format!(
                "{slower:.2} times the time; 99 of 100 answers within {:.0} → {:.0} ms{}",
                float(small.latency.p99_ns) / 1e6,
                float(large.latency.p99_ns) / 1e6,
                if read(large) < 1.01 {
                    "; a read that continues nothing is no run, whatever the window"
                } else {
                    ""
                }
            )),
        );
        let against = float(ours.elapsed_ns) / float(small.elapsed_ns);
        figure.rows.push(
            FigureRow::statement(
                format!("random load ({name}), adaptive, bytes read for each byte wanted"),
                "(ours)",
                format!("{:.1}", read(ours)),
                against <= 1.02,
            )
            .because(format!(
                "{against:.2} times the time of 128 KiB; holds up to 1.02"
            )),
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
