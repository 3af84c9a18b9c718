//! Pictures of results.
//!
//! A few groups are bars: how near each policy comes to the ceiling. Many groups would be too
//! small to see; there the picture says for each policy in how many of them it comes how near.
//! Where there are more policies than colours, the best of the kernels stand for all of them.
//! The account of one run is what its processors did over time.

use std::collections::BTreeMap;

use ahead_sim::report::{Timeline, WorldReport};

use crate::chart::{BarChart, Chart, LineChart, Scale, Series, Style};
use crate::plan::{CEILING, FLOOR, KERNEL};
use crate::results::{CellGroup, Contest, Match, Standing, is_contender};

/// More groups than this make bars too thin, and names that overlap.
const BAR_GROUPS_MAX: usize = 6;
/// More policies than this share colours.
const POLICIES_MAX: usize = 8;

/// Each policy's speed as a share of the ceiling's.
#[must_use]
pub fn of_groups(groups: &[CellGroup<'_>]) -> Chart {
    if groups.len() <= BAR_GROUPS_MAX {
        bars(groups)
    } else {
        profile(groups)
    }
}

/// Whose speed is drawn.
enum Who<'a> {
    Policy(&'a str),
    BestKernel,
    BestSize,
}

impl Who<'_> {
    fn name(&self) -> String {
        match self {
            Self::Policy(name) => (*name).to_owned(),
            Self::BestKernel => "best kernel algorithm".to_owned(),
            Self::BestSize => "best size".to_owned(),
        }
    }

    /// Of the ceiling's speed, in hundredths, for the axis.
    fn share(&self, group: &CellGroup<'_>) -> Option<f64> {
        let run = match self {
            Self::Policy(name) => group.run(name),
            Self::BestKernel => group.best_kernel(),
            Self::BestSize => group.best_size(),
        };
        let permille = Standing::new(run?, group).of_ceiling_permille?;
        Some(permille as f64 / 10.0)
    }
}

/// The policies in the order of their first appearance, the ceiling left out: it is the measure.
fn drawn<'a>(groups: &[CellGroup<'a>]) -> Vec<Who<'a>> {
    let mut policies = Vec::new();
    for run in groups.iter().flat_map(|group| group.runs()) {
        let policy = run.cell.policy.as_str();
        if policy != CEILING && !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    if policies.len() <= POLICIES_MAX {
        return policies.into_iter().map(Who::Policy).collect();
    }
    let own = policies.into_iter();
    let own = own.filter(|policy| [FLOOR, KERNEL].contains(policy) || is_contender(policy));
    let best = [Who::BestKernel, Who::BestSize];
    own.take(POLICIES_MAX - best.len())
        .map(Who::Policy)
        .chain(best)
        .collect()
}

fn bars(groups: &[CellGroup<'_>]) -> Chart {
    let varies = |value: fn(&CellGroup<'_>) -> String| {
        let mut values: Vec<_> = groups.iter().map(value).collect();
        values.dedup();
        values.len() > 1
    };
    // Only what separates the groups: there is little space below a bar.
    let parts: [fn(&CellGroup<'_>) -> String; 4] = [
        |group| group.cell().plan.clone(),
        |group| group.cell().workload.clone(),
        |group| group.cell().disk.clone(),
        |group| format!("{} MiB", group.cell().memory_mib),
    ];
    let differing: Vec<_> = parts.into_iter().filter(|part| varies(*part)).collect();
    let name = |group: &CellGroup<'_>| {
        let words: Vec<_> = differing.iter().map(|part| part(group)).collect();
        words.join(" ")
    };
    let series = |who: Who<'_>| {
        let heights = groups
            .iter()
            .map(|group| who.share(group).unwrap_or(f64::NAN));
        (who.name(), heights.collect())
    };
    Chart::Bars(BarChart {
        title: title(groups),
        y_label: "speed, % of the ceiling".to_owned(),
        groups: groups.iter().map(name).collect(),
        bars: drawn(groups).into_iter().map(series).collect(),
    })
}

