//! Pictures: lines and bars, as SVG text and as PNG bytes.
//!
//! A chart is data; what it shows is its caller's business. Letters in a PNG come from a font that
//! is part of the program, so that a picture looks the same on a machine without fonts.

use std::sync::Arc;

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use resvg::{tiny_skia, usvg};

const WIDTH: u32 = 960;
const HEIGHT: u32 = 560;
const FONT: &str = "Ubuntu, DejaVu Sans, sans-serif";

/// Colours that stay apart for most readers, also in print (after Okabe and Ito).
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
    RGBColor(160, 120, 60),
];

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

/// A picture with a group of bars for each name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarChart {
    /// Above the picture.
    pub title: String,
    /// Beside the vertical axis, with its unit.
    pub y_label: String,
    /// Names of the groups, from left to right.
    pub groups: Vec<String>,
    /// One bar in each group: name and heights. A height that is not finite is left out.
    pub bars: Vec<(String, Vec<f64>)>,
}

/// Any picture.
#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    /// Two numeric axes.
    Lines(LineChart),
    /// Groups of bars.
    Bars(BarChart),
}

/// A picture that cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChartError {
    /// The drawing library refused.
    #[error("cannot draw the picture '{title}': {reason}")]
    Draw {
        /// Which picture.
        title: String,
        /// What the library said.
        reason: String,
    },
}

impl Chart {
    /// The picture as SVG text.
    ///
    /// # Errors
    /// [`ChartError::Draw`].
    pub fn to_svg(&self) -> Result<String, ChartError> {
        let mut text = String::new();
        {
            let area = SVGBackend::with_string(&mut text, (WIDTH, HEIGHT)).into_drawing_area();
            let drawn = area.fill(&WHITE).map_err(|error| error.to_string());
            let drawn = drawn.and_then(|()| match self {
                Self::Lines(chart) => draw_lines(chart, &area),
                Self::Bars(chart) => draw_bars(chart, &area),
            });
            drawn
                .and_then(|()| area.present().map_err(|error| error.to_string()))
                .map_err(|reason| ChartError::Draw {
                    title: self.title().to_owned(),
                    reason,
                })?;
        }
        Ok(text)
    }

    /// The picture as PNG bytes, twice as fine as the SVG's own size.
    ///
    /// # Errors
    /// [`ChartError::Draw`].
    pub fn to_png(&self) -> Result<Vec<u8>, ChartError> {
        let failed = |reason: String| ChartError::Draw {
            title: self.title().to_owned(),
            reason,
        };
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
        let family = fonts
            .faces()
            .next()
            .and_then(|face| face.families.first().map(|(name, _)| name.clone()));
        if let Some(family) = family {
            fonts.set_sans_serif_family(family);
        }
        let options = usvg::Options {
            fontdb: Arc::new(fonts),
            ..usvg::Options::default()
        };
        let tree = usvg::Tree::from_str(&self.to_svg()?, &options)
            .map_err(|error| failed(error.to_string()))?;
        let mut pixels = tiny_skia::Pixmap::new(WIDTH * 2, HEIGHT * 2)
            .ok_or_else(|| failed("no memory for the pixels".to_owned()))?;
        resvg::render(
            &tree,
            tiny_skia::Transform::from_scale(2.0, 2.0),
            &mut pixels.as_mut(),
        );
        pixels
            .encode_png()
            .map_err(|error| failed(error.to_string()))
    }

