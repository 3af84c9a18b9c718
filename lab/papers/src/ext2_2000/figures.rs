//! Figures 1 to 5 of the paper: what pages are found as, and where the time goes.
//!
//! The paper has no repeats. A number may differ by half a unit of its last printed digit, and a word is
//! read as it stands: "almost zero" is one page in a hundred, "nearly all" 99 of 100, "nearly four times"
//! from 11/3.2, which are the two rates, to 4. "Drastically" and "poor" have no number; what is read for them
//! is written in the row. What the machine was fitted to (the user time to figure 5, the place on the
//! disk to the rate of NTFS, the time of a sector to figure 3) is not judged.
//!
//! Null models: no read-ahead (windows of one page), or the original mechanism on both sides.

use ahead_sim::report::WorldReport;

use super::cells::{
    Mechanism, Place, Queue, Runs, Transfer, WINDOWS, machine, mb_per_s, mmapit, run_with_timeline,
    usage,
};
use super::charts::{line, over_windows};
use crate::figure::{Figure, ModelKnobs, ReproduceError, float};
use ahead_study::chart::{Chart, LineChart, Series, Style};
use ahead_study::verdict::{AllowedRange, FigureRow, Shown};

const NONE: &str = "no read-ahead";
pub(super) const BOTH: &str = "original on both sides";

/// A bucket of figure 3's timeline.
const BUCKET_NS: u64 = 1_000_000_000;

/// Rows and pictures.
pub(super) fn add(
    figure: &mut Figure,
    runs: &Runs,
    knobs: &ModelKnobs,
) -> Result<(), ReproduceError> {
    figure_1(figure, runs);
    figure_2(figure, runs);
    figure_3(figure, runs.pages, knobs)?;
    figure_4(figure, runs);
    figure_5(figure, runs);
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
            (NONE, pages.to_string()),
        ));
    }
    let (largest, none) = (&runs.pio[WINDOWS.len() - 1], &runs.pio[0]);
    figure.rows.push(FigureRow::judged(
        "fig. 1: misses with the largest windows",
        "almost zero",
        "at most one page in a hundred",
        largest,
        (NONE, none),
        |run| {
            Shown::new(
                run.pages.misses.to_string(),
                run.pages.misses * 100 <= pages,
            )
        },
    ));
    figure.rows.push(FigureRow::judged(
        "fig. 1: hits on unlocked pages with the largest windows",
        "nearly all 25 600",
        "99 of 100 pages",
        largest,
        (NONE, none),
        |run| {
            let hits = run.pages.hits_unlocked;
            Shown::new(hits.to_string(), hits * 100 >= pages * 99)
        },
    ));
    let locked = |runs: &[WorldReport]| -> Vec<u64> {
        runs.iter().map(|run| run.pages.hits_locked).collect()
    };
    for (name, locked) in [("PIO", locked(&runs.pio)), ("DMA", locked(&runs.dma))] {
        let row = locked_hits(name, &locked, pages);
        figure.rows.push(row.or_because(
            "the interrupt that ends a request moves all its bytes here, so pages are there \
             before the reader runs again",
        ));
    }
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

