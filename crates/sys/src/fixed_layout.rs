//! `personality(ADDR_NO_RANDOMIZE)` - a program that lies at the same addresses in every run.
//!
//! See personality(2). A program inherits the layout from the thread that starts it, and keeps it through `exec`.

use std::io;
use std::process::{Child, Command};

/// Asks what the layout is, and changes nothing.
const ASK: libc::c_ulong = 0xffff_ffff;
/// `ADDR_NO_RANDOMIZE`.
const FIXED: libc::c_ulong = 0x0004_0000;

/// Starts `command` with addresses that are the same in every run. Where that is refused (in some containers) it starts with
/// whatever addresses come.
///
/// # Errors
/// Those of [`Command::spawn`].
pub fn spawn_with_fixed_layout(command: &mut Command) -> io::Result<Child> {
    let before = set(ASK).and_then(|now| set(now | FIXED));
    let child = command.spawn();
    if let Ok(before) = before {
        set(before).ok();
    }
    child
}

/// Of this thread; returns what was before.
fn set(persona: libc::c_ulong) -> io::Result<libc::c_ulong> {
    // SAFETY: takes a number and touches no memory.
    let before = unsafe { libc::personality(persona) };
    libc::c_ulong::try_from(before).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_program_lies_at_the_same_addresses_in_every_run_and_we_do_not_change() {
        let ours = fs::read_to_string("/proc/thread-self/personality").unwrap();
        let stack = || {
            let mut command = Command::new("grep");
            command
                .args(["-F", "[stack]", "/proc/self/maps"])
                .stdout(Stdio::piped());
            let child = spawn_with_fixed_layout(&mut command).unwrap();
            child.wait_with_output().unwrap().stdout
        };
        let runs = [stack(), stack(), stack()];
        assert!(!runs[0].is_empty());
        assert!(runs.iter().all(|run| *run == runs[0]));
        assert_eq!(
            fs::read_to_string("/proc/thread-self/personality").unwrap(),
            ours
        );
    }
}
