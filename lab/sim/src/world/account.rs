//! The standard observer: adds up what a world tells into a [`WorldReport`].

use ahead_replicas::kernel::{Class, Read};
use ahead_units::PAGE_BYTES;
use hdrhistogram::Histogram;

use super::observer::{Found, Started, WaitFor, Work, WorldMoment, WorldObserver};
use super::page_set::PageSet;
use super::task::at;
use crate::queue::RequestQueue;
use crate::report::{
    CLASSES, ClassReport, DeviceReport, LatencyReport, PageReport, PrefetchReport, ProcessReport,
    ProcessorReport, Timeline, WaitReport, WorldReport, WriteReport,
};
use ahead_replicas::page_cache::{Evicted, PageAccess};
use ahead_workload::Job;

/// Longest latency that the histogram tells apart: an hour.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// Adds up a run.
#[derive(Clone, Debug)]
pub struct RunTotals {
    processors: ProcessorReport,
    reads: u64,
    faults: u64,
    bytes: u64,
    pages: PageReport,
    prefetch: PrefetchReport,
    waits: WaitReport,
    writes: WriteReport,
    classes: [ClassReport; CLASSES.len()],
    /// Place of each class in the table, by its number.
    places: [usize; CLASSES.len()],
    latency: Histogram<u64>,
    latency_sum_ns: u128,
    latency_max_ns: u64,
    processes: Vec<ProcessReport>,
    labels: Vec<(u32, u64)>,
    timeline: Option<Buckets>,
    /// Prefetched pages that were evicted unread and have not been missed yet.
    evicted_unread: PageSet,
    unread: u64,
    unread_since_ns: u64,
    /// Pages unread times nanoseconds.
    unread_integral: u128,
}

#[derive(Clone, Debug)]
struct Buckets {
    bucket_ns: u64,
    user: Vec<u64>,
    system: Vec<u64>,
    interrupt: Vec<u64>,
    interrupt_in_idle: Vec<u64>,
    idle: Vec<u64>,
}

impl RunTotals {
    /// An empty account of `job`.
    #[must_use]
    pub fn new(job: &Job) -> Self {
        let mut places = [0; CLASSES.len()];
        for (place, (class, _)) in CLASSES.iter().enumerate() {
            places[number(*class)] = place;
        }
        let processes = job.processes.iter().map(|process| ProcessReport {
            name: process.name.clone(),
            ..ProcessReport::default()
        });
        Self {
            processors: ProcessorReport::default(),
            reads: 0,
            faults: 0,
            bytes: 0,
            pages: PageReport::default(),
            prefetch: PrefetchReport::default(),
            waits: WaitReport::default(),
            writes: WriteReport::default(),
            classes: CLASSES.map(|(_, name)| ClassReport {
                class: name.to_owned(),
                ..ClassReport::default()
            }),
            places,
            latency: histogram(),
            latency_sum_ns: 0,
            latency_max_ns: 0,
            processes: processes.collect(),
            labels: Vec::new(),
            timeline: None,
            evicted_unread: PageSet::default(),
            unread: 0,
            unread_since_ns: 0,
            unread_integral: 0,
        }
    }

    /// Keeps what processors do in buckets of `bucket_ns` as well.
    #[must_use]
    pub fn with_timeline(mut self, bucket_ns: u64) -> Self {
        self.timeline = Some(Buckets {
            bucket_ns: bucket_ns.max(1),
            user: Vec::new(),
            system: Vec::new(),
            interrupt: Vec::new(),
            interrupt_in_idle: Vec::new(),
            idle: Vec::new(),
        });
        self
    }

    /// The latencies of all reads and faults, in nanoseconds.
    #[must_use]
    pub fn latency(&self) -> &Histogram<u64> {
        &self.latency
    }

