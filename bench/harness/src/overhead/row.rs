//! What is measured, row by row, and the bound that each row is held against: the one place where
//! both stand. How a row is measured is the business of [`job`](super::job).

use serde::{Deserialize, Serialize};

/// How the figure of a row follows from both arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// With − plain, in nanoseconds for each operation.
    Added,
    /// With − plain, in system calls for each operation.
    AddedCalls,
    /// (With − plain) ÷ plain, in per cent.
    Percent,
    /// Plain ÷ with: how many times faster the program is.
    Speed,
    /// A count of the arm with the library; there is no plain one.
    Count,
}

impl Effect {
    /// The figure.
    #[must_use]
    pub fn of(self, plain: f64, with: f64) -> f64 {
        match self {
            Self::Added | Self::AddedCalls => with - plain,
            Self::Percent => (with / plain - 1.0) * 100.0,
            Self::Speed => plain / with,
            Self::Count => with,
        }
    }

    /// Whether `figure` keeps to `limit`.
    #[must_use]
    pub fn keeps(self, figure: f64, limit: f64) -> bool {
        match self {
            Self::Added | Self::AddedCalls | Self::Percent => figure <= limit,
            Self::Speed | Self::Count => figure >= limit,
        }
    }
}

/// What a row is to reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// Largest figure; the smallest one of [`Effect::Speed`] and [`Effect::Count`].
    pub limit: f64,
}

