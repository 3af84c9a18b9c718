//! The reader on small files in a temporary folder: every pattern reads what it should, and
//! notices what it should not find.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ahead_harness::ceiling::Pricing;
use ahead_harness::content;
use ahead_harness::job::{Job, Mode, Source, Sources};
use ahead_harness::pattern::{PATTERNS, Pattern, Scenario};
use ahead_harness::reader::{ReadError, read};
use ahead_sys::shared_counter::SharedCounter;

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

    fn sources(&self, pattern: Pattern) -> Sources {
        match pattern {
            Pattern::Separate { streams } => Sources::Listed(
                (0..streams)
                    .map(|n| self.file(&format!("s{n}"), n + 1, 512 << 10))
                    .collect(),
            ),
            Pattern::Small => {
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

    fn job(&self, pattern: Pattern, mode: Mode) -> Job {
        let counter = self.root.path().join("counter");
        SharedCounter::create(&counter).unwrap();
        Job {
            scenario: Scenario::plain(pattern),
            mode,
            sources: self.sources(pattern),
            seed: 1,
            bytes_max: Some(4 << 20),
            milliseconds_max: None,
            repeat: false,
            members_file: None,
            counter,
            answer: self.root.path().join("answer"),
        }
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
    for (name, pattern) in PATTERNS {
        let folder = Folder::new();
        let measured = read(&folder.job(*pattern, Mode::Plain)).unwrap();
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
    for (name, pattern) in PATTERNS {
        // A random list has no end.
        if matches!(pattern, Pattern::Random { .. } | Pattern::MappedRandom) {
            continue;
        }
        let folder = Folder::new();
        let mut job = folder.job(*pattern, Mode::Plain);
        job.bytes_max = None;
        let plain = read(&job).unwrap();
        job.mode = Mode::Ceiling(Pricing::with_holes(16 << 10));
        assert_eq!(
            read(&job).unwrap().useful_bytes,
            plain.useful_bytes,
            "{name}"
        );
    }
}

#[test]
fn a_wrong_word_is_reported_with_its_file_and_offset() {
    let mapped = [Pattern::MappedSequential, Pattern::MappedBackward];
    for pattern in [Pattern::Sequential { read: 64 }, Pattern::Backward]
        .iter()
        .chain(&mapped)
    {
        let folder = Folder::new();
        let mut job = folder.job(*pattern, Mode::Plain);
        job.bytes_max = None;
        let offset = 3 << 20;
        spoil(&folder.root.path().join("main"), offset);
        let error = read(&job).unwrap_err();
        assert!(matches!(error, ReadError::Mismatch { offset: at, .. } if at == offset));
        let text = error.to_string();
        assert!(text.contains("main") && text.contains("3145728"), "{text}");
    }
}

#[test]
fn the_ceiling_notices_a_wrong_word_too() {
    let folder = Folder::new();
    let mode = Mode::Ceiling(Pricing::with_holes(0));
    let mut job = folder.job(Pattern::Sequential { read: 64 }, mode);
    job.bytes_max = None;
    spoil(&folder.root.path().join("main"), 4096 * 100);
    assert!(matches!(
        read(&job),
        Err(ReadError::Mismatch {
            offset: 409_600,
            ..
        })
    ));
}

#[test]
fn a_truncated_file_is_an_error_and_not_a_short_run() {
    let folder = Folder::new();
    let mut job = folder.job(Pattern::Sequential { read: 64 }, Mode::Plain);
    job.bytes_max = None;
    let main = fs::OpenOptions::new()
        .write(true)
        .open(folder.root.path().join("main"))
        .unwrap();
    main.set_len(BYTES / 2).unwrap();
    assert!(matches!(read(&job), Err(ReadError::Io { .. })));
}

#[test]
fn a_list_that_repeats_goes_on_until_its_limit() {
    let folder = Folder::new();
    let mut job = folder.job(Pattern::Sequential { read: 64 }, Mode::Plain);
    job.repeat = true;
    job.bytes_max = Some(3 * BYTES);
    assert_eq!(read(&job).unwrap().useful_bytes, 3 * BYTES);
}
