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

use ahead_sys::any_signal;
use ahead_sys::process_status::ignored_signals;
use rustix::process::{Pid, Resource, Rlimit, WaitId, WaitIdOptions};
use signal_hook::consts::signal::{
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGURG, SIGUSR1,
    SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::emulate_default_handler;
use signal_hook::low_level::siginfo::Cause;

use crate::exit::Exit;

/// What is passed on to CMD: all that others send and that may be caught, those of the kernel about a fault or a child left out.
const FORWARDED: [i32; 16] = [
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGURG, SIGUSR1,
    SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
];

/// SIGPWR and the real-time signals that the C library leaves to programs (`man 7 signal`).
const FORWARDED_UNNAMED: [std::ops::RangeInclusive<i32>; 2] = [30..=30, 34..=64];

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
        let unnamed = FORWARDED_UNNAMED.into_iter().flatten();
        let caught = FORWARDED
            .into_iter()
            .chain(unnamed)
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
    // A timer that was set before we took the place of who set it is meant for CMD (`perl -e 'alarm 9; exec @ARGV'`).
    let is_timer = matches!(signal, SIGALRM | SIGPROF | SIGVTALRM);
    // SI_KERNEL: the terminal, which signalled the whole group.
    if (is_timer || !matches!(cause, Cause::Kernel))
        && let Ok(target) = target.lock()
        && let Some(pid) = *target
    {
        // A child of another user cannot be signalled; then it does without, as with any parent.
        let _ = any_signal::send(pid, signal);
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
