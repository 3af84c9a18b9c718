//! Everything that the library knows in one process, made when the library is loaded.
//!
//! Making it allocates; nothing after that does. If any part cannot be made, there is no host and
//! every hook is a plain call.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ahead_engine::device::{DEVICES_MAX, Device, DeviceFacts};
use ahead_engine::file::Engine;
use ahead_engine::settings::{PolicyChoice, Settings, SubmitChoice};
use ahead_policy::units::{ByteLength, PageCount};

use crate::environment;
use crate::fd_table::FdTable;
use crate::files::Files;
use crate::record::Recorder;
use crate::shared::Shared;
use crate::submit::Helper;
use crate::ticks::TickRate;

/// The state of this process.
pub(crate) struct Host {
    pub(crate) settings: Settings,
    pub(crate) engine: Engine,
    pub(crate) files: Files,
    pub(crate) descriptors: FdTable,
    pub(crate) shared: Option<Shared>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) rate: TickRate,
    pub(crate) helper: AtomicPtr<Helper>,
    devices: [HostDevice; DEVICES_MAX],
    limits_known: AtomicBool,
    /// Requests in a row that the kernel refused.
    pub(crate) refusals: AtomicU32,
    /// When idle windows were looked for last, in nanoseconds on the monotonic clock.
    pub(crate) swept_ns: AtomicU64,
    /// Highest descriptor number seen, for the work after a fork.
    pub(crate) highest_fd: AtomicU32,
}

/// A device and the number that it has in `stat`.
#[derive(Default)]
struct HostDevice {
    /// Device number plus one; 0 is free.
    number: AtomicU64,
    facts_known: AtomicBool,
    device: Device,
}

static HOST: AtomicPtr<Host> = AtomicPtr::new(std::ptr::null_mut());

/// The host of this process; `None` before it was made, and after the process took away what it
/// needs.
#[inline]
pub(crate) fn get() -> Option<&'static Host> {
    // SAFETY: null, or a leaked box that is never changed except through atomics.
    unsafe { HOST.load(Ordering::Acquire).as_ref() }
}

/// Steps aside for good: every hook is a plain call from now on.
pub(crate) fn retire() {
    HOST.store(std::ptr::null_mut(), Ordering::Release);
}

/// Makes the host. Called once, by the constructor.
pub(crate) fn make() {
    let settings = environment::value(c"AHEAD_SETTINGS").map_or_else(Settings::default, |text| {
        Settings::from_environment(&text.to_string_lossy())
    });
    let Some((files, descriptors)) = Files::new().zip(FdTable::new()) else {
        return;
    };
    let host = Host {
        settings,
        engine: Engine {
            knobs: settings.knobs(),
            ..Engine::default()
        },
        files,
        descriptors,
        shared: environment::value(c"AHEAD_SHARED").and_then(Shared::open),
        recorder: environment::value(c"AHEAD_RECORD").and_then(Recorder::open),
        rate: TickRate::start(),
        helper: AtomicPtr::new(std::ptr::null_mut()),
        devices: Default::default(),
        limits_known: AtomicBool::new(false),
        refusals: AtomicU32::new(0),
        swept_ns: AtomicU64::new(0),
        highest_fd: AtomicU32::new(0),
    };
    // Until memory is looked at, at the first request, nothing may be asked for beyond 16 MiB.
    let little = PageCount::new(4096);
    host.engine
        .budget
        .set_limits(little, PageCount::new(0), 100);
    if settings.submit == SubmitChoice::Thread {
        let helper = Box::leak(Box::new(Helper::new()));
        host.helper.store(helper, Ordering::Relaxed);
    }
    HOST.store(Box::into_raw(Box::new(host)), Ordering::Release);
}

impl Host {
    /// The place of a device, by its number in `stat`. The last place serves all that find none.
    pub(crate) fn device_place(&self, number: u64) -> u32 {
        let wanted = number.wrapping_add(1).max(1);
        let last = DEVICES_MAX - 1;
        let place = self.devices[..last].iter().position(|device| {
            match device
                .number
                .compare_exchange(0, wanted, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => true,
                Err(taken) => taken == wanted,
            }
        });
        u32::try_from(place.unwrap_or(last)).unwrap_or(0)
    }

    /// The device at a place.
    #[inline]
    pub(crate) fn device(&self, place: u32) -> &Device {
        let place = usize::try_from(place).unwrap_or(0).min(DEVICES_MAX - 1);
        &self.devices[place].device
    }

    /// Whether anything may be asked for at all.
    pub(crate) fn may_prefetch(&self) -> bool {
        self.settings.policy == PolicyChoice::Adaptive && self.settings.readahead_ratio >= 2
    }

    /// Looks at the device's queue and the memory limits, once each. These read files and allocate,
    /// so they wait for the first access that begins a stream and stay out of programs that only
    /// ever read at random.
    pub(crate) fn learn_facts(&self, place: u32, number: u64) {
        let entry = &self.devices[usize::try_from(place).unwrap_or(0).min(DEVICES_MAX - 1)];
        if !entry.facts_known.swap(true, Ordering::AcqRel) {
            entry
                .device
                .set_facts(&device_facts(number, &self.settings));
        }
        if !self.limits_known.swap(true, Ordering::AcqRel) {
            let memory = crate::memory_limit::pages_for_readers();
            let configured = ByteLength::new(u64::from(self.settings.budget_mib) << 20);
            let configured = PageCount::holding(configured);
            let ratio = self.settings.readahead_ratio;
            self.engine.budget.set_limits(memory, configured, ratio);
        }
    }

    /// Whether the facts about this device are known already.
    pub(crate) fn knows(&self, place: u32) -> bool {
        let place = usize::try_from(place).unwrap_or(0).min(DEVICES_MAX - 1);
        self.devices[place].facts_known.load(Ordering::Acquire)
            && self.limits_known.load(Ordering::Acquire)
    }
}

/// What sysfs says about a block device, its own folder or that of the disk it is a part of.
fn device_facts(number: u64, settings: &Settings) -> DeviceFacts {
    let (major, minor) = (libc::major(number), libc::minor(number));
    let folder = format!("/sys/dev/block/{major}:{minor}");
    let queue = |name: &str| -> Option<u64> {
        let own = fs::read_to_string(format!("{folder}/queue/{name}"));
        let disk = || fs::read_to_string(format!("{folder}/../queue/{name}"));
        own.or_else(|_| disk()).ok()?.trim().parse().ok()
    };
    let kib = queue("read_ahead_kb")
        .unwrap_or(0)
        .max(queue("max_sectors_kb").unwrap_or(0));
    let kib = if kib == 0 { 128 } else { kib };
    DeviceFacts {
        rotational: queue("rotational").map(|word| word != 0),
        // A call for more than 4 MiB holds the reader for too long.
        call_pages_max: u32::try_from((kib / 4).clamp(1, 1024)).unwrap_or(32),
        access_ns: u64::from(settings.access_us) * 1000,
        bytes_per_second: u64::from(settings.bandwidth_mb) * 1_000_000,
        depth: settings.depth,
    }
}
