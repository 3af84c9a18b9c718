//! The array of the report: what is assumed of it and of the machine, and the policies that are held against
//! each other on it.

use ahead_disk_model::{DiskModel, array::ArrayModel};
use ahead_sim::queue::QueueSettings;
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Costs, Machine, WriteBackSettings};
use ahead_units::{ByteLength, PageCount};

use crate::figure::{ModelKnobs, Parameter, ParameterOrigin, float};

pub(super) const SMALL: &str = "linux-2.6.18:ra_kb=128";
const LARGE: &str = "linux-2.6.18:ra_kb=32768";
pub(super) const POLICIES: [(&str, &str); 3] = [
    ("128 KiB", SMALL),
    ("32 MiB", LARGE),
    ("adaptive", "adaptive"),
];

const DISKS: &str = "disks of the array";
pub(super) const USER: &str = "processor time for each MiB";
const CHUNK: &str = "chunk of the array";
pub(super) const WRITTEN: &str = "written of each MiB read";
const MEMORY: &str = "memory";

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: DISKS,
        value: "5",
        origin: ParameterOrigin::Fitted,
        source: "five give 39.3 MiB/s at 128 KiB; with four it was less",
        turns: true,
    },
    Parameter {
        name: USER,
        value: "40 ms",
        origin: ParameterOrigin::Fitted,
        source: "the published user times, 43 and 38 ms",
        turns: true,
    },
    Parameter {
        name: CHUNK,
        value: "64 KiB",
        origin: ParameterOrigin::Assumed,
        source: "the usual one of md in RHEL 5",
        turns: true,
    },
    Parameter {
        name: WRITTEN,
        value: "22 %",
        origin: ParameterOrigin::Fitted,
        source: "20 of 90 MiB/s under 32 MiB; sequential, on the same array: not described",
        turns: true,
    },
    Parameter {
        name: MEMORY,
        value: "2 GiB",
        origin: ParameterOrigin::Assumed,
        source: "not said; a tenth of it may be dirty before it is written",
        turns: true,
    },
    Parameter {
        name: "a disk",
        value: "Barracuda 7200.11",
        origin: ParameterOrigin::Assumed,
        source: "a disk of those years",
        turns: false,
    },
    Parameter {
        name: "one read of the loader",
        value: "64 KiB",
        origin: ParameterOrigin::Assumed,
        source: "not described",
        turns: false,
    },
];

pub(super) fn machine(knobs: &ModelKnobs) -> Machine {
    let memory = PageCount::new(knobs.whole(MEMORY, 2 << 18));
    let member = DiskModel::preset("barracuda-7200.11").unwrap_or_else(|_| DiskModel::hdd());
    let disk = DiskModel::Array(ArrayModel {
        disks: u32::try_from(knobs.whole(DISKS, 5)).unwrap_or(5),
        chunk_bytes: knobs.whole(CHUNK, 64 << 10),
        parity: false,
        controller_us: 20,
        link_bytes_per_s: 1_000_000_000,
        // md has no memory of its own.
        read_ahead_bytes: 0,
        streams: 0,
        member: Box::new(member),
    });
    Machine {
        cpus: 4,
        slice_ns: 100_000_000,
        write_back: WriteBackSettings::linux_2_6_18(),
        folio_order_max: 0,
        fault_around_pages: 1,
        costs: Costs {
            page_copy_ns: 1_500,
            page_insert_ns: 300,
            ..Costs::modern()
        },
        // md hands everything on at once; its members order what they have.
        queue: QueueSettings {
            device_depth: 128,
            ..QueueSettings::linux_2_6_18()
        },
        capacity: ByteLength::new(1_000_000_000_000),
        ..Machine::modern(disk, memory)
    }
}

pub(super) fn mib_per_second(report: &WorldReport) -> f64 {
    float(report.bytes_per_second()) / float(1 << 20)
}
