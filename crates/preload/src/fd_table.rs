//! What each descriptor number stands for, as far as we saw: a hint, never a fact.
//!
//! A number that was not looked at is *unwatched*: its reads are timed and nothing else, until one
//! waits for a device. Then the number is looked at, and what it stands for is kept here. A program
//! can close and reuse numbers behind our back (raw system calls, other threads between two
//! instructions), so every decision checks the file's identity again before anything is asked for.
//! A wrong entry costs a hint, nothing else.
//!
//! The lines of the first numbers are part of the library's zeroed data; lines of higher ones come
//! in chunks, when a number of the chunk is first in use: opened, copied, or looked at. A number without a chunk is
//! unwatched, and whoever only closes it, or asks what it is, makes none: programs close a million numbers that they
//! do not have, and a sandbox may forbid to map memory. Nothing is locked or allocated.

use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};

use ahead_units::Advice;

use crate::identity;
use crate::memory::zeroed_array;

/// Numbers of one chunk: 64 KiB of lines.
const CHUNK: usize = 1024;

/// Chunks: a million numbers, as many as the kernel allows by default. Reads through higher ones
/// are not noticed.
const CHUNKS: usize = 1024;

/// What a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Not looked at.
    Unwatched,
    /// Not looked at, and not to be: the program gives advice of its own.
    Advised,
    /// Nothing that we can help: a pipe, a socket, a directory, a file that bypasses the cache.
    Ignored,
    /// A file.
    File(FileEntry),
}

/// A file's place in the table of files, and which file of that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileRef {
    /// The place.
    pub(crate) slot: u32,
    /// The low bits of that place's generation: another value means another file lives there.
    pub(crate) generation: u16,
}

/// A descriptor of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileEntry {
    /// The file.
    pub(crate) file: FileRef,
    /// Others move the position too, or may: see [`Line::is_position_believed`].
    pub(crate) shares_position: bool,
    /// The program gives advice of its own: no requests through this descriptor.
    pub(crate) program_advises: bool,
}

/// A position that others may move is counted for at most one less than 2 to this, 63 reads. More would gain nothing. Who
/// begins to move it meanwhile, as a process after a fork, is seen that much later: until then reads are taken for others.
const BELIEVED_LOG2_MAX: u8 = 6;

const WATCHED: u64 = 1 << 63;
const IGNORED: u64 = 1 << 62;
const SHARES_POSITION: u64 = 1 << 61;
const PROGRAM_ADVISES: u64 = 1 << 60;

/// What was said last of how a number is read.
#[repr(u8)]
enum Said {
    /// Not known: others opened it.
    Unknown = 0,
    Nothing,
    /// The program: SEQUENTIAL.
    Sequential,
    /// The program: something else.
    Other,
    /// The program: RANDOM, or which pages it wants. It is left to itself.
    Advises,
    /// The library: SEQUENTIAL.
    ByUs,
}

/// Whether what is read through a number is in the page cache afterwards.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caching {
    /// Was not asked.
    Unknown = 0,
    /// It was not, once.
    Doubted,
    /// The next read is one for which nothing is asked, so that only itself can have brought its pages.
    Checked,
    /// It is, or the kernel does not say.
    Known,
}

/// One number, in a cache line of its own. All zero: never seen, inherited from whoever started the
/// program.
#[repr(align(64))]
pub(crate) struct Line {
    what: AtomicU64,
    position: AtomicU64,
    /// When its newest read ended, in ticks; 0: time the next read from its beginning.
    pub(crate) read_ended: AtomicU64,
    /// Which age of the process opened it; see [`on_fork`].
    age: AtomicU32,
    /// Reads that are still to be timed from their beginning.
    pub(crate) timed_reads: AtomicU32,
    /// The thread whose read ended last.
    pub(crate) reader: AtomicU64,
    /// How often the number was opened: a folder is meant by both.
    openings: AtomicU32,
    /// What was said of how it is read, a [`Said`].
    said: AtomicU8,
    /// Of a position that others may move: how often in a row they had not, and for how many reads it is believed
    /// now that they do not.
    unmoved: AtomicU8,
    believed_reads: AtomicU8,
    /// A [`Caching`].
    caching: AtomicU8,
    /// By which folder and name it was opened, as the trees know them; 0: not known.
    origin: [AtomicU64; 2],
}