/// Hits on pages that are on their way, window by window.
pub(super) fn locked_hits(name: &str, locked: &[u64], pages: u64) -> FigureRow {
    FigureRow::judged(
        format!("fig. 1: hits on locked pages over the window, {name}"),
        "rise up to a point, almost none beyond 256 pages",
        "most between 2 and 256 pages, and beyond 512 at most one page in a hundred",
        locked,
        (NONE, &vec![locked[0]; WINDOWS.len()][..]),
        |locked: &[u64]| {
            let peak = place_of_max(locked);
            Shown::new(
                format!(
                    "most with {} pages ({}); {} with 512, {} with 1024",
                    WINDOWS[peak], locked[peak], locked[9], locked[10]
                ),
                (1..=8).contains(&peak) && locked[10..].iter().all(|found| found * 100 <= pages),
            )
        },
    )
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

/// The least and the most.
fn extremes(values: &[f64]) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    values.iter().fold(start, |(low, high), value| {
        (low.min(*value), high.max(*value))
    })
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
    let (_, rate) = fastest(&runs.pio);
    let none = mb_per_s(&runs.pio[0]);
    figure.rows.push(
        FigureRow::within(
            "fig. 2: best rate with PIO, MB/s",
            3.2,
            AllowedRange::of(3.15, 3.25, "as printed"),
            rate,
            (NONE, none),
            2,
        )
        .or_because(
            "0.15 ms a sector, derived from 30 s idle in figure 3, alone bound the rate to 2.75",
        ),
    );
    let rates: Vec<f64> = runs.pio.iter().map(mb_per_s).collect();
    figure.rows.push(
        FigureRow::judged(
            "fig. 2: rate over the window: a peak, then almost as bad as no read-ahead",
            "best with about 64 pages; above 256 almost as bad as none",
            "best from 2 to 256 pages; 512 and more nearer to one page than to the best",
            &rates,
            ("a constant", &vec![none; WINDOWS.len()]),
            |rates| {
                let best = rates.iter().copied().fold(0.0, f64::max);
                let place = rates.iter().position(|rate| *rate >= best).unwrap_or(0);
                let half = f64::midpoint(rates[0], best);
                Shown::new(
                    format!(
                        "{:.2} MB/s with one page, {:.2} with 64, {:.2} with 1024; best {best:.2} with {}",
                        rates[0], rates[6], rates[10], WINDOWS[place]
                    ),
                    (1..=8).contains(&place) && rates[9..].iter().all(|rate| *rate < half),
                )
            },
        )
        .or_because(
            "with PIO the processor that moves the bytes is the bottleneck here, and the program cannot \
             run meanwhile: nothing is lost by waiting for all of a window",
        ),
    );
    figure.rows.push(FigureRow::judged(
        "fig. 2: the cause beyond 256 pages, 1024 pages",
        "waiting for places in the queue",
        "longer for the queue than for pages",
        Runs::at(&runs.pio, 1024),
        (NONE, &runs.pio[0]),
        |run| {
            let waits = run.waits;
            Shown::new(
                format!(
                    "{:.1} s in {} waits for the queue, {:.1} s in {} for pages",
                    float(waits.queue_ns) / 1e9,
                    waits.queue,
                    float(waits.page_ns) / 1e9,
                    waits.page
                ),
                waits.queue_ns > waits.page_ns,
            )
        },
    ));
    let users =
        |runs: &[WorldReport]| -> Vec<f64> { runs.iter().map(|run| usage(run).user).collect() };
    figure.rows.push(
        FigureRow::judged(
            "fig. 2: user time over all windows, PIO",
            "varies greatly, for no good reason",
            "by 10 % at least (our reading)",
            &users(&runs.pio),
            ("a constant", &vec![users(&runs.pio)[0]; WINDOWS.len()]),
            |user| {
                let (low, high) = extremes(user);
                Shown::new(format!("{low:.2} to {high:.2} s"), high >= low * 1.1)
            },
        )
        .or_because("the same work takes the same time here; the authors do not explain it"),
    );
    figure.charts.push((
        "ext2-2000-2".to_owned(),
        runtime_split("Figure 2: original mechanism, PIO", &runs.pio),
    ));
}

/// What figure 3 shows of a run, second by second.
struct Phases {
    user: Vec<f64>,
    system: Vec<f64>,
    moving: Vec<f64>,
    idle: Vec<f64>,
}

impl Phases {
    fn of(report: &WorldReport) -> Self {
        let seconds = |row: &[u64]| -> Vec<f64> { row.iter().map(|ns| float(*ns) / 1e9).collect() };
        let timeline = report.timeline.clone().unwrap_or_default();
        Self {
            user: seconds(&timeline.user_ns),
            system: seconds(&timeline.system_ns),
            moving: seconds(&timeline.interrupt_ns),
            idle: seconds(&timeline.idle_ns),
        }
    }

    /// The second in which the program begins to work.
    fn first_user(&self) -> usize {
        self.user.iter().position(|part| *part > 0.5).unwrap_or(0)
    }

    /// From there on the program has the processor to itself. Neither the second in which it begins
    /// nor the last one is whole.
    fn is_all_user(&self) -> bool {
        let whole = self.user.iter().skip(self.first_user() + 1);
        let mut whole = whole.take(self.user.len().saturating_sub(self.first_user() + 2));
        whole.all(|part| *part > 0.9)
    }
}

