//! `--report` and `--json`: the account of a run, for people and for programs.
//!
//! What could not be seen is part of the account: mapped files, static programs, files beyond the
//! table. A report that is silent about them would read as if nothing had happened there.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use ahead_device::block;
use ahead_device::machine::MachineTree;
use ahead_engine::report::{Aside, FileReport, LearnedDevice, Report};
use ahead_engine::settings::Settings;
use ahead_engine::tree_report::TreeReport;
use ahead_policy::device::DeviceEstimate;
use ahead_study::table;
use ahead_sys::block_queue::DeviceNumber;
use serde_json::{Value, json};

use super::command::{Command, Visibility};
use crate::figures::{self, count, seconds};

/// Files shown to people; the rest is summed up. `--json` has all of them.
const FILES_SHOWN_MAX: usize = 30;
/// A file that was read less than this, and for which nothing was done, is not worth a line: an
/// interpreter opens a hundred of them before it comes to its work. 1 MiB.
const PAGES_SHOWN_MIN: u64 = 256;
/// Lines that are shown all the same when no file is worth one.
const FILES_SHOWN_MIN: usize = 3;
const PAGE_KIB: u64 = 4;

/// Everything that a report is made of.
pub struct RunReport<'a> {
    /// CMD as it was found.
    pub command: &'a Command,
    /// How CMD ended.
    pub status: ExitStatus,
    /// Time from start to end of CMD.
    pub elapsed: std::time::Duration,
    /// The settings in force.
    pub settings: &'a Settings,
    /// What the processes wrote.
    pub report: &'a Report,
}

impl RunReport<'_> {
    /// What was not seen, one sentence each.
    fn blind_spots(&self) -> Vec<String> {
        let binary = self.command.binary.display();
        let mut spots = Vec::new();
        match self.command.visibility {
            Visibility::Static => spots.push(format!(
                "{binary} is a static binary: no library can be loaded into it, its reads were not seen"
            )),
            Visibility::OtherLibrary if self.report.processes == 0 => spots.push(format!(
                "{binary} uses musl: only a library that AHEAD_PRELOAD names is loaded into it, its reads were \
                 not seen"
            )),
            Visibility::Privileged => spots.push(format!(
                "{binary} is set-user-id: the loader ignores foreign libraries, its reads were not seen"
            )),
            Visibility::Unknown => {
                spots.push(format!("{binary} could not be examined: it may not have been seen"));
            }
            Visibility::Seen(_) if self.report.processes == 0 => spots.push(
                "no process read a file where the library sees it; if CMD should have, it or a sandbox cleared \
                 its environment, or a container hides the library"
                    .to_owned(),
            ),
            Visibility::Seen(_) | Visibility::OtherLibrary => {}
        }
        if self.report.mappings > 0 {
            let mapped = self.report.files.iter().filter(|file| file.mapped).count();
            spots.push(format!(
                "files were mapped into memory {} times ({mapped} of the files above): what is read \
                 through a mapping cannot be seen",
                self.report.mappings
            ));
        }
        if self.report.files_beyond > 0 {
            spots.push(format!(
                "{} more files found no place in this table",
                self.report.files_beyond
            ));
        }
        spots
    }

    /// Reasons for which descriptors, files or processes were left alone, and how often.
    fn left_alone(&self) -> impl Iterator<Item = (Aside, u64)> {
        let counts = self.report.asides;
        let all = Aside::ALL.into_iter().zip(counts);
        all.filter(|(_, count)| *count > 0)
    }

    fn left_alone_json(&self) -> Value {
        let counts = self.left_alone();
        let counts = counts.map(|(aside, count)| (aside.name().to_owned(), Value::from(count)));
        Value::Object(counts.collect())
    }

    /// The report for people. Ends with a line end.
    #[must_use]
    pub fn text(&self) -> String {
        let report = self.report;
        let mut text = format!(
            "ahead: {} {} after {:.2} s; {}, {}, {}, at most {} unread\n",
            self.command.path.display(),
            ending(self.status),
            self.elapsed.as_secs_f64(),
            figures::count_of(report.processes, "process", "processes"),
            count(report.files.len() as u64, "file"),
            count(report.calls, "request"),
            figures::size(report.unread_pages_max.saturating_mul(PAGE_KIB << 10)),
        );
        if !report.files.is_empty() {
            text.push_str(&files_table(&report.files));
            text.push('\n');
        }
        if report.trees.files > 0 {
            text.push_str(&format!("ahead: {}\n", trees(&report.trees)));
        }
        let left_alone: Vec<String> = self
            .left_alone()
            .map(|(aside, count)| format!("{aside} ({count})"))
            .collect();
        if !left_alone.is_empty() {
            text.push_str(&format!("ahead: left alone: {}\n", left_alone.join(", ")));
        }
        for device in &report.devices {
            text.push_str(&format!("ahead: {}\n", learned(device)));
        }
        for spot in self.blind_spots() {
            text.push_str(&format!("ahead: {spot}\n"));
        }
        text
    }

    /// The report for a machine: one JSON object, ended by a line end.
    #[must_use]
    pub fn json(&self) -> String {
        let settings: serde_json::Map<String, Value> = self
            .settings
            .values()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::String(value)))
            .collect();
        let files: Vec<Value> = self.report.files.iter().map(file_json).collect();
        let value = json!({
            "command": self.command.path.to_string_lossy(),
            "binary": self.command.binary.to_string_lossy(),
            "status": self.status.code(),
            "signal": self.status.signal(),
            "elapsed_ms": u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            "settings": settings,
            "processes": self.report.processes,
            "calls": self.report.calls,
            "left_alone": self.left_alone_json(),
            "mappings": self.report.mappings,
            "files_beyond": self.report.files_beyond,
            "unread_pages_max": self.report.unread_pages_max,
            "trees": trees_json(&self.report.trees),
            "devices": self.report.devices.iter().map(device_json).collect::<Vec<_>>(),
            "files": files,
            "not_seen": self.blind_spots(),
        });
        format!("{value:#}\n")
    }
}

