//! Eight hundred files of 4 MiB one after another, on an emulated disk: whether the library still
//! asks for anything when it has seen many, and whether the program is as fast as without it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::files::{evict, settle};
use super::job::{Clock, Job};
use super::measure::{MeasureError, Runner, Side, failed, succeed};
use crate::journal::Journal;
use crate::plan::{BenchPlan, DiskChoice, ReaderCommand};
use crate::results::approximate;
use crate::target::{Target, TargetError};

const FILES: usize = 800;
const FILE_BYTES: usize = 4 << 20;
/// From here on silence is counted.
const FIRST_COUNTED: usize = 300;
/// The files and what a file system needs beside them.
const DISK_BYTES: u64 = 4 << 30;

/// An emulated disk with the files on it.
pub(crate) struct ManyFiles {
    target: Target,
    journal: Journal,
    paths: Vec<PathBuf>,
}

/// The disk could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManyFilesError {
    /// Not root.
    #[error("an emulated disk needs root")]
    NotRoot,
    /// The disk.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Notes or files.
    #[error("cannot prepare the emulated disk: {0}")]
    Io(#[from] io::Error),
}

impl ManyFiles {
    /// Makes the disk `model` and writes the files.
    pub(crate) fn create(
        model: &str,
        server: &Path,
        state_folder: &Path,
    ) -> Result<Self, ManyFilesError> {
        if !rustix::process::geteuid().is_root() {
            return Err(ManyFilesError::NotRoot);
        }
        let reader = ReaderCommand {
            program: server.to_owned(),
            arguments: Vec::new(),
        };
        let mut plan = BenchPlan::new(DiskChoice::Emulated(model.to_owned()), reader);
        plan.disk_bytes = Some(DISK_BYTES);
        plan.state_folder = state_folder.to_owned();
        let (mut journal, orphans) = Journal::open(state_folder)?;
        for disk in orphans {
            let _ = ahead_disk_emulator::destroy(&disk);
        }
        let made = Target::create(&plan, model, &mut |name| {
            journal.note_disk(Some(name.to_owned()))
        });
        let target = match made {
            Ok(target) => target,
            Err(error) => {
                // A disk that could not be made leaves nothing behind.
                let _ = journal.note_disk(None);
                return Err(error.into());
            }
        };
        let mut many = Self {
            target,
            journal,
            paths: Vec::new(),
        };
        many.paths = many.write()?;
        Ok(many)
    }

    fn write(&self) -> io::Result<Vec<PathBuf>> {
        let content = vec![b'x'; FILE_BYTES];
        let mut paths = Vec::new();
        for number in 0..FILES {
            let path = self.target.folder.join(format!("file-{number:04}"));
            fs::write(&path, &content)?;
            paths.push(path);
        }
        settle(&self.target.folder)?;
        Ok(paths)
    }

    /// One line on the disk.
    pub(crate) fn description(&self) -> String {
        format!(
            "{}, {}",
            self.target.disk.name, self.target.disk.description
        )
    }

    /// `cat` of all files.
    pub(crate) fn job(&self) -> Job {
        let script = ["/bin/sh", "-c", "exec cat \"$@\" >/dev/null", "sh"];
        let mut words: Vec<_> = script.map(Into::into).to_vec();
        words.extend(self.paths.iter().map(Into::into));
        Job {
            words,
            clock: Clock::Outside(1),
            policy: None,
            cold: self.paths.clone(),
            note: Some(self.description()),
        }
    }

    /// For how many of the last files something was asked, in one run.
    pub(crate) fn asked_for(
        &self,
        runner: &Runner<'_>,
        side: Side<'_>,
    ) -> Result<f64, MeasureError> {
        let job = self.job();
        evict(&job.cold).map_err(MeasureError::Evict)?;
        let report = runner.folder.join("report.json");
        let mut option = std::ffi::OsString::from("--report=");
        option.push(&report);
        let mut command = runner.command(&job, side, &["--json".into(), option]);
        succeed(&mut command)?;
        let read = || -> io::Result<Report> { Ok(serde_json::from_slice(&fs::read(&report)?)?) };
        let report = read().map_err(|error| failed(&command, format!("report: {error}")))?;
        let counted = self.paths.get(FIRST_COUNTED..).unwrap_or_default();
        let asked = report
            .files
            .iter()
            .filter(|file| file.prefetched_pages > 0 && counted.contains(&file.path));
        Ok(approximate(u64::try_from(asked.count()).unwrap_or(0)))
    }

    /// Takes the disk away.
    pub(crate) fn destroy(mut self) -> Result<(), ManyFilesError> {
        self.target.destroy()?;
        self.journal.note_disk(None)?;
        Ok(())
    }
}

/// What is needed of `ahead run --json`.
#[derive(Deserialize)]
struct Report {
    files: Vec<ReportedFile>,
}

#[derive(Deserialize)]
struct ReportedFile {
    path: PathBuf,
    prefetched_pages: u64,
}
