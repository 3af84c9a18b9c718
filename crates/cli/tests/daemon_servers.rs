//! `ahead daemon` where files are those of a server: to let go of one is a request, which may be work or never be answered.

mod support;

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::mpsc::channel;
use std::time::Duration;

use ahead_observer::observation::FileKey;
use ahead_observer::observer::KernelObserver;
use support::Place;
use support::daemon_disk::{Ground, await_within};
use support::daemon_process::{DaemonProcess, alone};
use support::fuse_server::{FILE_BYTES, FuseServer};

fn read_backward(file: &File) {
    const STEP: u64 = 64 << 10;
    let mut bytes = vec![0; 64 << 10];
    for place in (0..FILE_BYTES / STEP).rev() {
        file.read_exact_at(&mut bytes, place * STEP).expect("zeros");
    }
}

/// Any user may mount FUSE, and need not answer. The daemon, which let go of a duplicate, waited for ever.
#[test]
fn a_users_server_that_never_answers_does_not_hold_the_daemon() {
    let ground = Ground::new("unanswered");
    let alone = ground.read("backward");
    let daemon = DaemonProcess::start(&[]);
    let server = FuseServer::start(&ground.place.path().join("theirs"), 1000, false);
    // In a process of its own: who starts others lets go of what he has open.
    let file = server.file();
    let mut reader = ground.hold_path("backward", &file, &["hold"]);
    reader.let_go();
    assert_eq!(reader.line(), "sum 0");
    let helped = ground.read("backward");
    println!("unanswered: {}", daemon.used());
    let flushes = server.flushes();
    // Only now the reader can end.
    drop(server);
    drop(reader);
    let last = daemon.end();
    assert!(last.contains(" 0 facts lost"), "{last}");
    assert!(flushes <= 1, "only its reader has let go of it: {flushes}");
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");
}

/// Whoever wants to read its environment waits for ever, as `ps` does: the daemon did, which asked whether it runs under `ahead run`.
#[test]
fn a_process_that_keeps_the_lock_of_its_memory_does_not_hold_the_daemon() {
    let ground = Ground::new("mute");
    ground.write("other");
    let alone = ground.read("backward");
    let daemon = DaemonProcess::start(&[]);
    let server = FuseServer::start(&ground.place.path().join("theirs"), 1000, true);
    let mute = format!("READER_MUTE={}", server.file().display());
    let mut reader = ground.hold_by(&["env", &mute], "backward", "other");
    // It reads, and ends when its server answers again.
    let held = server.hold_reads();
    reader.let_go();
    let sum = reader.line();
    let helped = ground.read("backward");
    println!("mute: {}", daemon.used());
    drop(held);
    drop(reader);
    drop(server);
    let last = daemon.end();
    assert!(sum.starts_with("sum "), "{sum}");
    assert!(
        helped.seeks * 4 < alone.seeks,
        "{helped:?} {alone:?} {last}"
    );
}

/// A thread that had begun to wait when nothing was watched any more seemed to have waited until something was watched again: hours.
#[test]
fn a_wait_that_has_ended_unseen_is_not_told() {
    const UNSEEN: Duration = Duration::from_secs(2);
    let _one = alone();
    let place = Place::new();
    let server = FuseServer::start(&place.path().join("held"), 0, true);
    let file = File::open(server.file()).expect("its file");
    let key = FileKey::of(&file.metadata().expect("open"));
    let mut observer = KernelObserver::start().expect("root");
    observer.watch(key).expect("watched");
    let (next, pages) = channel::<u64>();
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        for page in pages {
            file.read_exact_at(&mut bytes, page << 12).expect("zeros");
        }
    });
    let held = server.hold_reads();
    next.send(512).expect("it reads");
    await_within(30, "asked for", || server.reads() > 0);
    // The request comes before its reader leaves the processor.
    std::thread::sleep(UNSEEN / 10);
    observer.forget(key);
    observer.rest();
    drop(held);
    std::thread::sleep(UNSEEN);
    observer.watch(key).expect("watched again");
    next.send(4096).expect("it reads");
    drop(next);
    reader.join().expect("zeros");
    let mut told = Vec::new();
    observer.wait(Duration::ZERO, &mut told).expect("a ring");
    told.retain(|fact| fact.file == key);
    let waits: Vec<_> = told.iter().map(|fact| fact.waited_ns).collect();
    let is_seen = |wait: &u64| u128::from(*wait) < UNSEEN.as_nanos();
    assert!(!waits.is_empty() && waits.iter().all(is_seen), "{waits:?}");
}

/// What a program writes to `s3fs` is uploaded when a descriptor is closed.
#[test]
fn what_is_written_to_a_server_is_not_let_go_of_and_what_is_read_is_steered() {
    const ROUNDS_MAX: u32 = 400;
    const FLUSHES_SEEN: u64 = 3;
    let ground = Ground::new("written");
    let daemon = DaemonProcess::start(&[]);
    let mut flushes = [0, 0];
    // One that is read within 50 ms may be over before the daemon has been woken, so that both are read until some are reached: of
    // five, none was once in eight times.
    for round in 0..ROUNDS_MAX {
        let is_written = round % 2 == 1;
        if !is_written && flushes[0] >= FLUSHES_SEEN {
            break;
        }
        let name = format!("{round}");
        let server = FuseServer::start(&ground.place.path().join(name), 0, true);
        let file = File::options()
            .read(true)
            .write(is_written)
            .open(server.file());
        let file = file.expect("its file");
        read_backward(&file);
        flushes[usize::from(is_written)] += server.flushes();
        assert!(server.read_bytes() <= FILE_BYTES * 11 / 10);
    }
    println!("written: {}", daemon.used());
    daemon.end();
    assert!(flushes[0] >= FLUSHES_SEEN, "reached: {flushes:?}");
    assert_eq!(flushes[1], 0);
}
