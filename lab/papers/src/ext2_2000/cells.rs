//! The machine of the paper, and every run that its figures need.

use ahead_disk_model::DiskModel;
use ahead_replicas::kernel::Advice;
use ahead_sim::algorithm::Policy;
use ahead_sim::queue::QueueSettings;
use ahead_sim::report::WorldReport;
use ahead_sim::world::{Machine, RunTotals};
use ahead_units::PageCount;
use ahead_workload::{FileSpec, Job, Process, Step};

use crate::figure::{ModelKnobs, Parameter, ParameterOrigin, ReproduceError, float, run};
use ahead_study::parallel;

/// The advice: powers of two, as the paper's kernel wants them. 16 384 is the last below the file.
pub(super) const WINDOWS: [u64; 15] = [
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384,
];

/// What lies before a file at the inner end: all but the last 300 MB of the 9.3 GB substitute.
/// There it gives 13 MB/s, which is what the authors' disk gave NTFS; at the outer end it gives 20.
const BYTES_BEFORE: u64 = 8969829120;

/// Page cache of a machine with 128 MB: what 2.2 and an idle desktop leave is not published; the
/// file has to fit, and does.
const CACHE_PAGES: u64 = 112 << 8;

const USER: &str = "the program's time for a page";
const SECTOR: &str = "processor time to move a sector with PIO";
const SLOTS: &str = "places in the queue";
const MERGED: &str = "pages of a request";

/// The free numbers of the model.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: USER,
        value: "0.29 ms",
        origin: ParameterOrigin::Fitted,
        source: "12.5 MB/s and half a second idle in figure 5",
        turns: true,
    },
    Parameter {
        name: SECTOR,
        value: "0.15 ms",
        origin: ParameterOrigin::Fitted,
        source: "30 s idle in figure 3",
        turns: true,
    },
    Parameter {
        name: "place on the disk",
        value: "the inner end",
        origin: ParameterOrigin::Fitted,
        source: "13 MB/s, which is what the authors' disk gave NTFS",
        turns: false,
    },
    Parameter {
        name: SLOTS,
        value: "128",
        origin: ParameterOrigin::Derived,
        source: "the paper; the sources of 2.2.1 have 64",
        turns: true,
    },
    Parameter {
        name: MERGED,
        value: "2",
        origin: ParameterOrigin::Derived,
        source: "\"more like 260\" pages in 128 requests; the sources have 30",
        turns: true,
    },
    Parameter {
        name: "the disk",
        value: "IBM DNES",
        origin: ParameterOrigin::Assumed,
        source: "of the same year, size and speed as the Fireball, which is described nowhere",
        turns: false,
    },
    Parameter {
        name: "processor costs of the kernel",
        value: "ten numbers",
        origin: ParameterOrigin::Assumed,
        source: "usual for a Pentium III",
        turns: false,
    },
];

/// How the disk's bytes reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    /// The processor moves them.
    Pio,
    /// The controller does.
    Dma,
}

/// Whose read-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mechanism {
    /// On misses, waiting for the queue.
    Original,
    /// On hits too, dropped when the queue is full.
    Modified,
}

impl Mechanism {
    /// The policy that advises `pages` pages.
    pub(super) fn policy(self, pages: u64) -> String {
        match self {
            Self::Original => format!("advise-original:n={pages}"),
            Self::Modified => format!("advise-true:n={pages},period={}", pages.min(16)),
        }
    }
}

/// Which request queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// 128 places of two pages, which the paper's own numbers imply.
    Paper,
    /// 64 places of 30 pages, which the sources of 2.2.1 have.
    Sources,
}

/// The machine.
pub(super) fn machine(transfer: Transfer, queue: Queue, knobs: &ModelKnobs) -> Machine {
    let disk = match transfer {
        Transfer::Pio => "fireball-pio",
        Transfer::Dma => "fireball",
    };
    let mut disk = DiskModel::preset(disk).unwrap_or_else(|error| unreachable!("{error}"));
    if let DiskModel::Drive(drive) = &mut disk
        && drive.cpu_ns_per_sector > 0
    {
        drive.cpu_ns_per_sector = knobs.whole(SECTOR, drive.cpu_ns_per_sector);
    }
    let sources = QueueSettings::linux_2_2();
    let slots = u32::try_from(knobs.whole(SLOTS, 128)).unwrap_or(128);
    let mut machine = Machine {
        queue: match queue {
            Queue::Paper => sources
                .with_slots(Some(slots))
                .with_request_pages_max(knobs.whole(MERGED, 2)),
            Queue::Sources => sources,
        },
        ..Machine::pentium_iii(disk, PageCount::new(CACHE_PAGES))
    };
    machine.costs.user_page_ns = knobs.whole(USER, machine.costs.user_page_ns);
    machine
}

/// Where files lie on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Slow.
    Inner,
    /// Fast.
    Outer,
}

