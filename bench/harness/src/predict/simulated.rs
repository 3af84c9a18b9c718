//! The twin of a measured run: the same reads, files and disk, in the simulator.
//!
//! What the emulated disk is made of becomes figures of the simulated machine: the loop device's
//! largest request and its 128 commands, no scheduler, and the way through FUSE and back as time
//! between the end of a request and its pages. The processor's part of that way is what the server
//! takes, and it takes it from the readers where no processor is idle.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ahead_disk_model::{DiskModel, Order, TimeScale};
use ahead_replicas::kernel::Advice;
use ahead_sim::algorithm::Policy;
use ahead_sim::queue::{QueueSettings, Scheduler};
use ahead_sim::world::{Account, Costs, Machine, World};
use ahead_sys::extent_map::first_physical_offset;
use ahead_units::{ByteLength, PAGE_BYTES, PageCount};
use ahead_workload::{FileSpec, Job, Layout, Listed, Process, Step};

use super::{Calibration, PredictError, Simulated};
use crate::execute::Bench;
use crate::job::{Source, Sources};
use crate::operations::{self, Operations};
use crate::pattern::{Opening, Pattern, Scenario};
use crate::reader::ReadError;
use crate::run::machine as this_machine;

/// Commands of a loop device.
const LOOP_DEPTH: u32 = 128;
/// Largest folio of ext4 on 4 KiB pages: one page table's worth, 2 MiB.
const FOLIO_ORDER_MAX: u8 = 9;
/// Waking a task on an idle processor, until it runs.
const SWITCH_NS: u64 = 1_500;
/// The processor's part of one request's way: loop worker, FUSE, the server's two threads. Two
/// processors do 70 000 direct reads of a page in a second, which are 28 µs for each, and a quarter
/// of that is the reader's own.
const WAY_WORK_NS: u64 = 20_000;

/// Steps until somebody says stop: a reader looks at the clock when a read has come.
#[derive(Clone)]
struct Stoppable {
    steps: Listed,
    is_over: Arc<AtomicBool>,
}

impl Iterator for Stoppable {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        self.steps.next()
    }
}

/// Simulates `scenario` under a limit of `window_kib`. Like the measured run it ends with the last
/// read that was begun before the time was over.
pub(super) fn simulate(
    bench: &Bench<'_>,
    model: &DiskModel,
    costs: &Calibration,
    scenario: Scenario,
    window_kib: u64,
) -> Result<Simulated, PredictError> {
    let refused = |reason: String| PredictError::Simulate { scenario, reason };
    let machine = machine(bench, model, costs, scenario);
    let policy = Policy::for_disk(&format!("linux-6.18:ra_kb={window_kib}"), model)
        .map_err(|error| refused(error.to_string()))?;
    let Sources::Listed(sources) = bench.dataset.sources(scenario) else {
        return Err(PredictError::NoTwin { scenario });
    };
    let limits = bench.plan.limits;
    let to_its_end = scenario.pattern.runs_to_its_end();
    let bytes_max = if to_its_end { u64::MAX } else { limits.bytes };
    let until_ns = if to_its_end {
        u64::MAX
    } else {
        limits.milliseconds.saturating_mul(1_000_000)
    };
    let is_over = Arc::new(AtomicBool::new(false));
    let job = Job {
        files: files(&sources)?,
        cached: Vec::new(),
        processes: processes(
            scenario.pattern,
            &sources,
            bench.plan.seed,
            bytes_max,
            &is_over,
        )?,
    };
    let failed = |error| PredictError::simulate(scenario, &error);
    let account = Account::new(&job);
    let mut world =
        World::new(&machine, policy.prototype, &policy.front, &job, account).map_err(failed)?;
    world.set_learned(policy.learned);
    world.run_until(until_ns).map_err(failed)?;
    is_over.store(true, Ordering::Relaxed);
    let elapsed_ns = world.run().map_err(failed)?;
    let report = world.observer().report(elapsed_ns, world.queue());
    Ok(Simulated {
        useful_bytes: report.bytes,
        elapsed_ns,
        device_bytes: report.device.bytes,
        device_requests: report.device.requests,
    })
}

fn machine(
    bench: &Bench<'_>,
    model: &DiskModel,
    costs: &Calibration,
    scenario: Scenario,
) -> Machine {
    let here = this_machine();
    let memory_bytes = scenario.memory_bytes_max().unwrap_or(here.memory_bytes);
    let memory = PageCount::new(memory_bytes / PAGE_BYTES);
    let request_kib = bench.target.queue.max_sectors_kb().unwrap_or(1024);
    let queue = QueueSettings {
        scheduler: Scheduler::Noop,
        device_depth: LOOP_DEPTH,
        ..QueueSettings::linux_6_18()
    }
    .with_request_pages_max(request_kib * 1024 / PAGE_BYTES)
    .with_slots(Some(LOOP_DEPTH));
    Machine {
        cpus: u32::try_from(here.cpus).unwrap_or(1),
        folio_order_max: FOLIO_ORDER_MAX,
        costs: simulated_costs(costs, scenario.pattern.is_mapped()),
        queue,
        capacity: ByteLength::new(bench.target.emulated_bytes().unwrap_or(u64::MAX)),
        ..Machine::modern(model.clone(), memory)
    }
}

