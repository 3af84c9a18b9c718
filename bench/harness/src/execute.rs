//! One run: a cold start, a reader process, and what happened on the device meanwhile.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use ahead_sys::block_queue::BlockStat;
use ahead_sys::cgroup::{MemoryController, MemoryGroup};
use ahead_sys::child_usage::{ChildEnd, try_wait, wait_blocking};
use ahead_sys::drop_caches::drop_caches;
use ahead_sys::shared_counter::SharedCounter;
use ahead_workload::scenario::ScenarioWork;
use ahead_workload::{Scenario, Workload};

use crate::arm::Arm;
use crate::assignment::{
    Assignment, Measured, Mode, ReaderAnswer, Source, Sources, read_json, write_json,
};
use crate::daemon_arm::RunningDaemon;
use crate::dataset::Dataset;
use crate::error::BenchError;
use crate::journal::GROUP_PREFIX;
use crate::kernel_policy::KernelPolicy;
use crate::places::{self, Known};
use crate::plan::{BenchPlan, Preload};
use crate::results::{Limits, RunRecord};
use crate::target::Target;

/// How often the device and the reader's progress are looked at. At 400 MB/s 2 MB pass in
/// between, which is the error of the figure for unread memory; twice as often would cost two
/// per cent of a processor.
const SAMPLE_EVERY: Duration = Duration::from_millis(5);
/// A pattern that runs from memory does not need long to be measured.
const CACHED_MILLISECONDS_MAX: u64 = 2000;

/// The surroundings that all runs share.
pub(crate) struct Bench<'a> {
    pub(crate) plan: &'a BenchPlan,
    pub(crate) target: &'a Target,
    pub(crate) dataset: &'a Dataset,
    /// A folder for small files of ours.
    pub(crate) folder: &'a Path,
}

