//! The account of one run: plain numbers, ready to be printed, stored and compared.
//!
//! Times are nanoseconds, pages are 4 KiB. [`RunTotals`](crate::world::RunTotals) fills it in.

use ahead_replicas::kernel::Class;
use serde::{Deserialize, Serialize};

/// Classes in the order of tables, with the names of the statistics patches of 2010 to 2012 and,
/// for classes they did not know, ours.
pub const CLASSES: [(Class, &str); 10] = [
    (Class::Initial, "initial"),
    (Class::Subsequent, "subsequent"),
    (Class::Context, "context"),
    (Class::Thrash, "thrash"),
    (Class::Around, "around"),
    (Class::Backward, "backwards"),
    (Class::Advice, "fadvise"),
    (Class::Random, "random"),
    (Class::Seek, "seek"),
    (Class::Single, "single"),
];

/// What one run did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorldReport {
    /// From the start to the end of the last task.
    pub elapsed_ns: u64,
    /// Time of all processors. User, system, interrupt and idle make up the whole.
    pub processors: ProcessorReport,
    /// `read()` calls.
    pub reads: u64,
    /// Page faults.
    pub faults: u64,
    /// Bytes delivered by reads, and whole pages touched in mappings.
    pub bytes: u64,
    /// How readers found pages.
    pub pages: PageReport,
    /// What read-ahead brought.
    pub prefetch: PrefetchReport,
    /// Times a task waited.
    pub waits: WaitReport,
    /// The queue and the disk.
    pub device: DeviceReport,
    /// What was written; absent from outputs of jobs that write nothing.
    #[serde(default, skip_serializing_if = "WriteReport::is_nothing")]
    pub writes: WriteReport,
    /// Windows by class, in the order of [`CLASSES`].
    pub classes: Vec<ClassReport>,
    /// How long reads and faults took.
    pub latency: LatencyReport,
    /// The same as a histogram: how many took less than so many nanoseconds, a power of two, and
    /// no less than half of that. Ascending; empty steps are left out.
    pub latency_histogram: Vec<(u64, u64)>,
    /// Process by process.
    pub processes: Vec<ProcessReport>,
    /// When phases began: label and moment.
    pub labels: Vec<(u32, u64)>,
    /// What processors did over time, if asked for.
    pub timeline: Option<Timeline>,
}

/// Processor time, summed over processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorReport {
    /// Programs.
    pub user_ns: u64,
    /// The kernel for programs.
    pub system_ns: u64,
    /// Interrupts, all of them.
    pub interrupt_ns: u64,
    /// Of those, on an idle processor: old kernels counted it as idle time.
    pub interrupt_in_idle_ns: u64,
    /// Nothing at all.
    pub idle_ns: u64,
    /// Of that, while some task waited for pages or the queue.
    pub io_wait_ns: u64,
}

/// How readers found pages, before the algorithm looked at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageReport {
    /// In the cache and up to date.
    pub hits_unlocked: u64,
    /// In the cache, still being read.
    pub hits_locked: u64,
    /// In the cache, its I/O dropped.
    pub hits_stale: u64,
    /// Not in the cache.
    pub misses: u64,
    /// Mapped already: the kernel did not see the touch.
    pub mapped: u64,
}

/// What became of pages that were brought before anybody needed them. Pages read alone
/// ([`Class::Single`]) do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefetchReport {
    /// Brought.
    pub pages: u64,
    /// Delivered to a reader.
    pub useful: u64,
    /// Reached by a reader while still being read.
    pub late: u64,
    /// Left the cache unread, or unread at the end.
    pub wasted: u64,
    /// Evicted unread, and then wanted after all.
    pub thrashed: u64,
    /// Most pages that were in memory unread.
    pub unread_max: u64,
    /// Pages in memory unread, mean over time.
    pub unread_mean: u64,
}

/// Waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitReport {
    /// For a page in flight.
    pub page: u64,
    /// Time in those.
    pub page_ns: u64,
    /// For a place in the queue.
    pub queue: u64,
    /// Time in those.
    pub queue_ns: u64,
}

/// The queue and the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// Requests to the disk.
    pub requests: u64,
    /// Bytes read from it.
    pub bytes: u64,
    /// Runs that joined a waiting request.
    pub merges: u64,
    /// Runs that found the queue full.
    pub refused: u64,
    /// Most requests in the queue and the disk together.
    pub depth_max: u32,
    /// Time of requests from submission to completion, summed; over the time elapsed it is the
    /// mean depth, over the requests the mean wait.
    pub waited_ns: u64,
    /// Time in which the disk was not idle.
    pub busy_ns: u64,
    /// Seeks of the arm.
    pub seeks: u64,
}

