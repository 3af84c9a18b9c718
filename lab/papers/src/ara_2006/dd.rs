//! `dd` of a 2 GB file in blocks of 4 KiB and 2 MiB.
//!
//! Published: no difference in elapsed time, and "ARA profits from a larger block size" (the article);
//! context switches 2866 → 518 (V3, on the dual Xeon, a file of unknown size in unknown blocks: 4 KiB here).
//! A switch here is a wait of the reader. The mail's two runs of this test differ by 0.3 % (10.59 and 10.62 s),
//! which is what "no difference" and "profits" mean. On the article's own machine the disk takes 128 KiB at a
//! time, and a reader is woken by each of these requests however long the window is: there the number stays.

use ahead_sim::report::WorldReport;
use ahead_workload::Job;
use ahead_workload::Workload;

use super::arms::{ARA, BOTH_STOCK, OURS, STOCK, seconds, time_ratio};
use super::machines;
use crate::figure::{Figure, ModelKnobs, ReproduceError, float, run};
use ahead_study::parallel;
use ahead_study::verdict::{AllowedRange, FigureRow, Shown};

const FILE_MIB: u64 = 2048;

const CELLS: [(&str, u64); 6] = [
    (STOCK, 4),
    (ARA, 4),
    (OURS, 4),
    (STOCK, 2048),
    (ARA, 2048),
    (OURS, 2048),
];

/// Context switches of the V3 announcement.
const SWITCHES: (f64, f64) = (2866.0, 518.0);

/// What two published runs of this test differ by.
const NOISE: f64 = 0.003;

pub(super) fn add(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    let reports: Vec<WorldReport> = parallel::map(&CELLS, |&(policy, read_kib)| {
        run(&machines::desktop(knobs), policy, &dd(read_kib))
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    for (reports, block) in reports.chunks(3).zip(["4 KiB", "2 MiB"]) {
        let [stock, ara, ours] = reports else {
            continue;
        };
        figure.rows.push(
            FigureRow::within(
                format!("dd of 2 GB in {block}, time of ARA over stock"),
                1.0,
                AllowedRange::of(1.0 - NOISE, 1.0 + NOISE, "two runs of the mail"),
                time_ratio(ara, stock),
                (BOTH_STOCK, 1.0),
                3,
            )
            .because(format!(
                "{:.1} and {:.1} s; adaptive {:.1} s",
                seconds(ara),
                seconds(stock),
                seconds(ours)
            )),
        );
    }
    let [stock, small, _, _, large, _] = &reports[..] else {
        return Ok(());
    };
    figure.rows.push(
        FigureRow::judged(
            "dd of 2 GB, ARA with blocks of 2 MiB instead of 4 KiB",
            "profits",
            "faster by more than 0.3 %, which two runs of the mail differ by",
            &time_ratio(large, small),
            ("the same blocks", &1.0),
            |ratio| Shown::new(format!("{ratio:.3} times the time"), *ratio < 1.0 - NOISE),
        )
        .or_because("the disk is the limit with either: what a call costs is hidden behind it"),
    );
    let here = [stock, small];
    let work = dd(4);
    let machine = machines::dual_xeon(knobs);
    let (stock, ara) = (run(&machine, STOCK, &work)?, run(&machine, ARA, &work)?);
    let published = SWITCHES.1 / SWITCHES.0;
    let off = 2.0 / SWITCHES.1.sqrt() * published;
    figure.rows.push(
        FigureRow::within(
            "dd on the dual Xeon, waits (context switches) of ARA over stock",
            published,
            AllowedRange::of(published - off, published + off, "twice the root of 518"),
            waits(&ara) / waits(&stock),
            (BOTH_STOCK, 1.0),
            2,
        )
        .because(format!(
            "{} and {}; on the desktop, where the disk takes 128 KiB at a time, {} and {}",
            waits(&ara),
            waits(&stock),
            waits(here[1]),
            waits(here[0])
        ))
        .or_because(
            "every request wakes the reader: a factor of 5.5 takes requests longer than 512 KiB",
        ),
    );
    Ok(())
}

fn dd(read_kib: u64) -> Job {
    let work = Workload::Sequential {
        file_mib: FILE_MIB,
        read_kib,
        passes: 1,
    };
    work.job(0)
}

fn waits(report: &WorldReport) -> f64 {
    float(report.waits.page.max(1))
}
