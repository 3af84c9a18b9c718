//! Patterns of the bench in guests, several at once.
//!
//! A guest runs one pattern in all arms, with the same program that measures real disks. All guests
//! share one image with the bench's test files, which none of them changes.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

use ahead_disk_model::TimeScale;
use ahead_guest::{Console, FileSystem, Guest, Task};
use ahead_harness::Results;
use ahead_harness::arm::Arm;
use ahead_harness::calendar::utc_minutes;
use ahead_study::typed;
use ahead_workload::scenario::{self, Scenario};

use super::error::LabError;
use super::image::{Image, MAKING_DISK};
use super::machine::{bench_command, bench_in, disk_name, guest_of, memory_of, shared_folder};
use crate::arguments::LabPatterns;
use crate::progress;
use crate::signals::stop_flag;

/// The image has this much for test files and the tables of a file system.
pub(super) const IMAGE_BYTES: u64 = 6 << 30;
/// Raised when what stands on the image changes.
const IMAGE_VERSION: u32 = 1;

/// What all guests of one command have in common. None writes to its disk, not even its file
/// system's journal.
pub(super) struct Sweep<'a> {
    patterns: &'a LabPatterns,
    /// What the test files are on.
    pub(super) file_system: FileSystem,
    memory_bytes: u64,
    scenarios: Vec<Scenario>,
    arms: Vec<Arm>,
    /// Options of `ahead bench run`, beside the pattern, the arms and where the results go.
    options: Vec<String>,
    /// The folder for the logs of the guests' disks, if they are wanted.
    requests: Option<&'a Path>,
    stop: Arc<AtomicBool>,
}

impl<'a> Sweep<'a> {
    /// In these `arms`; `options` for `ahead bench run`, beside what is in `patterns`.
    pub(super) fn new(
        patterns: &'a LabPatterns,
        arms: Vec<Arm>,
        options: impl IntoIterator<Item = String>,
        requests: Option<&'a Path>,
    ) -> Result<Self, LabError> {
        let scenarios = scenario::parse_list(&patterns.pattern).map_err(LabError::Pattern)?;
        let mut all = vec![
            format!("--seconds={}", patterns.seconds),
            format!("--bytes={}", patterns.bytes),
        ];
        all.extend(options);
        Ok(Self {
            patterns,
            file_system: FileSystem::Ext4,
            memory_bytes: memory_of(&patterns.memory)?,
            scenarios,
            arms,
            options: all,
            requests,
            stop: stop_flag()?,
        })
    }

    /// The disks that were named.
    pub(super) fn disks(&self) -> Vec<String> {
        typed::list(&self.patterns.disk)
    }
}

impl Sweep<'_> {
    /// The image with the test files, which is made when it is first needed.
    pub(super) fn image(&self) -> Result<PathBuf, LabError> {
        let options = "--pattern seq4k --arm off --quick --repeat 1";
        let options = options.split(' ').map(String::from);
        let name = match self.file_system {
            FileSystem::Ext4 => format!("bench-{IMAGE_VERSION}"),
            other => format!("bench-{}-{IMAGE_VERSION}", other.on_disk()),
        };
        let image = Image {
            name,
            replaces: None,
            bytes: IMAGE_BYTES,
            about: "the bench's test files",
            command: bench_command("run", MAKING_DISK, options)?,
            environment: Vec::new(),
            kernel: &self.patterns.kernel,
            file_system: self.file_system,
            memory_bytes: self.memory_bytes,
        };
        image.find(&self.stop)
    }

    /// All scenarios on one disk, at `scale`.
    pub(super) fn on_disk(
        &self,
        disk: &str,
        scale: Option<TimeScale>,
        image: &Path,
    ) -> Result<Results, LabError> {
        let mut guest = guest_of(&self.patterns.kernel, disk)?;
        guest.disk.scale = match scale {
            Some(scale) => scale,
            // As on emulated disks, so that the same seconds reach the same places.
            None if guest.disk.model.is_rotational() => TimeScale::new(4, 1).unwrap_or_default(),
            None => TimeScale::REAL,
        };
        guest.disk.image = Some(image.to_owned());
        guest.disk.bytes = IMAGE_BYTES;
        guest.memory_bytes = self.memory_bytes;
        guest.console = Console::Kept;
        let waiting: VecDeque<&Scenario> = self.scenarios.iter().collect();
        let waiting = Mutex::new(waiting);
        let done = Mutex::new(Vec::new());
        // The guests' own clocks begin in 1970.
        let began = utc_minutes(SystemTime::now());
        let bar = progress::bar(
            progress::Shows::Parts,
            u64::try_from(self.scenarios.len()).unwrap_or(0),
        );
        let next = || {
            waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front()
        };
        let work = || {
            while let Some(scenario) = next().filter(|_| !self.stop.load(Ordering::Relaxed)) {
                let result = self.in_guest(&guest, disk, scenario);
                let failed = result.is_err();
                bar.inc(1);
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((scenario.clone(), result));
                if failed {
                    // Nothing more is started; what others have under way comes to its end.
                    waiting
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .clear();
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.patterns.guests.max(1) {
                scope.spawn(work);
            }
        });
        bar.finish_and_clear();
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let place = |one: &Scenario| self.scenarios.iter().position(|other| other == one);
        done.sort_by_key(|(scenario, _)| place(scenario));
        let mut all: Option<Results> = None;
        for (_, result) in done {
            let result = result?;
            match &mut all {
                Some(all) => {
                    all.runs.extend(result.runs);
                    all.places.extend(result.places);
                }
                None => all = Some(result),
            }
        }
        let mut all = all.ok_or_else(|| LabError::Inside("nothing to run".to_owned()))?;
        all.scenarios = self.scenarios.clone();
        all.arms = self.arms.clone();
        all.began = began;
        disk_name(disk).clone_into(&mut all.disk.name);
        Ok(all)
    }

    /// All arms of one pattern.
    fn in_guest(
        &self,
        guest: &Guest,
        disk: &str,
        scenario: &Scenario,
    ) -> Result<Results, LabError> {
        let pattern = scenario.to_string();
        let arms: Vec<String> = self.arms.iter().map(ToString::to_string).collect();
        let mut options = self.options.clone();
        for (name, value) in [("--pattern", &pattern), ("--arm", &arms.join(","))] {
            options.extend([name.to_owned(), value.clone()]);
        }
        let mut guest = guest.clone();
        guest.task = Task {
            is_blank: false,
            is_read_only: true,
            file_system: self.file_system,
            ..Task::new(bench_command("run", disk, options)?)
        };
        let (run, results): (_, Results) =
            bench_in(&guest, &shared_folder()?, &self.stop, &pattern)?;
        if let Some(folder) = self.requests {
            let mut text = String::from("arrived_ns,completed_ns,ended_ns,offset,bytes,write\n");
            for one in &run.requests {
                let (at, done, ended) = (one.arrived_ns, one.completed_ns, one.ended_ns);
                let write = u8::from(one.is_write);
                let _ = writeln!(
                    text,
                    "{at},{done},{ended},{},{},{write}",
                    one.offset, one.bytes
                );
            }
            fs::write(
                folder.join(format!("{}-{pattern}.csv", disk_name(disk))),
                text,
            )?;
        }
        Ok(results)
    }
}
