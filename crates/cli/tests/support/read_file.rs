//! A file on the machine's own disk for a daemon to know of.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
        super::build_reader(&reader, &["-static"]);
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
