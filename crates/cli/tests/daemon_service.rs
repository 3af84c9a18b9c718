//! `ahead daemon` as a service: what it says, to whom, and how. A reader on the machine's own disk; what is asserted are
//! words and counts, never times. Root.

mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;
use support::daemon_process::{DaemonProcess, alone};
use support::read_file::ReadFile;
use support::{Place, assert_refused, copy_program, stderr, stdout};

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
    // It may have read other files since, such as parts of its own program.
    let mut files = of_process.as_array().expect("a list").iter();
    let known = files.find(|one| one["path"] == file.text());
    let known = known.expect("its file");
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
    copy_program(&program);
    let daemon = DaemonProcess::start(&[]);
    file.read("backward", 65_533);
    let facts = fs::metadata(file.path()).expect("a file");
    let (inode, device) = (facts.ino(), facts.dev());
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
        let mut said = String::new();
        // One connection too many is closed, before or after the line.
        let _ = connection.write_all(line);
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

/// On a terminal of its own until `q`; the snapshots of what it draws are beside the code.
#[test]
fn top_is_shown_on_a_terminal_and_nowhere_else() {
    let (_one, place) = (alone(), Place::new());
    let piped = place.output(&["top"]);
    assert_refused(&piped, 1, &["needs a terminal", "ahead status"]);
    let daemon = DaemonProcess::start(&["--mode", "observe"]);
    // Else no device may be known yet.
    ReadFile::new(8).read("backward", 0);
    let shown = Command::new("script")
        .args(["--quiet", "--return", "--command"])
        .arg(format!(
            "stty cols 80 rows 24; {} top",
            env!("CARGO_BIN_EXE_ahead")
        ))
        .arg("/dev/null")
        .env("TERM", "xterm")
        .stdin({
            let (reader, mut writer) = std::io::pipe().expect("a pipe");
            writer.write_all(b"1q").expect("space in it");
            reader
        })
        .output()
        .expect("script");
    assert!(shown.status.success(), "{}", stderr(&shown));
    let text = stdout(&shown);
    assert!(
        text.contains("mode observe") && text.contains("DEVICES"),
        "{text:?}"
    );
    daemon.end();
}

/// A line when a file begins to be steered, and none for each of its windows.
#[test]
fn the_log_has_a_line_for_a_change_of_mind() {
    let _one = alone();
    let file = ReadFile::new(64);
    let place = Place::new();
    let exclude_all_but = format!(
        "[daemon]\nlog = 'changes'\n[daemon.include]\npaths = ['{}']\n",
        file.text()
    );
    let config = place.file("daemon.toml", exclude_all_but);
    let daemon = DaemonProcess::start(&["--config", config.to_str().expect("text")]);
    let reader = file.read("backward", 0);
    let said = daemon.end();
    let begin = format!(
        "ahead daemon: change process={reader} name=\"reader\" file=\"{}\" what=\"",
        file.text()
    );
    let lines: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with(&begin))
        .collect();
    assert!(
        lines.iter().any(|line| line.contains("(backward: ")),
        "{said}"
    );
    assert!(lines.len() <= 6, "64 MiB are some dozen windows: {said}");
}

fn metrics(address: &str, path: &str) -> String {
    let mut connection = TcpStream::connect(address).expect("it listens");
    let question = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    connection.write_all(question.as_bytes()).expect("taken");
    let mut text = String::new();
    connection.read_to_string(&mut text).expect("an answer");
    text
}

#[test]
fn prometheus_is_answered_where_that_is_wanted_and_only_there() {
    let (_one, place) = (alone(), Place::new());
    // 16 MiB are read before the daemon has been woken for long.
    let file = ReadFile::new(64);
    let mut daemon = DaemonProcess::start(&["--metrics", "127.0.0.1:0"]);
    let line = daemon.next_line();
    let address = line
        .trim()
        .strip_prefix("ahead daemon: metrics: http://")
        .and_then(|rest| rest.strip_suffix("/metrics"))
        .unwrap_or_else(|| panic!("{line}"));
    file.read("backward", 0);
    let text = metrics(address, "/metrics");
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    let version = env!("CARGO_PKG_VERSION");
    assert!(text.contains(&format!("ahead_build_info{{version=\"{version}\"}} 1")));
    let device = fs::metadata(file.path()).expect("a file").dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let name = format!("ahead_requested_bytes_total{{device=\"{major}:{minor}\"}} ");
    let value = text.lines().find_map(|line| line.strip_prefix(&name));
    let value: u64 = value.expect("its disk").trim().parse().expect("a number");
    assert!(value >= 8 << 20, "{text}");
    assert!(metrics(address, "/").starts_with("HTTP/1.1 404 "));
    daemon.end();

    let outside = place.output(&["daemon", "--metrics", "0.0.0.0:9752"]);
    assert_refused(&outside, 2, &["can be reached from other machines"]);
}

