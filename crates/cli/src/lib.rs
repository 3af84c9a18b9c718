//! The one program: arguments in, one verb called, an exit code out.
//!
//! This crate turns errors into text and exit codes; every crate below returns them. It owns no
//! policy and no measurement. [`arguments`] says what can be typed, one file per verb does it.
#![forbid(unsafe_code)]

pub mod arguments;
pub mod asking;
pub mod bench;
mod cache;
pub mod compare;
pub mod convert;
pub mod daemon;
pub mod device;
pub mod disk;
pub mod doctor;
pub mod duration;
#[cfg(feature = "evidence")]
pub mod evidence;
pub mod exit;
pub mod explain;
pub mod explained;
mod figures;
pub mod generate;
pub mod lab;
pub mod output;
mod progress;
mod prose;
pub mod record;
pub mod replay;
pub mod reproduce;
pub mod run;
mod settings;
mod signals;
pub mod simulate;
pub mod size;
pub mod stat;
pub mod status;
pub mod studies;
pub mod top;
pub mod traces;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;

use arguments::{Arguments, Verb};
use exit::Exit;

/// Any failure of a verb, with the exit code that belongs to it.
#[derive(Debug, thiserror::Error)]
enum VerbError {
    #[error(transparent)]
    Run(#[from] run::RunError),
    #[error(transparent)]
    Config(#[from] run::config::ConfigError),
    #[error(transparent)]
    Daemon(#[from] daemon::DaemonCommandError),
    #[error(transparent)]
    Asking(#[from] asking::AskingError),
    #[error(transparent)]
    Record(#[from] record::RecordCommandError),
    #[error(transparent)]
    Top(#[from] top::TopError),
    #[error(transparent)]
    Device(#[from] device::DeviceCommandError),
    #[error(transparent)]
    Disk(#[from] disk::DiskCommandError),
    #[error(transparent)]
    Bench(#[from] bench::BenchCommandError),
    #[error(transparent)]
    Lab(#[from] lab::LabError),
    #[error(transparent)]
    Reproduce(#[from] reproduce::ReproduceCommandError),
    #[error(transparent)]
    Study(#[from] studies::StudyError),
    #[error(transparent)]
    Generate(#[from] generate::GenerateError),
    #[error(transparent)]
    Trace(#[from] traces::TraceCommandError),
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl VerbError {
    fn exit(&self) -> Exit {
        match self {
            Self::Run(error) => error.exit(),
            Self::Config(_) | Self::Record(record::RecordCommandError::Name(_)) => Exit::Usage,
            Self::Daemon(error) => error.exit(),
            Self::Device(error) => error.exit(),
            Self::Disk(error) => error.exit(),
            Self::Bench(error) => error.exit(),
            Self::Lab(error) => error.exit(),
            Self::Reproduce(error) => error.exit(),
            Self::Study(error) => error.exit(),
            Self::Trace(error) => error.exit(),
            Self::Asking(_)
            | Self::Record(_)
            | Self::Top(_)
            | Self::Generate(_)
            | Self::Output(_) => Exit::Failed,
        }
    }
}

/// Does what the command line says and returns how to end.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let typed: Vec<OsString> = arguments.into_iter().collect();
    if let Some(exit) = inner_process(&typed) {
        return exit;
    }
    #[cfg(feature = "evidence")]
    if let Err(error) = evidence::apply() {
        output::problem(&error);
        return Exit::Usage;
    }
    #[cfg(feature = "evidence")]
    match evidence::trees() {
        Some(Ok(times)) => {
            return output::to_stdout(&times).map_or(Exit::Failed, |()| Exit::Fine);
        }
        Some(Err(error)) => {
            output::problem(&error);
            return Exit::Failed;
        }
        None => {}
    }
    let arguments = match Arguments::from_typed(&typed) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error, &typed),
    };
    match dispatch(arguments.verb) {
        Ok(exit) => exit,
        Err(error) => {
            output::problem(&error);
            error.exit()
        }
    }
}

/// The processes that this program starts of itself. They are no verbs and stay out of
/// the help and the completions.
fn inner_process(typed: &[OsString]) -> Option<Exit> {
    let first = typed.get(1)?.to_str()?;
    if first == bench::READER_ARGUMENT {
        let failed = ahead_harness::reader_main(typed.iter().skip(2).cloned());
        return Some(if failed == ExitCode::SUCCESS {
            Exit::Fine
        } else {
            Exit::Failed
        });
    }
    if first == device::measure::GUARD_ARGUMENT {
        return Some(device::measure::guard());
    }
    if first == bench::overhead::READER_ARGUMENT {
        return Some(bench::overhead::reader(typed.iter().skip(2).cloned()));
    }
    if first == ahead_harness::tree_files::TREE_ARGUMENT {
        let done = ahead_harness::tree_files::tree_main(typed.get(2..).unwrap_or_default());
        return Some(done.map_or_else(
            |problem| {
                output::problem(&problem);
                Exit::Failed
            },
            |()| Exit::Fine,
        ));
    }
    if first == lab::GUEST_ARGUMENT {
        ahead_guest::init::main(typed.get(2).map(Path::new)?);
    }
    if first == ahead_disk_emulator::SERVER_ARGUMENT {
        let folder = typed.get(2).map(Path::new)?;
        return Some(match ahead_disk_emulator::serve(folder) {
            Ok(()) => Exit::Fine,
            Err(error) => {
                output::problem(&error);
                Exit::Failed
            }
        });
    }
    None
}

fn dispatch(verb: Verb) -> Result<Exit, VerbError> {
    match verb {
        Verb::Run(arguments) => return Ok(run::run(&arguments)?),
        Verb::Daemon(arguments) => daemon::daemon(&arguments)?,
        Verb::Status(arguments) => output::to_stdout(&status::status(&arguments)?)?,
        Verb::Explain(arguments) => output::to_stdout(&explain::explain(&arguments)?)?,
        Verb::Top(arguments) => top::top(&arguments)?,
        Verb::Record(arguments) => record::record(&arguments)?,
        Verb::Simulate(arguments) => simulate::simulate(&arguments)?,
        Verb::Compare(arguments) => compare::compare(&arguments)?,
        Verb::Reproduce(arguments) => return Ok(reproduce::reproduce(&arguments)?),
        Verb::Convert(arguments) => convert::convert(&arguments)?,
        Verb::Stat(arguments) => stat::stat(&arguments)?,
        Verb::Replay(arguments) => return Ok(replay::replay(&arguments)?),
        Verb::Settings(arguments) => output::to_stdout(&settings::show(&arguments)?)?,
        Verb::Completions { shell } => {
            output::to_stdout(&String::from_utf8_lossy(&generate::completions(shell)))?;
        }
        Verb::Man { dir: Some(folder) } => generate::write_manual(&folder)?,
        Verb::Man { dir: None } => {
            output::to_stdout(&String::from_utf8_lossy(&generate::manual()?))?;
        }
        Verb::Device(verb) => {
            let (text, exit) = device::device(&verb)?;
            output::to_stdout(&text)?;
            return Ok(exit);
        }
        Verb::Doctor(arguments) => {
            let (mut text, exit) = doctor::doctor(&arguments)?;
            if !arguments.options.json {
                text = prose::for_terminal(text);
            }
            output::to_stdout(&text)?;
            return Ok(exit);
        }
        Verb::Disk(verb) => output::to_stdout(&disk::disk(&verb)?)?,
        Verb::Lab(verb) => {
            let (text, exit) = lab::lab(&verb)?;
            output::to_stdout(&text)?;
            return Ok(exit);
        }
        Verb::Bench(verb) => {
            let (text, exit) = bench::bench(&verb)?;
            output::to_stdout(&text)?;
            return Ok(exit);
        }
    }
    Ok(Exit::Fine)
}

/// What clap could not use: help goes to standard output, a mistake becomes one line.
fn refuse(error: &clap::Error, typed: &[OsString]) -> Exit {
    let text = error.render().to_string();
    // `ahead` alone is a question, `ahead disk` alone is half a command.
    let is_question = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => typed.len() <= 1,
        _ => {
            output::problem(&sentence(&text, &command_of(typed)));
            return Exit::Usage;
        }
    };
    if is_question {
        return match output::to_stdout(&text) {
            Ok(()) => Exit::Fine,
            Err(error) => {
                output::problem(&VerbError::Output(error));
                Exit::Failed
            }
        };
    }
    output::to_stderr(&text);
    Exit::Usage
}

/// The sentence inside clap's paragraph, and where to read on.
fn sentence(text: &str, command: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    format!(
        "{}; see `{command} --help`",
        lines
            .join(" ")
            .trim_start_matches("error: ")
            .replace(" tip: ", "; ")
            // Of a number that is none, in the words of the standard library.
            .replace("invalid digit found in string", "not a whole number")
            .replace(
                "cannot parse integer from empty string",
                "not a whole number"
            )
    )
}

/// The deepest command that the words typed lead to: "ahead disk create".
fn command_of(typed: &[OsString]) -> String {
    let mut place = Arguments::command();
    let mut words = vec!["ahead".to_owned()];
    for word in typed.iter().skip(1) {
        let below = place
            .find_subcommand(word)
            .filter(|below| !below.is_hide_set())
            .cloned();
        let Some(below) = below else { break };
        words.push(below.get_name().to_owned());
        place = below;
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_of_the_command_line_agree_with_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_mistake_becomes_one_line_that_names_the_help_to_read() {
        let typed = ["ahead", "disk", "destroy"].map(OsString::from);
        let error = Arguments::from_typed(&typed).expect_err("no name");
        let line = sentence(&error.render().to_string(), &command_of(&typed));
        assert!(!line.contains('\n'), "{line}");
        assert!(line.contains("<NAME>"), "{line}");
        assert!(line.ends_with("see `ahead disk destroy --help`"), "{line}");
    }
}