fn trees_json(trees: &TreeReport) -> Value {
    json!({
        "orders": trees.order_names().collect::<Vec<_>>(),
        "folders": trees.folders,
        "files": trees.files,
        "bytes": trees.bytes,
        "used": trees.used,
        "wasted": trees.wasted,
        "waited_ns": trees.waited_ns,
    })
}

/// What was done for trees, as a sentence.
fn trees(trees: &TreeReport) -> String {
    let orders = trees.order_names().collect::<Vec<_>>().join(", ");
    format!(
        "trees, gone through {orders}: {} ({} MiB) asked for ahead, {} used, {} wasted; {} listed ahead; {} of waiting for names and inodes taken over",
        count(trees.files, "file"),
        trees.bytes >> 20,
        trees.used,
        trees.wasted,
        count(trees.folders, "folder"),
        seconds(trees.waited_ns),
    )
}

fn device_json(device: &LearnedDevice) -> Value {
    json!({
        "device": DeviceNumber::from_dev(device.number).to_string(),
        "access_ns_first": device.first.access_ns,
        "access_ns": device.newest.access_ns,
        "bytes_per_second": device.newest.bytes_per_second,
        "depth": device.newest.depth,
    })
}

/// As the kernel names it here; its number where it has no block device.
fn device_name(device: &LearnedDevice) -> String {
    let number = DeviceNumber::from_dev(device.number).to_string();
    let folder = block::folder_of(&MachineTree::at(Path::new("/")), &number);
    let name = folder.as_deref().and_then(Path::file_name);
    match name.and_then(OsStr::to_str) {
        Some(name) => format!("{} ({number})", block::name_in_dev(name)),
        None => number,
    }
}

/// What was learned of a device, as a sentence.
fn learned(device: &LearnedDevice) -> String {
    let milliseconds = |estimate: DeviceEstimate| estimate.access_ns as f64 / 1e6;
    format!(
        "device {}: an access takes {:.2} ms, as is believed; {:.2} ms at first",
        device_name(device),
        milliseconds(device.newest),
        milliseconds(device.first),
    )
}

