//! Approved numbers: what the policies do on every plan, in virtual time, and what the code costs,
//! in instructions. Both stand in the tree. A test holds them against what the tree computes now,
//! so that a change that should change nothing shows that it does not, and any other shows what it
//! changes; `make approve` writes them again.

pub mod guests;
pub mod instructions;
pub mod plans;
mod row;

use std::io;
use std::path::PathBuf;

use crate::cargo::{built, root};

/// Programs that the numbers come from, as cargo knows them.
const TARGETS: [(&str, &str); 3] = [
    ("--bin", "ahead"),
    ("--example", instructions::POLICY_EXAMPLE),
    ("--example", instructions::SIMULATOR_EXAMPLE),
];

/// Time and bytes of every cell.
const PLANS: &str = "docs/results/approved/plans.csv";
/// Instructions of an access and of a simulated read.
const INSTRUCTIONS: &str = "docs/results/approved/instructions.csv";
/// Time and bytes of every cell in guests.
const GUESTS: &str = "docs/results/approved/guests.csv";
/// The approved times beside the best kernel algorithm's.
const PICTURE: &str = "docs/results/approved/plans.svg";
/// The same as a table.
const SUMMARY: &str = "docs/results/plans/summary.txt";
/// How near each policy comes to the ceiling, in how many places.
const PROFILE: &str = "docs/results/plans/all.svg";

/// Computes everything again and writes it; says how it differs from what was approved before.
///
/// # Errors
/// A program cannot be built or run, or a file cannot be written.
pub fn approve() -> io::Result<String> {
    let programs = built(&TARGETS)?;
    std::fs::create_dir_all(root().join("docs/results/approved"))?;
    let sweep = plans::Sweep::new(&programs["ahead"])?;
    let rows = sweep.rows(Some(&in_tree(PROFILE)))?;
    let summary = sweep.summary(Some(&in_tree(PICTURE)))?;
    let counts = instructions::measured(&programs)?;
    let in_guests = guests::measured(&programs["ahead"])?;
    let mut said = String::new();
    for difference in [
        plans::difference(&approved_plans().unwrap_or_default(), &rows),
        instructions::difference(&approved_counts().unwrap_or_default(), &counts),
        guests::difference(&approved_guests().unwrap_or_default(), &in_guests),
    ] {
        said += &difference.map_or_else(String::new, |difference| difference + "\n");
    }
    for (path, text) in [
        (PLANS, plans::to_csv(&rows)),
        (INSTRUCTIONS, instructions::to_csv(&counts)),
        (GUESTS, guests::to_csv(&in_guests)),
        (SUMMARY, summary),
    ] {
        std::fs::write(in_tree(path), text)?;
        said += &format!("wrote {path}\n");
    }
    Ok(said + &format!("drew {PICTURE} and {PROFILE}"))
}

/// How the plans' results differ now from the approved ones: in words, nothing when they are equal.
///
/// # Errors
/// The program cannot be built or run, or the approved numbers cannot be read.
pub fn plans_differ() -> io::Result<Option<String>> {
    let programs = built(&TARGETS)?;
    let sweep = plans::Sweep::new(&programs["ahead"])?;
    if let Some(difference) = plans::difference(&approved_plans()?, &sweep.rows(None)?) {
        return Ok(Some(format!("{PLANS}: {difference}")));
    }
    let is_current = sweep.summary(None)? == read(SUMMARY)?;
    Ok((!is_current).then(|| format!("{SUMMARY} is not what the same results make today")))
}

/// How the counts differ now from the approved ones, by more than compilers do.
///
/// # Errors
/// A program cannot be built or run, or the approved numbers cannot be read.
pub fn instructions_differ() -> io::Result<Option<String>> {
    let counts = instructions::measured(&built(&TARGETS)?)?;
    let difference = instructions::difference(&approved_counts()?, &counts);
    Ok(difference.map(|difference| format!("{INSTRUCTIONS}: {difference}")))
}

/// How the times in guests differ now from the approved ones, by more than a per cent. The guest's
/// kernel must be built.
///
/// # Errors
/// A guest fails, or the approved numbers cannot be read.
pub fn guests_differ() -> io::Result<Option<String>> {
    let in_guests = guests::measured(&built(&TARGETS)?["ahead"])?;
    let difference = guests::difference(&approved_guests()?, &in_guests);
    Ok(difference.map(|difference| format!("{GUESTS}: {difference}")))
}

/// Instructions of one access of the policy, for each pattern that is counted.
///
/// # Errors
/// A program cannot be built or run.
pub fn policy_instructions() -> io::Result<instructions::Counts> {
    instructions::of_policy(&built(&TARGETS)?)
}

fn approved_plans() -> io::Result<plans::Rows> {
    plans::from_csv(&read(PLANS)?)
}

fn approved_counts() -> io::Result<instructions::Counts> {
    instructions::from_csv(&read(INSTRUCTIONS)?)
}

fn approved_guests() -> io::Result<guests::GuestRows> {
    guests::from_csv(&read(GUESTS)?)
}

fn in_tree(path: &str) -> PathBuf {
    root().join(path)
}

fn read(path: &str) -> io::Result<String> {
    std::fs::read_to_string(in_tree(path))
        .map_err(|error| io::Error::other(format!("{path}: {error}; `make approve` writes it")))
}