    /// The report of a run that ended at `elapsed_ns` over this queue.
    #[must_use]
    pub fn report(&self, elapsed_ns: u64, queue: &RequestQueue) -> WorldReport {
        let stats = queue.stats();
        let mut prefetch = self.prefetch;
        prefetch.wasted += self.unread;
        let integral = self.unread_integral
            + u128::from(self.unread) * u128::from(elapsed_ns.saturating_sub(self.unread_since_ns));
        prefetch.unread_mean =
            u64::try_from(integral / u128::from(elapsed_ns.max(1))).unwrap_or(u64::MAX);
        let mut processors = self.processors;
        processors.interrupt_ns += processors.interrupt_in_idle_ns;
        processors.idle_ns = processors
            .idle_ns
            .saturating_sub(processors.interrupt_in_idle_ns);
        processors.io_wait_ns = processors.io_wait_ns.min(processors.idle_ns);
        WorldReport {
            elapsed_ns,
            processors,
            reads: self.reads,
            faults: self.faults,
            bytes: self.bytes,
            pages: self.pages,
            prefetch,
            waits: self.waits,
            device: DeviceReport {
                requests: stats.requests,
                bytes: stats.pages * PAGE_BYTES,
                merges: stats.merges,
                refused: stats.full,
                depth_max: stats.depth_max,
                waited_ns: stats.waited_ns,
                busy_ns: stats.busy_ns,
                seeks: stats.seeks,
            },
            writes: WriteReport {
                device_bytes: stats.written_pages * PAGE_BYTES,
                requests: stats.write_requests,
                ..self.writes
            },
            classes: self.classes.to_vec(),
            latency: self.latencies(),
            latency_histogram: self.latency_steps(),
            processes: self.processes.clone(),
            labels: self.labels.clone(),
            timeline: self.timeline.as_ref().map(Buckets::timeline),
        }
    }

    fn latencies(&self) -> LatencyReport {
        let count = self.latency.len();
        let mean = self.latency_sum_ns / u128::from(count.max(1));
        let quantile = |quantile| {
            let value = self.latency.value_at_quantile(quantile);
            value.min(self.latency_max_ns)
        };
        LatencyReport {
            count,
            mean_ns: u64::try_from(mean).unwrap_or(u64::MAX),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: self.latency_max_ns,
        }
    }

    fn latency_steps(&self) -> Vec<(u64, u64)> {
        let mut steps: Vec<(u64, u64)> = Vec::new();
        for recorded in self.latency.iter_recorded() {
            let below_ns = (recorded.value_iterated_to() + 1).next_power_of_two();
            match steps.last_mut() {
                Some((last, count)) if *last == below_ns => {
                    *count += recorded.count_since_last_iteration();
                }
                _ => steps.push((below_ns, recorded.count_since_last_iteration())),
            }
        }
        steps
    }

    fn note_latency(&mut self, moment: &WorldMoment, elapsed_ns: u64) {
        self.latency.saturating_record(elapsed_ns.max(1));
        self.latency_sum_ns += u128::from(elapsed_ns);
        self.latency_max_ns = self.latency_max_ns.max(elapsed_ns);
        if let Some(process) = self.processes.get_mut(at(moment.process)) {
            process.latency_max_ns = process.latency_max_ns.max(elapsed_ns);
        }
    }

    fn set_unread(&mut self, now_ns: u64, unread: u64) {
        let ns = now_ns.saturating_sub(self.unread_since_ns);
        self.unread_integral += u128::from(self.unread) * u128::from(ns);
        self.unread_since_ns = self.unread_since_ns.max(now_ns);
        self.unread = unread;
        self.prefetch.unread_max = self.prefetch.unread_max.max(unread);
    }

    fn note_delivery(&mut self, process: u32, bytes: u64) {
        self.bytes += bytes;
        if let Some(process) = self.processes.get_mut(at(process)) {
            process.bytes += bytes;
        }
    }

