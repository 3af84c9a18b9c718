//! What a request queue is like, and the queues that Linux had.
//!
//! Only data: how the figures act is in the [queue](super), its [pool](super::pool) and its
//! [scheduler](super::scheduler).

use ahead_disk_model::DiskModel;

/// How long requests are held back before the disk may see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugging {
    /// Never.
    None,
    /// The plug sits in the queue: a queue that was idle holds back what comes until somebody
    /// waits (up to Linux 2.6.38). A queue that is working is not plugged.
    Queue {
        /// Held requests that pull the plug by themselves. `None`: any number is held.
        requests_max: Option<u32>,
        /// Nanoseconds after which the plug pulls itself. `None`: never.
        wait_ns: Option<u64>,
    },
    /// The plug sits with the caller: what one system call asks for is held until the call ends,
    /// whatever the queue does meanwhile (since Linux 2.6.39).
    Call {
        /// A request that finds so many held sends them first.
        requests_max: u32,
        /// So does one that finds a last request of so many pages.
        flush_pages: u64,
    },
}

/// Which waiting request goes to the disk next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// The oldest.
    Noop,
    /// Ascending from where the last one ended, then again from the lowest, for ever: nothing
    /// bounds how long a request waits.
    CLook,
    /// Ascending in batches; between two batches, the oldest if it has expired.
    Deadline {
        /// Nanoseconds that a read may wait before it goes first.
        expire_ns: u64,
        /// Requests of a batch.
        batch: u32,
        /// What ends a batch, and where a sweep starts again.
        rules: DeadlineRules,
    },
    /// Time slices for files, the oldest request's next: what CFQ makes of readers that each have
    /// a file and always have a request waiting. It does not idle for a file that has none.
    Slices {
        /// Nanoseconds of a slice.
        slice_ns: u64,
    },
}

/// The two sets of rules that the deadline scheduler had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineRules {
    /// Up to Linux 2.6.24: a gap ends a batch too, and a sweep starts again from the lowest.
    Early,
    /// Since then, and mq-deadline: gaps do not matter, a sweep starts again from the oldest.
    Late,
}

impl Scheduler {
    /// Deadline with the constants it always had: 500 ms, batches of 16.
    #[must_use]
    pub const fn deadline(rules: DeadlineRules) -> Self {
        Self::Deadline {
            expire_ns: 500_000_000,
            batch: 16,
            rules,
        }
    }

    /// The same as writes are ordered: deadline lets them wait for 5 s.
    pub(super) const fn for_writes(self) -> Self {
        match self {
            Self::Deadline { batch, rules, .. } => Self::Deadline {
                expire_ns: 5_000_000_000,
                batch,
                rules,
            },
            other => other,
        }
    }
}

/// A request queue. Slots are those of reads; writes have as many of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// Requests that may be held, waiting or at the disk. `None`: any number.
    pub slots: Option<u32>,
    /// Slots that pages which may be dropped leave free; 0: they take the last one.
    pub slots_kept: u32,
    /// Pages that may be in the queue together. `None`: any number.
    pub queued_pages_max: Option<u64>,
    /// Pages in one request, at least 1.
    pub request_pages_max: u64,
    /// Pages that enter the queue in one piece and are merged whole or not at all, at least 1:
    /// one buffer in Linux 2.2 and 2.4, one bio later.
    pub unit_pages_max: u64,
    /// Whether neighbours become one request while they wait.
    pub merging: bool,
    /// What is held back.
    pub plugging: Plugging,
    /// Order of service.
    pub scheduler: Scheduler,
    /// Requests that the disk has at the same time, at least 1. In which order it serves them is
    /// the disk's own affair.
    pub device_depth: u32,
    /// Whether the queue tells when it is congested, between two marks (2.6).
    pub congestion: bool,
    /// A run that is longer than a request completes as a whole, with the last of its requests:
    /// since one bio holds a whole window (large folios) and is cut by the block layer, its reader
    /// hears of all parts together. `false`: each request's pages are there when it is done.
    pub whole_runs: bool,
}

/// Commands that a loop device holds, and a guest's disk as well.
pub const LOOP_DEPTH: u32 = 128;

impl QueueSettings {
    /// Linux 2.2 with an IDE disk: 64 slots, requests of 122 KiB, one disk order without bounds.
    #[must_use]
    pub const fn linux_2_2() -> Self {
        Self {
            slots: Some(64),
            slots_kept: 0,
            queued_pages_max: None,
            // 244 sectors are 30 pages and a half.
            request_pages_max: 30,
            unit_pages_max: 1,
            merging: true,
            plugging: Plugging::Queue {
                requests_max: None,
                wait_ns: None,
            },
            scheduler: Scheduler::CLook,
            device_depth: 1,
            congestion: false,
            whole_runs: false,
        }
    }