impl Bench<'_> {
    /// Runs `scenario` once in `arm`.
    pub(crate) fn execute(
        &self,
        scenario: &Scenario,
        arm: &Arm,
        repeat: u32,
    ) -> Result<RunRecord, BenchError> {
        let failed = |message: String| BenchError::Run {
            scenario: scenario.clone(),
            arm: arm.clone(),
            message,
        };
        let machine = |what: &'static str| move |source| BenchError::Machine { what, source };
        let kib = match arm {
            Arm::Off => 0,
            Arm::Stock { kib } => *kib,
            _ => 128,
        };
        self.target
            .queue
            .set_read_ahead_kb(kib)
            .map_err(machine("cannot set read_ahead_kb"))?;
        let _policy = KernelPolicy::of(arm).map_err(machine("cannot set vm.readahead_policy"))?;

        let (workload, sources) = self.work(scenario)?;
        rustix::fs::sync();
        drop_caches(Path::new("/proc")).map_err(machine("cannot drop the page cache"))?;
        let daemon = self
            .daemon(arm)
            .map_err(machine("cannot start the daemon"))?;
        self.warm_programs();
        if scenario.cached {
            warm(&sources).map_err(machine("cannot read the test files"))?;
        }
        let known = if self.plan.looks_up_places {
            let known = self.look_up(scenario)?;
            let parked = places::park(&self.target.queue.name());
            parked.map_err(machine("cannot read the start of the disk"))?;
            Some(known)
        } else {
            None
        };
        let group = self.group(scenario)?;
        let _leaving = Leaving(group.as_ref());
        let (counter, counter_file) =
            SharedCounter::anonymous().map_err(machine("cannot make a counter"))?;
        let counter_path = format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            counter_file.as_raw_fd()
        )
        .into();
        let limits = self.limits(scenario);
        let assignment = Assignment {
            workload: workload.clone(),
            mode: self.mode(arm),
            sources,
            seed: self.plan.seed,
            bytes_max: limits
                .map(|limits| limits.bytes)
                .filter(|_| !scenario.cached),
            milliseconds_max: limits.map(|limits| limits.milliseconds),
            sleeps: self.plan.sleeps,
            repeat: scenario.cached,
            members_file: members_file(arm, group.as_ref()),
            counter: counter_path,
            answer: self.folder.join("answer.json"),
        };
        let assignment_path = self.folder.join("assignment.json");
        let _ = fs::remove_file(&assignment.answer);
        write_json(&assignment_path, &assignment)
            .map_err(machine("cannot write to the state folder"))?;

        self.target.reset_stats();
        let before = self
            .target
            .queue
            .stat()
            .map_err(machine("cannot read the disk's counters"))?;
        let mut child = self
            .command(arm, &assignment_path)
            .and_then(|mut command| command.spawn())
            .map_err(machine("cannot start the reader"))?;
        let watched = self.watch(&mut child, &counter, before, group.as_ref());
        let Watched {
            end,
            unread_bytes_max,
            own_bytes,
        } = watched.map_err(machine("cannot watch the reader"))?;
        if self.plan.stop.load(Ordering::Relaxed) {
            return Err(BenchError::Stopped);
        }
        drop(known);
        let answer = self.answer(&assignment, end, arm);
        let killed = group
            .as_ref()
            .and_then(|group| group.killed().ok().flatten());
        let measured = match (answer, killed) {
            (Err(_), Some(1..)) => {
                return Err(BenchError::OutOfMemory {
                    scenario: scenario.clone(),
                    arm: arm.clone(),
                });
            }
            (answer, _) => answer.map_err(failed)?,
        };
        let daemon_end = daemon
            .map(RunningDaemon::end)
            .transpose()
            .map_err(machine("the daemon failed"))?;
        let after = self
            .target
            .settled()
            .map_err(machine("cannot read the disk's counters"))?;
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Ok(RunRecord {
            scenario: scenario.clone(),
            arm: arm.clone(),
            repeat,
            useful_bytes: measured.useful_bytes,
            elapsed_ns: measured.elapsed_ns,
            reads: measured.reads,
            latency: measured.latency,
            began_ns: measured.began_ns,
            own_bytes,
            device_bytes: after.read_bytes.saturating_sub(before.read_bytes),
            device_requests: after.reads.saturating_sub(before.reads),
            cpu_user_ns: nanos(end.user),
            cpu_system_ns: nanos(end.system),
            unread_bytes_max,
            reread_bytes: self.target.reread_bytes(),
            daemon_cpu_ns: daemon_end.map(|end| nanos(end.user + end.system)),
        })
    }

    /// Brings back what dropping the page cache took away and the test is not about: the code of
    /// the reader and of the library, which would otherwise be paged in while the clock runs.
    fn warm_programs(&self) {
        let library = self.plan.preload.as_ref().map(|preload| &preload.library);
        let commands = self.plan.daemon.as_ref();
        let static_reader = commands.and_then(|commands| commands.static_reader.as_ref());
        let readers = std::iter::once(&self.plan.reader).chain(static_reader);
        for path in readers.map(|reader| &reader.program).chain(library) {
            // Whoever cannot be read cannot be run either, and that is reported.
            let _ = fs::read(path);
        }
    }

    /// Where the files of `scenario` lie; they stay open as long as the answer lives.
    pub(crate) fn look_up(&self, scenario: &Scenario) -> Result<Known, BenchError> {
        let (_, sources) = self.work(scenario)?;
        places::look_up(&sources).map_err(|error| BenchError::Machine {
            what: "cannot find out where the test files lie",
            source: io::Error::other(error),
        })
    }

    fn group(&self, scenario: &Scenario) -> Result<Option<MemoryGroup>, BenchError> {
        let Some(bytes_max) = scenario.memory_bytes_max() else {
            return Ok(None);
        };
        let machine = |source| BenchError::Machine {
            what: "cannot limit the reader's memory through the memory control group",
            source,
        };
        let controller = MemoryController::find(Path::new("/sys/fs/cgroup"))
            .ok_or_else(|| machine(io::ErrorKind::Unsupported.into()))?;
        let name = format!("{GROUP_PREFIX}{}", std::process::id());
        controller
            .create(&name, bytes_max)
            .map(Some)
            .map_err(machine)
    }

    /// The workload of `scenario` and its files.
    pub(crate) fn work(&self, scenario: &Scenario) -> Result<(&Workload, Sources), BenchError> {
        let missing = || BenchError::NoPlan {
            scenario: scenario.clone(),
        };
        let workload = self.plan.workload(scenario).ok_or_else(missing)?;
        let sources = match &scenario.work {
            ScenarioWork::Preset(preset) => self
                .dataset
                .of_preset(preset, scenario.cached)
                .ok_or_else(missing)?,
            ScenarioWork::Planned(_) => self.dataset.of_planned(workload),
        };
        Ok((workload, sources))
    }

    /// The daemon of `arm`, if it is one of that.
    fn daemon(&self, arm: &Arm) -> io::Result<Option<RunningDaemon>> {
        let (Arm::Daemon { .. }, Some(commands)) = (arm, &self.plan.daemon) else {
            return Ok(None);
        };
        RunningDaemon::start(&commands.daemon, self.target.device()?, self.folder).map(Some)
    }

    fn mode(&self, arm: &Arm) -> Mode {
        if *arm == Arm::Ceiling {
            Mode::Ceiling(self.target.pricing)
        } else {
            Mode::Plain
        }
    }

    /// What stops a run of `scenario`; `None` if only its own end does. What runs from memory has
    /// no limit in bytes.
    fn limits(&self, scenario: &Scenario) -> Option<Limits> {
        let mut limits = self.plan.limits;
        if scenario.cached {
            limits.milliseconds = limits.milliseconds.min(CACHED_MILLISECONDS_MAX);
        } else if runs_to_its_end(scenario) {
            return None;
        }
        Some(limits)
    }

    fn command(&self, arm: &Arm, assignment: &Path) -> io::Result<Command> {
        let commands = self.plan.daemon.as_ref();
        let static_reader = commands.and_then(|commands| commands.static_reader.as_ref());
        let reader = match arm {
            Arm::Daemon { is_static: true } => static_reader.unwrap_or(&self.plan.reader),
            _ => &self.plan.reader,
        };
        let mut command = Command::new(&reader.program);
        command
            .args(&reader.arguments)
            .arg(assignment)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command.stderr(File::create(self.folder.join("stderr"))?);
        command.env_remove("LD_PRELOAD");
        if let Arm::Run { settings } = arm
            && let Some(preload) = &self.plan.preload
        {
            command.envs(environment(preload, settings));
        }
        Ok(command)
    }

    /// Waits for the reader, and looks at the device and its progress meanwhile.
    fn watch(
        &self,
        child: &mut Child,
        counter: &SharedCounter,
        before: BlockStat,
        group: Option<&MemoryGroup>,
    ) -> io::Result<Watched> {
        let mut unread_bytes_max = 0;
        let mut own_bytes = None;
        loop {
            let mut end = try_wait(child.id())?;
            if end.is_none() && self.plan.stop.load(Ordering::Relaxed) {
                child.kill()?;
                end = Some(wait_blocking(child.id())?);
            }
            if let Some(end) = end {
                return Ok(Watched {
                    end,
                    unread_bytes_max,
                    own_bytes,
                });
            }
            // Once, and early: to ask makes the kernel add up the group's pages, which it decides by.
            if own_bytes.is_none() && counter.get() > 0 {
                own_bytes = group.and_then(|group| group.own_bytes().ok().flatten());
            }
            // The device first: what the reader takes in between makes the figure smaller, never
            // larger than it was.
            let device = self
                .target
                .queue
                .stat()?
                .read_bytes
                .saturating_sub(before.read_bytes);
            unread_bytes_max = unread_bytes_max.max(device.saturating_sub(counter.get()));
            std::thread::sleep(SAMPLE_EVERY);
        }
    }

    fn answer(
        &self,
        assignment: &Assignment,
        end: ChildEnd,
        arm: &Arm,
    ) -> Result<Measured, String> {
        let said = || {
            let text = fs::read_to_string(self.folder.join("stderr")).unwrap_or_default();
            text.lines()
                .next()
                .map(|line| format!("; it said: {line}"))
                .unwrap_or_default()
        };
        match read_json::<ReaderAnswer>(&assignment.answer) {
            Ok(ReaderAnswer::Measured(measured)) if end.status.success() => {
                if matches!(arm, Arm::Run { .. }) && !measured.preloaded {
                    return Err(format!(
                        "the library was not loaded into the reader{}",
                        said()
                    ));
                }
                Ok(measured)
            }
            Ok(ReaderAnswer::Failed(message)) => Err(message),
            _ => Err(format!("the reader ended with {}{}", end.status, said())),
        }
    }
}

