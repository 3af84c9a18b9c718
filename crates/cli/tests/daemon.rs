//! `ahead daemon` on this machine's kernel: processes that know nothing of it, linked statically, reading an emulated
//! disk. What is asserted are requests and bytes that reached the disk, never times. Root.

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Place, assert_refused, stderr, stdout};

/// One daemon at a time: all of them would see all readers.
static ONE: Mutex<()> = Mutex::new(());

const FILE_BYTES: u64 = 96 << 20;

/// A disk with one arm, a file on it that nothing has read, and the static reader.
struct Ground {
    place: Place,
    name: String,
    mount: PathBuf,
    reader: PathBuf,
    _one: MutexGuard<'static, ()>,
}

impl Ground {
    fn new(what: &str) -> Self {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Place::new();
        let name = format!("test-daemon-{what}-{}", std::process::id());
        let mount = place.path().join("mount");
        let options = [
            "--model", "hdd", "--size", "256M", "--scale", "4", "--mount",
        ];
        let path = mount.to_str().expect("text").to_owned();
        let path = path.as_str();
        let create = [&["disk", "create", &name][..], &options, &[path]].concat();
        let output = place.output(&create);
        assert!(output.status.success(), "{}", stderr(&output));
        let mut ground = Self {
            place,
            name,
            mount,
            reader: PathBuf::new(),
            _one: one,
        };
        ground.reader = ground.build("reader", &["-static"]);
        let output = ground.place.output(&["device", "set", path, "128K"]);
        assert!(output.status.success(), "{}", stderr(&output));
        ground.write("file");
        ground
    }

    fn build(&self, name: &str, options: &[&str]) -> PathBuf {
        let built = self.place.path().join(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/reader.c");
        let status = Command::new("cc")
            .args(options)
            .args(["-O1", "-Wall", "-o"])
            .args([&built, &source])
            .status();
        assert!(status.expect("a C compiler").success());
        built
    }

    /// A file of numbers that tell their places, out of memory again.
    fn write(&self, name: &str) {
        let path = self.mount.join(name);
        let mut bytes = Vec::new();
        for page in 0..FILE_BYTES / 4096 {
            bytes.resize(bytes.len() + 4096, u8::try_from(page % 251).expect("small"));
        }
        let mut file = fs::File::create(&path).expect("a file system");
        file.write_all(&bytes).expect("space on it");
        file.sync_all().expect("written");
        self.evict(name);
    }

    fn evict(&self, name: &str) {
        let file = fs::File::open(self.mount.join(name)).expect("a file");
        let advice = rustix::fs::Advice::DontNeed;
        rustix::fs::fadvise(&file, 0, None, advice).expect("a hint");
    }

    fn path(&self, name: &str) -> String {
        self.mount.join(name).to_str().expect("text").to_owned()
    }

    /// Starts a reader that waits before it reads.
    fn hold(&self, pattern: &str, name: &str) -> Held {
        self.hold_with(pattern, name, &["hold"])
    }

    fn hold_with(&self, pattern: &str, name: &str, holds: &[&str]) -> Held {
        let mut child = Command::new(&self.reader)
            .args([pattern, &self.path(name)])
            .args(holds)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the reader");
        let mut said = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        Held { child, said }
    }

    /// What reached the disk while a reader read the whole of `file` as `pattern`, and what it summed up.
    fn read(&self, pattern: &str) -> Seen {
        self.evict("file");
        let held = self.hold(pattern, "file");
        self.reset();
        let sum = held.go();
        self.seen(sum)
    }

    fn reset(&self) {
        self.stats(&["--reset"]);
    }

    fn stats(&self, more: &[&str]) -> Value {
        let all = [&["disk", "stats", &self.name, "--json"][..], more].concat();
        let output = self.place.output(&all);
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).expect("JSON")
    }

    fn seen(&self, sum: u64) -> Seen {
        let stats = self.stats(&[]);
        let number = |name: &str| stats[name].as_u64().expect("a number");
        Seen {
            requests: number("reads"),
            bytes: number("read_bytes"),
            seeks: number("seeks"),
            sum,
        }
    }

