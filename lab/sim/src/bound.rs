//! A time that no policy can go below, on this machine and with this job: what the oracle's ceiling is held
//! against, since the oracle is a search and not a proof.
//!
//! Two things have to happen whatever is read ahead, and the larger of the two is the bound:
//!
//! * **Work of the device.** Memory begins empty (but for what the job says is cached), so every page that is
//!   wanted has to come from the disk once, and no disk gives bytes faster than its rate.
//! * **Dependency.** A program goes through its steps one after the other: what it computes, sleeps and waits
//!   for by the clock adds up; and all computing together has only so many processors.
//!
//! Everything else (arms, latencies, memory that is too small, copies) is left out, which makes the bound lower
//! than it could be, never wrong.

use std::collections::BTreeMap;

use ahead_units::PAGE_BYTES;
use ahead_workload::wanted::future;
use ahead_workload::{Job, Step};

use crate::world::Machine;

/// Ranges that are remembered before they are merged; if merging does not make space, the rest is left out.
const RANGES_MAX: usize = 1 << 22;

/// Nanoseconds that every run of `job` on `machine` takes at least.
#[must_use]
pub fn lower_bound_ns(machine: &Machine, job: &Job) -> u64 {
    device_ns(machine, job).max(programs_ns(machine, job))
}

fn device_ns(machine: &Machine, job: &Job) -> u64 {
    let wanted = u128::from(wanted_bytes(job));
    let rate = u128::from(machine.disk.bytes_per_s().max(1));
    u64::try_from(wanted * 1_000_000_000 / rate).unwrap_or(u64::MAX)
}

/// Bytes of all pages that the programs of `job` want and that are not in memory from the start, each once.
fn wanted_bytes(job: &Job) -> u64 {
    // By file: ranges of pages, ends exclusive.
    let mut files: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    let mut many = 0;
    for range in future(job) {
        let end = (range.offset + range.length).div_ceil(PAGE_BYTES);
        let ranges = files.entry(range.file).or_default();
        ranges.push((range.offset / PAGE_BYTES, end));
        many += 1;
        if many >= RANGES_MAX {
            files.values_mut().for_each(merge);
            many = files.values().map(Vec::len).sum();
            if many >= RANGES_MAX / 2 {
                break;
            }
        }
    }
    let of_file = |(file, mut ranges): (u32, Vec<(u64, u64)>)| -> u64 {
        merge(&mut ranges);
        let bytes = usize::try_from(file)
            .ok()
            .and_then(|file| job.files.get(file));
        let bytes = bytes.map_or(0, |file| file.bytes);
        let end = |page: u64| page.saturating_mul(PAGE_BYTES).min(bytes);
        ranges
            .iter()
            .map(|&(from, to)| end(to).saturating_sub(end(from)))
            .sum()
    };
    let wanted: u64 = files.into_iter().map(of_file).sum();
    let cached: u64 = job
        .cached
        .iter()
        .map(|(_, _, pages)| pages * PAGE_BYTES)
        .sum();
    wanted.saturating_sub(cached)
}

/// Sorts ranges and joins those that touch.
fn merge(ranges: &mut Vec<(u64, u64)>) {
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(ranges.len().min(1 << 16));
    for &(from, to) in ranges.iter() {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    *ranges = merged;
}

fn programs_ns(machine: &Machine, job: &Job) -> u64 {
    let (mut longest, mut computed) = (0_u64, 0_u64);
    for group in job.processes.iter().flat_map(|process| &process.groups) {
        let mut program = group.program.fork();
        let (mut compute, mut think, mut moment) = (0_u64, 0_u64, 0_u64);
        while let Some(step) = program.step() {
            match step {
                Step::Compute { ns } => compute = compute.saturating_add(ns),
                Step::Think { ns } => think = think.saturating_add(ns),
                Step::At { ns } => moment = moment.max(ns),
                _ => {}
            }
        }
        computed = computed.saturating_add(compute);
        // Tasks of a group share its steps.
        let each = compute.saturating_add(think) / u64::from(group.tasks.max(1));
        longest = longest.max(each).max(moment);
    }
    longest.max(computed / u64::from(machine.cpus.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_disk_model::DiskModel;
    use ahead_units::PageCount;
    use ahead_workload::{FileSpec, Process};

    fn read(offset: u64, length: u64) -> Step {
        Step::Read {
            slot: 0,
            offset,
            length,
        }
    }

    fn job(steps: Vec<Step>) -> Job {
        Job {
            files: vec![FileSpec::contiguous(10 * PAGE_BYTES + 1)],
            processes: vec![Process::new("reader", vec![0], steps.into_iter())],
            ..Job::default()
        }
    }

    #[test]
    fn a_page_counts_once_and_the_last_one_only_as_far_as_the_file_goes() {
        let again = job(vec![read(0, 8192), read(4096, 8192), read(1, 1)]);
        assert_eq!(wanted_bytes(&again), 3 * PAGE_BYTES);
        let end = job(vec![read(9 * PAGE_BYTES, 1 << 20)]);
        assert_eq!(wanted_bytes(&end), PAGE_BYTES + 1);
        let cached = Job {
            cached: vec![(0, 0, 2)],
            ..job(vec![read(0, 3 * PAGE_BYTES)])
        };
        assert_eq!(wanted_bytes(&cached), PAGE_BYTES);
    }

    #[test]
    fn what_a_program_does_between_its_reads_adds_up() {
        let machine = Machine::modern(DiskModel::ssd(), PageCount::new(1024));
        let busy = job(vec![
            Step::Compute { ns: 3_000_000 },
            read(0, 4096),
            Step::Think { ns: 5_000_000 },
        ]);
        assert_eq!(lower_bound_ns(&machine, &busy), 8_000_000);
        let late = job(vec![Step::At { ns: 9_000_000 }, read(0, 4096)]);
        assert_eq!(lower_bound_ns(&machine, &late), 9_000_000);
    }
}
