//! What an earlier run learned of a device is a first guess: a wrong one is corrected as fast as what
//! the device says of itself.

use std::sync::atomic::AtomicU64;

use ahead_engine::device::Device;
use ahead_engine::device_facts::DeviceFacts;
use ahead_engine::estimates::{Estimates, SharedEstimate, words_of};
use ahead_engine::settings::Settings;
use ahead_policy::device::DeviceEstimate;
use ahead_units::{PageRange, Timestamp};

const IDENTITY: u64 = 0x1234_5678;
const ARM_NS: u64 = 9_000_000;
const FLASH_NS: u64 = 90_000;

/// The words that are kept, and a clock.
struct Machine {
    words: Vec<AtomicU64>,
    now_ns: u64,
}

impl Machine {
    fn new() -> Self {
        Self {
            words: words_of(&[]),
            now_ns: 1_000_000_000,
        }
    }

    fn estimates(&self) -> Estimates<'_> {
        Estimates::new(&self.words, 1_000_000)
    }

    fn now(&self) -> Timestamp {
        Timestamp::new(self.now_ns)
    }

    /// A process meets the device.
    fn meet(&self, rotational: bool) -> Device {
        let device = Device::new();
        device.set_facts(&DeviceFacts {
            identity: IDENTITY,
            rotational: Some(rotational),
            ..DeviceFacts::configured(&Settings::default())
        });
        device.hear(self.estimates(), self.now());
        device
    }

    /// One read of four pages waits, as a session has it.
    fn wait(&mut self, device: &Device, waited_ns: u64) {
        self.now_ns += waited_ns;
        device.hear(self.estimates(), self.now());
        device.on_lone_wait(waited_ns, PageRange::new(0, 4), false, self.now());
        let _ = device.tell(self.estimates(), self.now());
    }

    fn an_hour_passes(&mut self) {
        self.now_ns += 3_600_000_000_000;
    }

    /// An earlier run has learned that accesses take so long.
    fn after_a_run(rotational: bool, access_ns: u64) -> Self {
        let mut machine = Self::new();
        let device = machine.meet(rotational);
        for _ in 0..64 {
            machine.wait(&device, access_ns);
        }
        machine.an_hour_passes();
        machine
    }
}

/// Waits until `device` is believed to be as the predicate says.
fn waits_until(
    machine: &mut Machine,
    device: &Device,
    waited_ns: u64,
    is_right: impl Fn(DeviceEstimate) -> bool,
) -> u32 {
    for waits in 0..1000 {
        if is_right(device.estimate()) {
            return waits;
        }
        machine.wait(device, waited_ns);
    }
    panic!("never: {:?}", device.estimate());
}

fn is_arm(estimate: DeviceEstimate) -> bool {
    estimate.is_slow_to_access() && estimate.depth == 1
}

fn is_flash(estimate: DeviceEstimate) -> bool {
    estimate.access_ns <= 2 * FLASH_NS && estimate.depth == DeviceEstimate::FLASH.depth
}

#[test]
fn the_next_run_begins_with_what_was_learned_whatever_the_device_says() {
    let machine = Machine::after_a_run(false, ARM_NS);
    let device = machine.meet(false);
    assert!(is_arm(device.estimate()), "{:?}", device.estimate());
    assert!(device.estimate().access_ns.abs_diff(ARM_NS) < 1_000_000);
    let alone = Machine::new().meet(false);
    assert_eq!(alone.estimate(), DeviceEstimate::FLASH);
}

/// The kept estimate says arm; the disk was replaced by flash, which says so.
#[test]
fn flash_where_an_arm_was_is_known_by_its_second_access() {
    let mut machine = Machine::after_a_run(false, ARM_NS);
    let device = machine.meet(false);
    let waits = waits_until(&mut machine, &device, FLASH_NS, is_flash);
    assert!(waits <= 2, "{waits}");
    machine.an_hour_passes();
    assert!(is_flash(machine.meet(false).estimate()), "and kept");
}

/// The kept estimate says flash; the disk was replaced by an arm, whatever that says.
#[test]
fn an_arm_where_flash_was_is_known_by_its_second_access() {
    for rotational in [false, true] {
        let mut machine = Machine::after_a_run(false, FLASH_NS);
        let device = machine.meet(rotational);
        assert!(is_flash(device.estimate()));
        let waits = waits_until(&mut machine, &device, ARM_NS, is_arm);
        assert!(waits <= 2, "{waits}");
        machine.wait(&device, 300_000);
        machine.wait(&device, 300_000);
        assert!(is_arm(device.estimate()), "answers of its own memory");
    }
}

/// A network volume under load left 1.9 ms, from where an arm of 7 ms is no surprise.
#[test]
fn an_arm_where_something_between_was_is_known_by_its_second_access() {
    let mut machine = Machine::new();
    let between = DeviceEstimate {
        access_ns: 1_900_000,
        ..DeviceEstimate::FLASH
    };
    let seed = SharedEstimate::new();
    seed.set_identity(IDENTITY, DeviceEstimate::FLASH);
    assert!(seed.tell(machine.estimates(), between, None, machine.now()));
    machine.an_hour_passes();
    let device = machine.meet(false);
    assert_eq!(device.estimate(), between);
    let waits = waits_until(&mut machine, &device, 7_000_000, is_arm);
    assert!(waits <= 2, "{waits}");
}

/// A flag that says arm of what is none is refuted step by step, and what was kept of that is not
/// worse than the flag.
#[test]
fn what_was_kept_is_never_further_away_than_the_flag() {
    for rotational in [false, true] {
        for there_ns in [60_000, 200_000, 1_000_000, 4_000_000, 9_000_000] {
            let mut fresh = Machine::new();
            let guessing = fresh.meet(rotational);
            let is_near =
                |estimate: DeviceEstimate| estimate.access_ns.abs_diff(there_ns) <= there_ns / 2;
            let with_flag = waits_until(&mut fresh, &guessing, there_ns, is_near);
            let mut machine = Machine::after_a_run(rotational, there_ns);
            let knowing = machine.meet(rotational);
            let with_kept = waits_until(&mut machine, &knowing, there_ns, is_near);
            assert!(
                with_kept <= with_flag,
                "{there_ns}: {with_kept}, {with_flag}"
            );
        }
    }
}

/// Two answers of an arm's own memory while other processes know it for an arm.
#[test]
fn what_processes_know_now_is_not_on_trial() {
    let mut machine = Machine::new();
    let (one, two) = (machine.meet(false), machine.meet(false));
    machine.wait(&one, ARM_NS);
    machine.wait(&one, ARM_NS);
    machine.wait(&two, 300_000);
    assert!(is_arm(two.estimate()), "heard with the first wait");
    machine.wait(&two, 300_000);
    machine.wait(&two, 300_000);
    assert!(is_arm(two.estimate()) && is_arm(one.estimate()));
    machine.wait(&one, ARM_NS);
    assert!(one.estimate().access_ns < ARM_NS, "one estimate for both");
}

/// What was configured is neither shared nor replaced.
#[test]
fn a_configured_device_keeps_to_itself() {
    let mut machine = Machine::after_a_run(false, ARM_NS);
    let mut settings = Settings::default();
    settings.set("access_us", "500").unwrap();
    let device = Device::new();
    device.set_facts(&DeviceFacts {
        identity: IDENTITY,
        ..DeviceFacts::configured(&settings)
    });
    for _ in 0..10 {
        machine.wait(&device, FLASH_NS);
    }
    assert_eq!(device.estimate().access_ns, 500_000);
    assert!(is_arm(machine.meet(false).estimate()));
}
