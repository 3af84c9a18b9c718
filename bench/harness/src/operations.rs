//! Which reads a pattern does: a list that is never stored, computed from the position in it.
//!
//! Time, files and descriptors are the [reader](crate::reader)'s; here are only offsets. The same
//! pattern, layout and seed give the same reads, in every arm and every run. A list ends where its
//! region ends: reading on from the start would meet pages that an earlier pass left in memory.

use crate::pattern::Pattern;
use ahead_workload::random::below;

const KIB: u64 = 1024;
const READ: u64 = 64 * KIB;
const PAGE: u64 = 4 * KIB;
/// Reads of the sequential part of `mixed` before each random one: 4 × 64 KiB.
const MIXED_RUN: u64 = 4;
const MIXED_RANDOM: u64 = 16 * KIB;
const SERVER_READ: u64 = 32 * KIB;
const SERVER_WINDOW: u64 = 8;
const LOOP_PASSES: u64 = 2;

/// One read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Which of the pattern's files, from 0.
    pub file: u32,
    /// Where it starts, in bytes.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
}

/// The sizes of the files that a pattern reads, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// One per file.
    pub file_bytes: Vec<u64>,
}

impl Layout {
    fn first(&self) -> u64 {
        self.file_bytes.first().copied().unwrap_or(0)
    }
}

/// The reads of one thread, or of all threads of a pattern whose threads share one list.
#[derive(Clone, Debug)]
pub struct Operations<'a> {
    pattern: Pattern,
    layout: &'a Layout,
    seed: u64,
    thread: u32,
    index: u64,
    /// First page not decided on yet; only patterns with holes use it.
    page: u64,
}

impl<'a> Operations<'a> {
    /// The list of `thread` (from 0), at its start.
    #[must_use]
    pub const fn new(pattern: Pattern, layout: &'a Layout, seed: u64, thread: u32) -> Self {
        Self {
            pattern,
            layout,
            seed,
            thread,
            index: 0,
            page: 0,
        }
    }

    /// Read number `index`; `None` behind the end of the list. Not for patterns with holes, whose
    /// reads are found one after another only.
    #[must_use]
    pub fn at(&self, index: u64) -> Option<Operation> {
        let size = self.layout.first();
        let in_file = |offset: u64, length: u64| {
            (offset.checked_add(length)? <= size).then_some(Operation {
                file: 0,
                offset,
                length,
            })
        };
        match self.pattern {
            Pattern::Sequential { read } => in_file(index.checked_mul(read * KIB)?, read * KIB),
            Pattern::Reopen => in_file(index.checked_mul(READ)?, READ),
            Pattern::Backward => in_file(size.checked_sub((index + 1).checked_mul(READ)?)?, READ),
            Pattern::Strided { read, period } => {
                in_file(index.checked_mul(period * KIB)?, read * KIB)
            }
            Pattern::Interleaved { streams } => {
                let streams = u64::from(streams);
                self.in_region(index % streams, streams, index / streams)
            }
            Pattern::Threads => self.in_region(
                u64::from(self.thread),
                u64::from(self.pattern.threads()),
                index,
            ),
            Pattern::Separate { streams } => {
                let file = u32::try_from(index % u64::from(streams)).ok()?;
                let offset = (index / u64::from(streams)).checked_mul(READ)?;
                // The shortest of the files in use ends the list, so that no stream runs dry alone.
                let used = self
                    .layout
                    .file_bytes
                    .iter()
                    .take(usize::try_from(streams).ok()?);
                (offset + READ <= *used.min()?).then_some(Operation {
                    file,
                    offset,
                    length: READ,
                })
            }
            Pattern::Server => {
                let window = index / SERVER_WINDOW;
                let chunk = window * SERVER_WINDOW + self.shuffled(window, index % SERVER_WINDOW);
                in_file(chunk.checked_mul(SERVER_READ)?, SERVER_READ)
            }
            Pattern::Mixed => {
                let (run, step) = (index / (MIXED_RUN + 1), index % (MIXED_RUN + 1));
                if step == MIXED_RUN {
                    let slot = below(self.seed, index, size / MIXED_RANDOM);
                    return in_file(slot * MIXED_RANDOM, MIXED_RANDOM);
                }
                in_file((run * MIXED_RUN + step).checked_mul(READ)?, READ)
            }
            Pattern::Loop => {
                let reads = size / READ;
                (index < LOOP_PASSES * reads).then(|| in_file(index % reads * READ, READ))?
            }
            Pattern::Random { read } => {
                let slots = size / (read * KIB);
                in_file(below(self.seed, index, slots) * read * KIB, read * KIB)
            }
            Pattern::Small => self.in_small(index),
            Pattern::MappedSequential => in_file(index.checked_mul(PAGE)?, PAGE),
            Pattern::MappedBackward => {
                in_file(size.checked_sub((index + 1).checked_mul(PAGE)?)?, PAGE)
            }
            Pattern::MappedRandom => in_file(below(self.seed, index, size / PAGE) * PAGE, PAGE),
            Pattern::Sparse { .. } => None,
        }
    }

