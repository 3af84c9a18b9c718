//! How many bytes a second a device delivers, from what was asked for while readers waited.
//!
//! What was asked for in some time, less what windows have grown by, was delivered in it. That is what the
//! device can do if readers waited most of the time, and for much longer than one access takes: then
//! it was the transfer that they waited for.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use ahead_policy::device::DeviceEstimate;
use ahead_policy::steering::steering;
use ahead_units::{PAGE_BYTES, PageCount, Timestamp};

use crate::waiting::WaitedOnce;

steering! {
    /// Pages of one measurement: 4 MiB. Fewer, and the windows that grow at the begin of a stream
    /// count as delivered; more, and a short job ends before anything is learned.
    /// Evidence: docs/results/evidence/MEASURED_PAGES.csv
    MEASURED_PAGES: u64 = 1024;

    /// Access times for which a page waits between being asked for and being read, from which the
    /// device is busy transferring. Fewer, and windows that are too small for the access look like a
    /// slow device, and shrink more; more, and it is not learned that a volume is slow.
    /// Evidence: docs/results/evidence/ACCESSES_QUEUED.csv
    ACCESSES_QUEUED: u64 = 4;
}

/// Requests of one measurement, at least.
const MEASURED_REQUESTS: u32 = 8;

/// What one measurement found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    /// One request, in the mean.
    pub(crate) request: PageCount,
    /// What was delivered.
    pub(crate) bytes_per_second: u64,
}

/// A measurement that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// What was delivered, at least that can be.
    pub(crate) measured: Measured,
    /// The readers waited for the transfer: it is all that can be delivered.
    pub(crate) is_transfer: bool,
}

impl Measured {
    /// `pages` were delivered in `time_ns` by requests of `request`; `None` if no time passed.
    pub(crate) fn of(request: PageCount, pages: u64, time_ns: u64) -> Option<Self> {
        Some(Self {
            request,
            bytes_per_second: rate(pages, time_ns)?,
        })
    }

    /// Whether the `pages` in front of readers keep a device at work for so long that it is the transfer that they wait for, where an access takes
    /// `access_ns`.
    pub(crate) fn is_transfer(self, pages: PageCount, access_ns: u64) -> bool {
        self.time_ns(pages) >= access_ns.saturating_mul(ACCESSES_QUEUED.get())
    }

    /// Time of one request.
    pub(crate) fn request_ns(self) -> u64 {
        self.time_ns(self.request)
    }

    /// Time in which `pages` are delivered.
    fn time_ns(self, pages: PageCount) -> u64 {
        let device = DeviceEstimate {
            bytes_per_second: self.bytes_per_second,
            ..DeviceEstimate::FLASH
        };
        device.transfer_ns(pages)
    }
}

/// Bytes a second of `pages` in `time_ns`; `None` if no time passed.
pub(crate) fn rate(pages: u64, time_ns: u64) -> Option<u64> {
    let bytes = u128::from(pages) * u128::from(PAGE_BYTES) * 1_000_000_000;
    let rate = bytes.checked_div(u128::from(time_ns))?;
    Some(u64::try_from(rate).unwrap_or(u64::MAX))
}

/// One measurement that goes on. All zero: none does.
#[derive(Debug, Default)]
pub(crate) struct Throughput {
    /// When it began, in nanoseconds.
    from: AtomicU64,
    /// Pages asked for since.
    pages: AtomicU64,
    /// Pages asked for and not read yet when it began.
    unread: AtomicU64,
    /// Requests since.
    requests: AtomicU32,
    /// How long readers waited since inside their windows, those who waited together counted once.
    waited_ns: AtomicU64,
    waited: WaitedOnce,
}

impl Throughput {
    /// Nothing was measured.
    pub(crate) const fn new() -> Self {
        Self {
            from: AtomicU64::new(0),
            pages: AtomicU64::new(0),
            unread: AtomicU64::new(0),
            requests: AtomicU32::new(0),
            waited_ns: AtomicU64::new(0),
            waited: WaitedOnce::new(),
        }
    }

    /// A reader waited `waited_ns` inside its window, until `now`. The part of that in which no other did.
    pub(crate) fn on_wait(&self, waited_ns: u64, now: Timestamp) -> u64 {
        let waited_ns = self.waited.on_wait(waited_ns, now);
        self.waited_ns.fetch_add(waited_ns, Relaxed);
        waited_ns
    }

    /// `pages` are asked for at `now`, while `unread` were asked for and not read yet. What was found,
    /// if that ends a measurement in which readers waited most of the time.
    pub(crate) fn on_ask(
        &self,
        pages: PageCount,
        unread: PageCount,
        now: Timestamp,
        device: &DeviceEstimate,
    ) -> Option<Found> {
        let from = self.from.load(Relaxed);
        let asked = self.pages.load(Relaxed);
        let requests = self.requests.fetch_add(1, Relaxed);
        self.pages.fetch_add(pages.get(), Relaxed);
        let elapsed_ns = now.get().saturating_sub(from);
        if asked < MEASURED_PAGES.get() || requests < MEASURED_REQUESTS || elapsed_ns == 0 {
            return None;
        }
        let unread_before = self.unread.swap(unread.get(), Relaxed);
        let waited_ns = self.waited_ns.swap(0, Relaxed);
        self.from.store(now.get(), Relaxed);
        self.pages.store(pages.get(), Relaxed);
        self.requests.store(1, Relaxed);
        // What windows have grown by was not delivered.
        let read = (asked + unread_before).saturating_sub(unread.get());
        if from == 0 || waited_ns < elapsed_ns / 2 || read < asked / 2 {
            return None;
        }
        let request = PageCount::new(read / u64::from(requests));
        let measured = Measured::of(request, read, elapsed_ns)?;
        Some(Found {
            measured,
            is_transfer: measured.is_transfer(unread, device.access_ns),
        })
    }
}
