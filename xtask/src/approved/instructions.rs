//! What an access costs the policy, and a read the simulator, in instructions under callgrind: the
//! same in every run, whatever else the machine does, and nearly the same on every machine.
//!
//! Two runs of different length are compared, so that start-up and learning cancel out.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::row;
use crate::cargo::run;

/// Up to this share the counts may differ: another release of the compiler, or of the C library,
/// moves them by about one per cent without a change of ours. Lower, and such an update fails the
/// test; higher, and a change could add three instructions to an access unnoticed.
const TOLERANCE: f64 = 0.02;

/// The program that gives accesses to the policy and does nothing else.
pub const POLICY_EXAMPLE: &str = "steady_access";
/// The program that reads pages in the simulator without a clock.
pub const SIMULATOR_EXAMPLE: &str = "instant_speed";

const TITLES: &str = "what,instructions,compiler";

/// A count, and the compiler that made the code.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// Instructions of one access.
    pub instructions: f64,
    /// What `rustc --version` says.
    pub compiler: String,
}

/// What is counted, and how much it is.
pub type Counts = Vec<(String, Count)>;

/// One thing that is counted.
struct Subject {
    what: &'static str,
    example: &'static str,
    row: &'static str,
    /// Accesses of the shorter and of the longer run.
    accesses: (u32, u32),
    /// How often the example does them.
    repeats: u32,
}

/// The policy by itself: `row` is the pattern.
const fn policy(what: &'static str, row: &'static str) -> Subject {
    Subject {
        what,
        example: POLICY_EXAMPLE,
        row,
        accesses: (100_000, 300_000),
        repeats: 1,
    }
}

/// The simulator without a clock: `row` is the row of the example's table.
const fn simulator(what: &'static str, row: &'static str) -> Subject {
    Subject {
        what,
        example: SIMULATOR_EXAMPLE,
        row,
        accesses: (1_000, 41_000),
        repeats: 5,
    }
}

const SUBJECTS: [Subject; 7] = [
    policy("policy: one scan", "sequential"),
    policy("policy: 64 streams in turn", "streams64"),
    policy("policy: random reads that wait for nothing", "random"),
    simulator(
        "simulator: cached and sequential",
        "cached sequential, 6.18, two lists",
    ),
    simulator(
        "simulator: cached and random",
        "cached random, 6.18, two lists",
    ),
    simulator(
        "simulator: evicting and sequential",
        "evicting sequential, 6.18, generations",
    ),
    simulator(
        "simulator: evicting and random",
        "evicting random, 6.18, generations",
    ),
];

/// Counts everything with these programs.
///
/// # Errors
/// Valgrind or a program fails.
pub fn measured(programs: &BTreeMap<String, PathBuf>) -> io::Result<Counts> {
    count_all(&SUBJECTS, programs)
}

/// Counts only what the policy takes.
///
/// # Errors
/// Valgrind or a program fails.
pub fn of_policy(programs: &BTreeMap<String, PathBuf>) -> io::Result<Counts> {
    let policy = SUBJECTS.iter().filter(|it| it.example == POLICY_EXAMPLE);
    count_all(policy, programs)
}

fn count_all<'a>(
    subjects: impl IntoIterator<Item = &'a Subject>,
    programs: &BTreeMap<String, PathBuf>,
) -> io::Result<Counts> {
    let compiler = compiler()?;
    let count = |subject: &Subject| {
        let (few, many) = subject.accesses;
        let total = |accesses| instructions(&programs[subject.example], subject.row, accesses);
        let more = total(many)?.saturating_sub(total(few)?);
        let count = Count {
            instructions: more as f64 / f64::from(subject.repeats * (many - few)),
            compiler: compiler.clone(),
        };
        Ok((subject.what.to_owned(), count))
    };
    subjects.into_iter().map(count).collect()
}

