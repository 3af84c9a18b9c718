//! Which file a recorded name is: itself, or what stands for it below a folder.
//!
//! A trace comes from somewhere else, so with a folder nothing outside of it is touched: a name's
//! root is the folder, and `..` goes nowhere.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use ahead_trace::{FileNames, FileRef};

/// From names to files.
pub(super) struct Names {
    root: Option<PathBuf>,
    drops_cache: bool,
    /// By file: its path, so that a record does not copy it.
    paths: Mutex<Vec<Option<Arc<Path>>>>,
}

impl Names {
    pub(super) fn new(root: Option<&Path>, drops_cache: bool) -> Self {
        Self {
            root: root.map(Path::to_path_buf),
            drops_cache,
            paths: Mutex::default(),
        }
    }

    /// Whether each file leaves the cache before it is read.
    pub(super) const fn drops_cache(&self) -> bool {
        self.drops_cache
    }

    /// The path of a file of the trace.
    pub(super) fn path(&self, file: FileRef, files: &FileNames) -> Arc<Path> {
        let mut paths = self
            .paths
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if paths.len() <= file.index() {
            paths.resize(file.index() + 1, None);
        }
        let path = &mut paths[file.index()];
        Arc::clone(path.get_or_insert_with(|| self.place(&files.name(file)).into()))
    }

    /// Where a name leads.
    fn place(&self, name: &[u8]) -> PathBuf {
        let name = Path::new(OsStr::from_bytes(name));
        let Some(root) = &self.root else {
            return name.to_path_buf();
        };
        let inside = name.components().filter_map(|part| match part {
            Component::Normal(part) => Some(part),
            _ => None,
        });
        let mut path = root.clone();
        path.extend(inside);
        path
    }

    /// Creates the file that stands for a name, sparse, when it is missing or shorter. A file that
    /// has something in it is only made longer.
    pub(super) fn create(&self, name: &[u8], size: u64) -> Result<(), (PathBuf, io::Error)> {
        let path = self.place(name);
        if self.root.as_deref() == Some(&*path) {
            return Ok(());
        }
        let created = || {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let file = OpenOptions::new()
                .create(true)
                .write(true)
                .truncate(false)
                .open(&path)?;
            if file.metadata()?.len() < size {
                file.set_len(size)?;
            }
            Ok(())
        };
        let result = created();
        result.map_err(|error| (path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let names = Names::new(Some(Path::new("/r")), false);
        for (name, path) in [
            (&b"/etc/passwd"[..], "/r/etc/passwd"),
            (b"../../etc/passwd", "/r/etc/passwd"),
            (b"a/./b/../c", "/r/a/b/c"),
            (b"8,0", "/r/8,0"),
            (b"..", "/r"),
        ] {
            assert_eq!(names.place(name), Path::new(path));
        }
    }

    #[test]
    fn a_file_is_created_as_large_as_it_must_be_and_never_made_shorter() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = Names::new(Some(folder.path()), false);
        let length = || {
            std::fs::metadata(folder.path().join("a/b"))
                .map(|file| file.len())
                .ok()
        };
        names.create(b"/a/b", 1 << 40).expect("sparse");
        assert_eq!(length(), Some(1 << 40));
        names.create(b"/a/b", 5).expect("there already");
        assert_eq!(length(), Some(1 << 40));
    }
}
