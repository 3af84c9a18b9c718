//! The files of a recording: which name each has in the trace, and what is left out once there are too many.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use ahead_observer::observation::{FileKey, Observation};
use ahead_trace::{FileNames, FileRef, NamesLimit};
use lru::LruCache;

use super::held::reads_of;

/// A recording has no more files, whose names all stay in memory until it ends, some 200 MiB with what the writer keeps of them. A
/// machine that goes through trees of files for a day opens millions.
const RECORDED: NamesLimit = NamesLimit {
    files: 1 << 19,
    name_bytes: 64 << 20,
};

/// Files whose names are remembered. Of others they are found out again; the trace itself has each name once.
const KNOWN_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();

/// The files, by the names that they have in the trace.
#[derive(Debug)]
pub(super) struct RecordedFiles {
    names: FileNames,
    /// By the file and which of those that had its inode one after another; `None`: it is left out.
    known: LruCache<(FileKey, Option<u32>), Option<FileRef>>,
    /// Reads of files that are left out, as far as they are told: these are not watched.
    left_out: u64,
}

impl RecordedFiles {
    /// None yet.
    pub(super) fn new() -> Self {
        Self::with_limit(RECORDED)
    }

    fn with_limit(limit: NamesLimit) -> Self {
        Self {
            names: FileNames::with_limit(limit),
            known: LruCache::new(KNOWN_MAX),
            left_out: 0,
        }
    }

    /// All names.
    pub(super) const fn names(&self) -> &FileNames {
        &self.names
    }

    /// The file of a fact, whose `path` is looked for where that is not known; one whose path cannot be seen is called by its number,
    /// as `ahead run --record` does. `None`: there are too many already, and what is read of it is left out.
    pub(super) fn on_fact(
        &mut self,
        fact: &Observation,
        path: impl FnOnce() -> Option<PathBuf>,
    ) -> Option<FileRef> {
        let key = (fact.file, fact.generation);
        let file = match self.known.get(&key) {
            Some(known) => *known,
            None => {
                let found = self.find(fact.file, path());
                self.known.put(key, found);
                found
            }
        };
        match file {
            Some(file) => self.names.set_size(file, fact.file_pages.bytes().get()),
            None => self.left_out += reads_of(fact),
        }
        file
    }

    fn find(&mut self, key: FileKey, path: Option<PathBuf>) -> Option<FileRef> {
        let number = format!("inode:{}:{}", key.device, key.inode);
        let name = path.map_or_else(|| number.into(), PathBuf::into_os_string);
        self.names.named(name.as_encoded_bytes()).ok()
    }

    /// What is not in the trace, in words; empty where all is.
    pub(super) fn left_out(&self) -> String {
        match self.left_out {
            0 => String::new(),
            reads => format!(
                "; at least {reads} reads of further files left out, as a recording has at most {} files and {} MiB of their names",
                RECORDED.files,
                RECORDED.name_bytes >> 20
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use ahead_observer::observation::FactKind;

    use super::super::held::tests::fact;
    use super::*;

    fn reads(inode: u64, count: u32) -> Observation {
        Observation {
            file: FileKey { device: 1, inode },
            ..fact(FactKind::Accesses, 0, 7, 0, count)
        }
    }

    /// Reads of files for which the table had no place were recorded as those of the first file.
    #[test]
    fn files_that_are_too_many_are_left_out_and_counted() {
        let mut files = RecordedFiles::with_limit(NamesLimit {
            files: 2,
            name_bytes: 1 << 10,
        });
        let first = files.on_fact(&reads(1, 1), || Some("/a".into()));
        let second = files.on_fact(&reads(2, 1), || None);
        assert_eq!((first, second), (Some(FileRef(0)), Some(FileRef(1))));
        assert_eq!(files.left_out(), "");
        let mut looked_for = 0;
        for inode in 3..1000 {
            for _ in 0..2 {
                let path = || {
                    looked_for += 1;
                    Some(format!("/{inode}").into())
                };
                assert_eq!(files.on_fact(&reads(inode, 5), path), None);
            }
        }
        assert_eq!((looked_for, files.names().len()), (997, 2));
        let said = files.left_out();
        assert!(
            said.starts_with("; at least 9970 reads of further files left out"),
            "{said}"
        );
        // Those that have their place still have it, also by another inode.
        assert_eq!(files.on_fact(&reads(1, 1), || None), first);
        assert_eq!(files.on_fact(&reads(9999, 1), || Some("/a".into())), first);
        assert_eq!(files.left_out(), said);
    }
}
