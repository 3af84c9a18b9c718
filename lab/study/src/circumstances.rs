//! What a plan may say about the simulated machine beside its disk, memory and processors.
//!
//! Everything that is left out is that of a machine of today ([`Machine::modern`]). The keys are those of
//! a plan; guests have a kernel of their own, and take none of them.

use ahead_disk_model::DiskModel;
use ahead_replicas::page_cache::{Limit, Replacement};
use ahead_sim::queue::{DeadlineRules, QueueSettings, Scheduler};
use ahead_sim::world::{Costs, Machine};
use ahead_units::PageCount;
use ahead_workload::{Job, Layout};
use serde::{Deserialize, Serialize};

/// Which machine everything else is a change of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineChoice {
    /// A server of the 2020s under Linux 6.18.
    Modern,
    /// The desktop of 2000 under Linux 2.2: see `ahead reproduce ext2-2000`.
    PentiumIii,
    /// Only the disk takes time, and every request reaches it alone.
    Ideal,
}

/// Which request queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum QueueChoice {
    /// 64 requests of 122 KiB.
    #[serde(rename = "linux-2.2")]
    Linux22,
    /// 4 MiB in requests of 64 KiB.
    #[serde(rename = "linux-2.4")]
    Linux24,
    /// 128 requests of 512 KiB, deadline.
    #[serde(rename = "linux-2.6.18")]
    Linux2618,
    /// Requests of 1280 KiB, mq-deadline.
    #[serde(rename = "linux-4.19")]
    Linux419,
    /// Requests of 4 MiB, mq-deadline.
    #[serde(rename = "linux-6.18")]
    Linux618,
    /// 1023 requests of 128 KiB, no scheduler.
    #[serde(rename = "linux-6.18-nvme")]
    Linux618Nvme,
    /// No bounds, nothing held, nothing merged.
    #[serde(rename = "direct")]
    Direct,
}

/// In which order requests go to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerChoice {
    /// The oldest first.
    Noop,
    /// One way over the disk, then again.
    CLook,
    /// As mq-deadline.
    Deadline,
    /// The disk for one file at a time, 100 ms each: CFQ.
    Slices,
}

/// How pages leave memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReclaimChoice {
    /// An active and an inactive list, just as much as is needed.
    TwoLists,
    /// The same with the kernel's watermarks, and pages that come back known.
    Watermarks,
    /// Generations: MGLRU.
    Generations,
    /// The limit of a memory control group.
    Group,
}

impl ReclaimChoice {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::TwoLists,
        Self::Watermarks,
        Self::Generations,
        Self::Group,
    ];

    /// The rules by which pages leave, and what limits them.
    #[must_use]
    pub const fn rules(self) -> (Replacement, Limit) {
        match self {
            Self::TwoLists => (Replacement::TwoList, Limit::Machine),
            Self::Watermarks => (Replacement::TwoList, Limit::Watermarks),
            Self::Generations => (Replacement::Generational, Limit::Machine),
            Self::Group => (Replacement::TwoList, Limit::Group),
        }
    }

    /// As plans have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TwoLists => "two-lists",
            Self::Watermarks => "watermarks",
            Self::Generations => "generations",
            Self::Group => "group",
        }
    }
}

/// What processors take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostsChoice {
    /// A server of the 2020s.
    Modern,
    /// A Pentium III.
    PentiumIii,
    /// Nothing costs anything.
    Free,
}

/// Where the pages of every file lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fragments {
    /// Pages of a piece.
    pub extent_pages: u64,
    /// Pages of other files between two.
    pub gap_pages: u64,
}

/// What a plan says of the simulated machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Whose everything else is.
    pub machine: Option<MachineChoice>,
    /// The request queue; the one that Linux 6.18 gives the disk.
    pub queue: Option<QueueChoice>,
    /// Its order.
    pub scheduler: Option<SchedulerChoice>,
    /// Who leaves memory.
    pub reclaim: Option<ReclaimChoice>,
    /// Processor time.
    pub costs: Option<CostsChoice>,
    /// Files in pieces.
    pub layout: Option<Fragments>,
}

impl Circumstances {
    /// The machine with `disk` and `memory`.
    #[must_use]
    pub fn machine(&self, disk: DiskModel, memory: PageCount) -> Machine {
        let mut machine = match self.machine.unwrap_or(MachineChoice::Modern) {
            MachineChoice::Modern => Machine::modern(disk, memory),
            MachineChoice::PentiumIii => Machine::pentium_iii(disk, memory),
            MachineChoice::Ideal => Machine::ideal(disk, memory),
        };
        if let Some(queue) = self.queue {
            machine.queue = match queue {
                QueueChoice::Linux22 => QueueSettings::linux_2_2(),
                QueueChoice::Linux24 => QueueSettings::linux_2_4(),
                QueueChoice::Linux2618 => QueueSettings::linux_2_6_18(),
                QueueChoice::Linux419 => QueueSettings::linux_4_19(),
                QueueChoice::Linux618 => QueueSettings::linux_6_18(),
                QueueChoice::Linux618Nvme => QueueSettings::linux_6_18_nvme(),
                QueueChoice::Direct => QueueSettings::direct(),
            };
        }
        if let Some(scheduler) = self.scheduler {
            machine.queue.scheduler = match scheduler {
                SchedulerChoice::Noop => Scheduler::Noop,
                SchedulerChoice::CLook => Scheduler::CLook,
                SchedulerChoice::Deadline => Scheduler::deadline(DeadlineRules::Late),
                SchedulerChoice::Slices => Scheduler::Slices {
                    slice_ns: 100_000_000,
                },
            };
        }
        if let Some(reclaim) = self.reclaim {
            (machine.replacement, machine.limit) = reclaim.rules();
        }
        if let Some(costs) = self.costs {
            machine.costs = match costs {
                CostsChoice::Modern => Costs::modern(),
                CostsChoice::PentiumIii => Costs::pentium_iii(),
                CostsChoice::Free => Costs::free(),
            };
        }
        machine
    }

    /// `job` with its files where the plan has them.
    #[must_use]
    pub fn lay_out(&self, mut job: Job) -> Job {
        if let Some(fragments) = self.layout {
            for file in &mut job.files {
                file.layout = Layout::Fragmented {
                    extent_pages: fragments.extent_pages,
                    gap_pages: fragments.gap_pages,
                };
            }
        }
        job
    }

    /// The first key that is there.
    #[must_use]
    pub const fn first_key(&self) -> Option<&'static str> {
        if self.machine.is_some() {
            Some("machine")
        } else if self.queue.is_some() {
            Some("queue")
        } else if self.scheduler.is_some() {
            Some("scheduler")
        } else if self.reclaim.is_some() {
            Some("reclaim")
        } else if self.costs.is_some() {
            Some("costs")
        } else if self.layout.is_some() {
            Some("layout")
        } else {
            None
        }
    }
}
