//! Workloads with names: what the bench measures, and what the words of its reports mean.
//!
//! A preset is a value of the one language, and a few facts about measuring it. Its sizes are
//! those of a disk that holds everything; on a smaller disk the same workload is done
//! [over what is there](Workload::job_over).

use crate::kinds::{Draw, ENDLESS, Hint, TouchOrder, Workload};

/// The largest file that presets read: a strided reader at 130 MB/s passes 2 GiB in 5 s, one on
/// flash twice that.
pub const MAIN_MIB: u64 = 4096;

/// A workload with a name.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Preset {
    /// The name in lists and reports.
    pub name: &'static str,
    /// What is read, in a few words.
    pub about: &'static str,
    /// The workload.
    pub workload: Workload,
    /// Whether a policy could know what comes next; only these enter the geometric mean.
    pub is_predictable: bool,
    /// Whether half of it would measure something else, so that only its own end stops it.
    pub runs_to_its_end: bool,
    /// Memory of the process group that it prescribes, in MiB.
    pub memory_mib_max: Option<u64>,
}

/// Every preset, in the order of reports.
pub static PRESETS: &[Preset] = &[
    sequential("seq4k", "one file from its start, 4 KiB a read", 4),
    sequential("seq64k", "one file from its start, 64 KiB a read", 64),
    sequential("seq2m", "one file from its start, 2048 KiB a read", 2048),
    Preset::new(
        "back64k",
        "one file from its end, 64 KiB a read",
        Workload::Backward {
            file_mib: MAIN_MIB,
            read_kib: 64,
        },
    ),
    strided("stride16-64", "16 KiB of every 64 KiB", 16, 64),
    strided("stride64-192", "64 KiB of every 192 KiB", 64, 192),
    interleaved("one2", "2 sequential streams in turn on one descriptor", 2),
    interleaved("one8", "8 sequential streams in turn on one descriptor", 8),
    interleaved(
        "one64",
        "64 sequential streams in turn on one descriptor",
        64,
    ),
    separate("sep2", "2 sequential streams in turn, a file each", 2, 512),
    separate("sep8", "8 sequential streams in turn, a file each", 8, 128),
    separate(
        "sep64",
        "64 sequential streams in turn, a file each",
        64,
        16,
    ),
    Preset::new(
        "thr8",
        "eight threads, each with its own part of a file",
        Workload::Threads {
            file_mib: MAIN_MIB,
            threads: 8,
            read_kib: 64,
            own_descriptors: true,
        },
    ),
    Preset::new(
        "nfsd",
        "eight threads share a scan, a fresh open per read",
        Workload::Server {
            file_mib: MAIN_MIB,
            daemons: 8,
            read_kib: 32,
            shuffle: 8,
            draw: Draw::Bench,
        },
    ),
    Preset::new(
        "reopen",
        "sequential, closed and opened again after every 1 MiB",
        Workload::Reopen {
            file_mib: MAIN_MIB,
            read_kib: 64,
            every_kib: 1024,
            closes: true,
        },
    ),
    Preset::new(
        "mixed",
        "sequential, a random 16 KiB after every 256 KiB",
        Workload::Mixed {
            file_mib: MAIN_MIB,
            read_kib: 64,
            run: 4,
            random_kib: 16,
            draw: Draw::Bench,
        },
    )
    .unpredictable(),
    sparse("sparse", "ascending, 60 % of the pages", 60),
    sparse("skim", "ascending, 10 % of the pages", 10).unpredictable(),
    Preset::new(
        "loop",
        "the same 512 MiB twice in 256 MiB of memory",
        Workload::Sequential {
            file_mib: 512,
            read_kib: 64,
            passes: 2,
        },
    )
    .unpredictable()
    .whole()
    .in_memory_mib(256),
    random("rand4k", "random places, 4 KiB a read", 4),
    random("rand16k", "random places, 16 KiB a read", 16),
    Preset::new(
        "small",
        "2000 files of 100 KiB in directory order",
        Workload::SmallFiles {
            files: 2000,
            file_kib: 100,
            read_kib: 64,
        },
    )
    .whole(),
    mapped("mseq", "a mapping, from its start", TouchOrder::Forward),
    mapped("mback", "a mapping, from its end", TouchOrder::Backward),
    mapped("mrand", "a mapping, random pages", TouchOrder::Random).unpredictable(),
];

/// The preset called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    const fn new(name: &'static str, about: &'static str, workload: Workload) -> Self {
        Self {
            name,
            about,
            workload,
            is_predictable: true,
            runs_to_its_end: false,
            memory_mib_max: None,
        }
    }

    const fn unpredictable(mut self) -> Self {
        self.is_predictable = false;
        self
    }

    /// Half of it would measure something else.
    const fn whole(mut self) -> Self {
        self.runs_to_its_end = true;
        self
    }

    const fn in_memory_mib(mut self, mib: u64) -> Self {
        self.memory_mib_max = Some(mib);
        self
    }

    /// Whether it comes to an end by itself; the others need a limit from outside.
    #[must_use]
    pub const fn has_an_end(&self) -> bool {
        !matches!(
            self.workload,
            Workload::Random { reads: ENDLESS, .. }
                | Workload::Mapped {
                    order: TouchOrder::Random,
                    touches: Some(ENDLESS),
                    ..
                }
        )
    }

    /// Whether it touches mapped memory instead of calling read.
    #[must_use]
    pub const fn is_mapped(&self) -> bool {
        matches!(self.workload, Workload::Mapped { .. })
    }
}

const fn sequential(name: &'static str, about: &'static str, read_kib: u64) -> Preset {
    let workload = Workload::Sequential {
        file_mib: MAIN_MIB,
        read_kib,
        passes: 1,
    };
    Preset::new(name, about, workload)
}

const fn strided(
    name: &'static str,
    about: &'static str,
    read_kib: u64,
    period_kib: u64,
) -> Preset {
    let workload = Workload::Strided {
        file_mib: MAIN_MIB,
        read_kib,
        period_kib,
        part_period: true,
    };
    Preset::new(name, about, workload)
}

const fn interleaved(name: &'static str, about: &'static str, streams: u64) -> Preset {
    let workload = Workload::Interleaved {
        file_mib: MAIN_MIB,
        streams,
        read_kib: 64,
    };
    Preset::new(name, about, workload)
}

const fn separate(name: &'static str, about: &'static str, streams: u64, file_mib: u64) -> Preset {
    let workload = Workload::Separate {
        file_mib,
        streams,
        read_kib: 64,
    };
    Preset::new(name, about, workload)
}

const fn sparse(name: &'static str, about: &'static str, percent: u64) -> Preset {
    let workload = Workload::Sparse {
        file_mib: MAIN_MIB,
        percent,
    };
    Preset::new(name, about, workload)
}

const fn random(name: &'static str, about: &'static str, read_kib: u64) -> Preset {
    let workload = Workload::Random {
        file_mib: MAIN_MIB,
        read_kib,
        reads: ENDLESS,
    };
    Preset::new(name, about, workload).unpredictable()
}

const fn mapped(name: &'static str, about: &'static str, order: TouchOrder) -> Preset {
    let workload = Workload::Mapped {
        file_mib: MAIN_MIB,
        order,
        advice: Hint::Normal,
        touches: Some(ENDLESS),
        step_pages: Some(1),
    };
    Preset::new(name, about, workload)
}
