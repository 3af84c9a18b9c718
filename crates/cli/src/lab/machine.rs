//! What a guest is made of: from words of the command line to a guest that can be booted.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ahead_guest::init::{DISK_FOLDER, SHARED_FOLDER, in_guest};
use ahead_guest::kernel::{Kernel, Recipe};
use ahead_guest::source::{self, KernelSeries};
use ahead_guest::{Console, FileSystem, Guest, GuestDisk, GuestError, GuestRun, Steps, Task};
use ahead_units::PAGE_BYTES;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use super::error::LabError;
use super::unfinished::Unfinished;
use crate::arguments::{LabKernel, LabMachine};
use crate::{cache, disk, size};

/// First argument of the first process in a guest.
pub const GUEST_ARGUMENT: &str = "__guest";
/// The disk models as a static library, beside this program.
const MODELS_NAME: &str = "libahead_guest_disk.a";
/// Where Debian's packages put the source of kernels.
const SOURCES: &str = "/usr/src";
/// With less memory a guest ends in the middle of its boot, or kills what runs in it.
const MEMORY_BYTES_MIN: u64 = 32 << 20;
/// What the bench in a guest writes its results to, in the shared folder.
const RESULTS: &str = "results.json";
/// A guest that takes longer on the host's clock hangs.
pub(super) const WALL_LIMIT: Duration = Duration::from_secs(600);

/// Where the kernel of the command line is built.
///
/// # Errors
/// No source, no models, no home.
pub(super) fn recipe(kernel: &LabKernel) -> Result<Recipe, LabError> {
    recipe_beside(&std::env::current_exe()?, kernel.kernel.parse()?)
}

/// The kernel with our adaptive read-ahead.
///
/// # Errors
/// As [`recipe`], or it is not built.
pub(super) fn patched() -> Result<Kernel, LabError> {
    let series = KernelSeries::Linux6_12Patched;
    Ok(recipe_beside(&std::env::current_exe()?, series)?.find()?)
}

/// Where the kernel of `series` is built from what was built with `program`, which is this one.
///
/// # Errors
/// No source, no models, no home.
pub fn recipe_beside(program: &Path, series: KernelSeries) -> Result<Recipe, LabError> {
    let models = program.with_file_name(MODELS_NAME);
    if !models.is_file() {
        return Err(LabError::NoModels(models));
    }
    Ok(Recipe {
        source: source::find(SOURCES.as_ref(), series)?,
        models,
        cache: cache_folder()?,
    })
}

/// Kernels and images are kept here.
pub(super) fn cache_folder() -> io::Result<PathBuf> {
    Ok(cache::folder()?.join("lab"))
}

fn size_of(option: &'static str, text: &str) -> Result<u64, LabError> {
    size::parse(text).map_err(|source| LabError::Size { option, source })
}

/// As [`size_of`], of what the kernel rounds down to pages.
pub(super) fn whole_pages(option: &'static str, text: &str) -> Result<u64, LabError> {
    let bytes = size_of(option, text)?;
    if bytes.is_multiple_of(PAGE_BYTES) {
        return Ok(bytes);
    }
    Err(LabError::PartOfPage {
        option,
        text: text.to_owned(),
    })
}

/// As [`size_of`], of what cannot be smaller.
fn size_from(option: &'static str, text: &str, bytes_min: u64) -> Result<u64, LabError> {
    let bytes = size_of(option, text)?;
    if bytes >= bytes_min {
        return Ok(bytes);
    }
    Err(LabError::TooSmall {
        option,
        text: text.to_owned(),
        mib_min: bytes_min >> 20,
    })
}

/// The memory of a guest.
pub(super) fn memory_of(text: &str) -> Result<u64, LabError> {
    size_from("memory", text, MEMORY_BYTES_MIN)
}

/// A folder for results, made before they are measured.
pub(super) fn results_folder(path: &Path) -> Result<(), LabError> {
    fs::create_dir_all(path).map_err(|source| LabError::Folder {
        path: path.to_owned(),
        source,
    })
}

/// A guest with this kernel and disk that does nothing yet.
pub(super) fn guest_of(kernel: &LabKernel, disk: &str) -> Result<Guest, LabError> {
    let recipe = recipe(kernel)?;
    if recipe.source.series.is_emulated() {
        return Err(LabError::NoVirtualTime(recipe.source.series));
    }
    Ok(Guest {
        kernel: recipe.find()?,
        init: vec![std::env::current_exe()?.into(), GUEST_ARGUMENT.into()],
        memory_bytes: 0,
        disk: GuestDisk::new(disk::model(disk)?),
        task: Task::new(Vec::new()),
        console: Console::Ours,
        wall_limit: WALL_LIMIT,
        steps: None,
    })
}

/// The file system that the command line calls so; it has checked the name.
pub(super) fn file_system(name: &str) -> FileSystem {
    match name {
        "xfs" => FileSystem::Xfs,
        "btrfs" => FileSystem::Btrfs,
        "nfs" => FileSystem::Nfs,
        _ => FileSystem::Ext4,
    }
}

/// The smallest disk that `mkfs` makes such a file system on.
const fn disk_bytes_min(file_system: FileSystem) -> u64 {
    match file_system {
        FileSystem::Ext4 | FileSystem::Nfs => 8 << 20,
        FileSystem::Xfs => 300 << 20,
        FileSystem::Btrfs => 128 << 20,
    }
}

