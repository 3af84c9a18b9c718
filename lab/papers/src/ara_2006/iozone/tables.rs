//! The grid cell by cell, and what the article says of single file and record sizes.
//!
//! Gains in KB/s are means over the records of files of 128 MiB and more. A range given by the
//! article is held against its middle and may be off by a factor of three: it depends on a disk
//! whose figures are not published. A gain that is said to be small holds up to a tenth.

use super::grid::{Cell, FILES_KIB, Rates, Score, TESTS, Test, looked_at, why_not};
use crate::ara_2006::arms::explained;
use crate::figure::Figure;
use ahead_study::chart::{BarChart, Chart};
use ahead_study::verdict::{FigureRow, Verdict};

/// Files much larger than the disk's buffer, in KiB.
const LARGE_KIB: u64 = 128 << 10;

/// A range of the article, and how far its middle may be missed.
const FACTOR: (f64, f64) = (1.0 / 3.0, 3.0);

type Cells<'a> = &'a dyn Fn(Test) -> Vec<(Cell, Rates)>;

pub(super) fn add(figure: &mut Figure, of: Cells<'_>) {
    gains(figure, of);
    best_records(figure, of);
    for (test, name, _) in TESTS {
        if matches!(test, Test::Reread | Test::Fread) {
            continue;
        }
        let cells = looked_at(&of(test));
        table(figure, name, &cells);
        figure.charts.push(picture(name, &cells));
    }
}

fn size(kib: u64) -> String {
    if kib >= 1024 {
        format!("{} MiB", kib >> 10)
    } else {
        format!("{kib} KiB")
    }
}

fn large(cells: &[(Cell, Rates)]) -> impl Iterator<Item = &(Cell, Rates)> {
    cells.iter().filter(|(cell, _)| cell.file_kib >= LARGE_KIB)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, many) = values.fold((0.0, 0.0), |(sum, many), value| (sum + value, many + 1.0));
    sum / f64::max(many, 1.0)
}

fn ratio(rates: &Rates) -> f64 {
    rates.ara / rates.stock
}

fn gains(figure: &mut Figure, of: Cells<'_>) {
    let gain = |test: Test| {
        let cells = looked_at(&of(test));
        mean(large(&cells).map(|(_, rates)| rates.ara - rates.stock))
    };
    let of_read = looked_at(&of(Test::Read));
    let read = mean(large(&of_read).map(|(_, rates)| ratio(rates)));
    figure.rows.push(FigureRow::within(
        "iozone read, files ≥ 128 MiB, speed of ARA over stock (little, or less)",
        1.0,
        read,
        (0.9, 1.1),
        3,
    ));
    let random = FigureRow::within(
        "iozone random, files ≥ 128 MiB, gain of ARA in KB/s (600 to 800)",
        700.0,
        gain(Test::Random),
        FACTOR,
        0,
    );
    figure.rows.push(explained(random, why_not(Test::Random)));
    let once = Score::of(&looked_at(&of(Test::Once)), |rates| rates.stock);
    figure.rows.push(
        FigureRow::context(
            "iozone random, each record once: the same gain in KB/s",
            700.0,
            gain(Test::Once),
            0,
        )
        .because(format!("{:.0} % of the cells won", once.share())),
    );
    figure.rows.push(FigureRow::within(
        "iozone stride, files ≥ 128 MiB, gain of ARA in KB/s (5000 to 9000)",
        7000.0,
        gain(Test::Stride),
        FACTOR,
        0,
    ));
    let backward = looked_at(&of(Test::Backward));
    let long = large(&backward).filter(|(cell, _)| cell.record_kib >= 1024);
    let gain_max = long.map(|(_, rates)| rates.ara - rates.stock);
    let gain_max = gain_max.fold(f64::NEG_INFINITY, f64::max);
    figure.rows.push(FigureRow::statement(
        "iozone backward, records ≥ 1 MiB, gain of ARA",
        "below 1000 KB/s",
        format!("{gain_max:.0} KB/s at most"),
        gain_max < 1000.0,
    ));
}

/// The record size with the best mean ratio over the large files.
fn best_record(cells: &[(Cell, Rates)]) -> (u64, f64) {
    let mut best = (0, 0.0);
    for power in 2..15 {
        let record_kib = 1 << power;
        let of_record = large(cells).filter(|(cell, _)| cell.record_kib == record_kib);
        let mean = mean(of_record.map(|(_, rates)| ratio(rates)));
        if mean > best.1 {
            best = (record_kib, mean);
        }
    }
    best
}

fn best_records(figure: &mut Figure, of: Cells<'_>) {
    let claims: [(Test, &str, &[u64]); 4] = [
        (Test::Read, "512 KiB", &[512]),
        (Test::Random, "64 KiB (first-level cache)", &[64]),
        (
            Test::Stride,
            "64 to 256 KiB (first- or second-level cache)",
            &[64, 128, 256],
        ),
        (Test::Backward, "64 KiB", &[64]),
    ];
    for (test, published, expected) in claims {
        let name = TESTS.iter().find(|(known, ..)| *known == test);
        let name = name.map_or("", |(_, name, _)| name);
        let (record_kib, ratio) = best_record(&looked_at(&of(test)));
        let row = FigureRow::statement(
            format!("iozone {name}, files ≥ 128 MiB, record with the best gain"),
            published,
            format!("{} ({ratio:.2} times stock)", size(record_kib)),
            expected.contains(&record_kib),
        );
        figure.rows.push(explained(row, why_not(test)));
    }
}

/// One line for each file size: speed of ARA over stock, record by record.
fn table(figure: &mut Figure, name: &str, cells: &[(Cell, Rates)]) {
    for file_kib in FILES_KIB {
        let line: Vec<_> = cells
            .iter()
            .filter(|(cell, _)| cell.file_kib == file_kib)
            .collect();
        let (Some((first, _)), Some((last, _))) = (line.first(), line.last()) else {
            continue;
        };
        let ratios: Vec<String> = line
            .iter()
            .map(|(_, rates)| format!("{:.2}", ratio(rates)))
            .collect();
        figure.rows.push(FigureRow {
            what: format!(
                "iozone {name}, file of {}, ARA over stock, records of {} to {}",
                size(file_kib),
                size(first.record_kib),
                size(last.record_kib)
            ),
            published: "table lost".to_owned(),
            simulated: ratios.join(" "),
            ratio: None,
            verdict: Verdict::Context,
            reason: String::new(),
        });
    }
}

fn picture(name: &str, cells: &[(Cell, Rates)]) -> (String, Chart) {
    let records: Vec<u64> = (2..15).map(|power| 1 << power).collect();
    let bars = FILES_KIB.into_iter().map(|file_kib| {
        let height = |record_kib: &u64| {
            let cell = cells
                .iter()
                .find(|(cell, _)| cell.file_kib == file_kib && cell.record_kib == *record_kib);
            cell.map_or(f64::NAN, |(_, rates)| ratio(rates))
        };
        let heights = records.iter().map(height).collect();
        (format!("file of {}", size(file_kib)), heights)
    });
    let chart = BarChart {
        title: format!("iozone {name}: speed of ARA over stock, by record size"),
        y_label: "times stock (1: no difference)".to_owned(),
        groups: records.iter().map(|kib| size(*kib)).collect(),
        bars: bars.collect(),
    };
    (format!("ara-2006-iozone-{name}"), Chart::Bars(chart))
}
