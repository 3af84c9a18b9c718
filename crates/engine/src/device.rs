//! What is believed about a device, and whether a stream has it to itself.
//!
//! An estimate begins with what was kept of an earlier run, with the kind of device (one arm or flash) or
//! with what was configured, and follows the waits that the host observes: a read that nothing had
//! asked for, on a device with no other user, waits for one access. All but what was configured is
//! shared with other processes ([`crate::estimates`]).

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use Ordering::Relaxed;

use ahead_policy::device::{DeviceEstimate, NO_ARM_NS};
use ahead_policy::stock::{first_read, scan_window};
use ahead_units::{PageCount, PageRange, Timestamp};

mod ask;
mod asked;
mod busy;
mod far;
mod in_turn;
mod long_reads;
mod shared;
mod together;
mod waits;

pub use ask::Ask;
pub use long_reads::LongRead;
pub(crate) use waits::FASTEST_ARM_MB;

use crate::contest::Contest;
use crate::device_facts::DeviceFacts;
use crate::estimates::SharedEstimate;
use crate::lateness::Lateness;
use crate::scans::{By, Scans};
use crate::starved::Starved;
use crate::throughput::Throughput;
use crate::trial::Trial;
use crate::waiting::WaitedOnce;
use busy::Busy;
use in_turn::InTurn;
use long_reads::LongReadTimes;
use together::Together;
use waits::{Longer, Passing, SLOW_PAGE_NS, access_in, is_in_queue, of_first_wait, seeks};

/// A wait counts for one part in eight of the access time. On flash a longer one than believed
/// counts for one in 128: most long waits were spent behind other requests there, and windows
/// sized for them make the queue longer still. On an arm long waits are what seeks are.
const SHORTER_PARTS: u64 = 8;
const LONGER_PARTS: u64 = 128;

/// Two lone waits in a row that took so many times as long as believed, and as long as an arm takes,
/// are no queue and no accident: the device is another one than it says. The shorter of them is
/// believed then.
const SLOWER_FACTOR: u64 = 4;

/// Reads in a row that an arm would answer so quickly once in 2^12 times are answered by something else. Lower, and a disk
/// that answers some from its own memory is taken for flash; higher, and flash that says that it rotates is read like an arm
/// for longer.
const NO_ARM_BITS: u32 = 12;

/// No access of a device that is not broken takes longer: 50 ms.
pub(crate) const ACCESS_NS_MAX: u64 = 50_000_000;

/// A read of more pages waits for more than an access: 64 KiB.
const ACCESS_PAGES_MAX: u64 = 16;

/// Where a figure comes from.
const GUESSED: u32 = 0;
const MEASURED: u32 = 1;
const CONFIGURED: u32 = 2;
/// Seen to be slow by one stream alone, until a measurement says how slow, or a reader that it is not.
const SEEN_SLOW: u32 = 3;

/// One device, shared by all threads of a host. All zero is a free place.
#[derive(Debug, Default)]
pub struct Device {
    access_ns: AtomicU64,
    bytes_per_second: AtomicU64,
    depth: AtomicU32,
    call_pages_max: AtomicU32,
    kernel_window: AtomicU32,
    access_is: AtomicU32,
    bandwidth_is: AtomicU32,
    contest: Contest,
    /// Reads that are longer than what the kernel asks for at once.
    long_reads: LongReadTimes,
    /// The newest lone wait, if it was much longer than believed; else 0.
    slower_ns: AtomicU64,
    /// A wait for nothing else was much longer than believed, and too long for what has no arm: it may be the transfer, or an arm.
    has_been_slow: AtomicBool,
    /// When the newest of those waits ended.
    waited_until: AtomicU64,
    busy: Busy,
    /// What reads waited that nothing had asked for.
    waited: WaitedOnce,
    throughput: Throughput,
    in_turn: InTurn,
    trial: Trial,
    scans: Scans,
    lateness: Lateness,
    starved: Starved,
    /// What other processes know of it.
    shared: SharedEstimate,
    /// How unlikely an arm has become by waits in a row, in bits.
    quick_bits: AtomicU32,
    /// The newest wait was as long as one of an arm.
    was_slow: AtomicBool,
    /// Waits in a row that were longer than believed.
    longer: Longer,
    /// Whether it serves some requests at once.
    together: Together,
    /// Where its lone reads were, for an arm that passes by the next one.
    passing: Passing,
    /// Arms that it says it has.
    arms_said: AtomicU32,
    /// It has been seen to have one.
    has_been_arm: AtomicBool,
    /// Waits that would refute what was kept; 0 when that was confirmed, or nothing was kept.
    waits_to_refute: AtomicU32,
}

