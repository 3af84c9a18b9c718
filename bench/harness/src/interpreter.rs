//! Steps taken on real files: one thread for each task of the job, one clock for all of them.
//!
//! Descriptors of the process are open, and what a program maps or advises before anything else is
//! done, when the clock starts. A read's time begins with the opening and closing in front of it,
//! since its last one; pauses and work of the program's own do not count. Every page that comes is
//! [checked](crate::content); a wrong byte ends the run. A task looks at its limits when a read has
//! come, and reads nothing beyond the end of a file that a step asks for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ahead_units::PAGE_BYTES;
use ahead_workload::{Process, Program, Step};
use rustix::fs::Advice;

use crate::content::{self, WORD_BYTES};
use crate::descriptors::{Areas, Opened, Slots};
use crate::read_error::{ReadError, io_error};
use crate::tally::{Run, Tally, Timed};

/// The longest read of a preset; longer ones of a plan make the buffer grow.
const BUFFER_BYTES: usize = 2 << 20;

/// Does all programs of `process`. Each of its tasks has its share of what may be read, being one of
/// `tasks_in_all`. They begin when all of them can; before that, `wait` is called and returns.
pub(crate) fn read(
    run: &Run<'_>,
    process: Process,
    tasks_in_all: u64,
    wait: Option<&dyn Fn() -> Result<(), ReadError>>,
) -> Result<Timed, ReadError> {
    let open = |file: &u32| Opened::new(run.source(*file)?, *file);
    let shared: Vec<Opened> = process.open.iter().map(open).collect::<Result<_, _>>()?;
    let repeats = run.assignment.repeat;
    let mut feeds = Vec::new();
    let groups: Vec<_> = process
        .groups
        .into_iter()
        .map(|group| {
            (
                Mutex::new(Endless::new(group.program, repeats)),
                group.tasks,
            )
        })
        .collect();
    for (program, tasks) in &groups {
        if *tasks == 1 {
            let mut program = program.lock().unwrap_or_else(PoisonError::into_inner);
            feeds.push(Feed::Own(program.take()));
        } else {
            feeds.extend((0..*tasks).map(|_| Feed::Shared {
                program,
                unit: Vec::new(),
                next: 0,
            }));
        }
    }
    let bytes_max = run.assignment.bytes_max;
    let common = Common {
        run,
        can_begin: Barrier::new(feeds.len() + usize::from(wait.is_some())),
        begins: wait.map(|_| Barrier::new(feeds.len() + 1)),
        stop: AtomicBool::new(false),
        bytes_max: bytes_max.map_or(u64::MAX, |bytes| bytes / u64::max(tasks_in_all, 1)),
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = feeds
            .into_iter()
            .map(|feed| {
                let (common, shared) = (&common, &shared);
                scope.spawn(move || Task::new(common, feed, Slots::new(shared)).run())
            })
            .collect();
        let mut started = Ok(());
        if let (Some(wait), Some(begins)) = (wait, &common.begins) {
            common.can_begin.wait();
            started = wait();
            common.stop.store(started.is_err(), Ordering::Relaxed);
            begins.wait();
        }
        let mut total = Tally::new();
        // From the first start to the last end, by the clocks of those who read: this thread
        // may be woken late.
        let mut span: Option<(Instant, Instant)> = None;
        let mut failure = None;
        for worker in workers {
            match worker.join() {
                Ok(Ok((tally, (start, end)))) => {
                    total.add(&tally);
                    span = Some(span.map_or((start, end), |(first, last)| {
                        (first.min(start), last.max(end))
                    }));
                }
                Ok(Err(error)) => failure = Some(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        started?;
        let (start, end) = span.ok_or(ReadError::Empty)?;
        Ok(Timed::new(total, start, end))
    })
}

/// What the tasks of one run share.
struct Common<'a> {
    run: &'a Run<'a>,
    /// Passed when all tasks have prepared what they need.
    can_begin: Barrier,
    /// Passed when they may begin, if that is later.
    begins: Option<Barrier>,
    /// One of them has failed.
    stop: AtomicBool,
    /// Each task's share of the limit.
    bytes_max: u64,
}

/// A program that may begin again at its end.
struct Endless {
    program: Box<dyn Program>,
    /// The program at its beginning, if it begins again.
    origin: Option<Box<dyn Program>>,
}

impl Endless {
    fn new(program: Box<dyn Program>, repeats: bool) -> Self {
        let origin = repeats.then(|| program.fork());
        Self { program, origin }
    }

    /// Leaves an empty program behind.
    fn take(&mut self) -> Self {
        Self {
            program: std::mem::replace(&mut self.program, Box::new(std::iter::empty())),
            origin: self.origin.take(),
        }
    }

    /// Whether there is more.
    fn begin_again(&mut self) -> bool {
        if let Some(origin) = &self.origin {
            self.program = origin.fork();
        }
        self.origin.is_some()
    }
}

/// Where a task's steps come from.
enum Feed<'a> {
    Own(Endless),
    /// Whole units of a program that several tasks share.
    Shared {
        program: &'a Mutex<Endless>,
        unit: Vec<Step>,
        next: usize,
    },
}