impl Line {
    const fn new() -> Self {
        Self {
            what: AtomicU64::new(0),
            position: AtomicU64::new(0),
            read_ended: AtomicU64::new(0),
            age: AtomicU32::new(0),
            timed_reads: AtomicU32::new(0),
            reader: AtomicU64::new(0),
            openings: AtomicU32::new(0),
            said: AtomicU8::new(Said::Unknown as u8),
            unmoved: AtomicU8::new(0),
            believed_reads: AtomicU8::new(0),
            caching: AtomicU8::new(Caching::Unknown as u8),
            origin: [const { AtomicU64::new(0) }; 2],
        }
    }
}

static FIRST: [Line; CHUNK] = [const { Line::new() }; CHUNK];
static FURTHER: [AtomicPtr<Line>; CHUNKS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS];

/// Grows with every fork. A descriptor that is older than the newest one has a position that the
/// other process may move. Inherited ones are of age 0.
static AGE: AtomicU32 = AtomicU32::new(1);

/// The process whose programs have given advice in this memory; 0: none has, or which one it is may not be asked.
static ADVISER: AtomicU32 = AtomicU32::new(0);

/// This process gives advice about a number. Is asked for once: it is the same from then on.
pub(crate) fn note_adviser() {
    if ADVISER.load(Relaxed) == 0 {
        ADVISER.store(identity::process(), Relaxed);
    }
}

/// This is the child of a fork, in memory of its own: what it has is a copy of what its parent had.
pub(crate) fn on_fork_in_child() {
    on_fork();
    if ADVISER.load(Relaxed) != 0 {
        ADVISER.store(identity::process(), Relaxed);
    }
}

/// This process was forked, or forked one: what is open now is shared.
pub(crate) fn on_fork() {
    AGE.fetch_add(1, Relaxed);
}

/// The line of `fd`; `None` for what is not a number of ours, and where there is none yet: see [`is_without_line`].
#[inline]
pub(crate) fn line(fd: i32) -> Option<&'static Line> {
    let number = usize::try_from(fd).ok()?;
    match FIRST.get(number) {
        Some(line) => Some(line),
        None => further(number, false),
    }
}

/// The line of `fd`, which is in use: made if there was none, which maps memory: not for
/// a process that has stepped aside.
#[inline]
pub(crate) fn line_in_use(fd: i32) -> Option<&'static Line> {
    let number = usize::try_from(fd).ok()?;
    match FIRST.get(number) {
        Some(line) => Some(line),
        None => further(number, true),
    }
}

/// Whether `fd` is a number of ours that has no line: it is unwatched, and was not in use as far as was seen.
pub(crate) fn is_without_line(fd: i32) -> bool {
    usize::try_from(fd).is_ok_and(|number| number < CHUNK * CHUNKS) && line(fd).is_none()
}

/// What `fd` stands for; `None` for what is not a number of ours.
#[inline]
pub(crate) fn entry(fd: i32) -> Option<Entry> {
    match line(fd) {
        Some(line) => Some(line.entry()),
        None => is_without_line(fd).then_some(Entry::Unwatched),
    }
}

/// Stands for the numbers that have no line where reads through them are timed: each from its own beginning.
pub(crate) static WITHOUT_LINE: Line = Line::new();

/// The line of `fd`, if it is one of the first numbers.
#[inline(always)]
pub(crate) fn first_lines(fd: i32) -> Option<&'static Line> {
    FIRST.get(usize::try_from(fd).ok()?)
}

