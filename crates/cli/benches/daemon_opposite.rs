//! Two opposite jobs at once on one disk: a random reader of a mapping, which wants no window, and four scans, which want
//! a large one. A window of the device serves one of them; the daemon treats each open file by itself.
//!
//! Both together count as the geometric mean of their speeds. Not a test: it compares speeds, which
//! needs a quiet machine. `AHEAD_OPPOSITE=FOLDER` (and `AHEAD_OPPOSITE_DISKS=hdd`) also tries all windows on a disk with an arm and on a volume, relative to
//! what each job reaches alone at its best, and writes tables and pictures there.

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use ahead_study::chart::{Chart, LineChart, Series, Style};
use serde_json::json;
use support::daemon_disk::Ground;
use support::daemon_process::DaemonProcess;
use support::stderr;

/// So large that an arm is better off without windows where few of its pages are read at random.
const RANDOM_BYTES: u64 = 640 << 20;
const SCANS: [&str; 4] = ["scan0", "scan1", "scan2", "scan3"];
const SCAN_BYTES: u64 = 160 << 20;

/// Windows of the kernel that are tried, in KiB.
const WINDOWS: [u64; 7] = [0, 16, 64, DEFAULT, 512, 2048, 8192];
const DEFAULT: u64 = 128;

/// What the jobs did: touches and KiB, a second.
#[derive(Clone, Copy, Debug, Default)]
struct Speeds {
    random: f64,
    scans: f64,
}

impl Speeds {
    fn add(&mut self, more: Self) {
        self.random += more.random;
        self.scans += more.scans;
    }
}

struct Jobs {
    ground: Ground,
    ms: u32,
}

impl Jobs {
    /// On a disk at its real speed, so that a busy machine matters little; each run lasts `ms`.
    fn new(model: &str, ms: u32) -> Self {
        let ground = Ground::at_real_speed("opposite", model, "1500M", RANDOM_BYTES);
        for name in SCANS {
            ground.write_long(name, SCAN_BYTES);
        }
        Self { ground, ms }
    }

    /// Runs the random reader, or the scans, or both.
    fn run(&self, has_random: bool, has_scans: bool) -> Speeds {
        let limit = format!("READER_MS={}", self.ms);
        let starter = ["env", limit.as_str()];
        let mut held = Vec::new();
        for name in SCANS {
            self.ground.evict(name);
            if has_scans {
                held.push(self.ground.hold_by(&starter, "forward-for", name));
            }
        }
        self.ground.evict("file");
        if has_random {
            held.push(self.ground.hold_by(&starter, "mapped-random-for", "file"));
        }
        held.iter_mut().for_each(support::daemon_disk::Held::let_go);
        let done: Vec<_> = held.into_iter().map(|one| one.sum()).collect();
        let (scans, random) = done.split_at(if has_scans { SCANS.len() } else { 0 });
        let second = |all: &[u64]| {
            let all = all.iter().copied().map(u32::try_from);
            let all: f64 = all.map(|one| f64::from(one.expect("small"))).sum();
            all * 1000.0 / f64::from(self.ms)
        };
        Speeds {
            random: second(random),
            scans: second(scans),
        }
    }

    fn set_window(&self, kib: u64) {
        let path = self.ground.mount.to_str().expect("text");
        // The one before, so that one note is left for the end.
        let undone = self.ground.place.output(&["device", "undo", path]);
        assert!(undone.status.success(), "{}", stderr(&undone));
        let size = format!("{kib}K");
        let set = self.ground.place.output(&["device", "set", path, &size]);
        assert!(set.status.success(), "{}", stderr(&set));
    }
}

/// What both reach, relative to `best`; and the mean.
fn relative(both: Speeds, best: Speeds) -> (f64, f64, f64) {
    let (random, scans) = (both.random / best.random, both.scans / best.scans);
    (random, scans, (random * scans).sqrt())
}

/// The daemon beside the jobs, at the kernel's default window.
fn helped(jobs: &Jobs) -> Speeds {
    jobs.set_window(DEFAULT);
    let daemon = DaemonProcess::start(&[]);
    let helped = jobs.run(true, true);
    let used = daemon.used();
    println!("daemon: {used}; {}", daemon.end().trim());
    helped
}

/// On a volume both once were no better off than without the daemon: faults wait behind the requests of the scans, with a
/// window as long as without, and that was believed to say what a window costs.
fn main() {
    let jobs = Jobs::new("cloud", 2000);
    let (mut alone, mut beside) = (Speeds::default(), Speeds::default());
    // In turn, as others use this machine too.
    for _ in 0..3 {
        jobs.set_window(DEFAULT);
        alone.add(jobs.run(true, true));
        beside.add(helped(&jobs));
    }
    let (random, scans, mean) = relative(beside, alone);
    println!("volume, of the default window: random {random:.3}, scans {scans:.3}, mean {mean:.3}");
    if let Some(folder) = std::env::var_os("AHEAD_OPPOSITE") {
        drop(jobs);
        let models = std::env::var("AHEAD_OPPOSITE_DISKS");
        for model in models.as_deref().unwrap_or("hdd,cloud").split(',') {
            against_all_windows(model, &PathBuf::from(&folder));
        }
    }
}

/// Both axes for each window, and for the daemon: a table and a picture in `folder`.
fn against_all_windows(model: &str, folder: &Path) {
    let jobs = Jobs::new(model, 6000);
    let (mut best, mut rows) = (Speeds::default(), Vec::new());
    for kib in WINDOWS {
        jobs.set_window(kib);
        // Larger windows read the whole file within the time.
        if kib <= DEFAULT {
            best.random = jobs.run(true, false).random.max(best.random);
        }
        best.scans = jobs.run(false, true).scans.max(best.scans);
        rows.push((format!("{kib} KiB"), jobs.run(true, true)));
    }
    rows.push(("ahead daemon".to_owned(), helped(&jobs)));
    let mut series = Vec::new();
    let mut cells = Vec::new();
    for (name, both) in rows {
        let (random, scans, mean) = relative(both, best);
        println!("{model} {name}: random {random:.3}, scans {scans:.3}, mean {mean:.3}");
        cells.push(json!({ "setting": name, "touches_per_second": both.random,
            "scanned_kib_per_second": both.scans, "random": random, "scans": scans, "mean": mean }));
        series.push(Series {
            name,
            points: vec![(random, scans)],
            style: Style::Points,
        });
    }
    let all = json!({ "disk": model, "seconds": jobs.ms / 1000,
        "alone_touches_per_second": best.random, "alone_scanned_kib_per_second": best.scans, "rows": cells });
    let text = serde_json::to_string_pretty(&all).expect("JSON");
    let chart = Chart::Lines(LineChart {
        title: format!("A random reader of a mapping and four scans at once, {model}"),
        x_label: "random reader, of its speed alone".to_owned(),
        y_label: "four scans, of their speed alone".to_owned(),
        series,
        ..LineChart::default()
    });
    let picture = chart.to_svg().expect("a picture");
    for (end, text) in [("json", text + "\n"), ("svg", picture)] {
        fs::write(folder.join(format!("opposite-{model}.{end}")), text).expect("a folder");
    }
}
