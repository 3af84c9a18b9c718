//! The twin of a measured run: the same job, files and disk, in the simulator.
//!
//! What the emulated disk is made of becomes figures of the simulated machine: the loop device's
//! largest request and its 128 commands, no scheduler, and the way through FUSE and back as time
//! between the end of a request and its pages. The processor's part of that way is what the server
//! takes, and it takes it from the readers where no processor is idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ahead_disk_model::{DiskModel, ServiceOrder, TimeScale};
use ahead_replicas::page_cache::GROUP_COUNT_NS;
use ahead_sim::algorithm::{Policy, PolicyError};
use ahead_sim::queue::{DiskRequest, LOOP_DEPTH, QueueSettings};
use ahead_sim::world::{Costs, Machine, RunTotals, World};
use ahead_study::circumstances::ReclaimChoice;
use ahead_study::plan::{GUEST_KERNEL, KERNEL};
use ahead_units::{ByteLength, PAGE_BYTES, PageCount};
use ahead_workload::{FileSpec, Job, Program, Scenario, Step, Workload};

use super::calibrate::Calibration;
use super::cells::{PredictError, Simulated};
use crate::arm::Arm;
use crate::execute::{Bench, runs_to_its_end};
use crate::ground::machine as this_machine;
use crate::places::PlacedFile;
use crate::results::{Limits, Results, RunRecord};

/// The kernel's read-ahead limit under the library, in KiB: its own default.
const RUN_KIB: u64 = 128;
/// Waking a task on an idle processor, until it runs.
const SWITCH_NS: u64 = 1_500;
/// The processor's part of one request's way: loop worker, FUSE, the server's two threads. Two
/// processors do 70 000 direct reads of a page in a second, which are 28 µs for each, and a quarter
/// of that is the reader's own.
const WAY_WORK_NS: u64 = 20_000;

/// A program under the limits of a reader, who looks at them when a read has come.
struct Limited {
    program: Box<dyn Program>,
    /// Bytes that it may still want.
    left: u64,
    is_over: Arc<AtomicBool>,
}

impl Program for Limited {
    fn step(&mut self) -> Option<Step> {
        if self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let step = self.program.step()?;
        let bytes = match step {
            Step::Read { length, .. } => length,
            Step::Touch { pages, .. } => pages.saturating_mul(PAGE_BYTES),
            // What ends a unit of work that has begun.
            Step::Close { .. } | Step::UnitDone => return Some(step),
            _ => 0,
        };
        if self.left == 0 {
            return None;
        }
        self.left = self.left.saturating_sub(bytes);
        Some(step)
    }

    fn fork(&self) -> Box<dyn Program> {
        Box::new(Self {
            program: self.program.fork(),
            left: self.left,
            is_over: Arc::clone(&self.is_over),
        })
    }
}

/// Each task of `job` with its share of `bytes_max`.
fn limit(job: &mut Job, bytes_max: u64, is_over: &Arc<AtomicBool>) {
    let groups = || job.processes.iter().flat_map(|process| &process.groups);
    let tasks: u64 = groups().map(|group| u64::from(group.tasks)).sum();
    let share = bytes_max / tasks.max(1);
    let processes = job.processes.iter_mut();
    for group in processes.flat_map(|process| process.groups.iter_mut()) {
        group.program = Box::new(Limited {
            program: group.program.fork(),
            left: share.saturating_mul(u64::from(group.tasks)),
            is_over: Arc::clone(is_over),
        });
    }
}

/// The readers of a run start together, at a barrier. On one processor the one that comes last never
/// sleeps there, and the others run after it in the order in which they came.
fn last_goes_first(job: &mut Job) {
    for process in &mut job.processes {
        if process.groups.len() > 1 {
            process.groups.rotate_right(1);
        }
    }
}

/// What was measured of the control group that limits a run's memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupFacts {
    /// What its processes have of their own, in bytes.
    pub(super) own_bytes: u64,
    /// When, in the run's time, the kernel added up its pages first.
    pub(super) counted_ns: u64,
}

impl GroupFacts {
    /// Of a run that was measured.
    pub(super) fn of(run: &RunRecord) -> Self {
        Self {
            own_bytes: run.own_bytes.unwrap_or(0),
            counted_ns: GROUP_COUNT_NS - run.began_ns % GROUP_COUNT_NS,
        }
    }
}

/// What every twin on one machine has in common.
pub(super) struct Twin {
    /// The simulated machine; its memory is all of it.
    pub(super) machine: Machine,
    /// What a program does with a page that it has mapped, instead of one that it reads.
    pub(super) touch_ns: u64,
    /// The replica of its kernel.
    pub(super) kernel: &'static str,
    pub(super) limits: Limits,
    pub(super) seed: u64,
    /// Every request is logged.
    pub(super) keeps_log: bool,
    /// How pages leave where memory is limited. Only [`ReclaimChoice::Group`] is what the kernel does there, and only it
    /// is told what the group's processes have of their own.
    pub(super) reclaim: ReclaimChoice,
}

