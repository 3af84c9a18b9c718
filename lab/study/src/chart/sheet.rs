//! A page of bars: for each name a group of them below each other, and beside each what it is worth.
//!
//! Drawn from rectangles, lines and text directly: a chart library's own axes leave no place for a
//! title with figures, and put the legend over the bars.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{Area, GRID};

const WIDTH: i32 = 1000;
const LEFT: i32 = 130;
const RIGHT: i32 = WIDTH - 165;
const BAR: i32 = 12;
const GROUP_GAP: i32 = 10;
const LINE: i32 = 18;
const MARGIN: i32 = 16;
const FONT: &str = "DejaVu Sans, Helvetica, sans-serif";
const DARK: RGBColor = RGBColor(40, 40, 40);

/// A page of bars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarSheet {
    /// Above the picture.
    pub title: String,
    /// A line below the title: what was measured, and on what.
    pub about: String,
    /// What the colours mean, in the order of the bars.
    pub keys: Vec<SheetKey>,
    /// The horizontal axis.
    pub axis: SheetAxis,
    /// What [`SheetBar::worth`] is.
    pub worth: String,
    /// From top to bottom.
    pub groups: Vec<SheetGroup>,
    /// A line below the bars, for what follows; nothing without notes.
    pub notes_title: String,
    /// Below it, two in a line.
    pub notes: Vec<String>,
}

/// What a colour means.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetKey {
    /// In the legend.
    pub name: String,
    /// The colour.
    pub color: RGBColor,
    /// It is the line of [`SheetAxis::line_at`], not a bar.
    pub is_line: bool,
}

/// The horizontal axis. It begins at 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SheetAxis {
    /// Its unit.
    pub unit: String,
    /// The value at the right edge; longer bars are cut there.
    pub value_max: f64,
    /// Distance of the labels; `None`: a round one, for about five of them.
    pub step: Option<f64>,
    /// Digits of the labels behind the point.
    pub digits: usize,
    /// A line over all bars, in this colour.
    pub line_at: Option<(f64, RGBColor)>,
}

/// The bars of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SheetGroup {
    /// On the left.
    pub name: String,
    /// From top to bottom.
    pub bars: Vec<SheetBar>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetBar {
    /// As its key.
    pub color: RGBColor,
    /// How long it is.
    pub value: f64,
    /// What it is worth, on the right.
    pub worth: String,
}

/// Width and height.
pub(super) fn size(sheet: &BarSheet) -> (u32, u32) {
    (WIDTH.unsigned_abs(), height(sheet).unsigned_abs())
}

/// Draws it.
pub(super) fn draw(sheet: &BarSheet, area: &Area<'_>) -> Result<(), String> {
    Page { sheet, area }
        .draw()
        .map_err(|error| error.to_string())
}

fn top(sheet: &BarSheet) -> i32 {
    // Title, description, legend, and the labels of the axis.
    MARGIN + 30 + LINE + LINE * lines(sheet.keys.len(), 4) + 34
}

fn bottom(sheet: &BarSheet) -> i32 {
    let groups = sheet
        .groups
        .iter()
        .map(|group| BAR * count(group.bars.len()) + GROUP_GAP);
    top(sheet) + groups.sum::<i32>()
}

fn height(sheet: &BarSheet) -> i32 {
    let below = match sheet.notes.len() {
        0 => 0,
        notes => LINE * (lines(notes, 2) + 1) + 8,
    };
    bottom(sheet) + below + MARGIN
}

type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

struct Page<'a, 'b> {
    sheet: &'a BarSheet,
    area: &'a Area<'b>,
}

