//! Which bytes a job is going to want: its steps without their descriptors, for who knows the
//! future, and for tests that hold two jobs against each other.

use std::sync::Arc;

use ahead_units::PAGE_BYTES;

use crate::{Job, Process, Program, Step};

/// Bytes of one read, or of the touches of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WantedRange {
    /// Which file of the job.
    pub file: u32,
    /// Where it starts, in bytes.
    pub offset: u64,
    /// How many bytes; at least 1, and none beyond the end of the file.
    pub length: u64,
}

/// The ranges that one program wants, in its order.
pub struct Wanted {
    program: Box<dyn Program>,
    sizes: Arc<[u64]>,
    /// The file of each slot, and of each mapped area.
    slots: Vec<Option<u32>>,
    areas: Vec<Option<u32>>,
}

impl Wanted {
    /// One for each thread group of `job`, in the order of its processes.
    #[must_use]
    pub fn of(job: &Job) -> Vec<Self> {
        let sizes: Arc<[u64]> = job.files.iter().map(|file| file.bytes).collect();
        let of_process = |process: &Process| {
            let slots: Vec<_> = process.open.iter().map(|file| Some(*file)).collect();
            let groups = process.groups.iter().map(|group| Self {
                program: group.program.fork(),
                sizes: Arc::clone(&sizes),
                slots: slots.clone(),
                areas: Vec::new(),
            });
            groups.collect::<Vec<_>>()
        };
        job.processes.iter().flat_map(of_process).collect()
    }

    fn range(&self, file: Option<u32>, offset: u64, length: u64) -> Option<WantedRange> {
        let file = file?;
        let bytes = *self.sizes.get(usize::try_from(file).ok()?)?;
        let length = length.min(bytes.saturating_sub(offset));
        (length > 0).then_some(WantedRange {
            file,
            offset,
            length,
        })
    }
}

impl Iterator for Wanted {
    type Item = WantedRange;

    fn next(&mut self) -> Option<WantedRange> {
        loop {
            let wanted = match self.program.step()? {
                Step::Open { slot, file } => {
                    set(&mut self.slots, slot, Some(file));
                    None
                }
                Step::Close { slot } => {
                    set(&mut self.slots, slot, None);
                    None
                }
                Step::Map { area, slot, .. } => {
                    let file = get(&self.slots, slot);
                    set(&mut self.areas, area, file);
                    None
                }
                Step::Unmap { area } => {
                    set(&mut self.areas, area, None);
                    None
                }
                Step::Read {
                    slot,
                    offset,
                    length,
                } => self.range(get(&self.slots, slot), offset, length),
                Step::Touch { area, page, pages } => {
                    let length = pages.saturating_mul(PAGE_BYTES);
                    self.range(
                        get(&self.areas, area),
                        page.saturating_mul(PAGE_BYTES),
                        length,
                    )
                }
                _ => None,
            };
            if wanted.is_some() {
                return wanted;
            }
        }
    }
}

/// What all programs of `job` want, in one natural order: they take turns.
pub fn future(job: &Job) -> impl Iterator<Item = WantedRange> + use<> {
    let mut programs = Wanted::of(job);
    let mut turn = 0;
    std::iter::from_fn(move || {
        while !programs.is_empty() {
            turn %= programs.len();
            if let Some(range) = programs.get_mut(turn)?.next() {
                turn += 1;
                return Some(range);
            }
            drop(programs.remove(turn));
        }
        None
    })
}

fn get(files: &[Option<u32>], number: u32) -> Option<u32> {
    let at = usize::try_from(number).ok()?;
    files.get(at).copied().flatten()
}

fn set(files: &mut Vec<Option<u32>>, number: u32, file: Option<u32>) {
    let at = usize::try_from(number).unwrap_or(usize::MAX);
    if files.len() <= at {
        files.resize(at + 1, None);
    }
    files[at] = file;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;

    #[test]
    fn threads_take_turns_and_cover_the_file_once() {
        let job = Workload::Threads {
            file_mib: 8,
            threads: 8,
            read_kib: 64,
            own_descriptors: true,
        }
        .job(1);
        let mut offsets: Vec<_> = future(&job).map(|range| range.offset).collect();
        assert_eq!(offsets[..3], [0, 1 << 20, 2 << 20]);
        offsets.sort_unstable();
        let expected: Vec<_> = (0..128).map(|index| index << 16).collect();
        assert_eq!(offsets, expected);
    }

    #[test]
    fn a_read_behind_the_end_of_a_file_wants_nothing() {
        let job = Workload::SmallFiles {
            files: 2,
            file_kib: 100,
            read_kib: 64,
        }
        .job(1);
        let wanted: Vec<_> = future(&job).map(|r| (r.file, r.offset, r.length)).collect();
        let (first, rest) = (64 << 10, 36 << 10);
        assert_eq!(
            wanted,
            [
                (0, 0, first),
                (0, first, rest),
                (1, 0, first),
                (1, first, rest)
            ]
        );
    }
}
