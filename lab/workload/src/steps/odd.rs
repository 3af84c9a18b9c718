//! Reads at odd places of one file: each place follows from the ones before it, so that the steps are a list.

use super::parts::read;
use crate::kinds::Form;
use crate::random::{Chance, shuffle};
use crate::{Listed, Program, Step};

/// No program has more reads.
pub(crate) const MOST_READS: usize = 12_000;

/// Bytes and a count, as the workload says them.
#[derive(Clone, Copy)]
pub(super) struct Odd {
    pub(super) read: u64,
    pub(super) step: u64,
    pub(super) varied: u64,
    pub(super) group: u64,
}

/// The reads of `form` in a file of `bytes`.
pub(super) fn program(form: Form, odd: Odd, bytes: u64, backward: bool, seed: u64) -> impl Program {
    let mut reads = Reads {
        bytes,
        places: Vec::new(),
    };
    odd.fill(form, &mut reads, &mut Chance::new(seed));
    let step = |(offset, length): (u64, u64)| {
        let offset = if backward {
            bytes - offset - length
        } else {
            offset
        };
        read(0, offset, length)
    };
    Listed::new(reads.places.into_iter().map(step).collect::<Vec<Step>>())
}

/// Offset and length of one read after the other.
struct Reads {
    bytes: u64,
    places: Vec<(u64, u64)>,
}

impl Reads {
    /// Whether there was still something to read: the end of the file cuts a read short.
    fn read(&mut self, offset: u64, length: u64) -> bool {
        let is_read = offset < self.bytes && self.places.len() < MOST_READS;
        if is_read {
            let length = length.max(1).min(self.bytes - offset);
            self.places.push((offset, length));
        }
        is_read
    }

    /// Reads of `length` from `start` to `end`, the last one cut.
    fn in_row(&mut self, start: u64, end: u64, length: u64) -> bool {
        let mut offset = start;
        while offset < end {
            if !self.read(offset, length.min(end - offset)) {
                return false;
            }
            offset += length;
        }
        true
    }
}

impl Odd {
    fn fill(self, form: Form, reads: &mut Reads, chance: &mut Chance) {
        match form {
            Form::Drifting | Form::Growing | Form::Cycled | Form::Skipping => {
                self.by_steps(form, reads, chance);
            }
            Form::Jittered | Form::Shifting | Form::Holed | Form::Nested | Form::Indexed => {
                self.on_grid(form, reads, chance);
            }
            Form::Gapped | Form::Framed | Form::Overlapping | Form::Revisited => {
                self.in_order(form, reads, chance);
            }
            Form::Tiled | Form::Columns => self.in_rows(form, reads),
            Form::Chunked => self.in_chunks(reads, chance),
            Form::Wandering => self.wandering(reads, chance),
            Form::Cursors => self.cursors(reads, chance),
            Form::Ends => self.ends(reads),
            Form::Searched => self.searched(reads, chance),
        }
    }

    /// Up to half of `varied` shorter or longer than a step.
    fn around_step(self, chance: &mut Chance) -> u64 {
        (self.step + chance.below(self.varied + 1)).saturating_sub(self.varied / 2)
    }

    /// One step after the other, each of another length.
    fn by_steps(self, form: Form, reads: &mut Reads, chance: &mut Chance) {
        let cycle: Vec<u64> = (0..self.group).map(|_| self.around_step(chance)).collect();
        let (mut place, mut step) = (0, self.step);
        for number in (0..self.group).cycle() {
            if !reads.read(place, self.read) {
                break;
            }
            step = match form {
                Form::Drifting => step + self.varied,
                Form::Growing if step < reads.bytes / 8 => step + step / self.group + 1,
                Form::Skipping if number + 1 < self.group => self.read,
                Form::Skipping => self.around_step(chance),
                Form::Cycled => cycle[usize::try_from(number).unwrap_or(0)],
                _ => self.step,
            };
            place += step.max(self.read);
        }
    }

