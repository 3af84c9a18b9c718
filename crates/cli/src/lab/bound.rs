//! What the disk of a guest needs at the least for what a program reads: the ceiling of programs whose list names none.
//!
//! Who knows all of it beforehand reads each byte once, in the order of the disk, in long requests, many at once. What the
//! program needs is what was read by itself *and* under `ahead run`: what only one of both read was read in vain. Nothing can
//! be faster, whatever it knows, and nobody may be as fast: who has to read one page to know the next waits for each.

use ahead_guest::sweep::{distinct_reads, sweep_ns};
use ahead_guest::{GuestDisk, LoggedRequest};
use ahead_harness::programs::results::{ProgramOutcome, ProgramRun};

/// Ranges of a disk, first byte and end, in ascending order and without overlap.
type Ranges = [(u64, u64)];

/// Gives `outcome` the ceiling that follows from the log of the guest in which it was measured on `disk`.
pub(super) fn add(outcome: &mut ProgramOutcome, log: &[LoggedRequest], disk: &GuestDisk) {
    let ProgramOutcome::Measured {
        plain,
        with,
        ceiling,
    } = outcome
    else {
        return;
    };
    if !ceiling.is_empty() {
        return;
    }
    let neighbours = plain.iter().zip(with.iter());
    ceiling.extend(neighbours.map(|(plain, with)| {
        let needed = both(&read_during(plain, log), &read_during(with, log));
        ProgramRun {
            started_ns: plain.started_ns,
            elapsed_ns: sweep_ns(disk, &needed),
            device_bytes: needed.iter().map(|(start, end)| end - start).sum(),
            ..ProgramRun::default()
        }
    }));
}

/// What was read while `run` went on.
fn read_during(run: &ProgramRun, log: &[LoggedRequest]) -> Vec<(u64, u64)> {
    let time = run.started_ns..=run.started_ns.saturating_add(run.elapsed_ns);
    let requests = log.iter().filter(|it| time.contains(&it.arrived_ns));
    distinct_reads(&requests.copied().collect::<Vec<_>>())
}

/// What lies in one of `these` and in one of `those`.
fn both(these: &Ranges, those: &Ranges) -> Vec<(u64, u64)> {
    let (mut these, mut those) = (these.iter().peekable(), those.iter().peekable());
    let mut common = Vec::new();
    while let (Some(&&(start, end)), Some(&&(other_start, other_end))) =
        (these.peek(), those.peek())
    {
        let overlap = (start.max(other_start), end.min(other_end));
        if overlap.0 < overlap.1 {
            common.push(overlap);
        }
        // Who ends first has nothing in common with what comes next.
        if end < other_end {
            these.next();
        } else {
            those.next();
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_disk_model::DiskModel;

    fn read(arrived_ns: u64, offset: u64, bytes: u32) -> LoggedRequest {
        LoggedRequest {
            arrived_ns,
            completed_ns: arrived_ns,
            ended_ns: arrived_ns,
            offset,
            number: 0,
            bytes,
            is_write: false,
        }
    }

    fn run(started_ns: u64, elapsed_ns: u64) -> ProgramRun {
        ProgramRun {
            started_ns,
            elapsed_ns,
            ..ProgramRun::default()
        }
    }

    #[test]
    fn what_lies_in_both_is_found_also_where_one_range_meets_several() {
        let these = [(0, 10), (20, 40), (50, 60)];
        let those = [(5, 25), (30, 35), (38, 55), (60, 70)];
        let common = [(5, 10), (20, 25), (30, 35), (38, 40), (50, 55)];
        assert_eq!(both(&these, &those), common);
        assert_eq!(both(&those, &these), common);
        assert_eq!(both(&these, &[]), []);
    }

    /// The first MiB is read before the program, the third by nobody else than `ahead`; what is left takes a disk of
    /// 100 MB/s ten milliseconds and the way to it.
    #[test]
    fn the_ceiling_is_one_sweep_over_what_both_runs_read() {
        const MIB: u64 = 1 << 20;
        let log = [
            read(1, 0, 1 << 20),
            read(100, 10 * MIB, 1 << 19),
            read(110, 10 * MIB + (1 << 19), 1 << 19),
            read(1000, 10 * MIB, 1 << 20),
            read(1001, 20 * MIB, 1 << 20),
        ];
        let disk = GuestDisk::new(DiskModel::hdd());
        let mut outcome = ProgramOutcome::Measured {
            plain: vec![run(100, 50)],
            with: vec![run(1000, 50)],
            ceiling: Vec::new(),
        };
        add(&mut outcome, &log, &disk);
        let ProgramOutcome::Measured { ceiling, .. } = outcome else {
            panic!("it was measured");
        };
        let [found] = ceiling[..] else {
            panic!("one round, one ceiling: {ceiling:?}");
        };
        assert_eq!(found.device_bytes, MIB);
        assert_eq!(found.elapsed_ns, sweep_ns(&disk, &[(10 * MIB, 11 * MIB)]));
        assert!(
            (10_000_000..40_000_000).contains(&found.elapsed_ns),
            "{found:?}"
        );
    }
}
