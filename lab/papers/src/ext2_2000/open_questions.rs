//! What the authors left open: window sizes between the powers of two, an adaptive period, the
//! external sort, and why throughput is best around 64 to 128 pages.
//!
//! There is nothing published to be held against, except where the paper says what was seen at the
//! powers of two; the other rows are answers, for context.

use ahead_replicas::kernel::Advice;
use ahead_sim::report::WorldReport;
use ahead_sim::world::{FrontChoice, Machine, RunTotals, World};
use ahead_workload::random::below;
use ahead_workload::{Job, Listed, Process, Step};

use super::cells::{
    Mechanism, Place, Queue, Runs, Transfer, WINDOWS, files, machine, mapping, mb_per_s, mmapit,
    sweep, usage,
};
use super::charts::{line, over_windows};
use super::following_period::FollowingPeriod;
use crate::figure::{Figure, ModelKnobs, ReproduceError, float, run};
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::{FigureRow, Shown};

/// Periods that are tried.
const PERIODS: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/// Groups under which they are tried: one smaller than the queue, one as large, one larger.
const GROUPS: [u64; 3] = [64, 256, 1024];

/// Sorted runs that the external sort merges, and pages that it takes of one at a time.
const SORT_RUNS: u64 = 8;
const SORT_BLOCK_PAGES: u64 = 4;

/// Rows and pictures.
pub(super) fn add(
    figure: &mut Figure,
    runs: &Runs,
    knobs: &ModelKnobs,
) -> Result<(), ReproduceError> {
    let machine = machine(Transfer::Dma, Queue::Paper, knobs);
    windows(figure, &machine, runs.pages)?;
    periods(figure, &machine, runs.pages)?;
    external_sort(figure, &machine, runs.pages)?;
    why(figure, runs);
    Ok(())
}

fn answer(what: &str, question: &str, answer: String) -> FigureRow {
    FigureRow::shown(what, question, answer)
}

/// Every eighth window size from 8 to 512, and so on.
fn windows(figure: &mut Figure, machine: &Machine, pages: u64) -> Result<(), ReproduceError> {
    let sizes: Vec<u64> = (1..=40)
        .map(|step| step * 8)
        .chain((11..=32).map(|step| step * 32))
        .collect();
    let mut series = Vec::new();
    for (mechanism, name) in [
        (Mechanism::Original, "original"),
        (Mechanism::Modified, "modified"),
    ] {
        let policies: Vec<String> = sizes.iter().map(|size| mechanism.policy(*size)).collect();
        let rates: Vec<f64> = sweep(machine, &policies, pages)?
            .iter()
            .map(mb_per_s)
            .collect();
        let best = rates.iter().copied().fold(0.0, f64::max);
        let good = sizes
            .iter()
            .zip(&rates)
            .filter(|(_, rate)| **rate >= best * 0.98);
        let good: Vec<u64> = good.map(|(size, _)| *size).collect();
        let (first, last) = (good.first().unwrap_or(&0), good.last().unwrap_or(&0));
        figure.rows.push(answer(
            &format!("open: windows of any size, {name}"),
            "best at 64 and 128 of the powers of two",
            format!("{best:.2} MB/s; within 2 % of it from {first} to {last} pages"),
        ));
        series.push(line(name, &sizes, rates.into_iter(), Style::Line));
    }
    let chart = over_windows("Windows of any size, DMA", "MB/s", series);
    figure.charts.push(("ext2-2000-windows".to_owned(), chart));
    Ok(())
}

/// The rule of [`FollowingPeriod`] on the same machine.
fn following(machine: &Machine, group: u64, job: &Job) -> Result<WorldReport, ReproduceError> {
    let rule = FollowingPeriod::new(group);
    let mut world = World::new(machine, rule, &FrontChoice::None, job, RunTotals::new(job))?;
    let elapsed_ns = world.run()?;
    Ok(world.observer().report(elapsed_ns, world.queue()))
}

