//! Figures 6 and 7 of the paper: idle time and waits, before and after. Words are read as in
//! [`figures`](super::figures).

use ahead_sim::report::WorldReport;

use super::cells::{Runs, WINDOWS, usage};
use super::charts::{line, over_windows};
use super::figures::BOTH;
use crate::figure::{Figure, float};
use ahead_study::chart::Style;
use ahead_study::verdict::{FigureRow, Shown};

/// Rows and pictures.
pub(super) fn add(figure: &mut Figure, runs: &Runs) {
    figure_6(figure, runs);
    figure_7(figure, runs);
}

/// Idle time before and after.
fn figure_6(figure: &mut Figure, runs: &Runs) {
    let idle = |runs: &[WorldReport], window: u64| usage(Runs::at(runs, window)).idle;
    let factor =
        |after: &[WorldReport], window| idle(&runs.dma, window) / idle(after, window).max(1e-3);
    for (windows, name) in [
        (&[256][..], "256 pages"),
        (&[512, 1024, 4096], "512 pages and more"),
    ] {
        let least = |after: &[WorldReport]| {
            let factors = windows.iter().map(|window| factor(after, *window));
            factors.fold(f64::INFINITY, f64::min)
        };
        figure.rows.push(
            FigureRow::judged(
                format!("fig. 6: idle time with {name}, original over modified"),
                "drastically less",
                "at least × 2 (our reading)",
                &least(&runs.modified),
                (BOTH, &least(&runs.dma)),
                |times| Shown::new(format!("× {times:.1}"), *times >= 2.0),
            )
            .or_because(
                "256 pages just fit into the queue, and the drive reads on into its own buffer, so a \
                 miss costs less than a millisecond",
            ),
        );
    }
    let series = |name: &str, runs: &[WorldReport]| {
        line(
            name,
            &WINDOWS,
            runs.iter().map(|run| usage(run).idle),
            Style::Line,
        )
    };
    let chart = over_windows(
        "Figure 6: idle time before and after, DMA",
        "seconds",
        vec![
            series("original", &runs.dma),
            series("modified", &runs.modified),
        ],
    );
    figure.charts.push(("ext2-2000-6".to_owned(), chart));
}

/// How often 2.2 would have put the reader to sleep because the queue was full: each time that it
/// came with a page and found no place. The simulator counts the whole of it as one wait.
fn queue_waits(run: &WorldReport) -> u64 {
    run.device.refused
}