/// Files of so many pages: files 1, 2, … of a job.
pub(super) fn files(place: Place, pages: impl IntoIterator<Item = u64>) -> Vec<FileSpec> {
    let before = [FileSpec::contiguous(match place {
        Place::Inner => BYTES_BEFORE,
        Place::Outer => 0,
    })];
    let files = pages
        .into_iter()
        .map(|pages| FileSpec::contiguous(pages * 4096));
    before.into_iter().chain(files).collect()
}

/// The whole of a file of `pages` pages is mapped: area 0.
pub(super) fn map_all(pages: u64) -> Step {
    Step::Map {
        area: 0,
        slot: 0,
        start: 0,
        pages,
        advice: Advice::Normal,
        executable: false,
    }
}

/// A process `name` that maps one file of `pages` pages and does `steps`.
pub(super) fn mapping(
    name: &str,
    place: Place,
    pages: u64,
    steps: impl Iterator<Item = Step> + Clone + Send + 'static,
) -> Job {
    let steps = [map_all(pages)].into_iter().chain(steps);
    Job {
        files: files(place, [pages]),
        processes: vec![Process::new(name, vec![1], steps)],
        ..Job::default()
    }
}

/// *mmapit* on a file of `pages` pages.
pub(super) fn mmapit(place: Place, pages: u64) -> Job {
    let touch = Step::Touch {
        area: 0,
        page: 0,
        pages,
    };
    mapping("mmapit", place, pages, [touch].into_iter())
}

/// What `getrusage` and the clock showed the authors, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) user: f64,
    pub(super) system: f64,
    pub(super) idle: f64,
    pub(super) elapsed: f64,
}

/// Interrupts of a running program count as its system time; on an idle processor they count as
/// idle, as 2.2 did.
pub(super) fn usage(report: &WorldReport) -> Usage {
    let seconds = |ns: u64| float(ns) / 1e9;
    let processors = &report.processors;
    let in_idle = processors.interrupt_in_idle_ns;
    Usage {
        user: seconds(processors.user_ns),
        system: seconds(processors.system_ns + processors.interrupt_ns - in_idle),
        idle: seconds(processors.idle_ns + in_idle),
        elapsed: seconds(report.elapsed_ns),
    }
}

/// 10^6 bytes per second.
pub(super) fn mb_per_s(report: &WorldReport) -> f64 {
    float(report.bytes_per_second()) / 1e6
}

/// One policy on one machine, with what the processor did in every `bucket_ns`.
pub(super) fn run_with_timeline(
    machine: &Machine,
    policy: &str,
    job: &Job,
    bucket_ns: u64,
) -> Result<WorldReport, ReproduceError> {
    let policy = Policy::for_disk(policy, &machine.disk)?;
    let account = RunTotals::new(job).with_timeline(bucket_ns);
    Ok(ahead_sim::simulate_with(machine, &policy, job, account)?)
}

/// *mmapit* at the inner end, under each policy.
pub(super) fn sweep(
    machine: &Machine,
    policies: &[String],
    pages: u64,
) -> Result<Vec<WorldReport>, ReproduceError> {
    sweep_at(Place::Inner, machine, policies, pages)
}

fn sweep_at(
    place: Place,
    machine: &Machine,
    policies: &[String],
    pages: u64,
) -> Result<Vec<WorldReport>, ReproduceError> {
    let reports = parallel::map(policies, |policy| {
        run(machine, policy, &mmapit(place, pages))
    });
    reports.into_iter().collect()
}

/// The runs of figures 1 to 7, each list in the order of [`WINDOWS`].
pub(super) struct Runs {
    pub(super) pages: u64,
    pub(super) pio: Vec<WorldReport>,
    pub(super) dma: Vec<WorldReport>,
    pub(super) modified: Vec<WorldReport>,
    /// Both mechanisms with the file at the outer end, DMA.
    pub(super) outer: [Vec<WorldReport>; 2],
    /// Original mechanism, DMA, and the queue of the sources.
    pub(super) dma_sources: Vec<WorldReport>,
}

impl Runs {
    pub(super) fn new(pages: u64, knobs: &ModelKnobs) -> Result<Self, ReproduceError> {
        let policies = |mechanism: Mechanism| WINDOWS.map(|window| mechanism.policy(window));
        let (original, modified) = (policies(Mechanism::Original), policies(Mechanism::Modified));
        let dma = machine(Transfer::Dma, Queue::Paper, knobs);
        Ok(Self {
            pages,
            pio: sweep(
                &machine(Transfer::Pio, Queue::Paper, knobs),
                &original,
                pages,
            )?,
            dma: sweep(&dma, &original, pages)?,
            modified: sweep(&dma, &modified, pages)?,
            outer: [
                sweep_at(Place::Outer, &dma, &original, pages)?,
                sweep_at(Place::Outer, &dma, &modified, pages)?,
            ],
            dma_sources: sweep(
                &machine(Transfer::Dma, Queue::Sources, knobs),
                &original,
                pages,
            )?,
        })
    }

    /// The run with `window` pages in one of the lists.
    pub(super) fn at(runs: &[WorldReport], window: u64) -> &WorldReport {
        let place = WINDOWS.iter().position(|known| *known == window);
        &runs[place.unwrap_or(0)]
    }
}
