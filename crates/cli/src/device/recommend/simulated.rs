//! The machine in which a mix is simulated: the one that was measured, or the guest that a model is proved in.
//!
//! What decides between windows beside the disk is what stands around it: whether a scheduler orders requests and how
//! many wait, how a window of this kernel becomes pages, and that the memory has a limit which windows in flight do
//! not exceed. `--memory` is a container's, so the limit is that of a control group.

use ahead_device::measurement::report::MeasuredTarget;
use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::Policy;
use ahead_sim::queue::{DeadlineRules, LOOP_DEPTH, QueueSettings, Scheduler};
use ahead_sim::world::{FOLIO_ORDER_MAX, Machine};
use ahead_study::circumstances::ReclaimChoice;
use ahead_study::plan::{GUEST_KERNEL, KERNEL};
use ahead_sys::{kernel_release, large_folios};
use ahead_units::{ByteLength, PAGE_BYTES, PageCount};

use crate::figures::size;

/// The longest request where none is known: that of emulated disks and of guests' disks.
const REQUEST_KIB_MAX: u64 = 1024;
/// From this release on a kernel reads ahead as the replica of 6.18; before, as that of 6.12.
const NEW_READ_AHEAD: (u32, u32) = (6, 18);

/// Memory of the programs and the page cache together, and what the programs have of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedMemory {
    pub(super) bytes: u64,
    pub(super) own_bytes: u64,
}

/// What stands around the disk.
#[derive(Clone, Debug)]
pub(super) struct SimulatedMachine {
    /// The replica of its read-ahead.
    kernel: &'static str,
    folio_order_max: u8,
    queue: QueueSettings,
}

impl SimulatedMachine {
    /// A guest: Linux 6.12, whose ext4 has single pages, and a disk without a scheduler.
    pub(super) const fn guest() -> Self {
        let request_pages = REQUEST_KIB_MAX * 1024 / PAGE_BYTES;
        Self {
            kernel: GUEST_KERNEL,
            folio_order_max: 0,
            queue: QueueSettings::linux_6_18_unordered(LOOP_DEPTH, request_pages),
        }
    }

    /// The machine of a measurement, whose disk is like `model`. What it does not say is as Linux sets it up by itself,
    /// and a file system that is not known is ext4.
    pub(super) fn measured(kernel: &str, target: &MeasuredTarget, model: &DiskModel) -> Self {
        let release = kernel_release::parse(kernel);
        let is_from = |first| release.is_none_or(|release| release >= first);
        let file_system = target.file_system.as_deref().unwrap_or("ext4");
        let has_folios = large_folios::since(file_system).is_some_and(is_from);
        Self {
            kernel: if is_from(NEW_READ_AHEAD) {
                KERNEL
            } else {
                GUEST_KERNEL
            },
            folio_order_max: if has_folios { FOLIO_ORDER_MAX } else { 0 },
            queue: queue(target, model),
        }
    }

    /// With this disk and memory.
    pub(super) fn machine(&self, disk: &DiskModel, memory: SharedMemory, capacity: u64) -> Machine {
        let pages = PageCount::new((memory.bytes / PAGE_BYTES).max(1));
        let (replacement, limit) = ReclaimChoice::Group.rules();
        Machine {
            other_pages: memory.own_bytes.div_ceil(PAGE_BYTES),
            replacement,
            limit,
            folio_order_max: self.folio_order_max,
            queue: self.queue.clone(),
            capacity: ByteLength::new(capacity),
            ..Machine::modern(disk.clone(), pages)
        }
    }

    /// Its kernel with this window.
    pub(super) fn kernel(&self, window_kib: u64, disk: &DiskModel) -> Policy {
        policy(&format!("{}:ra_kb={window_kib}", self.kernel), disk)
    }

    /// The library over its kernel with this window.
    pub(super) fn library(&self, window_kib: u64, disk: &DiskModel) -> Policy {
        let library = policy(&format!("adaptive:ra_kb={window_kib}"), disk);
        library.over(self.kernel(window_kib, disk))
    }

