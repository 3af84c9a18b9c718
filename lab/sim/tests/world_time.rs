//! Runs whose every nanosecond was computed by hand.

use ahead_disk_model::{DiskModel, VolumeModel};
use ahead_replicas::kernel::{Fault, Host, PageState, Read, ReadAhead, Window};
use ahead_sim::queue::QueueSettings;
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Costs, FrontChoice, Machine, RunTotals, World, WorldError};
use ahead_units::{PAGE_BYTES, PageCount};
use ahead_workload::{FileSpec, Job, Listed, Process, Step};

const MS: u64 = 1_000_000;

/// Windows of four pages on a miss; with `ahead`, the next one when the reader reaches the second
/// page of a window.
#[derive(Clone, Copy)]
struct Fours {
    ahead: bool,
    may_drop: bool,
}

impl Fours {
    fn start<H: Host>(self, host: &mut H, start: u64, may_drop: bool) {
        host.start(&Window {
            start,
            pages: 4,
            mark: self.ahead.then_some(start + 1),
            may_drop,
            ..Window::default()
        });
    }
}

impl ReadAhead for Fours {
    fn on_page<H: Host>(&mut self, host: &mut H, _read: &Read, page: u64) {
        if host.state(page) == PageState::Absent {
            self.start(host, page, false);
        } else if host.is_marked(page) {
            host.clear_mark(page);
            self.start(host, page + 3, self.may_drop);
        }
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        self.on_page(host, &Read::of_pages(fault.page, 1), fault.page);
    }
}

const SYNC: Fours = Fours {
    ahead: false,
    may_drop: false,
};
const ASYNC: Fours = Fours {
    ahead: true,
    may_drop: false,
};

/// 8 ms for each request, and 4 KiB in a quarter of a millisecond.
fn disk() -> DiskModel {
    DiskModel::Volume(VolumeModel {
        latency_us: 8_000,
        requests_per_s: 1_000_000_000,
        bytes_per_s: 16_384_000,
    })
}

fn machine() -> Machine {
    Machine::ideal(disk(), PageCount::new(1000))
}

fn pages(count: u64) -> Vec<Step> {
    (0..count).map(|page| read(0, page)).collect()
}

fn read(slot: u32, page: u64) -> Step {
    Step::Read {
        slot,
        offset: page * PAGE_BYTES,
        length: PAGE_BYTES,
    }
}

fn job(file_pages: u64, programs: Vec<Vec<Step>>) -> Job {
    let process = |program| Process::new("reader", vec![0], Listed::new(program));
    Job {
        files: vec![FileSpec::contiguous(file_pages * PAGE_BYTES)],
        processes: programs.into_iter().map(process).collect(),
        ..Job::default()
    }
}

fn run(machine: &Machine, algorithm: Fours, job: &Job) -> WorldReport {
    let account = RunTotals::new(job).with_timeline(MS);
    let mut world = World::new(machine, algorithm, &FrontChoice::None, job, account).unwrap();
    let elapsed = world.run().unwrap();
    let report = world.observer().report(elapsed, world.queue());
    let p = report.processors;
    let all = p.user_ns + p.system_ns + p.interrupt_ns + p.idle_ns;
    assert_eq!(all, elapsed * u64::from(machine.cpus), "{p:?}");
    report
}

#[test]
fn a_synchronous_reader_pays_one_access_for_each_window() {
    // Two windows of 8 ms + 4 × 0.25 ms.
    let report = run(&machine(), SYNC, &job(8, vec![pages(8)]));
    assert_eq!(report.elapsed_ns, 18 * MS);
    assert_eq!(report.processors.io_wait_ns, 18 * MS);
    assert_eq!(report.pages.misses, 2);
    assert_eq!(report.pages.hits_unlocked, 6);
    assert_eq!(report.waits.page, 2);
    assert_eq!(report.device.requests, 2);
    assert_eq!(report.device.bytes, 8 * PAGE_BYTES);
    assert_eq!(report.bytes, 8 * PAGE_BYTES);
    assert_eq!(report.prefetch.useful, 8);
    assert_eq!(report.latency.max_ns, 9 * MS);
}

#[test]
fn the_programs_own_work_comes_on_top_of_synchronous_windows() {
    let mut machine = machine();
    machine.costs.user_page_ns = MS;
    let report = run(&machine, SYNC, &job(8, vec![pages(8)]));
    assert_eq!(report.elapsed_ns, 26 * MS);
    assert_eq!(report.processors.user_ns, 8 * MS);
    let timeline = report.timeline.unwrap();
    // 9 ms idle, 4 ms of work, and again.
    let idle: Vec<_> = timeline.idle_ns.iter().map(|ns| ns / MS).collect();
    assert_eq!(
        idle,
        [[1; 9].as_slice(), &[0; 4], &[1; 9], &[0; 4]].concat()
    );
}

