//! A picture with a group of bars for each name, side by side.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{Area, COLORS, FONT, GRID, frame, label, legend};

/// Pixels of a character of a name, about.
const CHARACTER_WIDTH: u32 = 8;
/// Pixels beside the plot, about.
const SIDES: u32 = 100;
/// Pixels between the axis and a name that is not turned: without them the axis touches it.
const TICK: u32 = 4;
/// Pixels between the axis and a turned name, and below it.
const NAME_GAP: u32 = 8;
/// A longer name is cut off by the picture's edge.
const NAME_WIDTH_MAX: u32 = 240;

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
    let longest = chart.groups.iter().map(|name| name.chars().count()).max();
    let longest = u32::try_from(longest.unwrap_or(0)).unwrap_or(u32::MAX);
    let name_width = longest.saturating_mul(CHARACTER_WIDTH);
    let place = area.dim_in_pixel().0.saturating_sub(SIDES)
        / u32::try_from(chart.groups.len().max(1)).unwrap_or(u32::MAX);
    // Names that would run into each other stand on their heads, below the axis.
    let is_turned = name_width > place;
    let mut builder = frame(area, &chart.title);
    if is_turned {
        builder.x_label_area_size(name_width.min(NAME_WIDTH_MAX) + 2 * NAME_GAP);
    }
    let mut context = builder
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
            Some(name) if centred && !is_turned => name.clone(),
            _ => String::new(),
        }
    };
    context
        .configure_mesh()
        .disable_x_mesh()
        .set_tick_mark_size(LabelAreaPosition::Bottom, TICK)
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
    if is_turned {
        let style = TextStyle::from((FONT, 14).into_font().transform(FontTransform::Rotate270))
            .pos(Pos::new(HPos::Right, VPos::Center));
        for (number, name) in chart.groups.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "a handful of groups")]
            let (x, y) = context.backend_coord(&(number as f64 + 0.5, 0.0));
            let gap = i32::try_from(NAME_GAP).unwrap_or(0);
            area.draw(&Text::new(name.as_str(), (x, y + gap), style.clone()))
                .map_err(|error| error.to_string())?;
        }
    }
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
