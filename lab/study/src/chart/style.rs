//! What the kinds of pictures share: where they are drawn, colours, text, numbers, the legend.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;

/// Where a picture is drawn.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Pixels of a picture with axes.
pub(super) const SIZE: (u32, u32) = (960, 560);

pub(super) const FONT: &str = "Ubuntu, DejaVu Sans, sans-serif";

/// Colours that stay apart for most readers, also in print (after Okabe and Ito).
pub(super) const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
    RGBColor(160, 120, 60),
];

/// Lines behind the values.
pub(super) const GRID: RGBColor = RGBColor(225, 225, 225);

const BORDER: RGBColor = RGBColor(200, 200, 200);

/// Numbers without needless digits.
pub(super) fn label(value: f64) -> String {
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

/// The axes of every picture that has some: title, margins, places for labels.
pub(super) fn frame<'a, 'b>(
    area: &'a Area<'b>,
    title: &str,
) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut builder = ChartBuilder::on(area);
    builder
        .caption(title, (FONT, 20))
        .margin(14)
        .x_label_area_size(46)
        .y_label_area_size(72);
    builder
}

/// The names of the series, in a box over the picture.
pub(super) fn legend<'a, 'b: 'a, X, Y>(
    context: &mut ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, Y>>,
    corner: SeriesLabelPosition,
) -> Result<(), String>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    context
        .configure_series_labels()
        .background_style(WHITE.mix(0.85))
        .border_style(BORDER)
        .label_font((FONT, 14))
        .position(corner)
        .draw()
        .map_err(|error| error.to_string())
}
