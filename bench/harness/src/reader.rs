//! The reader: a process of its own that does one assignment and says how long its reads took.
//!
//! It is a separate process so that a library can be loaded into it, a memory limit put on it and
//! its CPU time counted. It reads through libc, as programs do. The steps are those of the
//! workload's own job, which a simulator runs too; `interpreter` takes them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ahead_sys::process_status;
use ahead_sys::shared_counter::SharedCounter;
use ahead_workload::Job;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::assignment::{
    Assignment, Measured, Mode, ReaderAnswer, Source, Sources, job_over, read_json, write_json,
};
use crate::read_error::io_error;
use crate::tally::{Run, Timed};
use crate::{ceiling_reader, interpreter, processes};

pub use crate::read_error::ReadError;

/// Does the assignment whose file is the first argument, or what the process whose number is the second
/// one does of it. The answer, also that of a failure, goes into the file that the assignment names, or to
/// standard output for one process; the exit code only repeats it.
#[must_use]
pub fn reader_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(assignment) = arguments
        .next()
        .and_then(|path| read_json::<Assignment>(Path::new(&path)).ok())
    else {
        return ExitCode::from(2);
    };
    // A reader whose bench was killed must not go on.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    if let Some(number) = arguments.next() {
        let number = number.to_str().and_then(|number| number.parse().ok());
        let outcome = number
            .ok_or(ReadError::Empty)
            .and_then(|number| read_one(&assignment, number));
        let failed = outcome.is_err() | processes::tell(outcome).is_err();
        return ExitCode::from(u8::from(failed));
    }
    let answer = match read(&assignment) {
        Ok(measured) => ReaderAnswer::Measured(measured),
        Err(error) => ReaderAnswer::Failed(error.to_string()),
    };
    let failed = matches!(answer, ReaderAnswer::Failed(_))
        || write_json(&assignment.answer, &answer).is_err();
    if failed {
        let _ = write_json(&assignment.answer, &answer);
    }
    ExitCode::from(u8::from(failed))
}

/// Does one assignment. A job of several processes is done by as many more, started as this one was.
///
/// # Errors
/// [`ReadError`].
pub fn read(assignment: &Assignment) -> Result<Measured, ReadError> {
    let mut preloaded = library_is_loaded();
    let timed = prepared(assignment, |run, job| {
        match (assignment.mode, job.processes.len()) {
            (Mode::Ceiling(pricing), _) => ceiling_reader::read(run, &job, &pricing),
            (Mode::Plain, 0 | 1) => {
                join_group(assignment)?;
                read_process(run, job, 0, None)
            }
            (Mode::Plain, several) => {
                let (timed, all_preloaded) = processes::read(several)?;
                preloaded &= all_preloaded;
                Ok(timed)
            }
        }
    })?;
    let measured = Measured {
        preloaded,
        ..timed.measured()
    };
    if measured.useful_bytes == 0 || measured.elapsed_ns == 0 {
        return Err(ReadError::Empty);
    }
    Ok(measured)
}

/// Does what the process `number` of an assignment does, when all of them can begin.
fn read_one(assignment: &Assignment, number: usize) -> Result<(Timed, bool), ReadError> {
    let wait = || {
        join_group(assignment)?;
        processes::wait_for_start().map_err(io_error("cannot wait for", "the start".as_ref()))
    };
    let timed = prepared(assignment, |run, job| {
        read_process(run, job, number, Some(&wait))
    })?;
    Ok((timed, library_is_loaded()))
}

/// Calls `work` with the job of `assignment` and what its readers share.
fn prepared(
    assignment: &Assignment,
    work: impl FnOnce(&Run<'_>, Job) -> Result<Timed, ReadError>,
) -> Result<Timed, ReadError> {
    let sources = listed(&assignment.sources)?;
    let job = job_over(&assignment.workload, &sources, assignment.seed);
    let path = &assignment.counter;
    let counter = SharedCounter::open(path).map_err(io_error("cannot open", path))?;
    let run = Run {
        assignment,
        sources: &sources,
        counter: &counter,
    };
    allow_all_files();
    work(&run, job)
}

/// Does what the process `number` of `job` does; see [`interpreter::read`] for `wait`.
fn read_process(
    run: &Run<'_>,
    mut job: Job,
    number: usize,
    wait: Option<&dyn Fn() -> Result<(), ReadError>>,
) -> Result<Timed, ReadError> {
    if number >= job.processes.len() {
        return Err(ReadError::Empty);
    }
    let groups = job.processes.iter().flat_map(|process| &process.groups);
    let tasks = groups.map(|group| u64::from(group.tasks)).sum();
    interpreter::read(run, job.processes.swap_remove(number), tasks, wait)
}

/// Who only starts others stays outside, and they join when they can begin: the group's memory is for
/// what is read, and sixty programs leave nothing of it.
fn join_group(assignment: &Assignment) -> Result<(), ReadError> {
    let Some(members) = &assignment.members_file else {
        return Ok(());
    };
    let own = std::process::id().to_string();
    fs::write(members, own).map_err(io_error("cannot join the group", members))
}

/// As many open files as the machine allows: the ceiling opens all of them beforehand.
fn allow_all_files() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // If that is refused, the first file too many says so.
    let _ = setrlimit(Resource::Nofile, all);
}

/// Whether every library in `LD_PRELOAD` is mapped. The loader only warns when it skips one.
fn library_is_loaded() -> bool {
    let Ok(wanted) = std::env::var("LD_PRELOAD") else {
        return false;
    };
    let libraries: io::Result<Vec<PathBuf>> = wanted
        .split([':', ' '])
        .filter(|path| !path.is_empty())
        .map(fs::canonicalize)
        .collect();
    libraries
        .and_then(|libraries| process_status::mapped(Path::new("/proc"), &libraries))
        .is_ok_and(|mapped| mapped.into_iter().all(|is_mapped| is_mapped))
}

pub(crate) fn listed(sources: &Sources) -> Result<Vec<Source>, ReadError> {
    match sources {
        Sources::Listed(list) => Ok(list.clone()),
        Sources::Folder {
            path,
            first_id,
            bytes,
        } => {
            let mut list = Vec::new();
            for entry in fs::read_dir(path).map_err(io_error("cannot list", path))? {
                let entry = entry.map_err(io_error("cannot list", path))?;
                let number = entry
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse::<u32>().ok());
                if let Some(number) = number {
                    let id = first_id + number;
                    list.push(Source {
                        path: entry.path(),
                        id,
                        bytes: *bytes,
                    });
                }
            }
            Ok(list)
        }
    }
}
