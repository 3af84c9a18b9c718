//! "Read Ahead, Dead Ahead" (2017): a window of 32 MiB as a blessing and as a curse.
//!
//! The article quotes a report of 2010. Eight threads each read a file of 80 GB and load it into a
//! database, on four processors, RHEL 5 (Linux 2.6.18), `/dev/md0`. With read-ahead of 128 KiB the
//! disks deliver 39.3 MiB/s, processors are 37 % user, 49 % waiting, 13 % idle. With 32 MiB it is
//! 90.0 MiB/s, 97 % user, nothing waiting. The author warns that under random load every window
//! that is not needed costs 32 MiB.
//!
//! From the report follows what the program does with each MiB: 4 processors × 97 % at 90 MiB/s are
//! 43 ms, 4 × 37 % at 39.3 MiB/s are 38; 40 here. The array is not described. Disks of 2010, striped
//! by md in chunks of 64 KiB, are assumed, and five of them, because five deliver 39.3 MiB/s at 128
//! KiB. What is loaded is written to the same array, sequentially, to a file of each thread (`loaders`): 20 of
//! 90 MiB, which the second pair of rates gives. Files are 80 GB apart; of each 768 MiB are read, so that write-back
//! runs for most of the time.
//!
//! So rates and user times restate what the model was given. What is judged is what the processors do
//! meanwhile, as `sar` printed it in whole percents, what is written under 128 KiB, that eight threads were the
//! best number, and the warning (`random`). The null model is the same window on both sides, or a rate that
//! does not depend on the number of threads.
//!
//! The warning, taken literally, is that every random read of 128 KiB becomes a read-ahead of 32 MiB, and
//! that latency goes through the roof. The author gives no figures, so what is read is our reading: at
//! least half of 32 MiB for each read, and twice the time at the median and at 99 of 100. Eight programs
//! read 128 KiB in one call each. The other loads are ours: single pages at random places; 128 KiB at a random
//! place, fetched in steps of 16 KiB as stdio and databases do, which looks sequential for eight calls;
//! touches of a mapping, where the kernel of 2.6.18 reads a whole window around every fault.

mod loaders;
mod random;

use ahead_disk_model::{DiskModel, array::ArrayModel};
use ahead_sim::queue::QueueSettings;
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Costs, Machine, WriteBackSettings};
use ahead_units::{ByteLength, PageCount};

use crate::figure::{
    Figure, ModelKnobs, Parameter, ParameterOrigin, Publication, ReproduceError, float,
};

const SMALL: &str = "linux-2.6.18:ra_kb=128";
const LARGE: &str = "linux-2.6.18:ra_kb=32768";
const POLICIES: [(&str, &str); 3] = [
    ("128 KiB", SMALL),
    ("32 MiB", LARGE),
    ("adaptive", "adaptive"),
];

/// What the command line knows of it.
pub const PUBLICATION: Publication = Publication {
    name: "dead-ahead-2017",
    about: "eight loaders on an array at 128 KiB and 32 MiB, and the warning about random reads, literally",
    parameters: PARAMETERS,
    compute: figure,
};

const DISKS: &str = "disks of the array";
const USER: &str = "processor time for each MiB";
const CHUNK: &str = "chunk of the array";
const WRITTEN: &str = "written of each MiB read";
const MEMORY: &str = "memory";

const PARAMETERS: &[Parameter] = &[
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

fn machine(knobs: &ModelKnobs) -> Machine {
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

fn figure(knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    let mut figure = Figure {
        name: "dead-ahead-2017",
        title: "Eight readers on an array, and random load, at 128 KiB and 32 MiB".to_owned(),
        source: "Read Ahead, Dead Ahead (2017), quoting a report of 2010".to_owned(),
        parameters: PARAMETERS,
        ..Figure::default()
    };
    loaders::blessing(&mut figure, knobs)?;
    loaders::number_of_loaders(&mut figure, knobs)?;
    random::warning(&mut figure, knobs)?;
    random::curse(&mut figure, knobs)?;
    figure.notes.push(
        "md0 is assumed: 5 disks of 2010 (with 4 the first rate was lower than published), striped in chunks of 64 KiB; 40 ms of processor time for \
         each MiB follow from the report"
            .to_owned(),
    );
    figure.notes.push(
        "Where the database lies and how it is written is not said: sequentially, on the same array, a file for \
         each loader. Written back as Linux 2.6.18 does: from a tenth of memory on, after 30 s, and writers \
         wait at 40 percent; a write takes the disk as long as a read of the same place."
            .to_owned(),
    );
    figure.notes.push(
        "adaptive runs over linux-6.18 with 128 KiB on the same machine; mapped files are the \
         kernel's alone there"
            .to_owned(),
    );
    Ok(figure)
}

fn mib_per_second(report: &WorldReport) -> f64 {
    float(report.bytes_per_second()) / float(1 << 20)
}
