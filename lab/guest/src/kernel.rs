//! Builds the guest's kernel, and keeps it.
//!
//! ```text
//! CACHE/trees/6.12-HASH     the unpacked, patched and compiled source; HASH of archive, patches, options
//!       kernels/6.12-HASH   the kernel, one file; HASH of all of that, the driver and the model
//! ```
//!
//! So a change of the driver or of a disk model compiles some files and links, which takes seconds;
//! only a new source, patch or option takes minutes.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::source::{KernelSeries, KernelSource};

/// Applied in this order.
const PATCHES: &[(&str, &str)] = &[
    (
        "0001-um-room-for-the-registers-of-newer-processors.patch",
        include_str!("../kernel/patches/0001-um-room-for-the-registers-of-newer-processors.patch"),
    ),
    (
        "0002-um-a-disk-that-is-modelled.patch",
        include_str!("../kernel/patches/0002-um-a-disk-that-is-modelled.patch"),
    ),
    (
        "0003-um-a-clock-of-single-nanoseconds.patch",
        include_str!("../kernel/patches/0003-um-a-clock-of-single-nanoseconds.patch"),
    ),
    (
        "0004-um-turns-without-ticks.patch",
        include_str!("../kernel/patches/0004-um-turns-without-ticks.patch"),
    ),
    (
        "0005-um-reclaim-takes-time.patch",
        include_str!("../kernel/patches/0005-um-reclaim-takes-time.patch"),
    ),
];

/// The patches for adaptive read-ahead, in the order of their numbers; `xtask` says when one is missing here.
const ADAPTIVE_PATCHES: &[(&str, &str)] = &[
    (
        "0001-mm-readahead-add-the-decisions-of-an-adaptive-read-a.patch",
        include_str!(
            "../../../kernel/patches/0001-mm-readahead-add-the-decisions-of-an-adaptive-read-a.patch"
        ),
    ),
    (
        "0002-mm-readahead-add-switches-for-adaptive-read-ahead.patch",
        include_str!(
            "../../../kernel/patches/0002-mm-readahead-add-switches-for-adaptive-read-ahead.patch"
        ),
    ),
    (
        "0003-mm-readahead-learn-access-time-and-bandwidth-of-devi.patch",
        include_str!(
            "../../../kernel/patches/0003-mm-readahead-learn-access-time-and-bandwidth-of-devi.patch"
        ),
    ),
    (
        "0004-mm-readahead-add-a-bounded-side-table-for-the-stream.patch",
        include_str!(
            "../../../kernel/patches/0004-mm-readahead-add-a-bounded-side-table-for-the-stream.patch"
        ),
    ),
    (
        "0005-mm-readahead-read-ahead-adaptively-for-reads.patch",
        include_str!(
            "../../../kernel/patches/0005-mm-readahead-read-ahead-adaptively-for-reads.patch"
        ),
    ),
    (
        "0006-mm-filemap-read-ahead-adaptively-for-page-faults.patch",
        include_str!(
            "../../../kernel/patches/0006-mm-filemap-read-ahead-adaptively-for-page-faults.patch"
        ),
    ),
    (
        "0007-mm-readahead-add-a-tracepoint-and-counters-to-adapti.patch",
        include_str!(
            "../../../kernel/patches/0007-mm-readahead-add-a-tracepoint-and-counters-to-adapti.patch"
        ),
    ),
    (
        "0008-Documentation-describe-adaptive-read-ahead.patch",
        include_str!(
            "../../../kernel/patches/0008-Documentation-describe-adaptive-read-ahead.patch"
        ),
    ),
    (
        "0009-selftests-mm-test-adaptive-read-ahead.patch",
        include_str!("../../../kernel/patches/0009-selftests-mm-test-adaptive-read-ahead.patch"),
    ),
];

/// Options beyond `make tinyconfig`.
const OPTIONS: &str = include_str!("../kernel/um.config");

/// The same, of a kernel for an emulated machine.
const X86_OPTIONS: &str = include_str!("../kernel/x86.config");

/// What it has in addition where it finds mistakes.
const SMP_OPTIONS: &str = include_str!("../kernel/smp.config");

/// What it has in addition where its instructions are counted: tests of switches cost nothing, as in kernels that are
/// shipped.
const COUNTED_OPTIONS: &str = "CONFIG_JUMP_LABEL=y\n";

/// Options that only later series have, and the first of ours that has them (cachestat came with 6.5).
const SINCE: &[(&str, KernelSeries)] = &[("CONFIG_CACHESTAT_SYSCALL=y", KernelSeries::Linux6_12)];

