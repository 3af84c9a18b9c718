//! What the programs in the kernel tell of reads that wait for a slow disk. What is asserted are places and counts, never times. Root.

mod support;

use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::time::Duration;

use ahead_observer::observation::{FactKind, FileKey, Observation};
use ahead_observer::observer::KernelObserver;
use ahead_observer::quiet::Quiet;
use rustix::fs::{Advice, fadvise};
use support::daemon_disk::Ground;

const PAGE: u64 = 4096;
const ELEMENT: u64 = 64 << 10;
const ELEMENTS: u64 = 24;

/// Where the elements are: far from each other, so that no read goes on where another ended.
fn places() -> impl Iterator<Item = u64> {
    (1..=ELEMENTS).map(|number| number * (3 << 20))
}

/// What is told while this thread reads all elements, each after `before` has run for it in a thread of its own.
fn told(quiet: Option<Quiet>, before: impl Fn(&File, u64) + Sync) -> Vec<Observation> {
    let ground = Ground::at_real_speed("observed", "hdd", "400M", 96 << 20);
    let file = File::open(ground.path("file")).expect("it was written");
    let facts = file.metadata().expect("open");
    let key = FileKey {
        device: facts.dev(),
        inode: facts.ino(),
    };
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

/// Asks for a part of an element, from `skipped` bytes on.
fn request(file: &File, place: u64, skipped: u64) {
    let bytes = NonZeroU64::new(ELEMENT - skipped);
    fadvise(file, place + skipped, bytes, Advice::WillNeed).expect("a hint");
}

/// Elements of 64 KiB every 192 KiB, of which the first page was there and the others were on their way, were told as 60 KiB from
/// their second page, each of which was the end of a stride.
#[test]
fn a_read_that_waits_behind_what_it_has_found_is_told_whole() {
    let told = told(None, |file, place| {
        let mut page = [0; 4096];
        file.read_exact_at(&mut page, place).expect("inside");
        request(file, place, PAGE);
    });
    let accesses = told.iter().filter(|fact| fact.kind == FactKind::Accesses);
    let read: Vec<_> = accesses
        .flat_map(Observation::accesses)
        .map(|access| (access.start.get(), access.len().get()))
        .collect();
    let whole: Vec<_> = places().map(|place| (place, ELEMENT)).collect();
    assert_eq!(read, whole);
}

/// Two streams in turn on flash got 0.63 of what they get in the process itself: the daemon heard of a reader that had come to a
/// window when all of that had arrived.
#[test]
fn a_read_that_waits_for_what_was_requested_is_told_before_it_waits() {
    let elements = |quiet| {
        let told = told(quiet, |file, place| request(file, place, 0));
        // The first one's thread was not known.
        let later = told.iter().filter(|fact| fact.first.start.get() > 3 << 20);
        let (accesses, waits): (Vec<&Observation>, Vec<_>) =
            later.partition(|fact| fact.kind == FactKind::Accesses);
        let afterwards = accesses.iter().filter(|fact| fact.waited_ns > 0);
        (waits.len() as u64, afterwards.count() as u64)
    };
    let (before, afterwards) = elements(None);
    assert!(before > ELEMENTS / 2, "{before} of {ELEMENTS}");
    assert_eq!(afterwards, 0);
    let pause = Quiet {
        pause: Duration::from_secs(1),
        ..Quiet::default()
    };
    let (before, afterwards) = elements(Some(pause));
    assert_eq!(before, 0, "nothing is expected of it");
    assert!(afterwards > ELEMENTS / 2, "{afterwards} of {ELEMENTS}");
}
