//! A picture with a group of bars for each name, side by side.

use plotters::prelude::*;

use super::style::{Area, COLORS, FONT, GRID, frame, label, legend};

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

/// Draws it.
pub(super) fn draw(chart: &BarChart, area: &Area<'_>) -> Result<(), String> {
    let text = |error: DrawingAreaErrorKind<_>| format!("{error}");
    let heights = chart.bars.iter().flat_map(|(_, heights)| heights);
    let top = heights.copied().filter(|height| height.is_finite());
    let top = top.fold(0.0, f64::max);
    // The legend needs a place above the bars.
    let rows = u32::try_from(chart.bars.len()).unwrap_or(u32::MAX);
    let height = 1.08 + 0.055 * f64::from(rows);
    let top = if top > 0.0 { top * height } else { 1.0 };
    #[expect(clippy::cast_precision_loss, reason = "a handful of groups")]
    let groups = chart.groups.len().max(1) as f64;
    let mut context = frame(area, &chart.title)
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
        .bold_line_style(GRID)
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
    legend(&mut context, SeriesLabelPosition::UpperRight)
}
