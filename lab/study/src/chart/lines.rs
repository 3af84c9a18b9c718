//! A picture with two numeric axes: lines, points, stacked areas.

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use super::style::{Area, COLORS, FONT, GRID, frame, label, legend};

/// How values are laid out along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps.
    #[default]
    Linear,
    /// Equal ratios. Values must be positive; others are left out.
    Logarithmic,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Points joined by a line.
    #[default]
    Line,
    /// Points only: measured or published values.
    Points,
    /// Filled down to the series before it; the first down to 0. Points are heights of the part.
    Stacked,
}

/// One line of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// (x, y), ascending in x.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub style: Style,
}

/// A picture with two numeric axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// Above the picture.
    pub title: String,
    /// Below the horizontal axis, with its unit.
    pub x_label: String,
    /// Beside the vertical axis, with its unit.
    pub y_label: String,
    /// The horizontal scale.
    pub x_scale: Scale,
    /// The vertical scale.
    pub y_scale: Scale,
    /// Names of the heights 1, 2, … for a linear vertical axis that counts rows instead of
    /// measuring; empty for one that measures.
    pub rows: Vec<String>,
    /// What is drawn.
    pub series: Vec<Series>,
}

/// Draws it.
pub(super) fn draw(chart: &LineChart, area: &Area<'_>) -> Result<(), String> {
    let (x, y) = extent(chart);
    match (chart.x_scale, chart.y_scale) {
        (Scale::Linear, Scale::Linear) => draw_on(chart, area, x.0..x.1, y.0..y.1),
        (Scale::Logarithmic, Scale::Linear) => {
            draw_on(chart, area, (x.0..x.1).log_scale().base(2.0), y.0..y.1)
        }
        (Scale::Linear, Scale::Logarithmic) => {
            draw_on(chart, area, x.0..x.1, (y.0..y.1).log_scale())
        }
        (Scale::Logarithmic, Scale::Logarithmic) => draw_on(
            chart,
            area,
            (x.0..x.1).log_scale().base(2.0),
            (y.0..y.1).log_scale(),
        ),
    }
}

/// What can be drawn of a series.
fn drawable(chart: &LineChart, series: &Series) -> Vec<(f64, f64)> {
    let fits =
        |scale: Scale, value: f64| value.is_finite() && (scale == Scale::Linear || value > 0.0);
    let points = series.points.iter().copied();
    points
        .filter(|&(x, y)| fits(chart.x_scale, x) && fits(chart.y_scale, y))
        .collect()
}

/// The series as they are drawn: stacked ones on top of each other.
fn heights(chart: &LineChart) -> Vec<Vec<(f64, f64)>> {
    let mut base: Vec<(f64, f64)> = Vec::new();
    let mut all = Vec::with_capacity(chart.series.len());
    for series in &chart.series {
        let mut points = drawable(chart, series);
        if series.style == Style::Stacked {
            for (index, point) in points.iter_mut().enumerate() {
                point.1 += base.get(index).map_or(0.0, |below| below.1);
            }
            base.clone_from(&points);
        }
        all.push(points);
    }
    all
}

fn extent(chart: &LineChart) -> ((f64, f64), (f64, f64)) {
    let mut x = (f64::INFINITY, f64::NEG_INFINITY);
    let mut y = x;
    for (px, py) in heights(chart).into_iter().flatten() {
        x = (x.0.min(px), x.1.max(px));
        y = (y.0.min(py), y.1.max(py));
    }
    if x.0 > x.1 {
        (x, y) = ((0.0, 1.0), (0.0, 1.0));
    }
    if x.0 >= x.1 {
        x = match chart.x_scale {
            Scale::Linear => (x.0 - 1.0, x.1 + 1.0),
            Scale::Logarithmic => (x.0 / 2.0, x.1 * 2.0),
        };
    }
    let y = match chart.y_scale {
        #[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
        Scale::Linear if !chart.rows.is_empty() => (0.0, chart.rows.len() as f64 + 1.0),
        Scale::Linear => (y.0.min(0.0), if y.1 > 0.0 { y.1 * 1.08 } else { 1.0 }),
        Scale::Logarithmic => (y.0 / 1.5, y.1 * 1.5),
    };
    (x, y)
}

/// Which row a height of a counting axis names; `None` beside and between rows.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, and at least one"
)]
fn row_at(value: f64) -> Option<usize> {
    let is_row = value.round() >= 1.0 && (value - value.round()).abs() < 0.01;
    is_row.then(|| value.round() as usize - 1)
}

