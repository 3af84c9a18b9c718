//! The guest's block driver against the disk model: every request of a mixed load must be done at the
//! moment at which the model, given the same requests at the same moments on the host, says that it is.
//!
//! Needs the guest's kernel (`ahead lab build`), Python and `mkfs.ext4`.

mod support;

use ahead_disk_model::{Disk, DiskModel, Request, ServiceOrder};
use ahead_guest::GuestRun;
use ahead_units::{ByteLength, ByteOffset, Timestamp};

use support::guest::{bare_guest, boot};

/// Readers of any places and lengths, one to 40 at once, buffered reads, and writes, direct and buffered.
const MIXED_LOAD: &str = r#"
import mmap, os, random

DISK = "/dev/ahead0"
DISK_BYTES = 1 << 30

def direct_reads(seed, count, lengths):
    random.seed(seed)
    file = os.open(DISK, os.O_RDONLY | os.O_DIRECT)
    for _ in range(count):
        length = random.choice(lengths)
        place = random.randrange(DISK_BYTES - length) // 512 * 512
        assert os.preadv(file, [mmap.mmap(-1, length)], place) == length

def sequential_reads(seed, direct):
    file = os.open(DISK, os.O_RDONLY | (os.O_DIRECT if direct else 0))
    into = mmap.mmap(-1, 128 << 10)
    for number in range(24):
        os.preadv(file, [into], (seed << 26) + number * len(into))

def writes(seed, direct):
    name = f"{seed}-{direct}"
    flags = os.O_WRONLY | os.O_CREAT | (os.O_DIRECT if direct else 0)
    file = os.open(name, flags)
    for number in range(12):
        os.pwritev(file, [mmap.mmap(-1, 4096 << number % 6)], number * 7 << 20)
    os.fsync(file)

def together(parts):
    processes = []
    for part, *arguments in parts:
        process = os.fork()
        if process == 0:
            part(*arguments)
            os._exit(0)
        processes.append(process)
    for process in processes:
        assert os.waitpid(process, 0)[1] == 0

SMALL, ANY = [512, 4096], [512, 4096, 12800, 65536, 262144, 1 << 20, 3 << 20]
direct_reads(1, 30, ANY)
together([(direct_reads, seed, 15, SMALL) for seed in range(2, 6)])
together([(direct_reads, seed, 6, ANY) for seed in range(10, 50)])
together(
    [(sequential_reads, seed, seed % 2 == 0) for seed in range(6)]
    + [(writes, seed, seed % 2 == 0) for seed in range(4)]
    + [(direct_reads, seed, 20, ANY) for seed in range(50, 56)]
)
"#;

/// What a look at the clock costs: a request that ends so much later than the model says is in time.
const LOOK_NS: u64 = 1;

/// How much later a request may end that is done shortly after another event of the disk: the
/// shortest time for which the guest's kernel sets its timer (`TIMER_MIN_DELTA` of the architecture).
const LATE_NS_MAX: u64 = 500;

/// Requests of the load, at the least: it reads in at most this many pieces what it reads.
const REQUESTS_MIN: usize = 500;

/// The completion times of the same requests on the host, by number.
fn on_the_host(model: &DiskModel, run: &GuestRun, disk_bytes: u64) -> Vec<(u64, u64)> {
    let mut disk = Disk::new(
        model,
        ByteLength::new(disk_bytes),
        ahead_disk_model::TimeScale::REAL,
    );
    let mut given = run.log.clone();
    given.sort_by_key(|request| request.number);
    for (number, request) in (0..).zip(&given) {
        assert_eq!(request.number, number, "a request is not in the log");
        disk.submit(
            Timestamp::new(request.arrived_ns),
            Request {
                id: request.number,
                offset: ByteOffset::new(request.offset),
                length: ByteLength::new(request.bytes.into()),
            },
        );
    }
    let mut done = Vec::new();
    disk.advance(Timestamp::new(u64::MAX / 4), &mut done);
    done.iter()
        .map(|done| (done.id, done.completed_at.get()))
        .collect()
}

#[track_caller]
fn assert_same_times(name: &str, model: &DiskModel) {
    let mut guest = bare_guest(model.clone());
    guest.task.command = ["python3", "-c", MIXED_LOAD].map(Into::into).to_vec();
    guest.disk.bytes = 1 << 30;
    let run = boot(&guest);
    assert_eq!(run.measured.exit_code, 0, "{name}: {}", run.said);
    assert!(run.requests.len() > REQUESTS_MIN, "{}", run.requests.len());
    assert!(run.requests.iter().any(|request| request.is_write));
    let in_guest: Vec<_> = run
        .log
        .iter()
        .map(|request| (request.number, request.completed_ns))
        .collect();
    let on_host = on_the_host(model, &run, guest.disk.bytes);
    assert_eq!(in_guest.len(), on_host.len(), "{name}");
    let mut both = in_guest.iter().zip(&on_host);
    let parted = both.find(|(guest, host)| guest != host);
    assert_eq!(
        parted, None,
        "{name}: (number, completed) in guest and host"
    );
    let late = |request: &ahead_guest::LoggedRequest| {
        let late_ns = request.ended_ns.checked_sub(request.completed_ns);
        late_ns.expect("no request ends before it is done")
    };
    // Not those of the boot: until its first tick the kernel's timers have the resolution of a tick.
    let latest_ns = run.requests.iter().map(late).max();
    let requests = run.requests.len();
    let exact = run.requests.iter().filter(|one| late(one) <= LOOK_NS);
    let exact = exact.count();
    println!("{name}: {requests} requests, {exact} in time, others at most {latest_ns:?} ns late");
    assert!(latest_ns <= Some(LATE_NS_MAX), "{name}: {latest_ns:?} ns");
    assert!(
        exact * 100 >= requests * 90,
        "{name}: {exact} of {requests}"
    );
}

#[test]
fn requests_of_an_arm_in_the_order_of_the_disk_take_what_the_model_says() {
    assert_same_times("hdd", &DiskModel::hdd());
}

#[test]
fn requests_of_an_arm_in_the_order_of_their_arrival_take_what_the_model_says() {
    let model = DiskModel::hdd().with_order(ServiceOrder::Fifo);
    assert_same_times("hdd, fifo", &model);
}

#[test]
fn requests_of_a_drive_with_zones_and_buffer_take_what_the_model_says() {
    let model = DiskModel::preset("barracuda-7200.11").expect("a preset");
    assert_same_times("barracuda-7200.11", &model);
}

#[test]
fn requests_of_flash_channels_take_what_the_model_says() {
    assert_same_times("ssd", &DiskModel::ssd());
}

#[test]
fn requests_of_a_fast_volume_take_what_the_model_says() {
    assert_same_times("nvme", &DiskModel::nvme());
}

#[test]
fn requests_of_a_network_volume_take_what_the_model_says() {
    assert_same_times("cloud", &DiskModel::cloud());
}

#[test]
fn requests_of_an_array_take_what_the_model_says() {
    for name in ["eva", "cheetah-raid5"] {
        let model = DiskModel::preset(name).expect("a preset");
        assert_same_times(name, &model);
    }
}
