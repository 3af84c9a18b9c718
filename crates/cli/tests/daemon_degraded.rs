//! `ahead daemon` where the kernel, or who runs it, does not let it see anything: one line says what is missing and what
//! works there, and nothing is changed.

mod support;

use std::path::Path;
use std::process::{Command, Output};

use support::daemon_process::alone;
use support::{Place, assert_refused};

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

#[test]
fn without_the_right_to_bpf_one_line_says_what_is_missing_and_what_works() {
    let (_one, _place) = (alone(), Place::new());
    let mut command = Command::new("setpriv");
    command
        .args([
            "--bounding-set",
            "-bpf,-sys_admin",
            "--inh-caps",
            "-bpf,-sys_admin",
        ])
        .arg(env!("CARGO_BIN_EXE_ahead"))
        .arg("daemon");
    refused(command, &["cannot watch the page cache", "CAP_BPF"]);
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

/// The same answer as that of a kernel built without it.
#[test]
fn without_the_description_of_the_kernel_one_line_says_what_is_missing_and_what_works() {
    let (_one, place) = (alone(), Place::new());
    // A folder of its own for this mount, which ends with the process.
    let script = format!(
        "mount -t tmpfs none /sys/kernel/btf && exec {} daemon",
        env!("CARGO_BIN_EXE_ahead")
    );
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .current_dir(place.path());
    refused(
        command,
        &["no description of itself", "CONFIG_DEBUG_INFO_BTF"],
    );
}
