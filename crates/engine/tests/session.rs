//! The loop over a host of plain memory: budgets that come back, answers that are refused or late,
//! files that are busy. No kernel, no clock but the one that the test moves.

mod support;

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;

use ahead_engine::adviser::Answer;
use ahead_engine::device_facts::DeviceFacts;
use ahead_engine::host::{EnterError, FileTable};
use ahead_engine::members::{Member, Outstanding, WORDS};
use ahead_engine::session::{Session, WhenTold};
use ahead_engine::settings::Settings;
use ahead_policy::adaptive::Quick;
use ahead_units::{Advice, PageCount, PageRange, Timestamp};

use support::{Log, MIB, NothingEvicted, Table, at, read, session};

/// Generated 40043: 46 processes that begin a file of 2 MiB each on one arm at the same time. In pieces, each beginning was
/// several visits of the arm: 1.16 to 1.21 of the kernel's time, and 0.99 to 1.04 in one piece.
#[test]
fn a_beginning_on_an_arm_that_other_processes_read_from_too_is_one_request() {
    let beginning = |others_read: bool| {
        let mut session = session(1, 2 * MIB);
        session.files.words = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        session.group.member.join(1, 7);
        if others_read {
            let other = Member::new();
            other.join(2, 7);
            other.hear(session.files.members(), at(100));
            let outstanding = Outstanding {
                windows: 1,
                ..Outstanding::default()
            };
            other.tell(session.files.members(), outstanding, 1);
        }
        let mut log = Log::new(2 * MIB);
        for start in 0..2 {
            let access = PageRange::new(start, start + 1);
            session.read(0, access, at(101), &mut log).unwrap();
        }
        log.asked
    };
    assert_eq!(beginning(true), [PageRange::new(1, 32)]);
    let alone = beginning(false);
    assert!(
        alone.len() > 1,
        "one who has it alone does not wait for all: {alone:?}"
    );
}

/// Generated 970103: eighteen files of 6 MiB with four short runs each, too few for a file to learn from its own. The kernel's
/// time on a volume of 500 requests a second 1.195 times, 1.025 since.
#[test]
fn a_new_file_is_expected_to_have_the_runs_of_those_that_were_closed() {
    let session = session(3, 4 * MIB);
    let mut log = Log::new(4 * MIB);
    let mut read_runs = |file: usize| {
        log.asked.clear();
        for run in [0, 300, 700_u64] {
            for step in 0..3 {
                let ms = 1000 * file as u64 + run + step;
                read(&session, file, run + 16 * step, ms, &mut log);
            }
        }
        session.on_close(file, at(1000 * file as u64 + 900));
        let behind = |range: &PageRange| [48, 348, 748].contains(&range.end.get());
        log.asked.iter().filter(|range| !behind(range)).count()
    };
    assert!(read_runs(0) > 0, "nobody knows where its runs end");
    read_runs(1);
    assert_eq!(read_runs(2), 0, "each request ends with its run");
}

/// The ends of logs, read backward: of each of twelve files of 20 MB, of which 6 MB were read, all was brought.
#[test]
fn a_new_file_is_expected_to_be_left_where_those_were_that_were_read_backward() {
    let pages = 20 * MIB;
    let session = session(6, pages);
    let mut log = Log::new(pages);
    let mut read_end = |file: usize| {
        log.asked.clear();
        for step in 1..=96 {
            let ms = 1000 * file as u64 + step;
            read(&session, file, pages - 16 * step, ms, &mut log);
        }
        session.on_close(file, at(1000 * file as u64 + 900));
        let in_front = |range: &&PageRange| range.start.get() < pages - 16 * 96;
        log.asked.iter().filter(in_front).count()
    };
    assert!(read_end(0) > 0, "nobody knows where it is left");
    for file in 1..4 {
        read_end(file);
    }
    assert_eq!(read_end(4), 0, "nothing is brought in front of it");
}

/// A server that opens its file for each request is worth looking at as long as something that was asked for is read; a
/// program that opens the same small file in memory again and again is not.
#[test]
fn what_was_asked_for_and_not_read_yet_is_read_ahead_and_a_file_read_again_is_not() {
    let session = session(2, 64);
    let mut log = Log::new(64);
    let read = |file, start, log: &mut Log| {
        let access = PageRange::new(start, start + 16);
        session.read(file, access, at(start), log).unwrap()
    };
    for file in 0..2 {
        assert!(!session.is_read_ahead(&read(file, 0, &mut log)));
        assert!(!session.is_read_ahead(&read(file, 16, &mut log)));
        assert!(session.is_read_ahead(&read(file, 32, &mut log)));
        let last = read(file, 48, &mut log);
        assert!(last.covered && !session.is_read_ahead(&last));
        let again = read(file, 0, &mut log);
        assert!(!session.is_read_ahead(&again));
    }
}

