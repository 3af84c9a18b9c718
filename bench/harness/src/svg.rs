//! Results as a picture: for each pattern a group of bars, one per arm, as parts of the ceiling.
//!
//! Drawn from rectangles, lines and text directly: a chart library's own axes leave no place for a
//! title with figures, and put the legend over the bars.

use ahead_workload::Scenario;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::arm::Arm;
use crate::results::Results;
use crate::summary::{Row, Summary, summarize};
use crate::table::mean_name;

const WIDTH: i32 = 1000;
const LEFT: i32 = 130;
const RIGHT: i32 = WIDTH - 165;
const BAR: i32 = 12;
const GROUP_GAP: i32 = 10;
const LINE: i32 = 18;
const MARGIN: i32 = 16;
const FONT: &str = "DejaVu Sans, Helvetica, sans-serif";
const DARK: RGBColor = RGBColor(40, 40, 40);
const PALE: RGBColor = RGBColor(225, 225, 225);
/// The line at the ceiling.
const CEILING: RGBColor = RGBColor(190, 30, 30);

/// The picture as SVG text.
#[must_use]
pub fn render_svg(results: &Results) -> String {
    let summary = summarize(results);
    let picture = Picture::new(results, &summary);
    let mut text = String::new();
    let size = (WIDTH.unsigned_abs(), picture.height().unsigned_abs());
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        // Drawing into a string cannot fail, and half a picture would show it.
        let _ = picture.draw(&area).and_then(|()| area.present());
    }
    text
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

struct Picture<'a> {
    results: &'a Results,
    summary: &'a Summary,
    /// What each arm looks like, in order of the bars.
    colors: Vec<(Arm, RGBColor)>,
    /// Whether bars are parts of the ceiling; MB/s otherwise.
    relative: bool,
    /// The value at the right edge.
    value_max: f64,
    groups: Vec<(Scenario, Vec<&'a Row>)>,
}

impl<'a> Picture<'a> {
    fn new(results: &'a Results, summary: &'a Summary) -> Self {
        let relative = summary.rows.iter().any(|row| row.of_ceiling.is_some());
        let shown = |row: &&Row| !relative || (row.of_ceiling.is_some() && row.arm != Arm::Ceiling);
        let mut groups = Vec::new();
        for scenario in &results.scenarios {
            let rows = summary.rows.iter().filter(|row| row.scenario == *scenario);
            let rows: Vec<&Row> = rows.filter(shown).collect();
            if !rows.is_empty() {
                groups.push((scenario.clone(), rows));
            }
        }
        let colors = colors(results.arms.iter());
        let mut picture = Self {
            results,
            summary,
            colors,
            relative,
            value_max: 1.0,
            groups: Vec::new(),
        };
        let largest = groups
            .iter()
            .flat_map(|(_, rows)| rows.iter().map(|row| picture.value(row)))
            .fold(1.0, f64::max);
        // A single wild value shall not squeeze all others.
        picture.value_max = if relative {
            largest.clamp(1.05, 1.5)
        } else {
            largest * 1.05
        };
        picture.groups = groups;
        picture
    }

    fn value(&self, row: &Row) -> f64 {
        match row.of_ceiling {
            Some(part) if self.relative => part.value,
            _ => row.megabytes_per_second.value,
        }
    }

    fn top(&self) -> i32 {
        // Title, description, legend, and the labels of the axis.
        MARGIN + 30 + LINE + LINE * lines(self.colors.len(), 4) + 34
    }

    fn bottom(&self) -> i32 {
        let groups = self
            .groups
            .iter()
            .map(|(_, rows)| BAR * count(rows.len()) + GROUP_GAP);
        self.top() + groups.sum::<i32>()
    }

