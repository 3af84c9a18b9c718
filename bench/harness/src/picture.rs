//! Results as a picture: for each pattern a group of bars, one per arm, as parts of the ceiling.
//!
//! Says what is shown; how it is drawn is [`ahead_study::chart`]'s.

use ahead_study::chart::{BarSheet, Chart, RGBColor, SheetAxis, SheetBar, SheetGroup, SheetKey};

use crate::arm::Arm;
use crate::results::Results;
use crate::summary::{SummaryRow, summarize};
use crate::table::mean_name;

const DARK: RGBColor = RGBColor(40, 40, 40);
/// The line at the ceiling.
const CEILING: RGBColor = RGBColor(190, 30, 30);

/// The picture of `results`.
#[must_use]
pub fn render_results(results: &Results) -> Chart {
    let summary = summarize(results);
    // Bars are parts of the ceiling; MB/s where there is none.
    let relative = summary.rows.iter().any(|row| row.of_ceiling.is_some());
    let value = |row: &SummaryRow| match row.of_ceiling {
        Some(part) if relative => part.value,
        _ => row.megabytes_per_second.value,
    };
    let shown =
        |row: &&SummaryRow| !relative || (row.of_ceiling.is_some() && row.arm != Arm::Ceiling);
    let colors = colors(results.arms.iter());
    let bar = |row: &SummaryRow| SheetBar {
        color: colors
            .iter()
            .find(|(arm, _)| *arm == row.arm)
            .map_or(DARK, |(_, color)| *color),
        value: value(row),
        worth: worth(row),
    };
    let mut groups = Vec::new();
    for scenario in &results.scenarios {
        let rows = summary.rows.iter().filter(|row| row.scenario == *scenario);
        let bars: Vec<_> = rows.filter(shown).map(bar).collect();
        if !bars.is_empty() {
            let name = scenario.to_string();
            groups.push(SheetGroup { name, bars });
        }
    }
    let bars = groups.iter().flat_map(|group| &group.bars);
    let largest = bars.map(|bar| bar.value).fold(1.0, f64::max);
    let key = |(arm, color): &(Arm, RGBColor)| SheetKey {
        name: arm.to_string(),
        color: *color,
        is_line: relative && *arm == Arm::Ceiling,
    };
    let repeats = results.runs.iter().map(|run| run.repeat + 1).max();
    Chart::Sheet(BarSheet {
        title: format!(
            "Useful throughput on {}, {} UTC",
            results.disk.name, results.began
        ),
        about: format!(
            "{}; Linux {}, {} CPUs; median of {}",
            results.disk.description,
            results.machine.kernel,
            results.machine.cpus,
            repeats.unwrap_or(0)
        ),
        keys: colors.iter().map(key).collect(),
        axis: if relative {
            SheetAxis {
                unit: "of the ceiling".into(),
                // A single wild value shall not squeeze all others.
                value_max: largest.clamp(1.05, 1.5),
                step: Some(0.2),
                digits: 1,
                line_at: Some((1.0, CEILING)),
            }
        } else {
            SheetAxis {
                unit: "MB/s".into(),
                value_max: largest * 1.05,
                ..SheetAxis::default()
            }
        },
        worth: if relative {
            "MB/s (× device bytes)".into()
        } else {
            String::new()
        },
        groups,
        notes_title: "Geometric mean over the predictable patterns (in brackets: without mapped \
                      ones)"
            .into(),
        notes: summary
            .means
            .iter()
            .map(|mean| {
                let without = mean.without_mapped;
                let without = without.map(|m| format!(" ({m:.3})")).unwrap_or_default();
                format!("{}: {:.3}{without}", mean_name(mean), mean.all)
            })
            .collect(),
    })
}

/// Throughput and amplification in figures.
fn worth(row: &SummaryRow) -> String {
    let kib = row.best_kib.map(|kib| format!(" {kib} KiB"));
    let speed = row.megabytes_per_second.value;
    let digits = usize::from(speed < 100.0);
    let amplification = row.amplification.value;
    format!(
        "{speed:.digits$} (×{amplification:.2}){}",
        kib.unwrap_or_default()
    )
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
    const PURPLES: [RGBColor; 2] = [RGBColor(128, 80, 170), RGBColor(190, 150, 215)];
    let (mut blues, mut greens) = (BLUES.iter().cycle(), GREENS.iter().cycle());
    let mut purples = PURPLES.iter().cycle();
    let mut next = |arm: &Arm| match arm {
        Arm::Off => RGBColor(175, 175, 175),
        Arm::Stock { .. } => *blues.next().unwrap_or(&DARK),
        Arm::StaticBest => RGBColor(230, 145, 40),
        Arm::Run { .. } => *greens.next().unwrap_or(&DARK),
        Arm::Daemon { .. } => *purples.next().unwrap_or(&DARK),
        Arm::Patched => RGBColor(200, 60, 60),
        Arm::Ceiling => CEILING,
    };
    arms.map(|arm| (arm.clone(), next(arm))).collect()
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
        let svg = render_results(&results).to_svg().unwrap();
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
        let results = results(vec![record("seq4k", "off", 0, 300)], "off");
        let svg = render_results(&results).to_svg().unwrap();
        assert_well_formed(&svg);
        assert!(svg.contains("MB/s") && !svg.contains("of the ceiling"));
    }
}