impl<'b> Page<'_, 'b> {
    fn draw(&self) -> Drawn<'b> {
        self.draw_heading()?;
        self.draw_axis()?;
        let (top, bottom) = (top(self.sheet), bottom(self.sheet));
        let mut y = top + GROUP_GAP / 2;
        for (number, group) in self.sheet.groups.iter().enumerate() {
            let height = BAR * count(group.bars.len());
            if number % 2 == 1 {
                let band = [
                    (4, y - GROUP_GAP / 2),
                    (WIDTH - 4, y + height + GROUP_GAP / 2),
                ];
                let color = RGBColor(0, 0, 0).mix(0.035).filled();
                self.area.draw(&Rectangle::new(band, color))?;
            }
            self.write(&group.name, (LEFT - 8, y + height / 2), 13, HPos::Right)?;
            for bar in &group.bars {
                let band = [(LEFT, y), (self.x(bar.value), y + BAR - 1)];
                self.area.draw(&Rectangle::new(band, bar.color.filled()))?;
                self.write(&bar.worth, (RIGHT + 8, y + BAR / 2), 11, HPos::Left)?;
                y += BAR;
            }
            y += GROUP_GAP;
        }
        if let Some((value, color)) = self.sheet.axis.line_at {
            let x = self.x(value);
            self.area
                .draw(&PathElement::new([(x, top), (x, bottom)], color))?;
        }
        self.draw_notes()
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a position inside the picture"
    )]
    fn x(&self, value: f64) -> i32 {
        let part = (value / self.sheet.axis.value_max).clamp(0.0, 1.0);
        LEFT + (part * f64::from(RIGHT - LEFT)).round() as i32
    }

    fn draw_heading(&self) -> Drawn<'b> {
        let sheet = self.sheet;
        self.write(&sheet.title, (MARGIN, MARGIN + 10), 20, HPos::Left)?;
        self.write(&sheet.about, (MARGIN, MARGIN + 32), 13, HPos::Left)?;
        for (number, key) in sheet.keys.iter().enumerate() {
            let (column, line) = (count(number % 4), count(number / 4));
            let x = MARGIN + column * (WIDTH - 2 * MARGIN) / 4;
            let y = MARGIN + 32 + LINE * (line + 1);
            let half = if key.is_line { 1 } else { 5 };
            let sample = [(x, y - half), (x + 14, y + half)];
            self.area
                .draw(&Rectangle::new(sample, key.color.filled()))?;
            self.write(&key.name, (x + 20, y), 13, HPos::Left)?;
        }
        Ok(())
    }

    fn draw_axis(&self) -> Drawn<'b> {
        let (top, bottom) = (top(self.sheet), bottom(self.sheet));
        let axis = &self.sheet.axis;
        let step = axis.step.unwrap_or_else(|| round_step(axis.value_max));
        let mut value = 0.0;
        while value <= axis.value_max {
            let x = self.x(value);
            self.area
                .draw(&PathElement::new([(x, top), (x, bottom)], GRID))?;
            let label = format!("{value:.*}", axis.digits);
            self.write(&label, (x, top - 10), 12, HPos::Center)?;
            value += step;
        }
        self.write(&axis.unit, (LEFT - 24, top - 10), 12, HPos::Right)?;
        if self.sheet.worth.is_empty() {
            return Ok(());
        }
        self.write(&self.sheet.worth, (RIGHT + 8, top - 10), 12, HPos::Left)
    }

    fn draw_notes(&self) -> Drawn<'b> {
        if self.sheet.notes.is_empty() {
            return Ok(());
        }
        let mut y = bottom(self.sheet) + LINE;
        self.write(&self.sheet.notes_title, (MARGIN, y), 13, HPos::Left)?;
        y += LINE;
        for (number, note) in self.sheet.notes.iter().enumerate() {
            let x = MARGIN + count(number % 2) * (WIDTH - 2 * MARGIN) / 2;
            self.write(note, (x, y + LINE * count(number / 2)), 13, HPos::Left)?;
        }
        Ok(())
    }

    fn write(&self, text: &str, at: (i32, i32), size: i32, side: HPos) -> Drawn<'b> {
        let style = (FONT, size)
            .into_font()
            .color(&DARK)
            .pos(Pos::new(side, VPos::Center));
        self.area.draw(&Text::new(text.to_owned(), at, style))
    }
}

/// A round distance between two labels, for about five of them.
fn round_step(value_max: f64) -> f64 {
    let rough = (value_max / 5.0).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(rough.log10().floor());
    let factor = rough / power;
    let round = if factor < 1.5 {
        1.0
    } else if factor < 3.5 {
        2.0
    } else if factor < 7.5 {
        5.0
    } else {
        10.0
    };
    round * power
}

fn count(items: usize) -> i32 {
    i32::try_from(items).unwrap_or(i32::MAX)
}

fn lines(items: usize, per_line: usize) -> i32 {
    count(items.div_ceil(per_line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_an_axis_are_round() {
        assert!((round_step(398.0) - 100.0).abs() < 1e-9);
        assert!((round_step(1638.0) - 200.0).abs() < 1e-9);
        assert!((round_step(24.0) - 5.0).abs() < 1e-9);
    }
}
