//! Steps in order: of one file or several, from one task or many.

use super::parts::{ascending, read, reads_in, slot};
use crate::kinds::Draw;
use crate::random::{mix, shuffle};
use crate::{FileSpec, Process, Program, Step, ThreadGroup};

pub(super) fn sequential(bytes: u64, length: u64, passes: u64) -> impl Program {
    (0..passes).flat_map(move |_| ascending(0, 0, bytes, length))
}

pub(super) fn backward(bytes: u64, length: u64) -> impl Program {
    (0..reads_in(bytes, length)).rev().map(move |index| {
        let offset = index * length;
        read(0, offset, length.min(bytes - offset))
    })
}

pub(super) fn strided(bytes: u64, length: u64, period: u64, part_period: bool) -> impl Program {
    let whole = bytes / period;
    let fits_behind = part_period && bytes % period >= length;
    (0..whole + u64::from(fits_behind)).map(move |index| read(0, index * period, length))
}

pub(super) fn interleaved(bytes: u64, streams: u64, length: u64) -> impl Program {
    let part = bytes / streams / length * length;
    (0..part / length * streams)
        .map(move |index| read(0, index % streams * part + index / streams * length, length))
}

/// The shortest file ends it, so that no stream runs dry alone.
pub(super) fn separate(files: &[FileSpec], streams: u64, length: u64) -> Process {
    let used = usize::try_from(streams)
        .unwrap_or(usize::MAX)
        .min(files.len());
    let shortest = files.iter().take(used).map(|file| file.bytes).min();
    let turns = shortest.unwrap_or(0) / length;
    let streams = u64::try_from(used.max(1)).unwrap_or(1);
    let program = (0..turns * streams)
        .map(move |index| read(slot(index % streams), index / streams * length, length));
    Process::new("separate", (0..slot(streams)).collect(), program)
}

pub(super) fn threads(bytes: u64, threads: u64, length: u64, own_descriptors: bool) -> Process {
    let part = bytes / threads.max(1) / length * length;
    let group = |thread| {
        let slot = if own_descriptors { slot(thread) } else { 0 };
        ThreadGroup {
            program: Box::new(ascending(slot, thread * part, part, length)) as Box<dyn Program>,
            tasks: 1,
        }
    };
    let descriptors = if own_descriptors { threads } else { 1 };
    Process {
        name: "threads".to_owned(),
        open: (0..descriptors).map(|_| 0).collect(),
        groups: (0..threads).map(group).collect(),
    }
}

pub(super) fn readers(files: &[FileSpec], length: u64) -> Vec<Process> {
    let process = |(reader, file): (u32, &FileSpec)| {
        let program = ascending(0, 0, file.bytes, length);
        Process::new(format!("reader {reader}"), vec![reader], program)
    };
    (0..).zip(files).map(process).collect()
}

pub(super) fn reopen(bytes: u64, length: u64, every: u64, closes: bool) -> impl Program {
    let every = reads_in(every, length).max(1);
    (0..)
        .zip(ascending(0, 0, bytes, length))
        .flat_map(move |(index, step): (u64, Step)| {
            let opens = index % every == 0;
            let close = (opens && closes && index > 0).then_some(Step::Close { slot: 0 });
            let open = opens.then_some(Step::Open { slot: 0, file: 0 });
            close.into_iter().chain(open).chain([step])
        })
}

/// A scan as units of open, read and close, shuffled within windows.
#[derive(Clone)]
pub(super) struct Requests {
    length: u64,
    draw: Draw,
    seed: u64,
    /// The order inside the window; one list for all windows, so that no step allocates.
    order: Vec<u64>,
    windows: u64,
    window: u64,
    place: usize,
    /// Which part of the unit comes next.
    part: u8,
}

impl Requests {
    pub(super) fn new(bytes: u64, length: u64, window: u64, draw: Draw, seed: u64) -> Self {
        let window = window.max(1);
        let mut requests = Self {
            length,
            draw,
            seed,
            order: (0..window).collect(),
            windows: bytes / length / window,
            window: 0,
            place: 0,
            part: 0,
        };
        requests.shuffle();
        requests
    }

    fn shuffle(&mut self) {
        let number = match self.draw {
            Draw::Plan => mix(self.window),
            Draw::Bench => self.window,
        };
        for (place, at) in (0..).zip(self.order.iter_mut()) {
            *at = place;
        }
        shuffle(self.seed ^ number, &mut self.order);
    }
}

impl Iterator for Requests {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.window == self.windows {
            return None;
        }
        let window_length = u64::try_from(self.order.len()).unwrap_or(1);
        let request = self.window * window_length + self.order.get(self.place)?;
        let step = match self.part {
            0 => Step::Open { slot: 0, file: 0 },
            1 => read(0, request * self.length, self.length),
            2 => Step::Close { slot: 0 },
            _ => Step::UnitDone,
        };
        self.part = (self.part + 1) % 4;
        if self.part == 0 {
            self.place += 1;
            if self.place == self.order.len() {
                self.place = 0;
                self.window += 1;
                self.shuffle();
            }
        }
        Some(step)
    }
}