fn profile(groups: &[CellGroup<'_>]) -> Chart {
    let line = |who: Who<'_>| {
        let shares = groups.iter().filter_map(|group| who.share(group));
        let mut shares: Vec<f64> = shares.collect();
        shares.sort_unstable_by(|one, other| other.total_cmp(one));
        let points = (1_u32..).map(f64::from).zip(shares);
        Series {
            name: who.name(),
            points: points.collect(),
            style: Style::Line,
        }
    };
    Chart::Lines(LineChart {
        title: title(groups),
        x_label: format!("in so many of {} places …", groups.len()),
        y_label: "… the speed is at least so many % of the ceiling's".to_owned(),
        series: drawn(groups).into_iter().map(line).collect(),
        ..LineChart::default()
    })
}

fn title(groups: &[CellGroup<'_>]) -> String {
    let mut plans: BTreeMap<&str, ()> = BTreeMap::new();
    plans.extend(groups.iter().map(|group| (group.cell().plan.as_str(), ())));
    match plans.len() {
        1 => plans.into_keys().collect(),
        count => format!("{count} plans"),
    }
}

/// A contender's time beside the best kernel algorithm's: a row for each plan, in it a point for
/// each place, a colour for each disk. Left of the line at 1 the contender is faster.
#[must_use]
pub fn of_contest(contest: &Contest<'_>) -> Chart {
    let first_seen = |word: fn(&Match<'_>) -> String| {
        let mut words = Vec::new();
        for it in &contest.matches {
            let word = word(it);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words
    };
    let disk = |it: &Match<'_>| it.run.cell.disk.clone();
    let mut rows = first_seen(|it| it.run.cell.plan.clone());
    // Heights count from below, readers from above.
    rows.reverse();
    let height = |it: &Match<'_>| {
        let row = rows.iter().position(|plan| *plan == it.run.cell.plan);
        row.map_or(f64::NAN, |row| row as f64 + 1.0)
    };
    let share = |it: &Match<'_>| {
        let permille = Standing::new(it.run, &it.group).of_best_kernel_permille;
        permille.map_or(f64::NAN, |permille| permille as f64 / 1000.0)
    };
    let points_on = |name: String| {
        let here = contest.matches.iter().filter(|it| disk(it) == name);
        Series {
            points: here.map(|it| (share(it), height(it))).collect(),
            style: Style::Points,
            name,
        }
    };
    let even = Series {
        name: "as fast".to_owned(),
        points: vec![(1.0, 0.0), (1.0, rows.len() as f64 + 1.0)],
        style: Style::Line,
    };
    let disks = first_seen(disk);
    // The line first, so that no point is behind it.
    let series = std::iter::once(even).chain(disks.into_iter().map(points_on));
    Chart::Lines(LineChart {
        title: format!("{} beside the best kernel algorithm", contest.policy),
        x_label: "its time / the best kernel algorithm's".to_owned(),
        x_scale: Scale::Logarithmic,
        series: series.collect(),
        rows,
        ..LineChart::default()
    })
}

/// One kind of work of a timeline, bucket by bucket.
type Row = fn(&Timeline) -> &Vec<u64>;

/// What processors did over the run; `None` for a report without a timeline.
#[must_use]
pub fn of_run(title: &str, report: &WorldReport) -> Option<Chart> {
    let timeline = report.timeline.as_ref()?;
    let rows: [(&str, Row); 4] = [
        ("user", |timeline| &timeline.user_ns),
        ("system", |timeline| &timeline.system_ns),
        ("interrupts", |timeline| &timeline.interrupt_ns),
        ("idle", |timeline| &timeline.idle_ns),
    ];
    let bucket_s = timeline.bucket_ns as f64 / 1e9;
    let series = rows.iter().map(|(name, row)| {
        let heights = row(timeline).iter().map(|ns| *ns as f64 / 1e9 / bucket_s);
        let moments = (0_u32..).map(|bucket| (f64::from(bucket) + 0.5) * bucket_s);
        Series {
            name: (*name).to_owned(),
            points: moments.zip(heights).collect(),
            style: Style::Stacked,
        }
    });
    Some(Chart::Lines(LineChart {
        title: title.to_owned(),
        x_label: "time in s".to_owned(),
        y_label: "processors".to_owned(),
        series: series.collect(),
        ..LineChart::default()
    }))
}