    /// The longest request to the disk.
    pub(super) const fn request_kib_max(&self) -> u64 {
        self.queue.request_pages_max * PAGE_BYTES / 1024
    }

    /// In words.
    pub(super) fn described(&self) -> String {
        let order = match self.queue.scheduler {
            Scheduler::Deadline { .. } => "mq-deadline",
            _ => "no scheduler",
        };
        let held = self.queue.slots.unwrap_or(self.queue.device_depth);
        let folios = if self.folio_order_max == 0 {
            "files in single pages"
        } else {
            "files in folios"
        };
        format!(
            "{}, {order}, {held} requests of up to {}, {folios}, a container's limit of memory",
            self.kernel,
            size(self.queue.request_pages_max.saturating_mul(PAGE_BYTES))
        )
    }
}

fn policy(text: &str, disk: &DiskModel) -> Policy {
    // A name and a number that it takes.
    Policy::for_disk(text, disk).unwrap_or_else(|error| unreachable!("{error}"))
}

fn queue(target: &MeasuredTarget, model: &DiskModel) -> QueueSettings {
    let kib = target.max_sectors_kb.unwrap_or(REQUEST_KIB_MAX);
    let pages = (kib * 1024 / PAGE_BYTES).max(1);
    let held = target.nr_requests.and_then(|held| u32::try_from(held).ok());
    let held = held.filter(|held| *held > 0);
    let usual = QueueSettings::linux_6_18_for(model).with_request_pages_max(pages);
    let queue = match target.scheduler.as_deref() {
        Some("none") => {
            let depth = held.or(usual.slots).unwrap_or(LOOP_DEPTH);
            return QueueSettings::linux_6_18_unordered(depth, pages);
        }
        Some("mq-deadline") => QueueSettings::linux_6_18()
            .with_request_pages_max(pages)
            .with_scheduler(Scheduler::deadline(DeadlineRules::Late)),
        // Not known, or one that is not modelled.
        _ => usual,
    };
    match held {
        Some(held) => queue.with_slots(Some(held)),
        None => queue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(change: impl Fn(&mut MeasuredTarget, &mut String)) -> SimulatedMachine {
        let mut target = MeasuredTarget::default();
        let mut kernel = "6.18.3".to_owned();
        change(&mut target, &mut kernel);
        let model = DiskModel::preset("hdd").expect("a preset");
        SimulatedMachine::measured(&kernel, &target, &model)
    }

    #[test]
    fn the_kernel_and_the_file_system_say_how_a_window_becomes_pages() {
        for (kernel, file_system, replica, order) in [
            ("6.18.3", None, "linux-6.18", 9),
            ("6.17.0-5-generic", Some("ext4"), "linux-6.12", 9),
            ("6.12.48", Some("ext4"), "linux-6.12", 0),
            ("6.12.48", Some("xfs"), "linux-6.12", 9),
            ("6.18.3", Some("nfs4"), "linux-6.18", 0),
            ("", None, "linux-6.18", 9),
        ] {
            let found = measured(|target, release| {
                target.file_system = file_system.map(str::to_owned);
                kernel.clone_into(release);
            });
            assert_eq!(
                (found.kernel, found.folio_order_max),
                (replica, order),
                "{kernel} {file_system:?}"
            );
        }
    }

    #[test]
    fn the_queue_is_as_it_was_found_and_otherwise_as_linux_sets_it_up() {
        let queue = |scheduler: Option<&str>, held| {
            let found = measured(|target, _| {
                target.scheduler = scheduler.map(str::to_owned);
                target.nr_requests = held;
            });
            found.queue
        };
        let none = queue(Some("none"), Some(256));
        assert_eq!((none.scheduler, none.slots), (Scheduler::Noop, Some(256)));
        let deadline = queue(Some("mq-deadline"), Some(32));
        assert!(matches!(deadline.scheduler, Scheduler::Deadline { .. }));
        assert_eq!(deadline.slots, Some(32));
        let unknown = queue(None, None);
        assert_eq!(unknown.slots, Some(64));
        assert_eq!(queue(Some("bfq"), None), unknown);
    }
}
