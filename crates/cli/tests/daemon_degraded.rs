//! `ahead daemon` where the kernel, or who runs it, lets no programs into the kernel: one line says what is missing and what
//! is done instead. Where it may not look at other processes either it ends, and nothing is changed.

mod support;

use std::path::Path;
use std::process::{Command, Output};

use support::daemon_disk::Ground;
use support::daemon_process::{DaemonProcess, alone};
use support::{Place, assert_refused, stdout};

const WORKS: [&str; 2] = ["`ahead run` works", "`ahead device recommend`"];

/// Runs the daemon by `command`, which it ends at once, and checks that nothing is left of it.
fn refused(mut command: Command, words: &[&str]) {
    let output: Output = command.output().expect("it starts");
    assert_refused(&output, 1, &[words, &WORKS].concat());
    for left in ["daemon/narrowed.json", "windows.json"] {
        let path = Path::new("/run/ahead").join(left);
        assert!(!path.exists(), "{}", path.display());
    }
}

/// The daemon by `command`, without programs in the kernel: it says in one line why, and what is not seen. A program that reads
/// backward with `lseek` and `read` is steered; the first second is its own.
fn steers_by_positions(command: Command, words: &[&str]) {
    let ground = Ground::new("positions");
    let alone = ground.read("backward-positioned");
    let mut daemon = DaemonProcess::of(command);
    assert!(daemon.line.contains("reading ahead"), "{}", daemon.line);
    let said = daemon.next_line();
    let how = "followed by the positions of descriptors, by system calls only";
    let lost = "not seen are: page faults, positioned reads";
    for word in [words, &[how, lost]].concat() {
        assert!(said.contains(word), "{word}: {said}");
    }
    let helped = ground.read("backward-positioned");
    let status = ground.place.output(&["status", &ground.path("file")]);
    assert!(stdout(&status).contains("backward"), "{}", stdout(&status));
    println!("alone: {alone:?}, helped: {helped:?}, {}", daemon.used());
    let last = daemon.end();
    assert_eq!(helped.sum, alone.sum, "the same bytes");
    assert!(
        helped.seeks * 3 < alone.seeks * 2,
        "{helped:?} {alone:?} {last}"
    );
    assert!(
        helped.bytes <= alone.bytes * 11 / 10,
        "{helped:?} {alone:?}"
    );
}

/// A daemon without these capabilities.
fn without(capabilities: &str) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--bounding-set", capabilities, "--inh-caps", capabilities])
        .arg(env!("CARGO_BIN_EXE_ahead"))
        .arg("daemon");
    command
}

#[test]
fn without_the_right_to_bpf_positions_are_followed() {
    let command = without("-bpf,-sys_admin");
    steers_by_positions(command, &["cannot watch the page cache", "CAP_BPF"]);
}

/// The same answer as that of a kernel built without it.
#[test]
fn without_the_description_of_the_kernel_positions_are_followed() {
    // A folder of its own for this mount, which ends with the process.
    let script = format!(
        "mount -t tmpfs none /sys/kernel/btf && exec {} daemon",
        env!("CARGO_BIN_EXE_ahead")
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "slave", "sh", "-c", &script]);
    let words = ["no description of itself", "CONFIG_DEBUG_INFO_BTF"];
    steers_by_positions(command, &words);
}

#[test]
fn without_the_right_to_look_at_others_one_line_says_what_is_missing_and_what_works() {
    let (_one, _place) = (alone(), Place::new());
    let command = without("-bpf,-sys_admin,-sys_ptrace");
    refused(command, &["cannot watch the page cache", "CAP_BPF"]);
}

/// Programs tell of all reads, and no file could be reached: the daemon said that it reads ahead, and did nothing.
#[test]
fn where_no_file_can_be_reached_one_line_says_what_is_missing_and_what_works() {
    let (_one, _place) = (alone(), Place::new());
    let words = ["CAP_SYS_PTRACE", "kernel.yama.ptrace_scope"];
    refused(without("-sys_ptrace"), &words);
    let mut watching = without("-sys_ptrace");
    watching.args(["--mode", "observe"]);
    DaemonProcess::of(watching).end();
}

/// As in a container: the numbers of processes that the kernel tells mean others there, or none.
#[test]
fn in_a_pid_namespace_one_line_says_what_is_missing_and_what_works() {
    let (_one, _place) = (alone(), Place::new());
    let mut command = Command::new("unshare");
    let program = env!("CARGO_BIN_EXE_ahead");
    command.args(["--pid", "--fork", "--mount-proc", program, "daemon"]);
    refused(command, &["PID namespace", "--pid=host"]);
}
