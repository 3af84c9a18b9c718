//! The reader on small files in a temporary folder: every preset reads what it should, and
//! notices what it should not find.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ahead_harness::assignment::{Assignment, Mode, Source, Sources};
use ahead_harness::ceiling::Pricing;
use ahead_harness::content;
use ahead_harness::reader::{ReadError, read};
use ahead_sys::shared_counter::SharedCounter;
use ahead_workload::presets::{PRESETS, find};
use ahead_workload::{Hint, TouchOrder, Workload};

const BYTES: u64 = 8 << 20;

struct Folder {
    root: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        // Beside the build, because direct reads do not work on every kind of /tmp.
        let near = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        Self {
            root: tempfile::tempdir_in(near).unwrap(),
        }
    }

    fn file(&self, name: &str, id: u32, bytes: u64) -> Source {
        let path = self.root.path().join(name);
        let mut content = vec![0; usize::try_from(bytes).unwrap()];
        content::fill(&mut content, id, 0);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        Source { path, id, bytes }
    }

    fn sources(&self, workload: &Workload) -> Sources {
        match workload {
            Workload::Separate { streams, .. } => Sources::Listed(
                (0..u32::try_from(*streams).unwrap())
                    .map(|n| self.file(&format!("s{n}"), n + 1, 512 << 10))
                    .collect(),
            ),
            Workload::SmallFiles { .. } => {
                for number in 0..20 {
                    self.file(&format!("small/{number}"), 1000 + number, 100 << 10);
                }
                let path = self.root.path().join("small");
                Sources::Folder {
                    path,
                    first_id: 1000,
                    bytes: 100 << 10,
                }
            }
            _ => Sources::Listed(vec![self.file("main", 0, BYTES)]),
        }
    }

    fn assignment(&self, workload: &Workload, mode: Mode) -> Assignment {
        let counter = self.root.path().join("counter");
        SharedCounter::create(&counter).unwrap();
        Assignment {
            workload: workload.clone(),
            mode,
            sources: self.sources(workload),
            seed: 1,
            bytes_max: Some(4 << 20),
            milliseconds_max: None,
            sleeps: false,
            repeat: false,
            members_file: None,
            counter,
            answer: self.root.path().join("answer"),
        }
    }

    fn preset(&self, name: &str, mode: Mode) -> Assignment {
        self.assignment(&find(name).unwrap().workload, mode)
    }

    fn counted(&self) -> u64 {
        SharedCounter::open(&self.root.path().join("counter"))
            .unwrap()
            .get()
    }
}

fn spoil(path: &Path, offset: u64) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[0xEE; 8], offset).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn every_pattern_reads_its_bytes_and_counts_them() {
    for preset in PRESETS {
        let name = preset.name;
        let folder = Folder::new();
        let measured = read(&folder.preset(name, Mode::Plain)).unwrap();
        assert_eq!(measured.useful_bytes, folder.counted(), "{name}");
        assert!(
            measured.useful_bytes >= 512 << 10,
            "{name} read {}",
            measured.useful_bytes
        );
        // The last read of each of eight threads may go beyond the limit.
        assert!(
            measured.useful_bytes <= (4 << 20) + 8 * (64 << 10),
            "{name}"
        );
        assert!(
            measured.latency.p50_ns <= measured.latency.p999_ns,
            "{name}"
        );
    }
}

#[test]
fn the_ceiling_gets_the_bytes_of_the_whole_list() {
    for preset in PRESETS {
        let name = preset.name;
        // A random list has no end.
        if !preset.has_an_end() {
            continue;
        }
        let folder = Folder::new();
        let mut assignment = folder.preset(name, Mode::Plain);
        assignment.bytes_max = None;
        let plain = read(&assignment).unwrap();
        assignment.mode = Mode::Ceiling(Pricing::with_holes(16 << 10));
        assert_eq!(
            read(&assignment).unwrap().useful_bytes,
            plain.useful_bytes,
            "{name}"
        );
    }
}

#[test]
fn a_wrong_word_is_reported_with_its_file_and_offset() {
    for name in ["seq64k", "back64k", "mseq", "mback"] {
        let folder = Folder::new();
        let mut assignment = folder.preset(name, Mode::Plain);
        assignment.bytes_max = None;
        let offset = 3 << 20;
        spoil(&folder.root.path().join("main"), offset);
        let error = read(&assignment).unwrap_err();
        assert!(matches!(error, ReadError::Mismatch { offset: at, .. } if at == offset));
        let text = error.to_string();
        assert!(text.contains("main") && text.contains("3145728"), "{text}");
    }
}

