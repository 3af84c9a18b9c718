//! The server while its disk is being made: started, waited for, then let go.
//!
//! It holds a pipe from us, and ends when that closes before the journal calls the disk ready (see
//! `server`). So from the moment it exists there is nothing to clean up about it, whatever happens to
//! us.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use ahead_device::undo::NotedProcess;

use super::options::CreateError;
use crate::record::{Record, log_in};
use crate::server::{self, READY_LINE, SERVER_ARGUMENT};

/// A server that is starting. Dropping it before [`let_go`](Self::let_go) ends it.
pub(super) struct ServerBeingMade {
    exe: PathBuf,
    /// `None` once it was let go.
    child: Option<Child>,
}

impl ServerBeingMade {
    /// Starts `exe` and writes down who it is.
    pub(super) fn start(record: &mut Record, exe: &Path) -> Result<Self, CreateError> {
        let wrong = |error: io::Error| CreateError::Server {
            exe: exe.to_owned(),
            reason: error.to_string(),
        };
        let folder = record.folder();
        let log = File::create(log_in(&folder)).map_err(wrong)?;
        let child = Command::new(exe)
            .arg(SERVER_ARGUMENT)
            .arg(&folder)
            // A library that watches the caller has nothing to watch in the server.
            .env_remove("LD_PRELOAD")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(wrong)?;
        let pid = child.id();
        let server = Self {
            exe: exe.to_owned(),
            child: Some(child),
        };
        let process = NotedProcess::of(pid).map_err(|_| server.failure(record))?;
        record.server = Some(process);
        record.write()?;
        Ok(server)
    }

    /// Waits until the image can be opened.
    pub(super) fn wait_until_ready(&mut self, record: &Record) -> Result<(), CreateError> {
        let mut line = String::new();
        if let Some(out) = self.child.as_mut().and_then(|child| child.stdout.take()) {
            // A server that dies closes the pipe, which ends the reading.
            let _ = BufReader::new(out).read_line(&mut line);
        }
        if line.trim_end() == READY_LINE {
            Ok(())
        } else {
            Err(self.failure(record))
        }
    }

    /// Leaves the server to itself: the journal says that the disk is ready.
    pub(super) fn let_go(mut self) {
        if let Some(mut child) = self.child.take() {
            // Closed first of all, which is what the server waits for.
            drop(child.stdin.take());
            // Notices its end, so that it does not stay as a zombie while this process lives. Not
            // being able to costs no more than that zombie.
            let waiting = thread::Builder::new().name("disk-server".into());
            drop(waiting.spawn(move || child.wait()));
        }
    }

    fn failure(&self, record: &Record) -> CreateError {
        let log = server::log_text(&record.folder());
        // What it says last is why it ended.
        let reason = log.lines().last().map_or_else(
            || format!("it ended before it was ready (does it handle {SERVER_ARGUMENT}?)"),
            str::to_owned,
        );
        CreateError::Server {
            exe: self.exe.clone(),
            reason,
        }
    }
}

impl Drop for ServerBeingMade {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Failing means that it has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