impl Twin {
    /// Simulates `workload` over `files` in `arm`. Like the measured run it ends with the last read
    /// that was begun before the time was over.
    pub(super) fn simulate(
        &self,
        scenario: &Scenario,
        workload: &Workload,
        files: &[PlacedFile],
        arm: &Arm,
        group: GroupFacts,
    ) -> Result<(Simulated, Vec<DiskRequest>), PredictError> {
        let mut machine = self.machine.clone();
        if let Some(bytes) = scenario.memory_bytes_max() {
            machine.memory_pages = bytes / PAGE_BYTES;
            (machine.replacement, machine.limit) = self.reclaim.rules();
            if self.reclaim == ReclaimChoice::Group {
                machine.other_pages = group.own_bytes.div_ceil(PAGE_BYTES);
                machine.group_counted_ns = group.counted_ns;
            }
        }
        if matches!(workload, Workload::Mapped { .. }) {
            machine.costs.user_page_ns = self.touch_ns;
        }
        let policy = self.policy(scenario, arm)?;
        let to_its_end = runs_to_its_end(scenario);
        let (bytes_max, until_ns) = if to_its_end {
            (u64::MAX, u64::MAX)
        } else {
            let limits = self.limits;
            (limits.bytes, limits.milliseconds.saturating_mul(1_000_000))
        };
        let is_over = Arc::new(AtomicBool::new(false));
        let used = files
            .iter()
            .map(|file| FileSpec::contiguous(file.used_bytes));
        let mut job = workload.job_over(used.collect(), self.seed);
        limit(&mut job, bytes_max, &is_over);
        if self.machine.cpus == 1 {
            last_goes_first(&mut job);
        }
        job.files = files.iter().map(|file| file.spec.clone()).collect();
        let failed = |error| PredictError::simulate(scenario, &error);
        let account = RunTotals::new(&job);
        let mut world =
            World::new(&machine, policy.prototype, &policy.front, &job, account).map_err(failed)?;
        world.set_learned(policy.learned);
        if self.keeps_log {
            world.keep_request_log();
        }
        world.run_until(until_ns).map_err(failed)?;
        is_over.store(true, Ordering::Relaxed);
        let elapsed_ns = world.run().map_err(failed)?;
        let report = world.observer().report(elapsed_ns, world.queue());
        let simulated = Simulated {
            useful_bytes: report.bytes,
            elapsed_ns,
            device_bytes: report.device.bytes,
            device_requests: report.device.requests,
        };
        Ok((simulated, world.queue().log().to_vec()))
    }

    fn policy(&self, scenario: &Scenario, arm: &Arm) -> Result<Policy, PredictError> {
        let refused = |error: PolicyError| PredictError::Simulate {
            scenario: scenario.clone(),
            reason: error.to_string(),
        };
        match policy_of(self.kernel, &self.machine.disk, arm) {
            Some(policy) => policy.map_err(refused),
            None => Err(PredictError::NoTwinOfArm { arm: arm.clone() }),
        }
    }
}

/// The policy that does in the simulator what `arm` does over `kernel`; `None`: there is none.
pub(super) fn policy_of(
    kernel: &str,
    disk: &DiskModel,
    arm: &Arm,
) -> Option<Result<Policy, PolicyError>> {
    let stock = |kib: u64| Policy::for_disk(&format!("{kernel}:ra_kb={kib}"), disk);
    match arm {
        Arm::Off => Some(stock(0)),
        Arm::Stock { kib } => Some(stock(*kib)),
        Arm::Run { settings } => {
            let mut text = format!("adaptive:ra_kb={RUN_KIB}");
            for pair in settings {
                text.push(',');
                text.push_str(pair);
            }
            let library = Policy::for_disk(&text, disk);
            // The library is the same over every kernel.
            Some(stock(RUN_KIB).and_then(|stock| Ok(library?.over(stock))))
        }
        Arm::StaticBest | Arm::Daemon { .. } | Arm::Patched | Arm::Ceiling => None,
    }
}

/// The machine of an emulated disk: this one.
pub(super) fn emulated(bench: &Bench<'_>, model: &DiskModel, costs: &Calibration) -> Twin {
    let here = this_machine();
    let request_kib = bench.target.queue.max_sectors_kb().unwrap_or(1024);
    let machine = Machine {
        cpus: u32::try_from(here.cpus).unwrap_or(1),
        costs: simulated_costs(costs),
        ..machine(model, here.memory_bytes, request_kib)
    };
    Twin {
        machine: Machine {
            capacity: ByteLength::new(bench.target.emulated_bytes().unwrap_or(u64::MAX)),
            ..machine
        },
        touch_ns: costs.touch_ns,
        kernel: KERNEL,
        limits: bench.plan.limits,
        seed: bench.plan.seed,
        keeps_log: false,
        reclaim: ReclaimChoice::Group,
    }
}