fn instructions(program: &Path, row: &str, accesses: u32) -> io::Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([row, &accesses.to_string()]);
    let output = run(&mut valgrind)
        .map_err(|error| io::Error::other(format!("{error} (`make deps` installs valgrind)")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let total = said.lines().find_map(|line| {
        let (_, total) = line.split_once("Collected : ")?;
        total.trim().parse().ok()
    });
    total.ok_or_else(|| io::Error::other(format!("callgrind counts nothing: {said}")))
}

fn compiler() -> io::Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = run(Command::new(rustc).arg("--version"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The counts as they stand in the tree.
#[must_use]
pub fn to_csv(counts: &[(String, Count)]) -> String {
    let mut text = TITLES.to_owned() + "\n";
    for (what, count) in counts {
        text += &format!("{what},{:.2},{}\n", count.instructions, count.compiler);
    }
    text
}

/// The counts of such a file.
///
/// # Errors
/// A line without a number.
pub fn from_csv(text: &str) -> io::Result<Counts> {
    let row = |(what, instructions, compiler): (&str, &str, &str)| {
        let count = Count {
            instructions: instructions.parse().ok()?,
            compiler: compiler.to_owned(),
        };
        Some((what.to_owned(), count))
    };
    let rows = row::rows(text)?.into_iter();
    rows.map(|it| row(it).ok_or_else(|| row::broken(it.0)))
        .collect()
}

/// What differs by more than compilers do, the largest change first; nothing when nothing does.
#[must_use]
pub fn difference(old: &[(String, Count)], new: &[(String, Count)]) -> Option<String> {
    let was: BTreeMap<&str, &Count> = old.iter().map(|(what, count)| (&**what, count)).collect();
    let mut changes: Vec<(f64, String)> = Vec::new();
    for (what, count) in new {
        let Some(old) = was.get(&**what) else {
            let line = format!("{what}: {:.2}, was never approved", count.instructions);
            changes.push((f64::INFINITY, line));
            continue;
        };
        let change = count.instructions / old.instructions - 1.0;
        if change.abs() > TOLERANCE || !change.is_finite() {
            let line = format!(
                "{what}: {:.2} -> {:.2} instructions ({:+.1} %)",
                old.instructions,
                count.instructions,
                change * 100.0
            );
            changes.push((change.abs(), line));
        }
    }
    let still = |what: &str| new.iter().any(|(name, _)| name == what);
    for (what, _) in old.iter().filter(|(what, _)| !still(what)) {
        changes.push((f64::INFINITY, format!("{what}: gone")));
    }
    if changes.is_empty() {
        return None;
    }
    changes.sort_by(|one, other| other.0.total_cmp(&one.0));
    let compilers: Vec<&str> = [old, new]
        .iter()
        .filter_map(|counts| counts.first().map(|(_, count)| &*count.compiler))
        .collect();
    let lines: Vec<String> = changes.into_iter().map(|(_, line)| line).collect();
    Some(format!(
        "beyond {} %, by {}:\n  {}",
        TOLERANCE * 100.0,
        compilers.join(" and then "),
        lines.join("\n  ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[(&str, f64)]) -> Counts {
        let count = |&(what, instructions): &(&str, f64)| {
            let compiler = "rustc 1.95.0".to_owned();
            let count = Count {
                instructions,
                compiler,
            };
            (what.to_owned(), count)
        };
        counts.iter().map(count).collect()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let counts = counts(&[("a: b", 76.25), ("c", 142.0)]);
        assert_eq!(from_csv(&to_csv(&counts)).expect("counts"), counts);
    }

    #[test]
    fn two_in_a_hundred_are_the_compiler_and_three_are_a_difference() {
        let old = counts(&[("a", 100.0), ("b", 100.0)]);
        let same = counts(&[("a", 101.9), ("b", 98.1)]);
        assert_eq!(difference(&old, &same), None);
        let more = counts(&[("a", 103.0), ("b", 90.0)]);
        let text = difference(&old, &more).expect("a difference");
        let place = |part: &str| {
            text.find(part)
                .unwrap_or_else(|| panic!("{part} in {text}"))
        };
        assert!(place("b: 100.00 -> 90.00 instructions (-10.0 %)") < place("a: 100.00 -> 103.00"));
    }

    #[test]
    fn a_count_that_is_new_or_gone_is_a_difference() {
        let (old, new) = (counts(&[("a", 1.0)]), counts(&[("b", 1.0)]));
        let text = difference(&old, &new).expect("a difference");
        assert!(text.contains("b: 1.00, was never approved") && text.contains("a: gone"));
    }
}
