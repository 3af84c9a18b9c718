//! When this process comes to life: not when the library is loaded, but when a read waits.
//!
//! Most processes find all they read in memory and are over soon. They should not pay for what
//! they do not use, so until then nothing is made: no table, no mapping, no system call. An account
//! or a recording is about all reads, so there the first read makes the host, whatever it took.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use ahead_engine::report::Aside;
use ahead_engine::settings::PolicyChoice;

use crate::host::Host;
use crate::{aside, environment, guard, host, sandbox};

/// Our own constructor has not run: what was handed over is not known, so every hook is a plain call.
const LOADING: u8 = 0;
/// Nothing was made yet, nor looked at.
const ASLEEP: u8 = 1;
/// Nothing was made yet, but our own system calls are known to be safe.
const CLEARED: u8 = 2;
/// The host was made, or is being made.
const AWAKE: u8 = 3;
/// There is no host, and there will never be one.
const OVER: u8 = 4;

static STATE: AtomicU8 = AtomicU8::new(LOADING);

/// Whether all reads are to be seen: set by the constructor.
static SEES_ALL: AtomicBool = AtomicBool::new(false);

/// Whether every hook is a plain call: not yet, or not any more.
#[inline]
pub(crate) fn is_over() -> bool {
    matches!(STATE.load(Ordering::Relaxed), LOADING | OVER)
}

/// What was handed over is known: the first read that waits may make the host. Called by the
/// constructor, at its end.
pub(crate) fn fall_asleep() {
    STATE.store(ASLEEP, Ordering::Relaxed);
}

/// All reads are to be seen, from the first one on: called by the constructor.
pub(crate) fn see_all() {
    SEES_ALL.store(true, Ordering::Relaxed);
}

/// Whether all reads are to be seen, for an account, a recording, or to turn read-ahead off.
#[inline]
pub(crate) fn sees_all() -> bool {
    SEES_ALL.load(Ordering::Relaxed)
}

/// Nothing will ever be made in this process, or be done again.
pub(crate) fn never() {
    STATE.store(OVER, Ordering::Relaxed);
}

/// Whether system calls of ours are known to be safe here. Finds out on the first call.
pub(crate) fn may_act() -> bool {
    match STATE.load(Ordering::Relaxed) {
        CLEARED | AWAKE => true,
        LOADING | OVER => false,
        _ => match sandbox::is_known() {
            Some(true) => {
                // Another thread may be further already.
                let order = Ordering::Relaxed;
                let _ = STATE.compare_exchange(ASLEEP, CLEARED, order, order);
                true
            }
            Some(false) => {
                aside::count(Aside::SandboxInherited);
                never();
                false
            }
            None => false,
        },
    }
}

/// The host of this process, made now if it was not. `None`: it cannot be made, or is being made by
/// another thread, whose next read finds it.
pub(crate) fn host() -> Option<&'static Host> {
    let made = host::get();
    if made.is_some() || !may_act() {
        return made;
    }
    make();
    host::get()
}

#[cold]
fn make() {
    let claimed = STATE.compare_exchange(CLEARED, AWAKE, Ordering::Relaxed, Ordering::Relaxed);
    if claimed.is_err() {
        return;
    }
    guard::prepare(environment::value(c"AHEAD_STRICT").is_some());
    if host::settings().policy == PolicyChoice::Kernel && !sees_all() {
        // Watching without an account is for nothing.
        never();
        return;
    }
    host::make();
    let Some(host) = host::get() else {
        aside::count(Aside::NoAddressSpace);
        never();
        return;
    };
    // An account that cannot be opened is of no reads at all.
    if !host.is_kept() && sees_all() {
        see_what_waits(host.settings.policy);
    }
}

/// What every read was to be seen for is not there.
fn see_what_waits(policy: PolicyChoice) {
    match policy {
        // Read-ahead is turned off for each descriptor before its first read.
        PolicyChoice::Off => {}
        PolicyChoice::Kernel => {
            host::retire();
            never();
        }
        _ => SEES_ALL.store(false, Ordering::Relaxed),
    }
}