/// What a dashboard shows is there to be shown.
#[test]
fn the_dashboard_asks_for_figures_that_there_are() {
    let text = include_str!("../../../packaging/grafana/ahead.json");
    let dashboard: Value = serde_json::from_str(text).expect("JSON");
    let told = ahead_daemon::metrics::text(
        ahead_daemon::status::DaemonStatus {
            devices: vec![ahead_daemon::status::DeviceStatus {
                device: 1,
                believed: None,
                account: ahead_daemon::status::PageAccount::default(),
            }],
            ..Default::default()
        },
        ahead_daemon::metrics::OwnUse::default(),
    );
    let names: Vec<_> = told
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(['{', ' ']).next().expect("a name"))
        .collect();
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let query = target["expr"].as_str().expect("a query");
            let mut words = query.split(|one: char| !one.is_ascii_alphanumeric() && one != '_');
            let figure =
                words.find(|word| word.starts_with("ahead_") || word.starts_with("process_"));
            let figure = figure.unwrap_or_else(|| panic!("{query}"));
            assert!(names.contains(&figure), "{figure} of: {query}");
            asked += 1;
        }
    }
    assert!(
        asked >= names.len() / 2,
        "{asked} of {} figures are shown",
        names.len()
    );
}

/// What a service manager hears: ready, alive, reading again, ready, ending.
#[test]
fn the_service_manager_is_told_how_it_is() {
    let _one = alone();
    let place = Place::new();
    let path = place.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    let patience = Duration::from_secs(30);
    manager.set_read_timeout(Some(patience)).expect("a time");
    let hear = |word: &str| {
        let mut bytes = [0; 4096];
        loop {
            let length = manager.recv(&mut bytes).expect(word);
            let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if text.lines().any(|line| line == word) {
                return text;
            }
        }
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_ahead"));
    command
        .args(["daemon", "--mode", "observe"])
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "400000");
    let daemon = DaemonProcess::of(command);
    let ready = hear("READY=1");
    assert!(
        ready.contains("STATUS=watching; nothing is asked for"),
        "{ready}"
    );
    hear("WATCHDOG=1");
    hear("WATCHDOG=1");
    daemon.signal("-HUP");
    assert!(hear("RELOADING=1").contains("MONOTONIC_USEC="));
    hear("READY=1");
    daemon.end();
    hear("STOPPING=1");
}

/// What every process reads is a trace, which is what was read, and which the simulator takes.
#[test]
fn the_machine_is_recorded() {
    let (_one, place) = (alone(), Place::new());
    let file = ReadFile::new(32);
    let trace = place.path().join("machine.csv");
    let path = trace.to_str().expect("text");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ahead"));
    command
        .args(["record", "--system", path])
        .stderr(std::process::Stdio::piped());
    let mut recording = command.spawn().expect("ahead starts");
    let mut said = std::io::BufReader::new(recording.stderr.take().expect("piped"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).expect("a line");
    assert_eq!(line, "ahead: recording\n");
    let readers = [
        file.read("backward", 0),
        file.read("mapped-forward", 65_533),
    ];
    let asked = Command::new("kill")
        .args(["-INT", &recording.id().to_string()])
        .status();
    assert!(asked.expect("kill").success());
    let mut last = String::new();
    said.read_to_string(&mut last).expect("text");
    assert!(recording.wait().expect("ended").success(), "{last}");
    assert!(
        last.starts_with("ahead: ") && last.contains(" reads of "),
        "{last}"
    );

    let text = fs::read_to_string(&trace).expect("a trace");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().expect("a header");
    let column = |name: &str| names.iter().position(|one| *one == name).expect(name);
    let (at, process, operation) = (column("at_ns"), column("process"), column("operation"));
    let (name, offset, length) = (column("file"), column("offset"), column("length"));
    let rows: Vec<_> = lines.filter(|row| row[name] == file.text()).collect();
    let number = |row: &[&str], column: usize| row[column].parse::<u64>().expect("a number");
    assert!(rows.is_sorted_by_key(|row| number(row, at)));
    let of = |reader: u32, what: &str| {
        let is_it =
            |row: &&Vec<&str>| number(row, process) == u64::from(reader) && row[operation] == what;
        rows.iter().filter(is_it).cloned().collect::<Vec<_>>()
    };
    let bytes = |rows: &[Vec<&str>]| rows.iter().map(|row| number(row, length)).sum::<u64>();
    let read = of(readers[0], "read");
    assert_eq!(bytes(&read), 32 << 20, "each byte once");
    assert!(read.is_sorted_by_key(|row| std::cmp::Reverse(number(row, offset))));
    // Pages that the kernel maps around a fault count as touched; of large folios it does not tell all.
    let touched = of(readers[1], "fault");
    assert!(
        (30 << 20..=33 << 20).contains(&bytes(&touched)),
        "{} bytes",
        bytes(&touched)
    );

    let simulated = place.output(&["simulate", "--workload", path, "--disk", "hdd"]);
    assert!(simulated.status.success(), "{}", stderr(&simulated));
    let neither = place.output(&["record", path]);
    assert_refused(&neither, 2, &["--system"]);
}