#[test]
fn the_programs_own_work_hides_behind_asynchronous_windows() {
    // 0: window 0 to 9. Page 0 until 10. At 10 page 1 starts window 1, there at 19. Pages 1 to 3
    // until 13; wait for page 4 until 19; pages 4 to 7 until 23.
    let mut machine = machine();
    machine.costs.user_page_ns = MS;
    let report = run(&machine, ASYNC, &job(8, vec![pages(8)]));
    assert_eq!(report.elapsed_ns, 23 * MS);
    assert_eq!(report.pages.misses, 1);
    assert_eq!(report.pages.hits_locked, 1);
    assert_eq!(report.prefetch.late, 1);
    assert_eq!(report.waits.page, 2);
    assert_eq!(report.waits.page_ns, 15 * MS);
    let initial = &report.classes[0];
    // The window behind the end of the file is none.
    assert_eq!((initial.windows, initial.asynchronous), (2, 1));
    assert_eq!((initial.pages, initial.async_pages), (8, 6));
    assert_eq!(initial.at_end_of_file, 1);
}

#[test]
fn two_readers_of_one_window_share_its_arrival() {
    let report = run(&machine(), SYNC, &job(4, vec![pages(4), pages(4)]));
    assert_eq!(report.elapsed_ns, 9 * MS);
    assert_eq!((report.pages.misses, report.pages.hits_locked), (1, 1));
    assert_eq!(report.waits.page, 2);
}

#[test]
fn two_programs_share_one_processor_in_turn() {
    let mut machine = machine();
    machine.costs.user_page_ns = MS;
    // Both wait for the window until 9, then work 4 ms each, one after the other.
    let report = run(&machine, SYNC, &job(4, vec![pages(4), pages(4)]));
    assert_eq!(report.elapsed_ns, 17 * MS);
    machine.cpus = 2;
    let report = run(&machine, SYNC, &job(4, vec![pages(4), pages(4)]));
    assert_eq!(report.elapsed_ns, 13 * MS);
    assert_eq!(report.processors.idle_ns, 18 * MS);
}

#[test]
fn a_slice_lets_the_other_program_in_between() {
    let mut machine = machine();
    machine.slice_ns = 2 * MS;
    let program = |label| vec![Step::Compute { ns: 3 * MS }, Step::Label(label)];
    let report = run(&machine, SYNC, &job(1, vec![program(1), program(2)]));
    assert_eq!(report.labels, [(1, 5 * MS), (2, 6 * MS)]);
}

#[test]
fn sleepers_and_joiners_wake_at_their_moment() {
    let sleeper = vec![
        Step::At { ns: 5 * MS },
        Step::Think { ns: 2 * MS },
        Step::Label(1),
    ];
    let joiner = vec![Step::Join { task: 0 }, Step::Label(2)];
    let report = run(&machine(), SYNC, &job(1, vec![sleeper, joiner]));
    assert_eq!(report.labels, [(1, 7 * MS), (2, 7 * MS)]);
    assert_eq!(report.processors.io_wait_ns, 0);
}

#[test]
fn a_full_queue_makes_a_reader_wait_for_a_place() {
    // One slot, requests of two pages: the window of four waits for its second half.
    let mut machine = machine();
    machine.queue = QueueSettings::direct()
        .with_slots(Some(1))
        .with_request_pages_max(2);
    let report = run(&machine, SYNC, &job(4, vec![pages(4)]));
    // Half a window takes 8.5 ms, and the second one is submitted when the first one is there.
    assert_eq!(report.elapsed_ns, 17 * MS);
    assert_eq!(report.waits.queue, 1);
    assert_eq!(report.waits.queue_ns, 17 * MS / 2);
}

#[test]
fn a_window_that_may_be_dropped_leaves_a_page_to_read_again() {
    let mut machine = machine();
    machine.costs.user_page_ns = MS;
    machine.queue = QueueSettings::direct()
        .with_slots(Some(1))
        .with_request_pages_max(2);
    let dropping = Fours {
        ahead: true,
        may_drop: true,
    };
    let report = run(&machine, dropping, &job(8, vec![pages(8)]));
    // The first window needs the slot twice. In between, page 4 finds no place and stays stale; it
    // is read alone, and the window of pages 5 to 7 needs the slot twice again.
    assert_eq!(report.pages.hits_stale, 1);
    assert_eq!(report.waits.queue, 2);
    assert_eq!(report.bytes, 8 * PAGE_BYTES);
    assert_eq!(report.device.bytes, 8 * PAGE_BYTES);
}

