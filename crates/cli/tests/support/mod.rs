//! What the tests of the program share: starting it, and libraries to preload that do nothing.
#![allow(dead_code, reason = "each test program uses a part")]

pub(crate) mod daemon_disk;
pub(crate) mod daemon_process;
pub(crate) mod fuse_server;
pub(crate) mod guest;
pub(crate) mod lab_run;
pub(crate) mod loop_device;
pub(crate) mod machine;
pub(crate) mod read_file;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Compiles the reader in C with `options` of the system's compiler.
pub(crate) fn build_reader(built: &Path, options: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/reader.c");
    let status = Command::new("cc")
        .args(options)
        .args(["-O1", "-Wall", "-pthread", "-o"])
        .args([built, source.as_path()])
        .status();
    assert!(status.expect("a C compiler").success());
}

/// Compiles a program in C that needs no libraries: for a machine that has none.
pub(crate) fn compile_static(source: &Path, built: &Path, options: &[&str]) {
    let status = Command::new("cc")
        .args(["-O1", "-Wall", "-static", "-pthread"])
        .args(options)
        .arg("-o")
        .args([built, source])
        .status();
    assert!(status.expect("a C compiler").success());
}

/// A folder of the test's own, with a library in it.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// Makes the folder and builds the library with the system's C compiler.
    pub(crate) fn new() -> Self {
        let place = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        let source = place.file("stub.c", "int ahead_stub;\n");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([place.library().as_path(), source.as_path()])
            .status()
            .expect("a C compiler is there (cc)");
        assert!(status.success(), "cc failed");
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.path().join("stub.so")
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content).expect("a writable folder");
        path
    }

    /// The program, with the library, and without the configuration of this machine's user.
    pub(crate) fn ahead(&self, arguments: &[&str]) -> Command {
        // Whoever runs the tests may ignore signals (`nohup`, a background job), and that is
        // inherited: `env` puts them back to what a shell gives to a command.
        let mut command = Command::new("env");
        command
            .arg("--default-signal")
            .arg(env!("CARGO_BIN_EXE_ahead"))
            .args(arguments)
            .env("AHEAD_PRELOAD", self.library())
            .env("XDG_CONFIG_HOME", self.path())
            .env_remove("LD_PRELOAD");
        command
    }

    /// Runs the program to its end.
    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.ahead(arguments).output().expect("ahead starts")
    }
}

/// Copies the program there, where everybody may execute it. By a process of its own: what another test starts at this moment would have a
/// copy of ours open for writing, and who writes to a program keeps it from being started ("text file busy").
pub(crate) fn copy_program(to: &Path) {
    let status = Command::new("install")
        .args(["-m", "755", env!("CARGO_BIN_EXE_ahead")])
        .arg(to)
        .status();
    assert!(status.expect("install").success());
}

/// The library that was built with this test: beside the program, or among the dependencies.
pub(crate) fn library() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_ahead"));
    let folder = program.parent().expect("a folder");
    let candidates = [
        folder.join("deps/libahead_preload.so"),
        folder.join("libahead_preload.so"),
    ];
    let found = candidates.into_iter().find(|path| path.exists());
    found.expect("the library was built with this test")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts one line on standard error that has all of `parts`, and the exit code.
#[track_caller]
pub(crate) fn assert_refused(output: &Output, code: i32, parts: &[&str]) {
    let said = stderr(output);
    assert_eq!(said.lines().count(), 1, "one line: {said}");
    assert!(said.starts_with("ahead: "), "{said}");
    for part in parts {
        assert!(said.contains(part), "'{part}' in: {said}");
    }
    assert_eq!(output.status.code(), Some(code), "{said}");
}
