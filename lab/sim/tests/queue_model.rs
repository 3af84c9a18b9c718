//! What holds for every queue: a plain reference beside the real one, and generated operations.
//!
//! The reference keeps its requests in a list and looks through all of it for everything. It has
//! one disk that serves one request at a time in a fixed time, which is enough to tell every
//! decision of the queue: who merged with whom, who was held, who went next, who was turned away.

use ahead_disk_model::{DiskModel, VolumeModel};
use ahead_replicas::page_cache::FileId;
use ahead_sim::queue::{
    DeadlineRules, Done, IoDirection, PageRun, Plugging, QueueSettings, RequestQueue, Scheduler,
};
use ahead_units::{ByteLength, PAGE_BYTES, Timestamp};
use proptest::prelude::*;

const SERVICE_NS: u64 = 1_000_000;
/// Small, so that neighbours are common.
const PAGES: u64 = 96;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Submit {
        start: u64,
        pages: u64,
        may_drop: bool,
    },
    Unplug,
    EndCall,
    TimePasses(u64),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let submit = (0..PAGES, 1..24_u64, any::<bool>()).prop_map(|(start, pages, may_drop)| {
        Operation::Submit {
            start,
            pages: pages.min(PAGES - start),
            may_drop,
        }
    });
    let time = prop_oneof![Just(0), 1..3 * SERVICE_NS, Just(SERVICE_NS)];
    let operation = prop_oneof![
        5 => submit,
        1 => Just(Operation::Unplug),
        1 => Just(Operation::EndCall),
        2 => time.prop_map(Operation::TimePasses),
    ];
    prop::collection::vec(operation, 1..120)
}

fn pluggings() -> impl Strategy<Value = Plugging> {
    let queue = (
        prop::option::of(1..6_u32),
        prop::option::of(1..4 * SERVICE_NS),
    )
        .prop_map(|(requests_max, wait_ns)| Plugging::Queue {
            requests_max,
            wait_ns,
        });
    let call = (1..6_u32, 1..16_u64).prop_map(|(requests_max, flush_pages)| Plugging::Call {
        requests_max,
        flush_pages,
    });
    prop_oneof![Just(Plugging::None), queue, call]
}

fn schedulers() -> impl Strategy<Value = Scheduler> {
    let rules = prop_oneof![Just(DeadlineRules::Early), Just(DeadlineRules::Late)];
    let deadline = (0..20 * SERVICE_NS, 1..5_u32, rules).prop_map(|(expire_ns, batch, rules)| {
        Scheduler::Deadline {
            expire_ns,
            batch,
            rules,
        }
    });
    prop_oneof![Just(Scheduler::Noop), Just(Scheduler::CLook), deadline]
}

fn settings() -> impl Strategy<Value = QueueSettings> {
    let limits = (
        prop::option::of(1..12_u32),
        0..3_u32,
        prop::option::of(8..64_u64),
        1..20_u64,
        prop_oneof![Just(1), 2..12_u64, Just(u64::MAX)],
    );
    (limits, any::<bool>(), pluggings(), schedulers()).prop_map(
        |(
            (slots, slots_kept, queued_pages_max, request_pages_max, unit_pages_max),
            merging,
            plugging,
            scheduler,
        )| QueueSettings {
            slots,
            slots_kept,
            queued_pages_max,
            request_pages_max,
            unit_pages_max,
            merging,
            plugging,
            scheduler,
            device_depth: 1,
            congestion: true,
            whole_runs: false,
        },
    )
}

fn disk() -> DiskModel {
    DiskModel::Volume(VolumeModel {
        latency_us: 0,
        requests_per_s: 1_000_000_000 / SERVICE_NS,
        bytes_per_s: 1_000_000_000_000,
    })
}

#[derive(Clone, Debug)]
struct Waiting {
    start: u64,
    end: u64,
    arrived_ns: u64,
    sequence: u64,
    is_held: bool,
}

/// The queue as one would write it without a thought for speed.
struct Reference {
    settings: QueueSettings,
    requests: Vec<Waiting>,
    at_disk: Option<(Waiting, u64)>,
    held_since_ns: u64,
    now_ns: u64,
    sequence: u64,
    position: u64,
    batched: u32,
    /// Completed: (first page, end, moment).
    done: Vec<(u64, u64, u64)>,
}

