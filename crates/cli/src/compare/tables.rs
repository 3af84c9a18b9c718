//! The tables of `ahead compare`, for people.

use ahead_study::plan::Plan;
use ahead_study::results::{CellGroup, Contest, Match, Standing, is_kernel_default, permille};
use ahead_study::sweep::{self, CellOutcome};
use ahead_study::table::{self, Table};

use ahead_units::PAGE_BYTES;

use crate::figures::{megabytes, per_cent_of_permille, ratio, seconds, size as of_bytes};

/// Two tables for each plan, since a screen is not wide enough for one: how fast every run is and how it
/// stands, then what its reads wait and what memory holds for it.
pub(super) fn of_plans(plans: &[Plan], groups: &[CellGroup<'_>]) -> String {
    let mut text = String::new();
    for plan in plans {
        let of_plan = || groups.iter().filter(|group| group.cell().plan == plan.name);
        text += &format!(
            "{}: {}\n{}\n\n{}\n\n",
            plan.name,
            plan.about,
            speeds(plans, of_plan()),
            waits(of_plan())
        );
    }
    text
}

fn speeds<'a>(plans: &[Plan], groups: impl Iterator<Item = &'a CellGroup<'a>>) -> Table {
    let titles = [
        "policy",
        "time",
        "MB/s",
        "read /\nwanted",
        "requests",
        "of\nceiling",
        "time / best\nkernel",
    ];
    let mut rows = table::with_titles(&titles, 1..7);
    for group in groups {
        rows.add_row([place_of(group)]);
        for run in group.runs() {
            let report = &run.report;
            let standing = Standing::new(run, group);
            rows.add_row([
                format!("  {}{}", run.cell.policy, mark(run, group)),
                seconds(report.elapsed_ns),
                megabytes(report.bytes_per_second()),
                ratio(Some(report.amplification_permille())),
                report.device.requests.to_string(),
                per_cent_of_permille(standing.of_ceiling_permille),
                ratio(standing.of_best_kernel_permille),
            ]);
        }
        let bound_ns = sweep::lower_bound_ns(plans, group.cell()).ok().flatten();
        if let (Some(bound_ns), Some(ceiling)) = (bound_ns, group.ceiling()) {
            let of_ceiling = permille(ceiling.report.elapsed_ns, bound_ns);
            let dash = "-".to_owned();
            rows.add_row([
                "  (lower bound)".to_owned(),
                seconds(bound_ns),
                dash.clone(),
                dash.clone(),
                dash.clone(),
                per_cent_of_permille(of_ceiling),
                dash,
            ]);
        }
    }
    rows
}

fn waits<'a>(groups: impl Iterator<Item = &'a CellGroup<'a>>) -> Table {
    let titles = [
        "policy",
        "mean read",
        "99 of 100",
        "longest read",
        "held unread",
    ];
    let mut rows = table::with_titles(&titles, 1..5);
    for group in groups {
        rows.add_row([place_of(group)]);
        for run in group.runs() {
            let latency = run.report.latency;
            rows.add_row([
                format!("  {}", run.cell.policy),
                seconds(latency.mean_ns),
                seconds(latency.p99_ns),
                seconds(latency.max_ns),
                of_bytes(run.report.prefetch.unread_max * PAGE_BYTES),
            ]);
        }
    }
    rows
}

fn place_of(group: &CellGroup<'_>) -> String {
    let place = group.cell();
    format!(
        "{} on {}, {} MiB",
        place.workload, place.disk, place.memory_mib
    )
}

/// Who the yardsticks are.
fn mark(run: &CellOutcome, group: &CellGroup<'_>) -> String {
    let is = |other: Option<&CellOutcome>| other.is_some_and(|other| std::ptr::eq(other, run));
    let is_best = is_kernel_default(&run.cell.policy) && is(group.best_kernel());
    match (is_best, is(group.best_size())) {
        (true, _) => " (best kernel)".to_owned(),
        (false, true) => " (best size)".to_owned(),
        (false, false) => String::new(),
    }
}

/// Each contender in every place, and the sum of it: one table beside the best kernel algorithm,
/// one beside the best size and the ceiling, since a screen is not wide enough for both.
pub(super) fn of_contests(contests: &[Contest<'_>]) -> String {
    let mut text = String::new();
    for contest in contests {
        text += &format!(
            "{}\n\n{}\n\n{}\n\n",
            summed_up(contest),
            beside_kernels(contest),
            beside_sizes(contest)
        );
    }
    text
}

fn beside_kernels(contest: &Contest<'_>) -> Table {
    let titles = ["time", "best kernel", "time / its"];
    contest_table(contest, titles, |it| {
        let standing = Standing::new(it.run, &it.group);
        let lost = if it.is_lost() { " !" } else { "" };
        [
            seconds(it.run.report.elapsed_ns),
            it.best_kernel.cell.policy.clone(),
            ratio(standing.of_best_kernel_permille) + lost,
        ]
    })
}

fn beside_sizes(contest: &Contest<'_>) -> Table {
    let titles = ["best size", "time / its", "of ceiling"];
    contest_table(contest, titles, |it| {
        let standing = Standing::new(it.run, &it.group);
        [
            it.group.best_size().map_or_else(String::new, size),
            ratio(standing.of_best_size_permille),
            per_cent_of_permille(standing.of_ceiling_permille),
        ]
    })
}

/// The place of each match, and three more columns.
fn contest_table(
    contest: &Contest<'_>,
    titles: [&str; 3],
    cells: impl Fn(&Match<'_>) -> [String; 3],
) -> Table {
    let places = ["plan", "disk", "MiB", "workload"];
    let mut rows = table::with_titles(&[&places[..], &titles[..]].concat(), 4..7);
    for it in &contest.matches {
        let cell = &it.run.cell;
        let place = [
            cell.plan.clone(),
            cell.disk.clone(),
            cell.memory_mib.to_string(),
            cell.workload.clone(),
        ];
        rows.add_row(place.into_iter().chain(cells(it)));
    }
    rows
}

/// What the best size is: the key alone, since its algorithm is always the running kernel's.
fn size(run: &CellOutcome) -> String {
    match run.cell.policy.split_once("ra_kb=") {
        Some((_, kib)) => format!("{kib} KiB"),
        None => "its own".to_owned(),
    }
}

fn summed_up(contest: &Contest<'_>) -> String {
    let places = contest.matches.len();
    let mean = contest.mean_ratio();
    let mean = mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}"));
    format!(
        "{}: against the best kernel algorithm of each of {places} places, over 2 % faster in {},\n\
         over 2 % slower in {} (marked !); its time is {mean} of theirs (geometric mean)",
        contest.policy,
        contest.won(),
        contest.lost()
    )
}