#[cold]
fn further(number: usize, make: bool) -> Option<&'static Line> {
    let chunk = FURTHER.get(number / CHUNK)?;
    let mut lines = chunk.load(Ordering::Acquire);
    if lines.is_null() {
        if !make {
            return None;
        }
        // SAFETY: all-zero bytes are valid atomics.
        let made = unsafe { zeroed_array::<Line>(CHUNK)? }.as_ptr().cast_mut();
        let won = chunk.compare_exchange(lines, made, Ordering::AcqRel, Ordering::Acquire);
        // Who comes second leaves 64 KiB of untouched address space behind.
        lines = won.err().unwrap_or(made);
    }
    // SAFETY: a chunk is never unmapped and has `CHUNK` lines.
    Some(unsafe { &*lines.add(number % CHUNK) })
}

impl Line {
    /// What the number stands for.
    #[inline]
    pub(crate) fn entry(&self) -> Entry {
        let what = self.what.load(Relaxed);
        if what & WATCHED != 0 {
            Entry::File(FileEntry {
                file: FileRef {
                    slot: u32::try_from(what & 0xffff_ffff).unwrap_or(0),
                    generation: u16::try_from(what >> 32 & 0xffff).unwrap_or(0),
                },
                shares_position: what & SHARES_POSITION != 0,
                program_advises: what & PROGRAM_ADVISES != 0,
            })
        } else if what & IGNORED != 0 {
            Entry::Ignored
        } else if what & PROGRAM_ADVISES != 0 {
            Entry::Advised
        } else {
            Entry::Unwatched
        }
    }

    /// Whether the number was not looked at.
    #[inline(always)]
    pub(crate) fn is_unwatched(&self) -> bool {
        self.what.load(Relaxed) == 0
    }

    /// Says what the number stands for.
    pub(crate) fn set(&self, entry: Entry) {
        let what = match entry {
            Entry::Unwatched => 0,
            Entry::Ignored => IGNORED,
            Entry::Advised => PROGRAM_ADVISES,
            Entry::File(entry) => {
                let flag = |set: bool, bit: u64| if set { bit } else { 0 };
                WATCHED
                    | u64::from(entry.file.slot)
                    | u64::from(entry.file.generation) << 32
                    | flag(entry.shares_position, SHARES_POSITION)
                    | flag(entry.program_advises, PROGRAM_ADVISES)
            }
        };
        // Only write what changes: closing a thousand unknown numbers must not touch a page each.
        if self.what.load(Relaxed) != what {
            self.what.store(what, Relaxed);
        }
    }

    /// The number was opened by this process: no other has its position.
    pub(crate) fn on_open(&self) {
        if self.is_of_parent() {
            return;
        }
        self.forget();
        self.set_said(Said::Nothing);
        self.age.store(AGE.load(Relaxed), Relaxed);
        self.begin_opening();
    }

    /// The number stands for something new.
    pub(crate) fn begin_opening(&self) {
        let openings = self.openings.load(Relaxed);
        self.openings.store(openings.wrapping_add(1), Relaxed);
        if self.origin[0].load(Relaxed) != 0 {
            self.set_origin([0; 2]);
        }
    }

    /// By which folder and name it was opened.
    pub(crate) fn origin(&self) -> [u64; 2] {
        [0, 1].map(|word: usize| self.origin[word].load(Relaxed))
    }

    /// Sets it.
    pub(crate) fn set_origin(&self, origin: [u64; 2]) {
        for (word, value) in self.origin.iter().zip(origin) {
            word.store(value, Relaxed);
        }
    }

    /// The number is a copy of `old`, which was opened so.
    pub(crate) fn copy_origin(&self, old: &Line) {
        let origin = old.origin();
        if origin[0] != 0 {
            self.set_origin(origin);
        }
    }

    /// How often the number was opened, as far as that was seen.
    pub(crate) fn openings(&self) -> u32 {
        self.openings.load(Relaxed)
    }

    /// The number was closed, or is about to be.
    pub(crate) fn on_close(&self) {
        if !self.is_of_parent() {
            self.forget();
        }
    }

    /// The flags of the number were changed: it is to be looked at again, and what the program said of it stands.
    pub(crate) fn on_flags(&self) {
        let said = self.said.load(Relaxed);
        self.forget();
        self.said.store(said, Relaxed);
        if self.is_advised() {
            self.set(Entry::Advised);
        }
    }

