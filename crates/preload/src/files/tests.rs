//! Tests of the table of files.

use ahead_engine::adviser::{Answer, CallsMade};
use ahead_policy::adaptive::StreamId;
use ahead_sys::own_usage::own_thread_usage;
use ahead_units::{PageCount, PageRange};

use super::*;

fn id(inode: u64) -> InodeId {
    InodeId {
        device: 1,
        inode,
        birth_ns: 1,
    }
}

fn find(files: &Files, inode: u64) -> FileRef {
    files.find(id(inode), |_| {}).unwrap().0
}

fn empty() -> Files {
    let mut files = Files::unprepared();
    files.prepare(None, OwnRun::alone()).unwrap();
    files
}

#[test]
fn a_file_keeps_its_place_and_another_one_gets_another() {
    let files = empty();
    let first = files.find(id(100), |_| {}).unwrap();
    assert!(first.1);
    assert_eq!(files.find(id(100), |_| {}), Some((first.0, false)));
    assert_ne!(find(&files, 101).slot, first.0.slot);
}

/// Its history was that of the file before: 4096 pages of it were asked for at once, and reads of both were one row of the report.
#[test]
fn a_file_with_the_inode_of_a_deleted_one_has_no_history() {
    let files = empty();
    let deleted = find(&files, 100);
    let later = InodeId {
        birth_ns: 2,
        ..id(100)
    };
    let mut settled = 0;
    let (again, is_new) = files.find(later, |_| settled += 1).unwrap();
    assert!(is_new);
    assert_eq!((again.slot, settled), (deleted.slot, 1));
    assert_eq!(files.enter(deleted).err(), Some(EnterError::Gone));
    assert_eq!(files.find(later, |_| {}), Some((again, false)));
}

#[test]
fn what_is_deferred_while_a_place_is_busy_is_found_by_the_next_one_inside() {
    let files = empty();
    let file = find(&files, 100);
    let mut inside = files.enter(file).unwrap();
    assert_eq!(files.enter(file).err(), Some(EnterError::Busy));
    let access = Deferred::Access(PageRange::new(7, 9).into());
    let asked = CallsMade {
        answer: Answer::Refused,
        pages: PageCount::new(0x8765_4321),
    };
    let answer = Deferred::Answer(StreamId::from_bits(0x0203), asked);
    files.defer(file, access);
    files.defer(file, answer);
    assert!(inside.has_deferred());
    assert_eq!(inside.next_deferred(), Some(access));
    assert_eq!(inside.next_deferred(), Some(answer));
    assert_eq!(inside.next_deferred(), None);
}

/// Bug 3: the answer to a request was lost when its file was busy.
#[test]
fn accesses_that_fill_the_mailbox_leave_a_place_for_an_answer() {
    let files = empty();
    let file = find(&files, 100);
    let mut inside = files.enter(file).unwrap();
    for page in 0..20 {
        files.defer(
            file,
            Deferred::Access(PageRange::new(page, page + 1).into()),
        );
    }
    let answer = Deferred::Answer(StreamId::from_bits(3), CallsMade::nothing(Answer::NotHere));
    files.defer(file, answer);
    let mut found = Vec::new();
    while let Some(deferred) = inside.next_deferred() {
        found.push(deferred);
    }
    assert_eq!(found.len(), MAILBOX);
    assert!(found.contains(&answer));
}

#[test]
fn used_places_are_found_without_looking_at_the_others() {
    let files = empty();
    for inode in 0..100 {
        find(&files, inode);
    }
    assert_eq!(files.used().count(), 100);
}

/// `xargs -P 8 -n 20 cksum` over 4000 small files of flash: all eight places of its bucket were looked at for each file, and
/// became memory by that, 2.6 pages a file.
#[test]
fn a_new_file_makes_memory_of_its_own_place_only() {
    let files = empty();
    let before = own_thread_usage().page_faults;
    for inode in 0..200 {
        find(&files, inode);
    }
    let faults = own_thread_usage().page_faults - before;
    // A place lies on two pages once in five times.
    assert!(faults <= 300, "{faults}");
}

#[test]
fn a_descriptor_of_a_file_that_gave_way_is_not_let_in() {
    let files = empty();
    let file = find(&files, 100);
    let old = FileRef {
        generation: file.generation.wrapping_add(1),
        ..file
    };
    assert_eq!(files.enter(old).err(), Some(EnterError::Gone));
    assert!(files.enter(file).is_ok());
}

/// Bug 7: only looking a file up counted as use, so the file that was read most was the first to
/// lose its place.
#[test]
fn a_file_that_is_read_all_the_time_keeps_its_place() {
    let files = empty();
    let busy = find(&files, 100);
    for inode in 101..200_000 {
        drop(files.enter(busy));
        find(&files, inode);
    }
    assert!(files.enter(busy).is_ok());
}

/// Bug 12: `siglongjmp` out of a hook left its file busy for ever.
#[test]
fn a_place_whose_thread_never_comes_back_is_given_up_and_its_file_gets_another() {
    let files = empty();
    let file = find(&files, 100);
    std::mem::forget(files.enter(file).unwrap());
    let place = files.place(file).unwrap();
    Files::note_busy(place, 1_000);
    assert_eq!(files.enter(file).err(), Some(EnterError::Busy));
    Files::note_busy(place, 1_000 + STUCK_NS);
    assert_eq!(files.enter(file).err(), Some(EnterError::Gone));
    let again = find(&files, 100);
    assert_ne!(again.slot, file.slot);
    assert!(files.enter(again).is_ok());
}
