//! The machines of 2005 and 2006.
//!
//! Costs are not published; they are the usual ones of these processors (a copy of cold memory at
//! about 500 MB/s on the desktop, twice that on the servers). Memory is what is left for the page
//! cache.

use ahead_disk_model::DiskModel;
use ahead_replicas::page_cache::{Aging, Limit, Replacement};
use ahead_sim::queue::QueueSettings;
use ahead_sim::world::{Costs, Machine, WriteBackSettings};
use ahead_units::ByteLength;

use crate::figure::{ModelKnobs, Parameter, ParameterOrigin};

const MIB_PAGES: u64 = 256;

const COPY: &str = "processor time to copy a page";
const CACHE: &str = "memory left to the page cache";
pub(super) const STARTS: &str = "time within which 800 streams begin";
pub(super) const SMALL_CACHE: &str = "the same with mem=64M";

/// The free numbers of the models.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: COPY,
        value: "8 µs on the desktop, 4 on the servers",
        origin: ParameterOrigin::Assumed,
        source: "usual for these processors; all costs are the same under both logics",
        turns: true,
    },
    Parameter {
        name: CACHE,
        value: "230 MiB of 256, 1900 of 2048",
        origin: ParameterOrigin::Assumed,
        source: "run level 1",
        turns: true,
    },
    Parameter {
        name: SMALL_CACHE,
        value: "48 MiB",
        origin: ParameterOrigin::Assumed,
        source: "the kernel and 800 processes have the rest",
        turns: true,
    },
    Parameter {
        name: STARTS,
        value: "a second, and a minute beside it",
        origin: ParameterOrigin::Assumed,
        source: "not said; both are shown, and the minute is what turns",
        turns: true,
    },
    Parameter {
        name: "disk of the mails",
        value: "Atlas 10K V",
        origin: ParameterOrigin::Fitted,
        source: "not named; with the desktop's disk two files in turn gave 0.52 instead of 0.77",
        turns: false,
    },
    Parameter {
        name: "disks of the file server",
        value: "Cheetah 9LP",
        origin: ParameterOrigin::Assumed,
        source: "the nearest published figures",
        turns: false,
    },
    Parameter {
        name: "requests under way from an NFS client, and their order",
        value: "8, shuffled within 8 or not at all",
        origin: ParameterOrigin::Assumed,
        source: "one for each daemon; both orders are shown",
        turns: false,
    },
    Parameter {
        name: "the database",
        value: "size, back ends, scans and lookups",
        origin: ParameterOrigin::Fitted,
        source: "not described; the first guess gave a loss and is shown",
        turns: false,
    },
];

const ATHLON: Costs = Costs {
    syscall_ns: 400,
    page_lookup_ns: 150,
    page_copy_ns: 8_000,
    page_insert_ns: 700,
    fault_ns: 1_500,
    request_ns: 4_000,
    interrupt_ns: 6_000,
    switch_ns: 3_000,
    library_ns: 100,
    ..Costs::free()
};

const XEON: Costs = Costs {
    syscall_ns: 500,
    page_lookup_ns: 100,
    page_copy_ns: 4_000,
    page_insert_ns: 500,
    fault_ns: 1_500,
    request_ns: 3_000,
    interrupt_ns: 5_000,
    switch_ns: 3_000,
    library_ns: 80,
    ..Costs::free()
};

fn costs(costs: Costs, knobs: &ModelKnobs) -> Costs {
    Costs {
        page_copy_ns: knobs.whole(COPY, costs.page_copy_ns),
        ..costs
    }
}

/// The article's desktop: Athlon XP 1800+, 256 MB, a `DiamondMax` Plus 8 that takes 128 KiB at a
/// time; run level 1 leaves about 230 MB to the page cache.
pub(super) fn desktop(knobs: &ModelKnobs) -> Machine {
    with_memory(knobs.whole(CACHE, 230), knobs)
}

/// The same with `cache_mib` of page cache.
pub(super) fn with_memory(cache_mib: u64, knobs: &ModelKnobs) -> Machine {
    Machine {
        cpus: 1,
        slice_ns: 100_000_000,
        memory_pages: cache_mib * MIB_PAGES,
        other_pages: 0,
        limit: Limit::Machine,
        group_counted_ns: 0,
        replacement: Replacement::TwoList,
        aging: Aging::FirstReferences,
        write_back: WriteBackSettings::linux_2_6_18(),
        folio_order_max: 0,
        fault_around_pages: 1,
        costs: costs(ATHLON, knobs),
        queue: QueueSettings::linux_2_6_18().with_request_pages_max(32),
        disk: DiskModel::preset("diamondmax").unwrap_or_else(|_| DiskModel::hdd()),
        // 80 293 248 sectors.
        capacity: ByteLength::new(80_293_248 * 512),
    }
}

/// The mails' dual Xeon with 2 GB. Its disk is not named; such servers had SCSI disks of 10 000 rpm,
/// which take 512 KiB at a time.
pub(super) fn dual_xeon(knobs: &ModelKnobs) -> Machine {
    Machine {
        cpus: 2,
        costs: costs(XEON, knobs),
        queue: QueueSettings::linux_2_6_18(),
        disk: DiskModel::preset("atlas-10k-v").unwrap_or_else(|_| DiskModel::hdd()),
        capacity: ByteLength::new(73_000_000_000),
        ..with_memory(knobs.whole(CACHE, 1_900), knobs)
    }
}

/// The article's file server: Xeon 3.2 GHz, 2 GB, three Cheetahs as RAID 5 behind a PERC 4/Di.
pub(super) fn file_server(knobs: &ModelKnobs) -> Machine {
    Machine {
        cpus: 2,
        costs: costs(XEON, knobs),
        queue: QueueSettings {
            // The controller takes commands and orders them itself.
            device_depth: 32,
            ..QueueSettings::linux_2_6_18()
        },
        disk: DiskModel::cheetah_raid5(),
        capacity: ByteLength::new(146_000_000_000),
        ..with_memory(knobs.whole(CACHE, 1_900), knobs)
    }
}
