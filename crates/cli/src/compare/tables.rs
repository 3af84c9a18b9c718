//! The tables of `ahead compare`, for people.

use ahead_study::plan::Plan;
use ahead_study::results::{Contest, Group, Match, Standing, is_kernel_default};
use ahead_study::sweep::CellOutcome;
use ahead_study::table;

use crate::figures::{megabytes, per_cent_of_permille, ratio, seconds};
/// One table for each plan: every run, and how it stands.
pub(super) fn of_plans(plans: &[Plan], groups: &[Group<'_>]) -> String {
    let mut text = String::new();
    for plan in plans {
        let of_plan = groups.iter().filter(|group| group.cell().plan == plan.name);
        text += &format!(
            "{}: {}\n{}\n\n",
            plan.name,
            plan.about,
            of_plan_table(of_plan)
        );
    }
    text
}

fn of_plan_table<'a>(groups: impl Iterator<Item = &'a Group<'a>>) -> ahead_study::table::Table {
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
        let place = group.cell();
        rows.add_row([format!(
            "{} on {}, {} MiB",
            place.workload, place.disk, place.memory_mib
        )]);
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
    }
    rows
}

/// Who the yardsticks are.
fn mark(run: &CellOutcome, group: &Group<'_>) -> String {
    let is = |other: Option<&CellOutcome>| other.is_some_and(|other| std::ptr::eq(other, run));
    let is_best = is_kernel_default(&run.cell.policy) && is(group.best_kernel());
    match (is_best, is(group.best_size())) {
        (true, _) => " (best kernel)".to_owned(),
        (false, true) => " (best size)".to_owned(),
        (false, false) => String::new(),
    }
}

/// Each contender in every place, and the sum of it.
pub(super) fn of_contests(contests: &[Contest<'_>]) -> String {
    let mut text = String::new();
    for contest in contests {
        text += &format!("{}\n{}\n\n", contest_table(contest), summed_up(contest));
    }
    text
}

fn contest_table(contest: &Contest<'_>) -> ahead_study::table::Table {
    let titles = [
        "plan",
        "disk",
        "MiB",
        "workload",
        contest.policy,
        "best kernel",
        "its time",
        "ours / its",
        "best size",
        "its time",
        "ours / its",
        "of ceiling",
    ];
    // The summary of all plans is compared with an approved one, as text.
    let mut rows = table::as_wide_as_it_is(&titles, 4..12);
    for it in &contest.matches {
        rows.add_row(match_row(it));
    }
    rows
}

fn match_row(it: &Match<'_>) -> [String; 12] {
    let cell = &it.run.cell;
    let standing = Standing::new(it.run, &it.group);
    let named = |run: Option<&CellOutcome>| {
        run.map_or_else(
            || (String::new(), String::new()),
            |run| (run.cell.policy.clone(), seconds(run.report.elapsed_ns)),
        )
    };
    let (kernel, kernel_time) = named(Some(it.best_kernel));
    let (size, size_time) = named(it.group.best_size());
    let lost = if it.is_lost() { " !" } else { "" };
    [
        cell.plan.clone(),
        cell.disk.clone(),
        cell.memory_mib.to_string(),
        cell.workload.clone(),
        seconds(it.run.report.elapsed_ns),
        kernel,
        kernel_time,
        ratio(standing.of_best_kernel_permille) + lost,
        size,
        size_time,
        ratio(standing.of_best_size_permille),
        per_cent_of_permille(standing.of_ceiling_permille),
    ]
}

fn summed_up(contest: &Contest<'_>) -> String {
    let places = contest.matches.len();
    let mean = contest.mean_ratio();
    let mean = mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}"));
    format!(
        "{}: against the best kernel algorithm of each of {places} places, over 2 % faster in {}, \
         over 2 % slower in {}; its time is {mean} of theirs (geometric mean)",
        contest.policy,
        contest.won(),
        contest.lost()
    )
}
