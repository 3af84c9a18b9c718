//! The steps of each kind of [`Workload`].

use ahead_units::PAGE_BYTES;

use super::random::{below, mix, shuffled};
use super::{Hint, Order, Workload};
use crate::{Crew, FileSpec, Job, Process, Program, Step};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// A read of `length` bytes at `offset` of the file that slot `slot` stands for.
const fn read(slot: u32, offset: u64, length: u64) -> Step {
    Step::Read {
        slot,
        offset,
        length,
    }
}

fn slot(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Whole reads that fit into `bytes`; the last one may be shorter.
fn reads_in(bytes: u64, length: u64) -> u64 {
    bytes.div_ceil(length.max(1))
}

fn job_of_one(name: &str, bytes: u64, program: impl Program + 'static) -> Job {
    Job {
        files: vec![FileSpec::contiguous(bytes)],
        processes: vec![Process::new(name, vec![0], program)],
        ..Job::default()
    }
}

/// Ascending reads of `[from, from + bytes)`.
fn ascending(slot: u32, from: u64, bytes: u64, length: u64) -> impl Iterator<Item = Step> + Clone {
    (0..reads_in(bytes, length)).map(move |index| {
        let offset = index * length;
        read(slot, from + offset, length.min(bytes - offset))
    })
}

#[expect(
    clippy::too_many_lines,
    reason = "a table: one short arm for each kind, and nothing else"
)]
pub(super) fn job(workload: &Workload, seed: u64) -> Job {
    match *workload {
        Workload::Sequential {
            file_mib,
            read_kib,
            passes,
        } => {
            let (bytes, length) = (file_mib * MIB, read_kib * KIB);
            let program = (0..passes).flat_map(move |_| ascending(0, 0, bytes, length));
            job_of_one("sequential", bytes, program)
        }
        Workload::Backward { file_mib, read_kib } => {
            let (bytes, length) = (file_mib * MIB, read_kib * KIB);
            let program = ascending(0, 0, bytes, length).collect::<Vec<_>>();
            job_of_one("backward", bytes, program.into_iter().rev())
        }
        Workload::Strided {
            file_mib,
            read_kib,
            period_kib,
        } => {
            let (bytes, period) = (file_mib * MIB, period_kib.max(1) * KIB);
            let program =
                (0..bytes / period).map(move |index| read(0, index * period, read_kib * KIB));
            job_of_one("strided", bytes, program)
        }
        Workload::Interleaved {
            file_mib,
            streams,
            read_kib,
        } => {
            let (streams, length) = (streams.max(1), read_kib.max(1) * KIB);
            let part = file_mib * MIB / streams / length * length;
            let program = (0..part / length * streams).map(move |index| {
                read(0, index % streams * part + index / streams * length, length)
            });
            job_of_one("interleaved", file_mib * MIB, program)
        }
        Workload::Separate {
            file_mib,
            streams,
            read_kib,
        } => {
            let (streams, length) = (streams.max(1), read_kib.max(1) * KIB);
            let program = (0..file_mib * MIB / length * streams)
                .map(move |index| read(slot(index % streams), index / streams * length, length));
            Job {
                files: files(streams, file_mib * MIB),
                processes: vec![Process::new("separate", all(streams), program)],
                ..Job::default()
            }
        }
        Workload::Threads {
            file_mib,
            threads,
            read_kib,
        } => {
            let length = read_kib.max(1) * KIB;
            let part = file_mib * MIB / threads.max(1) / length * length;
            let program = |thread| Crew {
                program: Box::new(ascending(0, thread * part, part, length)) as Box<dyn Program>,
                tasks: 1,
            };
            Job {
                files: files(1, file_mib * MIB),
                processes: vec![Process {
                    name: "threads".to_owned(),
                    open: vec![0],
                    crews: (0..threads).map(program).collect(),
                }],
                ..Job::default()
            }
        }
        Workload::Readers {
            file_mib,
            readers,
            read_kib,
        } => {
            let (bytes, length) = (file_mib * MIB, read_kib * KIB);
            let process = |reader| {
                let program = ascending(0, 0, bytes, length);
                Process::new(format!("reader {reader}"), vec![slot(reader)], program)
            };
            Job {
                files: files(readers, bytes),
                processes: (0..readers).map(process).collect(),
                ..Job::default()
            }
        }
        Workload::Server {
            file_mib,
            daemons,
            read_kib,
            shuffle,
        } => {
            let (length, window) = (read_kib.max(1) * KIB, shuffle.max(1));
            let requests = file_mib * MIB / length / window * window;
            let program = (0..requests).flat_map(move |index| {
                let number = index / window;
                let place = shuffled(seed ^ mix(number), window, index % window);
                [
                    Step::Open { slot: 0, file: 0 },
                    read(0, (number * window + place) * length, length),
                    Step::Close { slot: 0 },
                    Step::UnitDone,
                ]
            });
            let process = Process {
                name: "server".to_owned(),
                ..Process::default()
            };
            Job {
                files: files(1, file_mib * MIB),
                processes: vec![process.with_workers(daemons, program)],
                ..Job::default()
            }
        }
        Workload::Reopen {
            file_mib,
            read_kib,
            every_kib,
        } => {
            let (bytes, length) = (file_mib * MIB, read_kib * KIB);
            let every = reads_in(every_kib * KIB, length).max(1);
            let program = (0..).zip(ascending(0, 0, bytes, length)).flat_map(
                move |(index, step): (u64, Step)| {
                    let open = Step::Open { slot: 0, file: 0 };
                    let opens = index % every == 0;
                    opens.then_some(open).into_iter().chain([step])
                },
            );
            let mut job = job_of_one("reopen", bytes, program);
            job.processes[0].open.clear();
            job
        }
        Workload::Random {
            file_mib,
            read_kib,
            reads,
        } => {
            let (bytes, length) = (file_mib * MIB, read_kib.max(1) * KIB);
            let program = (0..reads)
                .map(move |index| read(0, below(seed, index, bytes / length) * length, length));
            job_of_one("random", bytes, program)
        }
        Workload::Bursts {
            file_mib,
            read_kib,
            burst,
            bursts,
        } => {
            let (bytes, length) = (file_mib * MIB, read_kib.max(1) * KIB);
            let slots = (bytes / length).saturating_sub(burst);
            let program = (0..bursts).flat_map(move |index| {
                let start = below(seed, index, slots) * length;
                (0..burst).map(move |step| read(0, start + step * length, length))
            });
            job_of_one("bursts", bytes, program)
        }
        Workload::Mixed {
            file_mib,
            read_kib,
            run,
            random_kib,
        } => {
            let (bytes, length, other) = (file_mib * MIB, read_kib * KIB, random_kib.max(1) * KIB);
            let run = run.max(1);
            let program = (0..).zip(ascending(0, 0, bytes, length)).flat_map(
                move |(index, step): (u64, Step)| {
                    let place = below(seed, index, bytes / other) * other;
                    let random = (index % run == run - 1).then(|| read(0, place, other));
                    [step].into_iter().chain(random)
                },
            );
            job_of_one("mixed", bytes, program)
        }
        Workload::Sparse { file_mib, percent } => {
            let program = (0..file_mib * MIB / PAGE_BYTES)
                .filter(move |page| below(seed, *page, 100) < percent)
                .map(|page| read(0, page * PAGE_BYTES, PAGE_BYTES));
            job_of_one("sparse", file_mib * MIB, program)
        }
        Workload::Sizes {
            file_mib,
            factor_max,
        } => {
            let bytes = file_mib * MIB;
            let program = (0..).scan(0, move |offset: &mut u64, index| {
                let start = *offset;
                let length = (1 + below(seed, index, factor_max)) * PAGE_BYTES;
                *offset += length;
                (start < bytes).then(|| read(0, start, length.min(bytes - start)))
            });
            job_of_one("sizes", bytes, program)
        }
        Workload::Merge {
            file_mib,
            runs,
            read_kib,
        } => merge(file_mib * MIB, runs.max(1), read_kib.max(1) * KIB, seed),
        Workload::SmallFiles {
            files: count,
            file_kib,
            read_kib,
        } => {
            let (bytes, length) = (file_kib * KIB, read_kib.max(1) * KIB);
            let program = (0..count).flat_map(move |file| {
                let open = Step::Open {
                    slot: 0,
                    file: slot(file),
                };
                // A program learns that a file has ended from a read that brings nothing.
                let end = read(0, bytes, length);
                let close = Step::Close { slot: 0 };
                [open]
                    .into_iter()
                    .chain(ascending(0, 0, bytes, length))
                    .chain([end, close])
            });
            Job {
                files: files(count, bytes),
                processes: vec![Process::new("small files", Vec::new(), program)],
                ..Job::default()
            }
        }
        Workload::Mapped {
            file_mib,
            order,
            advice,
        } => mapped(file_mib * MIB / PAGE_BYTES, order, advice, seed),
        Workload::Libraries {
            files: count,
            file_mib,
            clusters,
            cluster_pages,
        } => {
            let pages = file_mib * MIB / PAGE_BYTES;
            let maps = (0..count).map(move |file| map(slot(file), slot(file), pages, Hint::Normal));
            let touches = (0..clusters).map(move |index| {
                let length = 1 + below(mix(seed), index, cluster_pages);
                Step::Touch {
                    area: slot(below(seed ^ 1, index, count)),
                    page: below(seed, index, pages.saturating_sub(length)),
                    pages: length,
                }
            });
            Job {
                files: files(count, file_mib * MIB),
                processes: vec![Process::new("libraries", all(count), maps.chain(touches))],
                ..Job::default()
            }
        }
        Workload::Streams {
            streams,
            bytes_per_s,
            read_kib,
            seconds,
        } => slow_streams(streams, bytes_per_s, read_kib.max(1) * KIB, seconds),
        Workload::Tail {
            file_mib,
            look_kib,
            think_us,
        } => {
            let bytes = file_mib * MIB;
            let ns = think_us * 1000;
            let program = ascending(0, 0, bytes, look_kib.max(1) * KIB)
                .flat_map(move |step| [step, Step::Think { ns }]);
            job_of_one("tail", bytes, program)
        }
        Workload::Database {
            heap_mib,
            index_mib,
            backends,
            lookups,
        } => database(heap_mib * MIB, index_mib * MIB, backends, lookups, seed),
        Workload::Paced {
            ref work,
            compute_us,
            think_us,
        } => paced(job(work, seed), compute_us * 1000, think_us * 1000),
        Workload::Together { ref works } => together(works, seed),
    }
}

