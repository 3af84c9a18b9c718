//! What the programs in the kernel tell of reads that wait for a slow disk. What is asserted are places and counts, never times. Root.

mod support;

use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use ahead_observer::observation::{FactKind, FileKey, Observation};
use ahead_observer::observer::KernelObserver;
use ahead_observer::quiet::Quiet;
use rustix::fs::{Advice, fadvise};
use support::daemon_disk::{FILE_BYTES, Ground};

const PAGE: u64 = 4096;
/// More pages than the kernel looks up at once (31).
const ELEMENT: u64 = 40 * PAGE;
const ELEMENTS: u64 = 24;
/// From one element to the next, so far that no read goes on where another ended.
const STEP: u64 = 3 << 20;

/// Where the elements are.
fn places() -> impl Iterator<Item = u64> {
    (1..=ELEMENTS).map(|number| number * STEP)
}

/// What is told while this thread reads all elements, each after `before` has run for it in a thread of its own.
fn told(quiet: Option<Quiet>, before: impl Fn(&File, u64) + Sync) -> Vec<Observation> {
    let ground = Ground::at_real_speed("observed", "hdd", "400M", FILE_BYTES);
    let file = File::open(ground.path("file")).expect("it was written");
    let key = FileKey::of(&file.metadata().expect("open"));
    let mut observer = KernelObserver::start().expect("root, and a kernel with the tracepoints");
    observer.watch(key).expect("space");
    if let Some(quiet) = quiet {
        observer.set_quiet(key, &quiet);
    }
    let mut element = vec![0; usize::try_from(ELEMENT).expect("small")];
    for place in places() {
        std::thread::scope(|scope| scope.spawn(|| before(&file, place)).join()).expect("ended");
        file.read_exact_at(&mut element, place).expect("inside");
    }
    let mut told = Vec::new();
    observer.wait(Duration::ZERO, &mut told).expect("a ring");
    let ours = rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .cast_unsigned();
    told.retain(|fact| fact.file == key && fact.thread == ours);
    told
}

fn request(file: &File, place: u64, bytes: u64) {
    fadvise(file, place, NonZeroU64::new(bytes), Advice::WillNeed).expect("a hint");
}

fn read_page(file: &File, place: u64) {
    let mut page = [0; 4096];
    file.read_exact_at(&mut page, place).expect("inside");
}

/// Elements of which the first page was there and the others were on their way were told from their second page on, each of which was
/// the end of a stride.
#[test]
fn a_read_that_waits_behind_what_it_has_found_is_told_whole() {
    let told = told(None, |file, place| {
        read_page(file, place);
        request(file, place + PAGE, ELEMENT - PAGE);
    });
    let accesses = told.iter().filter(|fact| fact.kind == FactKind::Accesses);
    let read: Vec<_> = accesses
        .flat_map(Observation::accesses)
        .map(|access| (access.start.get(), access.len().get()))
        .collect();
    let whole: Vec<_> = places().map(|place| (place, ELEMENT)).collect();
    assert_eq!(read, whole);
}

/// What is told before a read waits, and what afterwards: how many of each, the first element left out, whose thread was not known.
fn before_and_afterwards(told: &[Observation]) -> (u64, u64) {
    let later = told.iter().filter(|fact| fact.first.start.get() > STEP);
    let (accesses, waits): (Vec<&Observation>, Vec<_>) =
        later.partition(|fact| fact.kind == FactKind::Accesses);
    let afterwards = accesses.iter().filter(|fact| fact.waited_ns > 0);
    (waits.len() as u64, afterwards.count() as u64)
}

/// Nothing is expected of it.
fn paused() -> Option<Quiet> {
    Some(Quiet {
        pause: Duration::from_secs(1),
        ..Quiet::default()
    })
}

/// Two streams in turn on flash got 0.63 of what they get in the process itself: the daemon heard of a reader that had come to a
/// window when all of that had arrived.
#[test]
fn a_read_that_waits_for_what_was_requested_is_told_before_it_waits() {
    let request = |file: &File, place| request(file, place, ELEMENT);
    let (before, afterwards) = before_and_afterwards(&told(None, request));
    assert!(before > ELEMENTS / 2, "{before} of {ELEMENTS}");
    assert_eq!(afterwards, 0);
    let (before, afterwards) = before_and_afterwards(&told(paused(), request));
    assert_eq!(before, 0);
    assert!(afterwards > ELEMENTS / 2, "{afterwards} of {ELEMENTS}");
}

/// Pages of their own come to the reader in two pieces, of which the second one waits for nothing.
#[test]
fn the_wait_of_a_read_is_not_that_of_the_one_before() {
    let told = told(paused(), |file, place| {
        fadvise(file, 0, None, Advice::Random).expect("a hint");
        for page in 1..ELEMENT / PAGE {
            read_page(file, place + page * PAGE);
        }
        request(file, place, PAGE);
    });
    let (before, afterwards) = before_and_afterwards(&told);
    assert_eq!(before, 0);
    assert!(afterwards > ELEMENTS / 2, "{afterwards} of {ELEMENTS}");
}
