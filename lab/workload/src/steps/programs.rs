//! Steps as kinds of programs take them: walks of small files, films, followers, databases.

use ahead_units::PAGE_BYTES;

use super::parts::{ascending, read, slot};
use crate::random::{below, mix};
use crate::{FileSpec, Process, Program, Step};

const KIB: u64 = 1024;
const SECOND_NS: u64 = 1_000_000_000;

pub(super) fn small_files(files: &[FileSpec], length: u64) -> impl Program + use<> {
    let sizes: Vec<u64> = files.iter().map(|file| file.bytes).collect();
    (0..).zip(sizes).flat_map(move |(file, bytes): (u32, u64)| {
        // A program learns that a file has ended from a read that brings nothing.
        let end = read(0, bytes, length);
        [Step::Open { slot: 0, file }]
            .into_iter()
            .chain(ascending(0, 0, bytes, length))
            .chain([end, Step::Close { slot: 0 }])
    })
}

/// Reads of one slow stream.
pub(super) fn stream_reads(bytes_per_s: u64, length: u64, seconds: u64) -> u64 {
    (bytes_per_s.max(1) * seconds).div_ceil(length)
}

pub(super) fn slow_streams(
    files: &[FileSpec],
    bytes_per_s: u64,
    length: u64,
    seconds: u64,
) -> Vec<Process> {
    let streams = u64::try_from(files.len()).unwrap_or(0);
    let period_ns = length * SECOND_NS / bytes_per_s.max(1);
    let reads = stream_reads(bytes_per_s, length, seconds);
    let process = |stream| {
        let start_ns = period_ns * stream / streams;
        let program = (0..reads).flat_map(move |index| {
            let ns = start_ns + index * period_ns;
            [Step::At { ns }, read(0, index * length, length)]
        });
        Process::new(format!("stream {stream}"), vec![slot(stream)], program)
    };
    (0..streams).map(process).collect()
}

/// What a loader has written when it has read `bytes`, in whole pages.
pub(super) fn written(bytes: u64, percent: u64) -> u64 {
    let bytes = u128::from(bytes) * u128::from(percent) / 100;
    u64::try_from(bytes).unwrap_or(u64::MAX) / PAGE_BYTES * PAGE_BYTES
}

/// Files: those that are read, and as many that are written.
pub(super) fn loaders(files: &[FileSpec], length: u64, percent: u64) -> Vec<Process> {
    let loaders = files.len() / 2;
    let process = |(number, file): (u32, &FileSpec)| {
        let bytes = file.bytes;
        let program = ascending(0, 0, bytes, length).flat_map(move |step| {
            let (from, to) = match step {
                Step::Read { offset, length, .. } => (
                    written(offset, percent),
                    written(offset.saturating_add(length), percent),
                ),
                _ => (0, 0),
            };
            let write = (to > from).then_some(Step::Write {
                slot: 1,
                offset: from,
                length: to - from,
            });
            [step].into_iter().chain(write)
        });
        let output = number + slot(loaders as u64);
        Process::new(format!("loader {number}"), vec![number, output], program)
    };
    (0..).zip(&files[..loaders]).map(process).collect()
}

pub(super) fn tail(bytes: u64, length: u64, think_ns: u64) -> impl Program {
    ascending(0, 0, bytes, length).flat_map(move |step| [step, Step::Think { ns: think_ns }])
}

pub(super) fn database(
    heap: u64,
    index: u64,
    backends: u64,
    lookups: u64,
    seed: u64,
) -> Vec<Process> {
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
    processes
}
