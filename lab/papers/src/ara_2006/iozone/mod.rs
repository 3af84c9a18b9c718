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
//! * random: `n` records, each drawn anew. Later versions of iozone read each record once; which of
//!   the two 3.263 does is not known, so a line for context has the other.
//! * stride: every 17th record, then again from the next one on, until `n` have been read; a file
//!   of no more than 17 records begins at its first record each time.
//! * backward: all records from the last to the first.
//!
//! A cell is won by who is faster. Most cells of an ordered read are equal to a fraction of a
//! percent, and who won them in the measurement was chance: read and re-read are one experiment,
//! and differ by 7 points. So a cell within 2 % is a tie and counts as half a win; the share
//! without any band is printed beside it. A share holds within 15 points: twice those 7, rounded.

mod tables;

use ahead_workload::random::{below, mix};
use ahead_workload::{FileSpec, Job, Process, Step};

use super::{ARA, Figure, ReproduceError, STOCK, STOCK_LARGE, explained, float, machines};
use crate::run;
use ahead_study::chart::{BarChart, Chart};
use ahead_study::parallel;
use ahead_study::verdict::FigureRow;

/// A way of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Read,
    Reread,
    Random,
    Stride,
    Backward,
    Fread,
    /// As random, but each record once.
    Once,
}

/// Name, and published share of cells that ARA won, in percent.
const TESTS: [(Test, &str, f64); 6] = [
    (Test::Read, "read", 43.0),
    (Test::Reread, "re-read", 36.0),
    (Test::Random, "random", 36.0),
    (Test::Stride, "stride", 68.0),
    (Test::Backward, "backward", 48.0),
    (Test::Fread, "fread", 34.0),
];

/// Files that the article looks at, in KiB.
const FILES_KIB: [u64; 5] = [256, 2 << 10, 128 << 10, 256 << 10, 512 << 10];

/// Cells closer than this are a tie.
const TIE: f64 = 0.02;

/// What a share may differ by, in points.
const SHARE_POINTS: f64 = 15.0;

/// Records between two reads of the stride test.
const STRIDE: u64 = 17;

/// One file size, one record size.
#[derive(Clone, Copy, Debug)]
struct Cell {
    test: Test,
    file_kib: u64,
    record_kib: u64,
}

/// KiB/s of stock, stock with 1 MiB, and ARA.
#[derive(Clone, Copy, Debug)]
struct Rates {
    stock: f64,
    stock_large: f64,
    ara: f64,
}

/// The cells of one test in the order of iozone.
fn cells(test: Test) -> Vec<Cell> {
    let mut cells = Vec::new();
    for file_kib in (6..20).map(|power| 1 << power) {
        let shortest = if file_kib > 16 << 10 { 6 } else { 2 };
        for record_kib in (shortest..15).map(|power| 1 << power) {
            if record_kib <= file_kib {
                cells.push(Cell {
                    test,
                    file_kib,
                    record_kib,
                });
            }
        }
    }
    cells
}

/// Records in the order in which `test` reads them.
fn records(test: Test, many: u64) -> Vec<u64> {
    match test {
        Test::Read | Test::Reread | Test::Fread => (0..many).collect(),
        Test::Backward => (0..many).rev().collect(),
        Test::Random => (0..many).map(|index| below(0, index, many)).collect(),
        Test::Once => {
            let mut order: Vec<(u64, u64)> =
                (0..many).map(|record| (mix(record), record)).collect();
            order.sort_unstable();
            order.into_iter().map(|(_, record)| record).collect()
        }
        Test::Stride => {
            let (mut at, mut wraps) = (0, 0);
            let mut order = Vec::new();
            for _ in 0..many {
                order.push(at);
                // iozone turns back before the last record.
                if at + 1 + STRIDE + 1 >= many {
                    wraps += 1;
                    at = if many <= STRIDE { 0 } else { wraps % many };
                } else {
                    at += STRIDE;
                }
            }
            order
        }
    }
}

impl Cell {
    fn job(self) -> Job {
        let length = self.record_kib << 10;
        let order = records(self.test, self.file_kib / self.record_kib);
        let program = order.into_iter().map(move |record| Step::Read {
            slot: 0,
            offset: record * length,
            length,
        });
        Job {
            files: vec![FileSpec::contiguous(self.file_kib << 10)],
            processes: vec![Process::new("iozone", vec![0], program)],
            ..Job::default()
        }
    }

    fn rates(self) -> Result<Rates, ReproduceError> {
        let rate = |policy| -> Result<f64, ReproduceError> {
            let report = run(&machines::desktop(), policy, &self.job())?;
            Ok(float(report.bytes_per_second()) / 1024.0)
        };
        Ok(Rates {
            stock: rate(STOCK)?,
            stock_large: rate(STOCK_LARGE)?,
            ara: rate(ARA)?,
        })
    }
}

