//! The programs on the kernel that runs. Root.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ahead_observer::observation::{FactKind, FileKey, Observation};
use ahead_observer::observer::KernelObserver;
use ahead_observer::quiet::Quiet;
use ahead_observer::self_test;
use ahead_sys::mapped_file::MappedFile;
use ahead_units::{PageRange, Timestamp};

/// On the file system that this is built on.
const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

const PAGE: u64 = 4096;

/// A file in memory, of so many pages.
fn file(pages: u64) -> (File, FileKey) {
    let mut file = tempfile::tempfile_in(FOLDER).expect("a folder");
    let bytes = vec![7; usize::try_from(pages * PAGE).expect("small")];
    file.write_all(&bytes).expect("space");
    file.sync_all().expect("written");
    let key = FileKey::of(&file.metadata().expect("open"));
    (file, key)
}

fn read(file: &File, page: u64) {
    let mut buffer = [0; 4096];
    file.read_exact_at(&mut buffer, page * PAGE)
        .expect("inside");
}

fn evict(file: &File) {
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).expect("advice");
}

fn all_told(observer: &KernelObserver) -> Vec<Observation> {
    let mut told = Vec::new();
    observer.wait(Duration::ZERO, &mut told).expect("a ring");
    told
}

fn told(observer: &KernelObserver, of: FileKey) -> Vec<Observation> {
    let mut told = all_told(observer);
    told.retain(|fact| fact.file == of);
    told
}

/// What is told of a file while `reader` runs, and how often whoever listens was woken, or had waited for 100 ms.
fn told_while(
    observer: &KernelObserver,
    of: FileKey,
    reader: JoinHandle<()>,
) -> (Vec<Observation>, u32) {
    let (mut told, mut woken) = (Vec::new(), 0);
    while !reader.is_finished() {
        observer
            .wait(Duration::from_millis(100), &mut told)
            .unwrap();
        woken += 1;
    }
    reader.join().unwrap();
    observer.drain(&mut told).unwrap();
    told.retain(|fact| fact.file == of);
    (told, woken)
}

fn paused(pause: Duration) -> Quiet {
    Quiet {
        pause,
        ..Quiet::default()
    }
}

fn start() -> KernelObserver {
    KernelObserver::start().expect("root, and a kernel with the tracepoints")
}

#[test]
fn this_kernel_tells_the_truth() {
    let mut observer = start();
    self_test::run(&mut observer, Path::new(FOLDER)).unwrap();
    assert!(!observer.is_attached(), "nothing is watched any more");
}

#[test]
fn reads_from_memory_are_told_of_watched_files_only_and_together() {
    let mut observer = start();
    let (quiet, quiet_key) = file(1024);
    let (watched, watched_key) = file(1024);
    observer.watch(watched_key).unwrap();
    for page in 0..1024 {
        read(&quiet, page);
        read(&watched, page);
    }
    let (told, others): (Vec<_>, Vec<_>) = all_told(&observer)
        .into_iter()
        .partition(|fact| fact.file == watched_key);
    assert!(others.iter().all(|fact| fact.file != quiet_key));
    let pages: u32 = told.iter().map(|fact| fact.count).sum();
    assert_eq!(pages, 1024);
    // 32 pages each, or what a millisecond brought where the machine is busy.
    assert!(told.len() < 512, "{} facts of 1024 reads", told.len());
}

/// A scan of a mapping faults at few of its pages: the kernel maps others around, and all of a large folio. What is told
/// is that all of them were touched, in their order; without that, it looked like a stride of windows.
#[test]
fn a_mapping_that_is_walked_is_told_as_all_of_its_pages() {
    const PAGES: u64 = 8192;
    let mut observer = start();
    let (file, key) = file(PAGES);
    evict(&file);
    let mapped = MappedFile::map(&file).unwrap();
    observer.watch(key).unwrap();
    let _ = told(&observer, key);
    for page in 0..PAGES {
        assert!(mapped.word_at(page * PAGE).is_some());
    }
    let told = told(&observer, key);
    let mut next = 0;
    let mut left_out = 0;
    let accesses = told.iter().filter(|fact| fact.kind == FactKind::Accesses);
    for pages in accesses
        .flat_map(|fact| fact.accesses())
        .map(|access| access.pages())
    {
        let (start, end) = (pages.start.get(), pages.end.get());
        assert!(
            end > next || next - start <= 32,
            "{start} to {end}, after {next}"
        );
        left_out += start.saturating_sub(next);
        next = next.max(end);
    }
    // The last ones were too few to be told.
    assert!(next + 600 > PAGES, "told up to {next}");
    // What another processor did at the same moment is not seen.
    assert!(
        left_out * 50 <= PAGES,
        "{left_out} of {PAGES} pages left out"
    );
}

