//! A daemon of this machine for a test, and a file on the machine's own disk for it to know of.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One daemon at a time: all of them would see all readers.
static ONE: Mutex<()> = Mutex::new(());

/// The only one.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A daemon that runs.
pub(crate) struct DaemonProcess {
    pub(crate) child: Child,
    said: BufReader<ChildStderr>,
    /// What it said first.
    pub(crate) line: String,
}

impl DaemonProcess {
    /// Starts one and waits until it says that it works.
    pub(crate) fn start(options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ahead"));
        command.arg("daemon").args(options);
        Self::of(command)
    }

    /// The same, started by `command`.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .expect("ahead starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        assert!(line.contains("ahead daemon: "), "{line}");
        Self { child, said, line }
    }

    /// The next line of its log.
    pub(crate) fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("a line");
        line
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args([signal, &pid]).status();
        assert!(asked.expect("kill").success());
    }

    /// Asks it to end; all that it said since.
    pub(crate) fn end(mut self) -> String {
        self.signal("-TERM");
        let mut all = String::new();
        while self.said.read_line(&mut all).expect("lines") > 0 {}
        assert!(self.child.wait().expect("ended").success(), "{all}");
        all
    }
}

/// It goes also when its test fails.
impl Drop for DaemonProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file on the disk that holds this tree, and the program that reads it.
pub(crate) struct ReadFile {
    folder: tempfile::TempDir,
    reader: PathBuf,
}

impl ReadFile {
    /// Of so many MiB, which nothing has read.
    pub(crate) fn new(mib: usize) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), open).expect("our folder");
        let reader = folder.path().join("reader");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/reader.c");
        let built = Command::new("cc")
            .args(["-static", "-O1", "-Wall", "-o"])
            .args([&reader, &source])
            .status();
        assert!(built.expect("a C compiler").success());
        let file = Self { folder, reader };
        let mut bytes = fs::File::create(file.path()).expect("a disk");
        for _ in 0..mib {
            bytes.write_all(&vec![7; 1 << 20]).expect("space on it");
        }
        bytes.sync_all().expect("written");
        file
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder().join("file")
    }

    pub(crate) fn text(&self) -> String {
        self.path().to_str().expect("text").to_owned()
    }

    /// A process of `user` reads the whole of it from its disk, as `pattern` says; the number of the process.
    pub(crate) fn read(&self, pattern: &str, user: u32) -> u32 {
        let file = fs::File::open(self.path()).expect("a file");
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("a hint");
        let user = user.to_string();
        let mut child = Command::new("setpriv")
            .args(["--reuid", &user, "--clear-groups"])
            .arg(&self.reader)
            .args([pattern, &self.text()])
            .stdout(Stdio::null())
            .spawn()
            .expect("setpriv");
        assert!(child.wait().expect("ended").success());
        child.id()
    }
}
