//! What is believed about a device, and whether a stream has it to itself.
//!
//! An estimate begins with what was kept of an earlier run, with the kind of device (one arm or flash) or
//! with what was configured, and follows the waits that the host observes: a read that nothing had
//! asked for, on a device with no other user, waits for one access. All but what was configured is
//! shared with other processes ([`crate::estimates`]).

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use Ordering::Relaxed;

use ahead_policy::device::DeviceEstimate;
use ahead_policy::stock::first_read;
use ahead_units::{PageCount, Timestamp};

use crate::estimates::{Estimates, SharedEstimate};
use crate::settings::Settings;

/// How much a switch between streams adds to the contest score, the score from which a device
/// counts as contested, and its ceiling. Two switches within eight requests are a contest; a
/// stream that asks alone for twelve requests has the device to itself again.
const SWITCH: u32 = 4;
const CONTESTED: u32 = 8;
const SCORE_MAX: u32 = 20;

/// A wait counts for one part in eight of the access time. On flash a longer one than believed
/// counts for one in 128: most long waits were spent behind other requests there, and windows
/// sized for them make the queue longer still. On an arm long waits are what seeks are.
const SHORTER_PARTS: u64 = 8;
const LONGER_PARTS: u64 = 128;

/// Two lone waits in a row that took so many times as long as believed, and as long as an arm takes,
/// are no queue and no accident: the device is another one than it says. The shorter of them is
/// believed then.
const SLOWER_FACTOR: u64 = 4;

/// What is learned to answer within 1 ms has no arm, whatever it says of itself: virtual disks say that they
/// rotate. Lower, and flash that is busy is read like an arm; higher, and so are arms that answer many
/// reads from their own memory.
const NO_ARM_NS: u64 = 1_000_000;

/// So many waits in a row that are shorter by [`SLOWER_FACTOR`] refute what was kept of a device: it
/// may be another one by now, and from an arm to flash is a long way in steps of an eighth. One could be
/// an answer of the disk's own memory.
const REFUTING_WAITS: u32 = 2;

/// Transfer of a page at 80 MB/s, the rate of old arms and of small network volumes: a wait of that
/// kind says nothing about an access.
const SLOW_PAGE_NS: u64 = 50_000;

/// No access of a device that is not broken takes longer: 50 ms.
const ACCESS_NS_MAX: u64 = 50_000_000;

/// What the host found out about a device when it met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// What identifies it, also to other processes and after a restart; 0 when that is not known.
    pub identity: u64,
    /// Has an arm that seeks; `None` when it is not known.
    pub rotational: Option<bool>,
    /// Pages that one call may ask for: the kernel cuts the rest silently. At least 1.
    pub call_pages_max: u32,
    /// The configured access time, 0 if none.
    pub access_ns: u64,
    /// The configured bandwidth, 0 if none.
    pub bytes_per_second: u64,
    /// The configured depth, 0 if none.
    pub depth: u32,
}

impl DeviceFacts {
    /// Nothing was found out: what the settings say, and a call that every kernel takes.
    #[must_use]
    pub fn configured(settings: &Settings) -> Self {
        Self {
            identity: 0,
            rotational: None,
            call_pages_max: 32,
            access_ns: u64::from(settings.access_us) * 1000,
            bytes_per_second: u64::from(settings.bandwidth_mb) * 1_000_000,
            depth: settings.depth,
        }
    }

    /// With the limits of the queue and of the kernel's read-ahead, in pages: a call is cut at the
    /// larger one. A call for more than 4 MiB would hold the reader for too long.
    #[must_use]
    pub fn with_call_limits(self, request_pages_max: u64, ra_pages: u64) -> Self {
        let pages = request_pages_max.max(ra_pages);
        let pages = if pages == 0 { 32 } else { pages.min(1024) };
        Self {
            call_pages_max: u32::try_from(pages).unwrap_or(1024),
            ..self
        }
    }
}

