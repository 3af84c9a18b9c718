//! The iozone grid: six ways of reading, file sizes, record sizes, stock against ARA.
//!
//! `iozone -Ra` tries files from 64 KiB to 512 MiB and records from 4 KiB to 16 MiB, both by powers
//! of two; a record is no longer than its file, and from files of more than 16 MiB on no shorter
//! than 64 KiB. `-U` mounts the file system anew before each test, so every test begins with an
//! empty cache. The article looks at files as large as the second-level cache, the disk's buffer,
//! half the memory, the memory, and twice the memory: 44 cells for each test. Its five shares are
//! all multiples of 1/44 as printed, so these are the cells it counts (derived).
//!
//! What a test reads, with `n` records in the file:
//!
//! * read, re-read, fread: all records in order. `-U` makes re-read a second first read. stdio is
//!   given a buffer of one record, and glibc then reads records: fread makes the same calls.
//! * random: `n` records, each drawn anew, as in the article's iozone 3.263. Each record once, which is a
//!   line for context, came later: "Revision 3.292: Make random offsets unique, using Knuth shuffle"
//!   (iozone's `Changes.txt`).
//! * stride: every 17th record, then again from the next one on, until `n` have been read; a file
//!   of no more than 17 records begins at its first record each time.
//! * backward: all records from the last to the first.
//!
//! A cell is won by who is faster. Most cells of an ordered read are equal to a fraction of a
//! percent, and who won them in the measurement was chance: read and re-read are one experiment,
//! and differ by 7 points. So a cell within 2 % is a tie and counts as half a win; the share
//! without any band is printed beside it. A share holds within those 7 points: two runs of one experiment
//! differ by as much. The null model is stock on both sides, which gives 50 % by ties alone.

mod grid;
mod tables;

use self::grid::{Cell, Rates, Score, TESTS, Test, cells, looked_at, why_not};
use super::arms::BOTH_STOCK;
use crate::figure::{Figure, ModelKnobs, ReproduceError};
use ahead_study::chart::{BarChart, Chart};
use ahead_study::parallel;
use ahead_study::verdict::{AllowedRange, FigureRow, Shown};

/// What a share may differ by, in points: read and re-read are one experiment, and gave 43 and 36.
const SHARE_POINTS: f64 = 7.0;

pub(super) fn add(figure: &mut Figure, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    // Read, re-read and fread are the same calls on the same empty cache: computed once.
    let computed = [
        Test::Read,
        Test::Random,
        Test::Stride,
        Test::Backward,
        Test::Once,
    ];
    let mut all: Vec<Cell> = computed.into_iter().flat_map(cells).collect();
    // The longest ones first, so that both processors finish together.
    all.sort_by_key(|cell| std::cmp::Reverse(cell.file_kib));
    let rates = parallel::map(&all, |cell| cell.rates(knobs));
    let rates: Vec<(Cell, Rates)> = all
        .iter()
        .zip(rates)
        .map(|(cell, rates)| rates.map(|rates| (*cell, rates)))
        .collect::<Result<_, _>>()?;
    let of = |test: Test| -> Vec<(Cell, Rates)> {
        let test = match test {
            Test::Reread | Test::Fread => Test::Read,
            other => other,
        };
        let of_test = rates.iter().filter(|(cell, _)| cell.test == test);
        let mut of_test: Vec<_> = of_test.copied().collect();
        of_test.sort_by_key(|(cell, _)| (cell.file_kib, cell.record_kib));
        of_test
    };
    shares(figure, &of);
    tables::add(figure, &of);
    Ok(())
}

fn shares(figure: &mut Figure, of: &dyn Fn(Test) -> Vec<(Cell, Rates)>) {
    let mut simulated = Vec::new();
    let mut large = Vec::new();
    for (test, name, published) in TESTS {
        let (whole, cells) = (of(test), looked_at(&of(test)));
        let score = Score::of(&cells, |rates| rates.stock);
        let won = score.share();
        let won_large = Score::of(&cells, |rates| rates.stock_large).share();
        let won_whole = Score::of(&whole, |rates| rates.stock).share();
        let spread = AllowedRange::of(
            published - SHARE_POINTS,
            published + SHARE_POINTS,
            "read and re-read are one experiment, and differ by 7 points",
        );
        let row = FigureRow::within(
            format!("iozone {name}, cells won by ARA, %"),
            published,
            spread,
            won,
            (BOTH_STOCK, 50.0),
            0,
        );
        let row = row.because(format!(
            "won {}, tied {}, lost {}; {:.0} % without the tie band; {won_whole:.0} % of all {} \
                 cells; {won_large:.0} % against stock with 1 MiB",
            score.won,
            score.tied,
            score.lost,
            score.share_strictly(),
            whole.len()
        ));
        figure.rows.push(row.or_because(why_not(test)));
        simulated.push(won);
        large.push(won_large);
    }
    let (stride, backward) = (simulated[3], simulated[4]);
    let others = [simulated[0], simulated[1], simulated[2], simulated[5]];
    let others = others.into_iter().fold(0.0, f64::max);
    figure.rows.push(
        FigureRow::judged(
            "iozone, order of the six shares",
            "stride, then backward, then the rest",
            "in this order",
            &[stride, backward, others],
            (BOTH_STOCK, &[50.0; 3]),
            |shares| {
                let [stride, backward, others] = *shares;
                Shown::new(
                    format!(
                        "stride {stride:.0}, backward {backward:.0}, best of the rest {others:.0}"
                    ),
                    stride > backward && backward > others,
                )
            },
        )
        .or_because(why_not(Test::Backward)),
    );
    figure.charts.push((
        "ara-2006-iozone-shares".to_owned(),
        Chart::Bars(BarChart {
            title: "iozone: cells in which ARA is faster than stock (ties half)".to_owned(),
            y_label: "% of 44 cells".to_owned(),
            groups: TESTS
                .iter()
                .map(|(_, name, _)| (*name).to_owned())
                .collect(),
            bars: vec![
                (
                    "published".to_owned(),
                    TESTS.iter().map(|(_, _, published)| *published).collect(),
                ),
                ("simulated, stock 128 KiB".to_owned(), simulated),
                ("simulated, stock 1 MiB".to_owned(), large),
            ],
        }),
    ));
}