/// Bug 1: after some 300 files of 4 MiB, each read to its end, the budget was used up by windows
/// that could not be given back, and nothing was asked for any more.
#[test]
fn eight_hundred_files_read_one_after_another_never_go_silent() {
    let session = session(800, 4 * MIB);
    for file in 0..800 {
        let mut log = Log::new(4 * MIB);
        for start in (0..4 * MIB).step_by(16) {
            read(&session, file, start, file as u64 * 10, &mut log);
        }
        session.on_close(file, at(file as u64 * 10 + 9));
        assert!(!log.asked.is_empty(), "file {file} was not asked for");
    }
    assert_eq!(session.group.budget.unread().get(), 0);
}

/// Bug 1, second half: files that are left in the middle keep their windows for a while, and give
/// them back when others need the memory, although nothing can be asked for by then.
#[test]
fn files_left_in_the_middle_give_their_windows_back_when_the_budget_is_used_up() {
    let session = session(400, 64 * MIB);
    let mut silent = 0;
    for file in 0..400 {
        let mut log = Log::new(64 * MIB);
        for start in (0..8 * MIB).step_by(16) {
            read(&session, file, start, file as u64 * 100, &mut log);
        }
        session.on_close(file, at(file as u64 * 100 + 50));
        silent += u32::from(log.asked.is_empty());
    }
    assert_eq!(silent, 0);
}

/// Files of which only the begin is read (`head`, `grep -m1`, what was ended) leave little unread each, and a window. With 1025 of them
/// nothing was asked for any more, and as hardly any memory was in use nobody looked for windows that were not read.
#[test]
fn files_of_which_only_the_begin_was_read_do_not_silence_those_that_follow() {
    let session = session(1301, 48);
    for file in 0..1300 {
        let mut log = Log::new(48);
        for start in [0, 16] {
            read(&session, file, start, file as u64, &mut log);
        }
    }
    let mut log = Log::new(48);
    for start in (0..48).step_by(16) {
        read(&session, 1300, start, 10_000, &mut log);
    }
    assert!(!log.asked.is_empty());
    assert!(session.group.budget.streams() < 10);
}

/// Generated workload 5005 on the array: a file that was refused did not say what it had read since it asked
/// last, so what it had held when the budget was used up stayed used, and 29 000 reads waited.
#[test]
fn a_file_that_is_refused_gives_back_what_it_has_read_since() {
    let session = session(1, 64 * MIB);
    let memory = |pages| {
        let pages = PageCount::new(pages);
        session.group.set_memory(pages, &Settings::default());
    };
    memory(4096);
    let mut log = Log::new(64 * MIB);
    for start in (0..16 * MIB).step_by(16) {
        read(&session, 0, start, 0, &mut log);
    }
    memory(448);
    assert_eq!(session.group.budget.available().get(), 0);
    let mut log = Log::new(64 * MIB);
    for start in (16 * MIB..32 * MIB).step_by(16) {
        read(&session, 0, start, 0, &mut log);
    }
    let asked: u64 = log.asked.iter().map(|range| range.len().get()).sum();
    assert!(asked >= 8 * MIB, "{asked} pages of {}", 15 * MIB);
}

/// Bug 1: the child of a fork began with the windows of its parent in its budget.
#[test]
fn the_child_of_a_fork_has_its_whole_budget() {
    let session = session(1, 64 * MIB);
    let mut log = Log::new(64 * MIB);
    for start in (0..8 * MIB).step_by(16) {
        read(&session, 0, start, 0, &mut log);
    }
    let whole = 65_536;
    assert!(session.group.budget.available().get() < whole);
    session.on_fork_in_child(2);
    assert_eq!(session.group.budget.available().get(), whole);
    // What the file asks for from now on counts once.
    for start in (8 * MIB..64 * MIB).step_by(16) {
        read(&session, 0, start, 0, &mut log);
    }
    assert_eq!(session.group.budget.unread().get(), 0);
}

