//! What is known of descriptors, on real files: positions that others move, looks that allocate
//! nothing, waits of reads that are reported when they are over.
//!
//! The functions under test keep their state for the whole process, so each test uses descriptors of
//! its own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::MutexGuard;

use ahead_engine::host::{EnteredFile, FileTable};
use rustix::fs::{Mode, OFlags};

use super::*;
use crate::descriptors::{after_fork_in_parent, on_close, on_dup, on_fadvise, on_open};
use crate::fd_table::tests::no_forks;

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: by the contract of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by the contract of this very function.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type TestFile = (tempfile::NamedTempFile, MutexGuard<'static, ()>);

/// A file of 64 pages on a real file system, opened as `flags` say. The folder goes with it.
fn file(flags: OFlags) -> (TestFile, OwnedFd) {
    let alone = no_forks();
    wake::see_all();
    if wake::is_over() {
        wake::fall_asleep();
    }
    let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    file.write_all(&[7; 64 << 12]).unwrap();
    let fd = rustix::fs::open(file.path(), flags, Mode::empty()).unwrap();
    on_open(fd.as_raw_fd());
    ((file, alone), fd)
}

fn copy_of(fd: &OwnedFd) -> OwnedFd {
    let copy = rustix::io::dup(fd).unwrap();
    on_dup(fd.as_raw_fd(), copy.as_raw_fd());
    copy
}

/// Reads a page through `fd` as a program would. Returns where we believe that it began.
fn read_a_page(fd: &OwnedFd) -> u64 {
    read_with(
        fd,
        &before_read(fd.as_raw_fd(), None, 4096).expect("a file"),
    )
}

fn read_with(fd: &OwnedFd, token: &Token) -> u64 {
    let mut page = [0; 4096];
    let read = rustix::io::read(fd, &mut page).unwrap();
    after_read(token, read.cast_signed());
    token.position
}

/// The same as the hooks do it: by the quick path, if that takes it.
fn read_a_page_quickly(fd: &OwnedFd) -> (u64, bool) {
    let mut token = None;
    match begin(fd.as_raw_fd(), None, 4096, &mut token) {
        Begin::Quick => (read_with(fd, &token.expect("written")), true),
        Begin::Closer => (read_a_page(fd), false),
        Begin::Ignore | Begin::Unwatched(_) => panic!("it is watched"),
    }
}

/// `prog < file` and `dd` took the slow path and an `lseek` for each read.
#[test]
fn a_shared_position_is_counted_while_nobody_moves_it_and_found_when_somebody_does() {
    for flags in [OFlags::RDONLY, OFlags::RDWR] {
        let (_file, fd) = file(flags);
        let _copy = copy_of(&fd);
        let is_believed = || line(fd.as_raw_fd()).is_some_and(Line::is_position_believed);
        for page in 0..40 {
            assert_eq!(read_a_page_quickly(&fd).0, page * 4096);
        }
        read_a_page(&fd);
        assert!(is_believed());
        assert_eq!(tracked_position(fd.as_raw_fd()), None, "it is shared");
        // Another process moves it, before each read from now on.
        let mut wrong = 0;
        for page in (0..64).rev() {
            rustix::fs::seek(&fd, rustix::fs::SeekFrom::Start(page * 4096)).unwrap();
            wrong += usize::from(read_a_page_quickly(&fd).0 != page * 4096);
        }
        assert!(wrong < 64, "{wrong} of 64 were taken for others");
        assert!(!is_believed());
    }
}

/// A copy makes it shared: what was believed before is not believed any more.
#[test]
fn a_copy_ends_what_was_believed_of_a_position() {
    let (_file, fd) = file(OFlags::RDWR);
    for _ in 0..40 {
        read_a_page_quickly(&fd);
    }
    let copy = copy_of(&fd);
    assert_eq!(read_a_page(&copy), 40 * 4096);
    assert_eq!(read_a_page_quickly(&fd), (41 * 4096, false));
}

#[test]
fn a_descriptor_of_its_own_is_counted_without_asking() {
    let (_file, fd) = file(OFlags::RDONLY);
    assert_eq!(read_a_page(&fd), 0);
    assert_eq!(tracked_position(fd.as_raw_fd()), Some(4096));
    assert_eq!(read_a_page(&fd), 4096);
}

/// Bug 4: `dup` before the first read left both numbers with a position of their own.
#[test]
fn a_copy_made_before_the_first_read_shares_its_position() {
    let (_file, fd) = file(OFlags::RDONLY);
    let copy = copy_of(&fd);
    assert_eq!(read_a_page(&fd), 0);
    assert_eq!(read_a_page(&copy), 4096);
    assert_eq!(read_a_page(&fd), 8192);
    assert_eq!(tracked_position(fd.as_raw_fd()), None);
}

/// Bug 4: what is written through a descriptor moves its position, and is not seen.
#[test]
fn a_descriptor_for_reading_and_writing_is_asked_for_its_position() {
    let (_file, fd) = file(OFlags::RDWR);
    assert_eq!(read_a_page(&fd), 0);
    rustix::io::write(&fd, &[8; 4096]).unwrap();
    assert_eq!(read_a_page(&fd), 8192);
}

/// Bug 4: only the child of a fork knew that positions are shared; the parent's were wrong.
#[test]
fn a_fork_makes_positions_shared_in_the_parent_too() {
    let (_file, fd) = file(OFlags::RDONLY);
    assert_eq!(read_a_page(&fd), 0);
    after_fork_in_parent();
    // The child reads a page.
    rustix::fs::seek(&fd, rustix::fs::SeekFrom::Start(8192)).unwrap();
    assert_eq!(read_a_page(&fd), 8192);
}

/// Bug 5: vectored reads, which are reported when they are over, dropped their waits.
#[test]
fn a_wait_that_is_reported_afterwards_is_counted() {
    let (_file, fd) = file(OFlags::RDONLY);
    let token = before_read(fd.as_raw_fd(), Some(0), 4096).unwrap();
    let long = watch::wait_limit(4096) * 1000;
    let token = token.that_took(long);
    assert!(after_read(&token, 4096));
    after_wait(&token);
    let host = host::get().unwrap();
    let mut inside = host.session.files.enter(token.read.file).unwrap();
    assert_eq!(inside.state().0.take_tally().0.waits, 1);
}

/// Bug 8: the first look at a device opened files of sysfs with the standard library, which
/// allocates and can deadlock in a signal handler.
#[test]
fn looking_at_a_file_and_asking_for_its_pages_allocates_nothing() {
    let (_file, fd) = file(OFlags::RDONLY);
    let raw = fd.as_raw_fd();
    let before = ALLOCATIONS.get();
    for page in 0..64 {
        if let Some(token) = before_read(raw, Some(page * 4096), 4096) {
            after_read(&token, 4096);
            after_wait(&token);
        }
    }
    on_close(raw);
    assert_eq!(ALLOCATIONS.get(), before);
}

/// Bug 13: `O_DIRECT` that was set after the first read was ignored.
#[test]
fn a_descriptor_whose_flags_change_is_looked_at_again() {
    let (_file, fd) = file(OFlags::RDONLY);
    let raw = fd.as_raw_fd();
    assert_eq!(read_a_page(&fd), 0);
    rustix::fs::fcntl_setfl(&fd, OFlags::DIRECT).unwrap();
    on_flags(raw);
    assert!(before_read(raw, None, 4096).is_none());
    assert!(is_ignored(raw));
}

#[test]
fn what_a_program_said_before_the_first_look_and_after_it_is_known_of_the_file() {
    let is_sequential = |fd: &OwnedFd| {
        let entry = line(fd.as_raw_fd()).map(Line::entry);
        let Some(Entry::File(entry)) = entry else {
            panic!("{entry:?}");
        };
        let mut inside = host::get()
            .unwrap()
            .session
            .files
            .enter(entry.file)
            .ok()
            .unwrap();
        inside.state().0.is_sequential()
    };
    let (_file, fd) = file(OFlags::RDONLY);
    let raw = fd.as_raw_fd();
    on_fadvise(raw, 0, 0, libc::POSIX_FADV_SEQUENTIAL);
    assert_eq!(line(raw).map(Line::entry), Some(Entry::Unwatched));
    assert_eq!(read_a_page(&fd), 0);
    assert!(is_sequential(&fd));
    on_fadvise(raw, 0, 0, libc::POSIX_FADV_NORMAL);
    assert!(!is_sequential(&fd));
    on_fadvise(raw, 0, 0, libc::POSIX_FADV_SEQUENTIAL);
    assert!(is_sequential(&fd));
    // The number stands for another open file now, of which nothing was said.
    on_close(raw);
    on_open(raw);
    assert_eq!(read_a_page(&fd), 4096);
    assert!(!is_sequential(&fd));
}

#[test]
fn a_program_that_asks_for_its_pages_itself_is_left_to_it_until_it_stops() {
    let (_file, fd) = file(OFlags::RDONLY);
    let raw = fd.as_raw_fd();
    assert!(is_watched(raw));
    on_fadvise(raw, 0, 0, libc::POSIX_FADV_WILLNEED);
    assert!(before_read(raw, None, 4096).is_none());
    on_fadvise(raw, 0, 0, libc::POSIX_FADV_NORMAL);
    assert!(before_read(raw, None, 4096).is_some());
}