    /// Linux 2.4 with an IDE disk: requests of 64 KiB, at most 4 MiB in the queue, and read-ahead
    /// that may be dropped leaves a batch of 32 slots free. Its elevator's budget for being passed
    /// over (128 for a read) is left out: with reads only it is C-LOOK until then.
    #[must_use]
    pub const fn linux_2_4() -> Self {
        Self {
            slots: Some(1024),
            slots_kept: 32,
            queued_pages_max: Some(1024),
            request_pages_max: 16,
            ..Self::linux_2_2()
        }
    }

    /// Linux 2.6.18 with the deadline scheduler and a disk that takes 512 KiB at a time. An IDE
    /// disk of its time takes 128 KiB: [`with_request_pages_max`](Self::with_request_pages_max)
    /// 32.
    #[must_use]
    pub const fn linux_2_6_18() -> Self {
        Self {
            slots: Some(128),
            slots_kept: 0,
            queued_pages_max: None,
            request_pages_max: 128,
            unit_pages_max: 256,
            merging: true,
            plugging: Plugging::Queue {
                requests_max: Some(4),
                wait_ns: Some(3_000_000),
            },
            scheduler: Scheduler::deadline(DeadlineRules::Early),
            device_depth: 1,
            congestion: true,
            whole_runs: false,
        }
    }

    /// Linux 4.19 with mq-deadline and a SATA disk of 32 commands: requests of 1280 KiB.
    #[must_use]
    pub const fn linux_4_19() -> Self {
        Self {
            slots: Some(64),
            slots_kept: 0,
            queued_pages_max: None,
            request_pages_max: 320,
            unit_pages_max: 256,
            merging: true,
            plugging: Plugging::Call {
                requests_max: 16,
                flush_pages: 32,
            },
            scheduler: Scheduler::deadline(DeadlineRules::Late),
            device_depth: 32,
            congestion: false,
            whole_runs: false,
        }
    }

    /// Linux 6.18 with mq-deadline and a SATA disk of 32 commands: requests of 4 MiB.
    #[must_use]
    pub const fn linux_6_18() -> Self {
        Self {
            request_pages_max: 1024,
            unit_pages_max: u64::MAX,
            plugging: Plugging::Call {
                requests_max: 32,
                flush_pages: 32,
            },
            whole_runs: true,
            ..Self::linux_4_19()
        }
    }

    /// Linux 6.18 without a scheduler: what NVMe disks and cloud volumes get. 1023 commands, and
    /// requests of 128 KiB, which is what such disks commonly say is their limit.
    #[must_use]
    pub const fn linux_6_18_nvme() -> Self {
        Self {
            slots: Some(1023),
            request_pages_max: 32,
            scheduler: Scheduler::Noop,
            device_depth: 1023,
            ..Self::linux_6_18()
        }
    }

    /// What Linux 6.18 sets up by itself for a disk of this kind.
    #[must_use]
    pub const fn linux_6_18_for(disk: &DiskModel) -> Self {
        if disk.is_rotational() {
            Self::linux_6_18()
        } else {
            Self::linux_6_18_nvme()
        }
    }

    /// No bounds, nothing held, nothing merged: every run is a request and reaches the disk at
    /// once. For arithmetic.
    #[must_use]
    pub const fn direct() -> Self {
        Self {
            slots: None,
            slots_kept: 0,
            queued_pages_max: None,
            request_pages_max: u64::MAX,
            unit_pages_max: u64::MAX,
            merging: false,
            plugging: Plugging::None,
            scheduler: Scheduler::Noop,
            device_depth: u32::MAX,
            congestion: false,
            whole_runs: false,
        }
    }

    /// A disk that gets its requests as they come: no scheduler, `depth` requests of `request_pages` at most. Loop
    /// devices, virtual disks, and what is said to have `none`.
    #[must_use]
    pub const fn linux_6_18_unordered(depth: u32, request_pages: u64) -> Self {
        Self {
            slots: Some(depth),
            request_pages_max: request_pages,
            scheduler: Scheduler::Noop,
            device_depth: depth,
            ..Self::linux_6_18()
        }
    }

    /// The same with another largest request (and unit, which is never larger than a request).
    #[must_use]
    pub const fn with_request_pages_max(mut self, pages: u64) -> Self {
        self.request_pages_max = pages;
        self
    }

    /// The same with another scheduler.
    #[must_use]
    pub const fn with_scheduler(mut self, scheduler: Scheduler) -> Self {
        self.scheduler = scheduler;
        self
    }

    /// The same with another number of slots.
    #[must_use]
    pub const fn with_slots(mut self, slots: Option<u32>) -> Self {
        self.slots = slots;
        self
    }
}