#[test]
fn the_ceiling_notices_a_wrong_word_too() {
    let folder = Folder::new();
    let mode = Mode::Ceiling(Pricing::with_holes(0));
    let mut assignment = folder.preset("seq64k", mode);
    assignment.bytes_max = None;
    spoil(&folder.root.path().join("main"), 4096 * 100);
    assert!(matches!(
        read(&assignment),
        Err(ReadError::Mismatch {
            offset: 409_600,
            ..
        })
    ));
}

#[test]
fn a_truncated_file_is_an_error_and_not_a_short_run() {
    let folder = Folder::new();
    let mut assignment = folder.preset("seq64k", Mode::Plain);
    assignment.bytes_max = None;
    let main = fs::OpenOptions::new()
        .write(true)
        .open(folder.root.path().join("main"))
        .unwrap();
    main.set_len(BYTES / 2).unwrap();
    assert!(matches!(read(&assignment), Err(ReadError::Io { .. })));
}

#[test]
fn a_list_that_repeats_goes_on_until_its_limit() {
    let folder = Folder::new();
    let mut assignment = folder.preset("seq64k", Mode::Plain);
    assignment.repeat = true;
    assignment.bytes_max = Some(3 * BYTES);
    assert_eq!(read(&assignment).unwrap().useful_bytes, 3 * BYTES);
}

/// Everything that a workload of a plan can ask for, of one process, is done as the simulator
/// does it: each byte that its job wants is read.
#[test]
fn workloads_of_plans_are_read_to_their_end() {
    let mapped = |order, advice| Workload::Mapped {
        file_mib: 1,
        order,
        advice,
        touches: None,
        step_pages: None,
    };
    let sequential = Workload::Sequential {
        file_mib: 1,
        read_kib: 64,
        passes: 2,
    };
    let workloads = [
        mapped(TouchOrder::Forward, Hint::Sequential),
        mapped(TouchOrder::Random, Hint::Random),
        Workload::Libraries {
            files: 3,
            file_mib: 1,
            clusters: 20,
            cluster_pages: 8,
        },
        Workload::Merge {
            file_mib: 1,
            runs: 3,
            read_kib: 64,
        },
        Workload::Sizes {
            file_mib: 1,
            factor_max: 1024,
        },
        Workload::Threads {
            file_mib: 1,
            threads: 3,
            read_kib: 64,
            own_descriptors: false,
        },
        Workload::Tail {
            file_mib: 1,
            look_kib: 256,
            think_us: 10,
        },
        Workload::Streams {
            streams: 1,
            bytes_per_s: 64_000_000,
            read_kib: 64,
            seconds: 1,
        },
        Workload::Paced {
            work: Box::new(sequential.clone()),
            compute_us: 10,
            think_us: 10,
        },
        Workload::Together {
            works: vec![sequential],
        },
    ];
    for workload in workloads {
        let folder = Folder::new();
        let files = workload.files().into_iter();
        let sources = (0..)
            .zip(files)
            .map(|(number, file)| folder.file(&number.to_string(), number, file.bytes))
            .collect();
        let assignment = Assignment {
            sources: Sources::Listed(sources),
            bytes_max: None,
            // Far more than it takes, and a limit that pauses have to respect.
            milliseconds_max: Some(60_000),
            ..folder.preset("seq4k", Mode::Plain)
        };
        let assignment = Assignment {
            workload: workload.clone(),
            ..assignment
        };
        let wanted = ahead_workload::wanted::future(&workload.job(1));
        let wanted: u64 = wanted.map(|range| range.length).sum();
        let measured = read(&assignment).unwrap_or_else(|error| panic!("{workload:?}: {error}"));
        assert_eq!(measured.useful_bytes, wanted, "{workload:?}");
    }
}

#[test]
fn a_pause_ends_with_the_time_of_the_run() {
    let folder = Folder::new();
    let workload = Workload::Tail {
        file_mib: 8,
        look_kib: 64,
        think_us: 3_600_000_000,
    };
    let mut assignment = folder.assignment(&workload, Mode::Plain);
    assignment.milliseconds_max = Some(1);
    let measured = read(&assignment).unwrap();
    assert_eq!(measured.reads, 1);
}

/// Several processes are started as this one was, which is a test and no reader.
#[test]
fn a_process_that_ends_without_an_answer_fails_the_run() {
    let folder = Folder::new();
    let workload = Workload::Readers {
        file_mib: 1,
        readers: 1,
        read_kib: 64,
    };
    let one = folder.assignment(&workload, Mode::Plain);
    assert!(read(&one).is_ok());
    let together = Workload::Together {
        works: vec![workload.clone(), workload],
    };
    let two = Assignment {
        sources: Sources::Listed(vec![
            folder.file("a", 1, 1 << 20),
            folder.file("b", 2, 1 << 20),
        ]),
        ..folder.assignment(&together, Mode::Plain)
    };
    let said = read(&two).unwrap_err().to_string();
    assert!(said.starts_with("one of the readers failed"), "{said}");
}