#[test]
fn a_mapped_page_needs_the_kernel_once() {
    let mut machine = machine();
    machine.costs.fault_ns = MS;
    let map = Step::Map {
        area: 0,
        slot: 0,
        start: 0,
        pages: 8,
        advice: ahead_replicas::kernel::Advice::Normal,
        executable: false,
    };
    let touch = Step::Touch {
        area: 0,
        page: 0,
        pages: 8,
    };
    let twice = job(8, vec![vec![map, touch, touch]]);
    let report = run(&machine, SYNC, &twice);
    assert_eq!(report.faults, 8);
    assert_eq!(report.pages.mapped, 8);
    // Two windows, the work of each miss's fault within it, and that of six faults besides.
    assert_eq!(report.elapsed_ns, 18 * MS + 6 * MS);
    machine.fault_around_pages = 4;
    let report = run(&machine, SYNC, &twice);
    // Each miss maps its whole block when its page is there.
    assert_eq!(report.faults, 2);
    assert_eq!(report.pages.mapped, 14);
}

#[test]
fn a_small_memory_evicts_what_was_read() {
    let mut machine = machine();
    machine.memory_pages = 8;
    let twice = [pages(16), pages(16)].concat();
    let report = run(&machine, SYNC, &job(16, vec![twice]));
    assert_eq!(report.device.bytes, 32 * PAGE_BYTES);
    assert_eq!(report.elapsed_ns, 8 * 9 * MS);
    assert_eq!(report.prefetch.thrashed, 0);
}

#[test]
fn steps_of_one_unit_are_taken_by_one_worker() {
    let request = |page| {
        [
            Step::Open { slot: 0, file: 0 },
            read(0, page),
            Step::Close { slot: 0 },
            Step::UnitDone,
        ]
    };
    let program: Vec<_> = (0..8).flat_map(|index| request(index * 4)).collect();
    let process = Process::default().with_workers(2, Listed::new(program));
    let job = Job {
        files: vec![FileSpec::contiguous(32 * PAGE_BYTES)],
        processes: vec![process],
        ..Job::default()
    };
    let report = run(&machine(), SYNC, &job);
    // Both start at 0. The gate takes 1 ms a window, so the second is there at 10, and so on.
    assert_eq!(report.reads, 8);
    assert_eq!(report.elapsed_ns, 4 * 9 * MS + MS);
}

#[test]
fn a_task_that_names_what_it_does_not_have_ends_the_run() {
    let job = job(1, vec![vec![read(7, 0)]]);
    let mut world = World::new(&machine(), SYNC, &FrontChoice::None, &job, ()).unwrap();
    let error = world.run().unwrap_err();
    assert_eq!(
        error,
        WorldError::Unknown {
            what: "slot",
            number: 7
        }
    );
}

#[test]
fn two_tasks_that_wait_for_each_other_are_stuck() {
    let wait = |task| vec![Step::Join { task }];
    let job = job(1, vec![wait(1), wait(0)]);
    let mut world = World::new(&machine(), SYNC, &FrontChoice::None, &job, ()).unwrap();
    assert_eq!(world.run().unwrap_err(), WorldError::Stuck { tasks: 2 });
}

/// Four pages through an interrupt of 2 ms and 1 ms for each, and 5 ms more of nobody's time.
#[test]
fn pages_can_be_used_when_they_have_been_carried_and_delivered() {
    let mut machine = machine();
    machine.costs = Costs {
        interrupt_ns: 2 * MS,
        interrupt_page_ns: MS,
        delivery_ns: 5 * MS,
        ..Costs::free()
    };
    let report = run(&machine, SYNC, &job(4, vec![pages(4)]));
    assert_eq!(report.elapsed_ns, (9 + 2 + 4 + 5) * MS);
    assert_eq!(report.processors.interrupt_ns, 6 * MS);
}

#[test]
fn costs_of_the_kernel_are_system_time() {
    let mut machine = machine();
    machine.costs = Costs {
        syscall_ns: 1,
        page_lookup_ns: 10,
        page_copy_ns: 100,
        page_insert_ns: 1_000,
        request_ns: 10_000,
        interrupt_ns: 100_000,
        switch_ns: 1_000_000,
        ..Costs::free()
    };
    let report = run(&machine, SYNC, &job(4, vec![pages(4)]));
    // 4 calls, 4 pages copied and inserted, one run, one completion, one wake-up.
    let system = 4 + 40 + 400 + 4_000 + 10_000 + 1_000_000;
    assert_eq!(report.processors.system_ns, system);
    assert_eq!(report.processors.interrupt_ns, 100_000);
    assert_eq!(report.processors.interrupt_in_idle_ns, 100_000);
    // The run is submitted before its cost has passed.
    assert_eq!(
        report.elapsed_ns,
        1 + 9 * MS + 100_000 + 1_000_000 + 3 + 440
    );
}