fn periods(figure: &mut Figure, machine: &Machine, pages: u64) -> Result<(), ReproduceError> {
    let mut series = Vec::new();
    for group in GROUPS {
        let policies = PERIODS.map(|period| format!("advise-true:n={group},period={period}"));
        let rates: Vec<f64> = sweep(machine, &policies, pages)?
            .iter()
            .map(mb_per_s)
            .collect();
        let best = rates.iter().copied().fold(0.0, f64::max);
        let mut good = PERIODS
            .iter()
            .zip(&rates)
            .filter(|(_, rate)| **rate >= best * 0.98);
        let last = good.next_back().map_or(0, |(period, _)| *period);
        let rule = mb_per_s(&following(machine, group, &mmapit(Place::Inner, pages))?);
        figure.rows.push(answer(
            &format!("open: the period P, groups of {group} pages"),
            "16, found by trying; could be adaptive",
            format!(
                "any P up to {last} is within 2 % of the best ({best:.2} MB/s); a P that follows \
                 the queue: {rule:.2} MB/s"
            ),
        ));
        let name = format!("groups of {group} pages");
        series.push(line(&name, &PERIODS, rates.into_iter(), Style::Line));
        series.push(Series {
            name: format!("groups of {group} pages, P follows the queue"),
            points: [PERIODS[0], PERIODS[9]]
                .map(|period| (float(period), rule))
                .to_vec(),
            style: Style::Line,
        });
    }
    let chart = LineChart {
        title: "The period P, modified mechanism, DMA".to_owned(),
        x_label: "P (touches between two attempts)".to_owned(),
        y_label: "MB/s".to_owned(),
        x_scale: Scale::Logarithmic,
        series,
        ..LineChart::default()
    };
    figure
        .charts
        .push(("ext2-2000-period".to_owned(), Chart::Lines(chart)));
    Ok(())
}

/// The merge of an external sort: `SORT_RUNS` mapped files, always the next block of one of them.
fn merge(pages: u64) -> Job {
    let each = pages / SORT_RUNS / SORT_BLOCK_PAGES * SORT_BLOCK_PAGES;
    let all = 0..u32::try_from(SORT_RUNS).unwrap_or(0);
    let mut steps: Vec<Step> = all
        .clone()
        .map(|run| Step::Map {
            area: run,
            slot: run,
            start: 0,
            pages: each,
            advice: Advice::Normal,
            executable: false,
        })
        .collect();
    let mut left: Vec<(u32, u64)> = all.clone().map(|run| (run, 0)).collect();
    let mut number = 0;
    while !left.is_empty() {
        let place = below(2000, number, left.len() as u64);
        let place = usize::try_from(place).unwrap_or(0);
        let (area, page) = left[place];
        steps.push(Step::Touch {
            area,
            page,
            pages: SORT_BLOCK_PAGES,
        });
        left[place].1 += SORT_BLOCK_PAGES;
        if left[place].1 >= each {
            left.swap_remove(place);
        }
        number += 1;
    }
    let open = all.clone().map(|run| run + 1).collect();
    Job {
        files: files(Place::Inner, all.clone().map(|_| each)),
        processes: vec![Process::new("merge", open, Listed::new(steps))],
        ..Job::default()
    }
}

/// The first pass: `group` pages are read, then sorted, which takes as long again as touching them.
fn first_pass(machine: &Machine, pages: u64, group: u64) -> Job {
    let ns = machine.costs.user_page_ns * group;
    let steps = (0..pages / group).flat_map(move |number| {
        [
            Step::Touch {
                area: 0,
                page: number * group,
                pages: group,
            },
            Step::Compute { ns },
        ]
    });
    mapping("sort", Place::Inner, pages, steps)
}