    fn height(&self) -> i32 {
        let means = self.summary.means.len();
        let below = if means == 0 {
            0
        } else {
            LINE * (lines(means, 2) + 1) + 8
        };
        self.bottom() + below + MARGIN
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a position inside the picture"
    )]
    fn x(&self, value: f64) -> i32 {
        let part = (value / self.value_max).clamp(0.0, 1.0);
        LEFT + (part * f64::from(RIGHT - LEFT)).round() as i32
    }

    fn draw<'b>(&self, area: &Area<'b>) -> Drawn<'b> {
        area.fill(&WHITE)?;
        self.draw_heading(area)?;
        self.draw_axis(area)?;
        let mut y = self.top() + GROUP_GAP / 2;
        for (number, (scenario, rows)) in self.groups.iter().enumerate() {
            let height = BAR * count(rows.len());
            if number % 2 == 1 {
                let band = [
                    (4, y - GROUP_GAP / 2),
                    (WIDTH - 4, y + height + GROUP_GAP / 2),
                ];
                area.draw(&Rectangle::new(band, RGBColor(0, 0, 0).mix(0.035).filled()))?;
            }
            let name = scenario.to_string();
            write(
                area,
                &name,
                (LEFT - 8, y + height / 2),
                13,
                HPos::Right,
                &DARK,
            )?;
            for row in rows {
                self.draw_bar(area, row, y)?;
                y += BAR;
            }
            y += GROUP_GAP;
        }
        if self.relative {
            let x = self.x(1.0);
            let line = PathElement::new([(x, self.top()), (x, self.bottom())], CEILING);
            area.draw(&line)?;
        }
        self.draw_means(area)
    }

    fn draw_heading<'b>(&self, area: &Area<'b>) -> Drawn<'b> {
        let results = self.results;
        let title = format!(
            "Useful throughput on {}, {} UTC",
            results.disk.name, results.began
        );
        write(area, &title, (MARGIN, MARGIN + 10), 20, HPos::Left, &DARK)?;
        let repeats = results
            .runs
            .iter()
            .map(|run| run.repeat + 1)
            .max()
            .unwrap_or(0);
        let about = format!(
            "{}; Linux {}, {} CPUs; median of {repeats}",
            results.disk.description, results.machine.kernel, results.machine.cpus
        );
        write(area, &about, (MARGIN, MARGIN + 32), 13, HPos::Left, &DARK)?;
        for (number, (arm, color)) in self.colors.iter().enumerate() {
            let (column, line) = (count(number % 4), count(number / 4));
            let x = MARGIN + column * (WIDTH - 2 * MARGIN) / 4;
            let y = MARGIN + 32 + LINE * (line + 1);
            // The ceiling is a line in the picture, and so it is here.
            let half = if self.relative && *arm == Arm::Ceiling {
                1
            } else {
                5
            };
            area.draw(&Rectangle::new(
                [(x, y - half), (x + 14, y + half)],
                color.filled(),
            ))?;
            write(area, &arm.to_string(), (x + 20, y), 13, HPos::Left, &DARK)?;
        }
        Ok(())
    }

    fn draw_axis<'b>(&self, area: &Area<'b>) -> Drawn<'b> {
        let (top, bottom) = (self.top(), self.bottom());
        let step = if self.relative {
            0.2
        } else {
            round_step(self.value_max)
        };
        let mut value = 0.0;
        while value <= self.value_max {
            let x = self.x(value);
            area.draw(&PathElement::new([(x, top), (x, bottom)], PALE))?;
            let label = if self.relative {
                format!("{value:.1}")
            } else {
                format!("{value:.0}")
            };
            write(area, &label, (x, top - 10), 12, HPos::Center, &DARK)?;
            value += step;
        }
        let unit = if self.relative {
            "of the ceiling"
        } else {
            "MB/s"
        };
        write(area, unit, (LEFT - 24, top - 10), 12, HPos::Right, &DARK)?;
        if self.relative {
            write(
                area,
                "MB/s (× device bytes)",
                (RIGHT + 8, top - 10),
                12,
                HPos::Left,
                &DARK,
            )?;
        }
        Ok(())
    }

    fn draw_bar<'b>(&self, area: &Area<'b>, row: &Row, y: i32) -> Drawn<'b> {
        let color = self
            .colors
            .iter()
            .find(|(arm, _)| *arm == row.arm)
            .map_or(DARK, |(_, c)| *c);
        let x = self.x(self.value(row));
        area.draw(&Rectangle::new(
            [(LEFT, y), (x, y + BAR - 1)],
            color.filled(),
        ))?;
        let kib = row
            .best_kib
            .map(|kib| format!(" {kib} KiB"))
            .unwrap_or_default();
        let speed = row.megabytes_per_second.value;
        let digits = usize::from(speed < 100.0);
        let label = format!("{speed:.digits$} (×{:.2}){kib}", row.amplification.value);
        write(
            area,
            &label,
            (RIGHT + 8, y + BAR / 2),
            11,
            HPos::Left,
            &DARK,
        )
    }

    fn draw_means<'b>(&self, area: &Area<'b>) -> Drawn<'b> {
        if self.summary.means.is_empty() {
            return Ok(());
        }
        let mut y = self.bottom() + LINE;
        let heading =
            "Geometric mean over the predictable patterns (in brackets: without mapped ones)";
        write(area, heading, (MARGIN, y), 13, HPos::Left, &DARK)?;
        y += LINE;
        for (number, mean) in self.summary.means.iter().enumerate() {
            let x = MARGIN + count(number % 2) * (WIDTH - 2 * MARGIN) / 2;
            let without = mean
                .without_mapped
                .map(|m| format!(" ({m:.3})"))
                .unwrap_or_default();
            let text = format!("{}: {:.3}{without}", mean_name(mean), mean.all);
            let text_y = y + LINE * count(number / 2);
            write(area, &text, (x, text_y), 13, HPos::Left, &DARK)?;
        }
        Ok(())
    }
}

