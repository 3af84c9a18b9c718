//! A database that looks rows up at random and scans ranges, as in the `odbc-bench` runs that
//! people of PostgreSQL made.
//!
//! Published: 6 to 30 more transactions per second, of about 92 to 100 (V12: 92.4 and 99.8 before,
//! 105.5 with ratio 100, 113.1 and 124.8 with hit rate 1); a hit rate of 1 works better than larger
//! ones. The database, its size and its disk are not described. Here eight back ends share a heap
//! of 1 GiB and an index of 128 MiB with 512 MB of memory. Each goes through the heap from a place of
//! its own, some blocks each transaction, and looks four rows up in between (a random page of the
//! index, a random page of the heap), through the same two descriptors: a scan that is interrupted
//! by random reads. All reads are of 8 KiB. What is judged is a scan of 512 KiB for each transaction;
//! the picture has others.
//!
//! The gain holds between 3 and 40 %: half of the least and a third more than the most that was
//! published.

use ahead_sim::algorithm::Policy;
use ahead_sim::report::WorldReport;
use ahead_sim::world::{RunTotals, World};
use ahead_workload::random::{below, mix};
use ahead_workload::{FileSpec, Job, Process, Step};

use super::arms::{ARA, OURS, STOCK, explained};
use super::machines;
use crate::figure::{Figure, ReproduceError, float};
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::FigureRow;

const BACK_ENDS: u64 = 8;
const LOOKUPS: u64 = 4;
const HEAP_MIB: u64 = 1024;
const INDEX_MIB: u64 = 128;
const CACHE_MIB: u64 = 512;
const SEED: u64 = 1;

/// Longer than the cache takes to fill.
const RUN_NS: u64 = 120_000_000_000;

/// A database page.
const BLOCK: u64 = 8 << 10;

const RANGES_KIB: [u64; 5] = [64, 128, 256, 512, 1024];
const JUDGED: usize = 3;

/// Gain in percent: 6 and 30, and what may be missed.
const GAIN: (f64, f64) = (3.0, 40.0);

const POLICIES: [(&str, &str); 5] = [
    ("stock", STOCK),
    ("ARA, hit rate 1", ARA),
    ("ARA, hit rate 2", "ara-june:hit_rate=2"),
    ("ARA, hit rate 8", "ara-june:hit_rate=8"),
    ("adaptive", OURS),
];

fn job(range_kib: u64) -> Job {
    let (heap, index) = (HEAP_MIB << 20, INDEX_MIB << 20);
    let blocks = (range_kib << 10) / BLOCK;
    let read = |slot, block: u64| Step::Read {
        slot,
        offset: block * BLOCK,
        length: BLOCK,
    };
    let back_end = |number: u64| {
        let seed = SEED ^ mix(number);
        let program = (0..).flat_map(move |transaction: u64| {
            let lookups = (0..LOOKUPS).flat_map(move |lookup| {
                let at = transaction * LOOKUPS + lookup;
                [
                    read(1, below(seed, at, index / BLOCK)),
                    read(0, below(mix(seed), at, heap / BLOCK)),
                ]
            });
            let start = number * (heap / BLOCK / BACK_ENDS) + transaction * blocks;
            let range = (start..start + blocks).map(move |block| read(0, block % (heap / BLOCK)));
            lookups.chain(range)
        });
        Process::new(format!("back end {number}"), vec![0, 1], program)
    };
    Job {
        files: vec![FileSpec::contiguous(heap), FileSpec::contiguous(index)],
        processes: (0..BACK_ENDS).map(back_end).collect(),
        ..Job::default()
    }
}

/// Transactions per second.
fn rate(policy: &str, range_kib: u64) -> Result<f64, ReproduceError> {
    let machine = machines::with_memory(CACHE_MIB);
    let policy = Policy::for_disk(policy, &machine.disk)?;
    let job = job(range_kib);
    let account = RunTotals::new(&job);
    let mut world = World::new(&machine, policy.prototype, &policy.front, &job, account)?;
    world.set_learned(policy.learned);
    world.run_until(RUN_NS)?;
    let report: WorldReport = world.observer().report(RUN_NS, world.queue());
    let reads = 2 * LOOKUPS + (range_kib << 10) / BLOCK;
    Ok(float(report.reads) / float(reads) / (float(RUN_NS) / 1e9))
}

pub(super) fn add(figure: &mut Figure) -> Result<(), ReproduceError> {
    let cells: Vec<_> = POLICIES
        .iter()
        .flat_map(|(_, policy)| RANGES_KIB.map(|range| (*policy, range)))
        .collect();
    let rates: Vec<f64> = parallel::map(&cells, |(policy, range)| rate(policy, *range))
        .into_iter()
        .collect::<Result<_, _>>()?;
    let rates: Vec<&[f64]> = rates.chunks(RANGES_KIB.len()).collect();
    let [stock, ara, twice, eight, ours] = rates[..] else {
        return Ok(());
    };
    let gain = |rates: &[f64]| 100.0 * (rates[JUDGED] / stock[JUDGED] - 1.0);
    figure.rows.push(
        FigureRow::statement(
            "database, transactions of ARA over stock",
            "+6 to +30 %",
            format!("{:+.1} %", gain(ara)),
            gain(ara) >= GAIN.0 && gain(ara) <= GAIN.1,
        )
        .because(format!(
            "{:.1} and {:.1} transactions/s, adaptive {:.1}; scans of {} KiB",
            ara[JUDGED], stock[JUDGED], ours[JUDGED], RANGES_KIB[JUDGED]
        )),
    );
    let row = FigureRow::statement(
        "database, hit rate 1 against 2 and 8",
        "1 is best",
        format!(
            "{:+.1}, {:+.1}, {:+.1} %",
            gain(ara),
            gain(twice),
            gain(eight)
        ),
        ara[JUDGED] >= twice[JUDGED] && ara[JUDGED] >= eight[JUDGED],
    );
    figure.rows.push(explained(
        row,
        "scans are most of a transaction here, and a larger hit rate lets a window grow faster after \
         an interruption",
    ));
    let series = POLICIES
        .iter()
        .zip(&rates)
        .map(|((name, _), rates)| Series {
            name: (*name).to_owned(),
            points: RANGES_KIB
                .iter()
                .zip(*rates)
                .map(|(range, rate)| (float(*range), *rate))
                .collect(),
            style: Style::Line,
        });
    figure.charts.push((
        "ara-2006-database".to_owned(),
        Chart::Lines(LineChart {
            title: format!("{BACK_ENDS} back ends: lookups and a range scan each transaction"),
            x_label: "scan in a transaction (KiB)".to_owned(),
            y_label: "transactions/s".to_owned(),
            x_scale: Scale::Logarithmic,
            y_scale: Scale::Logarithmic,
            series: series.collect(),
            ..LineChart::default()
        }),
    ));
    Ok(())
}