impl Reference {
    fn new(settings: &QueueSettings) -> Self {
        Self {
            settings: settings.clone(),
            requests: Vec::new(),
            at_disk: None,
            held_since_ns: 0,
            now_ns: 0,
            sequence: 0,
            position: 0,
            batched: u32::MAX,
            done: Vec::new(),
        }
    }

    fn depth(&self) -> usize {
        self.requests.len() + usize::from(self.at_disk.is_some())
    }

    fn queued_pages(&self) -> u64 {
        let at_disk = self.at_disk.iter().map(|(request, _)| request);
        let all = self.requests.iter().chain(at_disk);
        all.map(|request| request.end - request.start).sum()
    }

    fn held(&self) -> usize {
        self.requests.iter().filter(|one| one.is_held).count()
    }

    fn unit(&self) -> u64 {
        let settings = &self.settings;
        settings.unit_pages_max.min(settings.request_pages_max)
    }

    /// Unit by unit; returns the pages taken.
    fn submit(&mut self, start: u64, pages: u64, may_drop: bool) -> u64 {
        let end = start + pages;
        let mut next = start;
        while next < end {
            let most = self.settings.queued_pages_max.unwrap_or(u64::MAX);
            let space = most.saturating_sub(self.queued_pages());
            let piece = (end - next).min(self.unit()).min(space);
            if piece == 0 || !self.place(next, next + piece, may_drop) {
                break;
            }
            next += piece;
            self.dispatch();
        }
        next - start
    }

    fn place(&mut self, start: u64, end: u64, may_drop: bool) -> bool {
        let most = self.settings.request_pages_max;
        if self.settings.merging {
            // What is held is looked at first.
            for is_held in [true, false] {
                let back = self.requests.iter().position(|one| {
                    one.is_held == is_held && one.end == start && end - one.start <= most
                });
                if let Some(index) = back {
                    self.requests[index].end = end;
                    self.join_follower(index);
                    return true;
                }
                let front = self.requests.iter().position(|one| {
                    one.is_held == is_held && one.start == end && one.end - start <= most
                });
                if let Some(index) = front {
                    self.requests[index].start = start;
                    return true;
                }
            }
        }
        let kept = if may_drop {
            self.settings.slots_kept
        } else {
            0
        };
        if let Some(slots) = self.settings.slots
            && self.depth() + usize::try_from(kept).expect("small")
                >= usize::try_from(slots).expect("small")
        {
            return false;
        }
        let is_held = match self.settings.plugging {
            Plugging::None => false,
            Plugging::Queue { .. } => self.held() > 0 || self.depth() == 0,
            Plugging::Call {
                requests_max,
                flush_pages,
            } => {
                let last = self.requests.iter().rfind(|one| one.is_held);
                let is_long = last.is_some_and(|last| last.end - last.start >= flush_pages);
                if is_long || self.held() >= usize::try_from(requests_max).expect("small") {
                    self.release();
                }
                true
            }
        };
        if is_held && self.held() == 0 {
            self.held_since_ns = self.now_ns;
        }
        self.requests.push(Waiting {
            start,
            end,
            arrived_ns: self.now_ns,
            sequence: self.sequence,
            is_held,
        });
        self.sequence += 1;
        if let Plugging::Queue {
            requests_max: Some(requests_max),
            ..
        } = self.settings.plugging
            && self.held() >= usize::try_from(requests_max).expect("small")
        {
            self.release();
        }
        true
    }

    fn join_follower(&mut self, index: usize) {
        let this = self.requests[index].clone();
        let follower = self.requests.iter().position(|one| {
            one.is_held == this.is_held
                && one.start == this.end
                && one.end - this.start <= self.settings.request_pages_max
        });
        if let Some(found) = follower {
            let follower = self.requests.remove(found);
            let index = index - usize::from(found < index);
            let this = &mut self.requests[index];
            this.end = follower.end;
            this.arrived_ns = this.arrived_ns.min(follower.arrived_ns);
            this.sequence = this.sequence.min(follower.sequence);
            self.requests.sort_by_key(|one| one.sequence);
        }
    }

