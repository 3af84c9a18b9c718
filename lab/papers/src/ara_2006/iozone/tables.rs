//! The grid cell by cell, and what the article says of single file and record sizes.
//!
//! Gains in KB/s are means over the records of files of 128 MiB and more. A range given by the
//! article holds as it is printed, in hundreds or thousands, half a unit more at either end. A record is the
//! best one only where it is better than stock by more than a tie.

use super::grid::{Cell, FILES_KIB, Rates, Score, TESTS, TIE, Test, looked_at, why_not};
use crate::ara_2006::arms::BOTH_STOCK;
use crate::figure::Figure;
use ahead_study::chart::{BarChart, Chart};
use ahead_study::verdict::{AllowedRange, FigureRow, Shown};

/// Files much larger than the disk's buffer, in KiB.
const LARGE_KIB: u64 = 128 << 10;

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
    figure.rows.push(FigureRow::judged(
        "iozone read, files ≥ 128 MiB, speed of ARA over stock",
        "not big, rather detrimental",
        "not faster by more than a tie",
        &read,
        (BOTH_STOCK, &1.0),
        |times| Shown::new(format!("{times:.3}"), *times <= 1.0 + TIE),
    ));
    let hundreds = AllowedRange::of(550.0, 850.0, "600 to 800, in hundreds");
    let random = FigureRow::within(
        "iozone random, files ≥ 128 MiB, gain of ARA in KB/s",
        700.0,
        hundreds,
        gain(Test::Random),
        (BOTH_STOCK, 0.0),
        0,
    );
    figure.rows.push(random.or_because(why_not(Test::Random)));
    let once = Score::of(&looked_at(&of(Test::Once)), |rates| rates.stock);
    figure.rows.push(
        FigureRow::context(
            "iozone random of later versions (each record once): the same gain in KB/s",
            700.0,
            gain(Test::Once),
            0,
        )
        .because(format!("{:.0} % of the cells won", once.share())),
    );
    figure.rows.push(FigureRow::within(
        "iozone stride, files ≥ 128 MiB, gain of ARA in KB/s",
        7000.0,
        AllowedRange::of(4500.0, 9500.0, "\"around 5000-9000\", in thousands"),
        gain(Test::Stride),
        (BOTH_STOCK, 0.0),
        0,
    ));
    let backward = looked_at(&of(Test::Backward));
    let long = large(&backward).filter(|(cell, _)| cell.record_kib >= 1024);
    let gain_max = long.map(|(_, rates)| rates.ara - rates.stock);
    let gain_max = gain_max.fold(f64::NEG_INFINITY, f64::max);
    figure.rows.push(FigureRow::judged(
        "iozone backward, records ≥ 1 MiB, gain of ARA",
        "below 1000 KB/s",
        "as printed",
        &gain_max,
        (BOTH_STOCK, &0.0),
        |gain| Shown::new(format!("{gain:.0} KB/s at most"), *gain < 1000.0),
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
        figure.rows.push(
            FigureRow::judged(
                format!("iozone {name}, files ≥ 128 MiB, record with the best gain"),
                published,
                "one of these, and better than stock by more than a tie",
                &best_record(&looked_at(&of(test))),
                (BOTH_STOCK, &(64, 1.0)),
                |&(record_kib, ratio)| {
                    Shown::new(
                        format!("{} ({ratio:.2} times stock)", size(record_kib)),
                        expected.contains(&record_kib) && ratio > 1.0 + TIE,
                    )
                },
            )
            .or_because(why_not(test)),
        );
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
        figure.rows.push(FigureRow::shown(
            format!(
                "iozone {name}, file of {}, ARA over stock, records of {} to {}",
                size(file_kib),
                size(first.record_kib),
                size(last.record_kib)
            ),
            "table lost",
            ratios.join(" "),
        ));
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