/// Options that only older series need, and the last of ours that does. Linux 6.1's smallest configuration
/// has an allocator that aligns to eight bytes, which is too little for what compilers make of structures.
const UNTIL: &[(&str, KernelSeries)] = &[("CONFIG_SLUB=y", KernelSeries::Linux6_1)];

/// Options that only a kernel with [`ADAPTIVE_PATCHES`] has.
const ADAPTIVE: &[&str] = &["CONFIG_DEBUG_FS=y", "CONFIG_READAHEAD_ADAPTIVE=y"];

/// The driver, as it lies in `arch/um/drivers`.
const DRIVER: &[(&str, &str)] = &[
    ("ahead_disk.c", include_str!("../kernel/ahead_disk.c")),
    ("ahead_disk.h", include_str!("../kernel/ahead_disk.h")),
    (
        "ahead_disk_user.c",
        include_str!("../kernel/ahead_disk_user.c"),
    ),
];

/// What the driver calls in the model.
const MODEL_FUNCTIONS: [&str; 5] = [
    "ahead_disk_model_open",
    "ahead_disk_model_submit",
    "ahead_disk_model_next",
    "ahead_disk_model_advance",
    "ahead_disk_model_is_rotational",
];

/// A kernel could not be built or found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// Not built, or not from what is here now.
    #[error(
        "the guest's kernel {0} is not built, or not with these disk models: `ahead lab build`"
    )]
    NotBuilt(KernelSeries),
    /// A file.
    #[error("cannot build the guest's kernel: {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program that is not there.
    #[error(
        "cannot build the guest's kernel: `{program}` does not start ({source}); on Debian: \
             apt-get install gcc make flex bison bc libelf-dev patch xz-utils"
    )]
    Start {
        /// Which.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A step that failed.
    #[error("cannot build the guest's kernel: {step} failed; the last lines are in {}", log.display())]
    Step {
        /// Which.
        step: &'static str,
        /// Everything that it said.
        log: PathBuf,
    },
    /// An option that this source does not have.
    #[error("the source {series} has no option {option}, or not without another one")]
    Option {
        /// Of which kernel.
        series: KernelSeries,
        /// Which.
        option: String,
    },
}

/// A kernel that can be booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The program.
    pub program: PathBuf,
    /// Which kernel it is.
    pub series: KernelSeries,
}

/// What a build is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The source is unpacked.
    Unpacking,
    /// So many files have been compiled.
    Compiled(u32),
}

/// From what a kernel is made.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The kernel's source.
    pub source: KernelSource,
    /// The disk models, a static library.
    pub models: PathBuf,
    /// Where trees and kernels are kept.
    pub cache: PathBuf,
}

impl Recipe {
    /// The kernel, if it is there.
    ///
    /// # Errors
    /// [`KernelError::NotBuilt`], or the models cannot be read.
    pub fn find(&self) -> Result<Kernel, KernelError> {
        let program = self.program()?;
        if !program.is_file() {
            return Err(KernelError::NotBuilt(self.source.series));
        }
        Ok(Kernel {
            program,
            series: self.source.series,
        })
    }

    /// Builds the kernel, unless it is there.
    ///
    /// # Errors
    /// Programs or files are missing, or a step fails.
    pub fn build(&self, on_progress: &mut dyn FnMut(Progress)) -> Result<Kernel, KernelError> {
        if let Ok(kernel) = self.find() {
            return Ok(kernel);
        }
        let tree = self.tree();
        let trees = self.cache.join("trees");
        fs::create_dir_all(&trees).map_err(at(&trees))?;
        let lock_path = trees.join("lock");
        // Held until the file is closed: one build at a time.
        let lock = File::create(&lock_path).map_err(at(&lock_path))?;
        lock.lock().map_err(at(&lock_path))?;
        let log = trees.join(format!("{}.log", self.source.series));
        let log_file = File::create(&log).map_err(at(&log))?;
        let mut steps = Steps {
            log,
            log_file,
            on_progress,
        };
        if !tree.is_dir() {
            self.unpack(&tree, &mut steps)?;
        }
        let series = self.source.series;
        if !series.is_emulated() {
            let drivers = tree.join("arch/um/drivers");
            for (name, text) in DRIVER {
                write_if_new(&drivers.join(name), text.as_bytes())?;
            }
            self.model_object(&drivers, &mut steps)?;
        }
        steps.compile(&tree, series)?;
        let program = self.program()?;
        let folder = program.parent().unwrap_or(&self.cache);
        fs::create_dir_all(folder).map_err(at(folder))?;
        let partial = program.with_extension("partial");
        if series.is_emulated() {
            let built = tree.join("arch/x86/boot/bzImage");
            fs::copy(&built, &partial).map_err(at(&built))?;
        } else {
            let mut strip = Command::new("objcopy");
            strip.arg("--strip-debug").arg(tree.join("linux"));
            steps.run("copying the kernel", strip.arg(&partial))?;
        }
        fs::rename(&partial, &program).map_err(at(&program))?;
        self.find()
    }