impl Feed<'_> {
    /// The next step. `may_repeat`: at the end, from the beginning; then the answer is `true` too.
    fn step(&mut self, may_repeat: bool) -> Option<(Step, bool)> {
        match self {
            Self::Own(own) => match own.program.step() {
                Some(step) => Some((step, false)),
                None if may_repeat && own.begin_again() => Some((own.program.step()?, true)),
                None => None,
            },
            Self::Shared {
                program,
                unit,
                next,
            } => {
                if *next == unit.len() {
                    unit.clear();
                    *next = 0;
                    let mut shared = program.lock().unwrap_or_else(PoisonError::into_inner);
                    take_unit(&mut *shared.program, unit);
                    if unit.is_empty() && may_repeat && shared.begin_again() {
                        take_unit(&mut *shared.program, unit);
                    }
                }
                let step = *unit.get(*next)?;
                *next += 1;
                Some((step, false))
            }
        }
    }
}

fn take_unit(program: &mut dyn Program, unit: &mut Vec<Step>) {
    while let Some(step) = program.step() {
        if step == Step::UnitDone {
            break;
        }
        unit.push(step);
    }
}

/// Whether a task goes on.
#[derive(PartialEq, Eq)]
enum Flow {
    Go,
    Stop,
}

type Outcome = Result<(Tally, (Instant, Instant)), ReadError>;

struct Task<'a> {
    common: &'a Common<'a>,
    feed: Feed<'a>,
    slots: Slots<'a>,
    areas: Areas,
    buffer: Vec<u8>,
    tally: Tally,
    start: Instant,
    deadline: Option<Instant>,
    /// The end of the last thing that counts.
    now: Instant,
    /// When opening or closing in front of the next read began.
    since: Option<Instant>,
    is_again: bool,
}

impl<'a> Task<'a> {
    fn new(common: &'a Common<'a>, feed: Feed<'a>, slots: Slots<'a>) -> Self {
        let now = Instant::now();
        Self {
            common,
            feed,
            slots,
            areas: Areas::default(),
            buffer: vec![0; BUFFER_BYTES],
            tally: Tally::new(),
            start: now,
            deadline: None,
            now,
            since: None,
            is_again: false,
        }
    }

    fn run(mut self) -> Outcome {
        let prepared = self.prepare();
        self.common.can_begin.wait();
        if let Some(begins) = &self.common.begins {
            begins.wait();
        }
        let result = prepared.and_then(|first| self.take_all(first));
        if result.is_err() {
            self.common.stop.store(true, Ordering::Relaxed);
        }
        result.map(|()| (self.tally, (self.start, self.now)))
    }