    /// A random reader in the middle of its reads, whose open file the daemon has taken the window from.
    fn narrowed_at_half(&self) -> Held {
        let mut held = self.hold_with("mapped-random", "file", &["hold", "half"]);
        held.let_go();
        assert_eq!(held.line(), "half");
        let inode = fs::metadata(self.mount.join("file")).expect("a file").ino();
        let noted = format!("\"inode\": {inode}");
        let journal = Path::new("/run/ahead/daemon/narrowed.json");
        let began = Instant::now();
        while !fs::read_to_string(journal).is_ok_and(|text| text.contains(&noted)) {
            assert!(began.elapsed() < Duration::from_secs(30), "not narrowed");
            std::thread::sleep(Duration::from_millis(20));
        }
        held
    }

    /// The window of the disk, in KiB.
    fn window(&self) -> u64 {
        let device = fs::metadata(self.mount.join("file")).expect("a file").dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let file = format!("/sys/dev/block/{major}:{minor}/queue/read_ahead_kb");
        let text = fs::read_to_string(file).expect("a block device");
        text.trim().parse().expect("a number")
    }

    fn daemon(&self, options: &[&str]) -> Running {
        let all = [&["daemon"][..], options].concat();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ahead"));
        command.args(all).stderr(Stdio::piped());
        let mut child = command.spawn().expect("ahead starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        assert!(line.starts_with("ahead daemon: "), "{line}");
        Running { child, said, line }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // The loop device stays, and so would the note of its window.
        let path = self.mount.to_str().expect("text");
        let _ = self.place.output(&["device", "undo", path]);
        let _ = self.place.output(&["disk", "destroy", &self.name]);
    }
}

struct Held {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Held {
    fn let_go(&mut self) {
        let input = self.child.stdin.as_mut().expect("piped");
        input.write_all(b"go\n").expect("it waits");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    /// Lets it read to its end; its sum.
    fn go(mut self) -> u64 {
        self.let_go();
        let line = self.line();
        assert!(self.child.wait().expect("ended").success());
        let sum = line.strip_prefix("sum ").expect("a sum");
        sum.parse().expect("a number")
    }
}

#[derive(Debug)]
struct Seen {
    requests: u64,
    bytes: u64,
    seeks: u64,
    sum: u64,
}

/// A daemon that runs.
struct Running {
    child: Child,
    said: BufReader<ChildStderr>,
    line: String,
}

impl Running {
    /// Asks it to end; what it said last.
    fn end(mut self) -> String {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(asked.expect("kill").success());
        let mut last = String::new();
        while self.said.read_line(&mut last).expect("lines") > 0 {}
        assert!(self.child.wait().expect("ended").success(), "{last}");
        last
    }

    /// Has it read its settings again, and say so.
    fn read_again(&mut self, begin: &str) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-HUP", &pid]).status();
        assert!(asked.expect("kill").success());
        let mut line = String::new();
        self.said.read_line(&mut line).expect("a line");
        let said = line.strip_prefix("ahead daemon: ").expect("its line");
        assert!(said.starts_with(begin), "{said}");
    }

    fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("ended");
    }

    /// Descriptors that it holds of files below `folder`.
    fn holds(&self, folder: &Path) -> usize {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it runs");
        let targets = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        targets.filter(|target| target.starts_with(folder)).count()
    }
}

/// It goes also when its test fails.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_static_program_that_reads_backward_is_steered() {
    let ground = Ground::new("backward");
    let alone = ground.read("backward");
    let daemon = ground.daemon(&[]);
    let helped = ground.read("backward");
    daemon.end();
    assert_eq!(helped.sum, alone.sum, "the same bytes");
    assert!(
        helped.bytes <= alone.bytes * 11 / 10,
        "{helped:?} {alone:?}"
    );
    assert!(helped.requests * 4 < alone.requests, "{helped:?} {alone:?}");
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");
}

/// What a library in the process can never see.
#[test]
fn page_faults_of_a_mapping_that_is_read_backward_are_steered() {
    let ground = Ground::new("faults");
    let alone = ground.read("mapped-backward");
    let daemon = ground.daemon(&["--mode", "advise"]);
    let helped = ground.read("mapped-backward");
    daemon.end();
    assert_eq!(helped.sum, alone.sum, "the same bytes");
    assert!(
        helped.bytes <= alone.bytes * 11 / 10,
        "{helped:?} {alone:?}"
    );
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");
}