fn files(count: u64, bytes: u64) -> Vec<FileSpec> {
    (0..count).map(|_| FileSpec::contiguous(bytes)).collect()
}

fn all(count: u64) -> Vec<u32> {
    (0..count).map(slot).collect()
}

fn map(area: u32, slot: u32, pages: u64, advice: Hint) -> Step {
    Step::Map {
        area,
        slot,
        start: 0,
        pages,
        advice: advice.into(),
        executable: false,
    }
}

/// A random run that is not at its end yet gives the next block.
fn merge(bytes: u64, runs: u64, length: u64, seed: u64) -> Job {
    let blocks = bytes / length;
    let mut left: Vec<(u64, u64)> = (0..runs).map(|run| (run, 0)).collect();
    let program = (0..blocks * runs).map(move |index| {
        let count = u64::try_from(left.len()).unwrap_or(1);
        let place = usize::try_from(below(seed, index, count)).unwrap_or(0);
        let (run, block) = left[place];
        if block + 1 == blocks {
            left.swap_remove(place);
        } else {
            left[place].1 += 1;
        }
        read(slot(run), block * length, length)
    });
    Job {
        files: files(runs, bytes),
        processes: vec![Process::new("merge", all(runs), program)],
        ..Job::default()
    }
}

fn mapped(pages: u64, order: Order, advice: Hint, seed: u64) -> Job {
    let start = [map(0, 0, pages, advice)];
    let touch = |page, pages| Step::Touch {
        area: 0,
        page,
        pages,
    };
    let bytes = pages * PAGE_BYTES;
    match order {
        Order::Forward => {
            let program = start.into_iter().chain([touch(0, pages)]);
            job_of_one("mapped", bytes, program)
        }
        Order::Backward => {
            let program = (0..pages).rev().map(move |page| touch(page, 1));
            job_of_one("mapped", bytes, start.into_iter().chain(program))
        }
        Order::Random => {
            let program = (0..pages).map(move |index| touch(below(seed, index, pages), 1));
            job_of_one("mapped", bytes, start.into_iter().chain(program))
        }
    }
}

