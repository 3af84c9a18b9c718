//! Every policy on every kind of workload: all bytes arrive, time adds up, runs repeat, and nobody
//! is above the ceiling.

use ahead_disk_model::DiskModel;
use ahead_sim::algorithm::{Policy, policies};
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Costs, Machine};
use ahead_units::PageCount;
use ahead_workload::Job;
use ahead_workload::{Draw, Hint, TouchOrder, Workload, generated};

fn workloads() -> Vec<(&'static str, Workload)> {
    let sequential = Workload::Sequential {
        file_mib: 4,
        read_kib: 16,
        passes: 1,
    };
    let random = Workload::Random {
        file_mib: 8,
        read_kib: 4,
        reads: 200,
    };
    vec![
        ("sequential", sequential.clone()),
        (
            "loop",
            Workload::Sequential {
                file_mib: 6,
                read_kib: 64,
                passes: 2,
            },
        ),
        (
            "backward",
            Workload::Backward {
                file_mib: 4,
                read_kib: 64,
            },
        ),
        (
            "strided",
            Workload::Strided {
                file_mib: 8,
                read_kib: 16,
                period_kib: 64,
                part_period: false,
            },
        ),
        (
            "interleaved",
            Workload::Interleaved {
                file_mib: 8,
                streams: 5,
                read_kib: 64,
            },
        ),
        (
            "separate",
            Workload::Separate {
                file_mib: 2,
                streams: 3,
                read_kib: 64,
            },
        ),
        (
            "threads",
            Workload::Threads {
                file_mib: 4,
                threads: 4,
                read_kib: 64,
                own_descriptors: false,
            },
        ),
        (
            "readers",
            Workload::Readers {
                file_mib: 2,
                readers: 3,
                read_kib: 32,
            },
        ),
        (
            "server",
            Workload::Server {
                file_mib: 4,
                daemons: 4,
                read_kib: 32,
                shuffle: 8,
                draw: Draw::Plan,
            },
        ),
        (
            "reopen",
            Workload::Reopen {
                file_mib: 4,
                read_kib: 64,
                every_kib: 1024,
                closes: false,
            },
        ),
        ("random", random.clone()),
        (
            "bursts",
            Workload::Bursts {
                file_mib: 16,
                read_kib: 4,
                burst: 16,
                bursts: 20,
            },
        ),
        (
            "mixed",
            Workload::Mixed {
                file_mib: 8,
                read_kib: 64,
                run: 4,
                random_kib: 16,
                draw: Draw::Plan,
            },
        ),
        (
            "sparse",
            Workload::Sparse {
                file_mib: 4,
                percent: 60,
            },
        ),
        (
            "sizes",
            Workload::Sizes {
                file_mib: 4,
                factor_max: 64,
            },
        ),
        (
            "merge",
            Workload::Merge {
                file_mib: 1,
                runs: 4,
                read_kib: 32,
            },
        ),
        (
            "small files",
            Workload::SmallFiles {
                files: 30,
                file_kib: 50,
                read_kib: 32,
            },
        ),
        (
            "mapped",
            Workload::Mapped {
                file_mib: 4,
                order: TouchOrder::Forward,
                advice: Hint::Sequential,
                touches: None,
                step_pages: None,
            },
        ),
        (
            "mapped backward",
            Workload::Mapped {
                file_mib: 2,
                order: TouchOrder::Backward,
                advice: Hint::Normal,
                touches: None,
                step_pages: None,
            },
        ),
        (
            "mapped random",
            Workload::Mapped {
                file_mib: 2,
                order: TouchOrder::Random,
                advice: Hint::Normal,
                touches: None,
                step_pages: None,
            },
        ),
        (
            "libraries",
            Workload::Libraries {
                files: 3,
                file_mib: 2,
                clusters: 60,
                cluster_pages: 12,
            },
        ),
        (
            "streams",
            Workload::Streams {
                streams: 6,
                bytes_per_s: 100_000,
                read_kib: 16,
                seconds: 3,
            },
        ),
        (
            "tail",
            Workload::Tail {
                file_mib: 1,
                look_kib: 64,
                think_us: 500,
            },
        ),
        (
            "database",
            Workload::Database {
                heap_mib: 4,
                index_mib: 2,
                backends: 3,
                lookups: 50,
            },
        ),
        (
            "together",
            Workload::Together {
                works: vec![
                    Workload::Paced {
                        work: Box::new(sequential),
                        compute_us: 100,
                        think_us: 0,
                    },
                    random,
                ],
            },
        ),
    ]
}

/// 4 MiB of memory, so that most files do not fit.
fn machine(disk: DiskModel) -> Machine {
    Machine {
        costs: Costs::modern(),
        ..Machine::modern(disk, PageCount::new(1024))
    }
}

fn run(machine: &Machine, policy: &str, job: &Job) -> WorldReport {
    let policy = Policy::for_disk(policy, &machine.disk).unwrap();
    let report = ahead_sim::simulate(machine, &policy, job).unwrap();
    let p = report.processors;
    assert_eq!(
        p.user_ns + p.system_ns + p.interrupt_ns + p.idle_ns,
        report.elapsed_ns * u64::from(machine.cpus),
        "{policy}: {p:?}"
    );
    report
}

#[test]
fn every_policy_delivers_every_byte_of_every_workload_in_adding_time() {
    for disk in [DiskModel::hdd(), DiskModel::ssd()] {
        let machine = machine(disk);
        for (name, workload) in workloads() {
            let job = workload.job(1);
            let plain = run(&machine, "none", &job);
            assert!(plain.bytes > 0, "{name}");
            for policy in policies().iter().map(|about| about.name) {
                let report = run(&machine, policy, &job);
                assert_eq!(report.bytes, plain.bytes, "{policy} on {name}");
                assert_eq!(report.reads, plain.reads, "{policy} on {name}");
                let found = report.prefetch.useful + report.prefetch.wasted;
                assert_eq!(report.prefetch.pages, found, "{policy} on {name}");
            }
        }
    }
}