#[test]
fn a_random_reader_of_a_mapping_does_not_pay_a_window_for_a_page() {
    let ground = Ground::new("random");
    let sum = ground.read("mapped-random").sum;
    let window = ground.window();
    ground.evict("file");
    let daemon = ground.daemon(&[]);
    let held = ground.narrowed_at_half();
    assert_eq!(ground.window(), window, "only for a moment");
    ground.reset();
    assert_eq!(held.go(), sum, "the same bytes");
    let helped = ground.seen(sum);
    daemon.end();
    // 200 touches, a page each, and what the file system reads for itself.
    assert!(helped.bytes <= 2 * 200 * 4096, "{helped:?}");
    assert_eq!(ground.window(), window);
}

/// The bytes of a scan are those of the file, mapped or not.
#[test]
fn scans_are_read_once() {
    let ground = Ground::new("scans");
    let daemon = ground.daemon(&[]);
    for pattern in ["forward", "mapped-forward"] {
        let helped = ground.read(pattern);
        let allowed = FILE_BYTES + FILE_BYTES / 20;
        assert!(helped.bytes <= allowed, "{pattern}: {helped:?}");
    }
    daemon.end();
}

#[test]
fn a_reader_that_was_there_before_the_daemon_is_steered() {
    let ground = Ground::new("before");
    let alone = ground.read("backward");
    ground.evict("file");
    let held = ground.hold("backward", "file");
    let daemon = ground.daemon(&[]);
    ground.reset();
    let sum = held.go();
    let helped = ground.seen(sum);
    daemon.end();
    assert_eq!(helped.sum, alone.sum);
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");
}

#[test]
fn an_observing_daemon_asks_for_nothing() {
    let ground = Ground::new("observe");
    let alone = ground.read("backward");
    let daemon = ground.daemon(&["--mode", "observe"]);
    assert!(
        daemon.line.contains("nothing is asked for"),
        "{}",
        daemon.line
    );
    let watched = ground.read("backward");
    let last = daemon.end();
    assert_eq!(watched.seeks, alone.seeks);
    assert!(last.contains(" 0 decisions"), "{last}");
}

/// Killed in the middle of steering: no descriptor, no window of the device, and the open file has its window again
/// after the next start.
#[test]
fn a_daemon_that_was_killed_leaves_nothing_that_cannot_be_put_back() {
    let ground = Ground::new("killed");
    let window = ground.window();
    let daemon = ground.daemon(&[]);
    let held = ground.narrowed_at_half();
    assert_eq!(
        daemon.holds(&ground.mount),
        0,
        "a duplicate lives for one call"
    );
    daemon.kill();
    assert_eq!(ground.window(), window);

    let undone = ground.place.output(&["daemon", "--undo"]);
    assert!(undone.status.success(), "{}", stderr(&undone));
    let said = stderr(&undone);
    assert!(said.contains("the windows of 1 open files"), "{said}");
    assert!(!Path::new("/run/ahead/daemon/narrowed.json").exists());
    ground.reset();
    held.go();
    let wide = ground.seen(0);
    // 200 touches at other places of a file of 768 windows.
    assert!(wide.bytes > 50 * (128 << 10), "{wide:?}");
}

/// What the owner of the machine excludes is read as without a daemon, also when that is said while it runs.
#[test]
fn what_is_excluded_is_untouched() {
    let ground = Ground::new("excluded");
    let alone = ground.read("backward");
    let file = ground.path("file");
    let text = format!("[daemon.exclude]\npaths = ['{file}']\n");
    let config = ground.place.file("ahead.toml", &text);
    let mut daemon = ground.daemon(&["--config", config.to_str().expect("text")]);
    let excluded = ground.read("backward");
    assert_eq!(excluded.seeks, alone.seeks);

    fs::write(&config, "[daemon]\nmode = 'advise'\n").expect("our file");
    daemon.read_again("the settings were read again\n");
    let helped = ground.read("backward");
    assert!(helped.seeks * 4 < alone.seeks, "{helped:?} {alone:?}");

    // What makes no sense changes nothing.
    fs::write(&config, "[daemon]\nmode = 'fast'\n").expect("our file");
    daemon.read_again("the settings stay as they were: ");
    daemon.end();
}

