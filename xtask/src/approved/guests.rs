//! What reads take in guests: the real kernel over modelled disks, in virtual time. The figures
//! repeat to the digit, under the library to some nanoseconds, so a change that costs one per cent shows.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::row;
use crate::cargo::{root, run};

/// A cell that takes longer by more than this share is a regression: the bound of issue 8, from when
/// cells under the library differed by up to 0.1 % from boot to boot.
const TOLERANCE: f64 = 0.01;

const DISKS: &str = "hdd,ssd,cloud";
/// One of each kind: scans in small and long reads, backward, strided, interleaved on one descriptor
/// and on many, threads, a file server, files one after another, and what must not be helped.
const PATTERNS: &str =
    "seq4k,seq2m,back64k,stride16-64,one8,sep8,sep64,thr8,nfsd,reopen,mixed,sparse,rand16k,small";
const ARMS: &str = "stock:128,run";
/// Of each run: some hundred requests, also under the longest ones.
const BYTES: &str = "256M";

const TITLES: &str = "disk,pattern,arm,elapsed_ns,useful_bytes";

/// Nanoseconds, and the bytes that were read in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestTime {
    /// Virtual time.
    pub elapsed_ns: u64,
    /// What the pattern wanted and got.
    pub useful_bytes: u64,
}

impl GuestTime {
    fn ns_per_byte(self) -> f64 {
        self.elapsed_ns as f64 / self.useful_bytes.max(1) as f64
    }
}

/// Each cell, named as in the file: disk, pattern, arm.
pub type GuestRows = Vec<(String, GuestTime)>;

/// Runs all cells.
///
/// # Errors
/// The guest's kernel is not built, or a guest fails.
pub fn measured(ahead: &Path) -> io::Result<GuestRows> {
    let folder = tempfile::TempDir::new()?;
    let mut bench = Command::new(ahead);
    bench.current_dir(root()).args(["lab", "bench"]);
    bench.args(["--disk", DISKS, "--pattern", PATTERNS, "--arm", ARMS]);
    bench.args(["--bytes", BYTES, "--json"]).arg(folder.path());
    run(&mut bench)?;
    let mut rows = Vec::new();
    for disk in DISKS.split(',') {
        let path = folder.path().join(format!("{disk}.json"));
        let results: Value = serde_json::from_slice(&std::fs::read(path)?)?;
        for run in results["runs"].as_array().into_iter().flatten() {
            let cell = cell(disk, run).ok_or_else(|| row::broken(&run.to_string()))?;
            rows.push(cell);
        }
    }
    Ok(rows)
}

fn cell(disk: &str, run: &Value) -> Option<(String, GuestTime)> {
    let (pattern, arm) = (run["scenario"].as_str()?, run["arm"].as_str()?);
    let took = GuestTime {
        elapsed_ns: run["elapsed_ns"].as_u64()?,
        useful_bytes: run["useful_bytes"].as_u64()?,
    };
    Some((format!("{disk},{pattern},{arm}"), took))
}

/// The rows as they stand in the tree.
#[must_use]
pub fn to_csv(rows: &[(String, GuestTime)]) -> String {
    let mut text = TITLES.to_owned() + "\n";
    for (name, took) in rows {
        text += &format!("{name},{},{}\n", took.elapsed_ns, took.useful_bytes);
    }
    text
}

/// The rows of such a file.
///
/// # Errors
/// A line without two numbers.
pub fn from_csv(text: &str) -> io::Result<GuestRows> {
    let row = |(name, elapsed, bytes): (&str, &str, &str)| {
        let took = GuestTime {
            elapsed_ns: elapsed.parse().ok()?,
            useful_bytes: bytes.parse().ok()?,
        };
        Some((name.to_owned(), took))
    };
    let rows = row::rows(text)?.into_iter();
    rows.map(|it| row(it).ok_or_else(|| row::broken(it.0)))
        .collect()
}

/// The cells that differ by more than the tolerance, slower ones first, and those that only one side
/// has; nothing when there are none.
#[must_use]
pub fn difference(old: &[(String, GuestTime)], new: &[(String, GuestTime)]) -> Option<String> {
    let was: BTreeMap<&str, GuestTime> = old.iter().map(|(name, took)| (&**name, *took)).collect();
    let is: BTreeMap<&str, GuestTime> = new.iter().map(|(name, took)| (&**name, *took)).collect();
    let mut changes: Vec<(f64, String)> = Vec::new();
    for (name, new) in &is {
        match was.get(name) {
            None => changes.push((f64::INFINITY, format!("  {name}: is new"))),
            Some(old) => {
                let ratio = new.ns_per_byte() / old.ns_per_byte();
                if (ratio - 1.0).abs() > TOLERANCE {
                    let word = if ratio > 1.0 { "slower" } else { "faster" };
                    let share = (ratio - 1.0) * 100.0;
                    changes.push((ratio, format!("  {name}: {share:+.2} %, {word}")));
                }
            }
        }
    }
    for name in was.keys().filter(|name| !is.contains_key(*name)) {
        changes.push((f64::INFINITY, format!("  {name}: is gone")));
    }
    if changes.is_empty() {
        return None;
    }
    changes.sort_by(|one, other| other.0.total_cmp(&one.0));
    let lines: Vec<String> = changes.into_iter().map(|(_, line)| line).collect();
    Some(format!(
        "{} of {} cells in guests are not as approved:\n{}",
        lines.len(),
        is.len(),
        lines.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, elapsed_ns: u64) -> (String, GuestTime) {
        let took = GuestTime {
            elapsed_ns,
            useful_bytes: 1 << 20,
        };
        (name.to_owned(), took)
    }

    #[test]
    fn more_than_one_per_cent_is_a_difference_in_either_direction() {
        let old = [one("hdd,a,run", 1_000_000), one("hdd,b,run", 1_000_000)];
        let same = [one("hdd,a,run", 1_009_000), one("hdd,b,run", 991_000)];
        assert_eq!(difference(&old, &same), None);
        let other = [one("hdd,a,run", 1_011_000), one("hdd,b,run", 980_000)];
        let said = difference(&old, &other).unwrap();
        assert!(said.contains("hdd,a,run: +1.10 %, slower"), "{said}");
        assert!(said.contains("hdd,b,run: -2.00 %, faster"), "{said}");
    }

    #[test]
    fn a_cell_that_is_missing_is_a_difference() {
        let rows = [one("hdd,a,run", 5), one("ssd,a,run", 6)];
        assert!(difference(&rows, &rows[..1]).unwrap().contains("is gone"));
        assert!(difference(&rows[..1], &rows).unwrap().contains("is new"));
    }

    #[test]
    fn rows_survive_the_file() {
        let rows = vec![one("hdd,a,stock:128", 5), one("ssd,cached:b,run", 6)];
        assert_eq!(from_csv(&to_csv(&rows)).unwrap(), rows);
    }
}