impl Device {
    /// A device of which nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            access_ns: AtomicU64::new(0),
            bytes_per_second: AtomicU64::new(0),
            depth: AtomicU32::new(0),
            call_pages_max: AtomicU32::new(0),
            kernel_window: AtomicU32::new(0),
            access_is: AtomicU32::new(GUESSED),
            bandwidth_is: AtomicU32::new(GUESSED),
            contest: Contest::new(),
            long_reads: LongReadTimes::new(),
            slower_ns: AtomicU64::new(0),
            has_been_slow: AtomicBool::new(false),
            waited_until: AtomicU64::new(0),
            busy: Busy::new(),
            waited: WaitedOnce::new(),
            throughput: Throughput::new(),
            in_turn: InTurn::new(),
            trial: Trial::new(),
            scans: Scans::new(),
            lateness: Lateness::new(),
            starved: Starved::new(),
            shared: SharedEstimate::new(),
            quick_bits: AtomicU32::new(0),
            was_slow: AtomicBool::new(false),
            longer: Longer::new(),
            together: Together::new(),
            passing: Passing::new(),
            arms_said: AtomicU32::new(0),
            has_been_arm: AtomicBool::new(false),
            waits_to_refute: AtomicU32::new(0),
        }
    }

    /// Takes what the host found out.
    pub fn set_facts(&self, facts: &DeviceFacts) {
        self.arms_said.store(facts.arms(), Relaxed);
        let kind = self.guess();
        let or = |configured: u64, kind: u64| if configured > 0 { configured } else { kind };
        self.access_ns
            .store(or(facts.access_ns, kind.access_ns), Relaxed);
        self.bytes_per_second
            .store(or(facts.bytes_per_second, kind.bytes_per_second), Relaxed);
        let configured = Some(facts.depth).filter(|depth| *depth > 0);
        self.depth.store(configured.unwrap_or(kind.depth), Relaxed);
        let source = |configured: u64| if configured > 0 { CONFIGURED } else { GUESSED };
        self.access_is.store(source(facts.access_ns), Relaxed);
        self.bandwidth_is
            .store(source(facts.bytes_per_second), Relaxed);
        self.call_pages_max
            .store(facts.call_pages_max.max(1), Relaxed);
        self.kernel_window.store(facts.kernel_window, Relaxed);
        let is_configured = facts.access_ns > 0 || facts.bytes_per_second > 0 || facts.depth > 0;
        let identity = if is_configured { 0 } else { facts.identity };
        self.shared.set_identity(identity, kind);
        self.scans.set_large_folios(facts.has_large_folios);
    }

    /// Whether the device says that it has an arm: a first guess, as virtual disks say so too.
    #[must_use]
    pub fn says_arm(&self) -> bool {
        self.arms_said.load(Relaxed) > 0
    }

    /// The estimate by what the device says of itself.
    fn guess(&self) -> DeviceEstimate {
        match self.arms_said.load(Relaxed) {
            0 => DeviceEstimate::FLASH,
            depth => DeviceEstimate {
                depth,
                ..DeviceEstimate::ARM
            },
        }
    }

    /// The first wait for one access replaces the guess.
    fn take_first_wait(&self, waited_ns: u64) {
        if self.access_is.load(Relaxed) != GUESSED {
            return;
        }
        let is_guess = self.bandwidth_is.load(Relaxed) == GUESSED;
        if let Some(estimate) = of_first_wait(self.estimate(), waited_ns, is_guess) {
            self.access_is.store(MEASURED, Relaxed);
            self.believe(estimate);
        }
    }

    fn believe(&self, estimate: DeviceEstimate) {
        let _ = (self.bandwidth_is).compare_exchange(SEEN_SLOW, GUESSED, Relaxed, Relaxed);
        self.access_ns.store(estimate.access_ns, Relaxed);
        self.bytes_per_second
            .store(estimate.bytes_per_second, Relaxed);
        self.depth.store(estimate.depth, Relaxed);
    }

    /// What was kept is confirmed by the first wait that is about as long, and refuted by some in a row
    /// that are much shorter.
    fn try_kept(&self, waited_ns: u64) {
        let left = self.waits_to_refute.load(Relaxed);
        let (known, guess) = (self.access_ns.load(Relaxed), self.guess());
        if left == 0 {
            return;
        }
        if waited_ns.saturating_mul(SLOWER_FACTOR) < known {
            self.waits_to_refute.store(left - 1, Relaxed);
            if left == 1 && guess.access_ns < known {
                self.believe(guess);
                self.scans.hear(false);
                self.bandwidth_is.store(GUESSED, Relaxed);
            }
        } else if waited_ns <= known.saturating_mul(2) {
            self.waits_to_refute.store(0, Relaxed);
        }
    }

    /// The estimate as of now.
    #[must_use]
    pub fn estimate(&self) -> DeviceEstimate {
        DeviceEstimate {
            access_ns: self.access_ns.load(Relaxed),
            bytes_per_second: self.bytes_per_second.load(Relaxed),
            depth: self.depth.load(Relaxed),
        }
    }

    /// What streams ask by: the estimate, or the arm that is tried, as it answers to who asks as late as this host does.
    #[must_use]
    pub fn estimate_to_ask_by(&self) -> DeviceEstimate {
        let device = self.trial.estimate().unwrap_or_else(|| self.estimate());
        self.lateness.seen(device)
    }

    /// Pages that one call may ask for; 32 before the host said anything.
    #[must_use]
    pub fn call_pages_max(&self) -> u64 {
        match self.call_pages_max.load(Relaxed) {
            0 => 32,
            pages => u64::from(pages),
        }
    }

    /// Most that the kernel asks for at once by itself for a scan in reads of `pages`, where the open file has a window of its own if
    /// that is known; 0: that is not known, or nothing.
    #[must_use]
    pub fn kernel_window(&self, pages: PageCount, of_file: Option<PageCount>) -> PageCount {
        let of_device = u64::from(self.kernel_window.load(Relaxed));
        let window = of_file.map_or(of_device, PageCount::get);
        PageCount::new(scan_window(pages.get(), window, self.call_pages_max()))
    }

    /// Who reads scans ahead here, and what was found out about it.
    pub(crate) fn scans(&self) -> &Scans {
        &self.scans
    }

    /// Calls for pages have held up a reader for so long, and were made so much later than its access.
    pub(crate) fn on_held(&self, held_ns: u64, late_ns: Option<u64>) {
        let late_ns = late_ns.map(|late_ns| self.lateness.on_request(late_ns));
        self.scans.on_held(held_ns + late_ns.unwrap_or(0));
    }

    /// Scans have read `pages` more, the newest of them `by` that one, while `unread` pages were asked for and not read yet.
    pub(crate) fn on_scan(&self, pages: u64, by: By, unread: PageCount, now: Timestamp) {
        if matches!(by, By::Kernel) {
            self.in_turn.on_other();
        }
        if !self.has_been_arm.load(Relaxed) {
            self.scans.on_read(pages, by, unread.get(), now);
        }
    }

    /// Whether others made the device move since the streams asked last.
    #[must_use]
    pub fn is_contested(&self) -> bool {
        self.contest.is_on()
    }

    /// [`Contest::on_file`].
    pub(crate) fn on_file(&self, file: u64) -> bool {
        self.contest.on_file(file)
    }

    /// What long reads wait for.
    pub(crate) fn long_reads(&self) -> &LongReadTimes {
        &self.long_reads
    }

    /// Whether reads that no window covers have waited since the streams asked last.
    #[must_use]
    pub fn has_lone_reads(&self) -> bool {
        self.contest.has_lone_reads()
    }

    /// A page fault that no stream explains waited `waited_ns`, until `now`.
    pub fn on_lone_fault(&self, waited_ns: u64, now: Timestamp) {
        self.in_turn.on_other();
        let is_behind = !self.was_idle(waited_ns, now);
        let access_ns = self.access_ns.load(Relaxed);
        self.starved
            .on_lone_fault(waited_ns, is_behind, access_ns, now);
    }

    /// Whether such faults starve behind what streams ask for.
    #[must_use]
    pub fn is_starved(&self, now: Timestamp) -> bool {
        self.starved.is_on(now)
    }

    /// What answers reads in a row more quickly than by chance has no arm, if only the device itself says that it has one. An
    /// arm is as likely in each part of its way and its turn: within an eighth of its access time one time in eight. One answer
    /// may be of the disk's own memory; and two reads in a row that took as long as one of an arm, behind nothing, were one's. One that lies
    /// so far ahead of the one before that an arm passes to it meanwhile says nothing.
    fn try_arm(&self, waited_ns: u64, pages: u64, is_passed_by: bool, is_behind: bool) {
        let is_said = self.says_arm() && !self.has_been_arm.load(Relaxed);
        if !is_said || !seeks(&self.estimate()) {
            return;
        }
        let arm = DeviceEstimate::ARM;
        if waited_ns >= NO_ARM_NS {
            self.quick_bits.store(0, Relaxed);
            let access_ns = access_in(waited_ns, pages);
            let seen = DeviceEstimate { access_ns, ..arm };
            let is_slow = seen.is_slow_to_access() && !is_behind;
            let before = self.was_slow.swap(is_slow, Relaxed);
            self.has_been_arm.store(before && is_slow, Relaxed);
            self.scans.opening().close_if(before && is_slow);
            return;
        }
        if is_passed_by {
            return;
        }
        self.was_slow.store(false, Relaxed);
        let bits = (arm.access_ns / waited_ns.max(1))
            .ilog2()
            .min(NO_ARM_BITS / 2);
        if self.quick_bits.fetch_add(bits, Relaxed) + bits >= NO_ARM_BITS {
            self.quick_bits.store(0, Relaxed);
            let access_ns = waited_ns.max(DeviceEstimate::FLASH.access_ns);
            self.access_ns.store(access_ns, Relaxed);
            self.is_no(self.guess(), DeviceEstimate::FLASH);
        }
    }

    /// A reader waited `waited_ns` inside its window, until `now`.
    pub fn on_late(&self, waited_ns: u64, now: Timestamp) {
        let waited_ns = self.throughput.on_wait(waited_ns, now);
        self.in_turn.on_wait(waited_ns);
    }

    /// `pages` are asked for that are no stream's: to [fill a file in](crate::filling), or as a long read.
    pub(crate) fn on_other_ask(&self, pages: PageCount, now: Timestamp) {
        self.in_turn.on_other();
        self.expect(pages, now);
    }

    /// Of a read that waited `waited_ns`, until `now`, the time in which no other read of the device did.
    pub(crate) fn waited_once(&self, waited_ns: u64, now: Timestamp) -> u64 {
        self.waited.on_wait(waited_ns, now)
    }

    /// The device is expected to be busy with `pages` more.
    fn expect(&self, pages: PageCount, now: Timestamp) {
        let believed = self.estimate();
        // A guess may be ten times too fast, and who is behind a queue would seem to wait for one access.
        let transfer_ns = if self.bandwidth_is.load(Relaxed) == GUESSED {
            pages.get().saturating_mul(SLOW_PAGE_NS)
        } else {
            believed.transfer_ns(pages)
        };
        let taken_ns = transfer_ns.saturating_add(believed.access_ns);
        self.busy.on_ask(taken_ns, now);
    }

    /// Whether nothing that streams asked for was expected to be on its way when a wait of `waited_ns`, until `now`, began.
    #[must_use]
    pub fn was_idle(&self, waited_ns: u64, now: Timestamp) -> bool {
        self.busy.was_idle(waited_ns, now)
    }

    /// Whether a wait that ended `now` can be believed at once: it is no longer than an access is
    /// believed to take, or nothing that was asked for was still on its way when it began.
    fn is_believable(&self, waited_ns: u64, now: Timestamp) -> bool {
        waited_ns <= self.access_ns.load(Relaxed) || self.was_idle(waited_ns, now)
    }

    /// A read of `access` that a stream begins with, or goes on with where nothing was asked for, waited `waited_ns`, behind nobody
    /// in this process that we know of, but if the device `is_shared` behind others.
    pub fn on_first_wait(
        &self,
        waited_ns: u64,
        access: PageRange,
        is_shared: bool,
        now: Timestamp,
    ) {
        self.passing.on_read(access, waited_ns);
        self.in_turn.on_other();
        let is_fixed = self.access_is.load(Relaxed) == CONFIGURED;
        let is_alone = !is_shared && !self.is_contested();
        if !is_fixed && is_alone && self.is_believable(waited_ns, now) {
            self.try_kept(waited_ns);
            let pages = access.len().get();
            let is_arm = self.believes_in_an_arm(waited_ns, pages, now);
            if !is_arm && pages <= ACCESS_PAGES_MAX {
                self.try_longer(waited_ns, pages, now);
            }
        }
    }

    /// Believes from now on that this is an arm if this wait and the one before say so, whatever it
    /// says of itself. Whether they did.
    fn believes_in_an_arm(&self, waited_ns: u64, pages: u64, now: Timestamp) -> bool {
        let mut known = self.access_ns.load(Relaxed);
        if self.waits_to_refute.load(Relaxed) > 0 {
            // What was kept may lie between.
            known = known.min(self.guess().access_ns);
        }
        let is_alone = !is_in_queue(&self.waited_until, waited_ns, now);
        let access_ns = access_in(waited_ns, pages);
        let is_slower = is_alone && access_ns > known.saturating_mul(SLOWER_FACTOR);
        let slower_ns = if is_slower { access_ns } else { 0 };
        let is_long = is_alone && waited_ns > known.saturating_mul(SLOWER_FACTOR);
        if is_long && waited_ns >= NO_ARM_NS {
            self.has_been_slow.store(true, Relaxed);
        }
        let before = self.slower_ns.swap(slower_ns, Relaxed);
        if !is_slower || before == 0 {
            return false;
        }
        let arm = DeviceEstimate {
            access_ns: access_ns.min(before).min(ACCESS_NS_MAX),
            ..DeviceEstimate::ARM
        };
        // Between flash and an arm lie network volumes and queues: nothing to conclude from.
        if !arm.is_slow_to_access() {
            return false;
        }
        self.access_ns.store(arm.access_ns, Relaxed);
        self.is_no(DeviceEstimate::FLASH, arm);
        self.slower_ns.store(0, Relaxed);
        self.has_seen_arm();
        true
    }

    /// It has an arm, whatever it says and whatever was kept: there is nothing more to try.
    fn has_seen_arm(&self) {
        self.has_been_arm.store(true, Relaxed);
        self.waits_to_refute.store(0, Relaxed);
        self.trial.end();
        self.scans.hear(false);
    }

    /// Believes that an access takes longer if some waits in a row say so, one after another, of which this is one for a read of so many `pages`, until
    /// `now`. What takes as long as an arm is known by other waits. Whether they did.
    fn try_longer(&self, waited_ns: u64, pages: u64, now: Timestamp) -> bool {
        let may_be = self.depth.load(Relaxed) > 1 && !self.says_arm();
        if !may_be || self.longer.is_among_others(waited_ns, now) {
            return false;
        }
        let known = self.estimate();
        let longer = (self.longer).on_wait(access_in(waited_ns, pages), known.access_ns);
        let longer = longer.map(|access_ns| DeviceEstimate { access_ns, ..known });
        let Some(longer) = longer.filter(|longer| !longer.is_slow_to_access()) else {
            return false;
        };
        self.access_ns.store(longer.access_ns, Relaxed);
        true
    }

    /// It is of another kind than was guessed. What was configured stays, and so does what is no guess by
    /// the kind.
    fn is_no(&self, kind: DeviceEstimate, but: DeviceEstimate) {
        // What others told may be the guess of its kind.
        let known = self.bytes_per_second.load(Relaxed);
        let is_guess = self.bandwidth_is.load(Relaxed) == GUESSED;
        if is_guess || known == kind.bytes_per_second {
            self.bytes_per_second.store(but.bytes_per_second, Relaxed);
        }
        let _ = self
            .depth
            .compare_exchange(kind.depth, but.depth, Relaxed, Relaxed);
    }

    /// A read of `access` that no window covered waited `waited_ns`: the device moved for it. `is_shared`: it
    /// may have moved for other processes before.
    pub fn on_lone_wait(&self, waited_ns: u64, access: PageRange, is_shared: bool, now: Timestamp) {
        let pages = access.len().get();
        let is_passed_by = self.passing.on_read(access, waited_ns);
        self.contest.on_lone_wait();
        self.in_turn.on_other();
        if self.access_is.load(Relaxed) == CONFIGURED {
            return;
        }
        let is_believable = !is_shared && self.is_believable(waited_ns, now);
        let is_access = pages <= ACCESS_PAGES_MAX;
        let is_behind = is_shared || !self.was_idle(waited_ns, now);
        self.try_arm(waited_ns, pages, is_passed_by, is_behind);
        if is_believable && is_access {
            self.try_kept(waited_ns);
            self.take_first_wait(waited_ns);
        }
        // The kernel transfers as much for it.
        let is_as_long = first_read(pages) <= first_read(ACCESS_PAGES_MAX);
        if is_believable && is_as_long && self.believes_in_an_arm(waited_ns, pages, now) {
            return;
        }
        if !is_access {
            return;
        }
        let known = self.access_ns.load(Relaxed);
        let is_arm = self.depth.load(Relaxed) <= 1;
        let is_short = waited_ns.saturating_mul(SLOWER_FACTOR) < known;
        self.busy.on_wait(is_short, now);
        // Behind others a long wait says nothing about one access; and of an arm, whose ways differ, the
        // short ones alone would say too little.
        if is_behind && (is_arm || waited_ns > known) {
            return;
        }
        // Nor does one that an arm passes to meanwhile.
        if is_passed_by && is_arm && waited_ns < known {
            return;
        }
        if self.try_longer(waited_ns, pages, now) {
            return;
        }
        let seen = waited_ns.clamp(known / 4, known * 2);
        let parts = if seen < known || is_arm {
            SHORTER_PARTS
        } else {
            LONGER_PARTS
        };
        let learned = (known * (parts - 1) + seen) / parts;
        self.access_ns.store(learned.max(1000), Relaxed);
        if is_arm && learned < NO_ARM_NS {
            self.is_no(DeviceEstimate::ARM, DeviceEstimate::FLASH);
        }
    }
}

#[cfg(test)]
mod tests;