    /// Read number `index` of region `region` out of `regions` equal ones.
    fn in_region(&self, region: u64, regions: u64, index: u64) -> Option<Operation> {
        let bytes = self.layout.first() / regions / READ * READ;
        let offset = index.checked_mul(READ)?;
        (offset + READ <= bytes).then_some(Operation {
            file: 0,
            offset: region * bytes + offset,
            length: READ,
        })
    }

    /// Where the chunk served as number `position` lies in its window: a shuffle by the seed.
    fn shuffled(&self, window: u64, position: u64) -> u64 {
        let mut order: [u64; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
        for last in (1..order.len()).rev() {
            let limit = u64::try_from(last + 1).unwrap_or(1);
            let chance = below(self.seed ^ window, limit, limit);
            order.swap(last, usize::try_from(chance).unwrap_or(0));
        }
        usize::try_from(position)
            .ok()
            .and_then(|at| order.get(at))
            .copied()
            .unwrap_or(position)
    }

    /// All files are equally long in `small`, so the position says which file and which part.
    fn in_small(&self, index: u64) -> Option<Operation> {
        let bytes = self.layout.first();
        let per_file = bytes.div_ceil(READ).max(1);
        let file = index / per_file;
        if file >= u64::try_from(self.layout.file_bytes.len()).ok()? {
            return None;
        }
        let offset = index % per_file * READ;
        let length = READ.min(bytes.checked_sub(offset)?);
        Some(Operation {
            file: u32::try_from(file).ok()?,
            offset,
            length,
        })
    }
}

impl Iterator for Operations<'_> {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        if let Pattern::Sparse { percent } = self.pattern {
            let pages = self.layout.first() / PAGE;
            while self.page < pages {
                let page = self.page;
                self.page += 1;
                if below(self.seed, page, 100) < percent {
                    return Some(Operation {
                        file: 0,
                        offset: page * PAGE,
                        length: PAGE,
                    });
                }
            }
            return None;
        }
        let operation = self.at(self.index)?;
        self.index += 1;
        Some(operation)
    }
}