/// Before its first request a process allows itself 16 MiB, of which others may hold more. Of 64 readers on an arm that the library
/// was loaded into half got no window: who was refused never made a first request, and so did not look at its memory.
#[test]
fn who_is_refused_before_the_memory_was_looked_at_is_told() {
    let session = session(1, 64 * MIB);
    let budget = &session.group.budget;
    budget.set_limits(PageCount::new(4096), PageCount::new(0), 100);
    budget.set_others(Outstanding {
        unread: PageCount::new(5000),
        windows: 3,
        lone_reads: false,
    });
    let mut log = Log::new(64 * MIB);
    for start in [0, 16] {
        read(&session, 0, start, start, &mut log);
    }
    assert!(log.asked.is_empty(), "{:?}", log.asked);
    assert_eq!(session.files.budget_used.get(), 1);
    // So that it looks.
    (session.group).set_memory(PageCount::new(1 << 22), &Settings::default());
    read(&session, 0, 32, 32, &mut log);
    assert!(!log.asked.is_empty());
    assert_eq!(session.files.budget_used.get(), 1);
}

/// Who reads at random makes no request, and so did not look at its memory: files beyond the 16 MiB that it allows itself before were not
/// filled in.
#[test]
fn a_file_that_is_read_at_random_is_filled_in_once_the_memory_was_looked_at() {
    const PAGES: u64 = 32 * MIB;
    let session = session(1, PAGES);
    let settings = Settings::default();
    (session.group.budget).set_limits(PageCount::new(4096), PageCount::new(0), 100);
    let mut log = Log::new(PAGES);
    let mut read_all = |from: u64| {
        for read in from..from + PAGES / 2 {
            let page = read.wrapping_mul(0x4a8b_e923) % PAGES;
            let access = PageRange::new(page, page + 1);
            let token = session.read(0, access, at(read * 10), &mut log).unwrap();
            if !token.covered {
                session.on_wait(&token, 8_000_000, at(read * 10 + 8), &NothingEvicted);
            }
        }
        log.asked.iter().map(|range| range.len().get()).sum::<u64>()
    };
    read_all(0);
    assert_eq!(session.files.budget_used.get(), 1);
    session.group.set_memory(PageCount::new(1 << 22), &settings);
    assert!(read_all(PAGES / 2) > PAGES / 4);
    assert_eq!(session.files.budget_used.get(), 1);
}

/// Bug 3: a window that was not submitted counted as asked for.
#[test]
fn what_could_not_be_asked_for_is_asked_for_again() {
    for refusal in [Answer::Refused, Answer::NotHere] {
        let session = session(1, 64 * MIB);
        let mut log = Log::new(64 * MIB);
        log.answer = Answer::Refused;
        if refusal == Answer::NotHere {
            log.file_pages = None;
        }
        for start in (0..64).step_by(16) {
            read(&session, 0, start, 0, &mut log);
        }
        assert_eq!(session.group.budget.unread().get(), 0, "{refusal:?}");
        let mut log = Log::new(64 * MIB);
        read(&session, 0, 64, 0, &mut log);
        let first = log.asked.first().expect("asked again");
        assert!(first.start.get() <= 80, "{refusal:?}: {first:?}");
    }
}

/// Bug 3: the answer was lost when another thread was inside.
#[test]
fn an_answer_to_a_busy_file_is_taken_in_by_the_next_read() {
    let session = session(1, 64 * MIB);
    let mut log = Log::new(64 * MIB);
    read(&session, 0, 0, 0, &mut log);
    let access = PageRange::new(16, 32);
    let (_, pending) = session
        .on_access(0, access, at(0), WhenTold::Before)
        .unwrap();
    log.answer = Answer::Refused;
    let carried = pending.expect("a second read asks").carry_out(&mut log);
    session.files.files[0].busy.set(true);
    session.on_carried_out(0, &carried);
    session.files.files[0].busy.set(false);
    assert!(session.group.budget.unread().get() > 0, "not known yet");
    let mut log = Log::new(64 * MIB);
    read(&session, 0, 32, 0, &mut log);
    assert!(log.asked.iter().any(|range| range.start.get() <= 48));
}

