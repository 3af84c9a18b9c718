//! Finding the library that is preloaded into CMD, and writing its path so that the dynamic loader
//! understands it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::elf::{BinaryMachine, Image, image_of};

/// File name of the library.
pub const LIBRARY_NAME: &str = "libahead_preload.so";
/// Environment variable that names the library when it is in none of the usual places.
pub const LIBRARY_VARIABLE: &str = "AHEAD_PRELOAD";

/// The loader of the GNU C library puts the folder of the machine's libraries in its place: `lib64`, `lib/x86_64-linux-gnu`.
const LOADER_TOKEN: &str = "$LIB";

/// Why no library can be preloaded.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// It is nowhere.
    #[error(
        "cannot find {LIBRARY_NAME} ({searched}): build it with `cargo build --release`, or set \
         {LIBRARY_VARIABLE} to its path"
    )]
    Missing {
        /// Where it was looked for.
        searched: String,
    },
    /// There is a file, but it cannot be read.
    #[error("cannot read the library '{path}': {source}; set {LIBRARY_VARIABLE} to another one")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is a file, but it is something else.
    #[error("'{path}' is not a shared library: set {LIBRARY_VARIABLE} to {LIBRARY_NAME}")]
    NotALibrary {
        /// The file.
        path: PathBuf,
    },
    /// A library for another kind of program.
    #[error(
        "the library '{path}' is for {library} but '{binary}' is for {program}: set \
         {LIBRARY_VARIABLE} to a library built for {program}"
    )]
    OtherMachine {
        /// The library.
        path: PathBuf,
        /// What it was built for.
        library: BinaryMachine,
        /// The binary behind CMD.
        binary: PathBuf,
        /// What that was built for.
        program: BinaryMachine,
    },
    /// The loader splits its list at these characters and has no way to quote them.
    #[error(
        "the library's path '{path}' has a space or a colon in it, and the dynamic loader cannot \
         load such a path: copy the library elsewhere and set {LIBRARY_VARIABLE}"
    )]
    Unloadable {
        /// The path.
        path: PathBuf,
    },
}

/// A library that can be preloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Absolute path without characters that the loader would split at.
    pub path: PathBuf,
    /// What it was built for.
    pub machine: BinaryMachine,
}

impl Library {
    /// Finds the library: `named` (from the environment) alone if given, else beside the program
    /// `executable` and where packages put libraries.
    ///
    /// # Errors
    /// None found, or what was found cannot be loaded.
    pub fn find(named: Option<&OsStr>, executable: &Path) -> Result<Self, LibraryError> {
        if let Some(named) = named.filter(|named| !named.is_empty()) {
            let path = std::path::absolute(named).unwrap_or_else(|_| PathBuf::from(named));
            if !path.exists() {
                let searched = format!("{LIBRARY_VARIABLE} names '{}'", path.display());
                return Err(LibraryError::Missing { searched });
            }
            return Self::check(path);
        }
        let folder = executable.parent().unwrap_or_else(|| Path::new("/"));
        let mut candidates = vec![folder.join(LIBRARY_NAME)];
        if let Some(above) = folder.parent() {
            candidates.push(above.join("lib/ahead").join(LIBRARY_NAME));
            candidates.push(above.join("lib").join(LIBRARY_NAME));
        }
        match candidates.iter().find(|candidate| candidate.exists()) {
            Some(found) => Self::check(found.clone()),
            None => {
                let places: Vec<String> = candidates
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect();
                Err(LibraryError::Missing {
                    searched: format!("not at {}", places.join(", ")),
                })
            }
        }
    }

    fn check(path: PathBuf) -> Result<Self, LibraryError> {
        match image_of(&path) {
            Ok(Image::Library(machine)) if is_loadable(&path) => Ok(Self { path, machine }),
            Ok(Image::Library(_)) => Err(LibraryError::Unloadable { path }),
            Ok(_) => Err(LibraryError::NotALibrary { path }),
            Err(source) => Err(LibraryError::Unreadable { path, source }),
        }
    }

    /// Checks that the loader of `binary`, built for `program`, will accept the library.
    ///
    /// # Errors
    /// [`LibraryError::OtherMachine`].
    pub fn must_fit(&self, binary: &Path, program: BinaryMachine) -> Result<(), LibraryError> {
        if self.machine == program {
            return Ok(());
        }
        Err(LibraryError::OtherMachine {
            path: self.path.clone(),
            library: self.machine,
            binary: binary.to_path_buf(),
            program,
        })
    }

    /// The value of `LD_PRELOAD`: `own`, a path of this library, first, then what was there, each once.
    #[must_use]
    pub fn preload_list(&self, own: PathBuf, existing: Option<&OsStr>) -> OsString {
        let mut list = own.into_os_string();
        let others = self.others(existing);
        if !others.is_empty() {
            list.push(":");
            list.push(others);
        }
        list
    }

