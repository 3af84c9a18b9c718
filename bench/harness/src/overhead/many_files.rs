//! Eight hundred files of 4 MiB one after another, on an emulated disk: whether the library still
//! asks for anything when it has seen many, and whether the program is as fast as without it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::files::{evict, settle};
use super::job::{Clock, Job};
use super::measure::Runner;
use crate::error::BenchError;
use crate::ground::Ground;
use crate::plan::{BenchPlan, DiskChoice, ReaderCommand};
use crate::results::approximate;
use crate::side::{MeasureError, Side, failed, succeed};

const FILES: usize = 800;
const FILE_BYTES: usize = 4 << 20;
/// From here on silence is counted.
const FIRST_COUNTED: usize = 300;
/// The files and what a file system needs beside them.
const DISK_BYTES: u64 = 4 << 30;

/// An emulated disk with the files on it.
pub(crate) struct ManyFiles {
    ground: Ground,
    paths: Vec<PathBuf>,
}

impl ManyFiles {
    /// Makes the disk `model` and writes the files.
    pub(crate) fn create(
        model: &str,
        server: &Path,
        state_folder: &Path,
    ) -> Result<Self, BenchError> {
        let disk = DiskChoice::Emulated(model.to_owned());
        let mut plan = BenchPlan::new(disk, ReaderCommand::of_disk_server(server));
        plan.disk_bytes = Some(DISK_BYTES);
        plan.state_folder = state_folder.to_owned();
        let mut many = Self {
            ground: Ground::make(&plan)?,
            paths: Vec::new(),
        };
        many.paths = many.write().map_err(|source| BenchError::Machine {
            what: "cannot write the test files",
            source,
        })?;
        Ok(many)
    }

    fn write(&self) -> io::Result<Vec<PathBuf>> {
        let content = vec![b'x'; FILE_BYTES];
        let mut paths = Vec::new();
        for number in 0..FILES {
            let path = self.ground.target.folder.join(format!("file-{number:04}"));
            fs::write(&path, &content)?;
            paths.push(path);
        }
        settle(&self.ground.target.folder)?;
        Ok(paths)
    }

    /// One line on the disk.
    pub(crate) fn description(&self) -> String {
        format!(
            "{}, {}",
            self.ground.target.disk.name, self.ground.target.disk.description
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
        let report = runner.launcher.folder.join("report.json");
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
    pub(crate) fn clear(self) -> Result<(), BenchError> {
        self.ground.clear()
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
