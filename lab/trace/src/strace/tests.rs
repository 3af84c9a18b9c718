//! A program's life as strace writes it, and lines that no strace writes.

use super::*;
use crate::access::{FileAdvice, Operation};
use crate::lines::read_all;

/// The accesses as short texts: thread, word, file, offset + length.
fn decoded(text: &str) -> Vec<String> {
    let (accesses, files, problem) = read_all(text.as_bytes(), Strace::default());
    assert_eq!(problem, None);
    accesses
        .iter()
        .map(|access| {
            format!(
                "{} {} {} {}+{}",
                access.thread,
                crate::word::word(access.operation),
                String::from_utf8_lossy(&files.name(access.file)),
                access.offset,
                access.length
            )
        })
        .collect()
}

#[test]
fn positions_move_with_reads_and_seeks() {
    let text = r#"
7 1.0 openat(AT_FDCWD</tmp>, "f", O_RDONLY|O_CLOEXEC) = 3</tmp/f> <0.000034>
7 1.1 read(3</tmp/f>, ") = 1 <0.1>"..., 4096) = 4096 <0.000015>
7 1.2 lseek(3</tmp/f>, 100, SEEK_CUR) = 4196
7 1.3 readv(3</tmp/f>, [{iov_base="\"a", iov_len=100}, {iov_base="", iov_len=100}], 2) = 200
7 1.4 pread64(3</tmp/f>, "\0"..., 10, 5000) = 10
7 1.5 preadv2(3</tmp/f>, [{iov_base="x", iov_len=5}], 1, -1, 0) = 5
7 1.6 read(3</tmp/f>, "", 4096) = 0
7 1.7 read(3</tmp/f>, 0x7ffd, 4096) = -1 EAGAIN (Resource temporarily unavailable)
7 1.8 close(3</tmp/f>) = 0
7 1.9 +++ exited with 0 +++
"#;
    assert_eq!(
        decoded(text),
        [
            "7 open /tmp/f 0+0",
            "7 read /tmp/f 0+4096",
            "7 read /tmp/f 4196+200",
            "7 read /tmp/f 5000+10",
            "7 read /tmp/f 4396+5",
            "7 read /tmp/f 4401+0",
            "7 close /tmp/f 0+0",
        ]
    );
}

#[test]
fn a_call_that_was_interrupted_has_the_time_of_its_beginning() {
    let (accesses, _, problem) = read_all(
        b"15054 10.5 read(5</f>,  <unfinished ...>\n\
          15053 10.6 <... futex resumed>) = 0 <0.000024>\n\
          15054 10.7 <... read resumed>\"\\0\"..., 4096) = 4096 <0.200000>\n",
        Strace::default(),
    );
    assert_eq!(problem, None);
    assert_eq!(accesses.len(), 1);
    assert_eq!(accesses[0].at_ns, 10_500_000_000);
    assert_eq!(accesses[0].duration_ns, Some(200_000_000));
    assert_eq!(accesses[0].length, 4096);
}

#[test]
fn duplicates_and_forks_share_a_position_and_opens_do_not() {
    let text = r#"
7 1.0 openat(AT_FDCWD, "/f", O_RDONLY) = 3
7 1.1 dup2(3, 9) = 9
7 1.2 read(9, "", 100) = 100
7 1.3 fork( <unfinished ...>
8 1.4 read(3, "", 100) = 100
7 1.5 <... fork resumed>) = 8
7 1.6 read(3, "", 100) = 100
7 1.7 openat(AT_FDCWD, "/f", O_RDONLY) = 4
7 1.8 read(4, "", 100) = 100
8 1.9 close(3) = 0
7 2.0 read(3, "", 100) = 100
"#;
    assert_eq!(
        decoded(text),
        [
            "7 open /f 0+0",
            "7 read /f 0+100",
            "8 read /f 100+100",
            "7 read /f 200+100",
            "7 open /f 0+0",
            "7 read /f 0+100",
            "7 read /f 300+100",
        ]
    );
}

#[test]
fn threads_are_of_one_process_and_share_its_table() {
    let (accesses, _, problem) = read_all(
        br#"7 1.0 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, exit_signal=0}, 88) = 8
8 1.1 openat(AT_FDCWD</>, "/f", O_RDONLY) = 3</f>
7 1.2 read(3, "", 10) = 10
"#,
        Strace::default(),
    );
    assert_eq!(problem, None);
    assert_eq!((accesses[0].process, accesses[0].thread), (7, 8));
    assert_eq!((accesses[1].process, accesses[1].thread), (7, 7));
}

#[test]
fn mappings_advice_and_copies_are_records() {
    let text = r#"
1.0 openat(AT_FDCWD</>, "/f", O_RDONLY) = 3</f>
1.1 newfstatat(3</f>, "", {st_mode=S_IFREG|0644, st_size=1048576, ...}, AT_EMPTY_PATH) = 0
1.2 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, 3</f>, 0x26000) = 0x7ff19109f000
1.3 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7ff19109f000
1.4 fadvise64(3</f>, 0, 0, POSIX_FADV_RANDOM) = 0
1.5 sendfile(1</dev/null<char 1:3>>, 3</f>, [10] => [30], 20) = 20
1.6 sendfile(1</dev/null<char 1:3>>, 3</f>, NULL, 20) = 20
1.7 readahead(3</f>, 4096, 65536) = 0
1.8 write(1</dev/null<char 1:3>>, "a", 1) = 1
"#;
    assert_eq!(
        decoded(text),
        [
            "0 open /f 0+0",
            "0 fault /f 155648+8192",
            "0 advise-random /f 0+0",
            "0 read /f 10+20",
            "0 read /f 0+20",
            "0 advise-willneed /f 4096+65536",
        ]
    );
    let (accesses, files, _) = read_all(text.as_bytes(), Strace::default());
    assert_eq!(files.size(accesses[0].file), Some(1 << 20));
    assert_eq!(accesses[2].operation, Operation::Advise(FileAdvice::Random));
}

#[test]
fn a_line_that_no_strace_writes_is_named() {
    for (line, what) in [
        ("7 1.0 read(3</f>, \"", "the call has no end"),
        ("7 1.0 read(3</f>, \"\", 1)", "the call has no result"),
        ("7 -1.0 read(3) = 1", "the time is not what -ttt prints"),
        ("99999999999 1.0 read(3) = 1", "the process is no number"),
        ("7 1.0.0 read(3) = 1", "the time is not what -ttt prints"),
    ] {
        let (accesses, _, problem) = read_all(format!("{line}\n").as_bytes(), Strace::default());
        assert!(accesses.is_empty());
        assert!(
            problem.as_deref().is_some_and(|text| text.contains(what)),
            "{line}: {problem:?}"
        );
    }
}
