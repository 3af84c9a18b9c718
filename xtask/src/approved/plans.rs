//! The results of all plans: which cells there are, what each took, and what differs between two
//! computations of them. Time is virtual, so equal code gives equal numbers, to the nanosecond, on
//! every machine.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::row;
use crate::cargo::{root, run};

/// What stands above the numbers.
const TITLES: &str = "plan,disk,memory_mib,workload,policy,elapsed_ns,device_bytes";

/// Differences that are printed: a change of one constant moves hundreds of cells, and the largest
/// say what happened.
const DIFFERENCES_MAX: usize = 20;

/// What one cell took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// Virtual time from the first access to the last.
    pub elapsed_ns: u64,
    /// What the disk delivered.
    pub device_bytes: u64,
}

/// Each cell, named as in the file: plan, disk, memory, workload, policy.
pub type Rows = Vec<(String, Took)>;

/// All plans of the tree, run once. Whoever asks a second time gets the same runs, in another form.
#[derive(Debug)]
pub struct Sweep {
    ahead: PathBuf,
    plans: Vec<PathBuf>,
    journal: TempDir,
}

impl Sweep {
    /// A sweep of all plans with this program.
    ///
    /// # Errors
    /// There are no plans, or there is no place for the journal.
    pub fn new(ahead: &Path) -> io::Result<Self> {
        let mut plans = Vec::new();
        for entry in std::fs::read_dir(root().join("plans"))? {
            let path = Path::new("plans").join(entry?.file_name());
            if path.extension().is_some_and(|ending| ending == "toml") {
                plans.push(path);
            }
        }
        plans.sort();
        if plans.is_empty() {
            return Err(io::Error::other("there are no plans in plans/"));
        }
        Ok(Self {
            ahead: ahead.to_owned(),
            plans,
            journal: TempDir::new()?,
        })
    }

    /// Every cell in the order of the plans; draws the profile, if a path is named.
    ///
    /// # Errors
    /// The program fails, or prints something else.
    pub fn rows(&self, svg: Option<&Path>) -> io::Result<Rows> {
        let printed: Value = serde_json::from_slice(&self.compare("--json", svg)?)?;
        let runs = printed["runs"].as_array().into_iter().flatten();
        let rows = runs.map(|run| cell(run).ok_or_else(|| row::broken(&run.to_string())));
        rows.collect()
    }

    /// The table of the contest; draws it, if a path is named.
    ///
    /// # Errors
    /// The program fails.
    pub fn summary(&self, svg: Option<&Path>) -> io::Result<String> {
        let printed = self.compare("--summary", svg)?;
        String::from_utf8(printed).map_err(io::Error::other)
    }

    fn compare(&self, form: &str, svg: Option<&Path>) -> io::Result<Vec<u8>> {
        let mut compare = Command::new(&self.ahead);
        compare.current_dir(root()).arg("compare").args(&self.plans);
        compare.args([form, "--journal"]);
        compare.arg(self.journal.path().join("journal"));
        if let Some(svg) = svg {
            compare.arg("--svg").arg(svg);
        }
        Ok(run(&mut compare)?.stdout)
    }
}

fn cell(run: &Value) -> Option<(String, Took)> {
    let name = [
        quoted(run["plan"].as_str()?),
        quoted(run["disk"].as_str()?),
        run["memory_mib"].as_u64()?.to_string(),
        quoted(run["workload"].as_str()?),
        quoted(run["policy"].as_str()?),
    ];
    let report = &run["report"];
    let took = Took {
        elapsed_ns: report["elapsed_ns"].as_u64()?,
        device_bytes: report["device"]["bytes"].as_u64()?,
    };
    Some((name.join(","), took))
}

/// Policies with keys hold commas.
fn quoted(word: &str) -> String {
    if word.contains([',', '"']) {
        format!("\"{}\"", word.replace('"', "\"\""))
    } else {
        word.to_owned()
    }
}

/// The rows as they stand in the tree.
#[must_use]
pub fn to_csv(rows: &[(String, Took)]) -> String {
    let mut text = TITLES.to_owned() + "\n";
    for (name, took) in rows {
        text += &format!("{name},{},{}\n", took.elapsed_ns, took.device_bytes);
    }
    text
}

/// The rows of such a file. The numbers are the last two columns, so that a name may hold commas.
///
/// # Errors
/// A line without two numbers.
pub fn from_csv(text: &str) -> io::Result<Rows> {
    let row = |(name, elapsed, bytes): (&str, &str, &str)| {
        let took = Took {
            elapsed_ns: elapsed.parse().ok()?,
            device_bytes: bytes.parse().ok()?,
        };
        Some((name.to_owned(), took))
    };
    let rows = row::rows(text)?.into_iter();
    rows.map(|it| row(it).ok_or_else(|| row::broken(it.0)))
        .collect()
}

/// One cell that is not as it was.
struct Change<'a> {
    name: &'a str,
    old: Took,
    new: Took,
}

