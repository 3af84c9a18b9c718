//! From a decision to the kernel, and what the kernel's answer teaches.
//!
//! Slow paths only: a steady reader comes here once per window. Everything is checked once more
//! before anything is asked for, because a descriptor may stand for something else by now.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use ahead_engine::adviser::{Asked, apply};
use ahead_engine::report::header;
use ahead_policy::adaptive::Outcome;

use crate::fd_table::{Entry, FileEntry};
use crate::files::{Inside, Place};
use crate::host::{self, Host};
use crate::identity::{self, Identity};
use crate::ops::Token;
use crate::shared::RecordPlace;
use crate::submit::{Direct, Queued};
use crate::ticks;

/// A reader that has neither asked nor waited for so long is believed to be gone. A slow one that
/// is not asks again for what it has: cached pages, a few microseconds.
const IDLE_NS: u64 = 5_000_000_000;

/// Looking through the table of files costs some ten microseconds: not more often than this.
const SWEEP_EVERY_NS: u64 = 100_000_000;

/// Refused requests in a row after which the library steps aside.
const REFUSALS_MAX: u32 = 16;

/// Asks the kernel for what was decided, after one more look at what the descriptor is.
#[cold]
pub(crate) fn request(host: &'static Host, place: &Place, token: &Token, outcome: Outcome) {
    let file = token.file;
    if outcome.decision.prefetch.count == 0 || !host.may_prefetch() {
        return;
    }
    // The number may stand for something else by now.
    let Some(Identity::File(seen)) = identity::look(token.fd) else {
        host.descriptors.set(token.fd, Entry::Unknown);
        return;
    };
    if !place.is(seen.device, seen.inode) {
        host.descriptors.set(token.fd, Entry::Unknown);
        return;
    }
    if token.moves_position && identity::position(token.fd) != Some(token.position) {
        // Somebody else moves this position: from now on the kernel is asked for it.
        let entry = FileEntry {
            shares_position: true,
            ..file
        };
        host.descriptors.set(token.fd, Entry::File(entry));
        return;
    }
    let device_place = place.device_place.load(Ordering::Relaxed);
    if !host.knows(device_place) {
        host.learn_facts(device_place, seen.device);
    }
    host.rate.settle();
    let now = ticks::monotonic_ns();
    place.active_ns.store(now, Ordering::Relaxed);
    give_back_idle_windows(host, now);
    let call_pages_max = host.device(device_place).call_pages_max();
    let asked = submit(host, token.fd, &outcome, call_pages_max);
    if let Some(mut inside) = host.files.enter(place, file.generation) {
        let (state, many) = inside.state();
        state.file_pages = seen.pages;
        state.on_asked(many, outcome.stream, asked, &host.engine);
        account(host, place, &mut inside, 0);
    }
    if let Some(recorder) = &host.recorder {
        recorder.on_decision(place, &outcome.decision);
    }
    if let Some(shared) = &host.shared {
        let record = RecordPlace::from_word(place.record.load(Ordering::Relaxed));
        shared.tell(
            record,
            &outcome.decision,
            ticks::monotonic_ns(),
            identity::process(),
        );
        let unread = host.engine.budget.unread().get();
        shared
            .header(header::UNREAD_PAGES_MAX)
            .fetch_max(unread, Ordering::Relaxed);
    }
}

/// Gives the windows of files that nobody reads any more back to the budget, when it gets tight.
/// They outlive the close of a file, as many readers come back to it.
fn give_back_idle_windows(host: &Host, now: u64) {
    let swept = host.swept_ns.load(Ordering::Relaxed);
    if !host.engine.budget.is_tight() || now.saturating_sub(swept) < SWEEP_EVERY_NS {
        return;
    }
    host.swept_ns.store(now, Ordering::Relaxed);
    for place in host.files.used() {
        if now.saturating_sub(place.active_ns.load(Ordering::Relaxed)) < IDLE_NS {
            continue;
        }
        if let Some(mut inside) = host.files.enter(place, place.generation()) {
            let (state, many) = inside.state();
            state.on_idle(many, &host.engine);
        }
    }
}

fn submit(host: &'static Host, fd: c_int, outcome: &Outcome, call_pages_max: u64) -> Asked {
    let prefetch = &outcome.decision.prefetch;
    // SAFETY: null, or a leaked box that only changes through atomics.
    let helper = unsafe { host.helper.load(Ordering::Acquire).as_ref() };
    let (asked, calls, dropped) = match helper.filter(|helper| helper.is_ready()) {
        Some(helper) => {
            let mut queued = Queued {
                fd,
                helper,
                calls: 0,
                dropped: 0,
            };
            let asked = apply(prefetch, call_pages_max, &mut queued);
            helper.wake();
            (asked, queued.calls, queued.dropped)
        }
        None => {
            let mut direct = Direct {
                fd,
                rate: &host.rate,
                calls: 0,
            };
            let asked = apply(prefetch, call_pages_max, &mut direct);
            note_answer(host, asked);
            (asked, direct.calls, 0)
        }
    };
    if let Some(shared) = &host.shared {
        shared
            .header(header::CALLS)
            .fetch_add(calls, Ordering::Relaxed);
        shared
            .header(header::DROPPED)
            .fetch_add(dropped, Ordering::Relaxed);
    }
    asked
}

/// A kernel, or a sandbox around us, that keeps saying no is not asked again.
fn note_answer(host: &Host, asked: Asked) {
    if asked != Asked::Refused {
        host.refusals.store(0, Ordering::Relaxed);
    } else if host.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= REFUSALS_MAX {
        host::retire();
    }
}

/// Takes in what other threads left while the place was busy.
#[cold]
pub(crate) fn serve_letters(host: &'static Host, place: &Place, token: &Token) {
    let file = token.file;
    // Bounded: others may keep writing.
    for _ in 0..8 {
        let Some(mut inside) = host.files.enter(place, file.generation) else {
            return;
        };
        let Some(access) = inside.letter() else {
            return;
        };
        let (state, many) = inside.state();
        let device = host.device(place.device_place.load(Ordering::Relaxed));
        let (now, asker) = (host.rate.since_start(), u64::from(file.slot));
        let outcome = state.on_access(many, access, now, &host.engine, device, asker);
        drop(inside);
        request(host, place, &token.of_another_thread(), outcome);
    }
}

/// Adds the file's account to the shared one, if there is one and enough has happened.
pub(crate) fn account(host: &Host, place: &Place, inside: &mut Inside<'_>, least: u64) {
    inside.grow_if_wanted();
    let (state, _) = inside.state();
    if state.untold_accesses() < least {
        return;
    }
    let window = state.window.get();
    let (pattern, reason) = (state.pattern.code(), state.reason.code());
    let (tally, wasted) = state.take_tally();
    let record = RecordPlace::from_word(place.record.load(Ordering::Relaxed));
    if let (Some(shared), Some(record)) = (&host.shared, record) {
        shared.add(record, &tally, wasted, window);
        shared.set_pattern(record, pattern, reason);
    }
}
