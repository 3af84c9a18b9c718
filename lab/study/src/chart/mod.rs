//! Pictures, as SVG text and as PNG bytes.
//!
//! A chart is data; what it shows is its caller's business. There is a file for each kind: `lines`
//! with two numeric axes, `bars` side by side, `sheet` with a page of bars below each other and what
//! they are worth. Text in a PNG is drawn with a font that is part of the program, so that a picture
//! looks the same on a machine without fonts.

mod bars;
mod lines;
mod sheet;
mod style;

use std::sync::Arc;

use plotters::prelude::*;
use resvg::{tiny_skia, usvg};

pub use bars::BarChart;
pub use lines::{LineChart, Scale, Series, Style};
pub use plotters::style::RGBColor;
pub use sheet::{BarSheet, SheetAxis, SheetBar, SheetGroup, SheetKey};

/// Any picture.
#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    /// Two numeric axes.
    Lines(LineChart),
    /// Groups of bars side by side.
    Bars(BarChart),
    /// Groups of bars below each other.
    Sheet(BarSheet),
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
            let area = SVGBackend::with_string(&mut text, self.size()).into_drawing_area();
            let drawn = area.fill(&WHITE).map_err(|error| error.to_string());
            let drawn = drawn.and_then(|()| match self {
                Self::Lines(chart) => lines::draw(chart, &area),
                Self::Bars(chart) => bars::draw(chart, &area),
                Self::Sheet(sheet) => sheet::draw(sheet, &area),
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
        let (width, height) = self.size();
        let mut pixels = tiny_skia::Pixmap::new(width * 2, height * 2)
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
            Self::Sheet(sheet) => &sheet.title,
        }
    }

    /// Width and height in pixels of the SVG.
    fn size(&self) -> (u32, u32) {
        match self {
            Self::Lines(_) | Self::Bars(_) => style::SIZE,
            Self::Sheet(sheet) => sheet::size(sheet),
        }
    }
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
}