#[test]
fn facts_that_find_the_ring_full_are_counted_and_later_ones_told() {
    let mut observer = start();
    let (file, key) = file(1024);
    observer.watch(key).unwrap();
    // No two steps alike: a fact for each two reads.
    let mut page = 0;
    for number in 0..40_000 {
        page = (page + number * number + 3) % 1024;
        read(&file, page);
    }
    assert!(observer.overruns() > 0);
    assert!(told(&observer, key).len() > 5_000);
    let before = observer.overruns();
    for number in 0..100 {
        read(&file, number * number % 1024);
    }
    assert!(!told(&observer, key).is_empty(), "it goes on");
    assert_eq!(observer.overruns(), before);
}

/// A reader of random places that pauses after each, as one that waits for flash does: all of its reads are told, and whoever
/// listens is woken once in the pause, not for each. One that is woken anyway finds what there is.
#[test]
fn reads_of_which_nothing_is_expected_are_told_many_at_once() {
    const READS: u64 = 600;
    let mut observer = start();
    let (file, key) = file(1024);
    observer.watch(key).unwrap();
    observer.set_quiet(key, &paused(Duration::from_millis(2)));
    let began = Instant::now();
    let reader = std::thread::spawn(move || {
        for number in 0..READS {
            read(&file, number * number * 7 % 1024);
            std::thread::sleep(Duration::from_micros(50));
        }
    });
    let (told, woken) = told_while(&observer, key, reader);
    let elapsed = began.elapsed();
    let reads: u64 = told.iter().map(|fact| u64::from(fact.count)).sum();
    assert!(reads + 2 >= READS, "{reads} told");
    // Each also if the machine is so busy that it lies two milliseconds behind the one before; and where one was told
    // between a look and the sleep after it.
    let most = elapsed.as_millis() / 2 + u128::from(READS / 10);
    assert!(
        u128::from(woken) <= most,
        "woken {woken} times in {elapsed:?}, for {}",
        told.len()
    );
}

/// The last reads of a file are too few to be told together, but nothing may follow them: who reads it next would seem to have
/// stopped this reader before the end.
#[test]
fn the_end_of_a_file_is_told() {
    let mut observer = start();
    let (file, key) = file(40);
    observer.watch(key).unwrap();
    for page in 0..40 {
        read(&file, page);
    }
    let told = told(&observer, key);
    let pages: u32 = told.iter().map(|fact| fact.count).sum();
    assert_eq!(pages, 40, "{told:?}");
}