/// Twenty-four processes in 32 MiB: each of them believed that it had all of it, and a third of what they read
/// was evicted before it was read.
#[test]
fn processes_of_a_run_do_not_evict_each_others_pages() {
    let machine = Machine::modern(DiskModel::hdd(), PageCount::new(32 << 8));
    let readers = Workload::Readers {
        file_mib: 8,
        readers: 24,
        read_kib: 64,
    };
    let report = run(&machine, "adaptive", &readers.job(1));
    assert_eq!(report.device.bytes, 24 * (8 << 20));
}

#[test]
fn the_same_run_gives_the_same_report() {
    let machine = machine(DiskModel::hdd());
    for (_, workload) in workloads() {
        for policy in ["adaptive", "oracle", "ara-june", "linux-6.18"] {
            let first = run(&machine, policy, &workload.job(7));
            assert_eq!(first, run(&machine, policy, &workload.job(7)));
        }
    }
}

#[test]
fn nobody_is_above_the_ceiling() {
    let mut above = Vec::new();
    for (disk, kind) in [
        (DiskModel::hdd(), "hdd"),
        (DiskModel::ssd(), "ssd"),
        (DiskModel::cloud(), "cloud"),
    ] {
        let machine = machine(disk);
        for (name, workload) in workloads() {
            let job = workload.job(1);
            let ceiling = run(&machine, "oracle", &job).elapsed_ns;
            for policy in policies().iter().map(|about| about.name) {
                let elapsed = run(&machine, policy, &job).elapsed_ns;
                // One part of two hundred for orders that a disk likes by chance, and one access
                // of flash for how a run of some milliseconds begins.
                if (elapsed + 100_000) * 201 < ceiling * 200 {
                    above.push(format!("{policy} on {name}, {kind}: {elapsed} < {ceiling}"));
                }
            }
        }
    }
    assert!(above.is_empty(), "{}", above.join("\n"));
}

/// Generated workloads under which `adaptive` was faster than the ceiling, by 2 to 21 parts of a hundred: a job that
/// ends last waited behind what others needed much later, and blocks of flash were read twice.
#[test]
fn the_ceiling_serves_first_who_ends_last_and_reads_no_block_twice() {
    for (seed, disk) in [
        (13029, DiskModel::ssd()),
        (13010, DiskModel::ssd()),
        (13014, DiskModel::ssd()),
        (13022, DiskModel::nvme()),
        (13006, DiskModel::sata_stripe()),
    ] {
        let machine = Machine::modern(disk, PageCount::new(1024 << 8));
        let job = generated(seed).job(seed);
        let ceiling = run(&machine, "oracle", &job).elapsed_ns;
        for policy in ["adaptive", "linux-6.18"] {
            let elapsed = run(&machine, policy, &job).elapsed_ns;
            assert!(
                elapsed * 500 >= ceiling * 499,
                "{seed}: {policy} {elapsed} < {ceiling}"
            );
        }
    }
}

/// generated:seed=16014, 200 files of 371 KiB by a reader that computes 128 us for each 4 KiB: brought whole in one
/// request each, it waited for all of a file on hdd where it could have computed, and took 1.27 of the kernel's
/// time. In pieces it takes 1.01. 60045, 200 files of 65 KiB in reads of 8: 1.24 and 1.09. 62143, 200 files of 600 KiB by a
/// reader that computes, beside a scan: 1.07 and 1.00.
#[test]
fn a_small_file_does_not_arrive_with_its_last_page() {
    let machine = Machine::modern(DiskModel::hdd(), PageCount::new(1024 << 8));
    for (seed, most) in [(16014, 103), (60045, 111), (62143, 101)] {
        let job = generated(seed).job(seed);
        let [adaptive, kernel] =
            ["adaptive", "linux-6.18"].map(|policy| run(&machine, policy, &job).elapsed_ns);
        assert!(
            adaptive * 100 <= kernel * most,
            "{seed}: {adaptive} beside {kernel}"
        );
    }
}

/// The first 1 MiB of 500 files of 4 MiB, each opened and closed. Without what the files before it showed, the third
/// and fourth MiB of each were read in vain: 1.53 of the kernel's time on hdd, 1.51 on the network volume.
#[test]
fn files_that_are_left_in_the_middle_are_not_read_ahead_beyond_it() {
    let text = "kind = 'runs'\nfile-mib = 4\nfiles = 500\nrun-kib = 1024\nread-bytes = 65536\ngap-kib = 20000";
    let workload = toml::from_str::<Workload>(text).unwrap();
    for disk in [
        DiskModel::hdd(),
        DiskModel::ssd(),
        DiskModel::cloud(),
        DiskModel::sata_stripe(),
    ] {
        let machine = Machine::modern(disk, PageCount::new(512 << 8));
        let [adaptive, kernel] =
            ["adaptive", "linux-6.18"].map(|policy| run(&machine, policy, &workload.job(1)));
        assert!(
            adaptive.elapsed_ns * 100 <= kernel.elapsed_ns * 102,
            "{adaptive:?} beside {kernel:?}"
        );
    }
}

#[test]
fn a_plan_can_hold_every_workload() {
    for (_, workload) in workloads() {
        let text = toml::to_string(&workload).unwrap();
        assert_eq!(toml::from_str::<Workload>(&text).unwrap(), workload);
    }
    assert!(toml::from_str::<Workload>("kind = \"sequential\"\nspeed = 3").is_err());
}