/// The model of a disk that runs `scale` times as fast as `model`.
pub(super) fn at_scale(model: &DiskModel, scale: TimeScale) -> DiskModel {
    const SECOND_NS: u64 = 1_000_000_000;
    let second_ns = u128::from(scale.apply(SECOND_NS).max(1));
    let us = |us: u64| scale.apply(us.saturating_mul(1_000)) / 1_000;
    let rate = |per_second: u64| {
        let scaled = u128::from(per_second) * u128::from(SECOND_NS) / second_ns;
        u64::try_from(scaled).unwrap_or(u64::MAX)
    };
    let mut model = model.clone();
    match &mut model {
        DiskModel::Arm(arm) => {
            arm.media_bytes_per_s = rate(arm.media_bytes_per_s);
            arm.seek_us_min = us(arm.seek_us_min);
            arm.seek_us_max = us(arm.seek_us_max);
            arm.rotation_rpm = rate(arm.rotation_rpm);
            if let Order::CLook { age_ms_max } = &mut arm.order {
                *age_ms_max = us(*age_ms_max * 1_000) / 1_000;
            }
        }
        DiskModel::Flash(flash) => flash.page_us = us(flash.page_us),
        DiskModel::Volume(volume) => {
            volume.latency_us = us(volume.latency_us);
            volume.requests_per_s = rate(volume.requests_per_s);
            volume.bytes_per_s = rate(volume.bytes_per_s);
        }
        // The bench emulates none of these.
        DiskModel::Fixed(_) | DiskModel::Drive(_) | DiskModel::Ramp(_) | DiskModel::Array(_) => {}
    }
    model
}

/// The way as it was measured contains the wake-up and the server's work, which the simulator
/// charges by themselves. What a request costs its caller passes while the disk works already.
fn simulated_costs(costs: &Calibration, is_mapped: bool) -> Costs {
    let work_ns = WAY_WORK_NS.min(costs.way_ns / 2);
    let elsewhere_ns = SWITCH_NS + work_ns;
    Costs {
        syscall_ns: costs.call_ns,
        page_lookup_ns: 0,
        page_copy_ns: costs.page_ns,
        page_insert_ns: costs.insert_ns,
        fault_ns: costs.fault_ns,
        request_ns: costs.request_ns,
        interrupt_ns: work_ns,
        interrupt_page_ns: costs.way_page_ns,
        delivery_ns: costs
            .way_ns
            .saturating_sub(elsewhere_ns + costs.way_page_ns),
        switch_ns: SWITCH_NS,
        user_page_ns: if is_mapped {
            costs.touch_ns
        } else {
            costs.check_ns
        },
        library_ns: 0,
    }
}

/// The files as long as they are, which may be longer than what is read of them, where they lie.
fn files(sources: &[Source]) -> Result<Vec<FileSpec>, PredictError> {
    let mut files = Vec::new();
    for source in sources {
        let (offset, bytes) = place(&source.path).map_err(|error| PredictError::Place {
            file: source.path.display().to_string(),
            source: error,
        })?;
        files.push(FileSpec {
            bytes,
            layout: Layout::At { offset },
        });
    }
    Ok(files)
}

fn place(path: &Path) -> std::io::Result<(u64, u64)> {
    let file = File::open(path)?;
    let offset = first_physical_offset(&file)?.unwrap_or(0);
    Ok((offset, file.metadata()?.len()))
}

/// Who reads: as the [reader](crate::reader) does it, descriptor for descriptor.
fn processes(
    pattern: Pattern,
    sources: &[Source],
    seed: u64,
    bytes_max: u64,
    is_over: &Arc<AtomicBool>,
) -> Result<Vec<Process>, ReadError> {
    let layout = operations::Layout {
        file_bytes: sources.iter().map(|source| source.bytes).collect(),
    };
    let threads = pattern.threads();
    let share = bytes_max / u64::from(threads);
    let steps = |thread: u32, share: u64| {
        let operations = Operations::new(pattern, &layout, seed, thread);
        let bytes = layout.file_bytes.first().copied().unwrap_or(0);
        Stoppable {
            steps: Listed::new(steps(pattern, operations, bytes, share)),
            is_over: Arc::clone(is_over),
        }
    };
    let count = u32::try_from(sources.len()).map_err(|_| ReadError::Empty)?;
    if pattern == Pattern::Server {
        let process = Process {
            name: pattern.name().to_owned(),
            ..Process::default()
        };
        return Ok(vec![process.with_workers(threads, steps(0, bytes_max))]);
    }
    let open: Vec<u32> = match pattern.opening() {
        Opening::Before => (0..count).collect(),
        Opening::PerRead | Opening::Every(_) | Opening::PerFile => Vec::new(),
    };
    let process = |thread| Process::new(pattern.name(), open.clone(), steps(thread, share));
    Ok((0..threads).map(process).collect())
}

