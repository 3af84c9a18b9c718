//! From a row to what is run for it: a command, what of its files is to be in memory, and who holds
//! the clock. A row whose program or files are not to be had here is left out, with the reason.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::files::{self, Files, NEEDLE};
use super::row::{Kind, Program, SHIM_PROCESSES};
use super::small_reads;

/// What stands in for h5py where it is not installed: about as many modules and opened files.
const STAND_IN: &str = "import asyncio, concurrent.futures, csv, ctypes, decimal, difflib, \
     email.message, fractions, http.client, http.server, json, logging.handlers, multiprocessing, \
     optparse, pdb, pickle, pydoc, sqlite3, statistics, tarfile, typing, unittest.mock, \
     urllib.request, uuid, xml.dom.minidom, xml.etree.ElementTree, zipfile";

/// Who says how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// We do, from start to end, for so many operations.
    Outside(u64),
    /// The program, in nanoseconds for one operation, as the last word that it prints.
    Program,
}

/// What is run for a row.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// The program and its arguments.
    pub(crate) words: Vec<OsString>,
    pub(crate) clock: Clock,
    /// `--policy` of the arm with the library, if not the usual one.
    pub(crate) policy: Option<&'static str>,
    /// Taken out of memory before each run.
    pub(crate) cold: Vec<PathBuf>,
    /// Something a reader of the table should know.
    pub(crate) note: Option<String>,
}

/// Where jobs find what they need.
pub(crate) struct Workshop<'a> {
    pub(crate) files: &'a Files,
    /// Our own program and its argument for `small_reads`.
    pub(crate) reader: (&'a Path, &'a str),
    /// A quarter of the operations.
    pub(crate) quick: bool,
}

impl Workshop<'_> {
    /// Prepares a row.
    ///
    /// # Errors
    /// Why it has to be left out.
    pub(crate) fn job(&self, kind: Kind) -> Result<Job, String> {
        match kind {
            Kind::RunStart => Ok(job([on_path("true")?], Clock::Outside(1))),
            Kind::BashTrue => self.bash_true(),
            Kind::Subprocess { shim } => self.subprocess(shim),
            Kind::PythonFork => self.python_fork(),
            Kind::ImportThroughShim => self.import_through_shim(),
            Kind::Small(kind) => self.small(kind, None),
            Kind::SmallCalls(kind) => self.small(kind, Some(10)),
            Kind::Watched { program, cold } => self.watched(program, cold),
            Kind::ManyFiles | Kind::ManyFilesAskedFor => {
                Err("it runs on an emulated disk: --disk hdd, as root".to_owned())
            }
        }
    }

    fn operations(&self, full: u64) -> u64 {
        if self.quick { full / 4 } else { full }
    }

    fn bash_true(&self) -> Result<Job, String> {
        let count = self.operations(1000);
        let script = format!("for ((i = 0; i < {count}; i++)); do /bin/true; done");
        Ok(job(
            [on_path("bash")?, "-c".into(), script.into()],
            Clock::Outside(count),
        ))
    }

    fn subprocess(&self, shim: bool) -> Result<Job, String> {
        let count = self.operations(400);
        let script = format!(
            "import subprocess, time\n\
             for _ in range(10): subprocess.run(['/bin/true'])\n\
             start = time.perf_counter_ns()\n\
             for _ in range({count}): subprocess.run(['/bin/true'])\n\
             print((time.perf_counter_ns() - start) / {count})"
        );
        let python = if shim { self.shim()? } else { python()? };
        Ok(job([python, "-c".into(), script.into()], Clock::Program))
    }

    fn python_fork(&self) -> Result<Job, String> {
        let count = self.operations(400);
        let script = format!(
            "import os, time\n\
             def once():\n    \
                 child = os.fork()\n    \
                 if child == 0: os._exit(0)\n    \
                 os.waitpid(child, 0)\n\
             for _ in range(10): once()\n\
             start = time.perf_counter_ns()\n\
             for _ in range({count}): once()\n\
             print((time.perf_counter_ns() - start) / {count})"
        );
        Ok(job([python()?, "-c".into(), script.into()], Clock::Program))
    }

    fn import_through_shim(&self) -> Result<Job, String> {
        let has_h5py = succeeds(Command::new(python()?).args(["-c", "import h5py"]));
        let import = if has_h5py { "import h5py" } else { STAND_IN };
        let mut job = job(
            [self.shim()?, "-c".into(), import.into()],
            Clock::Outside(1),
        );
        job.note = (!has_h5py).then(|| {
            let modules = STAND_IN.matches(',').count() + 1;
            format!("h5py is not installed: {modules} modules of the standard library instead")
        });
        Ok(job)
    }

    /// A shell script that starts other processes and then becomes Python.
    fn shim(&self) -> Result<OsString, String> {
        let path = self.files.folder().join("python-shim");
        let python = python()?;
        let script = format!(
            "#!{}\nfor ((i = 0; i < {SHIM_PROCESSES}; i++)); do /bin/true; done\nexec {:?} \"$@\"\n",
            on_path("bash")?.to_string_lossy(),
            python.to_string_lossy(),
        );
        let failed = |error: io::Error| format!("cannot write {}: {error}", path.display());
        std::fs::write(&path, script).map_err(failed)?;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).map_err(failed)?;
        Ok(path.into())
    }

    /// `operations` for each pass; `None` is right for measuring time.
    pub(crate) fn small(&self, kind: &'static str, operations: Option<u64>) -> Result<Job, String> {
        let (path, full) = match kind {
            "open-read-close" => (self.files.small(), 2000),
            "pread-steady" | "pread-random" => (self.files.large(), 16_384),
            "getc" => (self.files.large(), 2 << 20),
            _ => (self.files.large(), 200_000),
        };
        let failed = |error: io::Error| format!("cannot write test files: {error}");
        let path = path.map_err(failed)?;
        if path.is_file() {
            files::warm(std::slice::from_ref(path)).map_err(failed)?;
        }
        let operations = operations.unwrap_or_else(|| self.operations(full));
        let (program, argument) = self.reader;
        Ok(job(
            [
                program.into(),
                argument.into(),
                kind.into(),
                path.into(),
                operations.to_string().into(),
            ],
            Clock::Program,
        ))
    }

    /// A shell runs the program, so that the clock starts when `ahead run` has started it: what that
    /// start takes is a row of its own.
    fn watched(&self, program: Program, cold: bool) -> Result<Job, String> {
        let failed = |error: io::Error| format!("cannot write test files: {error}");
        let (program, arguments, paths) = match program {
            Program::Sort => {
                let paths = self.files.sorted().map_err(failed)?.clone();
                let arguments = ["-m", "-o", "/dev/null"].map(OsString::from).into_iter();
                let inputs = paths.iter().map(OsString::from);
                ("sort", arguments.chain(inputs).collect::<Vec<_>>(), paths)
            }
            Program::Dd => {
                let path = self.files.watched().map_err(failed)?;
                let input = format!("if={}", path.display());
                let arguments = [&input, "of=/dev/null", "bs=4k", "status=none"];
                (
                    "dd",
                    arguments.map(OsString::from).to_vec(),
                    vec![path.clone()],
                )
            }
            Program::Awk => {
                let path = self.files.watched().map_err(failed)?;
                let script = "{ bytes += length($0) } END { print bytes }".into();
                ("awk", vec![script, path.into()], vec![path.clone()])
            }
            Program::Grep => {
                let (root, paths) = self.files.tree().map_err(failed)?;
                let arguments = ["-r", "-l", NEEDLE].map(OsString::from).into_iter();
                let root = std::iter::once(root.into());
                ("grep", arguments.chain(root).collect(), paths.clone())
            }
        };
        files::settle(self.files.folder()).map_err(failed)?;
        if cold {
            // A disk that cannot be left is found out now and not in the middle of a repeat.
            files::evict(&paths).map_err(|error| error.to_string())?;
        } else {
            files::warm(&paths).map_err(failed)?;
        }
        let script = "start=${EPOCHREALTIME/./}\n\
             \"$@\" >/dev/null || exit\n\
             echo $(((${EPOCHREALTIME/./} - start) * 1000))";
        let shell = [on_path("bash")?, "-c".into(), script.into(), "bash".into()];
        let words = shell
            .into_iter()
            .chain([on_path(program)?])
            .chain(arguments);
        let mut job = job(words, Clock::Program);
        job.policy = Some("kernel");
        job.cold = if cold { paths } else { Vec::new() };
        Ok(job)
    }
}

