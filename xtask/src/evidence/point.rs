//! A constant at one value, held against what was chosen: the line of a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use ahead_policy::steering::Constant;

/// Times of all cells, in nanoseconds, by what they are called.
pub(super) type Times = BTreeMap<String, f64>;

/// What the cells of generated workloads are called, before the first space.
pub(super) const GENERATED: &str = "generated";

/// A cell whose time differs by less is where it was.
const DIFFERENCE: f64 = 0.001;

const HEAD: &str = "value,plans,generated,differ,cells,worst,worst_cell,best,best_cell";

/// Whether a constant decides across files, and not within them: its cells are programs in trees.
pub(super) fn is_of_trees(constant: &&Constant) -> bool {
    constant.file.contains("/file_order/")
}

/// The constant at one value. Times are relative to those at the chosen value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) value: u64,
    /// Geometric mean over the cells of the plans.
    pub(super) plans: f64,
    /// The same over those of the generated workloads.
    pub(super) generated: f64,
    /// How many cells differ by a thousandth, of how many.
    pub(super) differ: usize,
    pub(super) cells: usize,
    pub(super) worst: (f64, String),
    pub(super) best: (f64, String),
}

impl Point {
    pub(super) fn new(value: u64, times: &Times, chosen: &Times) -> io::Result<Self> {
        let mut point = Self {
            value,
            plans: 1.0,
            generated: 1.0,
            differ: 0,
            cells: times.len(),
            worst: (0.0, String::new()),
            best: (f64::INFINITY, String::new()),
        };
        let mut ratios = [Vec::new(), Vec::new()];
        for (cell, time) in times {
            let Some(as_chosen) = chosen.get(cell) else {
                return Err(io::Error::other(format!("{cell} is not in every run")));
            };
            let ratio = time / as_chosen;
            ratios[usize::from(cell.starts_with(GENERATED))].push(ratio);
            point.differ += usize::from((ratio - 1.0).abs() >= DIFFERENCE);
            if ratio > point.worst.0 {
                point.worst = (ratio, cell.clone());
            }
            if ratio < point.best.0 {
                point.best = (ratio, cell.clone());
            }
        }
        if point.cells == 0 {
            return Err(io::Error::other("the plans have no cell with `adaptive`"));
        }
        [point.plans, point.generated] = ratios.map(|ratios| geometric_mean(&ratios));
        Ok(point)
    }

    fn line(&self) -> String {
        let Self {
            value,
            plans,
            generated,
            differ,
            cells,
            worst,
            best,
        } = self;
        format!(
            "{value},{plans:.4},{generated:.4},{differ},{cells},{:.4},{},{:.4},{}",
            worst.0, worst.1, best.0, best.1
        )
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(',');
        let mut next = || words.next();
        Some(Self {
            value: next()?.parse().ok()?,
            plans: next()?.parse().ok()?,
            generated: next()?.parse().ok()?,
            differ: next()?.parse().ok()?,
            cells: next()?.parse().ok()?,
            worst: (next()?.parse().ok()?, next()?.to_owned()),
            best: (next()?.parse().ok()?, next()?.to_owned()),
        })
    }
}

/// 1 without any: nothing changed.
#[expect(clippy::cast_precision_loss, reason = "a count of cells")]
fn geometric_mean(ratios: &[f64]) -> f64 {
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (logarithms / ratios.len().max(1) as f64).exp()
}

/// The table of a sweep.
pub(super) fn csv(points: &[Point]) -> String {
    let mut text = format!("{HEAD}\n");
    for point in points {
        let _ = writeln!(text, "{}", point.line());
    }
    text
}

/// The points of a table; `None` if it was not written by [`csv`].
pub(super) fn parse(table: &str) -> Option<Vec<Point>> {
    let lines = table.strip_prefix(HEAD)?.strip_prefix('\n')?.lines();
    lines.map(Point::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(cells: [(&str, f64); 3]) -> Times {
        cells.map(|(cell, time)| (cell.to_owned(), time)).into()
    }

    #[test]
    fn twice_the_time_in_one_of_two_cells_is_a_mean_of_root_two() {
        let chosen = times([("a hdd", 10.0), ("b hdd", 20.0), ("generated hdd 1", 10.0)]);
        let longer = times([("a hdd", 10.0), ("b hdd", 40.0), ("generated hdd 1", 5.0)]);
        let point = Point::new(8, &longer, &chosen).unwrap();
        assert!((point.plans - 2.0_f64.sqrt()).abs() < 1e-9);
        assert!((point.generated - 0.5).abs() < 1e-9);
        assert_eq!((point.differ, point.cells), (2, 3));
        assert_eq!(point.worst.1, "b hdd");
        assert_eq!(point.best.1, "generated hdd 1");
    }

    #[test]
    fn a_table_can_be_read_again() {
        let point = Point {
            value: 8,
            plans: 1.5,
            generated: 1.0,
            differ: 2,
            cells: 60,
            worst: (2.0, "a hdd 256 b".to_owned()),
            best: (0.5, "generated ssd 128 7".to_owned()),
        };
        assert_eq!(parse(&csv(std::slice::from_ref(&point))), Some(vec![point]));
        assert_eq!(parse("value,geometric_mean\n8,1.0\n"), None);
    }
}
