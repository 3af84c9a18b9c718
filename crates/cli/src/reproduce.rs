//! `ahead reproduce`: published figures, computed again, as tables, pages and pictures.

use std::io;
use std::path::{Path, PathBuf};

use ahead_papers::sensitivity::{self, Turned};
use ahead_papers::{ALL, Figure, ModelKnobs, Publication, ReproduceError, find, page};
use ahead_study::parallel;
use ahead_study::verdict::Verdict;
use serde_json::{Value, json};

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
    /// A page or a picture cannot be written.
    #[error("cannot write '{path}': {source}; --out names the folder for pages and pictures")]
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

fn list_json() -> String {
    let all = ALL.iter().map(|publication| {
        json!({
            "name": publication.name,
            "about": publication.about,
            "free_numbers": publication.parameters.len(),
        })
    });
    format!("{:#}\n", Value::from_iter(all))
}

/// Computes, draws and prints.
///
/// # Errors
/// [`ReproduceCommandError`].
pub fn reproduce(arguments: &Reproduce) -> Result<Exit, ReproduceCommandError> {
    if arguments.name == "list" {
        output::to_stdout(&if arguments.json {
            list_json()
        } else {
            page::list(ALL)
        })?;
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
    let turned = if arguments.sensitivity {
        turn(&wanted, &figures)?
    } else {
        Vec::new()
    };
    if let Some(folder) = &arguments.out {
        for figure in &figures {
            draw(figure, folder)?;
            write(folder, &format!("{}.md", figure.name), page::of(figure))?;
        }
        if arguments.name == "all" {
            write(folder, "README.md", page::index(&figures))?;
        }
        for (name, text) in sensitivity_pages(&wanted, &turned) {
            write(folder, &format!("{name}-sensitivity.md"), text)?;
        }
    }
    let mut text = if arguments.json {
        to_json(&figures)
    } else {
        to_text(&figures)
    };
    if arguments.sensitivity && !arguments.json {
        for (_, page) in sensitivity_pages(&wanted, &turned) {
            text += &format!("\n{page}");
        }
    }
    output::to_stdout(&text)?;
    let broken = figures
        .iter()
        .any(|figure| figure.count(Verdict::DoesNotHold) + figure.count(Verdict::Refuted) > 0);
    Ok(if arguments.strict && broken {
        Exit::Failed
    } else {
        Exit::Fine
    })
}

fn compute(wanted: &[Publication]) -> Result<Vec<Figure>, ReproduceError> {
    let bar = progress::bar(Shows::Parts, wanted.len() as u64);
    let figures = parallel::map(wanted, |publication| {
        bar.set_message(publication.name);
        let figure = (publication.compute)(&ModelKnobs::AS_IS);
        bar.inc(1);
        figure
    });
    bar.finish_and_clear();
    figures.into_iter().collect()
}

/// Every free number halved and doubled, figure by figure.
fn turn(wanted: &[Publication], figures: &[Figure]) -> Result<Vec<Turned>, ReproduceError> {
    let bar = progress::bar(Shows::Parts, wanted.len() as u64);
    let mut turned = Vec::new();
    for (publication, figure) in wanted.iter().zip(figures) {
        bar.set_message(publication.name);
        turned.extend(sensitivity::of(publication, figure)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(turned)
}

/// A page for each publication that has a number which turns; none where nothing was turned.
fn sensitivity_pages(wanted: &[Publication], turned: &[Turned]) -> Vec<(&'static str, String)> {
    let page_of = |publication: &Publication| {
        let own = turned
            .iter()
            .filter(|turned| turned.figure == publication.name);
        let own: Vec<Turned> = own.cloned().collect();
        (!own.is_empty()).then(|| (publication.name, page::sensitivity(publication, &own)))
    };
    wanted.iter().filter_map(page_of).collect()
}

fn write(
    folder: &Path,
    name: &str,
    contents: impl AsRef<[u8]>,
) -> Result<(), ReproduceCommandError> {
    let path = folder.join(name);
    std::fs::write(&path, contents).map_err(|source| ReproduceCommandError::Write { path, source })
}

fn draw(figure: &Figure, folder: &Path) -> Result<(), ReproduceCommandError> {
    for (stem, chart) in &figure.charts {
        let svg = chart.to_svg().map_err(ReproduceError::from)?;
        let png = chart.to_png().map_err(ReproduceError::from)?;
        write(folder, &format!("{stem}.svg"), svg)?;
        write(folder, &format!("{stem}.png"), png)?;
    }
    Ok(())
}

fn to_text(figures: &[Figure]) -> String {
    let mut text = String::new();
    for figure in figures {
        text += &page::wrapped(&format!("{}: {}", figure.name, figure.title), "");
        text += &page::wrapped(&figure.source, "");
        text += &page::rows(figure);
        text += &page::reasons(figure);
        for note in &figure.notes {
            text += &page::wrapped(&format!("* {note}"), "  ");
        }
        text += &format!("{} free numbers\n", figure.parameters.len());
        text += &page::parameters(figure.parameters);
        text += "\n";
    }
    text + &page::wrapped(&page::headline(figures), "")
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
                "parameters": figure.parameters.iter().map(|parameter| json!({
                    "name": parameter.name,
                    "value": parameter.value,
                    "origin": parameter.origin.text(),
                    "source": parameter.source,
                })).collect::<Vec<_>>(),
            })
        })
        .collect();
    serde_json::to_string_pretty(&figures).unwrap_or_default() + "\n"
}