    /// What a program of its own maps and advises before it reads; returns the step behind.
    fn prepare(&mut self) -> Result<Option<Step>, ReadError> {
        if matches!(self.feed, Feed::Shared { .. }) {
            return Ok(None);
        }
        loop {
            match self.feed.step(false) {
                Some((step @ (Step::Map { .. } | Step::Advise { .. }), _)) => {
                    self.prepare_step(step)?;
                }
                other => return Ok(other.map(|(step, _)| step)),
            }
        }
    }

    fn take_all(&mut self, first: Option<Step>) -> Result<(), ReadError> {
        self.start = Instant::now();
        self.now = self.start;
        self.deadline = self.common.run.deadline(self.start);
        let mut next = first;
        loop {
            let step = match next.take() {
                Some(step) => step,
                None => match self.feed.step(self.tally.reads > 0) {
                    Some((step, is_again)) => {
                        self.is_again |= is_again;
                        step
                    }
                    None => break,
                },
            };
            if self.take(step)? == Flow::Stop {
                return Ok(());
            }
        }
        if self.since.is_some() {
            self.now = Instant::now();
        }
        Ok(())
    }

    fn take(&mut self, step: Step) -> Result<Flow, ReadError> {
        match step {
            Step::Read {
                slot,
                offset,
                length,
            } => return self.read(slot, offset, length),
            Step::Touch { area, page, pages } => return self.touch(area, page, pages),
            Step::Open { slot, file } => {
                self.since.get_or_insert_with(Instant::now);
                // What was there is closed first, as a program would.
                self.slots.close(slot);
                let opened = Opened::new(self.common.run.source(file)?, file)?;
                self.slots.set(slot, opened);
            }
            Step::Close { slot } => {
                self.since.get_or_insert_with(Instant::now);
                self.slots.close(slot);
            }
            Step::Think { ns } => return Ok(self.sleep_until(Instant::now(), ns)),
            Step::At { ns } => return Ok(self.sleep_until(self.start, ns)),
            Step::Compute { ns } if self.common.run.assignment.sleeps => {
                return Ok(self.sleep_until(Instant::now(), ns));
            }
            Step::Compute { ns } => return Ok(self.compute(ns)),
            other => self.prepare_step(other)?,
        }
        Ok(Flow::Go)
    }

    /// Steps that neither read nor take time of their own.
    fn prepare_step(&mut self, step: Step) -> Result<(), ReadError> {
        let sources = self.common.run;
        let cannot = |step| Err(ReadError::Step { step });
        match step {
            Step::Advise { slot, advice } => {
                let advice = match advice {
                    ahead_units::Advice::Normal => Advice::Normal,
                    ahead_units::Advice::Sequential => Advice::Sequential,
                    ahead_units::Advice::Random => Advice::Random,
                };
                self.advise(slot, 0, None, advice)
            }
            Step::WillNeed {
                slot,
                offset,
                length,
            } => self.advise(slot, offset, Some(length), Advice::WillNeed),
            Step::DontNeed {
                slot,
                offset,
                length,
            } => self.advise(slot, offset, Some(length), Advice::DontNeed),
            Step::Map {
                executable: true, ..
            } => cannot("map a file as code"),
            Step::Map {
                area, slot, advice, ..
            } => {
                // Who begins again has its mapping still, with what is mapped in it.
                if self.is_again && self.areas.get(area).is_ok() {
                    return Ok(());
                }
                let opened = self.slots.get(slot)?;
                let source = sources.source(opened.source)?;
                self.areas.map(area, opened, advice, source)
            }
            Step::Unmap { area } => {
                self.areas.unmap(area);
                Ok(())
            }
            Step::Write { .. } => cannot("write to a file"),
            Step::DropCaches => cannot("empty the page cache in the middle of a run"),
            Step::Join { .. } => cannot("wait for another task"),
            // Phases are for observers, and units end where they are taken.
            _ => Ok(()),
        }
    }

