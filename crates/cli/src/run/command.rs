//! Finding CMD the way a shell does, and looking through `#!` lines at the binary that will run.
//! Says what can be expected of preloading; starts nothing.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::elf::{BinaryMachine, Image, image_of};

/// `#!` lines that point to `#!` files: the kernel follows four and then gives up.
const INTERPRETERS_MAX: usize = 4;

/// What CMD turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The file that was named, found through PATH when it has no slash.
    pub path: PathBuf,
    /// The binary behind it: `path` itself or the interpreter of a script.
    pub binary: PathBuf,
    /// Whether a library can be loaded into the binary.
    pub visibility: Visibility,
}

/// Whether a preloaded library will see what a binary does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The dynamic loader will load a library made for this machine.
    Seen(BinaryMachine),
    /// No dynamic loader takes part.
    Static,
    /// It uses musl, and the library the GNU C library.
    OtherLibrary,
    /// The file is set-user-id or set-group-id: the loader ignores foreign libraries.
    Privileged,
    /// The binary cannot be read (execute-only): nothing is known.
    Unknown,
}

/// Why CMD cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Neither a file nor a name in PATH.
    #[error("cannot find '{name}': not a file, and no folder of PATH has it")]
    NotFound {
        /// What was typed.
        name: String,
    },
    /// A file, but not one to execute.
    #[error("cannot execute '{path}': {why}")]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// What stands in the way, and what to do.
        why: String,
    },
}

/// Finds `name` as a shell would: with a slash it is a path, without one PATH is searched.
///
/// # Errors
/// As a shell: not found (127), found but not executable (126).
pub fn find(name: &OsStr, search_path: Option<&OsStr>) -> Result<Command, FindError> {
    let path = locate(name, search_path)?;
    let (binary, visibility) = look_through(&path)?;
    Ok(Command {
        path,
        binary,
        visibility,
    })
}

fn locate(name: &OsStr, search_path: Option<&OsStr>) -> Result<PathBuf, FindError> {
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match can_execute(&path) {
            Ok(()) => Ok(path),
            Err(error) => Err(refusal(path, &error)),
        };
    }
    let not_found = || FindError::NotFound {
        name: name.to_string_lossy().into_owned(),
    };
    if name.is_empty() {
        return Err(not_found());
    }
    let mut refused = None;
    for folder in std::env::split_paths(search_path.unwrap_or_else(|| OsStr::new("/usr/bin:/bin")))
    {
        let candidate = if folder.as_os_str().is_empty() {
            Path::new(".").join(name)
        } else {
            folder.join(name)
        };
        match can_execute(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                refused.get_or_insert((candidate, error));
            }
            _ => {}
        }
    }
    Err(refused.map_or_else(not_found, |(path, error)| refusal(path, &error)))
}

fn can_execute(path: &Path) -> io::Result<()> {
    let metadata = path.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is not a regular file",
        ));
    }
    // Root may do anything except execute a file that no user may execute; access(2) knows.
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK)?;
    Ok(())
}

fn refusal(path: PathBuf, error: &io::Error) -> FindError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FindError::NotFound {
            name: path.display().to_string(),
        },
        _ if path.is_dir() => FindError::NotExecutable {
            path,
            why: "it is a folder; name a program".into(),
        },
        _ if path
            .metadata()
            .is_ok_and(|metadata| metadata.permissions().mode() & 0o111 == 0) =>
        {
            FindError::NotExecutable {
                path,
                why: "it has no execute permission; `chmod +x` gives it one".into(),
            }
        }
        _ => FindError::NotExecutable {
            path,
            why: error.to_string(),
        },
    }
}

fn look_through(path: &Path) -> Result<(PathBuf, Visibility), FindError> {
    let mut binary = path.to_path_buf();
    for _ in 0..=INTERPRETERS_MAX {
        match image_of(&binary) {
            Ok(Image::Dynamic(_) | Image::Musl(_)) if is_privileged(&binary) => {
                return Ok((binary, Visibility::Privileged));
            }
            Ok(Image::Dynamic(machine)) => return Ok((binary, Visibility::Seen(machine))),
            Ok(Image::Musl(_)) => return Ok((binary, Visibility::OtherLibrary)),
            Ok(Image::Static(_) | Image::Library(_)) => return Ok((binary, Visibility::Static)),
            Ok(Image::Script(interpreter)) => {
                if let Err(error) = can_execute(&interpreter) {
                    let why = format!("its interpreter '{}': {error}", interpreter.display());
                    return Err(FindError::NotExecutable { path: binary, why });
                }
                binary = interpreter;
            }
            // execvp hands what the kernel does not know to the shell.
            Ok(Image::Other) => binary = PathBuf::from("/bin/sh"),
            Err(_) => return Ok((binary, Visibility::Unknown)),
        }
    }
    let why = "its interpreters name each other in a circle".to_owned();
    Err(FindError::NotExecutable {
        path: path.to_path_buf(),
        why,
    })
}

fn is_privileged(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o6000 != 0)
}
