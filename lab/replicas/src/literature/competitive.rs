//! Competitive prefetching: read as long as it takes to get there.
//!
//! Without knowing whether a reader goes on, the depth that is never more than twice as bad as
//! knowing is the amount that the device transfers in the time of one positioning: if the reader
//! stops, the wasted transfer has cost no more than the access itself; if it goes on, at most half
//! of the device's time is spent positioning. Every run prefetches this depth from its second
//! request on; asynchronously, when half of it has been read.
//!
//! Source: C. Li, K. Shen, A. E. Papathanasiou, "Competitive prefetching for concurrent sequential
//! I/O", EuroSys 2007.

use crate::kernel::{Host, Read, ReadAhead};
use ahead_policy::device::DeviceEstimate;

use super::degree::{Degree, DegreeSettings};
use crate::replica::{Key, Replica};

/// The name of it.
pub const REPLICAS: &[Replica<Competitive>] = &[Replica::new(
    "competitive",
    2007,
    "as much as passes in an access, EuroSys 2007",
    &[
        Key::computed("access_us", "disk"),
        Key::computed("bandwidth_mb", "disk"),
    ],
    |values| {
        let disk = values.device;
        let access_us = values.written_number("access_us");
        let megabytes = values.written_number("bandwidth_mb");
        Competitive::new(&DeviceEstimate {
            access_ns: access_us.unwrap_or(disk.access_ns / 1000) * 1000,
            bytes_per_second: megabytes.unwrap_or(disk.bytes_per_second / 1_000_000) * 1_000_000,
            ..disk
        })
    },
)];

/// One open file.
#[derive(Clone, Copy, Debug)]
pub struct Competitive(Degree);

impl Competitive {
    /// A file on a device with this access time and bandwidth.
    #[must_use]
    pub const fn new(device: &DeviceEstimate) -> Self {
        let pages = device.pages_per_access().get();
        Self(Degree::new(DegreeSettings {
            adaptive: false,
            trigger_pages: Some(pages / 2),
            degree_pages: if pages == 0 { 1 } else { pages },
        }))
    }
}

impl ReadAhead for Competitive {
    fn on_read<H: Host>(&mut self, host: &mut H, read: &Read) {
        self.0.on_read(host, read);
    }

    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        self.0.on_page(host, read, page);
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &crate::kernel::Fault) {
        self.0.on_fault(host, fault);
    }
}
