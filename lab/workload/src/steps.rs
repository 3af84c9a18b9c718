//! The files and the steps of each kind of [`Workload`].
//!
//! Steps are computed when they are taken, from their number and the sizes of the files: a program
//! holds a place, not a list.
//!
//! * `scans`: in order, from one place or from several
//! * `places`: at places left to chance
//! * `runs`: in runs with gaps between them, and with strays elsewhere
//! * `odd`: at odd places of one file
//! * `mapped`: through mappings
//! * `mix`: in order, with reads at random places in between
//! * `programs`: as programs that are known for it: small files, slow streams, databases
//! * `combined`: other workloads, paced or together
//! * `parts`: what the steps of all of them are made of

mod combined;
mod mapped;
mod mix;
mod odd;
mod parts;
mod places;
mod programs;
mod runs;
mod scans;

use ahead_units::PAGE_BYTES;

use crate::{FileSpec, Process, Workload};
use parts::{all, one};

#[cfg(test)]
pub(crate) use odd::MOST_READS;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// The files of `workload`, as long as it says.
pub(super) fn files(workload: &Workload) -> Vec<FileSpec> {
    let equal = |count: u64, bytes| (0..count).map(|_| FileSpec::contiguous(bytes)).collect();
    match *workload {
        Workload::Sequential { file_mib, .. }
        | Workload::Backward { file_mib, .. }
        | Workload::Strided { file_mib, .. }
        | Workload::Interleaved { file_mib, .. }
        | Workload::Threads { file_mib, .. }
        | Workload::Server { file_mib, .. }
        | Workload::Reopen { file_mib, .. }
        | Workload::Random { file_mib, .. }
        | Workload::Epochs { file_mib, .. }
        | Workload::Bursts { file_mib, .. }
        | Workload::Mixed { file_mib, .. }
        | Workload::Leaves { file_mib, .. }
        | Workload::Rates { file_mib, .. }
        | Workload::Sparse { file_mib, .. }
        | Workload::Odd { file_mib, .. }
        | Workload::Sizes { file_mib, .. }
        | Workload::Mapped { file_mib, .. }
        | Workload::Tail { file_mib, .. } => equal(1, file_mib * MIB),
        Workload::Separate {
            file_mib, streams, ..
        } => equal(streams.max(1), file_mib * MIB),
        Workload::Readers {
            file_mib, readers, ..
        } => equal(readers, file_mib * MIB),
        Workload::Loaders {
            file_mib,
            loaders,
            written_percent,
            ..
        } => {
            let mut files: Vec<_> = equal(loaders, file_mib * MIB);
            let written = programs::written(file_mib * MIB, written_percent);
            files.extend((0..loaders).map(|_| FileSpec::contiguous(written)));
            files
        }
        Workload::Runs {
            file_mib, files, ..
        } => equal(files.max(1), file_mib * MIB),
        Workload::Merge { file_mib, runs, .. } => equal(runs.max(1), file_mib * MIB),
        Workload::SmallFiles {
            files, file_kib, ..
        } => equal(files, file_kib * KIB),
        Workload::Libraries {
            files, file_mib, ..
        } => equal(files, file_mib * MIB),
        Workload::Streams {
            streams,
            bytes_per_s,
            read_kib,
            seconds,
        } => {
            let length = read_kib.max(1) * KIB;
            let reads = programs::stream_reads(bytes_per_s, length, seconds);
            equal(streams, reads * length)
        }
        Workload::Mix {
            streams,
            reads,
            read_kib,
            random_permille,
            random_mib,
        } => {
            let (sequential, random) = mix::reads(reads, random_permille);
            let own = if sequential > 0 { streams } else { 0 };
            let mut files: Vec<_> = equal(own, sequential * length(read_kib));
            files.extend((random > 0).then(|| FileSpec::contiguous(random_mib * MIB)));
            files
        }
        Workload::Database {
            heap_mib,
            index_mib,
            ..
        } => vec![
            FileSpec::contiguous(heap_mib * MIB),
            FileSpec::contiguous(index_mib * MIB),
        ],
        Workload::Paced { ref work, .. } => files(work),
        Workload::Phases { ref works } => {
            let files = works.iter().flat_map(files);
            files.max_by_key(|file| file.bytes).into_iter().collect()
        }
        Workload::Together { ref works } => works.iter().flat_map(files).collect(),
    }
}

