//! What one run learns of a disk the next one begins with. The data lies on a disk, and is read past the
//! cache: what a read waits for is the disk's affair, that it waits is ours.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ahead_engine::estimates::{
    self, Estimates, FILE_BYTES, SharedEstimate, words_of, words_of_file,
};
use ahead_policy::device::DeviceEstimate;
use ahead_units::Timestamp;
use serde_json::Value;
use support::{Place, library, stderr, stdout};

/// Where the kept part begins in the file that processes share, and its length.
const KEPT: std::ops::Range<usize> = 6144..8192;

/// Reads a page at 200 places of the file, none of which is in memory, and prints how many devices were
/// known before that to this run or to all.
const SCRIPT: &str = "\
import os, random, struct, sys
where = os.environ.get('AHEAD_GROUP', ':/dev/null').split(':', 1)[1]
def devices(at):
    words = struct.unpack('<256Q', open(where, 'rb').read()[at:at + 2048])
    return sum(word != 0 for word in words[::4])
print(devices(6144), devices(8192), os.environ.get('AHEAD_DEVICES'))
f = os.open(sys.argv[1], os.O_RDONLY)
n = os.fstat(f).st_size // 4096
places = list(range(0, n, n // 200))
random.Random(1).shuffle(places)
for at in places:
    os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(f, 4096, at * 4096)
print(devices(6144), devices(8192))
";

/// The tests read one disk, and who reads beside others learns little from waits.
static DISK: Mutex<()> = Mutex::new(());

/// A user with a cache, a machine that was just started, and a file on a disk that nobody else reads.
struct User {
    place: Place,
    disk: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl User {
    fn new() -> Self {
        let alone = DISK.lock().unwrap_or_else(PoisonError::into_inner);
        let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let data = fs::File::create(disk.path().join("data")).expect("a file");
        let mut all = &data;
        std::io::Write::write_all(&mut all, &vec![7; 16 << 20]).expect("a disk with space");
        data.sync_all().expect("a disk");
        // What the interpreter needs is in memory afterwards, mostly: it may lie on another disk.
        let warm = ["-c", "import os, random, struct, sys"];
        let warm = Command::new("python3").args(warm).status();
        assert!(warm.expect("python3").success());
        let place = Place::new();
        fs::create_dir(place.path().join("first-start")).expect("a folder");
        Self {
            place,
            disk,
            _alone: alone,
        }
    }

    fn kept(&self) -> PathBuf {
        self.place.path().join("cache/ahead/devices")
    }

    /// What the processes of a machine that was started `start` share.
    fn shared(&self, start: &str) -> Vec<AtomicU64> {
        let shared = self
            .place
            .path()
            .join(start)
            .join(format!("ahead-members.{}", estimates::VERSION));
        words_of(&fs::read(shared).expect("a file")[KEPT])
    }

    fn devices_kept(&self) -> usize {
        let words = words_of_file(&fs::read(self.kept()).expect("a file"));
        Estimates::new(&words.expect("one of estimates"), 0).devices()
    }

    /// `ahead run OPTIONS`, on a machine that was started `start`.
    fn run(&self, start: &str, options: &[&str], command: &[&str]) -> Command {
        let memory = self.place.path().join(start);
        fs::create_dir_all(&memory).expect("a folder");
        let mut ahead = self.place.ahead(&["run"]);
        ahead
            .args(options)
            .arg("--")
            .args(command)
            .arg(self.disk.path().join("data"))
            .env("AHEAD_PRELOAD", library())
            .env("XDG_RUNTIME_DIR", memory)
            .env("XDG_CACHE_HOME", self.place.path().join("cache"))
            .env_remove("AHEAD_GROUP")
            .env_remove("AHEAD_DEVICES");
        ahead
    }

    /// The lines that the script prints, and the report, which is empty without `--json`.
    fn read(&self, start: &str, options: &[&str]) -> (Vec<String>, Value) {
        let output = self
            .run(start, options, &["python3", "-c", SCRIPT])
            .output()
            .expect("ahead starts");
        assert!(output.status.success(), "{}", stderr(&output));
        let report = serde_json::from_str(&stderr(&output)).unwrap_or_default();
        (stdout(&output).lines().map(str::to_owned).collect(), report)
    }
}

fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("a clock").as_secs()
}

/// What identifies the one device in these words.
fn identity_in(words: &[AtomicU64]) -> u64 {
    let identities = words.iter().step_by(4).map(|word| word.load(Relaxed));
    identities.max().expect("words")
}

/// The access time that these words have of the one device, in nanoseconds.
fn access_ns_in(words: &[AtomicU64]) -> u64 {
    let device = SharedEstimate::new();
    let unlike_any = DeviceEstimate {
        access_ns: 1_000,
        bytes_per_second: 1_000_000,
        depth: 1,
    };
    device.set_identity(identity_in(words), unlike_any);
    let heard = device.hear(Estimates::new(words, now_s()), Timestamp::new(0));
    heard.expect("a device").estimate.access_ns
}

/// Replaces what is kept of the one device.
fn believe(kept: &Path, estimate: DeviceEstimate) {
    let words = words_of_file(&fs::read(kept).expect("a file")).expect("of estimates");
    let identity = identity_in(&words);
    let fresh = words_of(&[]);
    let all = Estimates::new(&fresh, now_s() - 3600);
    let device = SharedEstimate::new();
    device.set_identity(identity, DeviceEstimate::FLASH);
    assert!(device.tell(all, estimate, None, Timestamp::new(0)));
    fs::write(kept, all.file()).expect("a file");
}

#[test]
fn a_run_begins_with_what_the_one_before_it_learned_also_after_a_restart() {
    let user = User::new();
    let kept = user.kept().display().to_string();
    // The interpreter may have waited for its own files on the same disk before.
    let (said, report) = user.read("first-start", &["--json"]);
    assert!(said[0].ends_with(&kept), "{said:?}");
    assert_eq!((said[1].as_str(), user.devices_kept()), ("1 0", 1));
    let first = &report["devices"][0]["access_ns_first"];
    assert!(
        first == 120_000 || first == 8_000_000,
        "a guess: {report:#}"
    );

    // In the same memory. Where others used the disk meanwhile, what was learned may be the guess.
    let learned = access_ns_in(&user.shared("first-start"));
    let (said, report) = user.read("first-start", &["--json"]);
    assert_eq!(said, [format!("1 0 {kept}"), "1 0".to_owned()]);
    assert_eq!(report["devices"][0]["access_ns_first"], learned);

    // What only the file can have known.
    let unusual = DeviceEstimate {
        access_ns: 777_000,
        bytes_per_second: 333_000_000,
        depth: 5,
    };
    believe(&user.kept(), unusual);
    let (said, report) = user.read("second-start", &["--json"]);
    assert_eq!(said, [format!("1 0 {kept}"), "1 0".to_owned()]);
    assert_eq!(report["devices"][0]["access_ns_first"], 777_000);
    assert_eq!(user.devices_kept(), 1);

    let (_, report) = user.read("second-start", &["--json", "--device-cache", "no"]);
    assert_eq!(
        &report["devices"][0]["access_ns_first"], first,
        "a guess again"
    );
}

/// Without a report there is no process of ours beside the program, and most processes are killed or
/// end without saying so.
#[test]
fn what_a_killed_process_learned_is_kept() {
    let user = User::new();
    let script = format!("{SCRIPT}\nsys.stdout.flush()\nos.kill(os.getpid(), 9)");
    let output = user
        .run("first-start", &[], &["python3", "-c", &script])
        .output()
        .expect("ahead starts");
    assert_eq!(stdout(&output).lines().last(), Some("1 0"));
    assert_eq!((stderr(&output).as_str(), user.devices_kept()), ("", 1));
}

#[test]
fn the_processes_of_a_run_learn_together_and_nothing_is_kept_where_that_was_said() {
    let user = User::new();
    let twice = "python3 -c \"$S\" \"$0\" && exec python3 -c \"$S\" \"$0\"";
    for round in 0..2 {
        let output = user
            .run(
                "first-start",
                &["--device-cache", "no"],
                &["sh", "-c", twice],
            )
            .env("S", SCRIPT)
            .output()
            .expect("ahead starts");
        let said = stdout(&output);
        let said: Vec<&str> = said.lines().collect();
        // The device has a slot for each run.
        let (before, after) = (format!("0 {round}"), format!("0 {}", round + 1));
        let begins = |known: &str| said[0] == format!("{known} run");
        assert!(begins(&before) || begins(&after), "{said:?}");
        let then = [after.clone(), format!("{after} run"), after];
        assert_eq!(said[1..], then, "{}", stderr(&output));
    }
    assert!(!user.kept().exists());
}

#[test]
fn two_processes_at_the_same_time_have_one_device() {
    let user = User::new();
    // While both read, neither learns from waits that are the other's doing. They may begin and end together:
    // so a third one reads when they are gone.
    let one = "python3 -c \"$S\" \"$0\" >/dev/null";
    let both = &format!("{one} & {one}; wait; {one}");
    let output = user
        .run("first-start", &["--json"], &["sh", "-c", both])
        .env("S", SCRIPT)
        .output()
        .expect("ahead starts");
    let report: Value = serde_json::from_str(&stderr(&output)).expect("JSON");
    assert!(report["processes"].as_u64() >= Some(3), "{report:#}");
    let words = user.shared("first-start");
    assert_eq!(Estimates::new(&words, 0).devices(), 1);
    assert_eq!(report["devices"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_home_that_cannot_be_used_changes_nothing_and_nothing_is_said() {
    let user = User::new();
    fs::create_dir_all(user.kept().parent().expect("a folder")).expect("a folder");
    for (what, content) in [("damaged", vec![9; FILE_BYTES]), ("short", vec![1, 2, 3])] {
        fs::write(user.kept(), content).expect("a file");
        let (said, _) = user.read(what, &[]);
        assert_eq!(said[1], "1 0", "{what}");
        assert_eq!(user.devices_kept(), 1, "{what}");
    }
    fs::remove_file(user.kept()).expect("a file");
    fs::create_dir(user.kept()).expect("a folder");
    let output = user
        .run("folder", &[], &["python3", "-c", SCRIPT])
        .output()
        .expect("ahead starts");
    assert_eq!(stderr(&output), "");
    assert!(stdout(&output).ends_with(" run\n0 1\n"));
}