/// Waits before and after.
fn figure_7(figure: &mut Figure, runs: &Runs) {
    let all = |run: &WorldReport| match run.waits.queue {
        0 => run.waits.page,
        _ => run.waits.page + queue_waits(run),
    };
    let large: Vec<u64> = WINDOWS
        .into_iter()
        .filter(|window| *window >= 512)
        .collect();
    let each = |runs: &[WorldReport], value: &dyn Fn(&WorldReport) -> u64| -> Vec<u64> {
        large
            .iter()
            .map(|window| value(Runs::at(runs, *window)))
            .collect()
    };
    let before = each(&runs.dma, &queue_waits);
    let sources = each(&runs.dma_sources, &queue_waits);
    let after = each(&runs.modified, &|run| run.waits.queue);
    let range = |values: &[u64]| {
        let (low, high) = (values.iter().min(), values.iter().max());
        format!("{} to {}", low.unwrap_or(&0), high.unwrap_or(&0))
    };
    figure.rows.push(
        FigureRow::judged(
            "fig. 7: waits for the queue, original, 512 pages and more",
            "more than 7000 in each case",
            "every one of them",
            &before,
            ("modified on both sides", &after),
            |waits| Shown::new(range(waits), waits.iter().all(|waits| *waits > 7000)),
        )
        .because(format!(
            "with the queue of the 2.2.1 sources (64 places of 30 pages): {}",
            range(&sources)
        ))
        .or_because("129 for each window of 512 pages, which is too few, and above 9000 beyond"),
    );
    figure.rows.push(FigureRow::judged(
        "fig. 7: waits for the queue, modified",
        "none",
        "none",
        &after,
        (BOTH, &before),
        |waits| Shown::new(range(waits), waits.iter().all(|waits| *waits == 0)),
    ));
    let places = [
        ("inner", &runs.dma, &runs.modified),
        ("outer", &runs.outer[0], &runs.outer[1]),
    ];
    for (place, original, modified) in places {
        for window in [64, 256] {
            let before = Runs::at(original, window);
            figure.rows.push(
                FigureRow::judged(
                    format!("fig. 7: {window} pages: waits, before and after, {place} end"),
                    "for pages only, and less than half",
                    "less than half",
                    Runs::at(modified, window),
                    (BOTH, before),
                    |after| {
                        Shown::new(
                            format!(
                                "{} ({} for the queue), then {}",
                                all(before),
                                before.waits.queue,
                                all(after)
                            ),
                            before.waits.queue == 0 && all(after) * 2 < all(before),
                        )
                    },
                )
                .or_because(
                    "at the inner end the disk (13.2 MB/s) is slower than the program (14.1), and waits \
                     for it remain",
                ),
            );
        }
    }
    let small = [4, 8, 16].map(|window| {
        let waits = |runs: &[WorldReport]| all(Runs::at(runs, window));
        (waits(&runs.dma), waits(&runs.modified))
    });
    let none_left = small.map(|(before, _)| (before, 0));
    figure.rows.push(
        FigureRow::judged(
            "fig. 7: waits with 4, 8 and 16 pages",
            "essentially the same in both kernels",
            "within a tenth (our reading)",
            &small,
            ("a modified mechanism that never waits", &none_left),
            |pairs| {
                let texts = pairs.map(|(a, b)| format!("{a}/{b}"));
                let is_same = |&(a, b): &(u64, u64)| b * 10 >= a * 9 && b * 9 <= a * 10;
                Shown::new(texts.join(", "), pairs.iter().all(is_same))
            },
        )
        .or_because(
            "a group of 8 is asked for 8 to 16 touches (2.3 to 4.6 ms) ahead, which is enough for a \
             drive that reads on by itself",
        ),
    );
    let every = |runs: &[WorldReport]| -> Vec<u64> { runs.iter().map(all).collect() };
    let original = every(&runs.dma);
    figure.rows.push(FigureRow::judged(
        "fig. 7: waits in every case, modified beside original",
        "reduced in every case",
        "fewer at every window but that of one page",
        &every(&runs.modified),
        (BOTH, &original),
        |waits| {
            let pairs = waits.iter().zip(&original).skip(1);
            let fewer = pairs.filter(|(after, before)| after < before).count();
            let text = format!("fewer at {fewer} of {} windows", WINDOWS.len() - 1);
            Shown::new(text, fewer == WINDOWS.len() - 1)
        },
    ));
    let modified = every(&runs.modified);
    figure.rows.push(
        FigureRow::judged(
            "fig. 7: waits of the modified mechanism over the window",
            "falling, then a plateau beyond 512 pages",
            "fewer at 512 pages than at 64, and the same to a tenth from there on",
            &modified,
            ("a constant", &vec![modified[0]; WINDOWS.len()]),
            |waits| {
                let late = &waits[9..];
                let (low, high) = (late.iter().min(), late.iter().max());
                let (low, high) = (low.copied().unwrap_or(0), high.copied().unwrap_or(0));
                Shown::new(
                    format!("{} with 64 pages, {low} to {high} from 512 on", waits[6]),
                    high < waits[6] && high * 9 <= low * 10,
                )
            },
        )
        .or_because("the waits for the disk at its inner end are the same from 8 pages on"),
    );
    let series = |name: &str, runs: &[WorldReport]| {
        line(
            name,
            &WINDOWS,
            runs.iter().map(|run| float(all(run))),
            Style::Line,
        )
    };
    let chart = over_windows(
        "Figure 7: waits before and after, DMA",
        "waits for pages and for the queue",
        vec![
            series("original", &runs.dma),
            series("modified", &runs.modified),
        ],
    );
    figure.charts.push(("ext2-2000-7".to_owned(), chart));
}