    /// Whether the program reads ahead itself through the number, or said that nothing is to be read ahead.
    pub(crate) fn is_advised(&self) -> bool {
        self.said.load(Relaxed) == Said::Advises as u8
    }

    /// Whether this is the child of a `vfork`, in the memory of its parent, who has said of the number how it is read:
    /// what happens to it here does not happen there.
    pub(crate) fn is_of_parent(&self) -> bool {
        let adviser = || ADVISER.load(Relaxed);
        self.is_advised() && adviser() != 0 && adviser() != identity::process()
    }

    /// The number stands for something that was not looked at.
    pub(crate) fn forget(&self) {
        self.set(Entry::Unwatched);
        if self.read_ended.load(Relaxed) != 0 {
            self.read_ended.store(0, Relaxed);
        }
        self.doubt_position();
        self.set_said(Said::Unknown);
        self.set_caching(Caching::Unknown);
    }

    /// What the program said last about how it reads through the number, where that is not left to it.
    pub(crate) fn advice(&self) -> Advice {
        if self.said.load(Relaxed) == Said::Sequential as u8 {
            Advice::Sequential
        } else {
            Advice::Normal
        }
    }

    /// The program said how it reads through the number; RANDOM also where it says which pages it wants.
    pub(crate) fn set_advice(&self, advice: Advice) {
        self.set_said(match advice {
            Advice::Random => Said::Advises,
            Advice::Sequential => Said::Sequential,
            _ => Said::Other,
        });
    }

    /// The number is a copy of `old`, through which it was said how both are read.
    pub(crate) fn copy_said(&self, old: &Line) {
        self.said.store(old.said.load(Relaxed), Relaxed);
        if self.is_advised() {
            self.set(Entry::Advised);
        }
    }

    /// Whether it is we who say SEQUENTIAL now, once: this process has opened it, and said nothing. From now on we have.
    pub(crate) fn claim_widening(&self) -> bool {
        let may = self.said.load(Relaxed) == Said::Nothing as u8;
        if may {
            self.set_said(Said::ByUs);
        }
        may
    }

    /// Whether it is still to be found out if what is read is in the page cache afterwards.
    pub(crate) fn wonders_about_cache(&self) -> bool {
        self.caching.load(Relaxed) != Caching::Known as u8
    }

    /// A read had to wait, for which nothing was asked ahead, and `left` of its pages are in the page cache now, or were evicted
    /// from it. Whether there are never any: none were, twice in a row. Others may have dropped them once.
    pub(crate) fn on_pages_left(&self, left: bool) -> bool {
        let was_doubted = self.caching.load(Relaxed) != Caching::Unknown as u8;
        self.set_caching(match left {
            true => Caching::Known,
            false => Caching::Doubted,
        });
        !left && was_doubted
    }

    /// Whether nothing is to be asked for the read that begins: for one after each doubt.
    pub(crate) fn checks_cache(&self) -> bool {
        let caching = self.caching.load(Relaxed);
        if caching == Caching::Doubted as u8 {
            self.set_caching(Caching::Checked);
        } else if caching == Caching::Checked as u8 {
            self.set_caching(Caching::Unknown);
        }
        caching == Caching::Doubted as u8
    }

    fn set_caching(&self, caching: Caching) {
        let caching = caching as u8;
        if self.caching.load(Relaxed) != caching {
            self.caching.store(caching, Relaxed);
        }
    }

    fn set_said(&self, said: Said) {
        let said = said as u8;
        if self.said.load(Relaxed) != said {
            self.said.store(said, Relaxed);
        }
    }

    /// The number is one of several for one open file, with one position.
    pub(crate) fn share(&self) {
        self.age.store(0, Relaxed);
        self.doubt_position();
    }

