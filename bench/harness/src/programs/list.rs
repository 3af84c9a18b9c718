//! The list of programs and of the data that they read, as TOML; `bench/harness/programs.toml` is ours,
//! `bench/harness/trees.toml` that of programs that go through trees, `bench/harness/mapped.toml` that of programs
//! that map what they read, and `bench/harness/unnamed.toml` that of programs which nothing was tuned on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use serde::{Deserialize, Serialize};

use crate::tree_files::TreePart;

/// The list that is used unless another one is named.
const OURS: &str = include_str!("../../programs.toml");
/// The list that is called `trees`.
const TREES: &str = include_str!("../../trees.toml");
/// The list that is called `mapped`.
const MAPPED: &str = include_str!("../../mapped.toml");
/// The list that is called `unnamed`.
const UNNAMED: &str = include_str!("../../unnamed.toml");

/// Programs, and what they need.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProgramList {
    /// One line on the whole of it, for the picture.
    pub about: String,
    /// Its programs read data of our own list, too.
    #[serde(default)]
    pub with_our_data: bool,
    /// What is made on the disk, in an order in which it can be made.
    #[serde(default)]
    pub data: Vec<ProgramData>,
    /// What is measured.
    #[serde(rename = "program")]
    pub programs: Vec<BenchProgram>,
}

/// Files that programs read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProgramData {
    /// What programs call it.
    pub name: String,
    /// What it is, in some words.
    pub about: String,
    /// Data that has to be there first.
    #[serde(default)]
    pub of: Vec<String>,
    /// What makes it.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// The interpreter of the script.
    #[serde(default)]
    pub with: Interpreter,
    /// The script.
    pub make: String,
}

/// What runs a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpreter {
    /// The shell, which ends at the first command that fails.
    #[default]
    Sh,
    /// Python.
    Python3,
}

impl Interpreter {
    /// What it takes.
    #[must_use]
    pub fn need(self) -> Need {
        let [name, _] = self.words();
        Need(name.to_owned())
    }

    /// The command, to be followed by the script.
    #[must_use]
    pub const fn words(self) -> [&'static str; 2] {
        match self {
            Self::Sh => ["sh", "-ec"],
            Self::Python3 => ["python3", "-c"],
        }
    }
}

/// One program and what it does.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BenchProgram {
    /// Its name in the table.
    pub name: String,
    /// What it does, in some words.
    pub about: String,
    /// It is run once for each of these data, called `NAME-DATA`: in all other texts `$DATA` is the data's name, and
    /// `$TREE` what of it stands before a hyphen.
    #[serde(default)]
    pub each: Vec<String>,
    /// What it reads; with `each`, beside that.
    #[serde(default)]
    pub data: Vec<String>,
    /// What one reads that knows the list beforehand, if there is such a thing.
    pub ceiling: Option<TreeCeiling>,
    /// Commands and modules of Python.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// It reads a tree of small files.
    #[serde(default)]
    pub is_tree: bool,
    /// A shell script before the clock starts, in the same arm: what stays behind (a server) is measured too.
    pub start: Option<String>,
    /// The shell script that is measured.
    pub run: String,
    /// A shell script after the clock has stopped.
    pub stop: Option<String>,
}

/// Who reads the same trees as a program, and knows what is in them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TreeCeiling {
    /// The trees, as folders.
    pub folders: Vec<String>,
    /// What of each file.
    pub part: TreePart,
}

impl BenchProgram {
    /// This program for each of its data, or itself.
    fn expanded(self) -> Vec<Self> {
        if self.each.is_empty() {
            return vec![self];
        }
        let for_data = |data: &String| {
            let tree = data.split('-').next().unwrap_or_default();
            let text = |text: &str| text.replace("$DATA", data).replace("$TREE", tree);
            let texts = |all: &[String]| all.iter().map(|one| text(one)).collect::<Vec<_>>();
            let mut read = vec![data.clone()];
            read.extend(texts(&self.data));
            Self {
                name: format!("{}-{data}", self.name),
                each: Vec::new(),
                data: read,
                ceiling: self.ceiling.as_ref().map(|ceiling| TreeCeiling {
                    folders: texts(&ceiling.folders),
                    part: ceiling.part,
                }),
                run: text(&self.run),
                ..self.clone()
            }
        };
        self.each.iter().map(for_data).collect()
    }
}

/// A command, or a module of Python as `python3:NAME`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Need(String);

