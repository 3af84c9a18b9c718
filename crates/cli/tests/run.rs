//! `ahead run` as a parent: status, signals, output and environment of CMD are what they would be
//! without it. The library preloaded here does nothing; what the real one does is tested elsewhere.

mod support;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, WaitOptions};
use support::{Place, stderr, stdout};

/// The report is written to a file that is not looked at: the run is watched, the test is quiet.
const WATCHED: &str = "--report=/dev/null";

fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Starts Python under `ahead run`, and waits until it has printed its first line.
fn start_python(place: &Place, script: &str) -> (Child, BufReader<ChildStdout>) {
    let mut child = place
        .ahead(&["run", WATCHED, "--", "python3", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .expect("ahead starts");
    let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    (child, reader)
}

#[test]
fn the_status_of_the_command_is_passed_through() {
    let place = Place::new();
    for options in [&["run"][..], &["run", WATCHED], &["run", "--json", WATCHED]] {
        for status in ["0", "1", "42", "255"] {
            let mut arguments = options.to_vec();
            let script = format!("exit {status}");
            arguments.extend(["--", "sh", "-c", &script]);
            let code = place.output(&arguments).status.code();
            assert_eq!(code.map(|code| code.to_string()).as_deref(), Some(status));
        }
    }
}

#[test]
fn a_command_killed_by_a_signal_looks_killed_by_it() {
    let place = Place::new();
    for (name, number) in [
        ("TERM", 15),
        ("KILL", 9),
        ("SEGV", 11),
        ("INT", 2),
        ("PIPE", 13),
    ] {
        for option in [WATCHED, "--no-children"] {
            let script = format!("kill -{name} $$");
            let output = place.output(&["run", option, "--", "sh", "-c", &script]);
            assert_eq!(output.status.signal(), Some(number), "{name} {option}");
        }
    }
}

#[test]
fn a_command_that_dies_of_a_real_time_signal_gives_128_and_the_number() {
    let output = Place::new().output(&["run", WATCHED, "--", "sh", "-c", "kill -40 $$"]);
    assert_eq!(output.status.code(), Some(168));
}

#[test]
fn without_a_report_the_command_takes_the_place_of_the_program() {
    let place = Place::new();
    let child = place
        .ahead(&["run", "sh", "-c", "echo $$"])
        .stdout(Stdio::piped())
        .spawn();
    let child = child.expect("ahead starts");
    let pid = child.id();
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(stdout(&output).trim(), pid.to_string());
}

#[test]
fn a_signal_sent_to_the_program_alone_reaches_the_command() {
    let place = Place::new();
    for name in [
        "SIGTERM",
        "SIGHUP",
        "SIGUSR1",
        "SIGALRM",
        "SIGURG",
        "SIGPWR",
        "SIGRTMIN + 3",
        "SIGRTMAX",
    ] {
        let script = format!(
            "import signal,sys\n\
             signal.signal(signal.{name}, lambda *_: (print('got', flush=True), sys.exit(3)))\n\
             print('ready', flush=True)\n\
             while True: signal.pause()"
        );
        let (mut child, mut reader) = start_python(&place, &script);
        let send = format!("import os,signal; os.kill({}, signal.{name})", child.id());
        let sent = Command::new("python3").args(["-c", &send]).status();
        assert!(sent.expect("python starts").success(), "{name}");
        let mut rest = String::new();
        reader.read_to_string(&mut rest).expect("text");
        assert_eq!(rest, "got\n", "{name}");
        assert_eq!(child.wait().expect("it ends").code(), Some(3), "{name}");
    }
}

/// `alarm` lasts beyond `exec`: who limits a command like that limits CMD.
#[test]
fn an_alarm_that_was_set_before_ends_the_command() {
    let place = Place::new();
    let script = "import os,signal,sys; signal.alarm(1); os.execv(sys.argv[1], sys.argv[1:])";
    let output = Command::new("python3")
        .args(["-c", script, env!("CARGO_BIN_EXE_ahead")])
        .args(["run", WATCHED, "--", "sleep", "100"])
        .env("AHEAD_PRELOAD", place.library())
        .output()
        .expect("python starts");
    assert_eq!(output.status.signal(), Some(14), "{}", stderr(&output));
}

/// A program that writes to a closed descriptor, or to a pipe that nobody reads any more with SIGPIPE ignored (as services of
/// systemd have it), fails as without us.
#[test]
fn closed_descriptors_and_an_ignored_sigpipe_are_inherited() {
    let place = Place::new();
    let inner = "for n in 0 1; do [ -e /proc/$$/fd/$n ] && printf \"$n \" >&2; done; \
                 sed -n 's/^SigIgn:.*[13579bdf]...$/ignored/p' /proc/self/status >&2";
    for option in ["--no-children", WATCHED] {
        for (how, expected) in [
            ("trap '' PIPE; exec \"$@\"", "0 1 ignored"),
            ("exec \"$@\"", "0 1 "),
            ("exec \"$@\" >&-", "0 "),
            ("exec \"$@\" <&-", "1 "),
            ("trap '' PIPE; exec \"$@\" <&- >&-", "ignored"),
        ] {
            let output = Command::new("sh")
                .args(["-c", how, "sh", env!("CARGO_BIN_EXE_ahead"), "run", option])
                .args(["--", "sh", "-c", inner])
                .env("AHEAD_PRELOAD", place.library())
                .output()
                .expect("sh starts");
            assert_eq!(
                stderr(&output).trim_end_matches('\n'),
                expected,
                "{option}: {how}"
            );
        }
    }
}

#[test]
fn a_command_that_ignores_a_signal_outlives_it() {
    let script = "import signal,sys\n\
                  signal.signal(signal.SIGTERM, lambda *_: print('no', flush=True))\n\
                  signal.signal(signal.SIGUSR2, lambda *_: sys.exit(9))\n\
                  print('ready', flush=True)\n\
                  while True: signal.pause()";
    let (mut child, mut reader) = start_python(&Place::new(), script);
    rustix::process::kill_process(pid_of(&child), Signal::TERM).expect("it runs");
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    assert_eq!(line, "no\n");
    rustix::process::kill_process(pid_of(&child), Signal::USR2).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(9));
}

#[test]
fn a_stop_from_the_keyboard_stops_the_program_too() {
    let script = "import signal,sys\n\
                  signal.signal(signal.SIGTSTP, signal.SIG_IGN)\n\
                  signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))\n\
                  print('ready', flush=True)\n\
                  while True: signal.pause()";
    let (mut child, _reader) = start_python(&Place::new(), script);
    let pid = pid_of(&child);
    rustix::process::kill_process(pid, Signal::TSTP).expect("it runs");
    let waited = rustix::process::waitpid(Some(pid), WaitOptions::UNTRACED).expect("our child");
    assert!(
        waited.is_some_and(|(_, status)| status.stopped()),
        "it stops"
    );
    rustix::process::kill_process(pid, Signal::CONT).expect("it runs");
    rustix::process::kill_process(pid, Signal::TERM).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(4));
}

