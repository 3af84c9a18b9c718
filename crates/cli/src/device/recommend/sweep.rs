//! Every window simulated, and one of them chosen.

use std::sync::{Mutex, PoisonError};

use ahead_device::finding::WINDOWS_AT_ONCE;
use ahead_device::measurement::ladder::{LadderPoint, STREAM_READ_BYTES};
use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::Policy;
use ahead_sim::simulate_before;
use ahead_sim::world::{WorldError, WorldMoment, WorldObserver};
use ahead_study::parallel;
use ahead_units::PAGE_BYTES;
use ahead_workload::Job;
use serde::Serialize;

use super::mix::Mix;
use super::simulated::{SharedMemory, SimulatedMachine};
use super::through_cache::{Correction, Rung};
use crate::figures::size;

/// The windows, in KiB: none, and powers of two up to 64 MiB, the largest that kernels and images set.
pub(super) const WINDOWS_KIB: [u64; 16] = [
    0, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536,
];
/// Times that differ by less, of a hundred, are alike: of these the smallest window is recommended, as it
/// costs others the least. 3 % is what the bench's runs differ by.
pub(super) const ALIKE_PER_CENT: u64 = 3;
/// The kernel's default since 2.6. A smaller window is recommended only where it is better: where it is
/// alike, that is because the reads of the mix are as large as this, and mappings and programs with smaller
/// reads would pay for it.
const USUAL_KIB: u64 = 128;
/// Memory beside what the streams of a ladder read: it runs in that of the whole machine.
const SPARE_BYTES: u64 = 1 << 30;

/// A window as tables name it.
pub(super) fn name_of(window_kib: u64) -> String {
    if window_kib == 0 {
        return "off".to_owned();
    }
    size(window_kib << 10)
}

/// What is simulated, and on what.
pub(super) struct SweepPlace {
    /// Locked for a copy only: a job can be sent to another thread, and not be shared.
    pub(super) job: Mutex<Job>,
    /// The file with the random places; without one every read counts.
    pub(super) random_file: Option<u32>,
    pub(super) streams: u64,
    pub(super) memory: SharedMemory,
    pub(super) capacity: u64,
    pub(super) machine: SimulatedMachine,
}

/// A disk, and how far streams through the page cache of its machine are from what is simulated of them.
pub(super) struct SweptDisk<'a> {
    pub(super) model: &'a DiskModel,
    pub(super) correction: Correction,
}

/// What one window does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct WindowOutcome {
    /// The window.
    pub window_kib: u64,
    /// Until the last program has ended.
    pub elapsed_ns: u64,
    /// Bytes per second that the programs got.
    pub bytes_per_second: u64,
    /// Median time of the reads that the limit is about: the random ones, or all.
    pub p50_ns: u64,
    /// 99 of 100 of them took no longer.
    pub p99_ns: u64,
    /// What a limit is held against: the same for random reads; where there are none, the slowest read. Under a large window fewer than one
    /// read of a scan in a hundred waits, and that one for all of the window.
    pub limited_ns: u64,
    /// Bytes that the disk read for each 1000 that the programs got.
    pub read_permille: u64,
    /// Pages read ahead, evicted, and then wanted after all.
    pub thrashed_pages: u64,
    /// Most that was in memory and not read yet.
    pub unread_bytes: u64,
    /// Memory that the windows of all streams take at most.
    pub window_bytes: u64,
    /// That is more than there is for them: what is evicted unread then, and with it the time, differs from run to run, in a
    /// guest by a tenth. Not said of the usual window and smaller ones, as there is no better answer.
    pub fills_memory: bool,
}

impl WindowOutcome {
    /// Whether reads are as quick as they have to be.
    pub(super) fn keeps(&self, limit_ns: Option<u64>) -> bool {
        limit_ns.is_none_or(|limit_ns| self.limited_ns <= limit_ns)
    }
}

