//! Everything that the library knows in one process, made when a read first waits for a device.
//!
//! It lies in memory of the library's own, and is made there: making it allocates nothing, as it may
//! happen in a signal handler, and takes little of a stack, which may be a small one. If any part cannot
//! be made, there is no host and every hook is a plain call.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use ahead_engine::device_facts::DeviceFacts;
use ahead_engine::group::MEMORY_BYTES_UNKNOWN;
use ahead_engine::report::header;
use ahead_engine::session::Session;
use ahead_engine::settings::Settings;
use ahead_sys::block_queue::{DeviceNumber, QueueFacts};
use ahead_sys::device_identity;
use ahead_sys::meminfo::MemoryInfo;
use ahead_sys::memory_limit;
use ahead_units::{ByteLength, PageCount};

use crate::files::Files;
use crate::identity::{self, SeenDevice};
use crate::own_run::OwnRun;
use crate::record::Recorder;
use crate::shared::Shared;
use crate::{aside, environment};

/// Pages that may be asked for as long as memory was not looked at: 16 MiB.
const PAGES_BEFORE_LOOKING: u64 = 4096;

/// The state of this process.
pub(crate) struct Host {
    pub(crate) settings: Settings,
    pub(crate) session: Session<Files>,
    pub(crate) recorder: Option<Recorder>,
    memory_known: AtomicBool,
    /// Requests in a row that the kernel refused.
    pub(crate) refusals: AtomicU32,
}

struct Place(UnsafeCell<Host>);

// SAFETY: changed by the one thread that makes the host, before `HOST` points to it; only
// read, and changed through atomics, afterwards.
unsafe impl Sync for Place {}

static PLACE: Place = Place(UnsafeCell::new(Host {
    settings: Settings::DEFAULT,
    session: Session::new(Files::unprepared()),
    recorder: None,
    memory_known: AtomicBool::new(false),
    refusals: AtomicU32::new(0),
}));
static HOST: AtomicPtr<Host> = AtomicPtr::new(null_mut());

/// The host of this process; `None` before it was made, and after the process took away what it
/// needs.
#[inline]
pub(crate) fn get() -> Option<&'static Host> {
    // SAFETY: null, or the place of a host that was written before and stays.
    unsafe { HOST.load(Ordering::Acquire).as_ref() }
}

/// Steps aside for good: every hook is a plain call from now on.
pub(crate) fn retire() {
    HOST.store(null_mut(), Ordering::Release);
}

/// The settings that were handed over. What cannot be read keeps its default.
pub(crate) fn settings() -> Settings {
    let text = environment::value(c"AHEAD_SETTINGS").and_then(|text| text.to_str().ok());
    text.map_or_else(Settings::default, Settings::from_environment)
}

/// Makes the host. Called at most once in a process; see [`crate::wake`].
pub(crate) fn make() {
    let path = |name: &CStr| environment::value(name);
    let account = path(c"AHEAD_SHARED").and_then(Shared::open);
    if let Some(account) = &account {
        aside::keep(account.words_from(header::ASIDES));
    }
    let own_run = OwnRun::join();
    // SAFETY: only one thread makes the host, and no other sees the place before the store below.
    let host = unsafe { &mut *PLACE.0.get() };
    if host.session.files.prepare(account, own_run).is_none() {
        return;
    }
    host.settings = settings();
    host.recorder = path(c"AHEAD_RECORD").and_then(Recorder::open);
    let member = &host.session.group.member;
    member.join(identity::process(), own_run.number);
    let little = PageCount::new(PAGES_BEFORE_LOOKING);
    host.session
        .group
        .budget
        .set_limits(little, PageCount::new(0), 100);
    HOST.store(host, Ordering::Release);
}

impl Host {
    /// Where what happens is added up, if anyone reads it.
    pub(crate) fn account(&self) -> Option<&Shared> {
        self.session.files.account.as_ref()
    }

    /// Whether anything of what happens is kept for `ahead run`.
    pub(crate) fn is_kept(&self) -> bool {
        self.account().is_some() || self.recorder.is_some()
    }

    /// Looks at the memory limits, once, before the first request.
    pub(crate) fn learn_memory(&self) {
        if self.memory_known.swap(true, Ordering::AcqRel) {
            return;
        }
        let machine = MemoryInfo::read(Path::new("/proc"))
            .ok()
            .and_then(|memory| memory.available_bytes);
        let group = memory_limit::of_this_process(Path::new("/proc"), Path::new("/sys/fs/cgroup"));
        let bytes = machine.into_iter().chain(group).min();
        let memory = PageCount::holding(ByteLength::new(bytes.unwrap_or(MEMORY_BYTES_UNKNOWN)));
        self.session.group.set_memory(memory, &self.settings);
    }

    /// What sysfs says about a device, its own folder or that of the disk it is a part of, and the file system of `fd` on it.
    pub(crate) fn device_facts(&self, seen: SeenDevice, fd: c_int) -> DeviceFacts {
        let (sys, proc) = (Path::new("/sys"), Path::new("/proc"));
        let device = DeviceNumber::from_dev(seen.number);
        let identity = || match device.major {
            0 => device_identity::of_superblock(proc, seen.number, seen.file_system),
            _ => device_identity::of_block_device(sys, proc, device),
        };
        let below = identity::queue_below(sys, proc, fd, seen);
        let queue = below.unwrap_or_else(|| QueueFacts::read(sys, device));
        DeviceFacts {
            identity: self.session.files.own_run.identity(identity),
            rotational: queue.rotational,
            has_large_folios: device.major != 0 && identity::has_large_folios(fd),
            ..DeviceFacts::configured(&self.settings)
                .with_queue(queue.max_sectors_kb, queue.read_ahead_kb)
                .with_stripes(queue.minimum_io_size, queue.optimal_io_size)
        }
    }
}