/// The machine of a guest: one processor, whose work takes no time. Its ext4 is that of 6.12, which
/// knows single pages only.
pub(super) fn guest_machine(model: &DiskModel, disk_bytes: u64, memory_bytes: u64) -> Machine {
    Machine {
        cpus: 1,
        costs: Costs::free(),
        folio_order_max: 0,
        capacity: ByteLength::new(disk_bytes),
        ..machine(model, memory_bytes, 1024)
    }
}

/// What every twin of a guest has in common.
pub(super) fn of_guest(model: &DiskModel, disk_bytes: u64, results: &Results) -> Twin {
    Twin {
        machine: guest_machine(model, disk_bytes, results.machine.memory_bytes),
        touch_ns: 0,
        kernel: GUEST_KERNEL,
        limits: results.limits,
        seed: results.seed,
        keeps_log: true,
        reclaim: ReclaimChoice::Group,
    }
}

/// A machine with a disk that takes requests of `request_kib` and no scheduler.
fn machine(model: &DiskModel, memory_bytes: u64, request_kib: u64) -> Machine {
    let memory = PageCount::new(memory_bytes / PAGE_BYTES);
    let request_pages = request_kib * 1024 / PAGE_BYTES;
    Machine {
        queue: QueueSettings::linux_6_18_unordered(LOOP_DEPTH, request_pages),
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
            if let ServiceOrder::CLook { age_ms_max } = &mut arm.order {
                *age_ms_max = us(*age_ms_max * 1_000) / 1_000;
            }
        }
        DiskModel::Flash(flash) => {
            flash.page_us = us(flash.page_us);
            flash.latency_us = us(flash.latency_us);
        }
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
fn simulated_costs(costs: &Calibration) -> Costs {
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
        user_page_ns: costs.check_ns,
        library_ns: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::{Source, job_over};

    fn reads(program: &dyn Program) -> u64 {
        let mut program = program.fork();
        let mut reads = 0;
        while let Some(step) = program.step() {
            reads += u64::from(matches!(step, Step::Read { .. } | Step::Touch { .. }));
        }
        reads
    }

    fn of(name: &str, bytes_max: u64) -> Job {
        let source = Source {
            path: "/nowhere".into(),
            id: 0,
            bytes: 8 << 20,
        };
        let workload = &ahead_workload::presets::find(name).unwrap().workload;
        let mut job = job_over(workload, &[source], 1);
        limit(&mut job, bytes_max, &Arc::default());
        job
    }

    #[test]
    fn eight_threads_have_a_descriptor_and_a_share_of_the_limit_each() {
        let groups = &of("thr8", 4 << 20).processes[0].groups;
        assert_eq!(groups.len(), 8);
        for group in groups {
            assert_eq!(reads(&*group.program), 8);
        }
    }

    #[test]
    fn on_one_processor_the_last_of_eight_threads_goes_first() {
        let mut job = of("thr8", 4 << 20);
        let first_offset = |job: &Job| {
            let mut program = job.processes[0].groups[0].program.fork();
            std::iter::from_fn(|| program.step()).find_map(|step| match step {
                Step::Read { offset, .. } => Some(offset),
                _ => None,
            })
        };
        assert_eq!(first_offset(&job), Some(0));
        last_goes_first(&mut job);
        assert_eq!(first_offset(&job), Some(7 << 20));
    }

    #[test]
    fn a_limit_in_bytes_ends_a_program_with_the_unit_that_has_begun() {
        let job = of("nfsd", 1 << 20);
        let group = &job.processes[0].groups[0];
        assert_eq!((group.tasks, reads(&*group.program)), (8, 32));
        let mut program = group.program.fork();
        let steps: Vec<Step> = std::iter::from_fn(|| program.step()).collect();
        assert_eq!(steps.last(), Some(&Step::UnitDone));
        for (name, expected) in [("seq64k", 16), ("mseq", 256), ("reopen", 16)] {
            let job = of(name, 1 << 20);
            assert_eq!(reads(&*job.processes[0].groups[0].program), expected);
        }
    }

    #[test]
    fn a_program_whose_time_is_over_takes_no_further_step() {
        let mut job = of("seq64k", u64::MAX);
        let is_over = Arc::new(AtomicBool::new(false));
        limit(&mut job, u64::MAX, &is_over);
        let program = &mut job.processes[0].groups[0].program;
        assert!(program.step().is_some());
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(program.step(), None);
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
        let simulated = simulated_costs(&costs);
        let once = simulated.switch_ns
            + simulated.interrupt_ns
            + simulated.interrupt_page_ns
            + simulated.delivery_ns;
        assert_eq!(once, costs.way_ns);
    }
}
