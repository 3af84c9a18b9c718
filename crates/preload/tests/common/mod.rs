//! What the tests of the library share: building the C programs in `tests/c`, and running them
//! with and without the library that cargo has just built.
//!
//! A C compiler (`cc`) is needed. The programs are small and are compiled anew for each test file.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ahead_engine::report;

/// The library as cargo built it, next to the folder of the test's own program.
pub(crate) fn library() -> PathBuf {
    let own = std::env::current_exe().expect("the path of this test");
    let dependencies = own.parent().expect("the folder of this test");
    let name = "libahead_preload.so";
    let beside = dependencies.join(name);
    if beside.exists() {
        return beside;
    }
    let above = dependencies.with_file_name(name);
    assert!(above.exists(), "no {name} in {}", dependencies.display());
    above
}

/// Builds `tests/c/NAME.c` with `flags` into `folder`, and returns the result's path.
pub(crate) fn build_with(folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/c")
        .join(format!("{name}.c"));
    let target = folder.join(name);
    let output = Command::new("cc")
        .args(["-O2", "-Wall", "-Wno-unused-result", "-o"])
        .arg(&target)
        .arg(&source)
        .arg("-lpthread")
        .args(flags)
        .output()
        .expect("a C compiler: install gcc or clang");
    assert!(
        output.status.success(),
        "{} does not compile:\n{}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    target
}

/// Builds `tests/c/NAME.c` into `folder`.
pub(crate) fn build(folder: &Path, name: &str) -> PathBuf {
    build_with(folder, name, &[])
}

/// A folder on a real file system, for files that have a disk below them.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the test's files")
}

/// A command that runs `program` with the library. A broken invariant inside it ends the program.
pub(crate) fn with_library(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env("LD_PRELOAD", library())
        .env("AHEAD_STRICT", "yes");
    command
}

/// Runs a command to its end, which must be a success. Returns what it wrote.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// An account that the library writes to, and what stands in it.
pub(crate) struct Account {
    path: PathBuf,
}

impl Account {
    /// Makes an empty one in `folder`.
    pub(crate) fn new(folder: &Path) -> Self {
        let path = folder.join("account");
        let mut bytes = vec![0; report::FILE_BYTES];
        bytes[..8].copy_from_slice(&report::MAGIC.to_ne_bytes());
        std::fs::write(&path, bytes).expect("the account can be written");
        Self { path }
    }

    /// Where it is: the value of `AHEAD_SHARED`.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn word(&self, at: usize) -> u64 {
        let bytes = std::fs::read(&self.path).expect("the account can be read");
        let word = bytes[at * 8..at * 8 + 8].try_into().expect("eight bytes");
        u64::from_ne_bytes(word)
    }

    /// Reads that were noticed, in all files.
    pub(crate) fn accesses(&self) -> u64 {
        (0..report::FILES_MAX)
            .map(|file| report::HEADER_WORDS + file * report::RECORD_WORDS)
            .map(|record| self.word(record + report::record::ACCESSES))
            .sum()
    }
}