    /// Whether a page that leaves was prefetched for nothing.
    fn note_leaving(&mut self, now_ns: u64, page: &Evicted) -> bool {
        if page.was_used || page.class == Class::Single {
            return false;
        }
        self.prefetch.wasted += 1;
        self.set_unread(now_ns, self.unread.saturating_sub(1));
        true
    }
}

/// Three significant digits up to an hour; these bounds are always possible.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3).unwrap_or_else(|_| unreachable!())
}

fn number(class: Class) -> usize {
    usize::from(class as u8)
}

impl WorldObserver for RunTotals {
    fn on_read(&mut self, moment: &WorldMoment, _read: &Read) {
        self.reads += 1;
        if let Some(process) = self.processes.get_mut(at(moment.process)) {
            process.reads += 1;
        }
    }

    fn on_page(&mut self, moment: &WorldMoment, page: u64, found: Found) {
        match found {
            Found::Unlocked => self.pages.hits_unlocked += 1,
            Found::Locked => {
                self.pages.hits_locked += 1;
                self.prefetch.late += 1;
            }
            Found::Stale => self.pages.hits_stale += 1,
            Found::Missing => {
                self.pages.misses += 1;
                self.prefetch.thrashed +=
                    u64::from(self.evicted_unread.remove(moment.file.0, page));
            }
        }
    }

    fn on_access(&mut self, moment: &WorldMoment, _page: u64, access: &PageAccess) {
        if access.first_use && access.class != Class::Single {
            self.prefetch.useful += 1;
            self.set_unread(moment.now_ns, self.unread.saturating_sub(1));
        }
    }

    fn on_read_done(&mut self, moment: &WorldMoment, bytes: u64, elapsed_ns: u64) {
        self.note_delivery(moment.process, bytes);
        self.note_latency(moment, elapsed_ns);
    }

    fn on_write(&mut self, _moment: &WorldMoment, pages: u64) {
        self.writes.bytes += pages * PAGE_BYTES;
    }

    fn on_fault_done(&mut self, moment: &WorldMoment, _neighbours: u64, elapsed_ns: u64) {
        self.faults += 1;
        self.note_delivery(moment.process, PAGE_BYTES);
        self.note_latency(moment, elapsed_ns);
    }

    fn on_mapped_access(&mut self, moment: &WorldMoment, page: u64, access: &PageAccess) {
        self.on_access(moment, page, access);
        self.pages.mapped += 1;
        self.note_delivery(moment.process, PAGE_BYTES);
    }

    fn on_wait_done(&mut self, moment: &WorldMoment, what: WaitFor, waited_ns: u64) {
        match what {
            WaitFor::Page => {
                self.waits.page += 1;
                self.waits.page_ns += waited_ns;
            }
            WaitFor::Queue => {
                self.waits.queue += 1;
                self.waits.queue_ns += waited_ns;
            }
            WaitFor::WriteBack => {
                self.writes.waits += 1;
                self.writes.waits_ns += waited_ns;
            }
        }
        if let Some(process) = self.processes.get_mut(at(moment.process)) {
            process.waited_ns += waited_ns;
        }
    }

    fn on_started(&mut self, moment: &WorldMoment, started: &Started) {
        let class = &mut self.classes[self.places[number(started.class)]];
        class.windows += 1;
        class.at_end_of_file += u64::from(started.at_end_of_file);
        class.cache_hits += u64::from(started.io_pages < started.pages);
        class.ios += u64::from(started.io_pages > 0);
        class.asynchronous += u64::from(started.is_asynchronous);
        class.pages += started.pages;
        class.async_pages += started.async_pages;
        class.io_pages += started.io_pages;
        if started.class != Class::Single {
            self.prefetch.pages += started.io_pages;
            self.set_unread(moment.now_ns, self.unread + started.io_pages);
        }
    }

    fn on_evicted(&mut self, now_ns: u64, evicted: &Evicted) {
        if self.note_leaving(now_ns, evicted) {
            self.evicted_unread.insert(evicted.file.0, evicted.page);
        }
    }