/// A guest of this machine for `command`, and the disk's model.
pub(super) fn guest(machine: &LabMachine, command: &[OsString]) -> Result<Guest, LabError> {
    let memory_bytes = memory_of(&machine.memory)?;
    let file_system = file_system(&machine.fs);
    let disk_bytes = size_from("size", &machine.size, disk_bytes_min(file_system))?;
    let mut command = command.to_vec();
    if let Some(program) = command.first_mut() {
        // A name without a folder is looked for there.
        *program = in_guest(Path::new(program)).into();
    }
    let mut guest = guest_of(&machine.kernel, &machine.disk)?;
    let mut task = Task::new(command);
    task.file_system = file_system;
    for path in &machine.with {
        let path = std::path::absolute(path)?;
        // Before anything is booted for it.
        if let Err(source) = path.symlink_metadata() {
            return Err(LabError::With { path, source });
        }
        task.copies.push(path);
    }
    for script in &machine.prepare {
        task.preparations
            .push(vec!["/bin/sh".into(), "-c".into(), script.clone()]);
    }
    guest.memory_bytes = memory_bytes;
    guest.disk.bytes = disk_bytes;
    guest.task = task;
    guest.wall_limit = Duration::from_secs(machine.wall_limit);
    Ok(guest)
}

/// This program, as a guest finds it.
pub(super) fn own_program() -> io::Result<OsString> {
    Ok(in_guest(&std::env::current_exe()?).into())
}

/// `command`, as a guest finds it, under `ahead run` with `options`.
pub(super) fn steered(command: Vec<OsString>, options: &[&str]) -> io::Result<Vec<OsString>> {
    let mut words = vec![own_program()?];
    // A guest begins with what it was made with.
    words.extend(["run", "--device-cache", "no"].map(OsString::from));
    words.extend(options.iter().map(OsString::from));
    words.push("--".into());
    words.extend(command);
    Ok(words)
}

/// `ahead bench VERB` on the disk of a guest, which is a `disk`, with `options`; [`bench_in`] runs it.
pub(super) fn bench_command(
    verb: &str,
    disk: &str,
    options: impl IntoIterator<Item = String>,
) -> io::Result<Vec<OsString>> {
    let mut command = vec![own_program()?];
    let fixed = ["bench", verb, "--keep", "--disk", DISK_FOLDER, "--model"];
    command.extend(fixed.map(OsString::from));
    command.push(if disk::is_file(disk) {
        in_guest(&std::path::absolute(disk)?).into()
    } else {
        disk.into()
    });
    command.extend(options.into_iter().map(OsString::from));
    command.extend(["--json".into(), in_shared(RESULTS).into()]);
    Ok(command)
}

/// What results are called of the disk that `text` names: its file without folder and ending, or the name.
pub(super) fn disk_name(text: &str) -> &str {
    let stem = Path::new(text).file_stem().and_then(OsStr::to_str);
    stem.filter(|_| disk::is_file(text)).unwrap_or(text)
}

/// The file called `name` in the shared folder, as a guest finds it.
pub(super) fn in_shared(name: &str) -> PathBuf {
    Path::new(SHARED_FOLDER).join(name)
}

/// The steps of a [`bench_command`] that has `--each`: its runs.
pub(super) const fn runs_of_bench(wall_limit: Duration) -> Steps {
    Steps {
        file: RESULTS,
        wall_limit,
    }
}

/// What the bench in a guest that did not come to its end had written; `None` where that is nothing.
pub(super) fn results_so_far<Results: DeserializeOwned>(shared: &TempDir) -> Option<Results> {
    let text = fs::read(shared.path().join(RESULTS)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Runs a guest whose command is a [`bench_command`]: also what the bench in it found. `what` begins the
/// sentence about a bench that failed.
pub(super) fn bench_in<Results: DeserializeOwned>(
    guest: &Guest,
    shared: &TempDir,
    stop: &AtomicBool,
    what: &str,
) -> Result<(GuestRun, Results), LabError> {
    let run = guest
        .run(shared.path(), stop)
        .map_err(|error| failed(what, error))?;
    // Results that have to be looked at come with an exit code, too.
    let text = fs::read(shared.path().join(RESULTS)).unwrap_or_default();
    if run.measured.exit_code != 0 && text.is_empty() {
        return Err(LabError::Inside(format!("{what}: {}", run.said.trim())));
    }
    let results = serde_json::from_slice(&text)
        .map_err(|error| LabError::Inside(format!("{what}: {error}")))?;
    Ok((run, results))
}

/// Why the guest in which `what` runs did not end in order.
fn failed(what: &str, error: GuestError) -> LabError {
    match error {
        GuestError::Hung { limit, last } => LabError::Unfinished {
            what: what.to_owned(),
            why: Unfinished::TookTooLong {
                seconds: limit.as_secs(),
            },
            last,
        },
        other => LabError::Guest(other),
    }
}

/// A folder for what host and guest say to each other.
pub(super) fn shared_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("ahead-lab-").tempdir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_takes_too_long_is_told_by_its_program() {
        let hung = |last: &str| GuestError::Hung {
            limit: Duration::from_secs(600),
            last: last.to_owned(),
        };
        let said = |error| failed("postgres-beside", error).to_string();
        let expected = "in the guest: postgres-beside: did not end within 600 s";
        assert_eq!(said(hung("")), expected);
        let last = "\nwaiting for the disk";
        assert_eq!(said(hung(last)), format!("{expected}{last}"));
    }
}
