//! What the pictures of the paper have in common: windows below, on a logarithmic scale.

use crate::figure::float;
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};

/// A line with a point for every window.
pub(super) fn line(
    name: &str,
    windows: &[u64],
    values: impl Iterator<Item = f64>,
    style: Style,
) -> Series {
    Series {
        name: name.to_owned(),
        points: windows
            .iter()
            .map(|window| float(*window))
            .zip(values)
            .collect(),
        style,
    }
}

/// A picture over windows.
pub(super) fn over_windows(title: &str, y_label: &str, series: Vec<Series>) -> Chart {
    Chart::Lines(LineChart {
        title: title.to_owned(),
        x_label: "pages advised".to_owned(),
        y_label: y_label.to_owned(),
        x_scale: Scale::Logarithmic,
        series,
        ..LineChart::default()
    })
}
