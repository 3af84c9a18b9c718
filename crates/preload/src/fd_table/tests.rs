//! Tests of the table of descriptors.

use super::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tests that fork, or that must not see one, run one after another.
pub(crate) fn no_forks() -> MutexGuard<'static, ()> {
    static FORKS: Mutex<()> = Mutex::new(());
    FORKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file whose reads are not watched (no space in the table of files, or nothing waited) counted as not read, and
/// rsync's next ones were not asked for.
#[test]
fn what_was_read_is_known_as_far_as_it_was_seen() {
    let _alone = no_forks();
    let line = Line::new();
    line.on_open();
    assert_eq!(line.what_was_read(), Some(Some(0)));
    line.read_ended.store(1, Relaxed);
    assert_eq!(line.what_was_read(), Some(None));
    let file = FileRef {
        slot: 1,
        generation: 1,
    };
    let watched = |shares_position| {
        Entry::File(FileEntry {
            file,
            shares_position,
            program_advises: false,
        })
    };
    line.set(watched(false));
    line.set_position(4096);
    assert_eq!(line.what_was_read(), Some(Some(4096)));
    line.set(watched(true));
    assert_eq!(line.what_was_read(), Some(None));
    for other in [Entry::Ignored, Entry::Advised] {
        line.set(other);
        assert_eq!(line.what_was_read(), None);
    }
    line.on_open();
    line.share();
    assert_eq!(line.what_was_read(), None);
}

#[test]
fn what_is_put_in_comes_out() {
    let file = FileEntry {
        file: FileRef {
            slot: 4711,
            generation: 65_535,
        },
        shares_position: true,
        program_advises: false,
    };
    assert!(line(1_000_000).is_none() && is_without_line(1_000_000));
    let high = line_in_use(1_000_000).unwrap();
    note_use(1_000_000);
    high.set(Entry::File(file));
    assert_eq!(line(1_000_000).unwrap().entry(), Entry::File(file));
    assert_eq!(line(900).unwrap().entry(), Entry::Unwatched);
    for none in [-1, i32::MAX] {
        assert!(line_in_use(none).is_none() && !is_without_line(none));
    }
    close_range(900_000, u32::MAX);
    assert_eq!(high.entry(), Entry::Unwatched);
}

/// What was inherited is read by others too, and what the program has said stands.
#[test]
fn the_library_says_sequential_once_of_what_this_process_opened_and_nobody_spoke_of() {
    let (inherited, opened, copy) = (Line::new(), Line::new(), Line::new());
    assert!(!inherited.claim_widening());
    opened.on_open();
    copy.copy_said(&opened);
    assert!(opened.claim_widening() && !opened.claim_widening());
    assert_eq!(opened.advice(), Advice::Normal, "the program said nothing");
    assert!(copy.claim_widening(), "`dd` reads through a copy");
    opened.forget();
    assert!(!opened.claim_widening());
    for advice in [Advice::Sequential, Advice::Normal] {
        opened.on_open();
        opened.set_advice(advice);
        assert!(!opened.claim_widening());
        assert_eq!(opened.advice(), advice);
    }
}

#[test]
fn a_position_that_nobody_moves_is_believed_for_longer_and_longer() {
    let line = Line::new();
    let believed = || {
        line.on_position(line.position());
        (0..).take_while(|_| line.is_position_believed()).count()
    };
    let lengths: Vec<usize> = (0..9).map(|_| believed()).collect();
    assert_eq!(lengths, [0, 1, 3, 7, 15, 31, 63, 63, 63]);
    line.on_position(4096);
    assert!(!line.is_position_believed());
    assert_eq!(line.position(), 4096);
    line.on_position(4096);
    assert!(!line.is_position_believed(), "others moved it a moment ago");
}

#[test]
fn what_was_inherited_copied_or_open_at_a_fork_shares_its_position() {
    let _alone = no_forks();
    let inherited = line_in_use(2_001).unwrap();
    assert!(inherited.is_shared());
    let opened = line_in_use(2_002).unwrap();
    opened.on_open();
    assert!(!opened.is_shared());
    opened.share();
    assert!(opened.is_shared());
    opened.on_open();
    on_fork();
    assert!(opened.is_shared());
}

#[test]
fn what_the_program_reads_ahead_itself_is_known_of_copies_and_with_other_flags() {
    let (opened, copy) = (Line::new(), Line::new());
    opened.on_open();
    opened.set_advice(Advice::Random);
    opened.set(Entry::Advised);
    copy.copy_said(&opened);
    assert_eq!(copy.entry(), Entry::Advised);
    opened.on_flags();
    assert_eq!(opened.entry(), Entry::Advised);
    opened.on_close();
    assert_eq!(opened.entry(), Entry::Unwatched);
    copy.set_advice(Advice::Sequential);
    copy.set(Entry::Unwatched);
    copy.on_flags();
    assert_eq!(
        (copy.entry(), copy.advice()),
        (Entry::Unwatched, Advice::Sequential)
    );
}

/// Reads of a FUSE server that wants no cache were made twice, for ever, and counted as useful.
#[test]
fn what_leaves_no_pages_twice_in_a_row_bypasses_the_cache() {
    let line = Line::new();
    assert!(line.wonders_about_cache() && !line.checks_cache());
    assert!(!line.on_pages_left(false), "once may be chance");
    assert!(line.checks_cache(), "the next read is left alone");
    assert!(!line.checks_cache(), "one is enough");
    assert!(!line.on_pages_left(false) && line.on_pages_left(false));
    assert!(!line.on_pages_left(true) && !line.wonders_about_cache());
    line.on_open();
    assert!(line.wonders_about_cache());
}