    fn advise(
        &self,
        slot: u32,
        offset: u64,
        length: Option<u64>,
        advice: Advice,
    ) -> Result<(), ReadError> {
        let opened = self.slots.get(slot)?;
        let source = self.common.run.source(opened.source)?;
        let length = length.and_then(std::num::NonZeroU64::new);
        rustix::fs::fadvise(&opened.file, offset, length, advice)
            .map_err(|errno| io_error("cannot advise on", &source.path)(errno.into()))
    }

    fn read(&mut self, slot: u32, offset: u64, length: u64) -> Result<Flow, ReadError> {
        let opened = self.slots.get(slot)?;
        let source = self.common.run.source(opened.source)?;
        let left = source.bytes.saturating_sub(offset);
        let is_at_end = left == 0;
        let length = if is_at_end { length } else { length.min(left) };
        let wanted = usize::try_from(length).map_err(|_| ReadError::Empty)?;
        if wanted > self.buffer.len() {
            self.buffer.resize(wanted, 0);
        }
        let bytes = self.buffer.get_mut(..wanted).unwrap_or_default();
        if is_at_end {
            self.since.get_or_insert_with(Instant::now);
            return match opened.read_at(bytes, offset) {
                Ok(_) => Ok(Flow::Go),
                Err(error) => Err(io_error("cannot read", &source.path)(error)),
            };
        }
        let before = self.since.take().unwrap_or_else(Instant::now);
        opened
            .read_exact_at(bytes, offset)
            .map_err(io_error("cannot read", &source.path))?;
        self.now = Instant::now();
        if let Some(offset) = content::first_mismatch(bytes, source.id, offset) {
            return Err(ReadError::Mismatch {
                path: source.path.clone(),
                offset,
            });
        }
        Ok(self.count(length, before))
    }

    /// The first and the last word of each page; every page counts as a read.
    fn touch(&mut self, area: u32, page: u64, pages: u64) -> Result<Flow, ReadError> {
        for page in page..page.saturating_add(pages) {
            let mapped = self.areas.get(area)?;
            let source = self.common.run.source(mapped.source)?;
            let first = page.saturating_mul(PAGE_BYTES);
            let length = source.bytes.saturating_sub(first).min(PAGE_BYTES);
            if length < WORD_BYTES {
                break;
            }
            let last = first + length / WORD_BYTES * WORD_BYTES - WORD_BYTES;
            let before = self.since.take().unwrap_or_else(Instant::now);
            let words = [first, last].map(|offset| (offset, mapped.file.word_at(offset)));
            self.now = Instant::now();
            for (offset, found) in words {
                if found != Some(content::word(source.id, offset)) {
                    return Err(ReadError::Mismatch {
                        path: source.path.clone(),
                        offset,
                    });
                }
            }
            if self.count(length, before) == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Go)
    }

    fn count(&mut self, bytes: u64, before: Instant) -> Flow {
        self.tally.count(bytes, self.now - before);
        self.common.run.counter.add(bytes);
        if self.tally.useful_bytes >= self.common.bytes_max
            || self.is_late(self.now)
            || self.common.stop.load(Ordering::Relaxed)
        {
            Flow::Stop
        } else {
            Flow::Go
        }
    }

    fn is_late(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
    }

    /// Sleeps until `ns` after `from`, or until the time is over.
    fn sleep_until(&mut self, from: Instant, ns: u64) -> Flow {
        self.since = None;
        let until = from + Duration::from_nanos(ns);
        let until = self.deadline.map_or(until, |deadline| until.min(deadline));
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        self.pause_done()
    }

    fn compute(&mut self, ns: u64) -> Flow {
        self.since = None;
        let until = Instant::now() + Duration::from_nanos(ns);
        let until = self.deadline.map_or(until, |deadline| until.min(deadline));
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        self.pause_done()
    }

    /// The program's own time is part of the run, unless the run ends in it.
    fn pause_done(&mut self) -> Flow {
        let now = Instant::now();
        if self.is_late(now) {
            return Flow::Stop;
        }
        self.now = now;
        Flow::Go
    }
}
