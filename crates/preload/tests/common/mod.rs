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

/// Runs the program with the library; it must succeed, and its reads must have been noticed.
pub(crate) fn assert_works(name: &str, arguments: &[&str]) {
    let account = run_with_account(name, arguments);
    assert!(account.accesses() > 0, "the library noticed no read");
}

/// Runs the program with the library and an account, which is returned.
pub(crate) fn run_with_account(name: &str, arguments: &[&str]) -> Account {
    let folder = folder();
    let program = build(folder.path(), name);
    let mut account = Account::new(folder.path());
    succeed(
        with_library(program)
            .args(arguments)
            .env("AHEAD_SHARED", account.path())
            .current_dir(folder.path()),
    );
    account.folder = Some(folder);
    account
}

/// Runs the program without and with the library; it must write the same.
pub(crate) fn assert_writes_the_same(name: &str, arguments: &[&str]) {
    let folder = folder();
    let program = build(folder.path(), name);
    let without = succeed(
        Command::new(&program)
            .args(arguments)
            .current_dir(folder.path()),
    );
    // An account wakes the library at the first read, without it a read has to wait.
    let account = Account::new(folder.path());
    for variable in [None, Some(account.path())] {
        let mut command = with_library(&program);
        command.args(arguments).current_dir(folder.path());
        if let Some(path) = variable {
            command.env("AHEAD_SHARED", path);
        }
        let with = succeed(&mut command);
        assert_eq!(
            String::from_utf8_lossy(&without.stdout),
            String::from_utf8_lossy(&with.stdout)
        );
        assert_eq!(with.stderr, b"", "the library says nothing");
    }
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
        .env("AHEAD_FILTERS", own_filters().to_string())
        .env("AHEAD_STRICT", "yes");
    command
}

/// With what goes ahead through trees of files, as `ahead run` sets it.
pub(crate) fn with_trees(command: &mut Command) -> &mut Command {
    command
        .env("AHEAD_SETTINGS", "trees=on")
        .env("AHEAD_TREE_FILTERS", own_filters().to_string())
}

/// The filters of system calls that this test runs under: those of a container let ours pass.
pub(crate) fn own_filters() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the state of this process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Seccomp_filters:"));
    line.map_or(0, |number| number.trim().parse().expect("a number"))
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
    /// The folder that it lies in, where that lives as long as the account.
    folder: Option<tempfile::TempDir>,
}

impl Account {
    /// Makes an empty one in `folder`.
    pub(crate) fn new(folder: &Path) -> Self {
        let path = folder.join("account");
        let mut bytes = vec![0; report::FILE_BYTES];
        bytes[..8].copy_from_slice(&report::MAGIC.to_ne_bytes());
        std::fs::write(&path, bytes).expect("the account can be written");
        Self { path, folder: None }
    }

    /// Where it is: the value of `AHEAD_SHARED`.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn files(&self) -> Vec<report::FileReport> {
        let bytes = std::fs::read(&self.path).expect("the account can be read");
        report::decode(&bytes).expect("an account").files
    }

    /// Reads that were noticed, in all files.
    pub(crate) fn accesses(&self) -> u64 {
        self.files().iter().map(|file| file.accesses).sum()
    }

    /// Pages that were asked for, in all files.
    pub(crate) fn prefetched(&self) -> u64 {
        self.files().iter().map(|file| file.prefetched).sum()
    }

    /// Reads that waited for a device, in all files.
    pub(crate) fn waits(&self) -> u64 {
        self.files().iter().map(|file| file.waits).sum()
    }
}