fn file_json(file: &FileReport) -> Value {
    json!({
        "path": file.path,
        "pattern": file.pattern.text(),
        "window_pages": file.window_pages,
        "accesses": file.accesses,
        "pages": file.pages,
        "prefetched_pages": file.prefetched,
        "useful_pages": file.useful,
        "late_pages": file.late,
        "wasted_pages": file.wasted,
        "thrashed_pages": file.thrashed,
        "waits": file.waits,
        "waits_avoided": file.waits_avoided,
        "reason": file.reason.text(),
        "mapped": file.mapped,
        "program_advises": file.program_advises,
        "direct": file.direct,
    })
}

/// The files for which something was done or that were read most, busiest first.
fn files_table(files: &[FileReport]) -> String {
    let mut busiest: Vec<&FileReport> = files.iter().collect();
    busiest.sort_by(|a, b| {
        let by_size = b.pages.cmp(&a.pages);
        is_worth_a_line(b)
            .cmp(&is_worth_a_line(a))
            .then(by_size)
            .then_with(|| a.path.cmp(&b.path))
    });
    let worth = busiest.iter().filter(|file| is_worth_a_line(file)).count();
    let shown = busiest
        .len()
        .min(worth.clamp(FILES_SHOWN_MIN, FILES_SHOWN_MAX));
    let titles = [
        "file",
        "window",
        "read",
        "useful",
        "late",
        "wasted",
        "thra-\nshed",
        "waited",
        "avoided",
    ];
    let mut table = table::with_titles(&titles, 1..9);
    for file in &busiest[..shown] {
        table.add_row([
            format!(
                "{}\n  {}: {}",
                shortened(&file.path, 44),
                file.pattern.text(),
                reason(file)
            ),
            size(file.window_pages),
            size(file.pages),
            size(file.useful),
            size(file.late),
            size(file.wasted),
            size(file.thrashed),
            file.waits.to_string(),
            file.waits_avoided.to_string(),
        ]);
    }
    let mut text = table.to_string();
    let hidden = &busiest[shown..];
    if !hidden.is_empty() {
        let (count, pages) = (hidden.len(), hidden.iter().map(|file| file.pages).sum());
        text.push_str(&format!(
            "\n… and {count} more, {} read; --json has them all",
            size(pages)
        ));
    }
    text
}

fn is_worth_a_line(file: &FileReport) -> bool {
    file.prefetched > 0 || file.pages >= PAGES_SHOWN_MIN
}

fn reason(file: &FileReport) -> String {
    let mut text = file.reason.text().to_owned();
    for (holds, remark) in [
        (file.mapped, "mapped"),
        (file.program_advises, "the program advises itself"),
        (file.direct, "opened with O_DIRECT"),
    ] {
        if holds {
            text.push_str("; ");
            text.push_str(remark);
        }
    }
    text
}

/// Pages as a size with three digits, for a table of many columns.
fn size(pages: u64) -> String {
    let kib = pages.saturating_mul(PAGE_KIB);
    match kib {
        0 => "–".to_owned(),
        1..10_240 => format!("{kib} K"),
        10_240..10_485_760 => format!("{} M", kib >> 10),
        _ => format!("{} G", kib >> 20),
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
            format!("was ended by {name} ({signal})")
        }
        (None, code) => format!("ended with {}", code.unwrap_or_default()),
    }
}

