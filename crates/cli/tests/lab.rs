//! `ahead lab run`: a command in a guest ends as it would here, what goes wrong is said in one line,
//! and its virtual time is the same whenever it is run.
//!
//! Needs the guest's kernel (`make lab`), `mkfs.ext4` and `mkfs.xfs`.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use ahead_disk_model::DiskModel;
use ahead_harness::programs::results::ProgramResults;
use object::{Object, ObjectSymbol};
use rustix::process::{Pid, Signal};
use serde_json::Value;

use support::guest::bare_guest;
use support::lab_run::{figure, figures, lab};
use support::{Place, assert_refused, stderr, stdout};

const MB: u64 = 1_000_000;

/// A file of `megabytes` is written to the disk before the clock starts.
fn with_file(megabytes: u64) -> [String; 2] {
    let script = format!("head -c {megabytes}MB /dev/urandom >file");
    ["--prepare".to_owned(), script]
}

/// Asserts that two boots differ by at most so many nanoseconds of virtual time, and returns that of one.
#[track_caller]
fn assert_two_boots_agree(apart_ns_max: u64, options: &[&str], script: &str) -> u64 {
    let [one, other] =
        [(); 2].map(|()| figure(&figures(options, &["sh", "-c", script]), "elapsed_ns"));
    println!("{script}: {one} and {other} ns");
    assert!(one > MB, "{script} reads from the disk: {one} ns");
    let apart_ns = one.abs_diff(other);
    assert!(apart_ns <= apart_ns_max, "{script}: {one} and {other} ns");
    one
}

/// Reads of every kind: backward, forward, two at once, a tree of small files.
const READERS: [&str; 4] = [
    "tac file >/dev/null",
    "cat file >/dev/null",
    "head -c 10MB file >/dev/null & tail -c 10MB file >/dev/null; wait",
    "grep -r nothing tree >/dev/null; test $? = 1",
];

/// A file, and a tree of small files, to be copied to the disk.
fn with_file_and_tree(place: &Place) -> [String; 4] {
    let line = format!("{:63}\n", "a line");
    let file = place.file("file", line.repeat((24 << 20) / line.len()));
    let tree = place.path().join("tree");
    for folder in 0..40 {
        let folder = tree.join(folder.to_string());
        fs::create_dir_all(&folder).expect("a folder");
        for number in 1..11 {
            let content = vec![b'0'; 997 * number];
            fs::write(folder.join(number.to_string()), content).expect("a file");
        }
    }
    let [file, tree] = [file, tree].map(|path| path.to_str().expect("text").to_owned());
    let with = "--with".to_owned();
    [with.clone(), file, with, tree]
}

/// Times of [`READERS`], equal in two boots.
#[track_caller]
fn times_of_two_boots(apart_ns_max: u64, more: &[&str]) -> [u64; READERS.len()] {
    let place = Place::new();
    let with = with_file_and_tree(&place);
    let mut options = more.to_vec();
    options.extend(with.iter().map(String::as_str));
    READERS.map(|script| assert_two_boots_agree(apart_ns_max, &options, script))
}

/// It was not so while each file system had a hash seed of its own (0.90 s and 1.13 s for a tree), and
/// while reading a file that nothing on the host had read before wrote its access time (17.76 s and
/// 17.69 s for `tac`).
#[test]
fn two_boots_take_the_same_virtual_time() {
    let [backward_ns, ..] = times_of_two_boots(0, &["--no-ahead"]);
    assert!(backward_ns > 10_000_000_000, "stock is slow backward");
}

/// Each look at the clock takes a nanosecond of it, and how often `ahead run` looks is a matter of some ten.
#[test]
fn two_boots_take_the_same_virtual_time_under_ahead() {
    let [backward_ns, ..] = times_of_two_boots(1_000, &[]);
    assert!(
        backward_ns < 500_000_000,
        "{backward_ns} ns: the library is at work"
    );
}

