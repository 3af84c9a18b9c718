//! Being a good parent of CMD: its signals, its stops, its death.
//!
//! The terminal sends its signals to the whole foreground group, so CMD already has those; only
//! what was sent to us alone is passed on. When CMD dies by a signal, we die by the same one,
//! so that a shell or a service manager sees what it would have seen without us.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};

use ahead_sys::process_status::ignored_signals;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions};
use signal_hook::consts::signal::{
    SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::emulate_default_handler;
use signal_hook::low_level::siginfo::Cause;

use crate::exit::Exit;

/// What is passed on to CMD.
const FORWARDED: [i32; 9] = [
    SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH,
];

/// Signals caught since before CMD was started, to be handed to it.
pub struct SignalRelay {
    signals: SignalsInfo<WithOrigin>,
}

impl SignalRelay {
    /// Starts catching. Call before CMD is started, so that no signal falls between the two.
    /// Signals that are ignored here (`nohup`) stay ignored, for us and for CMD.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn install() -> io::Result<Self> {
        let ignored = ignored_signals(Path::new("/proc")).unwrap_or(0);
        let caught = FORWARDED
            .into_iter()
            .filter(|signal| ignored & (1 << (signal - 1)) == 0);
        Ok(Self {
            signals: SignalsInfo::new(caught)?,
        })
    }

    /// Waits until `child` has ended, passing signals on meanwhile.
    ///
    /// # Errors
    /// The child cannot be waited for.
    pub fn wait_for(self, mut child: Child) -> io::Result<ExitStatus> {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let Some(pid) = pid else { return child.wait() };
        // `None` once the child's number may belong to another process.
        let target = Arc::new(Mutex::new(Some(pid)));
        let handle = self.signals.handle();
        let relay = {
            let target = Arc::clone(&target);
            let mut signals = self.signals;
            std::thread::spawn(move || {
                for origin in signals.forever() {
                    pass_on(origin.signal, origin.cause, &target);
                }
            })
        };
        // The dead child keeps its number until it is reaped, which happens after the relay has
        // been asked to send nothing more to that number.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::Pid(pid), ended));
        if let Ok(mut target) = target.lock() {
            *target = None;
        }
        let status = child.wait();
        handle.close();
        let _ = relay.join();
        status
    }
}

fn pass_on(signal: i32, cause: Cause, target: &Mutex<Option<Pid>>) {
    // SI_KERNEL: the terminal, which signalled the whole group.
    if !matches!(cause, Cause::Kernel)
        && let Ok(target) = target.lock()
        && let Some(pid) = *target
        && let Some(named) = Signal::from_named_raw(signal)
    {
        // A child of another user cannot be signalled; then it does without, as with any parent.
        let _ = rustix::process::kill_process(pid, named);
    }
    if signal == SIGTSTP {
        // The shell that started us waits for us to stop, not for CMD.
        let _ = emulate_default_handler(SIGTSTP);
    }
}

/// Ends this process the way CMD ended: returns its exit status, or dies by its signal.
#[must_use]
pub fn end_like(status: ExitStatus) -> Exit {
    if let Some(signal) = status.signal() {
        // One core dump is enough: CMD's own.
        let _ = rustix::process::setrlimit(
            Resource::Core,
            Rlimit {
                current: Some(0),
                maximum: Some(0),
            },
        );
        let _ = emulate_default_handler(signal);
        // Real-time signals and those that do not kill us: the shells' way of saying it.
        return Exit::OfCommand(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    Exit::OfCommand(
        status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(u8::MAX),
    )
}