/// Kinds of arms have kinds of colours, so that pictures of different runs look alike: greys for
/// nothing, blues for the stock kernel, orange for the best it could be, greens for ours.
fn colors<'a>(arms: impl Iterator<Item = &'a Arm>) -> Vec<(Arm, RGBColor)> {
    const BLUES: [RGBColor; 4] = [
        RGBColor(143, 186, 219),
        RGBColor(84, 140, 190),
        RGBColor(44, 96, 150),
        RGBColor(20, 60, 110),
    ];
    const GREENS: [RGBColor; 4] = [
        RGBColor(46, 139, 70),
        RGBColor(130, 190, 90),
        RGBColor(20, 95, 60),
        RGBColor(170, 170, 60),
    ];
    let (mut blues, mut greens) = (BLUES.iter().cycle(), GREENS.iter().cycle());
    let mut next = |arm: &Arm| match arm {
        Arm::Off => RGBColor(175, 175, 175),
        Arm::Stock { .. } => *blues.next().unwrap_or(&DARK),
        Arm::StaticBest => RGBColor(230, 145, 40),
        Arm::Run { .. } => *greens.next().unwrap_or(&DARK),
        Arm::Ceiling => CEILING,
    };
    arms.map(|arm| (arm.clone(), next(arm))).collect()
}

fn write<'b>(
    area: &Area<'b>,
    text: &str,
    at: (i32, i32),
    size: i32,
    side: HPos,
    color: &RGBColor,
) -> Drawn<'b> {
    let style = (FONT, size)
        .into_font()
        .color(color)
        .pos(Pos::new(side, VPos::Center));
    area.draw(&Text::new(text.to_owned(), at, style))
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
    use crate::results::tests::{record, results};

    /// Every opened element is closed in order, and text holds no bare markup.
    fn assert_well_formed(svg: &str) {
        let mut open = Vec::new();
        for part in svg.split('<').skip(1) {
            let (tag, text) = part.split_once('>').expect("every tag ends");
            assert!(!text.replace("&lt;", "").contains('>'), "{text}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name.trim()));
            } else if !tag.ends_with('/') && !tag.starts_with(['?', '!']) {
                open.push(
                    tag.split_ascii_whitespace()
                        .next()
                        .expect("a tag has a name"),
                );
            }
        }
        assert!(open.is_empty(), "{open:?} left open");
    }

    #[test]
    fn the_picture_is_well_formed_and_names_everything() {
        let arms = "off,stock:128,static-best,run,run:a=1+b=2,ceiling";
        let mut runs = Vec::new();
        for pattern in ["seq4k", "back64k", "sep64@128m", "mrand"] {
            for (arm, speed) in [
                ("off", 3),
                ("stock:128", 46),
                ("run", 88),
                ("run:a=1+b=2", 160),
                ("ceiling", 100),
            ] {
                runs.push(record(pattern, arm, 0, speed));
            }
        }
        let mut results = results(runs, arms);
        results.disk.description = "a <disk> & more".into();
        let svg = render_svg(&results);
        assert_well_formed(&svg);
        for part in [
            "seq4k",
            "sep64@128m",
            "run:a=1+b=2",
            "2025-01-31",
            "Geometric mean",
            "hdd",
        ] {
            assert!(svg.contains(part), "{part}");
        }
    }

    #[test]
    fn without_a_ceiling_the_bars_are_megabytes() {
        let svg = render_svg(&results(vec![record("seq4k", "off", 0, 300)], "off"));
        assert_well_formed(&svg);
        assert!(svg.contains("MB/s") && !svg.contains("of the ceiling"));
    }

    #[test]
    fn labels_of_an_axis_are_round() {
        assert!((round_step(398.0) - 100.0).abs() < 1e-9);
        assert!((round_step(1638.0) - 200.0).abs() < 1e-9);
        assert!((round_step(24.0) - 5.0).abs() < 1e-9);
    }
}