/// Which one was next depended on where the host had put the guest: such threads took 1.402 and 1.461 s.
#[test]
fn boots_serve_many_threads_over_nfs_in_the_same_order() {
    let prepare = "echo 32 > /proc/fs/nfsd/threads; head -c 32M /dev/urandom > file";
    let options = ["--no-ahead", "--fs", "nfs", "--prepare", prepare];
    let threads = "
import os, threading
file = os.open('file', os.O_RDONLY)
places = iter(range(0, 32 << 20, 32 << 10))
guard = threading.Lock()
def read():
    while True:
        with guard:
            place = next(places, None)
        if place is None:
            return
        os.pread(file, 32 << 10, place)
threads = [threading.Thread(target=read) for _ in range(32)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()";
    let script = format!("python3 -c \"{threads}\"");
    let one_ns = assert_two_boots_agree(0, &options, &script);
    let another_ns = assert_two_boots_agree(0, &options, &script);
    assert_eq!(one_ns, another_ns);
}

/// A page table more or less, by where the guest had put a program, is a page of memory: 800 readers in 64 MiB took 308.4 and
/// 306.5 s.
#[test]
fn boots_give_a_program_the_same_memory() {
    let tables = || {
        let output = lab(
            &["--no-ahead"],
            &[
                "grep",
                "-e",
                "^PageTables",
                "-e",
                "^MemTotal",
                "/proc/meminfo",
            ],
        );
        assert!(output.status.success(), "{}", stderr(&output));
        let said = stdout(&output);
        said.lines().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let boots = [(); 6].map(|()| tables());
    assert!(boots[0][1].starts_with("PageTables"), "{boots:?}");
    assert!(boots.iter().all(|boot| *boot == boots[0]), "{boots:?}");
}

#[test]
fn guests_side_by_side_take_the_time_of_one_alone() {
    let preparation = with_file(32);
    let mut options = vec!["--no-ahead"];
    options.extend(preparation.iter().map(String::as_str));
    let command = ["sh", "-c", READERS[0]];
    let alone = figures(&options, &command);
    let together: Vec<Value> = thread::scope(|scope| {
        let guests: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| figures(&options, &command)))
            .collect();
        let ended = guests.into_iter().map(|guest| guest.join());
        ended.map(|guest| guest.expect("a guest")).collect()
    });
    let alone_ns = figure(&alone, "elapsed_ns");
    for guest in &together {
        assert_eq!(figure(guest, "reads"), figure(&alone, "reads"));
        assert_eq!(figure(guest, "elapsed_ns"), alone_ns);
    }
}

