//! `ahead reproduce`: published figures, computed again, as a table and as pictures.

use std::io;
use std::path::{Path, PathBuf};

use ahead_papers::{ALL, Compute, Figure, ReproduceError, find};
use ahead_study::parallel;
use ahead_study::table;
use ahead_study::verdict::Verdict;
use serde_json::json;

use crate::arguments::Reproduce;
use crate::exit::Exit;
use crate::output;
use crate::progress::{self, Shows};

/// Why figures could not be reproduced.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceCommandError {
    /// The figure.
    #[error(transparent)]
    Figure(#[from] ReproduceError),
    /// A picture cannot be written.
    #[error("cannot write '{path}': {source}; --out names the folder for pictures")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Standard output.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl ReproduceCommandError {
    /// How the program ends after this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Figure(ReproduceError::Unknown { .. }) => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

/// Computes, draws and prints.
///
/// # Errors
/// [`ReproduceCommandError`].
pub fn reproduce(arguments: &Reproduce) -> Result<Exit, ReproduceCommandError> {
    if arguments.name == "list" {
        let names: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        output::to_stdout(&(names.join("\n") + "\n"))?;
        return Ok(Exit::Fine);
    }
    let wanted = find(&arguments.name)?;
    if let Some(folder) = &arguments.out {
        // Minutes of computing should not end in "no such folder".
        std::fs::create_dir_all(folder).map_err(|source| ReproduceCommandError::Write {
            path: folder.clone(),
            source,
        })?;
    }
    let figures = compute(&wanted)?;
    if let Some(folder) = &arguments.out {
        for figure in &figures {
            draw(figure, folder)?;
        }
    }
    output::to_stdout(&if arguments.json {
        to_json(&figures)
    } else {
        to_text(&figures, arguments.out.as_deref())
    })?;
    let broken = figures
        .iter()
        .any(|figure| figure.count(Verdict::DoesNotHold) > 0);
    Ok(if arguments.strict && broken {
        Exit::Failed
    } else {
        Exit::Fine
    })
}

fn compute(wanted: &[(&'static str, Compute)]) -> Result<Vec<Figure>, ReproduceError> {
    let bar = progress::bar(Shows::Parts, wanted.len() as u64);
    let figures = parallel::map(wanted, |(name, compute)| {
        bar.set_message(*name);
        let figure = compute();
        bar.inc(1);
        figure
    });
    bar.finish_and_clear();
    figures.into_iter().collect()
}

fn draw(figure: &Figure, folder: &Path) -> Result<(), ReproduceCommandError> {
    for (stem, chart) in &figure.charts {
        let svg = chart.to_svg().map_err(ReproduceError::from)?;
        let png = chart.to_png().map_err(ReproduceError::from)?;
        for (ending, bytes) in [("svg", svg.into_bytes()), ("png", png)] {
            let path = folder.join(format!("{stem}.{ending}"));
            std::fs::write(&path, bytes)
                .map_err(|source| ReproduceCommandError::Write { path, source })?;
        }
    }
    Ok(())
}

/// Lines no longer than a page; those after the first begin with `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let word_length = word.chars().count();
        if length > 0 && length + 1 + word_length > usize::from(table::COLUMNS_MAX) {
            lines += "\n";
            lines += indent;
            length = indent.len();
        } else if length > 0 {
            lines += " ";
            length += 1;
        }
        lines += word;
        length += word_length;
    }
    lines + "\n"
}

fn to_text(figures: &[Figure], folder: Option<&Path>) -> String {
    let mut text = String::new();
    for figure in figures {
        text += &wrapped(&format!("{}: {}", figure.name, figure.title), "");
        text += &wrapped(&figure.source, "");
        let titles = [
            "figure",
            "published",
            "simulated",
            "ratio",
            "verdict",
            "reason",
        ];
        let mut rows = table::with_titles(&titles, 3..4);
        for row in &figure.rows {
            let ratio = row
                .ratio
                .map_or_else(String::new, |ratio| format!("{ratio:.2}"));
            rows.add_row([
                row.what.as_str(),
                &row.published,
                &row.simulated,
                &ratio,
                row.verdict.text(),
                &row.reason,
            ]);
        }
        text += &format!("{rows}\n");
        for note in &figure.notes {
            text += &wrapped(&format!("* {note}"), "  ");
        }
        if let Some(folder) = folder {
            for (stem, _) in &figure.charts {
                text += &format!(
                    "picture: {}\n",
                    folder.join(format!("{stem}.svg")).display()
                );
            }
        }
        text += "\n";
    }
    let total = |verdict| -> usize { figures.iter().map(|figure| figure.count(verdict)).sum() };
    text += &format!(
        "{} exact, {} with their shape, {} that do not hold, {} for context\n",
        total(Verdict::Exact),
        total(Verdict::ShapeHolds),
        total(Verdict::DoesNotHold),
        total(Verdict::Context)
    );
    text
}

fn to_json(figures: &[Figure]) -> String {
    let figures: Vec<_> = figures
        .iter()
        .map(|figure| {
            json!({
                "name": figure.name,
                "title": figure.title,
                "source": figure.source,
                "rows": figure.rows,
                "notes": figure.notes,
            })
        })
        .collect();
    serde_json::to_string_pretty(&figures).unwrap_or_default() + "\n"
}