    /// What stands above the picture.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Lines(chart) => &chart.title,
            Self::Bars(chart) => &chart.title,
        }
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw_lines(chart: &LineChart, area: &Area<'_>) -> Result<(), String> {
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

/// Numbers without needless digits.
fn label(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0".to_owned()
    } else if size >= 10.0 {
        format!("{value:.0}")
    } else if size >= 1.0 {
        format!("{value:.1}").trim_end_matches(".0").to_owned()
    } else {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
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
    let mut context = ChartBuilder::on(area)
        .caption(&chart.title, (FONT, 20))
        .margin(14)
        .x_label_area_size(46)
        .y_label_area_size(if counts_rows { 190 } else { 72 })
        .build_cartesian_2d(x, y)
        .map_err(text)?;
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
        .bold_line_style(RGBColor(225, 225, 225))
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
        context
            .configure_series_labels()
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .label_font((FONT, 14))
            .position(emptiest_corner(chart))
            .draw()
            .map_err(text)?;
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

fn draw_bars(chart: &BarChart, area: &Area<'_>) -> Result<(), String> {
    let text = |error: DrawingAreaErrorKind<_>| format!("{error}");
    let heights = chart.bars.iter().flat_map(|(_, heights)| heights);
    let top = heights.copied().filter(|height| height.is_finite());
    let top = top.fold(0.0, f64::max);
    // The legend needs a place above the bars.
    let rows = u32::try_from(chart.bars.len()).unwrap_or(u32::MAX);
    let room = 1.08 + 0.055 * f64::from(rows);
    let top = if top > 0.0 { top * room } else { 1.0 };
    #[expect(clippy::cast_precision_loss, reason = "a handful of groups")]
    let groups = chart.groups.len().max(1) as f64;
    let mut context = ChartBuilder::on(area)
        .caption(&chart.title, (FONT, 20))
        .margin(14)
        .x_label_area_size(46)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..groups, 0.0..top)
        .map_err(text)?;
    let name = |value: &f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a position on the axis, from 0 to the number of groups"
        )]
        let index = value.floor() as usize;
        let centred = (value - value.floor() - 0.5).abs() < 0.01;
        match chart.groups.get(index) {
            Some(name) if centred => name.clone(),
            _ => String::new(),
        }
    };
    context
        .configure_mesh()
        .disable_x_mesh()
        .set_tick_mark_size(LabelAreaPosition::Bottom, 0)
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_labels(chart.groups.len() * 2 + 1)
        .x_label_formatter(&name)
        .y_label_formatter(&|value| label(*value))
        .y_desc(&chart.y_label)
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 15))
        .draw()
        .map_err(text)?;
    #[expect(clippy::cast_precision_loss, reason = "a handful of bars")]
    let width = 0.8 / chart.bars.len().max(1) as f64;
    for (place, (name, heights)) in chart.bars.iter().enumerate() {
        let color = COLORS[place % COLORS.len()];
        let bars = heights
            .iter()
            .enumerate()
            .filter(|(_, height)| height.is_finite());
        #[expect(clippy::cast_precision_loss, reason = "a handful of bars")]
        let bars = bars.map(|(group, &height)| {
            let left = group as f64 + 0.1 + width * place as f64;
            Rectangle::new([(left, 0.0), (left + width * 0.92, height)], color.filled())
        });
        context
            .draw_series(bars)
            .map_err(text)?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 14, y + 4)], color.filled()));
    }
    context
        .configure_series_labels()
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(200, 200, 200))
        .label_font((FONT, 14))
        .position(SeriesLabelPosition::UpperRight)
        .draw()
        .map_err(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_lines() -> Chart {
        Chart::Lines(LineChart {
            title: "throughput over window".to_owned(),
            x_label: "window (KiB)".to_owned(),
            y_label: "MB/s".to_owned(),
            x_scale: Scale::Logarithmic,
            series: vec![
                Series {
                    name: "simulated".to_owned(),
                    points: vec![(4.0, 0.5), (128.0, 13.8), (4096.0, 85.3)],
                    ..Series::default()
                },
                Series {
                    name: "published".to_owned(),
                    points: vec![(4.0, 0.5), (128.0, 13.8), (f64::NAN, 1.0), (0.0, 3.0)],
                    style: Style::Points,
                },
            ],
            ..LineChart::default()
        })
    }

    #[test]
    fn a_chart_becomes_svg_with_its_words_and_png_that_is_not_blank() {
        let svg = two_lines().to_svg().unwrap();
        for word in ["throughput over window", "window (KiB)", "published"] {
            assert!(svg.contains(word), "{word} is missing");
        }
        let png = two_lines().to_png().unwrap();
        assert!(png.starts_with(b"\x89PNG"));
        assert!(png.len() > 10_000, "{} bytes", png.len());
    }

    #[test]
    fn a_chart_without_points_is_still_a_picture() {
        let empty = Chart::Lines(LineChart::default());
        assert!(empty.to_svg().unwrap().ends_with("</svg>\n"));
        let empty = Chart::Bars(BarChart::default());
        assert!(empty.to_svg().unwrap().ends_with("</svg>\n"));
    }

    #[test]
    fn rows_are_named_where_they_are_and_not_between() {
        let rows = ["lower", "upper"].map(str::to_owned).to_vec();
        let chart = LineChart {
            rows,
            ..LineChart::default()
        };
        let svg = Chart::Lines(chart).to_svg().unwrap();
        assert!(svg.contains("lower") && svg.contains("upper"), "{svg}");
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