/// A guest has a `/tmp` of its own. A clone of the project there was not found by its guests, and a
/// program there not under `ahead run`.
#[test]
fn programs_in_a_folder_that_guests_cover_are_found() {
    let place = Place::new();
    let built = Path::new(env!("CARGO_BIN_EXE_ahead"));
    for name in ["ahead", "libahead_preload.so", "libahead_guest_disk.a"] {
        let from = built.with_file_name(name);
        fs::copy(&from, place.path().join(name)).expect("a copy");
    }
    let script = place.file("script", "#!/bin/sh\nexit 7\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("executable");
    for options in [&["--no-ahead"][..], &[]] {
        let mut ahead = Command::new(place.path().join("ahead"));
        ahead.args(["lab", "run"]).args(options).arg("--");
        let output = ahead.arg(&script).stdin(Stdio::null()).output();
        let output = output.expect("ahead starts");
        let code = output.status.code();
        assert_eq!(code, Some(7), "{options:?}: {}", stderr(&output));
    }
}

#[test]
fn a_guest_with_less_memory_than_the_file_reads_it_twice_and_one_with_more_once() {
    let preparation = with_file(200);
    let twice = ["sh", "-c", "cat file >/dev/null; cat file >/dev/null"];
    let read = |memory| {
        let mut options = vec!["--no-ahead", "--disk", "nvme", "--memory", memory];
        options.extend(preparation.iter().map(String::as_str));
        figure(&figures(&options, &twice), "read_bytes") / MB
    };
    // Beside the file its map on the disk is read.
    let small = read("128M");
    assert!((400..=402).contains(&small), "{small} MB");
    let large = read("1G");
    assert!((200..=201).contains(&large), "{large} MB");
}

#[test]
fn a_file_on_xfs_is_read_at_the_rate_of_the_disk() {
    let preparation = with_file(100);
    let mut options = vec!["--no-ahead", "--fs", "xfs"];
    options.extend(preparation.iter().map(String::as_str));
    let figures = figures(&options, &["sh", "-c", "cat file >/dev/null"]);
    let elapsed_ms = figure(&figures, "elapsed_ns") / MB;
    // 100 MB/s, and an access each time the window falls behind.
    assert!((1_000..1_100).contains(&elapsed_ms), "{elapsed_ms} ms");
    assert_eq!(figure(&figures, "read_bytes") / MB, 100);
}

#[test]
fn the_status_of_the_command_in_the_guest_is_passed_through() {
    for (script, code) in [("exit 0", 0), ("exit 42", 42), ("kill -9 $$", 137)] {
        for options in [&["--no-ahead"][..], &[]] {
            let output = lab(options, &["sh", "-c", script]);
            assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        }
    }
}

/// The account stood behind what the command printed, and the JSON of it could not be parsed.
#[test]
fn standard_output_is_the_commands_alone() {
    let script = ["sh", "-c", "echo said; echo told >&2"];
    let output = lab(&["--no-ahead"], &script);
    assert_eq!(stdout(&output).replace('\r', ""), "said\ntold\n");
    assert!(
        stderr(&output).starts_with("virtual time "),
        "{}",
        stderr(&output)
    );
    let account = figures(&["--no-ahead"], &script);
    assert_eq!(figure(&account, "exit_code"), 0);
}

#[test]
fn a_command_that_reads_nothing_is_not_compared() {
    let place = Place::new();
    let output = place.output(&["lab", "compare", "--arm", "stock:128,ceiling", "--", "true"]);
    let said = stdout(&output);
    assert!(said.contains("read nothing from its disk"), "{said}");
    let ceiling = said.lines().find(|line| line.contains("ceiling"));
    let ceiling: Vec<_> = ceiling.expect("a row").split_whitespace().collect();
    assert_eq!(ceiling[3], "-", "{said}");
}

#[test]
fn a_command_that_does_not_exist_is_named_in_one_line() {
    let output = lab(&["--no-ahead"], &["no-such-command"]);
    assert_refused(
        &output,
        127,
        &["in the guest", "cannot start `no-such-command`"],
    );
    let output = lab(&[], &["no-such-command"]);
    // Said in the guest, whose console is our output.
    let said = stdout(&output);
    assert!(
        said.starts_with("ahead: cannot find 'no-such-command'"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(127));
}

#[test]
fn what_cannot_be_copied_to_the_disk_is_named_in_one_line() {
    let output = lab(&["--with", "/no/such/file"], &["true"]);
    assert_refused(
        &output,
        1,
        &["--with: cannot copy /no/such/file", "No such file"],
    );
}

#[test]
fn a_broken_disk_model_is_named_in_one_line() {
    let place = Place::new();
    let model = place.file("broken.toml", "kind = \"drum\"\n");
    let output = lab(&["--disk", model.to_str().expect("text")], &["true"]);
    assert_refused(&output, 2, &["broken.toml", "not a disk model", "drum"]);
    let output = lab(&["--disk", "/no/such.toml"], &["true"]);
    assert_refused(&output, 2, &["/no/such.toml", "No such file"]);
    let output = lab(&["--disk", "drum"], &["true"]);
    assert_refused(&output, 2, &["--disk", "drum"]);
}

/// Three processes of 24 tasks, two of which compute and one of which reads in whole bytes: such
/// workloads could be simulated only.
#[test]
fn generated_workloads_of_several_processes_run_over_the_real_kernel() {
    let place = Place::new();
    let arguments = "compare --generated 3..4 --disks hdd --memory 64M --in lab --csv \
                     --policies linux-6.12,adaptive";
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let times = [(); 2].map(|()| {
        let output = place.ahead(&words).env_remove("AHEAD_PRELOAD").output();
        let output = output.expect("ahead starts");
        assert!(output.status.success(), "{}", stderr(&output));
        elapsed_by_policy(&stdout(&output))
    });
    for ((policy, ns), (_, again_ns)) in times[0].iter().zip(&times[1]) {
        let apart_ns = ns.abs_diff(*again_ns);
        assert!(apart_ns <= ns / 200, "{policy}: {ns} and {again_ns} ns");
    }
    let [(kernel, kernel_ns), (ours, ours_ns), (ceiling, ceiling_ns)] = &times[0][..] else {
        panic!("three policies: {times:?}");
    };
    assert_eq!(
        (&**kernel, &**ours, &**ceiling),
        ("linux-6.12", "adaptive", "oracle")
    );
    assert!(
        ours_ns < &(kernel_ns / 2) && ceiling_ns < ours_ns,
        "{times:?}"
    );
}

/// A disk of one's own beside the plan, which is where the plan's paths are relative to: looked for in the
/// working folder before, and in the guest beside the disk.
#[test]
fn a_plan_over_the_real_kernel_has_a_disk_beside_it() {
    let place = Place::new();
    let fast = DiskModel::preset("nvme").expect("a preset").to_toml();
    let fast = fast.expect("text");
    place.file("own.toml", &fast);
    let plan = place.file(
        "plan.toml",
        "name = \"own\"\nabout = \"One scan.\"\ndisks = [\"own.toml\"]\nmemory-mib = [64]\npolicies = [\"linux-6.12\"]\n\
         [workload.scan]\nkind = \"sequential\"\nfile-mib = 8\nread-kib = 64\n",
    );
    let plan = plan.to_str().expect("text");
    let mut compare = place.ahead(&["compare", plan, "--in", "lab", "--csv"]);
    let output = compare.env_remove("AHEAD_PRELOAD").output();
    let output = output.expect("ahead starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let [(_, kernel_ns), ..] = elapsed_by_policy(&stdout(&output))[..] else {
        panic!("{}", stdout(&output));
    };
    assert!(kernel_ns < 100_000_000, "8 MiB of flash: {kernel_ns} ns");
}

/// Programs that people run, unmodified, from C, Python and a data base: each with the same output, faster where
/// the kernel does not see the pattern, and none slower.
#[test]
fn real_programs_over_the_real_kernel_are_not_slowed() {
    let place = Place::new();
    let results = place.path().join("results");
    let programs = "cat,tac,cmp,sort-merge,cp-r,tar,grep-r,diff-r,rsync,zip-members,sqlite";
    let output = place
        .ahead(&[
            "lab",
            "programs",
            "--disk",
            "hdd,ssd",
            "--percent",
            "4",
            "--program",
            programs,
        ])
        .args(["--check", "--json"])
        .arg(&results)
        .env_remove("AHEAD_PRELOAD")
        .output()
        .expect("ahead starts");
    assert!(
        output.status.success(),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    let text = stdout(&output);
    assert!(!text.contains("left out"), "{text}");
    for (disk, tac_min) in [("hdd", 20.0), ("ssd", 2.0)] {
        let json = fs::read(results.join(disk).with_extension("json")).expect("results");
        let found: ProgramResults = serde_json::from_slice(&json).expect("results");
        assert_eq!(found.rows.len(), 14, "{text}");
        let tac = found
            .rows
            .iter()
            .find(|row| row.name == "tac")
            .expect("tac");
        let speed = tac.speed().expect("runs").value;
        assert!(speed >= tac_min, "tac on {disk}: {speed}\n{text}");
    }
}

/// Policies and times of a table of results.
fn elapsed_by_policy(csv: &str) -> Vec<(String, u64)> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let titles = lines.next().expect("titles");
    let place = |name| titles.iter().position(|title| *title == name).expect(name);
    let (policy, elapsed) = (place("policy"), place("elapsed_ns"));
    let row = |line: Vec<&str>| {
        (
            line[policy].to_owned(),
            line[elapsed].parse().expect("a number"),
        )
    };
    lines.map(row).collect()
}

#[test]
fn what_guests_do_not_have_is_refused_before_one_boots() {
    let place = Place::new();
    let compare = |policies: &str| {
        place.output(&[
            "compare",
            "--generated",
            "3..4",
            "--in",
            "lab",
            "--policies",
            policies,
        ])
    };
    assert_refused(
        &compare("linux-6.12,ara-june"),
        2,
        &["ara-june", "linux-6.12:ra_kb=N"],
    );
}

/// In the background of its terminal the guest was stopped at its first read: nothing that was typed came in.
#[test]
fn a_shell_in_a_guest_has_the_terminal() {
    let command = format!("{} lab shell --memory 256M", env!("CARGO_BIN_EXE_ahead"));
    let mut terminal = Command::new("script")
        .args(["-qfec", &command, "/dev/null"])
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script starts");
    let mut said = BufReader::new(terminal.stdout.take().expect("a pipe"));
    let mut prompt = Vec::new();
    said.read_until(b'#', &mut prompt).expect("a prompt");
    let mut keys = terminal.stdin.take().expect("a pipe");
    keys.write_all(b"echo $((6 * 7)); sleep 1000; exit 3\n")
        .expect("typing");
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    assert!(rest.lines().any(|line| line.trim() == "42"), "{rest}");
    assert!(!rest.contains("no job control"), "{rest}");
    assert_eq!(terminal.wait().expect("it ends").code(), Some(3));
}

/// How often is looked whether killed processes are gone.
const GO_ATTEMPTS: u32 = 10_000;

/// Processes of the session `session`, which is that of a guest and of the program that booted it.
fn processes_of(session: u32) -> usize {
    let folders = fs::read_dir("/proc").expect("/proc");
    let is_of = |entry: fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // pid (name) state parent group session; a zombie is none any more.
        let mut rest = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let is_alive = rest.next()? != "Z";
        (is_alive && rest.nth(2)?.parse() == Ok(session)).then_some(())
    };
    folders.flatten().filter_map(is_of).count()
}

/// Starts a guest that hangs after it said "ready", ends it as `end` does, and asserts that it is
/// gone and that one line says `why`.
#[track_caller]
fn assert_ends(script: &str, wall_limit: &str, end: impl FnOnce(Pid), why: &str) {
    let mut guest = Command::new("setsid")
        .args([env!("CARGO_BIN_EXE_ahead"), "lab", "run", "--no-ahead"])
        .args(["--wall-limit", wall_limit, "--", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("setsid starts");
    let mut said = BufReader::new(guest.stdout.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    assert_eq!(line.trim_end(), "ready");
    let session = guest.id();
    assert!(processes_of(session) > 2, "the program, kernel and command");
    end(Pid::from_child(&guest));
    let mut errors = String::new();
    let mut pipe = guest.stderr.take().expect("a pipe");
    pipe.read_to_string(&mut errors).expect("text");
    let status = guest.wait().expect("it ends");
    // What was killed takes a moment to go.
    let mut attempts = 0..GO_ATTEMPTS;
    while processes_of(session) > 0 {
        assert!(
            attempts.next().is_some(),
            "processes are left: {}",
            processes_of(session)
        );
        thread::yield_now();
    }
    assert_eq!(errors, format!("ahead: {why}\n"));
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_guest_that_hangs_is_ended_with_all_its_processes() {
    for hang in [
        "sleep infinity",
        "while :; do :; done",
        "cat /dev/zero >/dev/null & wait",
    ] {
        assert_ends(
            &format!("echo ready; {hang}"),
            "5",
            |_| {},
            "the guest was ended: it took longer than 5 s (`--wall-limit` allows more)",
        );
    }
}

#[test]
fn a_guest_whose_program_is_stopped_is_ended_with_all_its_processes() {
    let stop = |pid| rustix::process::kill_process(pid, Signal::TERM).expect("it runs");
    let script = "echo ready; while :; do :; done";
    assert_ends(script, "300", stop, "stopped; the guest is gone");
}

/// The registers of a processor with AMX take 11008 bytes. Where the buffer is smaller the host
/// refuses, and the guest dies at its first process; this host's processor may not have them.
#[test]
fn the_kernel_takes_all_registers_of_processors_with_amx() {
    let program = fs::read(bare_guest(DiskModel::ssd()).kernel.program).expect("a kernel");
    let program = object::File::parse(&*program).expect("an ELF file");
    let mut symbols = program.symbols();
    let buffer = symbols.find(|symbol| symbol.name() == Ok("exec_fp_regs"));
    let bytes = buffer.expect("the buffer of a fresh process").size();
    assert!(bytes >= 11_008, "{bytes} bytes");
}
