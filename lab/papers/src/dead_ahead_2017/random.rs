//! The warning: random reads under a window of 32 MiB, as the author describes them, and loads of ours.

use ahead_sim::report::WorldReport;
use ahead_study::chart::{BarChart, Chart};
use ahead_study::parallel;
use ahead_study::verdict::{FigureRow, Shown};
use ahead_workload::Workload;

use super::array::{POLICIES, machine, mib_per_second};
use crate::figure::{Figure, ModelKnobs, ReproduceError, float, run};

/// Bytes read for each byte wanted that the warning speaks of, 32 MiB for 128 KiB, and half of it.
const EVERY_READ: f64 = 256.0;
const HALF_OF_IT: f64 = EVERY_READ / 2.0;

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

/// Bytes read for each byte wanted.
fn amplification(report: &WorldReport) -> f64 {
    float(report.amplification_permille()) / 1000.0
}

/// The warning as it is written, at every window between the two.
pub(super) fn warning(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
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

pub(super) fn curse(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
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