/// All pages advised at once, over time.
fn figure_3(figure: &mut Figure, pages: u64, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    let machine = machine(Transfer::Pio, Queue::Paper, knobs);
    let phases = |window| -> Result<Phases, ReproduceError> {
        let policy = Mechanism::Original.policy(window);
        let job = mmapit(Place::Inner, pages);
        Ok(Phases::of(&run_with_timeline(
            &machine, &policy, &job, BUCKET_NS,
        )?))
    };
    let (all, none) = (phases(pages)?, phases(1)?);
    figure.rows.push(
        FigureRow::judged(
            "fig. 3: 25 600 pages advised: the first 5 s",
            "nearly all system",
            "more than half of them",
            &all,
            (NONE, &none),
            |phases| {
                let spent: f64 = phases.system.iter().take(5).sum();
                Shown::new(format!("{spent:.2} s of system time"), spent > 2.5)
            },
        )
        .or_because(
            "the queue is full after 256 pages, and the reader sleeps from then on; 5 s of system \
             time would be 0.2 ms for handing in each page",
        ),
    );
    let first = all.first_user();
    let waited: f64 = (0..first)
        .map(|place| all.moving[place] + all.idle[place])
        .sum();
    const FIT: &str = "the time to move a sector is derived from it";
    figure.rows.push(FigureRow::fitted(
        "fig. 3: then idle, s",
        30.0,
        waited,
        0,
        FIT,
    ));
    figure.rows.push(FigureRow::fitted(
        "fig. 3: user time begins at second",
        35.0,
        float(u64::try_from(first).unwrap_or(0)),
        0,
        FIT,
    ));
    figure.rows.push(FigureRow::judged(
        "fig. 3: from there on",
        "all user",
        "nine tenths of every second",
        &all,
        (NONE, &none),
        |phases| {
            let is_all = phases.is_all_user();
            Shown::new(if is_all { "all user" } else { "mixed" }, is_all)
        },
    ));
    let Phases {
        user,
        system,
        moving,
        idle,
    } = all;
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

/// The original mechanism with DMA.
fn figure_4(figure: &mut Figure, runs: &Runs) {
    let (place, rate) = fastest(&runs.dma);
    let (_, pio) = fastest(&runs.pio);
    figure.rows.push(FigureRow::fitted(
        "fig. 4: best rate with DMA, MB/s",
        11.0,
        rate,
        1,
        "the place on the disk is fitted to NTFS's 13 MB/s, the program's time to figure 5",
    ));
    figure.rows.push(
        FigureRow::judged(
            "fig. 4: DMA over PIO, best rates",
            "nearly four times",
            "3.44 (11 over 3.2, as printed) to 4",
            &(rate / pio),
            ("PIO on both sides", &1.0),
            |times| Shown::new(format!("× {times:.2}"), (3.44..=4.0).contains(times)),
        )
        .because(format!("at {} pages", WINDOWS[place]))
        .or_because(
            "PIO is too slow here (figure 2), because 30 s idle and 3.2 MB/s are not both possible \
             without moving bytes while the program runs",
        ),
    );
    let users =
        |runs: &[WorldReport]| -> Vec<f64> { runs.iter().map(|run| usage(run).user).collect() };
    figure.rows.push(FigureRow::judged(
        "fig. 4: user time over all windows",
        "constant",
        "within 2 % (our reading)",
        &users(&runs.dma),
        ("PIO, where it was not", &users(&runs.pio)),
        |user| {
            let (low, high) = extremes(user);
            Shown::new(format!("{low:.2} to {high:.2} s"), high <= low * 1.02)
        },
    ));
    let misses = Runs::at(&runs.dma, 16).pages.misses;
    figure.rows.push(FigureRow::same(
        "fig. 4: misses with 16 pages, whatever the disk's speed",
        runs.pages.div_ceil(16).to_string(),
        misses.to_string(),
        (NONE, runs.pages.to_string()),
    ));
    figure.charts.push((
        "ext2-2000-4".to_owned(),
        runtime_split("Figure 4: original mechanism, DMA", &runs.dma),
    ));
}

/// The modified mechanism.
fn figure_5(figure: &mut Figure, runs: &Runs) {
    let (best, before) = (Runs::at(&runs.modified, 64), Runs::at(&runs.dma, 64));
    figure.rows.push(FigureRow::fitted(
        "fig. 5: modified, 64 pages, MB/s",
        12.5,
        mb_per_s(best),
        1,
        "the program's own time is derived from it",
    ));
    figure.rows.push(
        FigureRow::within(
            "fig. 5: modified, 64 pages: idle time, s",
            0.5,
            AllowedRange::of(
                0.5,
                0.84,
                "\"just over half a second\", \"nearly 10 %\" of 8.4 s",
            ),
            usage(best).idle,
            (BOTH, usage(before).idle),
            2,
        )
        .or_because("the disk gets ahead of the program within the first groups"),
    );
    let share = |run: &WorldReport| usage(run).idle / usage(run).elapsed * 100.0;
    let shares = |runs: &[WorldReport]| [32, 64].map(|window| share(Runs::at(runs, window)));
    figure.rows.push(FigureRow::judged(
        "fig. 5: idle time with 32 and 64 pages",
        "nearly vanishes",
        "up to 10 %, which they say of 64 pages",
        &shares(&runs.modified),
        (BOTH, &shares(&runs.dma)),
        |shares| {
            let text = format!("{:.1} % and {:.1} %", shares[0], shares[1]);
            Shown::new(text, shares.iter().all(|share| *share <= 10.0))
        },
    ));
    let rates = |runs: &[WorldReport]| -> Vec<f64> { runs.iter().map(mb_per_s).collect() };
    figure.rows.push(
        FigureRow::judged(
            "fig. 5: the best window, modified",
            "64 to 128 pages",
            "the fastest of all windows, by more than a printed digit (0.05 MB/s)",
            &rates(&runs.modified),
            (NONE, &vec![rates(&runs.modified)[0]; WINDOWS.len()]),
            |rates| {
                let best = rates.iter().copied().fold(0.0, f64::max);
                let good = WINDOWS
                    .iter()
                    .zip(rates)
                    .filter(|(_, rate)| **rate > best - 0.05);
                let good: Vec<u64> = good.map(|(window, _)| *window).collect();
                let (first, last) = (good.first().unwrap_or(&0), good.last().unwrap_or(&0));
                Shown::new(
                    format!("{best:.2} MB/s from {first} to {last} pages"),
                    *first >= 64 && *last <= 128,
                )
            },
        )
        .or_because("nothing here makes a longer queue slower: the disk is never idle"),
    );
    figure.charts.push((
        "ext2-2000-5".to_owned(),
        runtime_split("Figure 5: modified mechanism, DMA", &runs.modified),
    ));
}