fn job(words: impl IntoIterator<Item = OsString>, clock: Clock) -> Job {
    Job {
        words: words.into_iter().collect(),
        clock,
        policy: None,
        cold: Vec::new(),
        note: None,
    }
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The path of a program, or that there is none.
fn on_path(name: &str) -> Result<OsString, String> {
    let folders = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .map(OsString::from)
        .ok_or_else(|| format!("there is no `{name}` here"))
}

/// The interpreter itself, not a shim in front of it.
fn python() -> Result<OsString, String> {
    let asked = Command::new(on_path("python3")?)
        .args(["-c", "import sys; print(sys.executable, end='')"])
        .output();
    let path = asked.map_err(|error| format!("`python3` does not start: {error}"))?;
    let path = String::from_utf8_lossy(&path.stdout).into_owned();
    if Path::new(&path).is_file() {
        Ok(path.into())
    } else {
        Err("`python3` does not say where it is".to_owned())
    }
}

/// Passes of `small_reads` in all, the first one included.
pub(crate) const PASSES: u64 = small_reads::PASSES + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overhead::row::ROWS;

    #[test]
    fn every_row_is_prepared_or_says_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path()).unwrap();
        let workshop = Workshop {
            files: &files,
            reader: (Path::new("/bin/ahead"), "__reads"),
            quick: true,
        };
        for row in ROWS {
            match workshop.job(row.kind) {
                Ok(job) => assert!(Path::new(&job.words[0]).is_absolute(), "{}", row.name),
                Err(reason) => {
                    assert!(row.name.starts_with("files-800"), "{}: {reason}", row.name);
                    assert!(reason.contains("--disk"), "{reason}");
                }
            }
        }
    }
}
