//! `ahead daemon` as a service: what it says, to whom, and how. A reader on the machine's own disk; what is asserted are
//! words and counts, never times. Root.

mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::process::{Command, Output};

use serde_json::Value;
use support::daemon::{DaemonProcess, ReadFile, alone};
use support::{Place, assert_refused, stderr, stdout};

const SOCKET: &str = "/run/ahead-daemon/control.sock";

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_str(&stdout(output)).expect("JSON")
}

/// A line of reason, and the requests of a reader that has ended, oldest first.
#[test]
fn a_file_is_explained_with_what_was_decided_about_it() {
    let (_one, place) = (alone(), Place::new());
    let file = ReadFile::new(64);
    let none = place.output(&["explain", &file.text()]);
    assert_refused(&none, 1, &["no daemon runs here"]);
    let daemon = DaemonProcess::start(&[]);
    let reader = file.read("backward", 0);
    let output = place.output(&["explain", &file.text()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let (first, rest) = text.split_once('\n').expect("lines");
    let reason = format!("{}, read by {reader} reader, backward: ", file.text());
    assert!(first.starts_with(&reason), "{text}");
    let decisions = rest.lines().filter(|line| line.starts_with("  +")).count();
    assert!((1..=32).contains(&decisions), "{text}");
    assert!(
        rest.contains(" KiB at ") && rest.contains("(backward: "),
        "{text}"
    );
    let heading = format!("\nahead: [{reader}] ");
    assert!(text.contains(&heading), "{text}");

    let number = reader.to_string();
    let of_process = json(&place.output(&["explain", &number, "--json"]));
    let known = &of_process[0];
    let history = known["history"].as_array().expect("a history");
    assert_eq!(history.len(), decisions, "{known}");
    let times: Vec<_> = history.iter().map(|one| one["at_ns"].as_u64()).collect();
    assert!(times.is_sorted(), "{known}");
    let pages: u64 = history.iter().filter_map(|one| one["pages"].as_u64()).sum();
    let requested = known["requested"].as_u64().expect("a number");
    assert!(pages > 0 && pages <= requested, "{known}");

    let unknown = place.file("unknown", "x");
    let output = place.output(&["explain", unknown.to_str().expect("text")]);
    assert!(stdout(&output).starts_with("no file of this is known"));
    let nowhere = place.output(&["explain", "/nowhere"]);
    assert_refused(&nowhere, 1, &["'/nowhere' is no file"]);
    daemon.end();
}

/// Also when the process has ended, and its number may be another's.
#[test]
fn users_hear_of_files_that_their_own_processes_read() {
    let (_one, place) = (alone(), Place::new());
    let file = ReadFile::new(16);
    let program = file.folder().join("ahead");
    fs::copy(env!("CARGO_BIN_EXE_ahead"), &program).expect("a copy");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("our file");
    let daemon = DaemonProcess::start(&[]);
    file.read("backward", 65_533);
    let inode = {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata(file.path()).expect("a file").ino()
    };
    let seen = |user: &str| {
        let output = Command::new("setpriv")
            .args(["--reuid", user, "--clear-groups"])
            .arg(&program)
            .args(["status", "--json"])
            .output();
        let status = json(&output.expect("setpriv"));
        let files = status["files"].as_array().expect("files");
        let is_known = files.iter().any(|one| one["inode"] == inode);
        (
            is_known,
            status["devices"].as_array().expect("a list").len(),
        )
    };
    assert_eq!(seen("65533"), (true, 0), "its own");
    assert_eq!(seen("65534"), (false, 0), "another's");
    let all = json(&place.output(&["status", "--json"]));
    let device = fs::metadata(file.path()).map(|facts| std::os::unix::fs::MetadataExt::dev(&facts));
    let device = device.expect("a file");
    let mut devices = all["devices"].as_array().expect("a list").iter();
    let known = devices
        .find(|one| one["device"] == device)
        .expect("its disk");
    assert!(known["requested"].as_u64() > Some(0), "{known}");
    daemon.end();
}

/// Who connects and says nothing keeps neither others nor the daemon from their work.
#[test]
fn the_socket_is_not_held_by_who_says_nothing_or_nonsense() {
    let (_one, place) = (alone(), Place::new());
    let daemon = DaemonProcess::start(&["--mode", "observe"]);
    let silent: Vec<_> = (0..64)
        .map(|_| UnixStream::connect(SOCKET).expect("a daemon"))
        .collect();
    drop(silent);
    let refused = |line: &[u8]| {
        let mut connection = UnixStream::connect(SOCKET).expect("a daemon");
        connection.write_all(line).expect("taken");
        let mut said = String::new();
        let _ = connection.read_to_string(&mut said);
        said
    };
    for line in [&b"\xff\xfe\n"[..], b"{}\n", b"{\"version\":1}\n"] {
        let mut said = refused(line);
        while said.is_empty() {
            // The places of those before are given back a moment after they have gone.
            said = refused(line);
        }
        assert!(said.starts_with("{\"version\":2,\"refused\":\""), "{said}");
    }
    assert!(place.output(&["status"]).status.success());
    daemon.end();
    assert!(!std::path::Path::new(SOCKET).exists());
}
