//! Figures 1 to 7 of the paper.
//!
//! Bounds come from the sentences of the paper: "almost zero" is one page in a hundred, "almost
//! every page" 99 of 100, "nearly four times" 3.3 to 4.5, "as bad as no read-ahead" within 20 % of
//! a window of one page, "zero" is none. Rates of the machine are held within a quarter, because
//! disk and processor costs are substitutes.

use ahead_sim::report::WorldReport;

use super::cells::{
    Mechanism, Place, Queue, Runs, Transfer, WINDOWS, machine, mb_per_s, mmapit, run_with_timeline,
    usage,
};
use super::charts::{line, over_windows};
use crate::figure::{Figure, ReproduceError, float};
use ahead_study::chart::{Chart, LineChart, Series, Style};
use ahead_study::verdict::FigureRow;

/// What a rate or time of the machine may differ by.
const QUARTER: (f64, f64) = (0.75, 1.25);

/// A bucket of figure 3's timeline.
const BUCKET_NS: u64 = 1_000_000_000;

/// Rows and pictures.
pub(super) fn add(figure: &mut Figure, runs: &Runs) -> Result<(), ReproduceError> {
    figure_1(figure, runs);
    figure_2(figure, runs);
    figure_3(figure, runs.pages)?;
    figure_4(figure, runs);
    figure_5(figure, runs);
    figure_6(figure, runs);
    figure_7(figure, runs);
    Ok(())
}

/// Cache hits by the state of the lock, original mechanism.
fn figure_1(figure: &mut Figure, runs: &Runs) {
    let pages = runs.pages;
    for window in [1, 16, 64, 256] {
        let misses = Runs::at(&runs.pio, window).pages.misses;
        figure.rows.push(FigureRow::same(
            format!("fig. 1: misses with {window} pages, one for each window (N/n)"),
            pages.div_ceil(window).to_string(),
            misses.to_string(),
        ));
    }
    let largest = &runs.pio[WINDOWS.len() - 1].pages;
    figure.rows.push(FigureRow::statement(
        "fig. 1: misses with the largest windows",
        "almost zero",
        largest.misses.to_string(),
        largest.misses * 100 <= pages,
    ));
    figure.rows.push(FigureRow::statement(
        "fig. 1: hits on unlocked pages with the largest windows",
        "nearly all 25 600",
        largest.hits_unlocked.to_string(),
        largest.hits_unlocked * 100 >= pages * 99,
    ));
    let locked: Vec<u64> = runs.pio.iter().map(|run| run.pages.hits_locked).collect();
    let peak = place_of_max(&locked);
    figure.rows.push(
        FigureRow::statement(
            "fig. 1: hits on locked pages over the window",
            "rise up to a point, almost none beyond 256 pages",
            format!(
                "most with {} pages ({}); {} with 512, {} with 1024",
                WINDOWS[peak], locked[peak], locked[9], locked[10]
            ),
            (1..=8).contains(&peak) && locked[10..].iter().all(|found| found * 100 <= pages),
        )
        .because({
            let dma: Vec<u64> = runs.dma.iter().map(|run| run.pages.hits_locked).collect();
            let peak = place_of_max(&dma);
            format!(
                "with PIO the interrupt that ends a request moves all its bytes here, so pages are \
             there before the reader runs again; with DMA: most with {} pages ({}), {} with 1024",
                WINDOWS[peak], dma[peak], dma[10]
            )
        }),
    );
    let series = |name: &str, value: &dyn Fn(&WorldReport) -> u64| {
        line(
            name,
            &WINDOWS,
            runs.pio.iter().map(|run| float(value(run))),
            Style::Line,
        )
    };
    let chart = over_windows(
        "Figure 1: how pages were found, original mechanism, PIO",
        "pages",
        vec![
            series("hits on unlocked pages", &|run| run.pages.hits_unlocked),
            series("hits on locked pages", &|run| run.pages.hits_locked),
            series("misses", &|run| run.pages.misses),
        ],
    );
    figure.charts.push(("ext2-2000-1".to_owned(), chart));
}

fn place_of_max(values: &[u64]) -> usize {
    let largest = values.iter().max();
    values
        .iter()
        .position(|value| Some(value) == largest)
        .unwrap_or(0)
}