/// What was seen of a reader from outside.
struct Watched {
    end: ChildEnd,
    unread_bytes_max: u64,
    own_bytes: Option<u64>,
}

/// Direct reads do not go through the page cache, so that a limit would say nothing.
fn members_file(arm: &Arm, group: Option<&MemoryGroup>) -> Option<PathBuf> {
    let group = group.filter(|_| *arm != Arm::Ceiling);
    group.map(MemoryGroup::members_file)
}

/// Whether only its own end stops it.
pub(crate) fn runs_to_its_end(scenario: &Scenario) -> bool {
    scenario
        .preset()
        .is_some_and(|preset| preset.runs_to_its_end)
}

/// Removes a memory group when the run is over.
struct Leaving<'a>(Option<&'a MemoryGroup>);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        // The kernel may need a moment until a group whose last process has ended counts as empty.
        for _ in 0..100 {
            if self.0.is_none_or(|group| group.remove().is_ok()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn environment(preload: &Preload, settings: &[String]) -> Vec<(String, String)> {
    let mut environment = preload.environment.clone();
    environment.push(("LD_PRELOAD".into(), preload.library.display().to_string()));
    if !settings.is_empty() {
        let mut joined = settings.join(",");
        environment.retain(|(name, value)| {
            let same = *name == preload.settings_variable;
            if same && !value.is_empty() {
                joined = format!("{value},{joined}");
            }
            !same
        });
        environment.push((preload.settings_variable.clone(), joined));
    }
    environment
}

/// Brings everything that takes part into memory.
fn warm(sources: &Sources) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut read = |source: &Source| -> io::Result<()> {
        let mut limited = io::Read::take(File::open(&source.path)?, source.bytes);
        while io::Read::read(&mut limited, &mut buffer)? > 0 {}
        Ok(())
    };
    match sources {
        Sources::Listed(list) => list.iter().try_for_each(read),
        Sources::Folder { path, bytes, .. } => {
            for entry in fs::read_dir(path)? {
                read(&Source {
                    path: entry?.path(),
                    id: 0,
                    bytes: *bytes,
                })?;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_an_arm_come_behind_those_of_the_plan() {
        let preload = Preload {
            library: "/lib/x.so".into(),
            environment: vec![("S".into(), "a=1".into()), ("OTHER".into(), "2".into())],
            settings_variable: "S".into(),
        };
        let plain = environment(&preload, &[]);
        assert!(plain.contains(&("S".into(), "a=1".into())));
        let more = environment(&preload, &["b=2".into(), "c=3".into()]);
        assert!(more.contains(&("S".into(), "a=1,b=2,c=3".into())));
        assert!(more.contains(&("LD_PRELOAD".into(), "/lib/x.so".into())));
        assert_eq!(more.iter().filter(|(name, _)| name == "S").count(), 1);
    }
}