    fn release(&mut self) {
        while let Some(index) = self.requests.iter().position(|one| one.is_held) {
            self.requests[index].is_held = false;
            if !self.settings.merging {
                continue;
            }
            let start = self.requests[index].start;
            let before = |one: &Waiting| !one.is_held && one.end == start;
            if let Some(predecessor) = self.requests.iter().position(before) {
                self.join_follower(predecessor);
            }
            let covers = |one: &Waiting| !one.is_held && one.start <= start && start < one.end;
            if let Some(index) = self.requests.iter().position(covers) {
                self.join_follower(index);
            }
        }
    }

    fn dispatch(&mut self) {
        if self.at_disk.is_some() {
            return;
        }
        let free = || self.requests.iter().filter(|one| !one.is_held);
        let Some(oldest) = free().min_by_key(|one| one.sequence) else {
            return;
        };
        let ahead = free()
            .filter(|one| one.start >= self.position)
            .min_by_key(|one| one.start);
        let lowest = free().min_by_key(|one| one.start);
        let chosen = match self.settings.scheduler {
            Scheduler::Noop => Some(oldest),
            Scheduler::Slices { .. } => unreachable!("not generated: it has named tests"),
            Scheduler::CLook => ahead.or(lowest),
            Scheduler::Deadline {
                expire_ns,
                batch,
                rules,
            } => {
                let is_early = rules == DeadlineRules::Early;
                let goes_on = |next: &Waiting| !is_early || next.start == self.position;
                if self.batched < batch && ahead.is_some_and(goes_on) {
                    self.batched += 1;
                    ahead
                } else {
                    self.batched = 1;
                    if self.now_ns - oldest.arrived_ns >= expire_ns {
                        Some(oldest)
                    } else {
                        ahead.or(if is_early { lowest } else { Some(oldest) })
                    }
                }
            }
        };
        let sequence = chosen.expect("something waits").sequence;
        let index = self
            .requests
            .iter()
            .position(|one| one.sequence == sequence);
        let request = self.requests.remove(index.expect("it waits"));
        self.position = request.end;
        self.at_disk = Some((request, self.now_ns + SERVICE_NS));
    }

    fn plug_due_ns(&self) -> Option<u64> {
        match self.settings.plugging {
            Plugging::Queue {
                wait_ns: Some(wait_ns),
                ..
            } if self.held() > 0 => Some(self.held_since_ns + wait_ns),
            _ => None,
        }
    }