/// One device, shared by all threads of a host. All zero is a free place.
#[derive(Debug, Default)]
pub struct Device {
    access_ns: AtomicU64,
    bytes_per_second: AtomicU64,
    depth: AtomicU32,
    call_pages_max: AtomicU32,
    access_is_configured: AtomicU32,
    last_asker: AtomicU64,
    score: AtomicU32,
    lone_score: AtomicU32,
    /// The newest lone wait, if it was much longer than believed; else 0.
    slower_ns: AtomicU64,
    /// When the newest of those waits ended.
    waited_until: AtomicU64,
    /// When all that was asked for is expected to have arrived.
    busy_until: AtomicU64,
    /// What other processes know of it.
    shared: SharedEstimate,
    /// It says that it has an arm.
    says_arm: AtomicBool,
    /// Waits that would refute what was kept; 0 when that was confirmed, or nothing was kept.
    on_trial: AtomicU32,
}

/// A request of a stream, as its device sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Any number that tells streams apart.
    pub asker: u64,
    /// The stream has not asked before.
    pub is_first: bool,
    /// How much.
    pub pages: PageCount,
    /// When.
    pub now: Timestamp,
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
            access_is_configured: AtomicU32::new(0),
            last_asker: AtomicU64::new(0),
            score: AtomicU32::new(0),
            lone_score: AtomicU32::new(0),
            slower_ns: AtomicU64::new(0),
            waited_until: AtomicU64::new(0),
            busy_until: AtomicU64::new(0),
            shared: SharedEstimate::new(),
            says_arm: AtomicBool::new(false),
            on_trial: AtomicU32::new(0),
        }
    }

    /// Takes what the host found out.
    pub fn set_facts(&self, facts: &DeviceFacts) {
        self.says_arm.store(facts.rotational == Some(true), Relaxed);
        let kind = self.guess();
        let or = |configured: u64, kind: u64| if configured > 0 { configured } else { kind };
        self.access_ns
            .store(or(facts.access_ns, kind.access_ns), Relaxed);
        self.bytes_per_second
            .store(or(facts.bytes_per_second, kind.bytes_per_second), Relaxed);
        self.depth.store(
            if facts.depth > 0 {
                facts.depth
            } else {
                kind.depth
            },
            Relaxed,
        );
        self.access_is_configured
            .store(u32::from(facts.access_ns > 0), Relaxed);
        self.call_pages_max
            .store(facts.call_pages_max.max(1), Relaxed);
        let is_configured = facts.access_ns > 0 || facts.bytes_per_second > 0 || facts.depth > 0;
        let identity = if is_configured { 0 } else { facts.identity };
        self.shared.set_identity(identity, kind);
    }

    /// The estimate by what the device says of itself.
    fn guess(&self) -> DeviceEstimate {
        if self.says_arm.load(Relaxed) {
            DeviceEstimate::ARM
        } else {
            DeviceEstimate::FLASH
        }
    }

    fn believe(&self, estimate: DeviceEstimate) {
        self.access_ns.store(estimate.access_ns, Relaxed);
        self.bytes_per_second
            .store(estimate.bytes_per_second, Relaxed);
        self.depth.store(estimate.depth, Relaxed);
    }

    /// Takes over what other processes have learned, or what was kept of an earlier run.
    pub fn hear(&self, all: Estimates<'_>, now: Timestamp) {
        if let Some(heard) = self.shared.hear(all, now) {
            self.believe(heard.estimate);
            let waits = if heard.was_kept { REFUTING_WAITS } else { 0 };
            self.on_trial.store(waits, Relaxed);
        }
    }

    /// Tells other processes what was learned. True if that is worth keeping.
    #[must_use]
    pub fn tell(&self, all: Estimates<'_>, now: Timestamp) -> bool {
        self.shared.tell(all, self.estimate(), now)
    }

    /// What was kept is confirmed by the first wait that is about as long, and refuted by some in a row
    /// that are much shorter.
    fn try_kept(&self, waited_ns: u64) {
        let left = self.on_trial.load(Relaxed);
        let (known, guess) = (self.access_ns.load(Relaxed), self.guess());
        if left == 0 {
            return;
        }
        if waited_ns.saturating_mul(SLOWER_FACTOR) < known {
            self.on_trial.store(left - 1, Relaxed);
            if left == 1 && guess.access_ns < known {
                self.believe(guess);
            }
        } else if waited_ns <= known.saturating_mul(2) {
            self.on_trial.store(0, Relaxed);
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

    /// Pages that one call may ask for; 32 before the host said anything.
    #[must_use]
    pub fn call_pages_max(&self) -> u64 {
        match self.call_pages_max.load(Relaxed) {
            0 => 32,
            pages => u64::from(pages),
        }
    }

    /// Whether others made the device move since the streams asked last.
    #[must_use]
    pub fn is_contested(&self) -> bool {
        self.score.load(Relaxed) >= CONTESTED
    }

    /// Whether reads that no window covers have waited since the streams asked last.
    #[must_use]
    pub fn has_lone_reads(&self) -> bool {
        self.lone_score.load(Relaxed) >= CONTESTED
    }

    /// A stream asks for pages.
    pub fn on_ask(&self, ask: &Ask) {
        let is_same = self.last_asker.swap(ask.asker, Relaxed) == ask.asker;
        if ask.is_first {
            // Its own reads waited before there was a stream: nobody else's.
            take_back(&self.score);
            take_back(&self.lone_score);
        } else if is_same {
            fall(&self.score);
        } else {
            rise(&self.score);
        }
        fall(&self.lone_score);
        self.expect(ask.pages, ask.now);
    }

    /// The device is expected to be busy with `pages` more.
    fn expect(&self, pages: PageCount, now: Timestamp) {
        let believed = self.estimate();
        let from = self.busy_until.load(Relaxed).max(now.get());
        let transfer_ns = believed.transfer_ns(pages);
        let taken_ns = transfer_ns.saturating_add(believed.access_ns);
        self.busy_until
            .store(from.saturating_add(taken_ns), Relaxed);
    }

    /// Whether a wait that ended `now` can be believed at once: it is no longer than an access is
    /// believed to take, or nothing that was asked for was still on its way when it began.
    fn is_believable(&self, waited_ns: u64, now: Timestamp) -> bool {
        let began = now.get().saturating_sub(waited_ns);
        waited_ns <= self.access_ns.load(Relaxed) || began >= self.busy_until.load(Relaxed)
    }

    /// A read of `pages` that began a stream waited `waited_ns`, behind nobody that we know of.
    pub fn on_first_wait(&self, waited_ns: u64, pages: u64, now: Timestamp) {
        let is_fixed = self.access_is_configured.load(Relaxed) != 0;
        if !is_fixed && !self.is_contested() && self.is_believable(waited_ns, now) {
            self.try_kept(waited_ns);
            self.believes_in_an_arm(waited_ns, pages, now);
        }
    }

    /// Believes from now on that this is an arm if this wait and the one before say so, whatever it
    /// says of itself. Whether they did.
    fn believes_in_an_arm(&self, waited_ns: u64, pages: u64, now: Timestamp) -> bool {
        let mut known = self.access_ns.load(Relaxed);
        if self.on_trial.load(Relaxed) > 0 {
            // What was kept may lie between.
            known = known.min(self.guess().access_ns);
        }
        // Waits at the same time are a queue.
        let waited_until = self.waited_until.swap(now.get(), Relaxed);
        let is_alone = now.get().saturating_sub(waited_ns) >= waited_until;
        // What the kernel reads with it has to be transferred too, by whatever is slowest.
        let transfer_ns = first_read(pages).saturating_mul(SLOW_PAGE_NS);
        let access_ns = waited_ns.saturating_sub(transfer_ns);
        let is_slower = is_alone && access_ns > known.saturating_mul(SLOWER_FACTOR);
        let slower_ns = if is_slower { access_ns } else { 0 };
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
        self.on_trial.store(0, Relaxed);
        true
    }

    /// It is of another kind than was guessed. What was configured stays, and so does what is no guess by
    /// the kind.
    fn is_no(&self, kind: DeviceEstimate, but: DeviceEstimate) {
        let _ = self.bytes_per_second.compare_exchange(
            kind.bytes_per_second,
            but.bytes_per_second,
            Relaxed,
            Relaxed,
        );
        let _ = self
            .depth
            .compare_exchange(kind.depth, but.depth, Relaxed, Relaxed);
    }

    /// A read of `pages` that no window covered waited `waited_ns`: the device moved for it.
    pub fn on_lone_wait(&self, waited_ns: u64, pages: u64, now: Timestamp) {
        rise(&self.score);
        rise(&self.lone_score);
        if self.access_is_configured.load(Relaxed) != 0 || pages > 16 {
            return;
        }
        let is_believable = self.is_believable(waited_ns, now);
        if is_believable {
            self.try_kept(waited_ns);
        }
        if is_believable && self.believes_in_an_arm(waited_ns, pages, now) {
            return;
        }
        let known = self.access_ns.load(Relaxed);
        // A wait behind a queue says nothing about one access: it counts for at most double.
        let seen = waited_ns.clamp(known / 4, known * 2);
        let is_arm = self.depth.load(Relaxed) <= 1;
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

/// One more sign. Threads that rise and fall at the same time may lose one, which is as good.
fn rise(score: &AtomicU32) {
    let risen = score.load(Relaxed).saturating_add(SWITCH);
    score.store(risen.min(SCORE_MAX), Relaxed);
}

/// A sign was none.
fn take_back(score: &AtomicU32) {
    score.store(score.load(Relaxed).saturating_sub(SWITCH), Relaxed);
}

/// One request without a sign.
fn fall(score: &AtomicU32) {
    score.store(score.load(Relaxed).saturating_sub(1), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(rotational: bool) -> Device {
        let device = Device::default();
        device.set_facts(&DeviceFacts {
            identity: 0,
            rotational: Some(rotational),
            call_pages_max: 256,
            access_ns: 0,
            bytes_per_second: 0,
            depth: 0,
        });
        device
    }

    /// One after another: each begins when the one before has ended.
    fn lone_wait(device: &Device, waited_ns: u64, pages: u64) {
        let ended_ns = device.waited_until.load(Relaxed) + waited_ns;
        device.on_lone_wait(waited_ns, pages, Timestamp::new(ended_ns));
    }

    fn ask(asker: u64) -> Ask {
        Ask {
            asker,
            is_first: false,
            pages: PageCount::new(32),
            now: Timestamp::new(0),
        }
    }

    fn arm() -> Device {
        device(true)
    }

    #[test]
    fn the_access_time_of_fast_flash_is_learned_from_its_waits() {
        let flash = device(false);
        for _ in 0..64 {
            lone_wait(&flash, 40_000, 1);
        }
        let learned = flash.estimate().access_ns;
        assert!((39_000..45_000).contains(&learned), "{learned}");
    }

    #[test]
    fn the_access_time_of_a_fast_arm_is_learned_from_its_waits() {
        let arm = arm();
        for _ in 0..64 {
            lone_wait(&arm, 2_000_000, 1);
        }
        let learned = arm.estimate().access_ns;
        assert!((1_900_000..2_200_000).contains(&learned), "{learned}");
    }

    #[test]
    fn one_wait_behind_a_long_queue_does_not_change_the_belief_much() {
        let flash = device(false);
        let before = flash.estimate().access_ns;
        lone_wait(&flash, 4_000_000_000, 1);
        assert!(flash.estimate().access_ns <= before * 102 / 100);
    }

    /// Virtual disks, USB bridges and controllers say that they do not rotate.
    #[test]
    fn an_arm_that_says_it_is_flash_is_known_by_its_second_access() {
        let flash = device(false);
        lone_wait(&flash, 7_000_000, 1);
        assert!(flash.estimate().access_ns < 200_000);
        lone_wait(&flash, 6_000_000, 1);
        let believed = DeviceEstimate {
            access_ns: 6_000_000 - 4 * SLOW_PAGE_NS,
            ..DeviceEstimate::ARM
        };
        assert_eq!(flash.estimate(), believed);
        for _ in 0..64 {
            lone_wait(&flash, 100_000, 1);
        }
        assert!(flash.estimate().access_ns < 120_000, "and it was a mistake");
    }

    /// The disks of most virtual machines.
    #[test]
    fn flash_that_says_it_is_an_arm_is_found_out() {
        let arm = arm();
        let mut waits = 0;
        while arm.estimate().depth == 1 {
            lone_wait(&arm, 100_000, 1);
            waits += 1;
        }
        assert!(waits <= 24, "{waits}");
        let flash = DeviceEstimate::FLASH;
        assert_eq!(arm.estimate().bytes_per_second, flash.bytes_per_second);
        lone_wait(&arm, 7_000_000, 1);
        lone_wait(&arm, 7_000_000, 1);
        assert_eq!(arm.estimate().depth, 1, "and it was a mistake");
    }

    /// Eight threads begin to read from a network volume: the last waits for all others.
    #[test]
    fn waits_at_the_same_time_are_a_queue_and_no_arm() {
        let volume = device(false);
        for thread in 1..9 {
            let waited_ns = thread * 2_500_000;
            volume.on_lone_wait(waited_ns, 16, Timestamp::new(1_000_000_000 + waited_ns));
        }
        assert_eq!(volume.estimate().depth, DeviceEstimate::FLASH.depth);
    }

    /// Reads of 132 KiB from a volume of 125 MB/s, each with a window of the kernel: what they wait
    /// for is the transfer.
    #[test]
    fn large_reads_from_a_slow_volume_make_no_arm() {
        let volume = device(false);
        for read in 1..100 {
            volume.on_first_wait(3_400_000, 33, Timestamp::new(read * 4_000_000));
        }
        assert_eq!(volume.estimate(), DeviceEstimate::FLASH);
    }

    #[test]
    fn two_streams_in_turn_are_a_contest_and_one_alone_is_not() {
        let device = arm();
        for asker in [1, 2, 1, 2] {
            device.on_ask(&ask(asker));
        }
        assert!(device.is_contested());
        for _ in 0..16 {
            device.on_ask(&ask(1));
        }
        assert!(!device.is_contested());
    }

    /// Runs of 832 KiB at random places: two waits behind windows of 8 MiB that nobody read made the
    /// arm one of 47 ms at once.
    #[test]
    fn waits_behind_what_was_asked_for_are_not_believed_at_once() {
        let arm = arm();
        for began_ns in [1_000_000, 60_000_000] {
            arm.on_ask(&Ask {
                pages: PageCount::new(2048),
                now: Timestamp::new(began_ns),
                ..ask(1)
            });
            let waited_ns = 50_000_000;
            arm.on_lone_wait(waited_ns, 4, Timestamp::new(began_ns + waited_ns));
        }
        let learned = arm.estimate().access_ns;
        assert!((8_000_000..11_000_000).contains(&learned), "{learned}");
    }

    #[test]
    fn runs_one_after_another_are_no_contest() {
        let arm = arm();
        for run in 0..100 {
            lone_wait(&arm, 8_000_000, 4);
            arm.on_ask(&Ask {
                is_first: true,
                ..ask(run)
            });
            arm.on_ask(&ask(run));
            assert!(!arm.is_contested() && !arm.has_lone_reads(), "run {run}");
        }
    }

    #[test]
    fn random_lookups_beside_a_scan_are_a_contest() {
        let device = arm();
        device.on_ask(&ask(1));
        lone_wait(&device, 8_000_000, 4);
        lone_wait(&device, 8_000_000, 4);
        assert!(device.is_contested());
    }
}