impl Change<'_> {
    /// How far from equal, in either direction: in time first, in bytes where the time is the same.
    fn distance(&self) -> f64 {
        let time = distance(self.old.elapsed_ns, self.new.elapsed_ns);
        let bytes = distance(self.old.device_bytes, self.new.device_bytes);
        // A byte more is worth saying, but never above a change of time.
        if time > 0.0 {
            1.0 + time
        } else {
            bytes.min(1.0)
        }
    }

    fn line(&self) -> String {
        let Self { name, old, new } = self;
        let time = per_cent(old.elapsed_ns, new.elapsed_ns);
        let bytes = per_cent(old.device_bytes, new.device_bytes);
        format!(
            "  {name}\n      time {} -> {} ns ({time}), device {} -> {} bytes ({bytes})",
            old.elapsed_ns, new.elapsed_ns, old.device_bytes, new.device_bytes
        )
    }
}

fn distance(old: u64, new: u64) -> f64 {
    (new.max(1) as f64 / old.max(1) as f64).ln().abs()
}

fn per_cent(old: u64, new: u64) -> String {
    if old == new {
        return "same".to_owned();
    }
    let share = (new as f64 / old.max(1) as f64 - 1.0) * 100.0;
    format!("{share:+.3} %")
}

/// What differs, the largest changes first; nothing when both are equal.
#[must_use]
pub fn difference(old: &[(String, Took)], new: &[(String, Took)]) -> Option<String> {
    if old == new {
        return None;
    }
    let was: BTreeMap<&str, Took> = old.iter().map(|(name, took)| (&**name, *took)).collect();
    let is: BTreeMap<&str, Took> = new.iter().map(|(name, took)| (&**name, *took)).collect();
    let gone: Vec<&str> = missing(&was, &is);
    let come: Vec<&str> = missing(&is, &was);
    let mut changes: Vec<Change<'_>> = Vec::new();
    for (name, &new) in &is {
        match was.get(name) {
            Some(&old) if old != new => changes.push(Change { name, old, new }),
            _ => {}
        }
    }
    changes.sort_by(|one, other| other.distance().total_cmp(&one.distance()));
    let count = |fits: fn(&Change<'_>) -> bool| changes.iter().filter(|it| fits(it)).count();
    let mut text = format!(
        "{} of {} cells differ: {} slower, {} faster, {} in bytes alone; {} gone, {} new",
        changes.len(),
        is.len(),
        count(|it| it.new.elapsed_ns > it.old.elapsed_ns),
        count(|it| it.new.elapsed_ns < it.old.elapsed_ns),
        count(|it| it.new.elapsed_ns == it.old.elapsed_ns),
        gone.len(),
        come.len()
    );
    if changes.is_empty() && gone.is_empty() && come.is_empty() {
        text += "; the same cells in another order";
    }
    for change in changes.iter().take(DIFFERENCES_MAX) {
        text += &format!("\n{}", change.line());
    }
    for (word, names) in [("gone", gone), ("new", come)] {
        for name in names.iter().take(DIFFERENCES_MAX) {
            text += &format!("\n  {name}: {word}");
        }
    }
    Some(text)
}

fn missing<'a>(here: &BTreeMap<&'a str, Took>, there: &BTreeMap<&str, Took>) -> Vec<&'a str> {
    let names = here.keys().copied();
    names.filter(|name| !there.contains_key(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cells: &[(&str, u64, u64)]) -> Rows {
        let took = |&(name, elapsed_ns, device_bytes): &(&str, u64, u64)| {
            let took = Took {
                elapsed_ns,
                device_bytes,
            };
            (name.to_owned(), took)
        };
        cells.iter().map(took).collect()
    }

    #[test]
    fn what_is_written_is_read_again_with_commas_in_names() {
        let rows = rows(&[
            ("p,hdd,256,w,none", 1, 2),
            ("p,hdd,256,w,\"ara:a=1,b=2\"", 3, 4),
        ]);
        assert_eq!(from_csv(&to_csv(&rows)).expect("rows"), rows);
        assert_eq!(quoted("ara:a=1,b=2"), "\"ara:a=1,b=2\"");
        assert!(from_csv("titles\nno numbers").is_err());
    }

    #[test]
    fn one_nanosecond_is_a_difference_and_equal_rows_are_none() {
        let old = rows(&[("a", 100, 7), ("b", 1000, 7)]);
        assert_eq!(difference(&old, &old), None);
        let new = rows(&[("a", 100, 7), ("b", 1001, 7)]);
        let text = difference(&old, &new).expect("a difference");
        assert!(text.starts_with("1 of 2 cells differ: 1 slower"), "{text}");
        assert!(text.contains("b\n"), "{text}");
        assert!(text.contains("1000 -> 1001 ns (+0.100 %)"), "{text}");
    }

    #[test]
    fn the_largest_change_comes_first_whichever_its_direction() {
        let old = rows(&[("a", 100, 7), ("b", 100, 7), ("c", 100, 7), ("d", 1, 1)]);
        let new = rows(&[("a", 110, 7), ("b", 50, 7), ("c", 100, 700), ("e", 1, 1)]);
        let text = difference(&old, &new).expect("a difference");
        let place = |part: &str| {
            text.find(part)
                .unwrap_or_else(|| panic!("{part} in {text}"))
        };
        assert!(place("  b\n") < place("  a\n") && place("  a\n") < place("  c\n"));
        assert!(
            text.contains("  d: gone") && text.contains("  e: new"),
            "{text}"
        );
    }
}