/// What a program does in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    RunStart,
    BashTrue,
    Subprocess { shim: bool },
    PythonFork,
    ImportThroughShim,
    Small(&'static str),
    SmallCalls(&'static str),
    Watched { program: Program, cold: bool },
    ManyFiles,
    ManyFilesAskedFor,
}

/// Programs that read by small calls or by stdio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Sort,
    Dd,
    Awk,
    Grep,
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverheadRow {
    /// Its name on the command line and in the table.
    pub name: &'static str,
    /// What is done, and what one operation is.
    pub what: &'static str,
    /// How its figure is made.
    pub effect: Effect,
    /// What it is to reach; `None` where nothing was promised.
    pub bound: Option<Bound>,
    pub(crate) kind: Kind,
}

const fn row(
    name: &'static str,
    what: &'static str,
    kind: Kind,
    effect: Effect,
    limit: f64,
) -> OverheadRow {
    let bound = Some(Bound { limit });
    OverheadRow {
        name,
        what,
        effect,
        bound,
        kind,
    }
}

const fn unbound(name: &'static str, what: &'static str, kind: Kind) -> OverheadRow {
    OverheadRow {
        name,
        what,
        effect: Effect::Added,
        bound: None,
        kind,
    }
}

const fn watched(
    name: &'static str,
    what: &'static str,
    program: Program,
    cold: bool,
) -> OverheadRow {
    row(
        name,
        what,
        Kind::Watched { program, cold },
        Effect::Speed,
        0.99,
    )
}

/// Processes that a shell shim starts before it becomes Python: as many as `pyenv` does for one
/// start.
pub(crate) const SHIM_PROCESSES: u32 = 40;

/// All rows, in the order of the table.
pub const ROWS: &[OverheadRow] = &[
    unbound(
        "run-start",
        "`ahead run true` instead of `true`: the program and the library",
        Kind::RunStart,
    ),
    row(
        "bash-true",
        "bash starts /bin/true 1000 times; each",
        Kind::BashTrue,
        Effect::Added,
        60_000.0,
    ),
    row(
        "subprocess",
        "Python's subprocess.run([\"/bin/true\"]); each",
        Kind::Subprocess { shim: false },
        Effect::Added,
        80_000.0,
    ),
    row(
        "subprocess-shim",
        "the same, Python started through a shell shim of 40 processes",
        Kind::Subprocess { shim: true },
        Effect::Added,
        80_000.0,
    ),
    unbound(
        "python-fork",
        "os.fork() and the child's os._exit() in a small Python; each",
        Kind::PythonFork,
    ),
    row(
        "import-shim",
        "python3 -c 'import h5py' through a shell shim of 40 processes, in memory",
        Kind::ImportThroughShim,
        Effect::Percent,
        5.0,
    ),
    row(
        "open",
        "open, read to the end and close of a 16 KiB file in memory; all of it",
        Kind::Small("open-read-close"),
        Effect::Added,
        300.0,
    ),
    OverheadRow {
        name: "open-calls",
        what: "system calls for the same (counted by strace)",
        effect: Effect::AddedCalls,
        bound: Some(Bound { limit: 0.0 }),
        kind: Kind::SmallCalls("open-read-close"),
    },
    row(
        "pread-steady",
        "pread of 4 KiB from memory, one after another; each",
        Kind::Small("pread-steady"),
        Effect::Added,
        25.0,
    ),
    row(
        "pread-random",
        "pread of 4 KiB from memory at random places; each",
        Kind::Small("pread-random"),
        Effect::Added,
        25.0,
    ),
    unbound(
        "getc",
        "getc over a file in memory; each byte",
        Kind::Small("getc"),
    ),
    unbound(
        "fgets",
        "fgets of lines of 64 bytes in memory; each",
        Kind::Small("fgets"),
    ),
    unbound(
        "fread",
        "fread of records of 64 bytes in memory; each",
        Kind::Small("fread"),
    ),
    watched(
        "sort-cold",
        "sort -m of 12 files under --policy kernel, from the disk",
        Program::Sort,
        true,
    ),
    watched("sort-warm", "the same from memory", Program::Sort, false),
    watched(
        "dd-cold",
        "dd bs=4k of a file under --policy kernel, from the disk",
        Program::Dd,
        true,
    ),
    watched("dd-warm", "the same from memory", Program::Dd, false),
    watched(
        "awk-cold",
        "awk over a file under --policy kernel, from the disk",
        Program::Awk,
        true,
    ),
    watched("awk-warm", "the same from memory", Program::Awk, false),
    watched(
        "grep-cold",
        "grep -r over 8000 files of 16 KiB under --policy kernel, from the disk",
        Program::Grep,
        true,
    ),
    watched("grep-warm", "the same from memory", Program::Grep, false),
    row(
        "files-800",
        "cat of 800 files of 4 MiB, from the emulated disk of --disk",
        Kind::ManyFiles,
        Effect::Speed,
        1.0,
    ),
    row(
        "files-800-asked",
        "of files 301 to 800, those for which something was asked",
        Kind::ManyFilesAskedFor,
        Effect::Count,
        // Silence would be 0. Half leaves alone what the kernel brings soon enough by itself.
        250.0,
    ),
];

/// A name that selects no row.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{name}` is no row; known: {known}")]
pub struct UnknownRow {
    /// What was asked for.
    pub name: String,
    /// What there is.
    pub known: String,
}

/// The rows that a list of names selects, in the order of the table. A name selects also the rows
/// that go on behind a dash (`dd`: `dd-cold` and `dd-warm`); `all` selects all.
///
/// # Errors
/// A name that selects none.
pub fn select(list: &str) -> Result<Vec<&'static OverheadRow>, UnknownRow> {
    let names: Vec<&str> = list
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    let is_meant = |row: &OverheadRow, name: &str| {
        name == "all"
            || row
                .name
                .strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    for name in &names {
        if !ROWS.iter().any(|row| is_meant(row, name)) {
            let known: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
            return Err(UnknownRow {
                name: (*name).to_owned(),
                known: known.join(", "),
            });
        }
    }
    Ok(ROWS
        .iter()
        .filter(|row| names.iter().any(|name| is_meant(row, name)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Vec<&'static str> {
        let rows = select(list).unwrap();
        rows.iter().map(|row| row.name).collect()
    }

    #[test]
    fn a_name_selects_its_row_and_those_that_go_on_behind_a_dash() {
        assert_eq!(names("dd"), ["dd-cold", "dd-warm"]);
        assert_eq!(names("pread-random, getc"), ["pread-random", "getc"]);
        assert_eq!(names("all").len(), ROWS.len());
        assert_eq!(names("files-800-asked"), ["files-800-asked"]);
    }

    #[test]
    fn a_name_that_selects_nothing_is_answered_with_the_known_ones() {
        let error = select("getc,pred").unwrap_err();
        assert_eq!(error.name, "pred");
        assert!(error.known.contains("pread-steady"));
    }

    #[test]
    fn every_row_has_a_name_of_its_own() {
        for (at, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..at].iter().all(|other| other.name != row.name));
        }
    }

    #[test]
    fn a_program_that_takes_a_tenth_longer_has_a_tenth_less_speed() {
        assert!((Effect::Percent.of(100.0, 110.0) - 10.0).abs() < 1e-9);
        assert!((Effect::Speed.of(100.0, 110.0) - 0.909).abs() < 1e-3);
        assert!(Effect::Speed.keeps(0.99, 0.99) && !Effect::Speed.keeps(0.9, 0.99));
        assert!(Effect::Added.keeps(25.0, 25.0) && !Effect::Added.keeps(26.0, 25.0));
    }
}
