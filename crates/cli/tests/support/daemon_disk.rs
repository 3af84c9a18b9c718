//! An emulated disk with a file that nothing has read, a reader that is linked statically, and a daemon: what reaches the
//! disk is counted.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::daemon_process::alone;
use super::{Place, stderr, stdout};

pub(crate) const FILE_BYTES: u64 = 96 << 20;

/// So large that an arm, too, is better off without windows where few of its pages are read at random.
const LARGE_FILE_BYTES: u64 = 640 << 20;

/// Waits until something is so, for `seconds` at most.
pub(crate) fn await_within(seconds: u64, what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        let is_over = began.elapsed() >= Duration::from_secs(seconds);
        assert!(!is_over, "not {what} within {seconds} s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A disk with one arm, a file on it that nothing has read, and the static reader.
pub(crate) struct Ground {
    pub(crate) place: Place,
    pub(crate) name: String,
    pub(crate) mount: PathBuf,
    reader: PathBuf,
    _one: MutexGuard<'static, ()>,
}

impl Ground {
    pub(crate) fn new(what: &str) -> Self {
        Self::with_file(what, "400M", FILE_BYTES)
    }

    /// For readers of a mapping whose window is taken away.
    pub(crate) fn large(what: &str) -> Self {
        Self::with_file(what, "900M", LARGE_FILE_BYTES)
    }

    /// At the speed that such a disk has.
    pub(crate) fn at_real_speed(what: &str, model: &str, disk: &str, bytes: u64) -> Self {
        Self::made(what, &["--model", model, "--size", disk], bytes)
    }

    fn with_file(what: &str, disk: &str, bytes: u64) -> Self {
        Self::made(
            what,
            &["--model", "hdd", "--scale", "4", "--size", disk],
            bytes,
        )
    }

    fn made(what: &str, disk: &[&str], bytes: u64) -> Self {
        let one = alone();
        let place = Place::new();
        let name = format!("test-daemon-{what}-{}", std::process::id());
        let mount = place.path().join("mount");
        let path = mount.to_str().expect("text").to_owned();
        let path = path.as_str();
        let create = [&["disk", "create", &name][..], disk, &["--mount", path]].concat();
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
        ground.write_long("file", bytes);
        ground
    }

    pub(crate) fn build(&self, name: &str, options: &[&str]) -> PathBuf {
        let built = self.place.path().join(name);
        super::build_reader(&built, options);
        built
    }

    /// The same with another file system on the disk.
    pub(crate) fn on(file_system: &str) -> Self {
        Self::new(file_system).with_file_system(file_system, FILE_BYTES)
    }

    /// [`Self::large`] with another file system on the disk.
    pub(crate) fn large_on(file_system: &str) -> Self {
        Self::large(file_system).with_file_system(file_system, LARGE_FILE_BYTES)
    }

    fn with_file_system(self, file_system: &str, bytes: u64) -> Self {
        let make = format!("mkfs.{file_system}");
        let device = fs::metadata(&self.mount).expect("a mount").dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).expect("a device");
        let node = Path::new("/dev").join(link.file_name().expect("its name"));
        // Without a user it goes.
        let _used = fs::File::open(&node).expect("a device");
        let mount = self.mount.as_os_str();
        let steps = [
            ("umount", vec![mount]),
            (
                make.as_str(),
                vec!["-q".as_ref(), "-f".as_ref(), node.as_os_str()],
            ),
            ("mount", vec![node.as_os_str(), mount]),
        ];
        for (program, arguments) in steps {
            let status = Command::new(program).args(arguments).status();
            assert!(status.expect(program).success(), "{program}");
        }
        self.write_long("file", bytes);
        self
    }

    /// Does it while the file lies in the lower layer of an overlay on this disk, and is read through that. It stays in the layer's folder.
    pub(crate) fn in_overlay<T>(&mut self, act: impl FnOnce(&Self) -> T) -> T {
        let layers = ["low", "up", "work"].map(|name| self.path(name));
        for folder in &layers {
            fs::create_dir(folder).expect("an empty disk");
        }
        let [low, up, work] = &layers;
        fs::rename(self.path("file"), Path::new(low).join("file")).expect("one file system");
        let merged = self.place.path().join("merged");
        fs::create_dir(&merged).expect("our folder");
        let options = format!("lowerdir={low},upperdir={up},workdir={work}");
        let mounted = Command::new("mount")
            .args(["-t", "overlay", "overlay", "-o", &options])
            .arg(&merged)
            .status();
        assert!(mounted.expect("mount").success());
        let disk = std::mem::replace(&mut self.mount, merged);
        let done = catch_unwind(AssertUnwindSafe(|| act(self)));
        let merged = std::mem::replace(&mut self.mount, disk);
        let unmounted = Command::new("umount").arg(&merged).status();
        let done = done.unwrap_or_else(|why| resume_unwind(why));
        assert!(unmounted.expect("umount").success());
        done
    }

    /// A file of numbers that tell their places, out of memory again.
    pub(crate) fn write(&self, name: &str) {
        self.write_long(name, FILE_BYTES);
    }

    pub(crate) fn write_long(&self, name: &str, length: u64) {
        let path = self.mount.join(name);
        let mut bytes = Vec::new();
        for page in 0..length / 4096 {
            bytes.resize(bytes.len() + 4096, u8::try_from(page % 251).expect("small"));
        }
        let mut file = fs::File::create(&path).expect("a file system");
        file.write_all(&bytes).expect("space on it");
        file.sync_all().expect("written");
        self.evict(name);
    }

    pub(crate) fn evict(&self, name: &str) {
        let file = fs::File::open(self.mount.join(name)).expect("a file");
        let advice = rustix::fs::Advice::DontNeed;
        rustix::fs::fadvise(&file, 0, None, advice).expect("a hint");
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.mount.join(name).to_str().expect("text").to_owned()
    }

    /// Starts a reader that waits before it reads.
    pub(crate) fn hold(&self, pattern: &str, name: &str) -> Held {
        self.hold_with(pattern, name, &["hold"])
    }

    pub(crate) fn hold_with(&self, pattern: &str, name: &str, holds: &[&str]) -> Held {
        self.hold_path(pattern, &self.mount.join(name), holds)
    }

    /// The same of a file that lies anywhere.
    pub(crate) fn hold_path(&self, pattern: &str, file: &Path, holds: &[&str]) -> Held {
        let mut command = Command::new(&self.reader);
        command.arg(pattern).arg(file).args(holds);
        Self::held(command)
    }

    /// The same, started by `starter`, a program that executes what follows its own words.
    pub(crate) fn hold_by(&self, starter: &[&str], pattern: &str, name: &str) -> Held {
        let mut command = Command::new(starter[0]);
        command.args(&starter[1..]).arg(&self.reader);
        command.args([pattern, &self.path(name), "hold"]);
        Self::held(command)
    }

    fn held(mut command: Command) -> Held {
        let mut child = command
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
    pub(crate) fn read(&self, pattern: &str) -> Seen {
        self.read_of("file", pattern)
    }

    /// The same of another file.
    pub(crate) fn read_of(&self, name: &str, pattern: &str) -> Seen {
        self.evict(name);
        let held = self.hold(pattern, name);
        self.reset();
        let sum = held.go();
        self.seen(sum)
    }

    pub(crate) fn reset(&self) {
        self.stats(&["--reset"]);
    }

    pub(crate) fn stats(&self, more: &[&str]) -> Value {
        let all = [&["disk", "stats", &self.name, "--json"][..], more].concat();
        let output = self.place.output(&all);
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).expect("JSON")
    }

    pub(crate) fn seen(&self, sum: u64) -> Seen {
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
    pub(crate) fn narrowed_at_half(&self) -> Held {
        let mut held = self.hold_with("mapped-random", "file", &["hold", "half"]);
        held.let_go();
        assert_eq!(held.line(), "half");
        held.await_narrowed();
        held
    }

    /// The window of the disk, in KiB.
    pub(crate) fn window(&self) -> u64 {
        let device = fs::metadata(self.mount.join("file")).expect("a file").dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let file = format!("/sys/dev/block/{major}:{minor}/queue/read_ahead_kb");
        let text = fs::read_to_string(file).expect("a block device");
        text.trim().parse().expect("a number")
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

pub(crate) struct Held {
    pub(crate) child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Held {
    /// Waits until the window of its open file is taken, as that of this process.
    pub(crate) fn await_narrowed(&self) {
        let noted = format!("\"process\": {{\n        \"pid\": {},", self.child.id());
        let journal = Path::new("/run/ahead/daemon/narrowed.json");
        await_within(30, "narrowed", || {
            fs::read_to_string(journal).is_ok_and(|text| text.contains(&noted))
        });
    }

    pub(crate) fn let_go(&mut self) {
        let input = self.child.stdin.as_mut().expect("piped");
        input.write_all(b"go\n").expect("it waits");
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    /// Lets it read to its end; its sum.
    pub(crate) fn go(mut self) -> u64 {
        self.let_go();
        self.sum()
    }

    /// Waits for its end; its sum.
    pub(crate) fn sum(mut self) -> u64 {
        let line = self.line();
        assert!(self.child.wait().expect("ended").success());
        let sum = line.strip_prefix("sum ").expect("a sum");
        sum.parse().expect("a number")
    }
}

/// One that was not let go on ends with its test.
impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) seeks: u64,
    pub(crate) sum: u64,
}