#[test]
fn there_is_one_daemon() {
    let ground = Ground::new("one");
    let daemon = ground.daemon(&["--mode", "observe"]);
    let pid = daemon.child.id().to_string();
    for second in [&["daemon"][..], &["daemon", "--undo"]] {
        let output = ground.place.output(second);
        assert_refused(&output, 1, &["a daemon runs already", &pid]);
    }
    daemon.end();
}

/// Its advice ends what was done for it.
#[test]
fn a_program_that_says_random_is_left_to_it() {
    let ground = Ground::new("advised");
    let alone = ground.read("backward-advised");
    let daemon = ground.daemon(&[]);
    let helped = ground.read("backward-advised");
    daemon.end();
    assert_eq!(helped.sum, alone.sum);
    // The half before was read in large requests, the half after as it asked, but for two requests of 8 MiB that were
    // on their way.
    let half = alone.seeks / 2;
    assert!(helped.seeks + 256 >= half, "{helped:?} {alone:?}");
    assert!(helped.seeks < half * 5 / 4, "{helped:?} {alone:?}");
}

/// The library sees more than can be seen from outside.
#[test]
fn a_process_that_has_the_library_is_left_to_it() {
    let ground = Ground::new("library");
    let alone = ground.read("backward");
    let shared = ground.build("shared-reader", &[]);
    let daemon = ground.daemon(&[]);
    ground.evict("file");
    ground.reset();
    let shared = shared.to_str().expect("text");
    let file = ground.path("file");
    // Whose library only watches.
    let status = Command::new(env!("CARGO_BIN_EXE_ahead"))
        .args(["run", "--policy", "kernel", "--", shared, "backward", &file])
        .env("AHEAD_PRELOAD", support::library())
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("ahead starts").success());
    let seen = ground.seen(0);
    daemon.end();
    assert_eq!(seen.seeks, alone.seeks, "as without a daemon");
}

/// Whatever it does for the files of a mount, that can be unmounted the moment its users are gone.
#[test]
fn a_file_system_is_not_kept_busy() {
    let ground = Ground::new("unmount");
    let daemon = ground.daemon(&[]);
    ground.read("backward");
    let began = Instant::now();
    let output = ground.place.output(&["disk", "destroy", &ground.name]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(began.elapsed() < Duration::from_secs(60));
    daemon.end();
}

/// Root is told all, another user only of files that own processes read.
#[test]
fn the_daemon_says_what_it_does_to_whom_it_concerns() {
    let ground = Ground::new("status");
    let none = ground.place.output(&["status"]);
    assert_refused(&none, 1, &["no daemon runs here"]);
    let daemon = ground.daemon(&[]);
    ground.read("backward");
    let file = ground.path("file");
    let output = ground.place.output(&["status", &file, "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let status: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let [known] = status["files"].as_array().expect("files").as_slice() else {
        panic!("one file: {status}");
    };
    assert_eq!(known["pattern"], "backward", "{known}");
    assert!(known["requested"].as_u64() > Some(0), "{known}");
    let table = stdout(&ground.place.output(&["status"]));
    assert!(
        table.contains("mode full") && table.contains("backward"),
        "{table}"
    );

    let program = ground.place.path().join("ahead");
    fs::copy(env!("CARGO_BIN_EXE_ahead"), &program).expect("a copy");
    let open = || fs::Permissions::from_mode(0o755);
    fs::set_permissions(ground.place.path(), open()).expect("our folder");
    fs::set_permissions(&program, open()).expect("our file");
    let other = Command::new("setpriv")
        .args(["--reuid", "65534", "--clear-groups"])
        .arg(&program)
        .args(["status", "--json"])
        .output()
        .expect("setpriv");
    assert!(other.status.success(), "{}", stderr(&other));
    let seen: Value = serde_json::from_str(&stdout(&other)).expect("JSON");
    // It may have read its own program.
    let mut files = seen["files"].as_array().expect("files").iter();
    assert!(files.all(|one| one["inode"] != known["inode"]), "{seen}");
    daemon.end();
}

#[test]
fn undo_and_a_mode_are_not_said_together() {
    let place = Place::new();
    let output = place.output(&["daemon", "--undo", "--mode", "advise"]);
    assert_refused(&output, 2, &["--undo", "--mode"]);
}