/// Runs the job once under the kernel's algorithm with this window, corrected.
pub(super) fn at_window(
    place: &SweepPlace,
    disk: &SweptDisk<'_>,
    window_kib: u64,
) -> Result<WindowOutcome, WorldError> {
    let kernel = place.machine.kernel(window_kib, disk.model);
    let outcome = run(place, disk.model, &kernel, window_kib)?;
    Ok(corrected(outcome, disk.correction.permille_at(window_kib)))
}

/// The same under `ahead run`, over a kernel with this window. Its own windows are those that its streams had on the way at
/// most, two for each.
pub(super) fn under_ahead_run(
    place: &SweepPlace,
    disk: &SweptDisk<'_>,
    window_kib: u64,
) -> Result<WindowOutcome, WorldError> {
    let library = place.machine.library(window_kib, disk.model);
    let outcome = run(place, disk.model, &library, window_kib)?;
    let own_kib = (outcome.unread_bytes >> 10) / (place.streams.max(1) * WINDOWS_AT_ONCE);
    let outcome = corrected(outcome, disk.correction.permille_at(own_kib));
    // What they took is known, and not what they could take.
    Ok(WindowOutcome {
        window_bytes: outcome.unread_bytes,
        fills_memory: false,
        ..outcome
    })
}

/// What was simulated, as it would be measured: so many thousandths of its rate. The times of single reads stay as simulated.
fn corrected(outcome: WindowOutcome, permille: u64) -> WindowOutcome {
    let scaled = |value: u64, by: u64, of: u64| {
        let scaled = u128::from(value) * u128::from(by) / u128::from(of.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    };
    WindowOutcome {
        elapsed_ns: scaled(outcome.elapsed_ns, 1000, permille),
        bytes_per_second: scaled(outcome.bytes_per_second, permille, 1000),
        ..outcome
    }
}

/// A disk in the machine of `place`, and what `ladder` says of so many streams there.
pub(super) fn disk_of_ladder<'a>(
    place: &SweepPlace,
    model: &'a DiskModel,
    ladder: &[LadderPoint],
) -> Result<SweptDisk<'a>, WorldError> {
    let simulate = |rung: &Rung| {
        let mix = Mix {
            streams: rung.streams.into(),
            random_permille: 0,
            request_bytes: STREAM_READ_BYTES,
            bytes_per_second_max: None,
        };
        let own_bytes = mix.own_bytes();
        let streams = SweepPlace {
            job: Mutex::new(mix.job(place.capacity)),
            random_file: None,
            streams: mix.streams,
            memory: SharedMemory {
                bytes: own_bytes + mix.bytes(place.capacity) + SPARE_BYTES,
                own_bytes,
            },
            capacity: place.capacity,
            machine: place.machine.clone(),
        };
        let kernel = streams.machine.kernel(rung.window_kib, model);
        Ok(run(&streams, model, &kernel, rung.window_kib)?.bytes_per_second)
    };
    let correction = Correction::of(ladder, place.streams, simulate)?;
    Ok(SweptDisk { model, correction })
}

/// Runs the job once under `policy`, as it is simulated.
fn run(
    place: &SweepPlace,
    disk: &DiskModel,
    policy: &Policy,
    window_kib: u64,
) -> Result<WindowOutcome, WorldError> {
    let machine = (place.machine).machine(disk, place.memory, place.capacity);
    let latencies = Latencies {
        file: place.random_file,
        all_ns: Vec::new(),
    };
    let job = (place.job.lock().unwrap_or_else(PoisonError::into_inner)).fork();
    let (report, mut latencies) = simulate_before(&machine, policy, &job, latencies)?;
    latencies.all_ns.sort_unstable();
    let quantile =
        |permille| ahead_device::measurement::statistics::quantile(&latencies.all_ns, permille);
    let window_bytes = (window_kib << 10) * place.streams * WINDOWS_AT_ONCE;
    let cache_bytes = place.memory.bytes.saturating_sub(place.memory.own_bytes);
    Ok(WindowOutcome {
        window_kib,
        elapsed_ns: report.elapsed_ns,
        bytes_per_second: report.bytes_per_second(),
        p50_ns: quantile(500),
        p99_ns: quantile(990),
        limited_ns: quantile(if place.random_file.is_some() {
            990
        } else {
            1000
        }),
        read_permille: report.amplification_permille(),
        thrashed_pages: report.prefetch.thrashed,
        window_bytes,
        fills_memory: window_kib > USUAL_KIB && window_bytes > cache_bytes,
        unread_bytes: report.prefetch.unread_max * PAGE_BYTES,
    })
}

