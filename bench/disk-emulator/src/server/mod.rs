//! The process behind one disk: mounts the FUSE file, then answers until it is unmounted.
//!
//! [`files`] receives what the kernel asks, [`timing`] answers when the model says so, [`counters`]
//! keeps the figures. Who starts the process, and what is stacked on its file, is in `create`.
//!
//! **Lifeline.** Standard input is a pipe from the creating process. Should it close while the journal
//! does not call the disk ready, the creator died half-way, and the server ends as well; so no server
//! outlives a creation that will not be finished, and none leaves a disk that is.

mod counters;
mod files;
mod timing;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use ahead_sys::real_time;
use memmap2::{Advice, MmapMut, MmapOptions};

use crate::record::{Phase, Record, log_in};
use files::DiskFiles;
pub(crate) use files::REQUEST_BYTES_MAX;
use timing::Shared;

/// First argument of the server process; the second is the state folder of its disk, for [`serve`].
/// An error must go to standard error as one line: the creating process shows the last one.
pub const SERVER_ARGUMENT: &str = "__disk-server";

/// What the server says on standard output when the file can be used.
pub(crate) const READY_LINE: &str = "ready";

/// Above ordinary programs, below what keeps the machine itself alive (99).
const REAL_TIME_PRIORITY: i32 = 50;

/// Why a disk could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The state folder has no readable description of the disk.
    #[error("cannot read the description of the disk in {}: {source}", folder.display())]
    Description {
        /// The state folder.
        folder: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// No memory for the bytes of the disk.
    #[error("cannot reserve {size_bytes} bytes of address space for the disk: {source}")]
    Memory {
        /// Size of the disk.
        size_bytes: u64,
        /// What went wrong.
        source: io::Error,
    },
    /// The FUSE file system could not be mounted or served.
    #[error("cannot serve FUSE at {}: {source}", mount.display())]
    Fuse {
        /// Where it should be mounted.
        mount: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// A thread could not be started, or the creator did not hear of it.
    #[error("cannot start the disk server: {0}")]
    Start(io::Error),
}

/// Serves the disk described in the state folder `folder` until its file is unmounted.
///
/// # Errors
/// [`ServeError`]; the creating process reads the text from the log.
pub fn serve(folder: &Path) -> Result<(), ServeError> {
    let record = Record::read(folder).map_err(|source| ServeError::Description {
        folder: folder.to_owned(),
        source,
    })?;
    // Before anything that outlives this process: the creator may be dead already.
    thread::Builder::new()
        .name("lifeline".into())
        .spawn({
            let folder = folder.to_owned();
            move || hold_lifeline(&folder)
        })
        .map_err(ServeError::Start)?;
    // The terminal of the creator must not take the disk with it.
    let _ = rustix::process::setsid();
    let real_time = become_real_time();

    let memory_error = |source| ServeError::Memory {
        size_bytes: record.size_bytes,
        source,
    };
    let length = usize::try_from(record.size_bytes)
        .map_err(|_| memory_error(io::ErrorKind::OutOfMemory.into()))?;
    let image = zeroed_memory(length).map_err(memory_error)?;
    let shared = Arc::new(Shared::new(&record, image, real_time));

    let mount = record.fuse_dir();
    let fuse_error = |source| ServeError::Fuse {
        mount: mount.clone(),
        source,
    };
    let files = DiskFiles::new(Arc::clone(&shared), record.size_bytes);
    let session =
        fuser::Session::new(files, &mount, &mount_config(&record.name)).map_err(fuse_error)?;

    let timing = thread::Builder::new()
        .name("timing".into())
        .spawn({
            let shared = Arc::clone(&shared);
            move || timing::run(&shared)
        })
        .map_err(ServeError::Start)?;
    let mut out = io::stdout();
    writeln!(out, "{READY_LINE}")
        .and_then(|()| out.flush())
        .map_err(ServeError::Start)?;

    let served = session.run();
    shared.stop();
    // A panic there has already been written to the log.
    let _ = timing.join();
    served.map_err(fuse_error)
}

/// Memory that is zero, and costs memory only where it was written.
fn zeroed_memory(length: usize) -> io::Result<MmapMut> {
    let memory = MmapOptions::new()
        .len(length)
        .no_reserve_swap()
        .map_anon()?;
    // Only a hint, so its failure is none.
    let _ = memory.advise(Advice::HugePage);
    Ok(memory)
}

/// Asks for what precise answers need. Refusals are tolerable (the answers are later, and the
/// statistics say so), and go to the log.
fn become_real_time() -> bool {
    let log = |what: &str, result: io::Result<()>| match result {
        Ok(()) => true,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{what}: {error}; going on without");
            false
        }
    };
    log("cannot lock memory", real_time::lock_memory_on_fault());
    log("cannot become an I/O flusher", real_time::set_io_flusher());
    log(
        "cannot get real-time priority",
        real_time::set_fifo(REAL_TIME_PRIORITY),
    )
}

fn mount_config(name: &str) -> fuser::Config {
    let mut config = fuser::Config::default();
    config.mount_options = vec![
        fuser::MountOption::FSName(format!("ahead-disk-{name}")),
        fuser::MountOption::NoDev,
        fuser::MountOption::NoSuid,
        fuser::MountOption::NoExec,
        fuser::MountOption::DefaultPermissions,
    ];
    config
}

/// Ends this process when its creator has gone without finishing. The journal decides, so that there
/// is no moment in which a disk is ready for one and not for the other.
fn hold_lifeline(folder: &Path) {
    // Nothing is ever sent; an error ends it as the end of the creator does.
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    let is_ready = Record::read(folder).is_ok_and(|record| record.phase == Phase::Ready);
    if !is_ready {
        // The kernel fails everything that waits for an answer when the process is gone.
        std::process::exit(1);
    }
}

/// The log of the server in state folder `folder`, for an error message.
pub(crate) fn log_text(folder: &Path) -> String {
    fs::read_to_string(log_in(folder))
        .unwrap_or_default()
        .trim()
        .to_owned()
}