    /// Its path as the loader of the GNU C library finds it and that of musl does not, which would end every program that is
    /// started below this one: it replaces no tokens, and goes on without what it does not find. `None`: the machine's
    /// libraries lie where no such path leads here.
    #[must_use]
    pub fn path_for_gnu(&self) -> Option<PathBuf> {
        let of_machine = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
        let folders = [of_machine.as_str(), "lib64", "lib"];
        let has_libc = |folder: &&str| Path::new("/usr").join(folder).join("libc.so.6").exists();
        let folder = folders.into_iter().find(has_libc)?;
        let leads_here = self.through(folder).exists();
        leads_here.then(|| self.through(LOADER_TOKEN))
    }

    /// The same where there is such a path, else its path as it is.
    #[must_use]
    pub fn path_for_all(&self) -> PathBuf {
        self.path_for_gnu().unwrap_or_else(|| self.path.clone())
    }

    /// The same file by way of `folder` below /usr, one or two deep: above the root is the root.
    fn through(&self, folder: &str) -> PathBuf {
        let mut path = OsString::from(format!("/usr/{folder}/../../.."));
        path.push(&self.path);
        path.into()
    }

    /// What was in `LD_PRELOAD` beside this library, which a run around this one may have put there.
    #[must_use]
    pub fn others(&self, existing: Option<&OsStr>) -> OsString {
        let existing = existing.map(OsStr::as_bytes).unwrap_or_default();
        let entries = existing.split(|&byte| byte == b' ' || byte == b':');
        let own = [self.path.clone(), self.through(LOADER_TOKEN)];
        let is_own = |entry: &[u8]| own.iter().any(|path| path.as_os_str().as_bytes() == entry);
        let others = entries.filter(|entry| !entry.is_empty() && !is_own(entry));
        let others: Vec<&[u8]> = others.collect();
        OsString::from_vec(others.join(&b':'))
    }
}

/// Where programs that were built with AddressSanitizer find their options.
pub const SANITIZER_VARIABLE: &str = "ASAN_OPTIONS";

/// The options of such a program: those that it has, and that it may run with a library in front of the
/// sanitizer's own. Without that it ends before its first line. Its own choice stays.
#[must_use]
pub fn sanitizer_options(existing: Option<&OsStr>) -> OsString {
    const ORDER: &str = "verify_asan_link_order";
    let mut options = existing.unwrap_or_default().to_owned();
    let mut words = options.as_bytes().windows(ORDER.len());
    if !words.any(|word| word == ORDER.as_bytes()) {
        let between = if options.is_empty() { "" } else { ":" };
        options.push(format!("{between}{ORDER}=0"));
    }
    options
}

fn is_loadable(path: &Path) -> bool {
    !path
        .as_os_str()
        .as_bytes()
        .iter()
        .any(|byte| matches!(byte, b' ' | b':' | b'\t' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(path: &str) -> Library {
        Library {
            path: path.into(),
            machine: BinaryMachine::this(),
        }
    }

    #[test]
    fn entries_that_were_there_stay_and_a_second_run_adds_nothing() {
        let library = library("/a/lib.so");
        let list = |existing| {
            let existing: Option<&str> = existing;
            library.preload_list("/own.so".into(), existing.map(OsStr::new))
        };
        assert_eq!(list(None), "/own.so");
        assert_eq!(list(Some("/b.so /c.so")), "/own.so:/b.so:/c.so");
        assert_eq!(list(Some("/b.so:/a/lib.so")), "/own.so:/b.so");
        let nested = "/usr/$LIB/../../../a/lib.so:/b.so";
        assert_eq!(list(Some(nested)), "/own.so:/b.so");
        assert_eq!(library.others(Some(OsStr::new("/a/lib.so"))), "");
    }

    #[test]
    fn options_of_a_sanitizer_stay_and_its_own_choice_wins() {
        let options = |text| sanitizer_options(Some(OsStr::new(text)));
        assert_eq!(sanitizer_options(None), "verify_asan_link_order=0");
        assert_eq!(options("a=1"), "a=1:verify_asan_link_order=0");
        assert_eq!(
            options("verify_asan_link_order=1 a=1"),
            "verify_asan_link_order=1 a=1"
        );
    }

    #[test]
    fn a_path_with_a_space_cannot_be_loaded() {
        assert!(!is_loadable(Path::new("/home/a b/lib.so")));
        assert!(!is_loadable(Path::new("/home/a:b/lib.so")));
        assert!(is_loadable(Path::new("/home/ab/lib.so")));
    }
}
