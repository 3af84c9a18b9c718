//! The article's advice on its two knobs: a ratio "between 50 and 100", and a hit rate "below 16", of which
//! larger values "help catch more sparse access patterns" and sacrifice memory.
//!
//! The ratio is a share of the thrashing threshold: what a stream can have before its pages are evicted. So
//! it is tried on 400 slow streams in 48 MiB, where the threshold is what counts: a ratio is reasonable when
//! less than 1 % of the pages read ahead are lost, and the advice holds when that is so at 50 and 100 and no
//! more at 200. The hit rate is tried on files of which every second to thirty-second page is read. None of
//! these workloads is the article's; its claims are.

use ahead_sim::report::WorldReport;
use ahead_workload::{FileSpec, Job, Process, Step, Workload};

use super::arms::seconds;
use super::machines;
use crate::figure::{Figure, ModelKnobs, ReproduceError, float, run};
use ahead_study::parallel;
use ahead_study::verdict::{FigureRow, Shown};

const RATIOS: [u64; 6] = [10, 25, 50, 75, 100, 200];
const HIT_RATES: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
/// One page of so many is read.
const SPARSE: [u64; 3] = [2, 8, 32];

const FILE_PAGES: u64 = 64 << 8;

/// What is lost when nothing is.
const LOST: f64 = 0.01;

pub(super) fn add(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    ratio(figure, knobs)?;
    hit_rate(figure, knobs)
}

fn ratio(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    let work = Workload::Streams {
        streams: 400,
        bytes_per_s: 8 << 10,
        read_kib: 4,
        seconds: 256,
    };
    let machine = machines::with_memory(knobs.whole(machines::SMALL_CACHE, 48), knobs);
    let reports: Vec<WorldReport> = parallel::map(&RATIOS, |ratio| {
        run(
            &machine,
            &format!("ara-june:ra_kb=1024,ratio={ratio}"),
            &work.job(0),
        )
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    let lost: Vec<f64> = reports
        .iter()
        .map(|report| float(report.prefetch.wasted) / float(report.prefetch.pages.max(1)))
        .collect();
    figure.rows.push(FigureRow::judged(
        "400 slow streams in 48 MiB: pages lost, by ratio, %",
        "reasonable between 50 and 100",
        "less than 1 % lost from 50 to 100, and more at 200 (our reading)",
        &lost,
        ("no difference", &vec![lost[2]; RATIOS.len()]),
        |lost| {
            let texts = RATIOS.iter().zip(lost);
            let texts = texts.map(|(ratio, lost)| format!("{ratio}: {:.2}", 100.0 * lost));
            Shown::new(
                texts.collect::<Vec<_>>().join(", "),
                lost[2..=4].iter().all(|lost| *lost < LOST) && lost[5] >= LOST,
            )
        },
    ));
    let requests = RATIOS.iter().zip(&reports);
    let requests = requests.map(|(ratio, report)| format!("{ratio}: {}", report.device.requests));
    figure.rows.push(FigureRow::shown(
        "the same: requests to the disk",
        "",
        requests.collect::<Vec<_>>().join(", "),
    ));
    Ok(())
}

/// One page of every `step`.
fn sparse(step: u64) -> Job {
    let program = (0..FILE_PAGES / step).map(move |index| Step::Read {
        slot: 0,
        offset: index * step * 4096,
        length: 4096,
    });
    Job {
        files: vec![FileSpec::contiguous(FILE_PAGES * 4096)],
        processes: vec![Process::new("sparse", vec![0], program)],
        ..Job::default()
    }
}

fn hit_rate(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    let machine = machines::desktop(knobs);
    let cells: Vec<(u64, u64)> = SPARSE
        .iter()
        .flat_map(|step| HIT_RATES.map(|rate| (*step, rate)))
        .collect();
    let reports: Vec<WorldReport> = parallel::map(&cells, |(step, rate)| {
        run(
            &machine,
            &format!("ara-june:ra_kb=1024,hit_rate={rate}"),
            &sparse(*step),
        )
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    for (reports, step) in reports.chunks(HIT_RATES.len()).zip(SPARSE) {
        let times: Vec<f64> = reports.iter().map(seconds).collect();
        // Of 1, 2, 4, 8: what is recommended.
        let below = times[1..4].iter().copied().fold(f64::INFINITY, f64::min);
        let above = times[4..].iter().copied().fold(f64::INFINITY, f64::min);
        figure.rows.push(
            FigureRow::judged(
                format!("every page of {step}, time by hit rate"),
                "larger values catch more sparse patterns; keep it below 16",
                "2, 4 or 8 faster than 1 by more than a tie (2 %), 16 and more no faster than these",
                &(below, above),
                ("no difference", &(times[0], times[0])),
                |&(below, above)| {
                    Shown::new(
                        format!("1: {:.2} s, 2 to 8: {below:.2}, 16 to 64: {above:.2}", times[0]),
                        below < times[0] / 1.02 && above > below / 1.02,
                    )
                },
            )
            .or_because(
                "the drive passes over the gaps at the rate of its surface and keeps what comes by, with any \
                 hit rate",
            ),
        );
    }
    Ok(())
}
