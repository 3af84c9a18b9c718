//! `ahead lab`: words of the command line into guests, their answers into tables.

mod account;
mod arms;
mod bench;
mod bound;
mod error;
mod image;
mod machine;
mod patterns;
mod places;
mod predict;
mod programs;
mod trees;
mod unfinished;

use std::ffi::OsString;
use std::sync::atomic::AtomicBool;

use ahead_guest::kernel::{Kernel, Progress};
use ahead_guest::{Console, Guest, GuestRun};
use ahead_harness::arm::Arm;
use indicatif::ProgressBar;

use crate::arguments::{Lab, LabCompare, LabKernel, LabRun, LabShell};
use crate::exit::Exit;
use crate::output;
use crate::progress;
use crate::signals::stop_flag;
use account::Account;
pub use error::LabError;
pub use machine::{GUEST_ARGUMENT, recipe_beside};
use machine::{guest, recipe, shared_folder, steered, whole_pages};
pub use places::{PlaceOutcomes, disk_bytes, outcomes, outcomes_and_unfinished};
pub use unfinished::Unfinished;

/// About as many lines does the compiling of a kernel print.
const LINES_OF_A_BUILD: u64 = 1900;

/// Does what was asked. Returns the text to print, and how to end.
///
/// # Errors
/// [`LabError`].
pub fn lab(verb: &Lab) -> Result<(String, Exit), LabError> {
    match verb {
        Lab::Build(arguments) => {
            let kernel = build(&arguments.kernel)?;
            let path = kernel.program.display();
            Ok((
                format!("Linux {} is built: {path}\n", kernel.series),
                Exit::Fine,
            ))
        }
        Lab::Run(arguments) => run(arguments),
        Lab::Compare(arguments) => compare(arguments),
        Lab::Bench(arguments) => bench::bench(arguments),
        Lab::Predict(arguments) => predict::predict(arguments),
        Lab::Programs(arguments) => programs::programs(arguments),
        Lab::Shell(arguments) => shell(arguments),
    }
}

fn build(kernel: &LabKernel) -> Result<Kernel, LabError> {
    let recipe = recipe(kernel)?;
    let bar = progress::bar(progress::Shows::Parts, LINES_OF_A_BUILD);
    let built = recipe.build(&mut |step| show(&bar, step));
    bar.finish_and_clear();
    Ok(built?)
}

fn show(bar: &ProgressBar, step: Progress) {
    match step {
        Progress::Unpacking => bar.set_message("unpacking the source"),
        Progress::Compiled(lines) => {
            bar.set_message("compiling");
            bar.set_position(u64::from(lines));
        }
    }
}

fn boot(guest: &Guest, stop: &AtomicBool) -> Result<GuestRun, LabError> {
    Ok(guest.run(shared_folder()?.path(), stop)?)
}

fn run(arguments: &LabRun) -> Result<(String, Exit), LabError> {
    let read_ahead = whole_pages("read-ahead", &arguments.read_ahead)?;
    let mut guest = guest(&arguments.machine, &arguments.task.command)?;
    if !arguments.no_ahead {
        guest.task.command = steered(guest.task.command, &[])?;
    }
    guest.task.read_ahead_kib = Some(read_ahead >> 10);
    let run = boot(&guest, &*stop_flag()?)?;
    let account = Account::of(&run);
    // As that of `ahead run`: standard output belongs to the command.
    output::to_stderr(&if arguments.task.json {
        account.to_json()
    } else {
        account.to_string()
    });
    Ok((String::new(), code(run.measured.exit_code)))
}

/// The command's own status becomes ours.
fn code(status: i32) -> Exit {
    Exit::OfCommand(u8::try_from(status).unwrap_or(1))
}

fn compare(arguments: &LabCompare) -> Result<(String, Exit), LabError> {
    let arms = arms::OF_A_COMMAND.parse(&arguments.arm)?;
    let stop = stop_flag()?;
    let mut plain = guest(&arguments.machine, &arguments.task.command)?;
    plain.console = Console::Kept;
    let mut rows = Vec::new();
    for arm in &arms {
        let mut runs = Vec::new();
        for _ in 0..arguments.repeat {
            runs.push(run_arm(&plain, arm, &stop)?);
        }
        rows.push((arm.clone(), runs));
    }
    let text = if arguments.task.json {
        account::compared_to_json(&rows)
    } else {
        account::compared(&rows)
    };
    Ok((text, Exit::Fine))
}

fn run_arm(plain: &Guest, arm: &Arm, stop: &AtomicBool) -> Result<Account, LabError> {
    let mut guest = plain.clone();
    match arm {
        // Without read-ahead the program's own wishes reach the disk, and nothing else.
        Arm::Off | Arm::Ceiling => guest.task.read_ahead_kib = Some(0),
        Arm::Stock { kib } => guest.task.read_ahead_kib = Some(*kib),
        Arm::Patched => {
            guest.kernel = machine::patched()?;
            guest.task.adaptive = true;
            guest.task.read_ahead_kib = Some(128);
        }
        Arm::Run { settings } if settings.is_empty() => {
            guest.task.command = steered(guest.task.command, &[])?;
            guest.task.read_ahead_kib = Some(128);
        }
        other => return Err(arms::OF_A_COMMAND.refusal(other)),
    }
    let run = boot(&guest, stop)?;
    if run.measured.exit_code != 0 {
        return Err(LabError::CommandFailed {
            arm: arm.clone(),
            code: run.measured.exit_code,
        });
    }
    let account = Account::of(&run);
    Ok(if *arm == Arm::Ceiling {
        account.ceiling(&run, &plain.disk)
    } else {
        account
    })
}

fn shell(arguments: &LabShell) -> Result<(String, Exit), LabError> {
    let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    // A session of its own with the console as its terminal: that is what job control needs.
    let words = ["setsid", "--ctty", "--wait"].map(OsString::from);
    let command: Vec<OsString> = words.into_iter().chain([shell]).collect();
    let guest = guest(&arguments.machine, &command)?;
    let run = boot(&guest, &*stop_flag()?)?;
    Ok((String::new(), code(run.measured.exit_code)))
}
