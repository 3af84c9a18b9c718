//! `ahead run`: starts CMD with the library preloaded and stays out of its way.
//!
//! Without a report there is nothing to wait for: CMD replaces this process, so its status, its
//! signals and its process number are what they would be without us. With a report (or `--explain`)
//! this process waits, and [`supervise`] keeps the difference invisible.

pub mod account;
pub mod command;
pub mod config;
pub mod devices;
pub mod elf;
pub mod explain;
pub mod group;
pub mod library;
mod own_file;
pub mod record;
pub mod report;
pub mod supervise;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command as Process;
use std::time::Instant;

use ahead_engine::settings::{SettingError, Settings};
use ahead_sys::{counter, filter_probe, inherited};

use crate::arguments::Run;
use crate::exit::Exit;
use account::{AccountError, AccountFile};
use command::{Command, FindError, Visibility};
use config::ConfigError;
use explain::{Destination, Explainer};
use library::{LIBRARY_VARIABLE, Library, LibraryError, SANITIZER_VARIABLE, sanitizer_options};
use record::{RecordError, Recorded, Recording};

/// The settings, as text, for the library in CMD.
pub const SETTINGS_VARIABLE: &str = "AHEAD_SETTINGS";
/// Path of the shared account.
const SHARED_VARIABLE: &str = "AHEAD_SHARED";
/// Path of the ring that a recording travels through.
const RECORD_VARIABLE: &str = "AHEAD_RECORD";
/// `no` keeps the library out of the processes that CMD starts.
const CHILDREN_VARIABLE: &str = "AHEAD_CHILDREN";

/// Why CMD was not run, or not reported on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A setting on the command line.
    #[error("{0}")]
    Setting(#[from] SettingError),
    /// A config file.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// CMD is not there, or cannot be executed.
    #[error(transparent)]
    Find(#[from] FindError),
    /// No library to preload.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// No place for the account.
    #[error(transparent)]
    AccountFile(#[from] AccountError),
    /// The decisions cannot be written.
    #[error(transparent)]
    Explain(#[from] explain::OpenError),
    /// The recording cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The report cannot be written.
    #[error(
        "cannot write the report to '{path}': {source}; name a writable file with --report=FILE"
    )]
    Report {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The kernel refused to start CMD.
    #[error("cannot start '{path}': {source}")]
    Start {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Signals or waiting failed.
    #[error("cannot look after CMD: {0}; without --report it needs no looking after")]
    Supervise(io::Error),
}

impl RunError {
    /// How the program ends after this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Setting(_) | Self::Config(_) => Exit::Usage,
            Self::Record(RecordError::Name(_)) => Exit::Usage,
            Self::Find(FindError::NotFound { .. }) => Exit::NotFound,
            Self::Find(FindError::NotExecutable { .. }) => Exit::NotExecutable,
            Self::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Exit::NotFound
            }
            Self::Start { .. } => Exit::NotExecutable,
            _ => Exit::Failed,
        }
    }
}

/// Runs CMD as asked.
///
/// # Errors
/// CMD was not started; or it has run and its report could not be written.
pub fn run(arguments: &Run) -> Result<Exit, RunError> {
    let mut settings = settings_from_files(arguments.config.as_ref())?;
    if let Some(policy) = &arguments.policy {
        settings.set("policy", policy)?;
    }
    for pair in &arguments.set {
        settings.set_pair(pair)?;
    }
    let (name, rest) = arguments.command.split_first().expect("clap requires CMD");
    let command = command::find(name, std::env::var_os("PATH").as_deref())?;
    let mut process = Process::new(&command.path);
    process.arg0(name).args(rest);
    process.env(SETTINGS_VARIABLE, settings.to_environment());
    process.env_remove(counter::CLOCK_VARIABLE);
    process.envs(about_this_machine(settings.trees));
    let group = group::of_this_run();
    match devices::of_this_run(
        arguments.device_cache(),
        group.as_ref().map(|it| it.1.as_str()),
    ) {
        Some(devices) => process.env(devices::DEVICES_VARIABLE, devices),
        None => process.env_remove(devices::DEVICES_VARIABLE),
    };
    process.envs(group);
    inherited::hand_on(&mut process);
    preload_into(&mut process, &command)?;
    if arguments.no_children {
        process.env(CHILDREN_VARIABLE, "no");
    } else {
        process.env_remove(CHILDREN_VARIABLE);
    }
    let watched = arguments.report.is_some()
        || arguments.json
        || arguments.explain
        || arguments.explain_to.is_some()
        || arguments.record.is_some();
    if watched {
        return run_watched(arguments, process, &command, &settings);
    }
    process.env_remove(SHARED_VARIABLE);
    process.env_remove(RECORD_VARIABLE);
    Err(RunError::Start {
        path: command.path,
        source: process.exec(),
    })
}

/// What the library is told about the machine, as variables: finding it out takes longer than a
/// process may take to start. What only the helper for `trees` needs is left out where there is none.
#[must_use]
pub fn about_this_machine(trees: bool) -> Vec<(String, String)> {
    let filters = filter_probe::vouched_for().to_string();
    let mut about = vec![(filter_probe::FILTERS_VARIABLE.to_owned(), filters)];
    if trees {
        let filters = filter_probe::vouched_for_trees().to_string();
        about.push((filter_probe::TREE_FILTERS_VARIABLE.to_owned(), filters));
    }
    if !counter::keeps_step_now() {
        about.push((counter::CLOCK_VARIABLE.to_owned(), "monotonic".to_owned()));
    }
    about
}