impl Need {
    /// The shell script that succeeds where it is there; it also brings the program into memory.
    #[must_use]
    pub fn probe(&self) -> String {
        match self.0.split_once(':') {
            Some((python, module)) => format!("{python} -c 'import {module}'"),
            // Some know no `--version`; they have been read all the same.
            None => format!(
                "command -v {0} >/dev/null || exit 1; {0} --version </dev/null >/dev/null 2>&1 || true",
                self.0
            ),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A list that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramListError {
    /// It cannot be read.
    #[error("cannot read the list '{}': {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not one.
    #[error("the list {origin}: {reason}")]
    Wrong {
        /// Which.
        origin: String,
        /// What is wrong.
        reason: String,
    },
    /// A name that the list does not have.
    #[error("the list has no {what} '{name}'; it has {known}")]
    Unknown {
        /// Of which kind.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
}

impl ProgramList {
    /// Our own.
    ///
    /// # Errors
    /// None, as a test says.
    pub fn ours() -> Result<Self, ProgramListError> {
        Self::from_toml(OURS, "of ahead")
    }

    /// The list that is called `name`; `None`: there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Result<Self, ProgramListError>> {
        let text = match name {
            "trees" => TREES,
            "mapped" => MAPPED,
            "unnamed" => UNNAMED,
            _ => return None,
        };
        Some(Self::from_toml(text, &format!("'{name}' of ahead")))
    }

    /// The list in a file.
    ///
    /// # Errors
    /// [`ProgramListError`].
    pub fn read(path: &Path) -> Result<Self, ProgramListError> {
        let text = fs::read_to_string(path).map_err(|source| ProgramListError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::from_toml(&text, &format!("'{}'", path.display()))
    }

    /// Reads and checks the TOML form; messages call it `origin`.
    ///
    /// # Errors
    /// [`ProgramListError::Wrong`].
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, ProgramListError> {
        let wrong = |reason: String| ProgramListError::Wrong {
            origin: origin.to_owned(),
            reason,
        };
        let mut list: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(0, |span| {
                let before = text.get(..span.start).unwrap_or_default();
                before.matches('\n').count() + 1
            });
            wrong(format!("line {line}: {}", error.message()))
        })?;
        if list.with_our_data {
            list.data.splice(0..0, Self::ours()?.data);
        }
        let programs = list.programs.into_iter();
        list.programs = programs.flat_map(BenchProgram::expanded).collect();
        let mut made = BTreeSet::new();
        for data in &list.data {
            is_name(&data.name).map_err(wrong)?;
            if let Some(missing) = data.of.iter().find(|name| !made.contains(*name)) {
                let name = &data.name;
                return Err(wrong(format!(
                    "'{name}' is made of '{missing}', which no data before it is"
                )));
            }
            if !made.insert(data.name.clone()) {
                return Err(wrong(format!("'{}' is there twice", data.name)));
            }
        }
        let mut names = BTreeSet::new();
        for program in &list.programs {
            is_name(&program.name).map_err(wrong)?;
            if let Some(missing) = program.data.iter().find(|name| !made.contains(*name)) {
                let name = &program.name;
                return Err(wrong(format!(
                    "'{name}' reads '{missing}', which is not among the data"
                )));
            }
            if !names.insert(&program.name) {
                return Err(wrong(format!("'{}' is there twice", program.name)));
            }
        }
        if names.is_empty() {
            return Err(wrong("there is no program in it".to_owned()));
        }
        if list.with_our_data {
            list.keep_needed_data();
        }
        Ok(list)
    }

    /// Keeps what `names` says, comma separated: names, or for those that are none, what they begin up to a
    /// `-`; and the data for it.
    ///
    /// # Errors
    /// [`ProgramListError::Unknown`].
    pub fn select(&mut self, names: &str) -> Result<(), ProgramListError> {
        let wanted: Vec<&str> = names.split(',').map(str::trim).collect();
        let exact: BTreeSet<String> = self
            .programs
            .iter()
            .map(|program| program.name.clone())
            .collect();
        let is_it = |program: &BenchProgram, name: &str| match program.name.strip_prefix(name) {
            Some(rest) => rest.is_empty() || (rest.starts_with('-') && !exact.contains(name)),
            None => false,
        };
        for name in &wanted {
            if !self.programs.iter().any(|program| is_it(program, name)) {
                let known: Vec<&str> = self.programs.iter().map(|program| &*program.name).collect();
                return Err(ProgramListError::Unknown {
                    what: "program",
                    name: (*name).to_owned(),
                    known: known.join(", "),
                });
            }
        }
        self.programs
            .retain(|program| wanted.iter().any(|name| is_it(program, name)));
        self.keep_needed_data();
        Ok(())
    }

    /// Keeps programs that read data among `names`, comma separated; and what they need beside it.
    ///
    /// # Errors
    /// [`ProgramListError::Unknown`]: no program of this list reads one of them.
    pub fn select_data(&mut self, names: &str) -> Result<(), ProgramListError> {
        let wanted: Vec<&str> = names.split(',').map(str::trim).collect();
        let reads = |program: &BenchProgram, name: &str| program.data.iter().any(|it| it == name);
        for name in &wanted {
            if !self.programs.iter().any(|program| reads(program, name)) {
                let known = self.programs.iter().flat_map(|program| &program.data);
                let known: BTreeSet<&str> = known.map(String::as_str).collect();
                return Err(ProgramListError::Unknown {
                    what: "data",
                    name: (*name).to_owned(),
                    known: known.into_iter().collect::<Vec<_>>().join(", "),
                });
            }
        }
        self.programs
            .retain(|program| wanted.iter().any(|name| reads(program, name)));
        self.keep_needed_data();
        Ok(())
    }

    /// Forgets data that no program reads and nothing is made of.
    fn keep_needed_data(&mut self) {
        let mut needed: BTreeSet<String> = self
            .programs
            .iter()
            .flat_map(|program| program.data.iter().cloned())
            .collect();
        // What something is made of stands before it.
        for data in self.data.iter().rev() {
            if needed.contains(&data.name) {
                needed.extend(data.of.iter().cloned());
            }
        }
        self.data.retain(|data| needed.contains(&data.name));
    }
}

/// Names become names of files and options.
fn is_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || !name.chars().all(fits) {
        return Err(format!("'{name}' is no name: use a-z, 0-9 and hyphens"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_list_can_be_used() {
        let list = ProgramList::ours().unwrap();
        assert!(list.programs.len() >= 45, "{}", list.programs.len());
    }

    #[test]
    fn a_selection_keeps_the_data_that_its_data_is_made_of() {
        let mut list = ProgramList::ours().unwrap();
        list.select("unzip,sqlite,tac").unwrap();
        let programs: Vec<_> = list.programs.iter().map(|program| &*program.name).collect();
        // `tac` is a name, and so does not mean `tac-first` too.
        assert_eq!(
            programs,
            [
                "tac",
                "unzip",
                "sqlite-scan",
                "sqlite-descending",
                "sqlite-index",
                "sqlite-vacuum"
            ]
        );
        let data: Vec<_> = list.data.iter().map(|data| &*data.name).collect();
        assert_eq!(data, ["log", "tree", "archives", "sqlite"]);
        let error = list.select("cat").unwrap_err().to_string();
        assert!(
            error.contains("'cat'") && error.contains("unzip"),
            "{error}"
        );
    }

    #[test]
    fn the_list_of_trees_has_nine_programs_for_each_tree() {
        let mut list = ProgramList::named("trees").unwrap().unwrap();
        assert_eq!(list.programs.len(), 9 * 6);
        assert!(list.programs.iter().all(|program| program.is_tree));
        assert!(
            list.programs
                .iter()
                .all(|program| program.ceiling.is_some())
        );
        assert!(ProgramList::named("forests").is_none());
        list.select("tree-diff").unwrap();
        list.select_data("small-aged").unwrap();
        let [program] = &list.programs[..] else {
            panic!("{:?}", list.programs)
        };
        assert_eq!(program.name, "tree-diff-small-aged");
        assert!(
            program.run.contains("small-aged small-copy"),
            "{}",
            program.run
        );
        let data: Vec<_> = list.data.iter().map(|data| &*data.name).collect();
        assert_eq!(data, ["small-copy", "small-aged"]);
        let error = list.select_data("large").unwrap_err().to_string();
        assert_eq!(
            error,
            "the list has no data 'large'; it has small-aged, small-copy"
        );
    }

    #[test]
    fn the_list_of_programs_that_map_can_be_used() {
        let list = ProgramList::named("mapped").unwrap().unwrap();
        let names: Vec<_> = list.programs.iter().map(|one| &*one.name).collect();
        for wanted in [
            "rg-file",
            "numpy-columns",
            "load-model-4",
            "lmdb-random",
            "git-show",
        ] {
            assert!(names.contains(&wanted), "{wanted}: {names:?}");
        }
    }

    #[test]
    fn a_list_may_read_the_data_of_ours() {
        let list = ProgramList::named("unnamed").unwrap().unwrap();
        let names: Vec<_> = list.data.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["log", "parts", "tree", "pair"]);
        assert!(!list.programs.is_empty());
        let text = "about = 'x'\nwith-our-data = true\n[[data]]\nname = 'log'\nabout = 'x'\nmake = 'x'\n\
                    [[program]]\nname = 'x'\nabout = 'x'\ndata = ['log']\nrun = 'x'";
        assert!(refused(text).contains("'log' is there twice"), "{text}");
    }

    fn refused(text: &str) -> String {
        ProgramList::from_toml(text, "'x.toml'")
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn what_is_wrong_with_a_list_is_said_in_one_line() {
        assert!(refused("about = 3").contains("'x.toml': line 1"));
        let head = "about = 'a'\n";
        let program = "[[program]]\nname = 'p'\nabout = 'p'\nrun = 'true'\n";
        let data = "[[data]]\nname = 'd'\nabout = 'd'\nmake = 'true'\n";
        assert!(refused(&format!("{head}data = []\nprogram = []\n")).contains("no program"));
        let unread = format!("{head}{data}{program}data = ['e']\n");
        assert!(refused(&unread).contains("'p' reads 'e'"));
        let twice = format!("{head}{data}{program}{program}");
        assert!(refused(&twice).contains("'p' is there twice"));
        let early = format!(
            "{head}{data}of = ['d2']\n{}{program}",
            data.replace("'d'", "'d2'")
        );
        assert!(refused(&early).contains("made of 'd2'"));
        let path = format!("{head}{data}{}", program.replace("'p'", "'../p'"));
        assert!(refused(&path).contains("'../p' is no name"));
        let unknown = format!("{head}{data}{program}wait = 3\n");
        assert!(refused(&unknown).contains("unknown field `wait`"));
    }
}
