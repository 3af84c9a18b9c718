//! What is said of figures, as text: a table no wider than a page, what failed and why, the free numbers,
//! the headline; and a page of a document for each publication.

use ahead_study::table::{COLUMNS_MAX, Table, document, with_titles};
use ahead_study::verdict::{FigureRow, Verdict};

use crate::figure::{Figure, Parameter, Publication};
use crate::sensitivity::Turned;

/// `text` in lines no longer than a page; those after the first begin with `indent`.
#[must_use]
pub fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let word_length = word.chars().count();
        if length > 0 && length + 1 + word_length > usize::from(COLUMNS_MAX) {
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

fn text_of(table: &Table) -> String {
    let lines = table.to_string();
    let lines = lines.lines().map(str::trim_end);
    lines.map(|line| format!("{line}\n")).collect()
}

/// The longest word of a verdict.
const VERDICT_WORD: u16 = 14;

/// The rows that are judged: what was published and what it may be, ours, the null model, the verdict;
/// below them those that are not.
#[must_use]
pub fn rows(figure: &Figure) -> String {
    let titles = [
        "figure",
        "published",
        "may be",
        "simulated",
        "null model",
        "verdict",
    ];
    let mut judged = document(&titles, VERDICT_WORD);
    let mut others = document(
        &["not judged", "published", "simulated", "verdict"],
        VERDICT_WORD,
    );
    for row in &figure.rows {
        let verdict = row.verdict.text();
        if let Some(null) = &row.null {
            let null = format!("{}: {}", null.model, null.shows);
            let cells = [&row.what, &row.published, &row.bound, &row.simulated, &null];
            judged.add_row(cells.into_iter().map(String::as_str).chain([verdict]));
        } else {
            // What was expected stands in the column of what was published.
            let published = format!("{}{}", row.published, row.bound);
            others.add_row([row.what.as_str(), &published, &row.simulated, verdict]);
        }
    }
    let tables = [judged, others]
        .into_iter()
        .filter(|table| !table.is_empty());
    tables.map(|table| text_of(&table)).collect()
}

/// How many rows have each verdict, in words.
#[must_use]
pub fn counts(figures: &[Figure]) -> String {
    let counts = Verdict::ALL.iter().filter_map(|verdict| {
        let count: usize = figures.iter().map(|figure| figure.count(*verdict)).sum();
        (count > 0).then(|| format!("{count} {}", verdict.text()))
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// What is shown in all: only rows that could fail and were not fitted.
#[must_use]
pub fn headline(figures: &[Figure]) -> String {
    let rows = || figures.iter().flat_map(|figure| &figure.rows);
    let of = |wanted: fn(Verdict) -> bool| rows().filter(|row| wanted(row.verdict)).count();
    format!(
        "{} of {} rows that could fail and were not fitted hold ({})",
        of(|verdict| matches!(verdict, Verdict::Exact | Verdict::Holds)),
        of(Verdict::is_evidence),
        counts(figures)
    )
}

/// A line for each row that has a reason and did not simply hold.
#[must_use]
pub fn reasons(figure: &Figure) -> String {
    let said = figure.rows.iter().filter(|row| !row.reason.is_empty());
    said.map(|row: &FigureRow| {
        let line = format!("* {} ({}): {}", row.what, row.verdict.text(), row.reason);
        wrapped(&line, "  ")
    })
    .collect()
}

/// The free numbers of a model, and where each comes from.
#[must_use]
pub fn parameters(parameters: &[Parameter]) -> String {
    if parameters.is_empty() {
        return "None: everything is published.\n".to_owned();
    }
    let mut table = document(&["free number", "value", "from", "origin"], 7);
    for parameter in parameters {
        table.add_row([
            parameter.name,
            parameter.value,
            parameter.source,
            parameter.origin.text(),
        ]);
    }
    text_of(&table)
}

/// One publication as a page of a document; its pictures lie beside it.
#[must_use]
pub fn of(figure: &Figure) -> String {
    let mut text = format!("# {}: {}\n\n", figure.name, figure.title);
    text += &wrapped(&figure.source, "");
    text += "\n";
    text += &wrapped(&(headline(std::slice::from_ref(figure)) + "."), "");
    for (stem, chart) in &figure.charts {
        text += &format!("\n![{}]({stem}.svg)\n", chart.title());
    }
    text += &format!(
        "\n## Published and simulated\n\n```text\n{}```\n",
        rows(figure)
    );
    text += &format!(
        "\n## What failed, and why; what was fitted\n\n{}",
        reasons(figure)
    );
    text += "\n## How it is modelled\n\n";
    for note in &figure.notes {
        text += &wrapped(&format!("* {note}"), "  ");
    }
    let free = parameters(figure.parameters);
    text + &format!(
        "\n## Free numbers: {}\n\n```text\n{free}```\n\n`ahead reproduce {}` computes all of this.\n",
        figure.parameters.len(),
        figure.name
    )
}

/// All publications on one page, which leads to the others.
#[must_use]
pub fn index(figures: &[Figure]) -> String {
    let mut text = "# Published figures, computed again\n\n".to_owned();
    text += &wrapped(&(headline(figures) + "."), "");
    text += "\n";
    text += &wrapped(
        "A judged row is judged twice by the same test: as simulated, and under a null model in which what \
         the row is about is missing. A row that the null model passes is not discriminating, however well \
         it fits. What a row may differ by is the publication's own spread: its repeats, its printed digits, \
         its words. `refuted`: what was published does not follow from the set-up that it describes. \
         `fitted`: restates a number that the model was given. `ours`: nothing published.",
        "",
    );
    let mut table = document(
        &["page", "hold / could fail", "all rows", "free numbers"],
        7,
    );
    for figure in figures {
        let one = std::slice::from_ref(figure);
        let holds = figure.count(Verdict::Exact) + figure.count(Verdict::Holds);
        let evidence = figure.rows.iter().filter(|row| row.verdict.is_evidence());
        table.add_row([
            format!("{}.md", figure.name),
            format!("{holds} / {}", evidence.count()),
            counts(one),
            figure.parameters.len().to_string(),
        ]);
    }
    text += &format!("\n```text\n{}```\n\n", text_of(&table));
    for figure in figures {
        let name = figure.name;
        text += &format!("* [{name}]({name}.md): {}", figure.title);
        if figure.parameters.iter().any(|number| number.turns) {
            text += &format!(" ([sensitivity]({name}-sensitivity.md))");
        }
        text += "\n";
    }
    text += "\n";
    text + &wrapped(
        "`ahead reproduce all --out docs/results/reproduce` writes these pages, and a test compares them. \
             With `--sensitivity` each publication gets a second page, which says whose verdicts change when a \
             free number is halved or doubled; that takes many times as long, and no test repeats it. \
         [charges.md](charges.md) answers, charge by charge, what a hostile reader said of these pages, and \
         [asked.md](asked.md) sets what was asked of them against what is reached.",
        "",
    )
}

/// What the command's list says.
#[must_use]
pub fn list(publications: &[Publication]) -> String {
    let mut table = with_titles(&["name", "what it shows", "free numbers"], 2..3);
    for publication in publications {
        table.add_row([
            publication.name,
            publication.about,
            &publication.parameters.len().to_string(),
        ]);
    }
    format!("{table}\n")
}

/// Which verdicts of `publication` change when a free number is halved or doubled: its `turned`.
#[must_use]
pub fn sensitivity(publication: &Publication, turned: &[Turned]) -> String {
    let mut text = format!("# {}: sensitivity\n\n", publication.name);
    text += &wrapped(
        "Every free number that is one, halved and doubled with all others as they are, and the verdicts that \
         change. A row that holds only for one value of an assumed number is worth less.",
        "",
    );
    let (numbers, others): (Vec<&Parameter>, Vec<_>) =
        publication.parameters.iter().partition(|known| known.turns);
    for number in numbers {
        let (name, value) = (number.name, number.value);
        text += &format!("\n## {name}: {value} ({})\n\n", number.origin.text());
        let of_it = turned.iter().filter(|turned| turned.parameter == name);
        for turned in of_it {
            let factor = if turned.factor < 1.0 {
                "halved"
            } else {
                "doubled"
            };
            let changes = turned.changes.iter().map(|(what, before, after)| {
                format!("{what}: {} → {}", before.text(), after.text())
            });
            let changes: Vec<String> = changes.collect();
            let changes = if changes.is_empty() {
                "nothing changes".to_owned()
            } else {
                changes.join("; ")
            };
            text += &wrapped(&format!("* {factor}: {changes}"), "  ");
        }
    }
    if !others.is_empty() {
        let names: Vec<&str> = others.iter().map(|number| number.name).collect();
        text += "\n";
        text += &wrapped(
            &format!(
                "Not turned, as they are no numbers or have nothing between half and twice: {}.",
                names.join("; ")
            ),
            "",
        );
    }
    text
}