/// The settings that the config files give: the machine's, the user's, the one that was named.
///
/// # Errors
/// A file that cannot be read or used; of the usual ones, only those that exist.
pub fn settings_from_files(named: Option<&PathBuf>) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    for path in config::usual_files(folder("XDG_CONFIG_HOME"), folder("HOME")) {
        config::read(&path, false, &mut settings)?;
    }
    if let Some(path) = named {
        config::read(path, true, &mut settings)?;
    }
    Ok(settings)
}

fn preload_into(process: &mut Process, command: &Command) -> Result<(), LibraryError> {
    let named = std::env::var_os(LIBRARY_VARIABLE).filter(|named| !named.is_empty());
    let executable = std::env::current_exe().unwrap_or_default();
    let library = Library::find(named.as_deref(), &executable)?;
    let existing: Option<OsString> = std::env::var_os("LD_PRELOAD");
    if let Visibility::Seen(machine) = command.visibility {
        library.must_fit(&command.binary, machine)?;
    }
    let is_of_other_library = command.visibility == Visibility::OtherLibrary;
    let own = match (is_of_other_library, named) {
        // What the library cannot be loaded into may still start programs that it can.
        (false, _) => Some(library.path_for_all()),
        // It would end before its first line if it found the library.
        (true, None) => library.path_for_gnu(),
        // Whoever names a library for such a program has one that it can load.
        (true, Some(_)) => Some(library.path.clone()),
    };
    let Some(own) = own else {
        process.env("LD_PRELOAD", library.others(existing.as_deref()));
        return Ok(());
    };
    process.env("LD_PRELOAD", library.preload_list(own, existing.as_deref()));
    let options = std::env::var_os(SANITIZER_VARIABLE);
    process.env(SANITIZER_VARIABLE, sanitizer_options(options.as_deref()));
    Ok(())
}

fn run_watched(
    arguments: &Run,
    mut process: Process,
    command: &Command,
    settings: &Settings,
) -> Result<Exit, RunError> {
    let wants_report = arguments.report.is_some() || arguments.json;
    let report_path = arguments
        .report
        .clone()
        .flatten()
        .filter(|path| path != OsStr::new("-"));
    // Opened before CMD starts: an hour of work should not end in "no such folder".
    let report_file = report_path.map(open_report).transpose()?;
    let explains = arguments.explain || arguments.explain_to.is_some();
    let destination = explains
        .then(|| Destination::open(arguments.explain_to.as_ref()))
        .transpose()?;

    let account = AccountFile::create()?;
    process.env(SHARED_VARIABLE, account.path());
    let recording = arguments
        .record
        .as_deref()
        .map(Recording::start)
        .transpose()?;
    match &recording {
        Some(recording) => process.env(RECORD_VARIABLE, recording.ring()),
        None => process.env_remove(RECORD_VARIABLE),
    };
    let relay = supervise::SignalRelay::install().map_err(RunError::Supervise)?;
    let started = Instant::now();
    let child = process.spawn().map_err(|source| RunError::Start {
        path: command.path.clone(),
        source,
    })?;
    let (account, explainer) = match destination {
        Some(destination) => (None, Some(Explainer::start(account, destination))),
        None => (Some(account), None),
    };
    let status = relay.wait_for(child).map_err(RunError::Supervise)?;
    let elapsed = started.elapsed();
    let account = account.or_else(|| explainer.and_then(Explainer::finish));

    if let Some(account) = account.filter(|_| wants_report) {
        let report = account.read()?;
        let account = report::RunReport {
            command,
            status,
            elapsed,
            settings,
            report: &report,
        };
        let text = if arguments.json {
            account.json()
        } else {
            account.text()
        };
        write_report(report_file, &text)?;
    }
    if let Some(recording) = recording {
        tell_of_losses(&recording.finish()?);
    }
    Ok(supervise::end_like(status))
}

/// A recording that is not complete says so.
fn tell_of_losses(recorded: &Recorded) {
    let Recorded {
        records,
        dropped,
        lost,
    } = recorded;
    if *dropped > 0 {
        crate::output::problem(&format!(
            "{dropped} accesses came too fast to record; the trace has {records}"
        ));
    }
    if *lost > 0 {
        crate::output::problem(&format!(
            "{lost} records are missing: their processes died while they wrote them"
        ));
    }
}

fn open_report(path: PathBuf) -> Result<(PathBuf, std::fs::File), RunError> {
    match std::fs::File::create(&path) {
        Ok(file) => Ok((path, file)),
        Err(source) => Err(RunError::Report { path, source }),
    }
}

fn write_report(target: Option<(PathBuf, std::fs::File)>, text: &str) -> Result<(), RunError> {
    use std::io::Write as _;
    match target {
        Some((path, mut file)) => file
            .write_all(text.as_bytes())
            .map_err(|source| RunError::Report { path, source }),
        None => {
            crate::output::to_stderr(text);
            Ok(())
        }
    }
}