    /// Where the source is, unpacked, with its patches: there once the kernel was built.
    #[must_use]
    pub fn unpacked(&self) -> PathBuf {
        self.tree()
    }

    fn tree(&self) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        self.source.identity.hash(&mut hasher);
        let series = self.source.series;
        (patches(series), options(series)).hash(&mut hasher);
        let name = format!("{}-{:016x}", self.source.series, hasher.finish());
        self.cache.join("trees").join(name)
    }

    fn program(&self) -> Result<PathBuf, KernelError> {
        let mut hasher = DefaultHasher::new();
        self.tree().file_name().hash(&mut hasher);
        if !self.source.series.is_emulated() {
            DRIVER.hash(&mut hasher);
            let models = fs::read(&self.models).map_err(at(&self.models))?;
            models.hash(&mut hasher);
        }
        let name = format!("{}-{:016x}", self.source.series, hasher.finish());
        Ok(self.cache.join("kernels").join(name).join("linux"))
    }

    fn unpack(&self, tree: &Path, steps: &mut Steps<'_>) -> Result<(), KernelError> {
        (steps.on_progress)(Progress::Unpacking);
        let partial = tree.with_extension("partial");
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(at(&partial))?;
        }
        fs::create_dir_all(&partial).map_err(at(&partial))?;
        let mut unpack = Command::new("tar");
        unpack.args(["--extract", "--strip-components=1", "--file"]);
        unpack.arg(&self.source.archive).arg("--directory");
        steps.run("unpacking the source", unpack.arg(&partial))?;
        for (name, text) in patches(self.source.series) {
            let path = partial.join(name);
            fs::write(&path, text).map_err(at(&path))?;
            let mut patch = Command::new("patch");
            patch.args(["--strip=1", "--forward", "--input", name]);
            steps.run("patching the source", patch.current_dir(&partial))?;
        }
        self.configure(&partial, steps)?;
        fs::rename(&partial, tree).map_err(at(tree))
    }

    fn configure(&self, tree: &Path, steps: &mut Steps<'_>) -> Result<(), KernelError> {
        let fragment = tree.join("ahead.config");
        let series = self.source.series;
        let options = options(series);
        fs::write(&fragment, &options).map_err(at(&fragment))?;
        steps.run("configuring", make(tree, series).arg("tinyconfig"))?;
        let mut merge = Command::new("scripts/kconfig/merge_config.sh");
        merge.args(["-m", ".config", "ahead.config"]);
        steps.run("merging options", merge.current_dir(tree))?;
        steps.run("configuring", make(tree, series).arg("olddefconfig"))?;
        let path = tree.join(".config");
        let got = fs::read_to_string(&path).map_err(at(&path))?;
        let missing = wanted(&options).find(|wanted| !got.lines().any(|line| line == *wanted));
        match missing {
            Some(option) => Err(KernelError::Option {
                series,
                option: option.to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// One object file with the model and all that it needs, which shows nothing but its functions.
    fn model_object(&self, drivers: &Path, steps: &mut Steps<'_>) -> Result<(), KernelError> {
        let joined = drivers.join("ahead_disk_model.joined");
        let object = drivers.join("ahead_disk_model.o_fresh");
        let mut link = Command::new("ld");
        link.args(["-r", "--gc-sections"]);
        for function in MODEL_FUNCTIONS {
            link.args(["-u", function]);
        }
        link.arg("-o").arg(&joined).arg(&self.models);
        steps.run("linking the disk models", &mut link)?;
        let mut hide = Command::new("objcopy");
        hide.args([
            "--strip-unneeded",
            "--remove-section=.llvmbc",
            "--remove-section=.llvmcmd",
        ]);
        for function in MODEL_FUNCTIONS {
            hide.arg(format!("--keep-global-symbol={function}"));
        }
        steps.run("copying the disk models", hide.arg(&joined).arg(&object))?;
        let fresh = fs::read(&object).map_err(at(&object))?;
        for path in [joined, object] {
            fs::remove_file(&path).map_err(at(&path))?;
        }
        write_if_new(&drivers.join("ahead_disk_model.o_shipped"), &fresh)
    }
}

/// Runs programs and keeps what they say.
struct Steps<'a> {
    log: PathBuf,
    log_file: File,
    on_progress: &'a mut dyn FnMut(Progress),
}

impl Steps<'_> {
    fn run(&mut self, step: &'static str, command: &mut Command) -> Result<(), KernelError> {
        self.follow(step, command, false)
    }

    fn compile(&mut self, tree: &Path, series: KernelSeries) -> Result<(), KernelError> {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut compile = make(tree, series);
        let target = if series.is_emulated() {
            "bzImage"
        } else {
            "linux"
        };
        compile.arg(format!("-j{cpus}")).arg(target);
        self.follow("compiling", &mut compile, true)
    }

    /// Keeps each line that the program prints; `compiles`: each is about one file.
    fn follow(
        &mut self,
        step: &'static str,
        command: &mut Command,
        compiles: bool,
    ) -> Result<(), KernelError> {
        let log = self.log.clone();
        let log_error = |source| KernelError::File {
            path: log.clone(),
            source,
        };
        let errors = self.log_file.try_clone().map_err(log_error)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(errors).spawn().map_err(|source| {
            let program = command.get_program().to_string_lossy().into_owned();
            KernelError::Start { program, source }
        })?;
        let said = child.stdout.take().map(BufReader::new);
        let lines = said.into_iter().flat_map(|said| said.split(b'\n'));
        for (number, line) in (1..).zip(lines.map_while(Result::ok)) {
            let line = [&line[..], b"\n"].concat();
            self.log_file.write_all(&line).map_err(log_error)?;
            if compiles {
                (self.on_progress)(Progress::Compiled(number));
            }
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            _ => Err(KernelError::Step { step, log }),
        }
    }
}

fn make(tree: &Path, series: KernelSeries) -> Command {
    let machine = if series.is_emulated() {
        "ARCH=x86_64"
    } else {
        "ARCH=um"
    };
    let mut make = Command::new("make");
    make.arg(machine).current_dir(tree).env_remove("MAKEFLAGS");
    make
}

/// What is changed in the source of `series`, in this order.
fn patches(series: KernelSeries) -> Vec<(&'static str, &'static str)> {
    match series {
        KernelSeries::Linux6_12Patched => [PATCHES, ADAPTIVE_PATCHES].concat(),
        KernelSeries::Linux6_12Smp | KernelSeries::Linux6_12PatchedX86 => ADAPTIVE_PATCHES.to_vec(),
        KernelSeries::Linux6_12X86 => Vec::new(),
        KernelSeries::Linux6_12 | KernelSeries::Linux6_1 => PATCHES.to_vec(),
    }
}

/// The options of `series`, as a fragment of a configuration.
fn options(series: KernelSeries) -> String {
    let adaptive = ADAPTIVE.iter().filter(|_| series.is_patched());
    if series.is_emulated() {
        let more = match series {
            KernelSeries::Linux6_12Smp => SMP_OPTIONS,
            _ => COUNTED_OPTIONS,
        };
        let adaptive = adaptive.map(|line| format!("{line}\n"));
        return [X86_OPTIONS, more]
            .into_iter()
            .map(str::to_owned)
            .chain(adaptive)
            .collect();
    }
    let is_later = |line: &&str| {
        let mut later = SINCE.iter().filter(|(_, since)| series < *since);
        !later.any(|(option, _)| option == line)
    };
    let own = OPTIONS.lines().filter(is_later);
    let older = UNTIL.iter().filter(|(_, until)| series <= *until);
    let lines = own.chain(older.map(|(option, _)| *option));
    let lines = lines.chain(adaptive.copied());
    lines.map(|line| format!("{line}\n")).collect()
}

/// The lines of `options` that a configuration must have.
fn wanted(options: &str) -> impl Iterator<Item = &str> {
    options.lines().filter(|line| line.starts_with("CONFIG_"))
}

/// A file that stays as it is keeps its time, and `make` leaves alone what depends on it.
fn write_if_new(path: &Path, content: &[u8]) -> Result<(), KernelError> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    fs::write(path, content).map_err(at(path))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> KernelError + use<> {
    let path = path.to_owned();
    move |source| KernelError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_has_the_options_that_it_knows() {
        assert_eq!(options(KernelSeries::Linux6_12), OPTIONS);
        let older = options(KernelSeries::Linux6_1);
        assert!(older.contains("CONFIG_SLUB=y") && !older.contains("CACHESTAT"));
    }
}
