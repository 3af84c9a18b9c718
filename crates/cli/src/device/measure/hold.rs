//! The window that the ladder changes for a moment, and how it comes back.
//!
//! It is a [`TemporaryWindow`]: put back when it is dropped, and after a `kill -9` by whoever opens the journal
//! next. So that this is at once, a second process waits for our end: this program with [`GUARD_ARGUMENT`],
//! which reads from a pipe that ends with us. It is in a process group of its own, where Ctrl-C does not
//! reach it.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ahead_device::machine::MachineTree;
use ahead_device::temporary_window::TemporaryWindow;
use ahead_device::window_journal;

use crate::exit::Exit;

/// First argument of the process that puts windows back.
pub const GUARD_ARGUMENT: &str = "--put-back-windows";
/// What the guard reads when the window is back already.
const DONE: &[u8] = b"done";
/// How often the guard looks whether the process that held the window is gone: its pipe ends a little earlier.
const LOOKS: u32 = 100;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A window that is to be as before.
pub(super) struct WindowHold {
    /// Nothing once it was put back.
    window: Option<TemporaryWindow>,
    guard: Child,
}

impl WindowHold {
    /// Of the window that counts for `target`. Nothing is changed yet.
    pub(super) fn new(machine: &MachineTree, target: &str) -> Result<Self, String> {
        let window = TemporaryWindow::hold(machine, target).map_err(|error| error.to_string())?;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let guard = Command::new(program)
            .arg(GUARD_ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cannot start the process that puts it back: {error}"))?;
        Ok(Self {
            window: Some(window),
            guard,
        })
    }

    /// Sets it, and says what the kernel keeps.
    pub(super) fn set(&mut self, kib: u64) -> Result<u64, String> {
        let window = self.window.as_mut().ok_or("its window is put back")?;
        window.set(kib).map_err(|error| error.to_string())
    }

    /// Puts it back, and ends the guard.
    pub(super) fn release(mut self) -> Result<(), String> {
        self.end()
    }

    fn end(&mut self) -> Result<(), String> {
        let put_back = self.window.take().map_or(Ok(()), |window| {
            let put_back = window.put_back().map(drop);
            put_back.map_err(|error| format!("the window was not put back: {error}"))
        });
        if let Some(mut pipe) = self.guard.stdin.take() {
            if put_back.is_ok() {
                let _ = pipe.write_all(DONE);
            }
            drop(pipe);
            let _ = self.guard.wait();
        }
        put_back
    }
}

impl Drop for WindowHold {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The guard: waits until the process that started it is gone.
#[must_use]
pub fn guard() -> Exit {
    let mut said = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut said);
    if read.is_ok() && said == DONE {
        return Exit::Fine;
    }
    let machine = MachineTree::at(Path::new("/"));
    for _ in 0..LOOKS {
        match window_journal::put_back_left(&machine) {
            Ok(windows) if windows.is_empty() => std::thread::sleep(LOOK_EVERY),
            Ok(_) => return Exit::Fine,
            Err(_) => return Exit::Failed,
        }
    }
    Exit::Fine
}