/// How many cells ARA wins, ties and loses, and how many it would win without a band.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    won: u64,
    tied: u64,
    lost: u64,
    won_strictly: u64,
}

impl Score {
    fn of(rates: &[(Cell, Rates)], against: fn(&Rates) -> f64) -> Self {
        let mut score = Self::default();
        for (_, rates) in rates {
            let ratio = rates.ara / against(rates);
            if ratio > 1.0 + TIE {
                score.won += 1;
            } else if ratio >= 1.0 / (1.0 + TIE) {
                score.tied += 1;
            } else {
                score.lost += 1;
            }
            score.won_strictly += u64::from(ratio > 1.0);
        }
        score
    }

    /// Percent of all cells, ties counted half.
    fn share(self) -> f64 {
        let cells = self.won + self.tied + self.lost;
        50.0 * float(2 * self.won + self.tied) / float(cells.max(1))
    }

    fn share_strictly(self) -> f64 {
        let cells = self.won + self.tied + self.lost;
        100.0 * float(self.won_strictly) / float(cells.max(1))
    }
}

pub(super) fn add(figure: &mut Figure) -> Result<(), ReproduceError> {
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
    let rates = parallel::map(&all, |cell| cell.rates());
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

/// What was found about a share that does not hold.
const fn why_not(test: Test) -> &'static str {
    match test {
        Test::Read | Test::Reread | Test::Fread => {
            "every cell is a tie: the disk is never idle under either, and a decision costs nothing \
             here"
        }
        Test::Random | Test::Once => {
            "ARA reads on where a record touches one that is cached, and memory is full before most \
             of that is wanted"
        }
        Test::Stride | Test::Backward => {
            "where records are as long as windows, or the file is read whole, no policy can win; the \
             measurement gave nearly all of these ties to stock"
        }
    }
}

fn looked_at(cells: &[(Cell, Rates)]) -> Vec<(Cell, Rates)> {
    let cells = cells.iter();
    cells
        .filter(|(cell, _)| FILES_KIB.contains(&cell.file_kib))
        .copied()
        .collect()
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
        let bounds = (
            (published - SHARE_POINTS) / published,
            (published + SHARE_POINTS) / published,
        );
        let row = FigureRow::within(
            format!("iozone {name}, cells won by ARA, %"),
            published,
            won,
            bounds,
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
        figure.rows.push(explained(row, why_not(test)));
        simulated.push(won);
        large.push(won_large);
    }
    let (stride, backward) = (simulated[3], simulated[4]);
    let others = [simulated[0], simulated[1], simulated[2], simulated[5]];
    let others = others.into_iter().fold(0.0, f64::max);
    let order = FigureRow::statement(
        "iozone, order of the six shares",
        "stride, then backward, then the rest",
        format!("stride {stride:.0}, backward {backward:.0}, best of the rest {others:.0}"),
        stride > backward && backward > others,
    );
    figure.rows.push(explained(order, why_not(Test::Backward)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_the_one_of_iozone_and_the_article_counts_44_of_its_cells() {
        let cells = cells(Test::Read);
        assert_eq!(cells.len(), 126);
        let rates = Rates {
            stock: 1.0,
            stock_large: 1.0,
            ara: 1.0,
        };
        let with_rates: Vec<_> = cells.into_iter().map(|cell| (cell, rates)).collect();
        assert_eq!(looked_at(&with_rates).len(), 44);
    }

    #[test]
    fn every_published_share_is_a_whole_number_of_the_44_cells() {
        for (_, name, percent) in TESTS {
            let fits = (0..=44).any(|won| (float(won) / 0.44).round() == percent);
            assert!(fits, "{name}: {percent} %");
        }
    }

    #[test]
    fn a_stride_of_17_comes_back_for_the_records_between() {
        let order = records(Test::Stride, 64);
        assert_eq!(order[..8], [0, 17, 34, 51, 1, 18, 35, 52]);
        assert_eq!(records(Test::Stride, 16), vec![0; 16]);
    }

    #[test]
    fn each_record_once_is_a_permutation() {
        let mut order = records(Test::Once, 100);
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_tie_is_half_a_win() {
        let cell = cells(Test::Read)[0];
        let rated = |ara: f64| {
            let rates = Rates {
                stock: 100.0,
                stock_large: 100.0,
                ara,
            };
            (cell, rates)
        };
        let score = Score::of(
            &[rated(110.0), rated(101.0), rated(99.0), rated(90.0)],
            |r| r.stock,
        );
        assert_eq!((score.won, score.tied, score.lost), (1, 2, 1));
        assert!((score.share() - 50.0).abs() < 1e-9);
        assert_eq!(score.won_strictly, 2);
    }
}