fn external_sort(figure: &mut Figure, machine: &Machine, pages: u64) -> Result<(), ReproduceError> {
    let groups = [4, 16, 64, 128, 256, 512];
    let mut series = Vec::new();
    for pass in ["first pass", "merge"] {
        let mut rates = Vec::new();
        for mechanism in [Mechanism::Original, Mechanism::Modified] {
            let cells = parallel::map(&groups, |group| {
                let job = match pass {
                    "merge" => merge(pages),
                    _ => first_pass(machine, pages, *group),
                };
                run(machine, &mechanism.policy(*group), &job)
            });
            let reports: Vec<WorldReport> = cells.into_iter().collect::<Result<_, _>>()?;
            rates.push(reports.iter().map(mb_per_s).collect::<Vec<_>>());
        }
        let text = groups.iter().zip(rates[0].iter().zip(&rates[1]));
        let text = text.map(|(group, (a, b))| format!("{group}: {a:.1}/{b:.1}"));
        figure.rows.push(answer(
            &format!("open: external sort, {pass}"),
            "not tried; \"could greatly benefit\"",
            format!(
                "MB/s original/modified by pages advised: {}",
                text.collect::<Vec<_>>().join(", ")
            ),
        ));
        for (name, rates) in ["original", "modified"].iter().zip(rates) {
            let name = format!("{pass}, {name}");
            series.push(line(&name, &groups, rates.into_iter(), Style::Line));
        }
    }
    let chart = over_windows("External sort, DMA", "MB/s", series);
    figure.charts.push(("ext2-2000-sort".to_owned(), chart));
    Ok(())
}

/// Where the time of each window goes.
fn why(figure: &mut Figure, runs: &Runs) {
    for (name, list) in [("original", &runs.dma), ("modified", &runs.modified)] {
        for window in [16, 64, 512, 4096] {
            let run = Runs::at(list, window);
            let ms = |ns: u64, count: u64| float(ns) / 1e6 / float(count.max(1));
            figure.rows.push(answer(
                &format!("open: waits, {name}, {window} pages"),
                "fewer beyond 512 pages, but longer",
                format!(
                    "idle {:.2} s; {} for pages, {:.1} ms each; {:.2} s for the queue",
                    usage(run).idle,
                    run.waits.page,
                    ms(run.waits.page_ns, run.waits.page),
                    float(run.waits.queue_ns) / 1e9,
                ),
            ));
        }
    }
    let overlap = |window: u64| {
        let run = Runs::at(&runs.dma, window);
        let serial = float(run.device.busy_ns) / 1e9 + usage(run).user;
        (serial - float(run.elapsed_ns) / 1e9).max(0.0)
    };
    let modified = [64, 512, 4096].map(|window| mb_per_s(Runs::at(&runs.modified, window)));
    figure.rows.push(answer(
        "open: why 64 to 128 pages are best, original",
        "unexplained; something in how the queue is served is supposed",
        format!(
            "overlap: disk and program work at the same time for {:.1} s with 64 pages, {:.1} with \
             256, {:.1} with 512, {:.1} with 4096: beyond the queue's size the program sleeps \
             while its window is handed in",
            overlap(64),
            overlap(256),
            overlap(512),
            overlap(4096)
        ),
    ));
    figure.rows.push(
        FigureRow::judged(
            "open: modified, 512 pages and more beside 64",
            "slower, though with fewer waits",
            "by more than a printed digit (0.05 MB/s)",
            &modified,
            ("64 pages on both sides", &[modified[0]; 3]),
            |rates| {
                Shown::new(
                    format!(
                        "{:.2} and {:.2} beside {:.2} MB/s",
                        rates[1], rates[2], rates[0]
                    ),
                    rates[1].max(rates[2]) < rates[0] - 0.05,
                )
            },
        )
        .or_because(
            "nothing here makes a longer queue slower: requests come in order and the disk is \
             never idle; the authors' loss is not in queue, disk or mechanism as they describe \
             them",
        ),
    );
    let series = |name: &str, value: &dyn Fn(&WorldReport) -> u64| {
        let values = runs.dma.iter().map(|run| float(value(run)) / 1e9);
        line(name, &WINDOWS, values, Style::Stacked)
    };
    let chart = over_windows(
        "Original mechanism, DMA: what the reader waits for",
        "seconds",
        vec![
            series("for pages", &|run| run.waits.page_ns),
            series("for places in the queue", &|run| run.waits.queue_ns),
        ],
    );
    figure.charts.push(("ext2-2000-why".to_owned(), chart));
}