fn draw_on<X, Y>(chart: &LineChart, area: &Area<'_>, x: X, y: Y) -> Result<(), String>
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let text = |error: DrawingAreaErrorKind<_>| format!("{error}");
    let counts_rows = !chart.rows.is_empty();
    let mut frame = frame(area, &chart.title);
    if counts_rows {
        frame.y_label_area_size(190);
    }
    let mut context = frame.build_cartesian_2d(x, y).map_err(text)?;
    let y_name = |value: &f64| {
        let name = |value: f64| chart.rows.get(row_at(value)?).cloned();
        if counts_rows {
            name(*value).unwrap_or_default()
        } else {
            label(*value)
        }
    };
    let mut mesh = context.configure_mesh();
    mesh.light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .x_desc(&chart.x_label)
        .y_desc(&chart.y_label)
        .x_label_formatter(&|value| label(*value))
        .y_label_formatter(&y_name)
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 15));
    if counts_rows {
        mesh.y_labels(chart.rows.len() + 2);
    }
    mesh.draw().map_err(text)?;
    let lines = heights(chart);
    // The topmost part of a stack first, so that the lower ones cover it.
    let stacked = |index: &usize| chart.series[*index].style == Style::Stacked;
    let order: Vec<usize> = (0..lines.len())
        .rev()
        .filter(stacked)
        .chain((0..lines.len()).filter(|index| !stacked(index)))
        .collect();
    for index in order {
        let series = &chart.series[index];
        let color = COLORS[index % COLORS.len()];
        let points = lines[index].clone();
        let drawn = match series.style {
            Style::Line => {
                let dots = points.clone();
                context
                    .draw_series(
                        dots.into_iter()
                            .map(|at| Circle::new(at, 3, color.filled())),
                    )
                    .map_err(text)?;
                context.draw_series(LineSeries::new(points, color.stroke_width(2)))
            }
            Style::Points => context.draw_series(
                points
                    .into_iter()
                    .map(|at| TriangleMarker::new(at, 6, color.filled())),
            ),
            Style::Stacked => context.draw_series(AreaSeries::new(points, 0.0, color.filled())),
        };
        drawn
            .map_err(text)?
            .label(&series.name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 14, y + 4)], color.filled()));
    }
    if chart.series.len() > 1 {
        legend(&mut context, emptiest_corner(chart))?;
    }
    Ok(())
}

/// Where the legend hides the fewest points.
fn emptiest_corner(chart: &LineChart) -> SeriesLabelPosition {
    let (x, y) = extent(chart);
    let part = |value: f64, (low, high): (f64, f64), scale: Scale| match scale {
        Scale::Linear => (value - low) / (high - low),
        Scale::Logarithmic => (value / low).ln() / (high / low).ln(),
    };
    let mut corners = [
        (0, (false, true), SeriesLabelPosition::UpperLeft),
        (0, (true, true), SeriesLabelPosition::UpperRight),
        (0, (true, false), SeriesLabelPosition::LowerRight),
        (0, (false, false), SeriesLabelPosition::LowerLeft),
    ];
    for (px, py) in heights(chart).into_iter().flatten() {
        let at = (part(px, x, chart.x_scale), part(py, y, chart.y_scale));
        for (points, (right, upper), _) in &mut corners {
            let near_x = if *right { at.0 > 0.6 } else { at.0 < 0.4 };
            let near_y = if *upper { at.1 > 0.6 } else { at.1 < 0.4 };
            *points += u32::from(near_x && near_y);
        }
    }
    let emptiest = corners.iter().min_by_key(|(points, ..)| *points);
    emptiest.map_or(SeriesLabelPosition::UpperLeft, |(.., corner)| {
        corner.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_named_where_they_are_and_not_between() {
        let named = [0.0, 0.5, 1.0, 2.0].map(row_at);
        assert_eq!(named, [None, None, Some(0), Some(1)]);
    }

    #[test]
    fn stacked_series_stand_on_each_other() {
        let part = |y: f64| Series {
            points: vec![(0.0, y), (1.0, y)],
            style: Style::Stacked,
            ..Series::default()
        };
        let chart = LineChart {
            series: vec![part(1.0), part(2.0)],
            ..LineChart::default()
        };
        assert_eq!(heights(&chart)[1], [(0.0, 3.0), (1.0, 3.0)]);
    }
}
