//! What happens to descriptors beside being read: they come, go, are copied and sought, mapped and
//! advised about, and the process forks, enters a sandbox, ends. Reads are in [`ops`](crate::ops).

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use ahead_engine::report::{Aside, flags, header};
use ahead_policy::reason::{Pattern, Reason};
use ahead_units::Advice;

use crate::fd_table::{self, Entry, FileEntry, Line, line, line_in_use};
use crate::ops::{flag, is_watched, set_position};
use crate::recording::{self, Kind};
use crate::{aside, host, identity, ticks, trees, wake};

/// A descriptor was opened: the number means something new.
pub(crate) fn on_open(fd: c_int) {
    if let Some(line) = line_of_new(fd) {
        line.on_open();
        fd_table::note_use(fd);
    }
}

/// The line of a number that is in use now. None is made in a process that has stepped aside: that would map memory.
fn line_of_new(fd: c_int) -> Option<&'static Line> {
    if wake::is_over() {
        return line(fd);
    }
    line_in_use(fd)
}

/// A descriptor is about to be closed.
pub(crate) fn on_close(fd: c_int) {
    let Some(line) = line(fd) else {
        return;
    };
    if let Entry::File(entry) = line.entry()
        && let Some(host) = host::get()
    {
        host.session.on_close(entry.file, ticks::timestamp());
        recording::on_close(entry.file);
    }
    line.on_close();
}

/// Descriptors `first` to `last`, both inclusive, were closed.
pub(crate) fn on_close_range(first: u32, last: u32) {
    fd_table::close_range(first, last);
}

/// `new` stands for the same open file as `old`. In the child of a `vfork`, whose memory is its
/// parent's, that costs the parent another look at `new`, and checks of the position of `old`.
pub(crate) fn on_dup(old: c_int, new: c_int) {
    if old == new {
        return;
    }
    let old = line(old);
    if let Some(old) = old {
        old.share();
    }
    if let Some(line) = line_of_new(new)
        && !line.is_of_parent()
    {
        line.forget();
        line.share();
        line.begin_opening();
        if let Some(old) = old {
            line.copy_said(old);
            line.copy_origin(old);
        }
    }
}

/// The position of `fd` was set.
pub(crate) fn on_seek(fd: c_int, position: i64) {
    if let Ok(position) = u64::try_from(position) {
        set_position(fd, position);
    }
}

/// The program gave advice. What it says about random reads and about pages it wants is respected:
/// no requests of ours through this descriptor until it takes that back.
pub(crate) fn on_fadvise(fd: c_int, offset: i64, length: i64, advice: c_int) {
    note_advice(fd, offset, length, advice);
    match advice {
        libc::POSIX_FADV_RANDOM | libc::POSIX_FADV_WILLNEED => set_program_advises(fd, true),
        libc::POSIX_FADV_NORMAL | libc::POSIX_FADV_SEQUENTIAL => {
            set_program_advises(fd, false);
            set_advice(fd, advice);
        }
        _ => {}
    }
}

/// NORMAL or SEQUENTIAL: what is known of the file changes now if it was looked at, else with that look.
fn set_advice(fd: c_int, advice: c_int) {
    let Some(line) = line_of_new(fd) else {
        return;
    };
    line.set_advice(if advice == libc::POSIX_FADV_SEQUENTIAL {
        Advice::Sequential
    } else {
        Advice::Normal
    });
    if let Entry::File(entry) = line.entry()
        && let Some(host) = host::get()
    {
        host.session.on_advice(entry.file, line.advice());
    }
}

/// A recording has advice about files that are looked at.
fn note_advice(fd: c_int, offset: i64, length: i64, advice: c_int) {
    if recording::is_on() && is_watched(fd) {
        recording::on_advice(fd, offset, length, advice);
    }
}

/// The program reads ahead itself.
pub(crate) fn on_readahead(fd: c_int, offset: i64, count: usize) {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    note_advice(fd, offset, count, libc::POSIX_FADV_WILLNEED);
    set_program_advises(fd, true);
}

fn set_program_advises(fd: c_int, program_advises: bool) {
    if wake::is_over() {
        return;
    }
    let Some(line) = line_in_use(fd) else {
        return;
    };
    if program_advises {
        aside::count(Aside::ProgramAdvises);
        // Only where we may ask which process this is: without that, the child of a `vfork` that closes the number ends the advice.
        if wake::may_act() {
            fd_table::note_adviser();
        }
        // An account names the files that were left to their programs.
        if wake::sees_all() {
            is_watched(fd);
        }
        line.set_advice(Advice::Random);
    }
    match line.entry() {
        Entry::File(entry) => {
            let entry = FileEntry {
                program_advises,
                ..entry
            };
            line.set(Entry::File(entry));
            if program_advises {
                note_program_advises(entry);
            }
        }
        Entry::Unwatched if program_advises => line.set(Entry::Advised),
        Entry::Advised if !program_advises => line.set(Entry::Unwatched),
        Entry::Unwatched | Entry::Advised | Entry::Ignored => {}
    }
}

fn note_program_advises(entry: FileEntry) {
    let Some(host) = host::get() else {
        return;
    };
    let Some(place) = host.session.files.place(entry.file) else {
        return;
    };
    flag(host, place, flags::PROGRAM_ADVISES);
    if let (Some(account), Some(record)) = (host.account(), place.record()) {
        let reason = Reason::ProgramAdvises.code();
        account.set_pattern(record, Pattern::Unknown.code(), reason);
    }
}

/// The program mapped a file: its faults will be missing in the account, which says so.
pub(crate) fn on_mmap(fd: c_int, length: usize, offset: i64) {
    if fd < 0 || !wake::sees_all() || !is_watched(fd) {
        return;
    }
    if let Ok(offset) = u64::try_from(offset) {
        recording::on_descriptor(fd, Kind::Map, 0, offset, length as u64);
    }
    let Some(host) = host::get() else {
        return;
    };
    if let Some(account) = host.account() {
        account
            .header(header::MAPPINGS)
            .fetch_add(1, Ordering::Relaxed);
    }
    if let Some(Entry::File(entry)) = line(fd).map(Line::entry)
        && let Some(place) = host.session.files.place(entry.file)
    {
        flag(host, place, flags::MAPPED);
    }
}

/// This process has forked a child: both move the positions of what is open.
pub(crate) fn after_fork_in_parent() {
    fd_table::on_fork();
}

/// This is the child of a fork: the other threads are gone, positions are shared, and nothing has
/// been asked for here.
pub(crate) fn after_fork_in_child() {
    fd_table::on_fork_in_child();
    trees::after_fork_in_child();
    let Some(host) = host::get() else {
        return;
    };
    host.session.files.on_fork_in_child();
    host.session.on_fork_in_child(identity::process());
    if let Some(account) = host.account() {
        account
            .header(header::PROCESSES)
            .fetch_add(1, Ordering::Relaxed);
    }
}

/// The process is about to forbid itself system calls: ours could end it, so there will be none.
pub(crate) fn on_sandbox() {
    aside::count(Aside::SandboxAnnounced);
    trees::stop();
    wake::never();
    host::retire();
    // Nothing is asked about a descriptor any more: of those that were looked at, positions and kinds would be.
    fd_table::forget_all();
}

/// The process ends: what is not in the account yet goes there, and its part of the budget is free.
pub(crate) fn at_exit() {
    if let Some(host) = host::get() {
        host.session.on_exit();
    }
}