fn slow_streams(streams: u64, bytes_per_s: u64, length: u64, seconds: u64) -> Job {
    const SECOND_NS: u64 = 1_000_000_000;
    let rate = bytes_per_s.max(1);
    let period_ns = length * SECOND_NS / rate;
    let reads = (rate * seconds).div_ceil(length);
    let process = |stream| {
        let start_ns = period_ns * stream / streams;
        let program = (0..reads).flat_map(move |index| {
            let ns = start_ns + index * period_ns;
            [Step::At { ns }, read(0, index * length, length)]
        });
        Process::new(format!("stream {stream}"), vec![slot(stream)], program)
    };
    Job {
        files: files(streams, reads * length),
        processes: (0..streams).map(process).collect(),
        ..Job::default()
    }
}

fn database(heap: u64, index: u64, backends: u64, lookups: u64, seed: u64) -> Job {
    /// A database page.
    const ROW_PAGE: u64 = 8 * KIB;
    let lookup = |backend: u64| {
        let seed = seed ^ mix(backend);
        (0..lookups).flat_map(move |number| {
            let leaf = below(seed, number, index / ROW_PAGE);
            let row = below(mix(seed), number, heap / ROW_PAGE);
            [
                read(1, leaf * ROW_PAGE, ROW_PAGE),
                read(0, row * ROW_PAGE, ROW_PAGE),
            ]
        })
    };
    let searcher = |backend| {
        let name = format!("backend {backend}");
        Process::new(name, vec![0, 1], lookup(backend))
    };
    let mut processes: Vec<_> = (1..backends).map(searcher).collect();
    let scan = ascending(0, 0, heap, ROW_PAGE);
    processes.push(Process::new("scan", vec![0, 1], scan));
    Job {
        files: vec![FileSpec::contiguous(heap), FileSpec::contiguous(index)],
        processes,
        ..Job::default()
    }
}

