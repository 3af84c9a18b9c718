//! A daemon of this machine for a test. It ends with the test.

use std::fmt;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One daemon at a time: all of them would see all readers.
static ONE: Mutex<()> = Mutex::new(());

/// The only one.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A daemon that runs.
pub(crate) struct DaemonProcess {
    pub(crate) child: Child,
    said: BufReader<ChildStderr>,
    /// What it said first.
    pub(crate) line: String,
}

impl DaemonProcess {
    /// Starts one and waits until it says that it works.
    pub(crate) fn start(options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ahead"));
        command.arg("daemon").args(options);
        Self::of(command)
    }

    /// The same, started by `command`.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .expect("ahead starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        assert!(line.contains("ahead daemon: "), "{line}");
        Self { child, said, line }
    }

    /// The next line of its log.
    pub(crate) fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("a line");
        line
    }

    /// Has it read its settings again, and say so.
    pub(crate) fn read_again(&mut self, begin: &str) {
        self.signal("-HUP");
        let line = self.next_line();
        let said = line.strip_prefix("ahead daemon: ").expect("its line");
        assert!(said.starts_with(begin), "{said}");
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args([signal, &pid]).status();
        assert!(asked.expect("kill").success());
    }

    /// Asks it to end; all that it said since.
    pub(crate) fn end(mut self) -> String {
        self.signal("-TERM");
        let mut all = String::new();
        while self.said.read_line(&mut all).expect("lines") > 0 {}
        assert!(self.child.wait().expect("ended").success(), "{all}");
        all
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("ended");
    }

    /// What it has used so far.
    pub(crate) fn used(&self) -> Used {
        let pid = self.child.id();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let text = line.expect(name).trim().trim_end_matches(" kB");
            text.parse::<u64>().expect("a number")
        };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        let behind = stat.rsplit(") ").next().expect("its fields");
        let times = behind.split(' ').skip(11).take(2);
        Used {
            kib: number("VmRSS:"),
            sleeps: number("voluntary_ctxt_switches:"),
            descriptors: fs::read_dir(format!("/proc/{pid}/fd"))
                .expect("it runs")
                .count(),
            cpu_ticks: times
                .map(|time| time.parse::<u64>().expect("a number"))
                .sum(),
        }
    }

    /// Descriptors that it holds of files below `folder`.
    pub(crate) fn holds(&self, folder: &Path) -> usize {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it runs");
        let targets = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        targets.filter(|target| target.starts_with(folder)).count()
    }
}

/// Length and place of a request, in KiB, as a history tells it: `8192 KiB at 70400 KiB (...)`.
pub(crate) fn requested_kib(what: &str) -> Option<(u64, u64)> {
    let (length, rest) = what.split_once(" KiB at ")?;
    let (place, _) = rest.split_once(' ')?;
    Some((length.parse().ok()?, place.parse().ok()?))
}

/// What a daemon has used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    /// How often it had nothing to do.
    pub(crate) sleeps: u64,
    /// Resident memory.
    pub(crate) kib: u64,
    pub(crate) descriptors: usize,
    /// CPU time, in hundredths of a second.
    pub(crate) cpu_ticks: u64,
}

impl fmt::Display for Used {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kib,
            descriptors,
            cpu_ticks,
            ..
        } = self;
        let (seconds, rest) = (cpu_ticks / 100, cpu_ticks % 100);
        write!(
            out,
            "{seconds}.{rest:02} s of CPU, {kib} KiB, {descriptors} descriptors"
        )
    }
}

/// It goes also when its test fails.
impl Drop for DaemonProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