    fn run_to(&mut self, now_ns: u64) {
        loop {
            let disk_ns = self.at_disk.as_ref().map(|&(_, end_ns)| end_ns);
            let due_ns = disk_ns.into_iter().chain(self.plug_due_ns()).min();
            let Some(due_ns) = due_ns.filter(|&due_ns| due_ns <= now_ns) else {
                break;
            };
            self.now_ns = self.now_ns.max(due_ns);
            if self.plug_due_ns().is_some_and(|plug_ns| plug_ns <= due_ns) {
                self.release();
            }
            if let Some((request, end_ns)) = self.at_disk.take_if(|(_, end_ns)| *end_ns <= due_ns) {
                self.done.push((request.start, request.end, end_ns));
            }
            self.dispatch();
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn unplug(&mut self) {
        self.release();
        self.dispatch();
    }
}

/// Answers of one moment are one request, because the disk has one at a time.
fn requests(done: &[Done]) -> Vec<(u64, u64, u64)> {
    let mut requests: Vec<(u64, u64, u64)> = Vec::new();
    for one in done {
        match requests.last_mut() {
            Some(last) if last.2 == one.completed_ns => {
                assert_eq!(last.1, one.start, "a request has a hole");
                last.1 = one.start + one.pages;
            }
            _ => requests.push((one.start, one.start + one.pages, one.completed_ns)),
        }
    }
    requests
}

/// Runs operations on a queue. A page that is on its way is not asked for again, as a page cache
/// takes care of. Returns for each submission what was taken, and everything that completed.
fn drive(
    settings: &QueueSettings,
    operations: &[Operation],
    is_punctual: bool,
    mut look: impl FnMut(&RequestQueue, &Operation, u64, u64),
) -> Vec<Done> {
    let mut queue = RequestQueue::new(settings, &disk(), ByteLength::new(1 << 30));
    let mut asked = vec![false; usize::try_from(PAGES).expect("small")];
    let mut now_ns = 0;
    let mut done = Vec::new();
    for operation in operations {
        let now = Timestamp::new(now_ns);
        let mut taken = 0;
        let mut wanted = *operation;
        match operation {
            Operation::Submit {
                start,
                pages,
                may_drop,
            } => {
                let range = || (*start..start + pages).map(|page| usize::try_from(page).expect(""));
                let free = range().take_while(|&page| !asked[page]).count();
                let pages = u64::try_from(free).expect("small");
                wanted = Operation::Submit {
                    start: *start,
                    pages,
                    may_drop: *may_drop,
                };
                let run = PageRun {
                    file: FileId(0),
                    start: *start,
                    pages,
                    disk_offset: start * PAGE_BYTES,
                    direction: IoDirection::Read,
                };
                taken = queue.submit(now, run, *may_drop);
                for page in range().take(usize::try_from(taken).expect("small")) {
                    asked[page] = true;
                }
            }
            Operation::Unplug => queue.unplug(now),
            Operation::EndCall => queue.end_call(now),
            Operation::TimePasses(ns) => {
                now_ns += ns;
                let now = Timestamp::new(now_ns);
                if is_punctual {
                    while let Some(due) = queue.next_event().filter(|&due| due <= now) {
                        queue.advance(due, &mut done);
                    }
                }
                queue.advance(now, &mut done);
            }
        }
        look(&queue, &wanted, taken, now_ns);
    }
    queue.unplug(Timestamp::new(now_ns));
    while let Some(due) = queue.next_event() {
        queue.advance(due, &mut done);
    }
    assert!(queue.is_idle(), "something was left behind");
    done
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_queue_does_what_the_reference_does(
        settings in settings(), operations in operations(),
    ) {
        let mut reference = Reference::new(&settings);
        let done = drive(&settings, &operations, true, |queue, operation, taken, now_ns| {
            match operation {
                Operation::Submit { start, pages, may_drop } => {
                    reference.run_to(now_ns);
                    let expected = reference.submit(*start, *pages, *may_drop);
                    assert_eq!(taken, expected, "{operation:?} at {now_ns}");
                }
                Operation::Unplug => reference.unplug(),
                Operation::EndCall => {
                    if matches!(settings.plugging, Plugging::Call { .. }) {
                        reference.unplug();
                    }
                }
                Operation::TimePasses(_) => reference.run_to(now_ns),
            }
            if let Some(free) = queue.free_slots() {
                let slots = settings.slots.expect("bounded");
                let depth = u32::try_from(reference.depth()).expect("small");
                assert_eq!(free, slots - depth, "after {operation:?} at {now_ns}");
            }
        });
        reference.unplug();
        reference.run_to(u64::MAX);
        prop_assert_eq!(requests(&done), reference.done);
    }

    #[test]
    fn every_page_taken_completes_once_and_no_other(
        settings in settings(), depth in 1..8_u32, operations in operations(),
    ) {
        let settings = QueueSettings { device_depth: depth, ..settings };
        let mut taken_pages = Vec::new();
        let done = drive(&settings, &operations, true, |queue, operation, taken, _| {
            if let Operation::Submit { start, .. } = operation {
                taken_pages.extend(*start..start + taken);
            }
            let stats = queue.stats();
            if let Some(slots) = settings.slots {
                assert!(stats.depth_max <= slots, "{} of {slots} slots", stats.depth_max);
            }
            assert!(stats.pages <= stats.requests * settings.request_pages_max);
        });
        let mut done_pages: Vec<u64> =
            done.iter().flat_map(|done| done.start..done.start + done.pages).collect();
        done_pages.sort_unstable();
        taken_pages.sort_unstable();
        prop_assert_eq!(done_pages, taken_pages);
        prop_assert!(done.is_sorted_by_key(|done| done.completed_ns));
        for one in &done {
            prop_assert!(one.completed_ns >= one.submitted_ns + SERVICE_NS);
        }
    }

    #[test]
    fn a_late_caller_sees_what_a_punctual_one_sees(
        settings in settings(), depth in 1..8_u32, operations in operations(),
    ) {
        let settings = QueueSettings { device_depth: depth, ..settings };
        let punctual = drive(&settings, &operations, true, |_, _, _, _| {});
        let late = drive(&settings, &operations, false, |_, _, _, _| {});
        prop_assert_eq!(punctual, late);
    }
}