/// The fastest run: its place, and its rate.
fn fastest(runs: &[WorldReport]) -> (usize, f64) {
    let rates: Vec<u64> = runs.iter().map(WorldReport::bytes_per_second).collect();
    let place = place_of_max(&rates);
    (place, mb_per_s(&runs[place]))
}

/// Where the time goes, as stacked parts.
fn runtime_split(title: &str, runs: &[WorldReport]) -> Chart {
    let part = |name: &str, value: &dyn Fn(&WorldReport) -> f64| {
        line(name, &WINDOWS, runs.iter().map(value), Style::Stacked)
    };
    over_windows(
        title,
        "seconds",
        vec![
            part("user", &|run| usage(run).user),
            part("system", &|run| usage(run).system),
            part("idle", &|run| usage(run).idle),
        ],
    )
}

/// User, system and idle time with programmed I/O.
fn figure_2(figure: &mut Figure, runs: &Runs) {
    let (place, rate) = fastest(&runs.pio);
    figure.rows.push(
        FigureRow::within("fig. 2: best rate with PIO, MB/s", 3.2, rate, QUARTER, 2).because(
            "0.15 ms a sector, derived from 30 s idle in figure 3, alone bound the rate to 2.75",
        ),
    );
    let none = mb_per_s(&runs.pio[0]);
    let large = mb_per_s(Runs::at(&runs.pio, 1024));
    figure.rows.push(FigureRow::statement(
        "fig. 2: windows above 256 pages beside no read-ahead",
        "almost as bad",
        format!(
            "{large:.2} MB/s with 1024 pages, {none:.2} with one, {rate:.2} with {}",
            WINDOWS[place]
        ),
        large <= none * 1.2,
    ));
    let waits = Runs::at(&runs.pio, 1024).waits;
    figure.rows.push(FigureRow::statement(
        "fig. 2: the cause beyond 256 pages",
        "waiting for places in the queue",
        format!(
            "1024 pages: {:.1} s in {} waits for the queue, {:.1} s in {} for pages",
            float(waits.queue_ns) / 1e9,
            waits.queue,
            float(waits.page_ns) / 1e9,
            waits.page
        ),
        waits.queue_ns > waits.page_ns,
    ));
    figure.charts.push((
        "ext2-2000-2".to_owned(),
        runtime_split("Figure 2: original mechanism, PIO", &runs.pio),
    ));
}

/// All pages advised at once, over time.
fn figure_3(figure: &mut Figure, pages: u64) -> Result<(), ReproduceError> {
    let machine = machine(Transfer::Pio, Queue::Paper);
    let policy = Mechanism::Original.policy(pages);
    let report = run_with_timeline(&machine, &policy, &mmapit(Place::Inner, pages), BUCKET_NS)?;
    let Some(timeline) = &report.timeline else {
        return Ok(());
    };
    let seconds = |row: &[u64]| -> Vec<f64> { row.iter().map(|ns| float(*ns) / 1e9).collect() };
    let (user, system) = (seconds(&timeline.user_ns), seconds(&timeline.system_ns));
    let (moving, idle) = (seconds(&timeline.interrupt_ns), seconds(&timeline.idle_ns));
    let first_user = user.iter().position(|part| *part > 0.5).unwrap_or(0);
    let of_idle = |place: usize| moving[place] + idle[place];
    let middle = (5..first_user).all(|place| of_idle(place) > 0.8);
    // Neither the second in which it begins nor the last one is whole.
    let whole = user.iter().skip(first_user + 1);
    let whole = whole.take(user.len().saturating_sub(first_user + 2));
    let end = whole.into_iter().all(|part| *part > 0.9);
    let spent: f64 = system.iter().take(5).sum();
    let waited: f64 = (0..first_user).map(of_idle).sum();
    figure.rows.push(
        FigureRow::statement(
            "fig. 3: 25 600 pages advised: the first 5 s",
            "mostly system",
            format!("{spent:.2} s of system time"),
            spent > 2.5,
        )
        .because(if spent > 2.5 {
            ""
        } else {
            "the queue is full after 256 pages, and the reader sleeps from then on; 5 s of system \
             time would be 0.2 ms for handing in each page"
        }),
    );
    figure.rows.push(FigureRow::statement(
        "fig. 3: then idle",
        "5 to 35 s",
        format!("{waited:.0} s, until second {first_user}"),
        middle && (22.5..=37.5).contains(&waited),
    ));
    figure.rows.push(FigureRow::within(
        "fig. 3: user time begins at second",
        35.0,
        float(u64::try_from(first_user).unwrap_or(0)),
        QUARTER,
        0,
    ));
    figure.rows.push(FigureRow::statement(
        "fig. 3: from there on",
        "all user",
        if end { "all user" } else { "mixed" },
        end,
    ));
    let part = |name: &str, values: Vec<f64>| Series {
        name: name.to_owned(),
        points: (0..).map(float).zip(values).collect(),
        style: Style::Stacked,
    };
    figure.charts.push((
        "ext2-2000-3".to_owned(),
        Chart::Lines(LineChart {
            title: "Figure 3: all 25 600 pages advised at once, PIO".to_owned(),
            x_label: "second".to_owned(),
            y_label: "part of the second".to_owned(),
            series: vec![
                part("user", user),
                part("system", system),
                part("idle: bytes moved by the processor", moving),
                part("idle", idle),
            ],
            ..LineChart::default()
        }),
    ));
    Ok(())
}