    /// Whether others may move the position: a copy of the number, or another process since a fork.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.age.load(Relaxed) != AGE.load(Relaxed)
    }

    /// The same for a file that is watched as `entry` says: of one that is open for writing too, what is written is
    /// not seen.
    #[inline]
    pub(crate) fn may_others_move(&self, entry: FileEntry) -> bool {
        entry.shares_position || self.is_shared()
    }

    /// Whether the position of a watched file that others may move is believed to be what we counted, for one
    /// more read. Most never do: `prog < file` has it from a shell that waits.
    #[inline]
    pub(crate) fn is_position_believed(&self) -> bool {
        let left = self.believed_reads.load(Relaxed);
        if left > 0 {
            self.believed_reads.store(left - 1, Relaxed);
        }
        left > 0
    }

    /// A position that others may move begins to be one, or was not counted for a while.
    pub(crate) fn doubt_position(&self) {
        if self.unmoved.load(Relaxed) != 0 {
            self.unmoved.store(0, Relaxed);
            self.believed_reads.store(0, Relaxed);
        }
    }

    /// The kernel was asked for a position that others may move. Who does not move it is believed for twice as
    /// many reads, from the second time on.
    pub(crate) fn on_position(&self, position: u64) {
        let unmoved = if position == self.position() {
            self.unmoved
                .load(Relaxed)
                .saturating_add(1)
                .min(BELIEVED_LOG2_MAX + 1)
        } else {
            0
        };
        let believed = (1_u8 << unmoved.saturating_sub(1)) - 1;
        self.unmoved.store(unmoved, Relaxed);
        self.believed_reads.store(believed, Relaxed);
        self.set_position(position);
    }

    /// The position as we counted it; exact for watched files that do not share it.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.position.load(Relaxed)
    }

    /// Where the number stands, if that was counted.
    pub(crate) fn tracked_position(&self) -> Option<u64> {
        match self.entry() {
            Entry::File(entry) if !self.may_others_move(entry) => Some(self.position()),
            _ => None,
        }
    }

    /// What this process has read through the number since it opened it, in bytes. The outer `None`: not known; the
    /// inner: something, and not known how much. Reads of mappings, by raw system calls and by other processes are not
    /// seen.
    pub(crate) fn what_was_read(&self) -> Option<Option<u64>> {
        if self.is_shared() || matches!(self.entry(), Entry::Advised | Entry::Ignored) {
            return None;
        }
        if self.read_ended.load(Relaxed) == 0 {
            return Some(Some(0));
        }
        Some(self.tracked_position().filter(|position| *position > 0))
    }

    /// Sets the position.
    #[inline]
    pub(crate) fn set_position(&self, position: u64) {
        self.position.store(position, Relaxed);
    }
}

/// The highest number that was opened or watched.
static HIGHEST: AtomicU32 = AtomicU32::new(0);

/// This number is in use.
#[inline]
pub(crate) fn note_use(fd: i32) {
    if fd.cast_unsigned() > HIGHEST.load(Relaxed) {
        HIGHEST.store(fd.cast_unsigned(), Relaxed);
    }
}

/// Numbers `first` to `last`, both inclusive, are closed. Programs that start others close all numbers that there
/// are, each time, in the child of a `vfork`: so nothing is looked at beyond the highest one seen.
pub(crate) fn close_range(first: u32, last: u32) {
    for_range(first, last, Line::on_close);
}

/// Forgets all numbers, without a question to the kernel.
pub(crate) fn forget_all() {
    ADVISER.store(0, Relaxed);
    for_range(0, u32::MAX, Line::forget);
}

fn for_range(first: u32, last: u32, change: impl Fn(&Line)) {
    let first = usize::try_from(first).unwrap_or(usize::MAX);
    let last = usize::try_from(last.min(HIGHEST.load(Relaxed))).unwrap_or(usize::MAX);
    for line in FIRST.iter().take(last.saturating_add(1)).skip(first) {
        change(line);
    }
    for (chunk, lines) in FURTHER.iter().enumerate() {
        if lines.load(Ordering::Acquire).is_null() {
            continue;
        }
        let begin = chunk * CHUNK;
        for number in begin.max(first)..(begin + CHUNK).min(last.saturating_add(1)) {
            if let Some(line) = further(number, false) {
                change(line);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
