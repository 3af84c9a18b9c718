//! The window that the ladder changes for a moment, and how it comes back.
//!
//! Each change is one of `ahead device set`: noted before, and put back by `undo` before the next one. If this
//! process is killed in between, nothing of it can run any more; so a second process waits for that: this
//! program with [`GUARD_ARGUMENT`], which reads from a pipe that ends with us. It is in a process group of its
//! own, where Ctrl-C does not reach it. If both are killed at once, the note is left, and `ahead device undo`
//! puts the window back, as does the next boot.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ahead_device::machine::MachineTree;
use ahead_device::window;
use ahead_device::{stack, target};

use crate::exit::Exit;

/// First argument of the process that puts a window back; the target and the window in KiB follow.
pub const GUARD_ARGUMENT: &str = "--put-back-window";
/// What the guard reads when the window is back already.
const DONE: &[u8] = b"done";

/// A window that is to be as before.
pub(super) struct WindowHold<'a> {
    machine: &'a MachineTree,
    target: &'a str,
    guard: Child,
    is_set: bool,
}

impl<'a> WindowHold<'a> {
    /// Of the window that counts for `target`. Nothing is changed yet.
    pub(super) fn new(machine: &'a MachineTree, target: &'a str) -> Result<Self, String> {
        let before_kib = window_of(machine, target).ok_or("its window cannot be read")?;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let guard = Command::new(program)
            .args([GUARD_ARGUMENT, target, &before_kib.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cannot start the process that puts it back: {error}"))?;
        Ok(Self {
            machine,
            target,
            guard,
            is_set: false,
        })
    }

    /// Sets it, and says what the kernel keeps.
    pub(super) fn set(&mut self, kib: u64) -> Result<u64, String> {
        self.put_back()?;
        // Also when the change fails half-way: to put back what was not changed does no harm.
        let change = window::set(self.machine, self.target, kib);
        let change = change.map_err(|error| error.to_string())?;
        self.is_set = true;
        Ok(change.now_kib)
    }

    /// Puts it back, and ends the guard.
    pub(super) fn release(mut self) -> Result<(), String> {
        self.end()
    }

    fn end(&mut self) -> Result<(), String> {
        let put_back = self.put_back();
        if let Some(mut pipe) = self.guard.stdin.take() {
            if put_back.is_ok() {
                let _ = pipe.write_all(DONE);
            }
            drop(pipe);
            let _ = self.guard.wait();
        }
        put_back
    }

    fn put_back(&mut self) -> Result<(), String> {
        if std::mem::take(&mut self.is_set) {
            let undone = window::undo(self.machine, self.target);
            undone.map_err(|error| format!("the window was not put back: {error}"))?;
        }
        Ok(())
    }
}

impl Drop for WindowHold<'_> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The guard: waits until the process that started it is gone.
pub fn guard(arguments: &[String]) -> Exit {
    let [target, before_kib] = arguments else {
        return Exit::Usage;
    };
    let mut said = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut said);
    if read.is_ok() && said == DONE {
        return Exit::Fine;
    }
    let machine = MachineTree::at(Path::new("/"));
    let is_back = || window_of(&machine, target).is_some_and(|kib| kib.to_string() == *before_kib);
    if is_back() || (window::undo(&machine, target).is_ok() && is_back()) {
        Exit::Fine
    } else {
        Exit::Failed
    }
}

fn window_of(machine: &MachineTree, text: &str) -> Option<u64> {
    let found = target::find(machine, text).ok()?;
    stack::of(machine, &found).counting()?.read_ahead_kb
}
