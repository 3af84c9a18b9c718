//! `dd` of a 2 GB file in blocks of 4 KiB and 2 MiB.
//!
//! Published: no difference in elapsed time (the article), context switches 2866 → 518 (V3, on the
//! dual Xeon, a file of unknown size in unknown blocks: 4 KiB here). A switch here is a wait of the
//! reader. "No difference" holds within 2 %; "fewer switches" holds below half. On the article's own
//! machine the disk takes 128 KiB at a time, and a reader is woken by each of these requests however
//! long the window is: there the number stays.

use ahead_sim::report::WorldReport;
use ahead_workload::Job;
use ahead_workload::Workload;

use super::arms::{ARA, OURS, STOCK, explained, seconds, time_ratio};
use super::machines;
use crate::figure::{Figure, ReproduceError, float, run};
use ahead_study::parallel;
use ahead_study::verdict::FigureRow;

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

pub(super) fn add(figure: &mut Figure) -> Result<(), ReproduceError> {
    let reports: Vec<WorldReport> = parallel::map(&CELLS, |&(policy, read_kib)| {
        run(&machines::desktop(), policy, &dd(read_kib))
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
                time_ratio(ara, stock),
                (0.98, 1.02),
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
    let work = dd(4);
    let machine = machines::dual_xeon();
    let (stock, ara) = (run(&machine, STOCK, &work)?, run(&machine, ARA, &work)?);
    let here = &reports[..2];
    let row = FigureRow::within(
        "dd on the dual Xeon, waits (context switches) of ARA over stock",
        SWITCHES.1 / SWITCHES.0,
        waits(&ara) / waits(&stock),
        (0.0, 0.5 * SWITCHES.0 / SWITCHES.1),
        2,
    )
    .because(format!(
        "{} and {}; on the desktop, where the disk takes 128 KiB at a time, {} and {}",
        waits(&ara),
        waits(&stock),
        waits(&here[1]),
        waits(&here[0])
    ));
    figure.rows.push(explained(
        row,
        "every request wakes the reader: a factor of 5.5 takes requests longer than 512 KiB",
    ));
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