/// The steps of one thread up to `bytes_max`. Of `mapped_bytes` a mapping is made.
fn steps(
    pattern: Pattern,
    operations: Operations<'_>,
    mapped_bytes: u64,
    bytes_max: u64,
) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut bytes, mut since_open) = (0, None);
    if pattern.is_mapped() {
        steps.push(Step::Map {
            area: 0,
            slot: 0,
            start: 0,
            pages: mapped_bytes / PAGE_BYTES,
            advice: Advice::Normal,
            executable: false,
        });
    }
    for operation in operations {
        let read = |slot| Step::Read {
            slot,
            offset: operation.offset,
            length: operation.length,
        };
        match pattern.opening() {
            _ if pattern.is_mapped() => steps.push(Step::Touch {
                area: 0,
                page: operation.offset / PAGE_BYTES,
                pages: operation.length / PAGE_BYTES,
            }),
            Opening::Before | Opening::PerFile => steps.push(read(operation.file)),
            Opening::PerRead => {
                let file = operation.file;
                let unit = [
                    Step::Open { slot: 0, file },
                    read(0),
                    Step::Close { slot: 0 },
                    Step::UnitDone,
                ];
                steps.extend(unit);
            }
            Opening::Every(limit) => {
                let file = operation.file;
                let open = since_open.filter(|&since| since < limit);
                if open.is_none() {
                    if since_open.is_some() {
                        steps.push(Step::Close { slot: 0 });
                    }
                    steps.push(Step::Open { slot: 0, file });
                }
                since_open = Some(open.unwrap_or(0) + operation.length);
                steps.push(read(0));
            }
        }
        bytes += operation.length;
        if bytes >= bytes_max {
            break;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(bytes: u64) -> Source {
        Source {
            path: "/nowhere".into(),
            id: 0,
            bytes,
        }
    }

    fn reads(process: &Process) -> u64 {
        let mut program = process.groups[0].program.fork();
        let mut reads = 0;
        while let Some(step) = program.step() {
            reads += u64::from(matches!(step, Step::Read { .. } | Step::Touch { .. }));
        }
        reads
    }

    fn of(name: &str, bytes_max: u64) -> Vec<Process> {
        let pattern = name.parse::<Scenario>().unwrap().pattern;
        processes(pattern, &[source(8 << 20)], 1, bytes_max, &Arc::default()).unwrap()
    }

    #[test]
    fn eight_threads_are_eight_processes_with_a_descriptor_each() {
        let all = of("thr8", u64::MAX);
        assert_eq!(all.len(), 8);
        assert!(
            all.iter()
                .all(|process| process.open == [0] && reads(process) == 16)
        );
    }

    #[test]
    fn a_server_is_one_list_and_eight_workers() {
        let all = of("nfsd", u64::MAX);
        assert_eq!((all.len(), all[0].groups[0].tasks), (1, 8));
        assert_eq!(reads(&all[0]), 256);
    }

    #[test]
    fn a_reader_that_reopens_opens_once_for_each_mebibyte() {
        let all = of("reopen", u64::MAX);
        let mut program = all[0].groups[0].program.fork();
        let steps: Vec<Step> = std::iter::from_fn(|| program.step()).collect();
        let opens = steps
            .iter()
            .filter(|step| matches!(step, Step::Open { .. }));
        assert_eq!(opens.count(), 8);
    }

    #[test]
    fn a_limit_in_bytes_ends_the_list() {
        assert_eq!(reads(&of("seq64k", 1 << 20)[0]), 16);
        assert_eq!(reads(&of("mseq", 1 << 20)[0]), 256);
    }

    #[test]
    fn a_slower_disk_keeps_its_proportions() {
        let scale = "1/8".parse().unwrap();
        let DiskModel::Flash(flash) = at_scale(&DiskModel::ssd(), scale) else {
            panic!("still flash")
        };
        assert_eq!((flash.page_us, flash.channels), (640, 8));
        let DiskModel::Arm(arm) = at_scale(&DiskModel::hdd(), scale) else {
            panic!("still an arm")
        };
        assert_eq!(
            (arm.media_bytes_per_s, arm.seek_us_min),
            (12_500_000, 12_000)
        );
        assert_eq!(arm.rotation_rpm, 900);
        for model in [DiskModel::hdd(), DiskModel::ssd(), DiskModel::cloud()] {
            assert_eq!(at_scale(&model, TimeScale::REAL), model);
        }
    }

    #[test]
    fn what_is_charged_elsewhere_is_not_charged_on_the_way_again() {
        let costs = Calibration {
            call_ns: 200,
            request_ns: 3_000,
            way_ns: 60_000,
            way_page_ns: 300,
            ..Calibration::default()
        };
        let simulated = simulated_costs(&costs, false);
        let once = simulated.switch_ns
            + simulated.interrupt_ns
            + simulated.interrupt_page_ns
            + simulated.delivery_ns;
        assert_eq!(once, costs.way_ns);
    }
}