/// Runs the job at every window under the kernel's algorithm, on every disk; an outcome for each window, disk by
/// disk.
pub(super) fn all(
    place: &SweepPlace,
    disks: &[SweptDisk<'_>],
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Vec<WindowOutcome>>, WorldError> {
    let cells: Vec<(&SweptDisk<'_>, u64)> = disks
        .iter()
        .flat_map(|disk| WINDOWS_KIB.map(|kib| (disk, kib)))
        .collect();
    let outcomes = parallel::map(&cells, |(disk, kib)| {
        let outcome = at_window(place, disk, *kib);
        done();
        outcome
    });
    let outcomes: Vec<WindowOutcome> = outcomes.into_iter().collect::<Result<_, _>>()?;
    let rows = outcomes.chunks(WINDOWS_KIB.len());
    Ok(rows.map(<[WindowOutcome]>::to_vec).collect())
}

/// What follows from the outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Choice {
    /// The window that is recommended; `None` when none keeps the limit.
    pub window_kib: Option<u64>,
    /// Those that are as good, the recommended one left out.
    pub alternatives_kib: Vec<u64>,
    /// The fastest that keeps the limit and does not fill the memory.
    pub fastest_allowed_kib: Option<u64>,
    /// The fastest that does not fill the memory.
    pub fastest_kib: u64,
    /// The one that keeps the shortest limit.
    pub calmest_kib: u64,
    /// The limit costs throughput, or cannot be kept: one value does not serve both.
    pub is_conflict: bool,
}

/// Chooses among `outcomes`, windows ascending, under a limit for reads, what does not fill the memory.
pub(super) fn choose(outcomes: &[WindowOutcome], limit_ns: Option<u64>) -> Choice {
    let is_allowed = |one: &&WindowOutcome| one.keeps(limit_ns);
    let calmest = outcomes.iter().min_by_key(|one| one.limited_ns);
    let fitting = || outcomes.iter().filter(|one| !one.fills_memory);
    let fastest = fitting().min_by_key(|one| one.elapsed_ns);
    let allowed = fitting().filter(is_allowed);
    let allowed = allowed.min_by_key(|one| one.elapsed_ns);
    let alike: Vec<u64> = fitting()
        .filter(is_allowed)
        .filter(|one| allowed.is_some_and(|best| is_alike(one, best)))
        .map(|one| one.window_kib)
        .collect();
    let is_conflict = match (allowed, fastest) {
        (Some(allowed), Some(fastest)) => !is_alike(allowed, fastest),
        (None, _) => true,
        _ => false,
    };
    let usual = alike.iter().find(|kib| **kib >= USUAL_KIB);
    let window_kib = usual.or_else(|| alike.last()).copied();
    let alternatives = alike.into_iter().filter(|kib| Some(*kib) != window_kib);
    Choice {
        window_kib,
        alternatives_kib: alternatives.collect(),
        fastest_allowed_kib: allowed.map(|one| one.window_kib),
        fastest_kib: fastest.map_or(0, |one| one.window_kib),
        calmest_kib: calmest.map_or(0, |one| one.window_kib),
        is_conflict,
    }
}

/// Whether `one` takes hardly longer than `best`.
fn is_alike(one: &WindowOutcome, best: &WindowOutcome) -> bool {
    let (one, best) = (u128::from(one.elapsed_ns), u128::from(best.elapsed_ns));
    one * 100 <= best * u128::from(100 + ALIKE_PER_CENT)
}

/// Times of reads of one file, or of all.
struct Latencies {
    file: Option<u32>,
    all_ns: Vec<u64>,
}

impl WorldObserver for Latencies {
    fn on_read_done(&mut self, moment: &WorldMoment, _bytes: u64, elapsed_ns: u64) {
        if self.file.is_none_or(|file| moment.file.0 == file) {
            self.all_ns.push(elapsed_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(all: &[(u64, u64, u64)]) -> Vec<WindowOutcome> {
        let outcome = |(window_kib, elapsed_ns, p99_ns): &(u64, u64, u64)| WindowOutcome {
            window_kib: *window_kib,
            elapsed_ns: *elapsed_ns,
            p99_ns: *p99_ns,
            limited_ns: *p99_ns,
            ..WindowOutcome::default()
        };
        all.iter().map(outcome).collect()
    }

    /// Larger is not better: 512 KiB and 8 MiB are worse than what lies between.
    #[test]
    fn the_optimum_is_found_where_it_is_and_the_smallest_of_the_alike_is_taken() {
        let all = outcomes(&[
            (128, 2000, 1),
            (512, 1500, 2),
            (1024, 1010, 3),
            (2048, 1500, 3),
            (4096, 1000, 4),
            (8192, 1400, 9),
        ]);
        let choice = choose(&all, None);
        assert_eq!(choice.window_kib, Some(1024));
        assert_eq!(choice.alternatives_kib, [4096]);
        assert_eq!(choice.fastest_kib, 4096);
        assert!(!choice.is_conflict);
    }

    /// Sixty-four streams in 512 MiB of an arm: 4 MiB were simulated to be the fastest, and were in fact 11 % slower than 1 MiB.
    #[test]
    fn a_window_that_fills_the_memory_is_not_recommended() {
        let mut all = outcomes(&[
            (128, 2656, 1),
            (1024, 1040, 2),
            (2048, 1110, 3),
            (4096, 1000, 4),
        ]);
        all[3].fills_memory = true;
        let choice = choose(&all, None);
        assert_eq!(choice.window_kib, Some(1024));
        assert_eq!(choice.fastest_kib, 1024);
        assert!(choice.alternatives_kib.is_empty() && !choice.is_conflict);
    }

    #[test]
    fn a_corrected_outcome_takes_longer_and_its_reads_do_not() {
        let outcome = WindowOutcome {
            elapsed_ns: 1000,
            bytes_per_second: 4000,
            p99_ns: 7,
            ..WindowOutcome::default()
        };
        let found = corrected(outcome, 500);
        let figures = (found.elapsed_ns, found.bytes_per_second, found.p99_ns);
        assert_eq!(figures, (2000, 2000, 7));
        assert_eq!(corrected(outcome, 1000), outcome);
    }

    /// Reads of 128 KiB are read whole under any window.
    #[test]
    fn less_than_usual_is_recommended_only_where_it_is_better() {
        let all = outcomes(&[(4, 1000, 1), (64, 1000, 1), (128, 1000, 1), (1024, 1000, 2)]);
        assert_eq!(choose(&all, None).window_kib, Some(128));
        let all = outcomes(&[(4, 1000, 1), (64, 1000, 1), (128, 1100, 1), (1024, 1200, 2)]);
        assert_eq!(choose(&all, None).window_kib, Some(64));
    }

    #[test]
    fn a_limit_excludes_windows_and_a_conflict_is_said() {
        let all = outcomes(&[(128, 2000, 10), (1024, 1500, 15), (4096, 1000, 40)]);
        let within = choose(&all, Some(20));
        assert_eq!((within.window_kib, within.is_conflict), (Some(1024), true));
        assert_eq!(within.fastest_kib, 4096);
        let all_allowed = choose(&all, Some(40));
        assert_eq!(all_allowed.window_kib, Some(4096));
        assert!(!all_allowed.is_conflict);
        let none = choose(&all, Some(5));
        assert_eq!((none.window_kib, none.is_conflict), (None, true));
        assert_eq!(none.calmest_kib, 128);
    }
}
