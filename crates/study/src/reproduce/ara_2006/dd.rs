//! `dd` of a 2 GB file in blocks of 4 KiB and 2 MiB.
//!
//! Published: no difference in elapsed time (the article), context switches 2866 → 518 (V3, another
//! machine). A switch here is a wait of the reader. "No difference" holds within 2 %; "fewer
//! switches" holds below half.

use ahead_sim::report::Report;
use ahead_sim::workload::Workload;

use crate::reproduce::run;
use super::{ARA, Figure, OURS, ReproduceError, STOCK, float, machines, seconds, time_ratio};
use crate::parallel;
use crate::verdict::Row;

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
    let reports: Vec<Report> = parallel::map(&CELLS, |&(policy, read_kib)| {
        let work = Workload::Sequential {
            file_mib: FILE_MIB,
            read_kib,
            passes: 1,
        };
        run(&machines::desktop(), policy, &work.job(0))
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    for (reports, block) in reports.chunks(3).zip(["4 KiB", "2 MiB"]) {
        let [stock, ara, ours] = reports else {
            continue;
        };
        figure.rows.push(
            Row::within(
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
        let waits = (float(stock.waits.page), float(ara.waits.page));
        let row = Row::within(
            format!("dd of 2 GB in {block}, waits (context switches) of ARA over stock"),
            SWITCHES.1 / SWITCHES.0,
            waits.1 / waits.0.max(1.0),
            (0.0, 0.5 * SWITCHES.0 / SWITCHES.1),
            2,
        );
        figure
            .rows
            .push(row.because(format!("{} and {}", waits.1, waits.0)));
    }
    Ok(())
}