/// A program with something to do after each read or touch.
struct Paced {
    program: Box<dyn Program>,
    after: Vec<Step>,
    due: usize,
}

impl Program for Paced {
    fn step(&mut self) -> Option<Step> {
        if let Some(step) = self.after.get(self.due) {
            self.due += 1;
            return Some(*step);
        }
        let step = self.program.step()?;
        if matches!(step, Step::Read { .. } | Step::Touch { .. }) {
            self.due = 0;
        }
        Some(step)
    }

    fn fork(&self) -> Box<dyn Program> {
        Box::new(Self {
            program: self.program.fork(),
            after: self.after.clone(),
            due: self.due,
        })
    }
}

fn paced(mut job: Job, compute_ns: u64, think_ns: u64) -> Job {
    let mut after = Vec::new();
    if compute_ns > 0 {
        after.push(Step::Compute { ns: compute_ns });
    }
    if think_ns > 0 {
        after.push(Step::Think { ns: think_ns });
    }
    for crew in job.processes.iter_mut().flat_map(|p| p.crews.iter_mut()) {
        crew.program = Box::new(Paced {
            program: crew.program.fork(),
            after: after.clone(),
            due: after.len(),
        });
    }
    job
}

/// A program whose files have other numbers.
struct Renumbered {
    program: Box<dyn Program>,
    files_before: u32,
    tasks_before: u32,
}

impl Program for Renumbered {
    fn step(&mut self) -> Option<Step> {
        Some(match self.program.step()? {
            Step::Open { slot, file } => Step::Open {
                slot,
                file: file + self.files_before,
            },
            Step::Join { task } => Step::Join {
                task: task + self.tasks_before,
            },
            other => other,
        })
    }

    fn fork(&self) -> Box<dyn Program> {
        Box::new(Self {
            program: self.program.fork(),
            ..*self
        })
    }
}

fn together(works: &[Workload], seed: u64) -> Job {
    let mut all = Job::default();
    let (mut files_before, mut tasks_before) = (0, 0);
    for (number, work) in (0..).zip(works) {
        let mut job = job(work, seed ^ mix(number));
        for process in &mut job.processes {
            for file in &mut process.open {
                *file += files_before;
            }
            for crew in &mut process.crews {
                crew.program = Box::new(Renumbered {
                    program: crew.program.fork(),
                    files_before,
                    tasks_before,
                });
            }
        }
        let crews = job.processes.iter().flat_map(|process| &process.crews);
        tasks_before += crews.map(|crew| crew.tasks).sum::<u32>();
        let cached = job.cached.iter();
        all.cached
            .extend(cached.map(|(file, start, pages)| (file + files_before, *start, *pages)));
        files_before += u32::try_from(job.files.len()).unwrap_or(0);
        all.files.append(&mut job.files);
        all.processes.append(&mut job.processes);
    }
    all
}
