//! The grid: its tests, its cells, what each of them reads, how fast, and who wins.

use ahead_workload::random::{below, mix};
use ahead_workload::{FileSpec, Job, Process, Step};

use crate::ara_2006::arms::{ARA, STOCK, STOCK_LARGE};
use crate::ara_2006::machines;
use crate::figure::{ModelKnobs, ReproduceError, float, run};

/// A way of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
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
pub(super) const TESTS: [(Test, &str, f64); 6] = [
    (Test::Read, "read", 43.0),
    (Test::Reread, "re-read", 36.0),
    (Test::Random, "random", 36.0),
    (Test::Stride, "stride", 68.0),
    (Test::Backward, "backward", 48.0),
    (Test::Fread, "fread", 34.0),
];

/// Files that the article looks at, in KiB.
pub(super) const FILES_KIB: [u64; 5] = [256, 2 << 10, 128 << 10, 256 << 10, 512 << 10];

/// Cells closer than this are a tie.
pub(super) const TIE: f64 = 0.02;

/// Records between two reads of the stride test.
const STRIDE: u64 = 17;

/// One file size, one record size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) test: Test,
    pub(super) file_kib: u64,
    pub(super) record_kib: u64,
}

/// KiB/s of stock, stock with 1 MiB, and ARA.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    pub(super) stock: f64,
    pub(super) stock_large: f64,
    pub(super) ara: f64,
}

/// The cells of one test in the order of iozone.
pub(super) fn cells(test: Test) -> Vec<Cell> {
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

    pub(super) fn rates(self, knobs: &ModelKnobs) -> Result<Rates, ReproduceError> {
        let rate = |policy| -> Result<f64, ReproduceError> {
            let report = run(&machines::desktop(knobs), policy, &self.job())?;
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
pub(super) struct Score {
    pub(super) won: u64,
    pub(super) tied: u64,
    pub(super) lost: u64,
    won_strictly: u64,
}

impl Score {
    pub(super) fn of(rates: &[(Cell, Rates)], against: fn(&Rates) -> f64) -> Self {
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
    pub(super) fn share(self) -> f64 {
        let cells = self.won + self.tied + self.lost;
        50.0 * float(2 * self.won + self.tied) / float(cells.max(1))
    }

    pub(super) fn share_strictly(self) -> f64 {
        let cells = self.won + self.tied + self.lost;
        100.0 * float(self.won_strictly) / float(cells.max(1))
    }
}

/// What was found about a share that does not hold.
pub(super) const fn why_not(test: Test) -> &'static str {
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

pub(super) fn looked_at(cells: &[(Cell, Rates)]) -> Vec<(Cell, Rates)> {
    let cells = cells.iter();
    cells
        .filter(|(cell, _)| FILES_KIB.contains(&cell.file_kib))
        .copied()
        .collect()
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
