//! Two opposite jobs at once on one disk: a random reader of a mapping, which wants no window, and four scans, which want
//! a large one. A static window serves one of them; the daemon serves both, each open file by itself.
//!
//! A job's speed counts relative to what it reaches alone at its best, and both together as the geometric mean.
//! `AHEAD_OPPOSITE=FOLDER` tries all windows for longer and writes a table and a picture there.

mod support;

use std::fs;
use std::path::PathBuf;

use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use serde_json::json;
use support::daemon_disk::Ground;
use support::daemon_process::DaemonProcess;
use support::stderr;

/// So large that an arm is better off without windows where few of its pages are read at random.
const RANDOM_BYTES: u64 = 640 << 20;
const SCANS: [&str; 4] = ["scan0", "scan1", "scan2", "scan3"];
const SCAN_BYTES: u64 = 160 << 20;

/// Windows of the kernel that are tried, in KiB.
const FEW: [u64; 3] = [16, 128, 1024];
const ALL: [u64; 11] = [0, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

/// What the jobs did: touches and KiB, a second.
#[derive(Clone, Copy, Debug, Default)]
struct Speeds {
    random: f64,
    scans: f64,
}

struct Jobs {
    ground: Ground,
    ms: u32,
}

impl Jobs {
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

#[test]
fn two_opposite_jobs_are_served_better_than_by_any_window() {
    let folder = std::env::var_os("AHEAD_OPPOSITE").map(PathBuf::from);
    let model = std::env::var("AHEAD_OPPOSITE_DISK").unwrap_or_else(|_| "hdd".to_owned());
    let jobs = Jobs {
        ground: Ground::at_real_speed("opposite", &model, "1500M", RANDOM_BYTES),
        ms: if folder.is_some() { 8000 } else { 3000 },
    };
    for name in SCANS {
        jobs.ground.write_long(name, SCAN_BYTES);
    }
    let windows: &[u64] = if folder.is_some() { &ALL } else { &FEW };
    let (mut best, mut rows) = (Speeds::default(), Vec::new());
    for &kib in windows {
        jobs.set_window(kib);
        best.random = jobs.run(true, false).random.max(best.random);
        best.scans = jobs.run(false, true).scans.max(best.scans);
        rows.push((kib, jobs.run(true, true)));
    }
    jobs.set_window(128);
    let daemon = DaemonProcess::start(&[]);
    let helped = jobs.run(true, true);
    let said = daemon.end();
    let of_best = |both: Speeds| relative(both, best);
    let means = rows.iter().map(|(_, both)| of_best(*both).2);
    let best_mean = means.fold(0.0, f64::max);
    let (random, scans, mean) = of_best(helped);
    println!("alone at its best: {best:?}");
    for (kib, both) in &rows {
        println!(
            "{kib:>5} KiB: {both:?}, relative and mean {:.3?}",
            of_best(*both)
        );
    }
    println!(
        "daemon: {helped:?}, {random:.3} {scans:.3}, mean {mean:.3}, of the best window {:.2}",
        mean / best_mean
    );
    println!("{}", said.trim());
    if let Some(folder) = folder {
        let row = |both: Speeds| {
            let (random, scans, mean) = of_best(both);
            json!({ "touches_per_second": both.random, "scanned_kib_per_second": both.scans,
                "random": random, "scans": scans, "mean": mean })
        };
        let statics: Vec<_> = rows
            .iter()
            .map(|(kib, both)| json!({ "read_ahead_kb": kib, "both": row(*both) }))
            .collect();
        let all = json!({ "disk": model, "seconds": jobs.ms / 1000, "alone": { "touches_per_second": best.random,
            "scanned_kib_per_second": best.scans }, "static": statics, "daemon": row(helped),
            "daemon_of_best_static": mean / best_mean });
        let text = serde_json::to_string_pretty(&all).expect("JSON");
        let file = folder.join(format!("opposite-{model}"));
        fs::write(file.with_extension("json"), text + "\n").expect("a folder");
        let point = |both: Speeds| {
            let (random, scans, _) = of_best(both);
            (random, scans)
        };
        let one = |name: String, at| Series {
            name,
            points: vec![at],
            style: Style::Points,
        };
        let mut series: Vec<_> = rows
            .iter()
            .map(|(kib, both)| one(format!("{kib} KiB"), point(*both)))
            .collect();
        series.push(one("ahead daemon".to_owned(), (random, scans)));
        let chart = Chart::Lines(LineChart {
            title: format!("A random reader of a mapping and four scans at once, {model}"),
            x_label: "random reader, of its speed alone".to_owned(),
            y_label: "four scans, of their speed alone".to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            rows: Vec::new(),
            series,
        });
        fs::write(
            file.with_extension("svg"),
            chart.to_svg().expect("a picture"),
        )
        .expect("a folder");
    }
    assert!(mean > best_mean, "{mean} {best_mean}");
}