/// The reads of all threads in one natural order, for a reader that knows the future.
pub fn future(pattern: Pattern, layout: &Layout, seed: u64) -> impl Iterator<Item = Operation> {
    // Threads that share one list have one list; the others take turns.
    let lists = if matches!(pattern, Pattern::Server) {
        1
    } else {
        pattern.threads()
    };
    let mut threads: Vec<_> = (0..lists)
        .map(|thread| Operations::new(pattern, layout, seed, thread))
        .collect();
    let mut turn = 0;
    std::iter::from_fn(move || {
        let count = threads.len();
        let operation = threads.get_mut(turn % count)?.next();
        turn += 1;
        operation
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::PATTERNS;
    use proptest::prelude::*;

    fn layout(pattern: Pattern, bytes: u64) -> Layout {
        let files = match pattern {
            Pattern::Separate { streams } => usize::try_from(streams).unwrap(),
            Pattern::Small => 5,
            _ => 1,
        };
        let bytes = if pattern == Pattern::Small {
            100 * KIB
        } else {
            bytes
        };
        Layout {
            file_bytes: vec![bytes; files],
        }
    }

    fn list(name: &str, bytes: u64) -> Vec<Operation> {
        let pattern = name.parse::<crate::pattern::Scenario>().unwrap().pattern;
        Operations::new(pattern, &layout(pattern, bytes), 1, 0)
            .take(100_000)
            .collect()
    }

    proptest! {
        #[test]
        fn every_read_is_inside_its_file_and_page_aligned(
            which in 0..PATTERNS.len(), pages in 1u64..40_000, seed: u64, thread in 0u32..8
        ) {
            let pattern = PATTERNS[which].1;
            let layout = layout(pattern, pages * PAGE);
            let thread = thread % pattern.threads();
            for operation in Operations::new(pattern, &layout, seed, thread).take(2000) {
                let file = usize::try_from(operation.file).unwrap();
                prop_assert!(operation.length > 0);
                prop_assert!(operation.offset + operation.length <= layout.file_bytes[file]);
                prop_assert_eq!(operation.offset % PAGE, 0);
            }
        }

        #[test]
        fn the_same_seed_gives_the_same_list(which in 0..PATTERNS.len(), seed: u64) {
            let pattern = PATTERNS[which].1;
            let layout = layout(pattern, 64 << 20);
            let list = || Operations::new(pattern, &layout, seed, 0).take(500).collect::<Vec<_>>();
            prop_assert_eq!(list(), list());
        }
    }

    #[test]
    fn backward_starts_at_the_end_and_stops_at_the_start() {
        let list = list("back64k", 1 << 20);
        assert_eq!(list.len(), 16);
        assert_eq!(list.first().unwrap().offset, (1 << 20) - READ);
        assert_eq!(list.last().unwrap().offset, 0);
    }

    #[test]
    fn strides_read_a_part_of_every_period() {
        let list = list("stride16-64", 1 << 20);
        assert_eq!(list.len(), 16);
        assert!(list.iter().enumerate().all(|(i, operation)| {
            operation.length == 16 * KIB && operation.offset == u64::try_from(i).unwrap() * 64 * KIB
        }));
    }

    #[test]
    fn interleaved_streams_take_turns_and_end_together() {
        let list = list("one8", 8 << 20);
        assert_eq!(list.len(), 128);
        assert_eq!(list[0].offset, 0);
        assert_eq!(list[1].offset, 1 << 20);
        assert_eq!(list[8].offset, READ);
        assert_eq!(list[127].offset + READ, 8 << 20);
    }

    #[test]
    fn the_eight_threads_cover_the_file_once() {
        let layout = Layout {
            file_bytes: vec![8 << 20],
        };
        let mut offsets: Vec<_> = future(Pattern::Threads, &layout, 1)
            .map(|operation| operation.offset)
            .collect();
        offsets.sort_unstable();
        let expected: Vec<_> = (0..128).map(|i| i * READ).collect();
        assert_eq!(offsets, expected);
    }

    #[test]
    fn the_server_shuffles_inside_windows_of_eight_only() {
        let list = list("nfsd", 1 << 20);
        assert_eq!(list.len(), 32);
        let mut moved = false;
        for (window, chunks) in list.chunks(8).enumerate() {
            let start = u64::try_from(window).unwrap() * 8;
            let mut seen: Vec<_> = chunks.iter().map(|c| c.offset / SERVER_READ).collect();
            moved |= !seen.is_sorted();
            seen.sort_unstable();
            assert_eq!(seen, (start..start + 8).collect::<Vec<_>>());
        }
        assert!(moved);
    }

    #[test]
    fn mixed_reads_at_random_after_every_four() {
        let list = list("mixed", 1 << 30);
        let sequential: Vec<_> = list.iter().filter(|o| o.length == READ).collect();
        assert!(sequential.is_sorted_by_key(|operation| operation.offset));
        assert!(
            list.iter()
                .enumerate()
                .all(|(i, o)| (i % 5 == 4) == (o.length == 16 * KIB))
        );
    }

    #[test]
    fn sparse_takes_six_pages_of_ten_and_skim_one() {
        let sparse = list("sparse", 80 << 20).len();
        assert!((11_800..12_800).contains(&sparse), "{sparse}");
        let skim = list("skim", 80 << 20).len();
        assert!((1_800..2_300).contains(&skim), "{skim}");
    }

    #[test]
    fn the_loop_passes_twice() {
        let list = list("loop", 1 << 20);
        assert_eq!(list.len(), 32);
        assert_eq!(list[..16], list[16..]);
    }

    #[test]
    fn small_files_are_read_to_their_end_one_after_another() {
        let list = list("small", 0);
        assert_eq!(list.len(), 10);
        assert_eq!(
            list[1],
            Operation {
                file: 0,
                offset: READ,
                length: 36 * KIB
            }
        );
        assert_eq!(
            list[2],
            Operation {
                file: 1,
                offset: 0,
                length: READ
            }
        );
    }
}