#[test]
fn a_read_of_a_busy_file_is_taken_in_by_the_next_one() {
    let session = session(1, 64 * MIB);
    let mut log = Log::new(64 * MIB);
    read(&session, 0, 0, 0, &mut log);
    session.files.files[0].busy.set(true);
    read(&session, 0, 16, 0, &mut log);
    session.files.files[0].busy.set(false);
    assert!(log.asked.is_empty());
    read(&session, 0, 32, 0, &mut log);
    assert!(!log.asked.is_empty(), "three reads in a row are a stream");
}

/// The newest advice counts, and a file that is opened again is one of which nothing was said.
#[test]
fn advice_about_a_file_holds_until_it_is_taken_back() {
    let first_request = |advise: &dyn Fn(&Session<Table>)| {
        let session = session(1, 64 * MIB);
        advise(&session);
        let mut log = Log::new(64 * MIB);
        for start in [0, 16] {
            read(&session, 0, start, 0, &mut log);
        }
        log.asked.iter().map(|range| range.len().get()).sum::<u64>()
    };
    let usual = first_request(&|_| {});
    let twice = first_request(&|session| session.on_advice(0, Advice::Sequential));
    assert!(twice > usual, "{twice} and {usual} pages");
    let taken_back = first_request(&|session| {
        session.on_advice(0, Advice::Sequential);
        session.on_advice(0, Advice::Normal);
    });
    let again = first_request(&|session| {
        session.on_advice(0, Advice::Sequential);
        let settings = Settings::default();
        let find = || DeviceFacts::configured(&settings);
        session.on_open(0, 1, PageCount::new(64 * MIB), &settings, at(0), find);
    });
    assert_eq!([taken_back, again], [usual; 2]);
}

#[test]
fn a_file_that_is_gone_is_said_to_be() {
    let session = session(1, MIB);
    let mut log = Log::new(MIB);
    let access = PageRange::new(0, 1);
    let gone = session.read(7, access, at(0), &mut log).err();
    assert_eq!(gone, Some(EnterError::Gone));
}

#[test]
fn a_wait_inside_a_window_is_late_and_grows_it() {
    let session = session(1, 64 * MIB);
    let mut log = Log::new(64 * MIB);
    for start in (0..MIB).step_by(16) {
        read(&session, 0, start, 0, &mut log);
    }
    let access = PageRange::new(MIB, MIB + 16);
    let token = session.read(0, access, at(0), &mut log).unwrap();
    assert!(token.covered);
    // Another thread reads elsewhere meanwhile.
    read(&session, 0, 40 * MIB, 0, &mut log);
    assert!(8_000_000 > Settings::default().wait_limit_ns(access.len()));
    session.on_wait(&token, 8_000_000, at(8), &NothingEvicted);
    let (tally, _) = session.files.files[0].state.borrow_mut().take_tally();
    assert_eq!((tally.waits, tally.late), (1, 16));
}

/// Bug 16: programs that touch the first page and the end of each file taught "read whole".
#[test]
fn headers_and_footers_do_not_make_small_files_expected_whole() {
    let session = session(40, 100);
    for file in 0..40 {
        let mut log = Log::new(100);
        for (start, end) in [(0, 1), (99, 100)] {
            let access = PageRange::new(start, end);
            session.read(file, access, at(0), &mut log).unwrap();
        }
        session.on_close(file, at(1));
        let asked: u64 = log.asked.iter().map(|range| range.len().get()).sum();
        assert!(asked < 50, "file {file}: {asked} pages");
    }
}

/// Pages asked for in vain while 1 GiB is read, after 4 GiB, in runs backward of 64 KiB to 4 MiB with gaps between them. The
/// device takes `asked_ns` for a page that was asked for, and `read_ns` for one that only the kernel brings.
fn vain_in_runs(asked_ns: u64, read_ns: u64) -> u64 {
    let session = session(1, 65_536 * MIB);
    let (mut now_ns, mut start, mut seed) = (1_u64, 0, 1_u64);
    let (mut vain, mut all_read) = (0, 0);
    while all_read < 5120 * MIB {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let end = start + (16 << (seed >> 60 & 6));
        let mut frontier = end;
        for page in (1..=(end - start) / 16).map(|step| end - 16 * step) {
            let access = PageRange::new(page, page + 16);
            let quick = session.on_quick_access(0, access);
            if !matches!(
                quick,
                Ok((Quick::Step(_) | Quick::Left(_) | Quick::Calm, _))
            ) {
                let mut log = Log::new(65_536 * MIB);
                let now = Timestamp::new(now_ns);
                session.read(0, access, now, &mut log).expect("a file");
                for range in &log.asked {
                    now_ns += range.len().get() * asked_ns;
                    frontier = range.start.get();
                }
            }
            now_ns += frontier.saturating_sub(page).min(16) * read_ns;
        }
        all_read += end - start;
        if all_read > 4096 * MIB {
            vain += start.saturating_sub(frontier);
        }
        start = end + 4096;
    }
    vain
}