/// The same with DMA.
fn figure_4(figure: &mut Figure, runs: &Runs) {
    let (place, rate) = fastest(&runs.dma);
    let (_, pio) = fastest(&runs.pio);
    figure.rows.push(FigureRow::within(
        "fig. 4: best rate with DMA, MB/s",
        11.0,
        rate,
        QUARTER,
        1,
    ));
    figure.rows.push(FigureRow::statement(
        "fig. 4: DMA over PIO, best rates",
        "nearly four times",
        format!("× {:.2}, at {} pages", rate / pio, WINDOWS[place]),
        (3.3..=4.5).contains(&(rate / pio)),
    ).because(
        "the published rates give × 3.4 and more; PIO is too slow here (figure 2), because 30 s \
         idle and 3.2 MB/s are not both possible without moving bytes while the program runs",
    ));
    let user: Vec<f64> = runs.dma.iter().map(|run| usage(run).user).collect();
    let (low, high) = user
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
    figure.rows.push(FigureRow::statement(
        "fig. 4: user time over all windows",
        "constant",
        format!("{low:.2} to {high:.2} s"),
        high <= low * 1.02,
    ));
    let misses = Runs::at(&runs.dma, 16).pages.misses;
    figure.rows.push(FigureRow::same(
        "fig. 4: misses with 16 pages, whatever the disk's speed",
        runs.pages.div_ceil(16).to_string(),
        misses.to_string(),
    ));
    figure.charts.push((
        "ext2-2000-4".to_owned(),
        runtime_split("Figure 4: original mechanism, DMA", &runs.dma),
    ));
}

/// The modified mechanism.
fn figure_5(figure: &mut Figure, runs: &Runs) {
    let best = Runs::at(&runs.modified, 64);
    let idle = usage(best).idle;
    figure.rows.push(FigureRow::within(
        "fig. 5: modified, 64 pages, MB/s",
        12.5,
        mb_per_s(best),
        QUARTER,
        1,
    ));
    figure.rows.push(FigureRow::statement(
        "fig. 5: modified, 64 pages: idle time",
        "just over half a second, nearly 10 % of the time",
        format!("{idle:.2} s, {:.1} %", idle / usage(best).elapsed * 100.0),
        (0.1..=1.2).contains(&idle),
    ));
    let share = |window: u64| {
        let parts = usage(Runs::at(&runs.modified, window));
        parts.idle / parts.elapsed
    };
    figure.rows.push(FigureRow::statement(
        "fig. 5: idle time with 32 and 64 pages",
        "nearly vanishes",
        format!("{:.1} % and {:.1} %", share(32) * 100.0, share(64) * 100.0),
        share(32) <= 0.12 && share(64) <= 0.12,
    ));
    figure.charts.push((
        "ext2-2000-5".to_owned(),
        runtime_split("Figure 5: modified mechanism, DMA", &runs.modified),
    ));
}

