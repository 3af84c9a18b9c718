//! The daemon of the arms `daemon` and `daemon:static`: started before a run, ended after it, and acting for the disk
//! under test alone.
//!
//! It starts anew for each run, as the library does, so that nothing it has learned of a device or a file helps the
//! next one.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use ahead_sys::block_queue::DeviceNumber;
use ahead_sys::child_usage::{ChildEnd, wait_blocking};
use rustix::process::{Pid, Signal, kill_process};

use crate::plan::ReaderCommand;

/// How each of its lines begins.
const NAME: &str = "ahead daemon: ";

/// A daemon that observes.
#[derive(Debug)]
pub(crate) struct RunningDaemon {
    child: Child,
    said: BufReader<ChildStderr>,
    ended: bool,
}

impl RunningDaemon {
    /// Starts `command` for the files of `device`, with a config file in `folder`, and waits until it observes.
    ///
    /// # Errors
    /// It cannot be started, or ended at once: then with its own words.
    pub(crate) fn start(
        command: &ReaderCommand,
        device: DeviceNumber,
        folder: &Path,
    ) -> io::Result<Self> {
        let config = folder.join("daemon.toml");
        let text = format!("[daemon.include]\ndevices = [\"{device}\"]\n");
        File::create(&config)?.write_all(text.as_bytes())?;
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .arg("--config")
            .arg(&config)
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let said = child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut daemon = Self {
            child,
            said: BufReader::new(said),
            ended: false,
        };
        let mut line = String::new();
        daemon.said.read_line(&mut line)?;
        if line.starts_with(&format!("{NAME}reading ahead")) {
            return Ok(daemon);
        }
        let line = line.trim_end();
        Err(io::Error::other(if line.is_empty() {
            "the daemon ended without a word"
        } else {
            line
        }))
    }

    /// Ends it, after it has put back what it changed; what it used.
    ///
    /// # Errors
    /// It had ended before, or did not end well: with its last words.
    pub(crate) fn end(mut self) -> io::Result<ChildEnd> {
        self.ended = true;
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM)?;
        // All that it says, so that it cannot wait for a reader of that.
        let lines: Vec<_> = self.said.by_ref().lines().map_while(Result::ok).collect();
        let end = wait_blocking(self.child.id())?;
        if end.status.success() {
            return Ok(end);
        }
        let last = lines.last().map_or("without a word", String::as_str);
        Err(io::Error::other(format!(
            "the daemon ended with {}: {last}",
            end.status
        )))
    }
}

impl Drop for RunningDaemon {
    fn drop(&mut self) {
        if !self.ended {
            // Asked to, it puts back what it changed.
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            let _ = self.child.wait();
        }
    }
}