/// Files of 1 MiB in reads of 128 KiB, each asked for with the read that begins it: what is asked for with a read
/// is not in vain.
#[test]
fn who_reads_whole_files_is_never_on_trial() {
    let session = session(400, MIB);
    for file in 0..400 {
        let mut log = Log::new(MIB);
        for start in (0..MIB).step_by(32) {
            let access = PageRange::new(start, start + 32);
            let now = at(file as u64 * 10 + start / 32);
            session.read(file, access, now, &mut log).expect("a file");
            assert!(!session.group.guard.is_left_alone(), "file {file}");
        }
        session.on_close(file, at(file as u64 * 10 + 9));
    }
}

/// Runs backward of random length are asked for too far, and where the device gives no more for being asked earlier that
/// is lost (1.05 to 1.2 of the kernel's time in the simulator, for as long as such a program ran).
#[test]
fn what_does_not_pay_is_left_alone_and_what_pays_goes_on() {
    let (lost, worth_it) = (vain_in_runs(1000, 1000), vain_in_runs(1000, 3000));
    assert!(lost < 1024 * MIB / 16, "{lost} pages");
    assert!(worth_it > 2 * lost, "{worth_it} pages, {lost} left alone");
}

/// Eight threads of `DuckDB` that read chunks in step, of which one gets its chunk every 14 ms; one alone is helped if it computes
/// between them.
#[test]
fn a_program_whose_reads_wait_together_is_not_read_ahead_of_in_strides() {
    // Whether anything is asked for of the second half.
    let is_helped = |threads: u64, computes_ms: u64| {
        let session = session(1, 1 << 20);
        let chunk_ms = 14 + computes_ms;
        let mut log = Log::new(1 << 20);
        let begun = |chunk: u64| (chunk + 1).saturating_sub(threads) * chunk_ms;
        let read = |chunk: u64, log: &mut Log| {
            let access = PageRange::new(chunk * 2345, chunk * 2345 + 200);
            session.read(0, access, at(begun(chunk)), log).unwrap()
        };
        let mut tokens: VecDeque<_> = (0..threads).map(|chunk| read(chunk, &mut log)).collect();
        let mut asked = 0;
        for chunk in 0..40 {
            let ended = chunk * chunk_ms + 14;
            let waited_ns = (ended - begun(chunk)) * 1_000_000;
            let token = tokens.pop_front().unwrap();
            session.on_wait(&token, waited_ns, at(ended), &NothingEvicted);
            tokens.push_back(read(chunk + threads, &mut log));
            if chunk == 20 {
                asked = log.asked.len();
            }
        }
        log.asked.len() > asked
    };
    assert!(is_helped(1, 14));
    assert!(!is_helped(8, 0));
}

/// Records of a file in an order that nothing explains, read again and again, and closed each time: what the second time
/// asks for is in the budget until it is read, and given back when the file is not read any more.
#[test]
fn records_that_are_read_again_in_the_same_order_are_asked_for_out_of_the_budget() {
    let session = session(1, 1 << 20);
    let mut log = Log::new(1 << 20);
    let mut asked = [0; 3];
    for (pass, asked) in asked.iter_mut().enumerate() {
        for record in 0..60_u64 {
            let start = ((record + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 45) * 2;
            let ms = (pass as u64 * 60 + record) * 10;
            read(&session, 0, start, ms, &mut log);
        }
        *asked = std::mem::take(&mut log.asked).len();
        session.on_close(0, at(pass as u64 * 600 + 600));
    }
    assert_eq!(asked[0], 0, "nothing is known");
    // All but those that were read before there was a list, and those that show it.
    assert!(asked[1] >= 45 && asked[2] >= 45, "{asked:?}");
    let unread = session.group.budget.unread().get();
    assert!((16..=17 * 16).contains(&unread), "{unread}");
    session.on_exit();
    assert_eq!(session.group.budget.unread().get(), 0);
}