/// Idle time before and after.
fn figure_6(figure: &mut Figure, runs: &Runs) {
    let idle = |runs: &[WorldReport], window: u64| usage(Runs::at(runs, window)).idle;
    let factor = |window| idle(&runs.dma, window) / idle(&runs.modified, window).max(1e-3);
    figure.rows.push(
        FigureRow::statement(
            "fig. 6: idle time with 256 pages, original over modified",
            "drastically less",
            format!("× {:.1}", factor(256)),
            factor(256) >= 2.0,
        )
        .because(
            "256 pages just fit into the queue, and the drive reads on into its own buffer, so a \
             miss costs less than a millisecond; the published rates (11 and 12.5 MB/s) allow 3 ms",
        ),
    );
    let least = [512, 1024, 4096].map(factor);
    let least = least.into_iter().fold(f64::INFINITY, f64::min);
    figure.rows.push(FigureRow::statement(
        "fig. 6: idle time from 512 pages on, original over modified",
        "drastically less",
        format!("at least × {least:.1}"),
        least >= 2.0,
    ));
    let never_more = WINDOWS
        .iter()
        .all(|window| idle(&runs.modified, *window) <= idle(&runs.dma, *window) * 1.01);
    figure.rows.push(FigureRow::statement(
        "fig. 6: modified beside original, any window",
        "less idle time",
        if never_more {
            "never more"
        } else {
            "sometimes more"
        },
        never_more,
    ));
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
        FigureRow::statement(
            "fig. 7: waits for the queue, original, 512 pages and more",
            "more than 7000",
            range(&before),
            before.iter().all(|waits| *waits > 7000),
        )
        .because(format!(
            "129 for each window of 512 pages, which is too few, and above 9000 beyond; with the \
             queue of the 2.2.1 sources (64 places of 30 pages): {}",
            range(&sources)
        )),
    );
    figure.rows.push(FigureRow::statement(
        "fig. 7: waits for the queue, modified",
        "none",
        range(&after),
        after.iter().all(|waits| *waits == 0),
    ));
    for window in [64, 256] {
        let (before, after) = (
            Runs::at(&runs.dma, window),
            Runs::at(&runs.modified, window),
        );
        figure.rows.push(FigureRow::statement(
            format!("fig. 7: {window} pages: waits, before and after"),
            "for pages only, and less than half",
            format!(
                "{} ({} for the queue), then {}",
                all(before),
                before.waits.queue,
                all(after)
            ),
            before.waits.queue == 0 && all(after) * 2 < all(before),
        ).because(format!(
            "at the inner end the disk (13.2 MB/s) is slower than the program (14.1), and waits \
             for it remain; at the outer end: {}, then {}",
            all(Runs::at(&runs.outer[0], window)),
            all(Runs::at(&runs.outer[1], window))
        )));
    }
    let small: Vec<(u64, u64)> = [4, 8, 16]
        .iter()
        .map(|window| {
            (
                all(Runs::at(&runs.dma, *window)),
                all(Runs::at(&runs.modified, *window)),
            )
        })
        .collect();
    figure.rows.push(FigureRow::statement(
        "fig. 7: waits with 4, 8 and 16 pages",
        "the same in both kernels",
        small.iter().map(|(a, b)| format!("{a}/{b}")).collect::<Vec<_>>().join(", "),
        small.iter().all(|(before, after)| after * 10 >= before * 8 && after * 8 <= before * 10),
    ).because(
        "a group of 8 is asked for 8 to 16 touches (2.3 to 4.6 ms) ahead, which is enough for a \
         drive that reads on by itself",
    ));
    let late: Vec<u64> = large
        .iter()
        .map(|window| all(Runs::at(&runs.modified, *window)))
        .collect();
    let (low, high) = (
        late.iter().min().unwrap_or(&0),
        late.iter().max().unwrap_or(&0),
    );
    figure.rows.push(FigureRow::statement(
        "fig. 7: waits beyond 512 pages, modified",
        "a plateau",
        format!("{low} to {high}"),
        *high <= low * 5 / 4 + 5,
    ));
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