/// The end of a path, which says more than its beginning.
fn shortened(path: &str, characters_max: usize) -> String {
    let length = path.chars().count();
    if length <= characters_max {
        return path.to_owned();
    }
    let tail: String = path.chars().skip(length - characters_max + 1).collect();
    format!("…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::elf::BinaryMachine;

    fn with_report<T>(
        visibility: Visibility,
        report: &Report,
        look: impl Fn(&RunReport<'_>) -> T,
    ) -> T {
        let command = Command {
            path: "/bin/x".into(),
            binary: "/bin/x".into(),
            visibility,
        };
        look(&RunReport {
            command: &command,
            status: ExitStatus::from_raw(3 << 8),
            elapsed: std::time::Duration::from_millis(1500),
            settings: &Settings::default(),
            report,
        })
    }

    fn one_file() -> Report {
        let file = FileReport {
            path: "/data/log".into(),
            window_pages: 256,
            pages: 5120,
            ..FileReport::default()
        };
        Report {
            processes: 1,
            files: vec![file],
            ..Report::default()
        }
    }

    #[test]
    fn a_static_program_is_named_as_not_seen() {
        let text = with_report(Visibility::Static, &Report::default(), |run| run.text());
        assert!(text.contains("/bin/x is a static binary"), "{text}");
    }

    #[test]
    fn sizes_status_and_path_are_in_the_text() {
        let text = with_report(
            Visibility::Seen(BinaryMachine::this()),
            &one_file(),
            |run| run.text(),
        );
        for part in ["ended with 3 after 1.50 s", "/data/log", "1024 K", "20 M"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    /// 64 pages were "at most 0 MiB".
    #[test]
    fn what_was_unread_has_its_unit_and_one_request_no_plural() {
        let report = Report {
            calls: 1,
            unread_pages_max: 64,
            ..one_file()
        };
        let seen = Visibility::Seen(BinaryMachine::this());
        let text = with_report(seen, &report, |run| run.text());
        let end = "; 1 process, 1 file, 1 request, at most 256 KiB unread\n";
        assert!(text.contains(end), "{text}");
    }

    #[test]
    fn json_keeps_pages_as_numbers_and_says_what_was_not_seen() {
        let mut report = one_file();
        report.mappings = 2;
        let json = with_report(Visibility::Seen(BinaryMachine::this()), &report, |run| {
            run.json()
        });
        let value: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(value["files"][0]["pages"], 5120);
        assert_eq!(value["settings"]["policy"], "adaptive");
        assert_eq!(value["not_seen"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn small_files_that_nothing_was_done_for_share_one_line() {
        let mut report = one_file();
        for number in 0..50 {
            let path = format!("/lib/module-{number}");
            report.files.push(FileReport {
                path,
                pages: 2,
                ..FileReport::default()
            });
        }
        let text = with_report(Visibility::Seen(BinaryMachine::this()), &report, |run| {
            run.text()
        });
        assert!(text.contains("/data/log"), "{text}");
        assert!(text.contains("48 more, 384 K read"), "{text}");
    }

    #[test]
    fn what_was_left_alone_is_said_with_its_reason() {
        let mut report = one_file();
        report.asides[usize::from(Aside::Direct.code())] = 3;
        let text = with_report(Visibility::Seen(BinaryMachine::this()), &report, |shown| {
            shown.text()
        });
        let line = "ahead: left alone: opened with O_DIRECT (3)\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn a_device_is_shown_with_what_was_believed_first_and_last() {
        let mut report = one_file();
        report.devices = vec![LearnedDevice {
            number: 0x801,
            first: DeviceEstimate::FLASH,
            newest: DeviceEstimate::ARM,
        }];
        let seen = || Visibility::Seen(BinaryMachine::this());
        let text = with_report(seen(), &report, |shown| shown.text());
        // With its name in front, where this machine has such a device.
        let line = text.lines().find(|line| line.starts_with("ahead: device "));
        let line = line.expect("a line").replace("(8:1)", "8:1");
        let end = "8:1: an access takes 8.00 ms, as is believed; 0.12 ms at first";
        assert!(line.ends_with(end), "{line}");
        let json = with_report(seen(), &report, |shown| shown.json());
        let value: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(value["devices"][0]["access_ns_first"], 120_000);
        assert_eq!(value["devices"][0]["depth"], 1);
    }

    #[test]
    fn trees_have_a_line_where_files_were_asked_for() {
        let mut report = one_file();
        let seen = || Visibility::Seen(BinaryMachine::this());
        let without = with_report(seen(), &report, |shown| shown.text());
        assert!(!without.contains("trees"), "{without}");
        report.trees = TreeReport::from_words(&[8, 400, 20 << 20, 390, 10, 2, 1_500_000]);
        let text = with_report(seen(), &report, |shown| shown.text());
        let line = "ahead: trees, gone through by name: 400 files (20 MiB) asked for ahead, 390 used, \
                    10 wasted; 8 folders listed ahead; 1.500 ms of waiting for names and inodes taken over\n";
        assert!(text.contains(line), "{text}");
        let json = with_report(seen(), &report, |shown| shown.json());
        let value: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(value["trees"]["used"], 390);
        assert_eq!(value["trees"]["orders"][0], "by name");
    }

    #[test]
    fn a_long_path_keeps_its_end() {
        assert_eq!(shortened("/aaaa/bbbb/c", 6), "…bbb/c");
    }
}