/// Nor is anything to be asked for behind it.
#[test]
fn the_end_of_a_file_wakes_nobody() {
    const READINGS: u32 = 64;
    let mut observer = start();
    let (file, key) = file(20);
    observer.watch(key).unwrap();
    let woken_by_readings_up_to = |end: u64| {
        let _ = all_told(&observer);
        let file = file.try_clone().unwrap();
        let reader = std::thread::spawn(move || {
            for _ in 0..READINGS {
                for page in 0..end {
                    read(&file, page);
                }
                // One that comes a millisecond after the last is told by itself.
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let (told, woken) = told_while(&observer, key, reader);
        assert!(told.len() + 2 >= READINGS as usize, "{} facts", told.len());
        let whole = told.iter().filter(|fact| u64::from(fact.count) == end);
        (woken, u32::try_from(told.len() - whole.count()).unwrap())
    };
    let (woken, _) = woken_by_readings_up_to(19);
    assert!(woken > READINGS / 2, "one page before it: {woken}");
    let (woken, parts) = woken_by_readings_up_to(20);
    // Misses of others wake too.
    let most = READINGS / 4 + parts;
    assert!(woken < most, "woken {woken} times, {parts} parts");
}

/// A merge reads many files in turn: one wake-up has all of them read.
#[test]
fn files_of_which_nothing_is_expected_share_a_pause() {
    const FILES: usize = 8;
    let mut observer = start();
    let files: Vec<_> = (0..FILES).map(|_| file(1024)).collect();
    for (_, key) in &files {
        observer.watch(*key).unwrap();
        observer.set_quiet(*key, &paused(Duration::from_millis(20)));
    }
    let _ = all_told(&observer);
    let key = files[0].1;
    let began = Instant::now();
    let reader = std::thread::spawn(move || {
        for number in 0..600 {
            for (file, _) in &files {
                read(file, number * number * 7 % 1024);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let (_, woken) = told_while(&observer, key, reader);
    let pauses = began.elapsed().as_millis() / 20;
    // Each file by itself: eight times as many. Misses of others wake too.
    let most = pauses * 3;
    assert!(
        u128::from(woken) <= most,
        "woken {woken} times in {pauses} pauses"
    );
}

/// A pause belongs to a file that is watched: one that is forgotten has none when it is watched again, whatever was said of it
/// meanwhile.
#[test]
fn a_file_that_is_watched_again_has_no_pause() {
    const READS: u64 = 64;
    let mut observer = start();
    let (file, key) = file(1024);
    let hour = Duration::from_secs(3600);
    observer.watch(key).unwrap();
    observer.set_quiet(key, &paused(hour));
    observer.forget(key);
    observer.set_quiet(key, &paused(hour));
    observer.watch(key).unwrap();
    let _ = all_told(&observer);
    let reader = std::thread::spawn(move || {
        for number in 0..READS {
            read(&file, number * number * 7 % 1024);
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let mut woken = 0;
    while !reader.is_finished() {
        let mut told = Vec::new();
        observer.wait(Duration::from_secs(1), &mut told).unwrap();
        woken += u32::from(!told.is_empty());
    }
    reader.join().unwrap();
    assert!(woken > 8, "woken {woken} times for {READS} reads");
}

/// Reads `reads` times inside the first half of a file, and once behind it. Returns how often whoever listens was woken, and how
/// many reads were told.
fn woken_by(observer: &KernelObserver, (file, key): (File, FileKey), reads: u64) -> (u32, u64) {
    let _ = all_told(observer);
    let reader = std::thread::spawn(move || {
        for number in 0..reads {
            read(&file, number * number * 7 % 512);
            std::thread::sleep(Duration::from_millis(1));
        }
        read(&file, 700);
    });
    let (told, woken) = told_while(observer, key, reader);
    (woken, told.iter().map(|fact| u64::from(fact.count)).sum())
}

/// All of them are told all the same, with the first that is not settled.
#[test]
fn reads_of_what_is_settled_wake_nobody() {
    const READS: u64 = 256;
    let mut observer = start();
    let (file, key) = file(1024);
    observer.watch(key).unwrap();
    let (woken, _) = woken_by(&observer, (file.try_clone().unwrap(), key), READS);
    assert!(u64::from(woken) > READS / 2, "nothing is: {woken}");
    let mut quiet = Quiet::default();
    quiet.settled[2] = PageRange::new(0, 512).into();
    observer.set_quiet(key, &quiet);
    let (woken, told) = woken_by(&observer, (file.try_clone().unwrap(), key), READS);
    assert!(told > READS, "{told} told");
    // Misses of others wake too.
    assert!(u64::from(woken) < READS / 4, "woken {woken} times");
    // One edge outside is outside.
    quiet.settled[2] = PageRange::new(1, 2).into();
    observer.set_quiet(key, &quiet);
    let (woken, _) = woken_by(&observer, (file, key), READS);
    assert!(u64::from(woken) > READS / 2, "{woken}");
}

#[test]
fn misses_of_a_file_that_is_ignored_are_not_told_until_then() {
    let observer = start();
    let (file, key) = file(1024);
    let misses = |page: u64| {
        evict(&file);
        read(&file, page);
        told(&observer, key).len()
    };
    assert!(misses(500) > 0);
    observer.ignore(key, std::process::id() + 1, Timestamp::new(u64::MAX));
    assert!(misses(550) > 0, "another process");
    observer.ignore(key, std::process::id(), Timestamp::new(u64::MAX));
    assert_eq!(misses(600), 0);
    observer.ignore(key, std::process::id(), Timestamp::new(1));
    assert!(misses(700) > 0);
}

/// The kernel brings the first window and the next one by itself; what is read from behind is told.
#[test]
fn a_small_file_is_told_only_where_the_kernel_does_not_bring_all_of_it() {
    let observer = start();
    for (pages, order, is_told) in [
        (32, [0, 1, 2, 3], true),
        (32, [0, 1, 2, 3], false),
        (33, [0, 1, 2, 3], true),
        (32, [31, 20, 10, 0], true),
    ] {
        let (file, key) = file(pages);
        evict(&file);
        for page in order {
            read(&file, page);
        }
        let told = told(&observer, key).len();
        assert_eq!(told > 0, is_told, "{pages} pages, {order:?}: {told}");
        // The first one is told to who has not said otherwise: a recording.
        observer.leave_small().unwrap();
    }
}

/// Otherwise a reader of a watched file that is in memory would look as if it had waited.
#[test]
fn a_wait_for_a_file_that_is_not_told_is_not_that_of_the_file_before() {
    let mut observer = start();
    observer.leave_small().unwrap();
    let ((file, key), (small, _)) = (file(1024), self::file(32));
    observer.watch(key).unwrap();
    let _ = all_told(&observer);
    for number in 0..64 {
        read(&file, number * number * 7 % 1024);
        evict(&small);
        read(&small, 0);
    }
    read(&file, 3);
    let waits = told(&observer, key)
        .iter()
        .filter(|fact| fact.waited_ns > 0)
        .count();
    assert_eq!(waits, 0);
}