/// `nohup ahead run --report …` must survive the end of its terminal, and so must CMD.
#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let place = Place::new();
    let inner = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)";
    let output = Command::new("sh")
        .args([
            "-c",
            "trap '' HUP; exec \"$0\" run --report=/dev/null -- python3 -c \"$1\"",
        ])
        .args([env!("CARGO_BIN_EXE_ahead"), inner])
        .env("AHEAD_PRELOAD", place.library())
        .output()
        .expect("sh starts");
    assert_eq!(stdout(&output).trim(), "True", "{}", stderr(&output));
}

#[test]
fn the_library_comes_first_and_other_entries_stay() {
    let place = Place::new();
    let other = place.path().join("other.so");
    std::fs::copy(place.library(), &other).expect("a copy");
    let output = place
        .ahead(&["run", "sh", "-c", "echo $LD_PRELOAD"])
        .env("LD_PRELOAD", &other)
        .output()
        .expect("ahead starts");
    // By a path that another C library does not find.
    let own = format!("/usr/$LIB/../../..{}", place.library().display());
    let expected = format!("{own}:{}\n", other.display());
    assert_eq!(stdout(&output), expected);
}

#[test]
fn settings_reach_the_library_and_the_command_line_wins() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("ahead")).expect("a folder");
    place.file(
        "ahead/ahead.toml",
        "[run]\nreadahead_hit_rate = 3\nbudget_mib = 7\n",
    );
    let named = place.file("named.toml", "[run]\nbudget_mib = 8\nwindow_mib_max = 2\n");
    let named = named.to_str().expect("text");
    let arguments = [
        "run",
        "--config",
        named,
        "--set",
        "window_mib_max=4",
        "--policy",
        "kernel",
        "sh",
        "-c",
        "echo $AHEAD_SETTINGS",
    ];
    let said = stdout(&place.output(&arguments));
    for pair in [
        "policy=kernel",
        "readahead_hit_rate=3",
        "budget_mib=8",
        "window_mib_max=4",
    ] {
        assert!(said.contains(pair), "{pair} in {said}");
    }
}