    fn on_dropped(&mut self, now_ns: u64, dropped: &Evicted) {
        self.note_leaving(now_ns, dropped);
    }

    fn on_work(&mut self, work: Work, process: u32, from_ns: u64, ns: u64) {
        let own = self.processes.get_mut(at(process));
        match work {
            Work::User => {
                self.processors.user_ns += ns;
                if let Some(own) = own {
                    own.user_ns += ns;
                }
            }
            Work::System => {
                self.processors.system_ns += ns;
                if let Some(own) = own {
                    own.system_ns += ns;
                }
            }
            Work::Interrupt => self.processors.interrupt_ns += ns,
            Work::InterruptInIdle => self.processors.interrupt_in_idle_ns += ns,
        }
        if let Some(buckets) = &mut self.timeline {
            let bucket_ns = buckets.bucket_ns;
            let row = match work {
                Work::User => &mut buckets.user,
                Work::System => &mut buckets.system,
                Work::Interrupt => &mut buckets.interrupt,
                Work::InterruptInIdle => &mut buckets.interrupt_in_idle,
            };
            spread(row, bucket_ns, 1, from_ns, ns);
        }
    }

    fn on_idle(&mut self, idle: u32, io_wait: bool, from_ns: u64, ns: u64) {
        let all_ns = ns.saturating_mul(u64::from(idle));
        self.processors.idle_ns += all_ns;
        if io_wait {
            self.processors.io_wait_ns += all_ns;
        }
        if let Some(buckets) = &mut self.timeline {
            let bucket_ns = buckets.bucket_ns;
            spread(&mut buckets.idle, bucket_ns, u64::from(idle), from_ns, ns);
        }
    }

    fn on_label(&mut self, moment: &WorldMoment, label: u32) {
        self.labels.push((label, moment.now_ns));
    }

    fn on_task_done(&mut self, moment: &WorldMoment) {
        if let Some(process) = self.processes.get_mut(at(moment.process)) {
            process.finished_ns = process.finished_ns.max(moment.now_ns);
        }
    }
}

/// Adds `times` × the span of `ns` from `from_ns` to the buckets that it lies in.
fn spread(row: &mut Vec<u64>, bucket_ns: u64, times: u64, from_ns: u64, ns: u64) {
    let (mut from_ns, end_ns) = (from_ns, from_ns + ns);
    while from_ns < end_ns {
        let bucket = from_ns / bucket_ns;
        let part_ns = end_ns.min((bucket + 1) * bucket_ns) - from_ns;
        let bucket = usize::try_from(bucket).unwrap_or(usize::MAX);
        if row.len() <= bucket {
            row.resize(bucket + 1, 0);
        }
        row[bucket] += part_ns * times;
        from_ns += part_ns;
    }
}

impl Buckets {
    fn timeline(&self) -> Timeline {
        let rows = [
            &self.user,
            &self.system,
            &self.interrupt,
            &self.interrupt_in_idle,
            &self.idle,
        ];
        let length = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let row = |of: &dyn Fn(usize) -> u64| (0..length).map(of).collect::<Vec<_>>();
        let value = |row: &Vec<u64>, bucket: usize| row.get(bucket).copied().unwrap_or(0);
        Timeline {
            bucket_ns: self.bucket_ns,
            user_ns: row(&|bucket| value(&self.user, bucket)),
            system_ns: row(&|bucket| value(&self.system, bucket)),
            interrupt_ns: row(&|bucket| {
                value(&self.interrupt, bucket) + value(&self.interrupt_in_idle, bucket)
            }),
            idle_ns: row(&|bucket| {
                value(&self.idle, bucket).saturating_sub(value(&self.interrupt_in_idle, bucket))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_over_three_buckets_is_shared_out() {
        let mut row = Vec::new();
        spread(&mut row, 10, 2, 5, 20);
        assert_eq!(row, [10, 20, 10]);
    }
}