    /// At multiples of a step, or a little behind them.
    fn on_grid(self, form: Form, reads: &mut Reads, chance: &mut Chance) {
        for number in 0.. {
            let mut place = number * self.step;
            match form {
                Form::Jittered => place += chance.below(self.varied + 1),
                Form::Shifting => place += number / self.group * self.varied,
                Form::Holed if chance.below(self.group) == 0 => continue,
                Form::Nested => place += number / self.group * self.group * self.step,
                Form::Indexed if number % self.group == 0 => {
                    reads.read(chance.below(reads.bytes / 16), self.varied);
                }
                _ => {}
            }
            if !reads.read(place, self.read) {
                break;
            }
        }
    }

    /// From one end to the other, with reads or gaps of many lengths.
    fn in_order(self, form: Form, reads: &mut Reads, chance: &mut Chance) {
        let mut place = 0;
        for number in 1.. {
            let length = match form {
                Form::Gapped => 1 + chance.below(2 * self.read),
                _ => self.read,
            };
            let ends_group = number % self.group == 0;
            if !reads.read(place, length) {
                break;
            }
            let back = match form {
                Form::Overlapping => self.varied.min(length / 2),
                Form::Revisited if ends_group => self.step.min(self.group / 2 * length),
                _ => 0,
            };
            place = (place + length).saturating_sub(back);
            match form {
                Form::Gapped => place += chance.below(2 * self.step),
                Form::Framed => {
                    reads.read(place, self.varied);
                    place += self.varied + chance.below(2 * self.step);
                }
                Form::Overlapping if ends_group => place += self.step,
                _ => {}
            }
        }
    }

    /// As a picture or a table whose rows lie one behind the other.
    fn in_rows(self, form: Form, reads: &mut Reads) {
        let across = (self.step / self.read).max(1);
        let rows = reads.bytes / self.step;
        let (band, columns) = match form {
            Form::Columns => (rows, across.min(self.group)),
            _ => (self.group, across),
        };
        for top in (0..rows).step_by(usize::try_from(band).unwrap_or(1).max(1)) {
            for column in 0..columns {
                for row in top..(top + band).min(rows) {
                    reads.read(row * self.step + column * self.read, self.read);
                }
            }
        }
    }

    fn in_chunks(self, reads: &mut Reads, chance: &mut Chance) {
        let mut chunks: Vec<u64> = (0..reads.bytes / self.step).collect();
        shuffle(chance.below(u64::MAX), &mut chunks);
        for chunk in chunks {
            let start = chunk * self.step;
            let most = self.varied.min(self.step - 1);
            let end = start + self.step - chance.below(most + 1);
            reads.in_row(start, end, self.read);
        }
    }

    fn wandering(self, reads: &mut Reads, chance: &mut Chance) {
        let mut place = reads.bytes / 2;
        for _ in 0..(reads.bytes / self.step).max(64) {
            reads.read(place, self.read);
            let next = place + chance.below(2 * self.varied + 1);
            place = next.saturating_sub(self.varied).min(reads.bytes - 1);
        }
    }

    fn cursors(self, reads: &mut Reads, chance: &mut Chance) {
        let part = reads.bytes / self.group;
        let mut cursors: Vec<(u64, u64, u64)> = (0..self.group)
            .map(|cursor| {
                let step = self.around_step(chance).max(self.read);
                (cursor * part, (cursor + 1) * part, step)
            })
            .collect();
        while !cursors.is_empty() {
            let next = chance.place(cursors.len());
            let (place, end, step) = cursors[next];
            if place >= end || !reads.read(place, self.read) {
                cursors.remove(next);
            } else {
                cursors[next].0 += step;
            }
        }
    }

    fn ends(self, reads: &mut Reads) {
        let (mut low, mut high) = (0, reads.bytes.saturating_sub(self.read));
        while low < high && reads.read(low, self.read) && reads.read(high, self.read) {
            low += self.step;
            high = high.saturating_sub(self.step);
        }
    }

    fn searched(self, reads: &mut Reads, chance: &mut Chance) {
        let records = (reads.bytes / self.read).max(1);
        for _ in 0..(reads.bytes / self.step / self.group).clamp(8, 400) {
            let wanted = chance.below(records);
            let (mut low, mut high) = (0, records);
            while high - low > 1 {
                let middle = low.midpoint(high);
                reads.read(middle * self.read, self.read);
                if middle <= wanted {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            let start = wanted * self.read;
            reads.in_row(start, start + self.group * self.read, self.read);
        }
    }
}