/// The processes of `workload` over `files`.
#[expect(
    clippy::too_many_lines,
    reason = "a table: one short arm for each kind, and nothing else"
)]
pub(super) fn processes(workload: &Workload, files: &[FileSpec], seed: u64) -> Vec<Process> {
    let bytes = size(files, 0);
    match *workload {
        Workload::Sequential {
            read_kib, passes, ..
        } => one(
            "sequential",
            scans::sequential(bytes, length(read_kib), passes),
        ),
        Workload::Backward { read_kib, .. } => {
            one("backward", scans::backward(bytes, length(read_kib)))
        }
        Workload::Strided {
            read_kib,
            period_kib,
            part_period,
            ..
        } => one(
            "strided",
            scans::strided(bytes, length(read_kib), length(period_kib), part_period),
        ),
        Workload::Interleaved {
            streams, read_kib, ..
        } => one(
            "interleaved",
            scans::interleaved(bytes, streams.max(1), length(read_kib)),
        ),
        Workload::Separate {
            streams, read_kib, ..
        } => vec![scans::separate(files, streams.max(1), length(read_kib))],
        Workload::Threads {
            threads,
            read_kib,
            own_descriptors,
            ..
        } => vec![scans::threads(
            bytes,
            threads,
            length(read_kib),
            own_descriptors,
        )],
        Workload::Readers { read_kib, .. } => scans::readers(files, length(read_kib)),
        Workload::Loaders {
            read_kib,
            written_percent,
            ..
        } => programs::loaders(files, length(read_kib), written_percent),
        Workload::Server {
            daemons,
            read_kib,
            shuffle,
            draw,
            ..
        } => {
            let requests = scans::Requests::new(bytes, length(read_kib), shuffle, draw, seed);
            let process = Process {
                name: "server".to_owned(),
                ..Process::default()
            };
            vec![process.with_workers(daemons, requests)]
        }
        Workload::Reopen {
            read_kib,
            every_kib,
            closes,
            ..
        } => {
            let program = scans::reopen(bytes, length(read_kib), every_kib * KIB, closes);
            vec![Process::new("reopen", Vec::new(), program)]
        }
        Workload::Random {
            read_kib, reads, ..
        } => one(
            "random",
            places::random(bytes, length(read_kib), reads, seed),
        ),
        Workload::Epochs {
            read_kib,
            reads,
            passes,
            ..
        } => one(
            "epochs",
            places::epochs(bytes, length(read_kib), reads, passes, seed),
        ),
        Workload::Bursts {
            read_kib,
            burst,
            bursts,
            ..
        } => one(
            "bursts",
            places::bursts(bytes, length(read_kib), burst, bursts, seed),
        ),
        Workload::Runs {
            read_bytes,
            run_kib,
            lengths,
            gap_kib,
            gaps,
            course,
            passes,
            footer,
            ..
        } => {
            let runs = runs::Runs {
                read: read_bytes.max(1),
                run: runs::Distance::new(run_kib, lengths, seed),
                gap: runs::Distance::new(gap_kib, gaps, !seed),
                course,
            };
            vec![runs::process(files, runs, passes, footer)]
        }
        Workload::Leaves {
            read_kib,
            percent,
            every,
            ahead_kib,
            behind,
            backward,
            ..
        } => {
            let stray = runs::Stray {
                every: every.max(1),
                distance: ahead_kib * KIB,
                behind,
            };
            one(
                "leaves",
                runs::leaves(bytes, length(read_kib), percent, stray, backward, seed),
            )
        }
        Workload::Rates {
            streams, read_kib, ..
        } => one(
            "rates",
            runs::rates(bytes, streams.max(1), length(read_kib), seed),
        ),
        Workload::Mixed {
            read_kib,
            run,
            random_kib,
            draw,
            ..
        } => {
            let (length, random) = (length(read_kib), length(random_kib));
            one(
                "mixed",
                places::mixed(bytes, length, run.max(1), random, draw, seed),
            )
        }
        Workload::Odd {
            form,
            read_bytes,
            step_bytes,
            varied_bytes,
            group,
            backward,
            ..
        } => {
            let odd = odd::Odd {
                read: read_bytes.max(1),
                step: step_bytes.max(1),
                varied: varied_bytes,
                group: group.max(1),
            };
            one("odd", odd::program(form, odd, bytes, backward, seed))
        }
        Workload::Sparse { percent, .. } => one("sparse", places::sparse(bytes, percent, seed)),
        Workload::Sizes { factor_max, .. } => one("sizes", places::sizes(bytes, factor_max, seed)),
        Workload::Merge { read_kib, .. } => vec![Process::new(
            "merge",
            all(files),
            places::merge(files, length(read_kib), seed),
        )],
        Workload::SmallFiles { read_kib, .. } => {
            let program = programs::small_files(files, length(read_kib));
            vec![Process::new("small files", Vec::new(), program)]
        }
        Workload::Mapped {
            order,
            advice,
            touches,
            step_pages,
            ..
        } => {
            let pages = bytes / PAGE_BYTES;
            let touches = touches.unwrap_or(pages);
            let step_pages = step_pages.unwrap_or(pages);
            mapped::mapped(pages, order, advice, touches, step_pages, seed)
        }
        Workload::Libraries {
            clusters,
            cluster_pages,
            ..
        } => vec![mapped::libraries(files, clusters, cluster_pages, seed)],
        Workload::Streams {
            bytes_per_s,
            read_kib,
            seconds,
            ..
        } => programs::slow_streams(files, bytes_per_s, length(read_kib), seconds),
        Workload::Tail {
            look_kib, think_us, ..
        } => one(
            "tail",
            programs::tail(bytes, length(look_kib), think_us * 1000),
        ),
        Workload::Mix {
            streams,
            reads,
            read_kib,
            random_permille,
            ..
        } => mix::mix(
            files,
            streams,
            reads,
            random_permille,
            length(read_kib),
            seed,
        ),
        Workload::Database {
            backends, lookups, ..
        } => programs::database(bytes, size(files, 1), backends, lookups, seed),
        Workload::Paced {
            ref work,
            compute_us,
            think_us,
        } => combined::paced(
            processes(work, files, seed),
            compute_us * 1000,
            think_us * 1000,
        ),
        Workload::Phases { ref works } => combined::phases(works, files, seed, processes),
        Workload::Together { ref works } => combined::together(works, files, seed, processes),
    }
}

/// Bytes of a read; a read of nothing would never end.
fn length(kib: u64) -> u64 {
    kib.max(1) * KIB
}

/// Bytes of a file, 0 if there is none.
fn size(files: &[FileSpec], number: usize) -> u64 {
    files.get(number).map_or(0, |file| file.bytes)
}
