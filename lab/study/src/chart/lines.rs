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
    let (y, corner) = place_of_legend(chart, area.dim_in_pixel(), x, y);
    match (chart.x_scale, chart.y_scale) {
        (Scale::Linear, Scale::Linear) => draw_on(chart, area, x.0..x.1, y.0..y.1, corner),
        (Scale::Logarithmic, Scale::Linear) => draw_on(
            chart,
            area,
            (x.0..x.1).log_scale().base(2.0),
            y.0..y.1,
            corner,
        ),
        (Scale::Linear, Scale::Logarithmic) => {
            draw_on(chart, area, x.0..x.1, (y.0..y.1).log_scale(), corner)
        }
        (Scale::Logarithmic, Scale::Logarithmic) => draw_on(
            chart,
            area,
            (x.0..x.1).log_scale().base(2.0),
            (y.0..y.1).log_scale(),
            corner,
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

fn draw_on<X, Y>(
    chart: &LineChart,
    area: &Area<'_>,
    x: X,
    y: Y,
    corner: SeriesLabelPosition,
) -> Result<(), String>
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
        legend(&mut context, corner)?;
    }
    Ok(())
}

/// Pixels around the plot: margins, axes, title.
const AROUND: (f64, f64) = (100.0, 116.0);
/// Pixels of a character of a legend, a line of it, and what surrounds both; rather more than less.
const LEGEND_CHARACTER: f64 = 7.5;
const LEGEND_LINE: f64 = 19.0;
const LEGEND_AROUND: (f64, f64) = (56.0, 30.0);

/// A corner in which the legend hides nothing of what is drawn, and the vertical extent for it: where all
/// corners are taken, the picture gets higher above.
fn place_of_legend(
    chart: &LineChart,
    (width, height): (u32, u32),
    x: (f64, f64),
    y: (f64, f64),
) -> ((f64, f64), SeriesLabelPosition) {
    let characters = chart
        .series
        .iter()
        .map(|series| series.name.chars().count());
    let longest = u32::try_from(characters.max().unwrap_or(0)).unwrap_or(u32::MAX);
    let lines = u32::try_from(chart.series.len()).unwrap_or(u32::MAX);
    let wide = f64::from(longest).mul_add(LEGEND_CHARACTER, LEGEND_AROUND.0);
    let high = f64::from(lines).mul_add(LEGEND_LINE, LEGEND_AROUND.1);
    let wide = (wide / (f64::from(width) - AROUND.0)).min(1.0);
    let high = (high / (f64::from(height) - AROUND.1)).min(0.6);
    let corners = [
        ((false, true), SeriesLabelPosition::UpperLeft),
        ((true, true), SeriesLabelPosition::UpperRight),
        ((true, false), SeriesLabelPosition::LowerRight),
        ((false, false), SeriesLabelPosition::LowerLeft),
    ];
    let drawn = drawn_at(chart, x, y);
    let is_free = |&((right, upper), _): &((bool, bool), _)| {
        drawn.iter().all(|&(at_x, at_y)| {
            let beside = if right {
                at_x < 1.0 - wide
            } else {
                at_x > wide
            };
            beside
                || if upper {
                    at_y < 1.0 - high
                } else {
                    at_y > high
                }
        })
    };
    if chart.series.len() < 2 {
        return (y, SeriesLabelPosition::UpperLeft);
    }
    if let Some((_, corner)) = corners.into_iter().find(is_free) {
        return (y, corner);
    }
    let top = match chart.y_scale {
        Scale::Linear => y.0 + (y.1 - y.0) / (1.0 - high),
        Scale::Logarithmic => y.1 * (y.1 / y.0).powf(high / (1.0 - high)),
    };
    ((y.0, top), SeriesLabelPosition::UpperLeft)
}

/// Places of the plot, from 0 to 1 in both directions, that something is drawn at: points, points along
/// lines, and all that is filled below a stack.
fn drawn_at(chart: &LineChart, x: (f64, f64), y: (f64, f64)) -> Vec<(f64, f64)> {
    const STEPS: u32 = 24;
    let part = |value: f64, (low, high): (f64, f64), scale: Scale| match scale {
        Scale::Linear => (value - low) / (high - low),
        Scale::Logarithmic => (value / low).ln() / (high / low).ln(),
    };
    let mut places = Vec::new();
    for (series, points) in chart.series.iter().zip(heights(chart)) {
        let at = |(px, py): (f64, f64)| (part(px, x, chart.x_scale), part(py, y, chart.y_scale));
        let points: Vec<(f64, f64)> = points.into_iter().map(at).collect();
        places.extend(&points);
        if series.style == Style::Points {
            continue;
        }
        for pair in points.windows(2) {
            for step in 1..STEPS {
                let share = f64::from(step) / f64::from(STEPS);
                let along = |from: f64, to: f64| (to - from).mul_add(share, from);
                let place = (along(pair[0].0, pair[1].0), along(pair[0].1, pair[1].1));
                places.push(place);
                if series.style == Style::Stacked {
                    places.push((place.0, 0.0));
                }
            }
        }
    }
    places
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

    /// A filled picture has no free corner, so the legend stands above it.
    #[test]
    fn a_legend_hides_nothing() {
        let full = |style| LineChart {
            series: ["one", "two"]
                .map(|name| Series {
                    name: name.to_owned(),
                    points: vec![(0.0, 1.0), (1.0, 1.0)],
                    style,
                })
                .to_vec(),
            ..LineChart::default()
        };
        let placed = |chart: &LineChart| {
            let (x, y) = extent(chart);
            (y, place_of_legend(chart, (960, 560), x, y))
        };
        let (before, (after, _)) = placed(&full(Style::Stacked));
        assert!(after.1 > before.1 * 1.1, "{before:?} {after:?}");
        let (before, (after, corner)) = placed(&full(Style::Line));
        assert_eq!(before, after);
        assert!(matches!(corner, SeriesLabelPosition::LowerRight));
    }
}
