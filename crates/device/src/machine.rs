//! Where the facts are read, and what could not be read.
//!
//! A file that is not there is an answer: kernels differ. One that is there and cannot be understood is
//! noted, with the reason, and its value counts as unknown.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ahead_sys::{kernel_release, small_file};
use serde::Serialize;

/// Longest file that is read. Values of sysfs are a page at most; a list of mounts can be long.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// A machine: the folder that holds its `sys`, `proc`, `dev` and `etc`.
#[derive(Clone, Debug)]
pub struct MachineTree {
    root: PathBuf,
}

/// A file that is there and could not be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Unread {
    /// Which file, as seen from the root of the machine.
    pub path: String,
    /// Why.
    pub why: String,
}

impl MachineTree {
    /// The machine below `root`; `/` is this one. The folder is known by its real path, as what is found in it is.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        let real = fs::canonicalize(root);
        Self {
            root: real.unwrap_or_else(|_| root.into()),
        }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its `/sys`.
    #[must_use]
    pub fn sys(&self) -> PathBuf {
        self.root.join("sys")
    }

    /// Its `/proc`.
    #[must_use]
    pub fn proc(&self) -> PathBuf {
        self.root.join("proc")
    }

    /// A path that begins with a slash, below the root.
    #[must_use]
    pub fn below(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// `path` as it is seen on the machine itself.
    #[must_use]
    pub fn seen(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        Path::new("/").join(inside).to_string_lossy().into_owned()
    }

    /// Version of the kernel: the first two numbers of its release.
    #[must_use]
    pub fn kernel(&self) -> Option<(u32, u32)> {
        kernel_release::read(&self.proc())
    }

    /// Which start of the machine this is: a text that no other start has; empty where that is not said.
    #[must_use]
    pub fn boot(&self) -> String {
        let id = fs::read_to_string(self.proc().join("sys/kernel/random/boot_id"));
        id.unwrap_or_default().trim().to_owned()
    }

    /// A text without the line end behind it. `None` for what is not there; what is there and cannot be
    /// read goes to `unread`.
    pub fn text(&self, path: &Path, unread: &mut Vec<Unread>) -> Option<String> {
        let read = || -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            let file = fs::File::open(path)?;
            file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let why = match read() {
            Ok(bytes) if bytes.len() as u64 > FILE_BYTES_MAX => "too long".to_owned(),
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => return Some(text.trim_end_matches('\n').to_owned()),
                Err(_) => "not a text".to_owned(),
            },
            Err(error) if is_absent(&error) => return None,
            Err(error) => error.kind().to_string(),
        };
        self.note(path, why, unread);
        None
    }

    /// A number that stands alone in its file.
    pub fn number(&self, path: &Path, unread: &mut Vec<Unread>) -> Option<u64> {
        let text = self.text(path, unread)?;
        let number = small_file::number(text.as_bytes());
        if number.is_none() {
            self.note(path, "not a number".to_owned(), unread);
        }
        number
    }

    /// A flag, which is a number.
    pub fn flag(&self, path: &Path, unread: &mut Vec<Unread>) -> Option<bool> {
        self.number(path, unread).map(|number| number != 0)
    }

    /// What is in use of a choice: `[none] mq-deadline`. A text without brackets is itself the choice.
    pub fn choice(&self, path: &Path, unread: &mut Vec<Unread>) -> Option<String> {
        let text = self.text(path, unread)?;
        let chosen = text
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        let chosen = chosen.map_or_else(|| text.trim(), |(chosen, _)| chosen);
        Some(chosen.to_owned())
    }

    /// Names in a folder, sorted; none when there is no such folder.
    #[must_use]
    pub fn names(&self, folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    /// Notes that `path` could not be used.
    pub fn note(&self, path: &Path, why: String, unread: &mut Vec<Unread>) {
        let path = self.seen(path);
        let note = Unread { path, why };
        if !unread.contains(&note) {
            unread.push(note);
        }
    }
}

/// Whether the file is not there. Attributes that a driver does not serve answer with `EINVAL` and its like.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_unknown_and_what_cannot_be_understood_is_noted() {
        let root = tempfile::tempdir().unwrap();
        let machine = MachineTree::at(root.path());
        let file = |name: &str, bytes: &[u8]| {
            fs::write(root.path().join(name), bytes).unwrap();
            root.path().join(name)
        };
        let mut unread = Vec::new();
        assert_eq!(
            machine.number(&file("good", b"128\n"), &mut unread),
            Some(128)
        );
        assert_eq!(machine.number(&root.path().join("none"), &mut unread), None);
        assert_eq!(unread, []);
        assert_eq!(machine.number(&file("word", b"many\n"), &mut unread), None);
        assert_eq!(
            machine.text(&file("binary", b"\xff\xfe"), &mut unread),
            None
        );
        assert_eq!(machine.text(root.path(), &mut unread), None);
        let paths: Vec<_> = unread.iter().map(|note| note.path.as_str()).collect();
        assert_eq!(paths, ["/word", "/binary", "/"]);
    }

    #[test]
    fn a_version_is_the_first_two_numbers() {
        let root = tempfile::tempdir().unwrap();
        let machine = MachineTree::at(root.path());
        assert_eq!(machine.kernel(), None);
        fs::create_dir_all(root.path().join("proc/sys/kernel")).unwrap();
        let release = root.path().join("proc/sys/kernel/osrelease");
        for (text, version) in [("6.18.44-fc-v669\n", Some((6, 18))), ("6\n", None)] {
            fs::write(&release, text).unwrap();
            assert_eq!(machine.kernel(), version);
        }
    }
}