#[test]
fn children_are_left_alone_when_asked() {
    let place = Place::new();
    let show = ["sh", "-c", "echo children=$AHEAD_CHILDREN"];
    let with = |option: &[&str]| place.output(&[&["run"], option, &show].concat());
    assert_eq!(stdout(&with(&["--no-children"])), "children=no\n");
    assert_eq!(stdout(&with(&[])), "children=\n");
}

#[test]
fn options_behind_the_command_are_its_own() {
    let place = Place::new();
    assert_eq!(
        stdout(&place.output(&["run", "echo", "--report", "-x"])),
        "--report -x\n"
    );
    assert_eq!(
        stdout(&place.output(&["run", "--", "printf", "%s", "--help"])),
        "--help"
    );
}

#[test]
fn standard_output_belongs_to_the_command() {
    let output = Place::new().output(&["run", "--report", "--explain", "--", "echo", "hello"]);
    assert_eq!(stdout(&output), "hello\n");
    assert!(
        stderr(&output).contains("echo ended with 0"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_report_goes_to_its_file_also_when_the_command_was_killed() {
    let place = Place::new();
    let file = place.path().join("report.json");
    let option = format!("--report={}", file.display());
    let output = place.output(&["run", "--json", &option, "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(output.status.signal(), Some(9));
    assert_eq!(stderr(&output), "");
    let text = std::fs::read_to_string(file).expect("a report");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (value["signal"].as_i64(), value["status"].is_null()),
        (Some(9), true)
    );
}

#[test]
fn a_static_program_runs_and_the_report_says_that_it_was_not_seen() {
    let place = Place::new();
    let source = place.file("static.c", "int main(void) { return 4; }\n");
    let program = place.path().join("static");
    let compiled = Command::new("cc")
        .arg("-static")
        .arg("-o")
        .args([&program, &source])
        .status();
    assert!(compiled.expect("cc").success());
    let output = place.output(&["run", "--report", program.to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        stderr(&output).contains("static binary"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_script_is_judged_by_its_interpreter() {
    let place = Place::new();
    let script = place.file("script", "#!/bin/sh -e\nexit 6\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("our file");
    let output = place.output(&["run", "--json", script.to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(6));
    let value: serde_json::Value = serde_json::from_str(&stderr(&output)).expect("JSON");
    assert_eq!(value["binary"], "/bin/sh");
}

#[test]
fn a_watched_run_leaves_no_account_behind() {
    let place = Place::new();
    let output = place.output(&["run", WATCHED, "--", "sh", "-c", "echo $AHEAD_SHARED"]);
    let path = stdout(&output).trim().to_owned();
    assert!(path.contains("ahead-"), "{path}");
    assert!(!std::path::Path::new(&path).exists(), "{path}");
}