/// What programs wrote, and what of it reached the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteReport {
    /// Bytes that programs wrote.
    pub bytes: u64,
    /// Bytes written to the disk by the end.
    pub device_bytes: u64,
    /// Requests for them.
    pub requests: u64,
    /// Times a writer waited until less was dirty.
    pub waits: u64,
    /// Time in those.
    pub waits_ns: u64,
}

impl WriteReport {
    /// Whether nothing was written.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Windows of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassReport {
    /// Its name.
    pub class: String,
    /// Windows decided.
    pub windows: u64,
    /// Of those, up to the end of the file.
    pub at_end_of_file: u64,
    /// Of those, with a page that was in the cache already.
    pub cache_hits: u64,
    /// Of those, with at least one page to read.
    pub ios: u64,
    /// Of those, started before the reader needed a page of it.
    pub asynchronous: u64,
    /// Pages asked for.
    pub pages: u64,
    /// Pages behind the mark.
    pub async_pages: u64,
    /// Pages really read.
    pub io_pages: u64,
}

/// How long calls took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyReport {
    /// Calls.
    pub count: u64,
    /// Mean.
    pub mean_ns: u64,
    /// Half took no longer, within a part in a thousand, as below.
    pub p50_ns: u64,
    /// 90 of 100.
    pub p90_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1000.
    pub p999_ns: u64,
    /// The longest, exactly.
    pub max_ns: u64,
}

/// One process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessReport {
    /// Its name.
    pub name: String,
    /// Reads.
    pub reads: u64,
    /// Bytes delivered, as in [`WorldReport::bytes`].
    pub bytes: u64,
    /// Its own work.
    pub user_ns: u64,
    /// The kernel's for it.
    pub system_ns: u64,
    /// Time its tasks waited for pages or the queue.
    pub waited_ns: u64,
    /// Its longest read or fault.
    pub latency_max_ns: u64,
    /// When its last task ended; 0 if it has not.
    pub finished_ns: u64,
}

/// Processor time in buckets of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Length of a bucket.
    pub bucket_ns: u64,
    /// Programs.
    pub user_ns: Vec<u64>,
    /// The kernel for programs.
    pub system_ns: Vec<u64>,
    /// Interrupts.
    pub interrupt_ns: Vec<u64>,
    /// Nothing.
    pub idle_ns: Vec<u64>,
}

impl WorldReport {
    /// Bytes delivered per second; 0 when no time passed.
    #[must_use]
    pub fn bytes_per_second(&self) -> u64 {
        per_second(self.bytes, self.elapsed_ns)
    }

    /// Bytes read from the disk for each 1000 delivered; 0 when nothing was delivered.
    #[must_use]
    pub fn amplification_permille(&self) -> u64 {
        ratio(self.device.bytes, 1000, self.bytes)
    }

    /// How much of the time the disk was not idle, in thousandths.
    #[must_use]
    pub fn utilisation_permille(&self) -> u64 {
        ratio(self.device.busy_ns, 1000, self.elapsed_ns)
    }

    /// Mean requests in queue and disk, in thousandths.
    #[must_use]
    pub fn depth_permille(&self) -> u64 {
        ratio(self.device.waited_ns, 1000, self.elapsed_ns)
    }

    /// The windows of one class.
    #[must_use]
    pub fn class(&self, class: Class) -> Option<&ClassReport> {
        let place = CLASSES.iter().position(|(known, _)| *known == class)?;
        self.classes.get(place)
    }

    /// The windows of all classes together, single pages left out as in the patches' table.
    #[must_use]
    pub fn all_classes(&self) -> ClassReport {
        let mut all = ClassReport {
            class: "all".to_owned(),
            ..ClassReport::default()
        };
        for class in self.classes.iter().filter(|class| class.class != "single") {
            all.windows += class.windows;
            all.at_end_of_file += class.at_end_of_file;
            all.cache_hits += class.cache_hits;
            all.ios += class.ios;
            all.asynchronous += class.asynchronous;
            all.pages += class.pages;
            all.async_pages += class.async_pages;
            all.io_pages += class.io_pages;
        }
        all
    }
}

/// `amount` per second, in a time of `ns`; 0 in no time.
#[must_use]
pub fn per_second(amount: u64, ns: u64) -> u64 {
    ratio(amount, 1_000_000_000, ns)
}

fn ratio(amount: u64, times: u64, of: u64) -> u64 {
    if of == 0 {
        return 0;
    }
    let scaled = u128::from(amount) * u128::from(times) / u128::from(of);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
